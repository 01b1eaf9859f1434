"""The two directions of a step, from the estimates: vectors on the device, decisions on the host."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from . import _kernel
from ._columns import Columns
from ._limits import Limits, signed_multipliers

__all__ = ["Direction", "Warm", "correction_of", "find", "repair_of", "solve"]

# The softness that keeps the normal problem well posed, relative to the size of `J J^T`.
SOFTEST = 1e-10

BEYOND = (
    "derivatives have become so large that their products are beyond the largest number: does the loss fall without end? Bound it, or the parameters "
    "(minimum, maximum), or a constraint on their norm"
)


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
    # Those that weigh the curvature of the constraints.
    at_rest: np.ndarray
    h: np.ndarray
    theta: float
    # `g^T s`, `s^T H s` with the slacks and without, `|s|` of the parameters.
    slope: float
    square: float
    own_square: float
    length: float
    gradient: float
    stationarity: float
    complementarity: float
    signed: np.ndarray
    # `(g, J) (g, J)^T` and `J s`
    plain: np.ndarray
    reaction: np.ndarray
    converged: bool


def find(
    columns: Columns,
    c: np.ndarray,
    lipschitz: float,
    limits: Limits,
    scalar: float,
    warm: Warm,
    s: torch.Tensor,
    is_too_long: Callable[[Direction], bool] = lambda _: False,
) -> Direction:
    """The normal step's target, then the tangent step with its multipliers, into `s`. `scalar` is the size of the metric. Where a step is too long
    by what the limited memory says of flat directions, and rows are inside their bounds, which it may meet, the diagonal alone makes it."""
    plain, weighted = columns.products()
    if not (np.isfinite(plain).all() and np.isfinite(weighted).all()):
        raise OverflowError(BEYOND)
    h, squares = limits.violation(c), np.diag(plain)[1:].copy()
    target, theta, first = _normal_target(columns, plain, c, h, lipschitz, limits, warm)
    rows = limits.rows(c, squares, scalar)

    def tangent(weighted: np.ndarray) -> Direction:
        found, reaction = solve(columns, weighted, target, 0.0, rows, warm.tangent, normal=False)
        warm.tangent = found.y
        signed, complementarity = signed_multipliers(found.y, c, limits)
        steps = columns.step(found.y, s)
        stationarity = steps.stationarity
        # Multipliers without a bound to push from are none.
        if np.any(signed != found.y):
            stationarity = columns.step(signed, None).stationarity
        return Direction(
            s,
            found.y,
            _at_rest(columns, weighted, found, rows),
            h,
            theta,
            steps.slope,
            float(rows.weights @ found.slacks**2 + steps.square),
            steps.square,
            math.sqrt(steps.length),
            math.sqrt(max(plain[0, 0], 0.0)),
            math.sqrt(stationarity),
            complementarity + steps.complementarity,
            signed,
            plain,
            reaction,
            first and found.converged,
        )

    direction = tangent(weighted)
    if columns.part is not None and np.any((rows.low < 0.0) & (rows.high > 0.0)) and is_too_long(direction):
        direction = tangent(columns.leave_memory_out())
    return direction


def _at_rest(columns: Columns, weighted: np.ndarray, tangent: _kernel.Solution, rows: _kernel.Rows) -> np.ndarray:
    """The multipliers of the same step without a repair, `J s = 0` with the slacks that are held now, where these are smaller. Those of a step that repairs much
    are `H u` and more, and a metric from the last steps is made of them: each would make the other grow. As in the solver (`steps/tangent_step.rs`)."""
    y = tangent.y
    if not len(y) or columns.memory is None or columns.memory.most == 0 or columns.bounded:
        return y
    matrix, k = weighted[1:, 1:].copy(), rows.inequalities
    free = (tangent.slacks > rows.low) & (tangent.slacks < rows.high)
    matrix[k[free], k[free]] += 1.0 / rows.weights[free]
    found = np.linalg.lstsq(matrix, -weighted[1:, 0], rcond=columns.rounding * len(y))[0]
    smaller = np.all(np.isfinite(found)) and np.linalg.norm(found) < np.linalg.norm(y)
    return found if smaller else y


def solve(
    columns: Columns,
    products: np.ndarray,
    target: np.ndarray,
    softness: float,
    rows: _kernel.Rows,
    start: np.ndarray,
    normal: bool,
) -> tuple[_kernel.Solution, np.ndarray]:
    """The solution, and `A s` there."""
    if columns.bounded:
        sizes = np.diag(products)[1:]
        found, look = _kernel.solve_with_bounds(lambda y: columns.look(y, normal), sizes, target, softness, rows, start)
        return found, look.reaction
    found = _kernel.solve(products, target, softness, rows, start, columns.rounding)
    return found, -(products[1:, 1:] @ found.y + products[1:, 0])


def _normal_target(
    columns: Columns, plain: np.ndarray, c: np.ndarray, h: np.ndarray, lipschitz: float, limits: Limits, warm: Warm
) -> tuple[np.ndarray, float, bool]:
    """`r = J u` with `u = argmin 1/2 |h + J u|^2 + 1/2 L_c |h| |u|^2`, the share of `h` that it removes, and whether that was solved."""
    size = float(np.linalg.norm(h))
    if size == 0.0:
        return np.zeros_like(h), 1.0, True
    problem = _normal_problem(plain, c, lipschitz, limits)
    found, target = solve(columns, *problem, warm.normal, normal=True)
    warm.normal = found.y
    target[limits.inequalities] -= found.slacks
    theta = 1.0 - float(np.linalg.norm(h + target)) / size
    if theta < 0.0:
        # Only a subproblem that was not solved can do harm: repairing nothing is better.
        return np.zeros_like(h), 0.0, False
    return target, theta, found.converged


def _normal_problem(plain: np.ndarray, c: np.ndarray, lipschitz: float, limits: Limits) -> tuple[np.ndarray, np.ndarray, float, _kernel.Rows]:
    """Products, target, softness and rows of the normal problem at constraint values `c`."""
    h, squares = limits.violation(c), np.diag(plain)[1:].copy()
    softness = max(lipschitz * float(np.linalg.norm(h)), SOFTEST * float(squares.sum()) / len(h), 1e-300)
    products = plain.copy()
    products[0] = products[:, 0] = 0.0
    return products, -h, softness, limits.rows(c, squares, 1.0)


def correction_of(plain: np.ndarray, c: np.ndarray, lipschitz: float, limits: Limits, rounding: float) -> np.ndarray:
    """The multipliers `y` of the normal problem at constraint values `c` with rows from elsewhere: its step is `-J^T y`."""
    if not np.any(limits.violation(c)):
        return np.zeros_like(c)
    return _kernel.solve(*_normal_problem(plain, c, lipschitz, limits), np.zeros_like(c), rounding).y


def repair_of(columns: Columns, plain: np.ndarray, c: np.ndarray, limits: Limits) -> tuple[np.ndarray, np.ndarray]:
    """The multipliers `y` of the shortest step `clip(-J^T y)` that removes the residual at `c` to first order, and `J` times it."""
    found, reaction = solve(columns, *_normal_problem(plain, c, 0.0, limits), np.zeros_like(c), normal=True)
    return found.y, reaction
