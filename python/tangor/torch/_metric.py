"""The adaptive diagonal metric: second moments of the change of the Lagrangian's gradient, parameter by parameter.

`D_i^2` is the mean of `dl_i^2` over the mean of `|dx|^2 / d`, later steps with more weight.
"""

from __future__ import annotations

import math

import torch

from ._flat import Flat, to_host, wide

__all__ = ["Diagonal"]

KEEP = 0.95
# The smallest entry, relative to the root of their mean square: a parameter that has hardly moved must not leap.
FLATTEST = 1e-3
SMALLEST, LARGEST = 1e-8, 1e10


class Diagonal:
    """`D`, and the sums that it comes from."""

    def __init__(self, flat: Flat) -> None:
        self.entries = torch.ones(flat.d, dtype=flat.dtype, device=flat.device)
        self.squares = flat.zeros()
        self.step = 0.0
        self.scalar = 1.0

    def learn(self, change: torch.Tensor, square: float) -> None:
        """Takes in the change of the Lagrangian's gradient along a step with this square of its length."""
        d = len(self.entries)
        self.step = KEEP * self.step + square / d
        self.squares.mul_(KEEP).addcmul_(change, change)
        if self.step == 0.0:
            return
        mean = float(to_host(self.squares.sum(dtype=wide(self.squares)))) / d
        size = math.sqrt(mean / self.step)
        if not math.isfinite(size):
            return
        self.scalar = min(max(size, SMALLEST), LARGEST)
        least = min(max(SMALLEST, FLATTEST * size), LARGEST)
        torch.div(self.squares, self.step, out=self.entries).sqrt_().clamp_(least, LARGEST)
