"""Sums over long vectors on their device: some columns at a time, which are added in double precision."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

__all__ = ["LONG", "dots", "gram", "pieces", "product", "products", "row_maxima", "row_sums", "rows_times", "wide"]

# So many columns at a time: enough that the calls themselves take no time, and few beside all of them, so that what is made of them takes little memory.
LONG = 262_144
# Products of so many columns are summed in the dtype of the rows, or in single precision if that is shorter.
SHORT = 256


def wide(tensor: torch.Tensor) -> torch.dtype:
    """Double precision, where the device has it."""
    return torch.float32 if tensor.device.type == "mps" else torch.float64


def pieces(length: int, columns: int = LONG) -> Iterator[slice]:
    """The columns, one piece after the other."""
    for at in range(0, length, columns):
        yield slice(at, min(at + columns, length))


def products(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """`left right^T` for matrices with long rows. Sums of a few columns lose half a digit of single precision each, in all directions: over a
    million columns this is 1e-9 of the product of the norms, where one long sum in single precision would lose 1e-6."""
    kind = wide(left)
    if left.shape[1] > LONG:
        return sum(products(left[:, piece], right[:, piece]) for piece in pieces(left.shape[1]))
    if left.dtype not in (torch.float32, torch.float64):
        left, right = left.to(torch.float32), right.to(torch.float32)
    even = left.shape[1] // SHORT * SHORT
    rest = left[:, even:].to(kind) @ right[:, even:].to(kind).T
    if even == 0:
        return rest
    short = [rows[:, :even].unflatten(1, (-1, SHORT)).transpose(0, 1) for rows in (left, right)]
    return torch.bmm(short[0], short[1].transpose(1, 2)).sum(dim=0, dtype=kind) + rest


def dots(pairs: Sequence[tuple[Sequence[torch.Tensor], Sequence[torch.Tensor]]]) -> torch.Tensor:
    """The dot product of each pair of vectors; both are given in the same parts."""
    first = pairs[0][0][0]
    kind, zero = torch.promote_types(first.dtype, torch.float32), first.new_zeros((), dtype=wide(first))
    sums = []
    for left, right in pairs:
        both = [(one[piece], other[piece]) for one, other in zip(left, right) for piece in pieces(one.numel())]
        sums.append(sum((torch.dot(one.to(kind), other.to(kind)) for one, other in both), zero))
    return torch.stack(sums)


def product(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """`left^T right` of two long vectors, summed as in `products` but without its small matrices, which take five times as long."""
    kind, short = wide(left), torch.promote_types(left.dtype, torch.float32)
    total = torch.zeros((), dtype=kind, device=left.device)
    for piece in pieces(left.numel()):
        terms = left[piece].to(short) * right[piece].to(short)
        even = terms.numel() // SHORT * SHORT
        total += terms[:even].view(-1, SHORT).sum(dim=1).sum(dtype=kind)
        if even < terms.numel():
            total += terms[even:].sum(dtype=kind)
    return total


def rows_times(parts: Sequence[torch.Tensor], vector: Sequence[torch.Tensor]) -> torch.Tensor:
    """The product of a matrix with a vector, both given in the same parts."""
    return sum(
        (product(part[0], some)[None] if len(part) == 1 else products(part, some[None])[:, 0] for part, some in zip(parts, vector)),
        torch.zeros(parts[0].shape[0], dtype=wide(parts[0]), device=parts[0].device),
    )


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
        for piece in pieces(part.shape[1]):
            largest = torch.maximum(largest, part[:, piece].abs().amax(dim=1))
    return largest


def gram(parts: Sequence[torch.Tensor]) -> torch.Tensor:
    """The products of all rows with each other."""
    return sum(
        (products(part, part) for part in parts),
        torch.zeros(parts[0].shape[0], parts[0].shape[0], dtype=wide(parts[0]), device=parts[0].device),
    )
