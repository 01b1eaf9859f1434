"""The normal and the tangent problem in the space of the multipliers, on the host, in double precision.

Both are `min g^T s + 1/2 s^T H s` subject to `J s = r`, where `J = (A, -E)`: parameters, and one slack for each inequality, with bounds. The
kernel of the library solves them from `(g, A)^T D^-1 (g, A)`, a matrix of `1 + m` rows, where parameters have no bounds. Where they have,
`s(y) = clip(-D^-1 (g + A^T y))` depends on which of them are held by a bound, and the multipliers minimise the convex function

    phi(y) = -(g + A^T y)^T s - 1/2 s^T D s + sum (y t - 1/2 w t^2) + r^T y + kappa / 2 |y|^2,     t = clip(y / w, low, high)

For the bounds that hold at `y` the kernel gives its minimiser exactly; a line search on `phi` takes care of those that change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .. import _tangor

__all__ = ["Look", "Rows", "Solution", "solve", "solve_with_bounds"]

TOLERANCE = 1e-10
# Products of rows in double precision.
ROUNDING = 4.0 * np.finfo(float).eps
FLOOR = 1e-300
MOST_STEPS = 100
# A proximal term around the last multipliers, relative to the size of each row: at first, at least, and what full and shortened steps do to it.
# It fades with the error, too.
PROXIMAL, LEAST_PROXIMAL, FULL, SHORTENED = 1e-1, 1e-14, 0.3, 30.0


@dataclass
class Rows:
    """Which rows are inequalities, and where their slacks may go."""

    inequalities: np.ndarray
    weights: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def slacks(self, y: np.ndarray) -> np.ndarray:
        """`t` for these multipliers."""
        t: np.ndarray = np.clip(y[self.inequalities] / self.weights, self.low, self.high)
        return t


@dataclass
class Solution:
    """Multipliers, the slacks' part of the step, and how it was found."""

    y: np.ndarray
    slacks: np.ndarray
    steps: int
    converged: bool


@dataclass
class Look:
    """The parameters' part at some multipliers: `v^T s + 1/2 s^T D s`, `A s`, the part of it from columns that a bound holds, the size of its
    terms, and the products over the other columns."""

    value: float
    reaction: np.ndarray
    held: np.ndarray
    terms: float
    products: np.ndarray


def solve(
    products: np.ndarray,
    target: np.ndarray,
    softness: float | np.ndarray,
    rows: Rows,
    start: np.ndarray,
    rounding: float = ROUNDING,
) -> Solution:
    """The multipliers of a subproblem whose parameters have no bounds, from a first guess. `rounding` is that of the products, relative to the
    norms of both rows."""
    if len(target) == 0:
        return Solution(target.copy(), rows.weights.copy(), 0, True)
    y, slacks, steps, converged = _tangor.solve_from_products(
        products, target, np.broadcast_to(softness, target.shape).copy(), rows.inequalities.tolist(), rows.weights, rows.low, rows.high, start, rounding
    )
    if not np.all(np.isfinite(y)):
        return Solution(np.zeros_like(target), rows.slacks(np.zeros_like(target)), steps, False)
    return Solution(y, slacks, steps, converged)


def solve_with_bounds(
    look_at: Callable[[np.ndarray], Look], sizes: np.ndarray, target: np.ndarray, softness: float, rows: Rows, start: np.ndarray
) -> tuple[Solution, Look]:
    """The same for parameters with bounds; also what was seen at the solution. `sizes` are those of the rows, `a_i^T D^-1 a_i`."""

    def measure(y: np.ndarray, look: Look) -> tuple[float, np.ndarray]:
        t = rows.slacks(y)
        value = -look.value + t @ y[rows.inequalities] - 0.5 * rows.weights @ (t * t) + target @ y + 0.5 * softness * y @ y
        gradient = target + softness * y - look.reaction
        gradient[rows.inequalities] += t
        return float(value), gradient

    y = start.copy()
    look = look_at(y)
    sizes = np.maximum(sizes, np.finfo(float).tiny)
    value, gradient = measure(y, look)
    caution = PROXIMAL
    for step in range(MOST_STEPS):
        size = max(float(np.linalg.norm(target)) + look.terms, FLOOR)
        enough = max(TOLERANCE * size, FLOOR)
        error = float(np.linalg.norm(gradient))
        if error <= enough:
            return Solution(y, rows.slacks(y), step, True), look
        # Where bounds hold nearly all columns, the others do not determine the multipliers.
        proximal = max(caution * min(error / size, 1.0), LEAST_PROXIMAL) * sizes
        found = solve(look.products, target - look.held - proximal * y, softness + proximal, rows, y)
        direction, length = found.y - y, 1.0
        slope = float(gradient @ direction)
        while True:
            trial = y + length * direction
            there = look_at(trial)
            new_value, new_gradient = measure(trial, there)
            # Near the solution the values differ by rounding alone, and the gradient tells.
            if new_value <= value + 1e-4 * length * slope or float(np.linalg.norm(new_gradient)) <= 0.5 * error:
                break
            length *= 0.5
            if length < 1e-6:
                # As exact as rounding allows, or stuck: the caller measures what the step does, and goes on.
                return Solution(y, rows.slacks(y), step, error <= 1e3 * enough), look
        caution *= FULL if length == 1.0 else SHORTENED
        y, look, value, gradient = trial, there, new_value, new_gradient
    return Solution(y, rows.slacks(y), MOST_STEPS, False), look
