"""Steps that only remove a residual: the second-order correction after a step, and the repair that ends a run over a finite population."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from ._columns import Columns, rounding_of
from ._directions import Direction, correction_of, repair_of
from ._limits import Limits
from ._metric import Uniform
from ._products import dots, pieces

__all__ = ["correct", "repair", "swayed"]

# How long a correction may be, relative to the step: beyond that two terms of a series say nothing.
LONGEST_CORRECTION = 0.75
# Rounding of averages and of the parameters themselves, relative to what they make of the constraints, in units of the closure's own precision.
ROUNDED = 16.0
# Steps of a repair that are tried, and how much of the curvature that one has found the next reckons with, which goes a little another way.
TRIES, DOUBLED = 2, 2.0
# The curvature along a repair is up to 240 times what steps on the census have measured. The first step reckons with more of it than that, as long as this is
# no more than a hundredth of the residual: it saves second steps.
CAUTION, INSIDE = 1000.0, 0.01


def correct(
    optimizer: Any, exact_constraints: Callable[[], Any], direction: Direction, eta: float
) -> tuple[torch.Tensor | None, np.ndarray]:
    """The second-order correction `u`: what is left of the residual of exact constraints at the end of a step is removed by another short one, as the
    solver does it (`steps/correction.rs`); also `J u`. None where it is not short, or where parameters have bounds."""
    flat, m = optimizer._flat, len(optimizer._multipliers)
    none = None, np.zeros(m)
    if eta == 0.0 or not m or flat.low is not None:
        return none
    flat.move(optimizer._base, direction.s, eta)
    try:
        c = optimizer._evaluator.constraints_alone(exact_constraints) * optimizer._row_scale
    finally:
        flat.write(optimizer._base)
    if not np.isfinite(c).all():
        return none
    y = correction_of(direction.plain, c, optimizer._progress.cautious(), optimizer._scaled, rounding_of(flat.dtype))
    moved = torch.mv(optimizer._estimates.derivatives[1:].T, flat.tensor(-y))
    return (moved, -direction.plain[1:, 1:] @ y) if _length(optimizer, moved) <= LONGEST_CORRECTION * eta * direction.length else none


def repair(optimizer: Any, values: Callable[[], np.ndarray], may_evaluate: Callable[[], bool]) -> float:
    """From estimates without noise, the shortest step `u` that removes the residual to first order. Beyond that, constraints change by about
    `1/2 L |u|^2`, `L` being the Lipschitz constant of the Jacobian that the run has measured along its steps, which is less than along `u`: inequalities are
    repaired to the inside by as much, by a thousand times as much where that is small beside the residual, and by their rounding. Where this is no less than the
    residual itself, such a step promises nothing, and is not tried. `values` gives all constraints at the end of it, as often as it may: where an inequality
    does not hold there, a second step reckons with the curvature that was found. Of the points so far the one that violates least is kept. Gives its violation."""
    flat, estimates, limits = optimizer._flat, optimizer._estimates, optimizer._scaled
    size = least = float(np.linalg.norm(limits.violation(estimates.c)))
    if size == 0.0:
        return 0.0
    flat.read(optimizer._base)
    columns = Columns(flat, estimates.derivatives, Uniform(flat, 1.0), optimizer._base, optimizer._lagrangian)
    plain, _ = columns.products()
    lipschitz, most, kept, c_kept = optimizer._progress.constraints, INSIDE * size, optimizer._base.clone(), estimates.c
    try:
        for _ in range(TRIES):
            if not may_evaluate():
                break
            reaction, margin, length = _shortest(optimizer, columns, plain, lipschitz, most)
            promised = float(np.linalg.norm(limits.violation(estimates.c + reaction)))
            if not promised + margin < size:
                break
            flat.move(optimizer._base, optimizer._s, 1.0)
            c = values()
            violated = limits.violation(c)
            if np.linalg.norm(violated) < least:
                least, c_kept = float(np.linalg.norm(violated)), c
                flat.read(kept)
            if not np.any(violated[limits.inequalities]):
                break
            lipschitz, most = DOUBLED * 2.0 * float(np.abs(c - estimates.c - reaction)[limits.inequalities].max()) / length**2, 0.0
    finally:
        flat.write(kept)
    estimates.c, optimizer._comparisons.seen = c_kept, None
    return least


def _shortest(optimizer: Any, columns: Columns, plain: np.ndarray, lipschitz: float, most: float) -> tuple[np.ndarray, float, float]:
    """The step `u` of a repair, in the memory of steps: `J u`, the margin of the inequalities, of which up to `most` may be caution, and `|u|`."""
    flat, estimates, limits, u = optimizer._flat, optimizer._estimates, optimizer._scaled, optimizer._s
    rounding = ROUNDED * optimizer._evaluator.eps * (float(np.abs(estimates.c).max()) + swayed(optimizer))
    reaction, margin, length = np.zeros_like(estimates.c), rounding, 0.0
    # The margin makes the step longer, and that the margin wider: twice is enough, since it is small beside the residual.
    for _ in range(3):
        narrow = _within(limits, margin)
        y, reaction = repair_of(columns, plain, estimates.c, narrow)
        torch.mv(estimates.derivatives[1:].T, flat.tensor(-y), out=u)
        if flat.low is not None and flat.high is not None:
            u.clamp_(flat.low - optimizer._base, flat.high - optimizer._base)
        length = _length(optimizer, u)
        # What the softness of the normal problem leaves of it counts as well.
        missed = float(np.abs(narrow.violation(estimates.c + reaction)[limits.inequalities]).max(initial=0.0))
        curved = 0.5 * lipschitz * length**2
        margin = max(curved, min(CAUTION * curved, most)) + rounding + missed
    return reaction, margin, length


def swayed(optimizer: Any) -> float:
    """By how much constraints change where all parameters do by a share of themselves, `|J x|` entry by entry."""
    rows = optimizer._estimates.derivatives[1:]
    if not len(rows):
        return 0.0
    # A rank may have no part of any parameter.
    squares = sum(((rows[:, piece] * optimizer._base[piece]).square().sum() for piece in pieces(optimizer._flat.d)), rows.new_zeros(()))
    return math.sqrt(float(optimizer._flat.engine.host(squares)))


def _within(limits: Limits, margin: float) -> Limits:
    """The inequalities narrowed from each side, to their middle at most."""
    room = np.where(limits.lower < limits.upper, np.minimum(margin, 0.5 * (limits.upper - limits.lower)), 0.0)
    return Limits(limits.lower + room, limits.upper - room)


def _length(optimizer: Any, vector: torch.Tensor) -> float:
    return math.sqrt(float(optimizer._flat.engine.host(dots([([vector], [vector])]))[0]))
