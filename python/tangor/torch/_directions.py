"""The two directions of a step, from the estimates: vectors on the device, decisions on the host."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch

from . import _kernel
from ._flat import dot, products, to_host
from ._metric import Diagonal

__all__ = ["Direction", "Limits", "Warm", "find", "signed_multipliers"]

# A slack is measured relative to the size of its row; a small weight keeps inactive inequalities from shortening the step.
SLACK_WEIGHT = 1e-4
# The softness that keeps the normal problem well posed, relative to the size of `J J^T`.
SOFTEST = 1e-10


@dataclass
class Limits:
    """`lower <= c <= upper`, row by row."""

    lower: np.ndarray
    upper: np.ndarray

    def __post_init__(self) -> None:
        self.inequalities = np.flatnonzero(self.lower != self.upper)

    def scaled(self, scale: np.ndarray) -> Limits:
        """The same in other units."""
        return Limits(self.lower * scale, self.upper * scale)

    def violation(self, c: np.ndarray) -> np.ndarray:
        """`h`, each slack being where it violates least."""
        return c - np.clip(c, self.lower, self.upper)

    def rows(self, c: np.ndarray, squares: np.ndarray, scalar: float) -> _kernel.Rows:
        """The slacks of the inequalities for the kernel, `squares` being those of the rows' norms."""
        k = self.inequalities
        slack = np.clip(c, self.lower, self.upper)[k]
        weights = scalar * SLACK_WEIGHT / np.maximum(squares[k], 1e-8)
        return _kernel.Rows(k, weights, self.lower[k] - slack, self.upper[k] - slack)


@dataclass
class Warm:
    """The multipliers of the last normal and the last tangent problem."""

    normal: np.ndarray
    tangent: np.ndarray


@dataclass
class Direction:
    """`s` of the parameters, and what is known of it."""

    s: torch.Tensor
    multipliers: np.ndarray
    h: np.ndarray
    theta: float
    # `g^T s`, `s^T H s` with the slacks, `|s|` and `|D s|` of the parameters.
    slope: float
    square: float
    length: float
    weighted: float
    gradient: float
    stationarity: float
    complementarity: float
    signed: np.ndarray
    converged: bool


def find(
    derivatives: torch.Tensor, c: np.ndarray, metric: Diagonal, lipschitz: float, limits: Limits, warm: Warm
) -> Direction:
    """The normal step's target, then the tangent step with its multipliers."""
    both = torch.stack([products(derivatives, derivatives), products(derivatives, derivatives, metric.entries)])
    plain, weighted = to_host(both)
    h, squares = limits.violation(c), np.diag(plain)[1:].copy()
    target, theta, first = _normal_target(plain[1:, 1:], c, h, squares, lipschitz, limits, warm)
    rows = limits.rows(c, squares, metric.scalar)
    tangent = _kernel.solve(weighted[1:, 1:], weighted[1:, 0], target, 0.0, rows, warm.tangent)
    warm.tangent = tangent.y
    signed, complementarity = signed_multipliers(tangent.y, c, limits)
    coefficients = torch.as_tensor(np.concatenate([[1.0], tangent.y]), dtype=derivatives.dtype, device=derivatives.device)
    error = coefficients @ derivatives
    s = (error / metric.entries).neg_()
    dots = [dot(derivatives[0], s), dot(error, s), dot(s, s), dot(error, error)]
    slope, minus_square, length, stationarity = (float(one) for one in to_host(torch.stack(dots)))
    # Multipliers without a bound to push from are none: |v + A^T off|^2 for v = g + A^T y.
    off = signed - tangent.y
    along = plain[1:, 0] + plain[1:, 1:] @ tangent.y
    cleared = max(stationarity + 2.0 * off @ along + off @ plain[1:, 1:] @ off, 0.0)
    return Direction(
        s,
        tangent.y,
        h,
        theta,
        slope,
        rows.weights @ tangent.slacks**2 - minus_square,
        math.sqrt(length),
        math.sqrt(stationarity),
        math.sqrt(max(plain[0, 0], 0.0)),
        math.sqrt(cleared),
        complementarity,
        signed,
        first and tangent.converged,
    )


def _normal_target(
    gram: np.ndarray, c: np.ndarray, h: np.ndarray, squares: np.ndarray, lipschitz: float, limits: Limits, warm: Warm
) -> tuple[np.ndarray, float, bool]:
    """`r = J u` with `u = argmin 1/2 |h + J u|^2 + 1/2 L_c |h| |u|^2`, the share of `h` that it removes, and whether that was solved."""
    size = float(np.linalg.norm(h))
    if size == 0.0:
        return np.zeros_like(h), 1.0, True
    softness = max(lipschitz * size, SOFTEST * float(squares.sum()) / len(h), 1e-300)
    rows = limits.rows(c, squares, 1.0)
    found = _kernel.solve(gram, np.zeros_like(h), -h, softness, rows, warm.normal)
    warm.normal = found.y
    target = -gram @ found.y
    target[rows.inequalities] -= found.slacks
    theta = 1.0 - float(np.linalg.norm(h + target)) / size
    if theta < 0.0:
        # Only a subproblem that was not solved can do harm: repairing nothing is better.
        return np.zeros_like(h), 0.0, False
    return target, theta, found.converged


def signed_multipliers(y: np.ndarray, c: np.ndarray, limits: Limits) -> tuple[np.ndarray, float]:
    """Multipliers with the right signs, and the complementarity that they give."""
    signed, complementarity = y.copy(), 0.0
    for row in limits.inequalities:
        bound = limits.lower[row] if y[row] < 0.0 else limits.upper[row]
        if np.isfinite(bound):
            complementarity += abs(y[row]) * abs(c[row] - bound)
        else:
            signed[row] = 0.0
    return signed, float(complementarity)
