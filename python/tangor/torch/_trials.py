"""The end of a step: the same batch there, at a length where its merit function descends."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from ._batch import Batch
from ._bends import COARSE, Bends, bends_of
from ._directions import Direction
from ._estimates import Left
from ._progress import DESCENT_TAU
from ._random import RandomState
from ._repairs import swayed

__all__ = ["Arrival", "Trial", "arrive"]

# Trials of a step that should descend; after that it is as short as matters.
MOST_TRIALS = 12
# A step that was too long is tried again with this share of its length.
SHORTER = 0.25


@dataclass(frozen=True)
class Trial:
    """A step that is tried: its length, whether all rows are taken at its end, and a correction that is added to it with what this pushes the constraints by."""

    eta: float
    rows: bool
    correction: torch.Tensor | None = None
    pushed: np.ndarray | float = 0.0

    def shorter(self, rows: bool) -> Trial:
        """Without the correction, which was one of that length."""
        return Trial(SHORTER * self.eta, rows)


@dataclass
class Arrival:
    """The batch at the end of a trial, how it bends on the way there, and `|h|` of the estimates that go there with it."""

    trial: Trial
    here: Batch
    bends: Bends
    residual: float


def arrive(
    optimizer: Any,
    evaluate: Callable[..., Batch],
    random: RandomState,
    left: Left,
    direction: Direction,
    trial: Trial,
    share: float,
) -> Arrival:
    """The first trial that descends; where none does, the shortest at whose end the batch has a value."""

    def attempt() -> Arrival | None:
        return _attempt(optimizer, evaluate, random, left, direction, trial)

    for _ in range(MOST_TRIALS):
        end = attempt()
        if end is not None and _descends(optimizer, left, direction, end):
            return end
        trial = _after(optimizer, trial, end, share)
    end = attempt()
    if end is None:
        # Nowhere near has the batch a value; where it was taken first it has one.
        optimizer._progress.skipped += 1
        trial = replace(trial, eta=0.0)
        end = attempt()
    if end is None:
        raise RuntimeError(
            "the closure gave numbers and then, at the same parameters and with the same random numbers, a NaN or an infinity: it must "
            "give the same again"
        )
    return end


def _after(optimizer: Any, trial: Trial, end: Arrival | None, share: float) -> Trial:
    """What is tried after a trial that was not taken, for one of three reasons."""
    if end is None:
        # There is no value so far away.
        return trial.shorter(trial.rows)
    # Rows are long: they go before the next ones come.
    end.here.parts.clear()
    noisy = optimizer._estimates.jacobian.is_noisy()
    if optimizer._estimates.lag.bias > 0.0 and not noisy:
        # The Jacobian lags behind the point: a shorter step with it would be no better, one with the Jacobian of the point is.
        return Trial(0.0, True)
    optimizer._progress.shorten(SHORTER * trial.eta / share)
    # A guess from noisy slopes that speaks against a step is not believed twice.
    return trial.shorter(trial.rows or noisy)


def _attempt(
    optimizer: Any, evaluate: Callable[..., Batch], random: RandomState, left: Left, direction: Direction, trial: Trial
) -> Arrival | None:
    """The parameters go to the end of a trial. None where the batch has no value there."""
    y = direction.at_rest
    optimizer._flat.move(optimizer._base, direction.s, trial.eta)
    if trial.correction is not None:
        optimizer._flat.shift(trial.correction)
    random.restore()
    here = evaluate(left.weights, None, trial.rows)
    ahead = optimizer._evaluator.along(here, direction.s)
    if ahead is None:
        here.parts.clear()
        return None
    moved, behind = here.c - left.c - trial.pushed, optimizer._estimates.lag.bias
    bends = bends_of(left, ahead, moved, y, trial.eta, direction.reaction, optimizer._evaluator.eps, behind)
    return Arrival(trial, here, bends, _residual(optimizer, here, left, trial.eta * (direction.reaction - bends.slopes)))


def _residual(optimizer: Any, here: Batch, left: Left, off: np.ndarray) -> float:
    """`|h|` at the end of a step: constraints change by `J s` of the estimates and by what the linearisation of the batch misses. A batch whose own
    slopes are `off` would fail at any length. Without noise only lag makes them so, and the values are right."""
    change = here.c - left.c + (off if optimizer._estimates.jacobian.is_noisy() else 0.0)
    return float(np.linalg.norm(optimizer._scaled.violation(left.estimate + change)))


def _descends(optimizer: Any, left: Left, direction: Direction, end: Arrival) -> bool:
    """Whether the merit function descends as the proof asks, for the very batch that was taken at both ends: its noise cancels.
    The loss changes by `eta (g + 1/2 dg)^T s`, where `dg^T s` is its bend."""
    eta, bends = end.trial.eta, end.bends
    if eta == 0.0:
        return True
    estimates, progress, h = optimizer._estimates, optimizer._progress, float(np.linalg.norm(direction.h))
    gain = direction.theta * h
    needed = (direction.slope + 0.5 * direction.square) / gain if gain > 0.0 else 0.0
    rho = min(max(needed, 2.0 * float(np.linalg.norm(direction.multipliers))), progress.rho)
    change = eta * (direction.slope + 0.5 * bends.loss) + rho * (end.residual - h)
    moved = eta * direction.length
    noise = 0.5 * moved * math.sqrt(estimates.gradient.noise_of_difference(moved))
    # Guessed bends of the constraints have their noise, and with the multipliers they are taken out of the loss.
    weight = rho + (float(np.linalg.norm(direction.at_rest)) if bends.guessed else 0.0)
    noise += weight * math.sqrt(estimates.constraints.noise_of_difference(moved))
    # Products are rounded beside the norms, which short numbers of the closure show.
    sizes, values = eta * direction.gradient * direction.length, rho * (float(np.linalg.norm(left.estimate)) + h)
    own = torch.finfo(optimizer._flat.dtype).eps
    rounding = 1e4 * own * (eta * abs(direction.slope) + values)
    # A closure with shorter numbers than the parameters rounds these, too, and a short step is then none or a leap.
    coarse = optimizer._evaluator.eps > own
    rounding += COARSE * optimizer._evaluator.eps * (sizes + values + (rho * swayed(optimizer) if coarse else 0.0))
    return bool(change <= -0.5 * eta * (1.0 - DESCENT_TAU) * direction.square + 2.0 * noise + rounding)
