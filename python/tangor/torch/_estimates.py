"""Estimates of gradient, Jacobian and constraints by recursive momentum: the same batch at two points.

    estimate_k = new(x_k) + (1 - a) (estimate_{k-1} - new(x_{k-1}))

Gradient and Jacobian are the rows of one buffer like the parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from ._batch import Batch
from ._flat import Flat
from ._metric import Diagonal
from ._products import pieces, wide
from ._worth import Worth

__all__ = ["Change", "Estimates", "Seen"]

# So many entries of a row, chosen at random, stand for all when two batches are compared.
MOST_COMPARED = 16_384


@dataclass
class Seen:
    """What the last batch was at the end of the last step, and by how much it changed along it."""

    here: torch.Tensor
    change: torch.Tensor
    c_here: np.ndarray
    c_change: np.ndarray
    moved: float
    size: float


@dataclass
class Change:
    """How a batch changed along a step `s`: squares of the norms of the changes of gradient, Jacobian and Lagrangian's gradient `dl`, and
    `dl^T s`."""

    gradient: float
    jacobian: float
    lagrangian: float
    along: float


class Estimates:
    """The estimates, what each of them is worth, and what the last batch showed."""

    def __init__(self, flat: Flat, constraints: int) -> None:
        self.flat = flat
        self.derivatives = flat.zeros(1 + constraints)
        self.c = np.zeros(constraints)
        self.gathered = 0
        self.gradient, self.constraints, self.jacobian = Worth(), Worth(), Worth()
        self.seen: Seen | None = None
        self.rounding = (64.0 * torch.finfo(flat.dtype).eps) ** 2
        # The same columns in every run, sorted so that each part finds its own.
        self.columns: list[torch.Tensor] | None = None
        if flat.d > MOST_COMPARED:
            drawn = torch.randint(flat.d, (MOST_COMPARED,), generator=torch.Generator().manual_seed(0)).sort().values
            starts = np.cumsum([0, *flat.sizes])
            edges = torch.searchsorted(drawn, torch.as_tensor(starts)).tolist()
            self.columns = [
                (drawn[first:last] - int(start)).to(flat.device) for first, last, start in zip(edges, edges[1:], starts)
            ]
        self.factor = flat.d / MOST_COMPARED if self.columns is not None else 1.0

    def worths(self) -> tuple[Worth, Worth, Worth]:
        """Of gradient, constraints and Jacobian."""
        return self.gradient, self.constraints, self.jacobian

    def gather(self, batch: Batch) -> None:
        """One more batch for the average at the start."""
        self.gathered += 1
        for mean, part in zip(self.flat.split(self.derivatives), batch.parts):
            mean.add_(part - mean, alpha=1.0 / self.gathered)
        self.c += (batch.c - self.c) / self.gathered
        for worth in self.worths():
            worth.start(worth.draws + batch.size)
            worth.batch = batch.size

    def _some(self, parts: Sequence[torch.Tensor]) -> torch.Tensor:
        if self.columns is None:
            return torch.cat(list(parts), dim=1)
        return torch.cat([part[:, columns] for part, columns in zip(parts, self.columns)], dim=1)

    def remember(self, here: Batch, there: Batch, moved: float) -> None:
        """For the comparison with the next batch."""
        now = self._some(here.parts)
        self.seen = Seen(now, now - self._some(there.parts), here.c.copy(), here.c - there.c, moved, here.size)

    def compare(self, there: Batch, past: Batch) -> None:
        """A new batch at both ends of the last step, beside the one that was seen there: how far do two batches differ?"""
        seen = self.seen
        if seen is None or not past.finite:
            return
        now = self._some(there.parts)
        drift = now - self._some(past.parts) - seen.change
        kind = wide(now)
        sums = [(one.to(kind) ** 2).sum(dim=1) for one in (now - seen.here, drift, now)]
        spread, drifts, squares = self.flat.engine.host(self.factor * torch.stack(sums))
        c_spread, c_drift = there.c - seen.c_here, there.c - past.c - seen.c_change
        sizes = (there.size, seen.size)

        def compare(worth: Worth, spread: float, drift: float, square: float) -> None:
            # What rounding explains is no noise.
            if spread <= self.rounding * square:
                spread = drift = 0.0
            worth.compare(sizes, float(spread), float(drift), seen.moved)

        compare(self.gradient, spread[0], drifts[0], squares[0])
        compare(self.jacobian, spread[1:].sum(), drifts[1:].sum(), squares[1:].sum())
        compare(self.constraints, c_spread @ c_spread, c_drift @ c_drift, there.c @ there.c)

    def advance(self, here: Batch, there: Batch, moved: float, y: np.ndarray, s: torch.Tensor, metric: Diagonal) -> Change:
        """Goes on to the new point, and tells how the batch changed on the way there; the metric learns from it. `y` are multipliers."""
        a = [worth.momentum(here.size) for worth in self.worths()]
        kept = self.flat.tensor([1.0 - a[0]] + [1.0 - a[2]] * len(y))[:, None]
        coefficients, kind = self.flat.tensor(np.concatenate([[1.0], y])), wide(self.derivatives)
        squares = torch.zeros(1 + len(y), dtype=kind, device=self.flat.device)
        along = torch.zeros(2, dtype=kind, device=self.flat.device)
        split = self.flat.split
        for number, parts in enumerate(zip(split(self.derivatives), here.parts, there.parts, split(s))):
            # Some columns at a time: nothing as long as all parameters is made on the way.
            for piece in pieces(parts[3].numel()):
                estimate, new, old = (part[:, piece] for part in parts[:3])
                change = new - old
                estimate.sub_(old).mul_(kept).add_(new)
                lagrangian = coefficients @ change
                if moved > 0.0:
                    metric.add(number, piece, lagrangian)
                # Within a piece in the dtype of the parameters: these are sizes, of which a few digits matter.
                squares.add_(change.mul_(change).sum(dim=1))
                along.add_(torch.stack([lagrangian, parts[3][piece]]) @ lagrangian)
        self.c = here.c + (1.0 - a[1]) * (self.c - there.c)
        for worth, momentum in zip(self.worths(), a):
            worth.advance(momentum, here.size, moved)
        numbers = self.flat.engine.host(torch.cat([squares, along]))
        return Change(float(numbers[0]), float(numbers[1:-2].sum()), float(numbers[-2]), float(numbers[-1]))
