"""Sums over long vectors on their device, in double precision, some columns at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

__all__ = ["LONG", "dots", "gram", "pieces", "row_maxima", "row_sums", "wide"]

# So many columns at a time go to double precision, and stay in the cache meanwhile.
COLUMNS = 8_192
# Of single vectors, more.
LONG = 65_536


def wide(tensor: torch.Tensor) -> torch.dtype:
    """Double precision, where the device has it."""
    return torch.float32 if tensor.device.type == "mps" else torch.float64


def pieces(length: int, columns: int = COLUMNS) -> Iterator[slice]:
    """The columns, one piece after the other."""
    for at in range(0, length, columns):
        yield slice(at, min(at + columns, length))


def dots(pairs: Sequence[tuple[Sequence[torch.Tensor], Sequence[torch.Tensor]]]) -> torch.Tensor:
    """The dot product of each pair of vectors; both are given in the same parts."""
    first = pairs[0][0][0]
    totals = []
    for left, right in pairs:
        total = torch.zeros((), dtype=wide(first), device=first.device)
        for one, other in zip(left, right):
            for piece in pieces(one.numel(), LONG):
                a = one[piece].to(wide(first))
                total += a @ (a if other is one else other[piece].to(wide(first)))
        totals.append(total)
    return torch.stack(totals)


def row_sums(parts: Sequence[torch.Tensor]) -> torch.Tensor:
    """The sum of each row of a matrix that is given in parts, to tell whether all of it is finite."""
    total = torch.zeros(parts[0].shape[0], dtype=wide(parts[0]), device=parts[0].device)
    for part in parts:
        # Sums of half-precision numbers leave their range.
        total += part.sum(dim=1, dtype=torch.promote_types(part.dtype, torch.float32))
    return total


def row_maxima(parts: Sequence[torch.Tensor]) -> torch.Tensor:
    """The largest absolute value of each row."""
    largest = torch.zeros(parts[0].shape[0], dtype=parts[0].dtype, device=parts[0].device)
    for part in parts:
        if part.numel():
            largest = torch.maximum(largest, part.abs().amax(dim=1))
    return largest


def gram(parts: Sequence[torch.Tensor]) -> torch.Tensor:
    """The products of all rows with each other."""
    count, kind = parts[0].shape[0], wide(parts[0])
    total = torch.zeros(count, count, dtype=kind, device=parts[0].device)
    for part in parts:
        for piece in pieces(part.shape[1]):
            rows = part[:, piece].to(kind)
            total.addmm_(rows, rows.T)
    return total
