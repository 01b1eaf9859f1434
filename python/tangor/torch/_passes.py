"""Passes over long vectors by the library itself (`passes.rs`): all that a step asks of some columns at once, once through memory.

They are for parameters on the processor, in single or double precision, from so many on that memory is what takes the time. The library is told
where tensors are, and nothing is copied. Elsewhere torch does the same, up to rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from .. import _tangor

__all__ = ["add_squares", "combine", "fit", "products", "take_row_in", "times"]

# Of a metric: the factor of the squares, the least and the largest entry of its inverse.
Entries = tuple[float, float, float]
# Calls cost more than memory below.
LONG = 65_536


def fit(dtype: torch.dtype, device: torch.device, whole: int) -> bool:
    """Whether the library takes vectors of this kind, so many parameters being on all ranks, which must do alike."""
    return device.type == "cpu" and dtype in (torch.float32, torch.float64) and whole >= LONG


def _array(tensor: torch.Tensor) -> np.ndarray[Any, Any]:
    """The same memory as an array."""
    array: np.ndarray[Any, Any] = tensor.detach().numpy()
    return array


def products(rows: torch.Tensor, squares: torch.Tensor, numbers: Entries, gram: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """The upper triangle of `r_i^T D^-1 r_j` with `r_0^T r_j` after it, and, where that is wanted, the upper triangle of `r_i^T r_j` without the first row.
    The metric is given by squares and numbers."""
    count = len(rows)
    sums = torch.from_numpy(_tangor.row_products(_array(rows), _array(squares), numbers, gram, torch.get_num_threads()))
    first = count * (count + 1) // 2 + count
    return sums[:first], sums[first:]


def combine(
    rows: torch.Tensor, coefficients: Sequence[float], squares: torch.Tensor, numbers: Entries, v: torch.Tensor, s: torch.Tensor
) -> torch.Tensor:
    """`v = sum c_i r_i` and `s = -D^-1 v` into vectors; gives `r_0^T s`, `v^T s`, `s^T s` and `v^T v`."""
    sums = _tangor.combine_rows(_array(rows), list(coefficients), _array(squares), numbers, _array(v), _array(s), torch.get_num_threads())
    return torch.from_numpy(sums)


def times(rows: torch.Tensor, vector: torch.Tensor) -> torch.Tensor:
    """The product of each row with a vector."""
    return torch.from_numpy(_tangor.rows_along(_array(rows), _array(vector), torch.get_num_threads()))


def take_row_in(new: torch.Tensor, combined: torch.Tensor, s: torch.Tensor, momentum: float, change: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor:
    """A batch arrives of which one row is known: `dl = l - dl`, `g <- g + (1 - a) dl - a (w - l)`; gives `dl^T s`."""
    known = _array(new), _array(combined), _array(s)
    return torch.tensor(_tangor.take_row_in(*known, momentum, _array(change), _array(gradient), torch.get_num_threads()), dtype=torch.float64)


def add_squares(squares: torch.Tensor, change: torch.Tensor, keep: float) -> torch.Tensor:
    """`q <- k q + dl^2`, entry by entry; gives the sum of `q`."""
    return torch.tensor(_tangor.add_squares(_array(squares), _array(change), keep, torch.get_num_threads()), dtype=torch.float64)
