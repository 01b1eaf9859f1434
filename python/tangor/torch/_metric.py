"""The adaptive diagonal metric: second moments of the change of the Lagrangian's gradient, parameter by parameter.

`D_i^2` is the mean of `dl_i^2` over the mean of `|dx|^2 / d`, later steps with more weight. Only the sums are kept: `D` is made of them piece by
piece, where it is needed.
"""

from __future__ import annotations

import math

import torch

from . import _passes
from ._flat import Flat
from ._products import wide

__all__ = ["Diagonal", "Uniform"]

KEEP = 0.95
# The smallest entry, relative to the root of their mean square: a parameter that has hardly moved must not leap.
FLATTEST = 1e-3
SMALLEST, LARGEST = 1e-8, 1e10


class Diagonal:
    """`D`, and the sums that it comes from."""

    def __init__(self, flat: Flat) -> None:
        self.flat = flat
        self.squares = flat.zeros()
        self.step = 0.0
        self.scalar = 1.0
        self.least = SMALLEST

    def entries(self, piece: slice) -> torch.Tensor:
        """`D` of some columns; ones until a step was seen."""
        some = self.squares[piece]
        if self.step == 0.0:
            return torch.ones_like(some)
        return (some / self.step).sqrt_().clamp_(self.least, LARGEST)

    def inverse(self, out: torch.Tensor) -> torch.Tensor:
        """`D^-1`, into a vector."""
        if self.step == 0.0:
            return out.fill_(1.0)
        return torch.mul(self.squares, 1.0 / self.step, out=out).rsqrt_().clamp_(1.0 / LARGEST, 1.0 / self.least)

    def numbers(self) -> tuple[float, float, float]:
        """`D^-1` is the square root of one over the squares times the first, between the two others."""
        return (1.0, 1.0, 1.0) if self.step == 0.0 else (1.0 / self.step, 1.0 / LARGEST, 1.0 / self.least)

    def learn(self, change: torch.Tensor, square: float) -> None:
        """Takes in the change of the Lagrangian's gradient along a step with this square of its length."""
        added = self._add(change)
        self.step = KEEP * self.step + square / self.flat.whole
        if self.step == 0.0:
            return
        total = float(self.flat.engine.host(added))
        size = math.sqrt(total / self.flat.whole / self.step)
        if not math.isfinite(size):
            return
        self.scalar = min(max(size, SMALLEST), LARGEST)
        self.least = min(max(SMALLEST, FLATTEST * size), LARGEST)

    def _add(self, change: torch.Tensor) -> torch.Tensor:
        """Its squares count, and earlier ones less; gives the sum of all."""
        if self.flat.at_once:
            return _passes.add_squares(self.squares, change, KEEP)
        return self.squares.mul_(KEEP).addcmul_(change, change).sum().to(wide(self.squares))


class Uniform:
    """One number for all parameters."""

    def __init__(self, flat: Flat, entry: float) -> None:
        self.like, self.entry = flat.zeros(1), entry

    def entries(self, piece: slice) -> torch.Tensor:
        """`D` of some columns."""
        return self.like.new_full((piece.stop - piece.start,), self.entry)

    def inverse(self, out: torch.Tensor) -> torch.Tensor:
        """`D^-1`, into a vector."""
        return out.fill_(1.0 / self.entry)
