"""Estimates of gradient, Jacobian and constraints by recursive momentum: the same batch at two points.

    estimate_k = new(x_k) + (1 - a) (estimate_{k-1} - new(x_{k-1}))

Gradient and Jacobian are the rows of one buffer like the parameters.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from ._flat import Batch, Flat, to_host, wide
from ._worth import Worth

__all__ = ["Estimates", "Seen"]

# So many entries of a row, chosen at random, stand for all when two batches are compared.
MOST_COMPARED = 65_536


@dataclass
class Seen:
    """What the last batch was at the end of the last step, and by how much it changed along it."""

    here: torch.Tensor
    change: torch.Tensor
    c_here: np.ndarray
    c_change: np.ndarray
    moved: float
    size: float


class Estimates:
    """The estimates, what each of them is worth, and what the last batch showed."""

    def __init__(self, flat: Flat, generator: torch.Generator) -> None:
        self.derivatives = flat.zeros(1 + flat.m)
        self.c = np.zeros(flat.m)
        self.gathered = 0
        self.gradient, self.constraints, self.jacobian = Worth(), Worth(), Worth()
        self.seen: Seen | None = None
        self.index: torch.Tensor | None = None
        self.rounding = (64.0 * torch.finfo(flat.dtype).eps) ** 2
        if flat.d > MOST_COMPARED:
            self.index = torch.randint(flat.d, (MOST_COMPARED,), generator=generator).to(flat.device)
        self.factor = flat.d / MOST_COMPARED if self.index is not None else 1.0

    def worths(self) -> tuple[Worth, Worth, Worth]:
        """Of gradient, constraints and Jacobian."""
        return self.gradient, self.constraints, self.jacobian

    def gather(self, batch: Batch, size: float) -> None:
        """One more batch for the average at the start."""
        self.gathered += 1
        self.derivatives.add_(batch.derivatives - self.derivatives, alpha=1.0 / self.gathered)
        self.c += (batch.c - self.c) / self.gathered
        for worth in self.worths():
            worth.start(worth.draws + size)
            worth.batch = size

    def _some(self, rows: torch.Tensor) -> torch.Tensor:
        return rows.clone() if self.index is None else rows[:, self.index]

    def remember(self, here: Batch, change: torch.Tensor, c_change: np.ndarray, moved: float, size: float) -> None:
        """For the comparison with the next batch."""
        self.seen = Seen(self._some(here.derivatives), self._some(change), here.c.copy(), c_change, moved, size)

    def compare(self, there: Batch, past: Batch, size: float) -> None:
        """A new batch at both ends of the last step, beside the one that was seen there: how far do two batches differ?"""
        seen = self.seen
        if seen is None or not past.is_finite():
            return
        now = self._some(there.derivatives)
        drift = now - self._some(past.derivatives) - seen.change
        kind = wide(now)
        sums = [(one.to(kind) ** 2).sum(dim=1) for one in (now - seen.here, drift, now)]
        spread, drifts, squares = self.factor * to_host(torch.stack(sums))
        c_spread, c_drift = there.c - seen.c_here, there.c - past.c - seen.c_change
        sizes = (size, seen.size)

        def compare(worth: Worth, spread: float, drift: float, square: float) -> None:
            # What rounding explains is no noise.
            if spread <= self.rounding * square:
                spread = drift = 0.0
            worth.compare(sizes, float(spread), float(drift), seen.moved)

        compare(self.gradient, spread[0], drifts[0], squares[0])
        compare(self.jacobian, spread[1:].sum(), drifts[1:].sum(), squares[1:].sum())
        compare(self.constraints, c_spread @ c_spread, c_drift @ c_drift, there.c @ there.c)

    def advance(self, here: Batch, there: Batch, moved: float, size: float) -> tuple[torch.Tensor, np.ndarray]:
        """Goes on to the new point. Gives the change of the batch between both points, in the memory of `there`."""
        a = [worth.momentum(size) for worth in self.worths()]
        kept = np.array([1.0 - a[0]] + [1.0 - a[2]] * (len(self.derivatives) - 1))
        weights = torch.as_tensor(kept, dtype=self.derivatives.dtype, device=self.derivatives.device)
        self.derivatives.sub_(there.derivatives).mul_(weights[:, None]).add_(here.derivatives)
        change = there.derivatives.neg_().add_(here.derivatives)
        c_change = here.c - there.c
        self.c = here.c + (1.0 - a[1]) * (self.c - there.c)
        for worth, momentum in zip(self.worths(), a):
            worth.advance(momentum, size, moved)
        return change, c_change
