"""The normal and the tangent problem in the space of the multipliers, on the host, in double precision.

Both are `min g^T s + 1/2 s^T H s` subject to `J s = r`, where `J = (A, -E)`: parameters without bounds, and one slack for each
inequality, with bounds. For multipliers `y` the parameters' part is `s = -D^-1 (g + A^T y)` and a slack's is `clip(y / w, low, high)`, so
that all that is needed of the parameters is `G = A D^-1 A^T` and `p = A D^-1 g`:

    G y + p + r + kappa y + E clip(E^T y / w, low, high) = 0

This is the gradient of a convex function of `y`; a semismooth Newton method with a line search finds its root.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["Rows", "Solution", "solve"]

TOLERANCE = 1e-11
FLOOR = 1e-13
MOST_STEPS = 100
# The part of the matrix's size that keeps it regular where rows depend on each other.
REGULAR = 1e-14


@dataclass
class Rows:
    """Which rows are inequalities, and where their slacks may go."""

    inequalities: np.ndarray
    weights: np.ndarray
    low: np.ndarray
    high: np.ndarray


@dataclass
class Solution:
    """Multipliers, the slacks' part of the step, and how it was found."""

    y: np.ndarray
    slacks: np.ndarray
    steps: int
    converged: bool


def solve(gram: np.ndarray, p: np.ndarray, target: np.ndarray, softness: float, rows: Rows, start: np.ndarray) -> Solution:
    """The multipliers of one subproblem, from a first guess."""
    m, k = len(p), rows.inequalities
    soft = gram + softness * np.eye(m)
    linear = p + target

    def slacks(y: np.ndarray) -> np.ndarray:
        return np.clip(y[k] / rows.weights, rows.low, rows.high)

    def value_and_gradient(y: np.ndarray) -> tuple[float, np.ndarray]:
        t = slacks(y)
        gradient = soft @ y + linear
        value = 0.5 * y @ (gradient + linear) + t @ y[k] - 0.5 * rows.weights @ (t * t)
        gradient[k] += t
        return float(value), gradient

    y = start.copy() if np.all(np.isfinite(start)) else np.zeros(m)
    size = float(np.linalg.norm(linear) + np.linalg.norm(np.minimum(np.abs(rows.low), np.abs(rows.high))))
    enough = max(TOLERANCE * size, FLOOR)
    value, gradient = value_and_gradient(y)
    for step in range(MOST_STEPS):
        error = np.linalg.norm(gradient)
        if error <= enough:
            return Solution(y, slacks(y), step, True)
        direction = _newton(soft, gradient, y, rows)
        slope, length = gradient @ direction, 1.0
        while True:
            trial = y + length * direction
            new_value, new_gradient = value_and_gradient(trial)
            # Near the root the values differ by rounding alone, and the gradient tells.
            if new_value <= value + 1e-4 * length * slope or np.linalg.norm(new_gradient) <= 0.5 * error:
                break
            length *= 0.5
            if length < 1e-10:
                # As exact as rounding allows, or stuck: the caller measures what the step does, and goes on.
                return Solution(y, slacks(y), step, bool(error <= 1e-6 * size + FLOOR))
        y, value, gradient = trial, new_value, new_gradient
    return Solution(y, slacks(y), MOST_STEPS, False)


def _newton(soft: np.ndarray, gradient: np.ndarray, y: np.ndarray, rows: Rows) -> np.ndarray:
    k = rows.inequalities
    wanted = y[k] / rows.weights
    free = (wanted > rows.low) & (wanted < rows.high)
    matrix = soft.copy()
    matrix[k, k] += np.where(free, 1.0 / rows.weights, 0.0)
    # Rows of different size, or with a free slack, differ by orders of magnitude: equal diagonals first.
    scale = 1.0 / np.sqrt(np.maximum(np.diag(matrix), np.finfo(float).tiny))
    scaled = matrix * scale[:, None] * scale[None, :]
    regular = REGULAR
    while regular < 1.0:
        try:
            factor = np.linalg.cholesky(scaled + regular * np.eye(len(y)))
        except np.linalg.LinAlgError:
            regular *= 100.0
            continue
        half = np.linalg.solve(factor, -scale * gradient)
        return scale * np.linalg.solve(factor.T, half)  # type: ignore[no-any-return]
    return -gradient / max(np.linalg.norm(matrix), 1.0)  # type: ignore[no-any-return]
