"""Comparisons of two batches at the same two points, which show the noise of a batch and that of its change along a step.

Once in a while a batch is taken where the last step began, too. Rows of derivatives are compared as sums `w^T (g, J)`: the gradient of the Lagrangian, and
one sum of the Jacobian's rows with signs,

    |sum z_i n_i|^2 = sum |n_i|^2 + sum_{i != j} z_i z_j n_i^T n_j

in place of all of them. The signs are Walsh's, one pattern after the other: over a cycle of fewer than `2 m` comparisons the other terms cancel. Where all
rows are there anyway, each is compared. Some columns stand for all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from ._batch import Batch
from ._effective_samples import EffectiveSamples
from ._estimates import Estimates, Left
from ._flat import Flat
from ._products import wide

__all__ = ["Comparisons", "Seen"]

# Once in so many steps, and in each of the first ones, a batch is taken at both ends of the step before.
EVERY = 10


@dataclass
class Seen:
    """What the last batch was at the end of the last step, and by how much it changed along it: the sums with these weights, one each, and its constraints."""

    weights: np.ndarray
    here: torch.Tensor
    change: torch.Tensor
    c_here: np.ndarray
    c_change: np.ndarray
    moved: float
    size: float


@dataclass
class Saved:
    """What is known before a step."""

    seen: Seen | None
    patterns: int
    numbers: list[dict[str, float]]
    last: torch.Tensor | None


class Comparisons:
    """What is compared, and what the last batch showed for it."""

    def __init__(self, flat: Flat, estimates: Estimates, dtype: torch.dtype) -> None:
        self.flat, self.estimates, self.m = flat, estimates, len(estimates.c)
        self.seen: Seen | None = None
        # Patterns of signs so far.
        self.patterns = 0
        self.rounding = (64.0 * torch.finfo(dtype).eps) ** 2

    def is_due(self, iteration: int) -> bool:
        """Whether the batch of this iteration is compared with the one before."""
        return iteration < EVERY or iteration % EVERY == 0

    def save(self, last: torch.Tensor) -> Saved:
        """All that a step may change here, with the last point while it is needed."""
        return Saved(self.seen, self.patterns, self.estimates.numbers(), last.clone() if self.seen is not None else None)

    def restore(self, saved: Saved, last: torch.Tensor) -> None:
        """The step was broken off: the comparison that it began is made when it is repeated."""
        self.seen, self.patterns = saved.seen, saved.patterns
        self.estimates.restore(saved.numbers)
        if saved.last is not None:
            last.copy_(saved.last)

    def next_weights(self, y: np.ndarray) -> np.ndarray:
        """Which sums of loss and constraints are compared next, in one row each, from that of the Lagrangian with these multipliers on."""
        lagrangian = np.concatenate([[1.0], y])
        if not self.estimates.one_row:
            return np.vstack([lagrangian, np.eye(1 + self.m)])
        signs = [1.0 - 2.0 * ((row & self.patterns).bit_count() % 2) for row in range(self.m)]
        return np.array([lagrangian, [0.0, *signs]])

    def remember(self, left: Left, here: Batch, moved: float) -> None:
        """For the comparison with the next batch."""
        if left.some is not None and here.some is not None:
            change = here.some - left.some
            self.patterns += 1
            self.seen = Seen(left.weights, here.some, change, here.c.copy(), here.c - left.c, moved, here.size)

    def compare(self, there: Batch, past: Batch) -> None:
        """A new batch beside the one that was seen at both ends of the last step; `past` is the new one at the other end. Its last sums are those that were
        seen."""
        seen, estimates = self.seen, self.estimates
        if seen is None or there.some is None or past.some is None:
            return
        now, kind = there.some[-len(seen.weights) :], wide(there.some)
        change = now - past.some
        sums = [(one.to(kind) ** 2).sum(dim=1) for one in (now - seen.here, change - seen.change, now)]
        sums.append((change.to(kind) * seen.change.to(kind)).sum(dim=1))
        numbers = self.flat.engine.host(self.flat.sample.factor * torch.stack(sums))
        c_noise, c_drift = there.c - seen.c_here, there.c - past.c - seen.c_change
        if estimates.one_row:
            estimates.lag.compare(float(numbers[3, 1]), seen.moved)
            groups = [(estimates.jacobian, slice(1, 2))]
        else:
            groups = [(estimates.gradient, slice(1, 2)), (estimates.jacobian, slice(2, None))]
        for effective, rows in [(estimates.lagrangian, slice(0, 1)), *groups]:
            self._take(effective, seen, there.size, *(float(one[rows].sum()) for one in numbers[:3]))
        self._take(estimates.constraints, seen, there.size, float(c_noise @ c_noise), float(c_drift @ c_drift), float(there.c @ there.c))

    def _take(self, effective: EffectiveSamples, seen: Seen, size: float, variance: float, drift: float, square: float) -> None:
        # What rounding explains is no noise.
        if variance <= self.rounding * square:
            variance = drift = 0.0
        effective.compare((size, seen.size), variance, drift, seen.moved)
