"""Judging a trained model on fresh data: residuals with confidence bounds.

Residuals of running estimates flatter a run. Here every other batch fits multipliers with the right signs; the rest, independent of these,
gives the mean and the spread of `g + J^T y` and of `c`, and with them an upper confidence bound on each residual.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.special import stdtrit

from ._batch import Batch, Evaluator
from ._columns import Columns
from ._directions import solve
from ._flat import Flat
from ._limits import Limits, read_limits, read_names, signed_multipliers
from ._metric import Uniform
from ._optimizer import Tangor
from ._products import dots, gram

__all__ = ["Bounded", "Certificate", "certify"]

# Weights of stationarity against complementarity that are tried in the fit of the multipliers.
SIGMAS = (1.0, 1e-2, 1e-4)


@dataclass(frozen=True)
class Bounded:
    """A residual, and what it does not exceed with the confidence asked for."""

    value: float
    upper: float

    def __str__(self) -> str:
        return f"{self.value:.3e} (at most {self.upper:.3e})"


@dataclass(frozen=True)
class Certificate:
    """What fresh data say of a model."""

    loss: float
    loss_error: float
    stationarity: Bounded
    feasibility: Bounded
    complementarity: Bounded
    constraints: dict[str, Bounded]
    multipliers: dict[str, float]
    confidence: float
    batches: int
    exact: bool

    def holds(self, tolerance: float) -> bool:
        """Whether all three bounds are within the tolerance."""
        return all(one.upper <= tolerance for one in (self.stationarity, self.feasibility, self.complementarity))

    def __str__(self) -> str:
        basis = "the whole population" if self.exact else f"{self.batches} fresh batches, confidence {self.confidence:g} for each bound"
        lines = [
            f"loss {self.loss:.6g} +- {self.loss_error:.2g}, {basis}",
            f"stationarity    {self.stationarity}",
            f"feasibility     {self.feasibility}",
            f"complementarity {self.complementarity}",
        ]
        lines += [f"  violation of {name}: {one}, multiplier {self.multipliers[name]:.4g}" for name, one in self.constraints.items()]
        return "\n".join(lines)


class _Mean:
    """Sums over batches: of derivatives on the device, of their products and the rest on the host."""

    def __init__(self, flat: Flat, m: int) -> None:
        self.flat = flat
        self.count = 0
        self.derivatives = flat.zeros(1 + m)
        self.grams = np.zeros((1 + m, 1 + m))
        self.values: list[np.ndarray] = []

    def add(self, batch: Batch) -> None:
        self.count += 1
        for mean, part in zip(self.flat.cut(self.derivatives, batch.parts), batch.parts):
            mean.lerp_(part, 1.0 / self.count)
        self.grams += self.flat.engine.host(gram(batch.parts))
        self.values.append(np.concatenate([[batch.loss], batch.c]))

    def gram(self) -> np.ndarray:
        return self.flat.engine.host(gram([self.derivatives]))

    def mean(self) -> np.ndarray:
        return np.mean(self.values, axis=0)  # type: ignore[no-any-return]

    def square_errors(self) -> np.ndarray:
        """The squares of the standard errors of loss and constraints."""
        return np.var(self.values, axis=0, ddof=1) / self.count  # type: ignore[no-any-return]

    def square_error(self, coefficients: np.ndarray) -> float:
        """The square of the standard error of a combination of rows, over all of its entries: `sum |e_b - e|^2 / (n (n - 1))`."""
        total = coefficients @ (self.grams - self.count * self.gram()) @ coefficients
        return max(float(total), 0.0) / self.count / (self.count - 1)

    def jacobian_error(self) -> float:
        """The mean square error of the whole Jacobian."""
        return float(np.trace((self.grams - self.count * self.gram())[1:, 1:])) / self.count / (self.count - 1)

    def stationarity(self, y: np.ndarray, at: torch.Tensor) -> float:
        """`|g + J^T y|`, less what bounds of parameters may push back with: noise in it moves the norm by no more than its own norm."""
        v = self.flat.tensor(np.concatenate([[1.0], y])) @ self.derivatives
        if self.flat.low is not None and self.flat.high is not None:
            v = torch.where(at <= self.flat.low, v.clamp(max=0.0), v)
            v = torch.where(at >= self.flat.high, v.clamp(min=0.0), v)
        return math.sqrt(float(self.flat.engine.host(dots([([v], [v])]))[0]))


def certify(
    model: torch.nn.Module,
    loss_and_constraints: Callable[[torch.nn.Module, Any], Any],
    loader: Iterable[Any],
    lower: float | Sequence[float] | None = None,
    upper: float | Sequence[float] | None = None,
    *,
    optimizer: Tangor | None = None,
    names: Sequence[str] | None = None,
    confidence: float = 0.95,
    exact: bool = False,
) -> Certificate:
    """The residuals of a model on the batches of `loader`, each with an upper confidence bound.

    `loss_and_constraints(model, batch)` returns `(loss, c)`. With the optimizer, its bounds and names count, those of parameters too; else
    `lower` and `upper` are those that an optimizer would get. The model is used in the mode in which it is: call `model.eval()` before, where
    that matters. Batches must be fresh, independent and of one size (`drop_last=True`), at least 4 of them, better 20 or more. With `exact=True`
    they are the whole population once, and the residuals have no noise.
    """
    if not 0.5 < confidence < 1.0:
        raise ValueError(f"the confidence must be between 0.5 and 1, not {confidence!r}")
    if optimizer is not None and not (lower is None and upper is None and names is None):
        raise ValueError("with an optimizer, lower, upper and names are its own: leave them out")
    flat = Flat(model.parameters()) if optimizer is None else optimizer._flat
    evaluator = Evaluator(flat, None if optimizer is None else len(optimizer._names))
    halves: list[_Mean] = []
    for number, data in enumerate(loader):
        batch = evaluator.evaluate(lambda: loss_and_constraints(model, data), None)
        if not evaluator.is_finite(batch):
            raise ValueError(f"batch {number} of the loader has a NaN or an infinity in its loss, constraints or derivatives")
        halves = halves or [_Mean(flat, len(batch.c)) for _ in range(1 if exact else 2)]
        halves[number % len(halves)].add(batch)
    if not halves or halves[-1].count < (1 if exact else 2):
        raise ValueError("the loader gave too few batches: at least 4 are needed, or 1 with exact=True")
    m = len(halves[0].derivatives) - 1
    limits = read_limits(m, lower, upper) if optimizer is None else optimizer._limits
    labels = read_names(m, names) if optimizer is None else optimizer._names
    evaluator.check_graphs(labels)
    at = flat.read(flat.zeros())
    y = _fit(halves[0], at, limits, 0.0 if exact else halves[0].jacobian_error())
    batches = sum(half.count for half in halves)
    return _judge(halves[-1], y, at, limits, labels, confidence, batches, exact)


def _fit(mean: _Mean, at: torch.Tensor, limits: Limits, error: float) -> np.ndarray:
    """Multipliers that make stationarity and complementarity small together. Large ones could explain the gradient by the noise of the
    Jacobian, whose mean square `error` softens the rows."""
    products, c = mean.gram(), mean.mean()[1:]
    m = len(c)
    best, least = np.zeros(m), math.inf
    for sigma in SIGMAS:
        columns = Columns(mean.flat, mean.derivatives, Uniform(mean.flat, sigma), at)
        rows = limits.rows(c, np.diag(products)[1:], sigma)
        # From where they are, the slacks may go to their bounds; nothing is repaired.
        found, _ = solve(columns, products / sigma, np.zeros(m), error / max(m, 1) / sigma, rows, best, normal=False)
        y, complementarity = signed_multipliers(found.y, c, limits)
        score = max(mean.stationarity(y, at), complementarity)
        if score < least:
            best, least = y, score
    return best


def _judge(
    mean: _Mean, y: np.ndarray, at: torch.Tensor, limits: Limits, labels: list[str], confidence: float, batches: int, exact: bool
) -> Certificate:
    factor = 0.0 if exact else float(stdtrit(mean.count - 1, 0.5 + 0.5 * confidence))
    values = mean.mean()
    errors = np.zeros_like(values) if exact else mean.square_errors()
    c, violation = values[1:], limits.violation(values[1:])
    stationarity = mean.stationarity(y, at)
    error = 0.0 if exact else math.sqrt(mean.square_error(np.concatenate([[1.0], y])))
    noise = factor * math.sqrt(errors[1:].sum())
    _, complementarity = signed_multipliers(y, c, limits)
    size = float(np.linalg.norm(y[limits.inequalities]))
    feasibility = float(np.linalg.norm(violation))
    return Certificate(
        loss=float(values[0]),
        loss_error=factor * math.sqrt(errors[0]),
        stationarity=Bounded(stationarity, stationarity + factor * error),
        feasibility=Bounded(feasibility, feasibility + noise),
        complementarity=Bounded(complementarity, complementarity + size * noise),
        constraints={
            name: Bounded(abs(float(one)), abs(float(one)) + factor * math.sqrt(error))
            for name, one, error in zip(labels, violation, errors[1:])
        },
        multipliers={name: float(one) for name, one in zip(labels, y)},
        confidence=confidence,
        batches=batches,
        exact=exact,
    )
