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

from . import _kernel
from ._directions import Limits, signed_multipliers
from ._flat import Batch, Flat, products, to_host
from ._optimizer import _read_limits

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

    def __init__(self, flat: Flat) -> None:
        self.count = 0
        self.derivatives = flat.zeros(1 + flat.m)
        self.grams = np.zeros((1 + flat.m, 1 + flat.m))
        self.values: list[np.ndarray] = []

    def add(self, batch: Batch) -> None:
        self.count += 1
        self.derivatives.add_(batch.derivatives - self.derivatives, alpha=1.0 / self.count)
        self.grams += to_host(products(batch.derivatives, batch.derivatives))
        self.values.append(np.concatenate([[batch.loss], batch.c]))

    def gram(self) -> np.ndarray:
        return to_host(products(self.derivatives, self.derivatives))

    def mean(self) -> np.ndarray:
        return np.mean(self.values, axis=0)  # type: ignore[no-any-return]

    def square_errors(self) -> np.ndarray:
        """The squares of the standard errors of loss and constraints."""
        return np.var(self.values, axis=0, ddof=1) / self.count  # type: ignore[no-any-return]

    def spread(self, gram: np.ndarray, coefficients: np.ndarray) -> float:
        """The square of the standard error of a combination of rows, over all of its entries: `sum |e_b - e|^2 / (n (n - 1))`."""
        total = coefficients @ (self.grams - self.count * gram) @ coefficients
        return max(float(total), 0.0) / self.count / (self.count - 1)


def certify(
    model: torch.nn.Module,
    loss_and_constraints: Callable[[torch.nn.Module, Any], Any],
    loader: Iterable[Any],
    lower: float | Sequence[float] | None = None,
    upper: float | Sequence[float] | None = None,
    *,
    constraints: int,
    names: Sequence[str] | None = None,
    confidence: float = 0.95,
    exact: bool = False,
) -> Certificate:
    """The residuals of a model on the batches of `loader`, each with an upper confidence bound.

    `loss_and_constraints(model, batch)` returns `(loss, c)`; the bounds are those that the optimizer got. The model is used in the mode in
    which it is: call `model.eval()` before, where that matters. Batches must be fresh, independent and of one size (`drop_last=True`), at
    least 4 of them, better 20 or more. With `exact=True` they are the whole population once, and the residuals have no noise.
    """
    if not 0.5 < confidence < 1.0:
        raise ValueError(f"the confidence must be between 0.5 and 1, not {confidence!r}")
    limits = _read_limits(constraints, lower, upper)
    labels = list(names) if names is not None else [f"c{row}" for row in range(constraints)]
    if len(labels) != constraints:
        raise ValueError(f"there must be {constraints} names, not {len(labels)}")
    flat = Flat(model.parameters(), constraints)
    fit, rest = _Mean(flat), _Mean(flat)
    if exact:
        rest = fit
    for number, data in enumerate(loader):
        batch = flat.evaluate(lambda: loss_and_constraints(model, data), 1.0, np.ones(constraints))
        if not batch.is_finite():
            raise ValueError(f"batch {number} of the loader has a NaN or an infinity in its loss, constraints or derivatives")
        (rest if number % 2 else fit).add(batch)
    if rest.count < (1 if exact else 2):
        raise ValueError("the loader gave too few batches: at least 4 are needed, or 1 with exact=True")
    factor = 0.0 if exact else float(stdtrit(rest.count - 1, 0.5 + 0.5 * confidence))
    y = _fit(fit, limits, 0.0 if exact else _jacobian_error(fit))
    return _judge(rest, y, limits, labels, factor, confidence, fit.count + (0 if exact else rest.count), exact)


def _jacobian_error(mean: _Mean) -> float:
    """The mean square error of the whole Jacobian."""
    return float(np.trace((mean.grams - mean.count * mean.gram())[1:, 1:])) / mean.count / (mean.count - 1)


def _fit(mean: _Mean, limits: Limits, error: float) -> np.ndarray:
    """Multipliers that make stationarity and complementarity small together. Large ones could explain the gradient by the noise of the
    Jacobian, whose mean square `error` softens the rows."""
    gram, c = mean.gram(), mean.mean()[1:]
    m = len(c)
    best, least = np.zeros(m), math.inf
    for sigma in SIGMAS:
        rows = limits.rows(c, np.diag(gram)[1:], sigma)
        # From where they are, the slacks may go to their bounds; nothing is repaired.
        found = _kernel.solve(gram[1:, 1:] / sigma, gram[1:, 0] / sigma, np.zeros(m), error / max(m, 1) / sigma, rows, best)
        y, complementarity = signed_multipliers(found.y, c, limits)
        coefficients = np.concatenate([[1.0], y])
        score = max(math.sqrt(max(coefficients @ gram @ coefficients, 0.0)), complementarity)
        if score < least:
            best, least = y, score
    return best


def _judge(
    mean: _Mean, y: np.ndarray, limits: Limits, labels: list[str], factor: float, confidence: float, batches: int, exact: bool
) -> Certificate:
    gram, values = mean.gram(), mean.mean()
    errors = np.zeros_like(values) if exact else mean.square_errors()
    coefficients = np.concatenate([[1.0], y])
    c, violation = values[1:], limits.violation(values[1:])
    device = mean.derivatives.device
    stationary = torch.as_tensor(coefficients, dtype=mean.derivatives.dtype, device=device) @ mean.derivatives
    stationarity = math.sqrt(float(to_host(products(stationary[None], stationary[None]))[0, 0]))
    spread = 0.0 if exact else math.sqrt(mean.spread(gram, coefficients))
    noise = factor * math.sqrt(errors[1:].sum())
    _, complementarity = signed_multipliers(y, c, limits)
    size = float(np.linalg.norm(y[limits.inequalities]))
    feasibility = float(np.linalg.norm(violation))
    return Certificate(
        loss=float(values[0]),
        loss_error=factor * math.sqrt(errors[0]),
        stationarity=Bounded(stationarity, stationarity + factor * spread),
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
