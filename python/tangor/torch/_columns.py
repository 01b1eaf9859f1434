"""The parameters' part of the two subproblems: passes over long vectors on their device, of which a few numbers come to the host."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch

from . import _passes
from ._flat import Flat
from ._kernel import ROUNDING, Look
from ._limited_memory import LimitedMemory, Part
from ._metric import Diagonal, Uniform
from ._products import LONG, dots, pieces, products, wide

__all__ = ["Columns", "Steps", "rounding_of"]

# So many columns at a time go to double precision where parameters have bounds.
BOUNDED = 8_192
# What products of rows in single precision are off by, relative to the rows' norms: a row that others explain up to this depends on them.
SINGLE_ROUNDING = 1e-8


def rounding_of(dtype: torch.dtype) -> float:
    """Of products of rows of this kind."""
    return ROUNDING if dtype == torch.float64 else SINGLE_ROUNDING


@dataclass
class Steps:
    """What is known of `s = clip(-D^-1 v)` with `v = g + A^T y`: `g^T s`, `s^T D s`, `|s|^2`, `|D s|^2` and `sum |v + D s| |s|`, which is the
    complementarity of the bounds."""

    slope: float
    square: float
    length: float
    stationarity: float
    complementarity: float


class Columns:
    """Gradient and Jacobian as rows on the device, the metric, and bounds around the parameters, where there are any."""

    def __init__(
        self,
        flat: Flat,
        derivatives: torch.Tensor,
        metric: Diagonal | Uniform,
        at: torch.Tensor,
        scratch: torch.Tensor | None = None,
        memory: LimitedMemory | None = None,
        combined: torch.Tensor | None = None,
        gram: np.ndarray | None = None,
    ) -> None:
        self.flat, self.derivatives, self.metric, self.at = flat, derivatives, metric, at
        # Memory of a vector that nobody needs meanwhile, for `D^-1`, and, where somebody wants it, for `v = g + A^T y` of the step.
        self.scratch, self.combined = flat.zeros() if scratch is None else scratch, combined
        self.inverse: torch.Tensor | None = None
        # `(g, A)^T D^-1 (g, A)`, where a limited memory stands over the diagonal.
        self.by_diagonal = np.empty((0, 0))
        # `A^T A`, where it is known: it stays as long as the Jacobian does.
        self.gram = gram
        self.bounded = flat.low is not None
        self.memory = memory
        self.part: Part | None = None
        # What the library does itself, once through memory.
        self.at_once = isinstance(metric, Diagonal) and not self.bounded and (memory is None or memory.most == 0) and flat.at_once
        # Of products of rows, in the precision of the parameters.
        self.rounding = rounding_of(derivatives.dtype)

    def _room(self, piece: slice, kind: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
        """How far the parameters may go down and up."""
        low, high, at = self.flat.low, self.flat.high, self.at[piece].to(kind)
        assert low is not None and high is not None
        return low[piece].to(kind) - at, high[piece].to(kind) - at

    def products(self) -> tuple[np.ndarray, np.ndarray]:
        """`(g, A)^T (g, A)` and `(g, A)^T H^-1 (g, A)`; with bounds `H` is the diagonal."""
        if self.at_once:
            return self._products_at_once()
        count, inverse = len(self.derivatives), self.metric.inverse(self.scratch)
        self.inverse = inverse
        total = torch.zeros(count, count + 1, dtype=wide(self.derivatives), device=self.flat.device)
        across = torch.zeros(count - 1, count - 1, dtype=total.dtype, device=self.flat.device)
        buffer = self.derivatives.new_empty(count + 1, min(LONG, self.flat.d))
        for piece in pieces(self.flat.d):
            rows = self.derivatives[:, piece]
            # The rows with the metric, and the gradient without it. The Jacobian is apart, so that what is kept of it changes no bit of the others.
            both = buffer[:, : rows.shape[1]]
            torch.mul(rows, inverse[piece], out=both[:count])
            both[count].copy_(rows[0])
            total += products(rows, both)
            if self.gram is None and count > 1:
                across += products(rows[1:], rows[1:])
        numbers = self.flat.engine.host(total)
        self.gram = self.flat.engine.host(across) if self.gram is None else self.gram
        weighted, plain = numbers[:, :count], np.empty((count, count))
        plain[0] = plain[:, 0] = numbers[:, count]
        plain[1:, 1:] = self.gram
        # Rounding must not make it lopsided.
        weighted = self.by_diagonal = 0.5 * (weighted + weighted.T)
        self.part = None if self.memory is None else self.memory.part(inverse)
        if self.part is not None:
            part = self.part.products(self.derivatives)
            weighted = weighted + 0.5 * (part + part.T)
        return plain, weighted

    def leave_memory_out(self) -> np.ndarray:
        """From here on the metric is the diagonal; gives `(g, A)^T D^-1 (g, A)`."""
        self.part = None
        return self.by_diagonal

    def _products_at_once(self) -> tuple[np.ndarray, np.ndarray]:
        assert isinstance(self.metric, Diagonal)
        count = len(self.derivatives)
        sums, across = _passes.products(self.derivatives, self.metric.squares, self.metric.numbers(), self.gram is None)
        numbers = self.flat.engine.host(sums)
        plain, weighted = np.empty((count, count)), _symmetric(count, numbers[:-count])
        plain[0] = plain[:, 0] = numbers[-count:]
        self.gram = _symmetric(count - 1, self.flat.engine.host(across)) if self.gram is None else self.gram
        plain[1:, 1:] = self.gram
        return plain, weighted

    def look(self, y: np.ndarray, normal: bool) -> Look:
        """The part with bounds at some multipliers; the normal problem has `g = 0` and `D = I`."""
        count, kind = len(self.derivatives), wide(self.derivatives)
        coefficients = torch.as_tensor(np.concatenate([[0.0 if normal else 1.0], y]), dtype=kind, device=self.flat.device)
        totals = torch.zeros(1 + count * (3 + count), dtype=kind, device=self.flat.device)
        value, reaction, held, terms, products = totals.split([1, count, count, count, count * count])
        square = products.view(count, count)
        for piece in pieces(self.flat.d, BOUNDED):
            rows, (low, high) = self.derivatives[:, piece].to(kind), self._room(piece, kind)
            entries = torch.ones_like(low) if normal else self.metric.entries(piece).to(kind)
            v = coefficients @ rows
            unclipped = -v / entries
            s = unclipped.clamp(low, high)
            free = (unclipped > low) & (unclipped < high)
            value += v @ s + 0.5 * (entries * s) @ s
            reaction += rows @ s
            held += rows @ torch.where(free, 0.0, s)
            terms += rows.abs() @ s.abs()
            some = rows * free
            square.addmm_(some / entries, some.T)
        numbers = self.flat.engine.host(totals)
        sums, matrix = numbers[1 : 1 + 3 * count].reshape(3, count), numbers[1 + 3 * count :].reshape(count, count).copy()
        if normal:
            matrix[0] = matrix[:, 0] = 0.0
        return Look(float(numbers[0]), sums[0, 1:].copy(), sums[1, 1:].copy(), float(np.linalg.norm(sums[2, 1:])), matrix)

    def step(self, y: np.ndarray, out: torch.Tensor | None) -> Steps:
        """`s` for these multipliers, into a vector if there is one, and what is known of it."""
        weights = np.concatenate([[1.0], y])
        if self.at_once and out is not None:
            return self._step_at_once(weights, out)
        coefficients = self.flat.tensor(weights)
        if not self.bounded:
            return self._free_step(coefficients, out)
        total = torch.zeros(5, dtype=wide(self.derivatives), device=self.flat.device)
        for piece in pieces(self.flat.d):
            rows, entries = self.derivatives[:, piece], self.metric.entries(piece)
            kept = None if out is None or self.combined is None else self.combined[piece]
            v = torch.mv(rows.T, coefficients, out=kept)
            s = torch.div(v, entries, out=None if out is None else out[piece]).neg_()
            s.clamp_(*self._room(piece, s.dtype))
            weighted = entries * s
            total[4] += dots([([(v + weighted).abs_()], [s.abs()])])[0]
            total[:4] += dots([([rows[0]], [s]), ([weighted], [s]), ([s], [s]), ([weighted], [weighted])])
        return Steps(*(float(one) for one in self.flat.engine.host(total)))

    def _free_step(self, coefficients: torch.Tensor, out: torch.Tensor | None) -> Steps:
        """The same without bounds: few passes over whole vectors. Without a vector for it the step is not asked for, only `|D s|`."""
        kept = out if out is None or self.combined is None else self.combined
        v = torch.mv(self.derivatives.T, coefficients, out=kept)
        if out is None:
            return Steps(math.nan, math.nan, math.nan, float(self.flat.engine.host(dots([([v], [v])]))[0]), 0.0)
        inverse = self.metric.inverse(self.scratch) if self.inverse is None else self.inverse
        # Where `v` has no memory of its own, the step has that of the metric until `v` is not needed any more.
        s = torch.mul(inverse, v, out=inverse if v is out else out)
        if self.part is not None:
            self.part.add_to(s, v)
        s.neg_()
        sums = dots([([self.derivatives[0]], [s]), ([v], [s]), ([s], [s]), ([v], [v])])
        slope, square, length, stationarity = (float(one) for one in self.flat.engine.host(sums))
        if v is out:
            out.copy_(s)
            self.inverse = None
        return Steps(slope, -square, length, stationarity, 0.0)

    def _step_at_once(self, weights: np.ndarray, out: torch.Tensor) -> Steps:
        assert isinstance(self.metric, Diagonal)
        kept = self.scratch if self.combined is None else self.combined
        sums = _passes.combine(self.derivatives, weights.tolist(), self.metric.squares, self.metric.numbers(), kept, out)
        slope, square, length, stationarity = (float(one) for one in self.flat.engine.host(sums))
        return Steps(slope, -square, length, stationarity, 0.0)


def _symmetric(size: int, upper: np.ndarray) -> np.ndarray:
    """The matrix with this upper triangle, row after row."""
    matrix = np.zeros((size, size))
    matrix[np.triu_indices(size)] = upper
    return matrix + np.triu(matrix, 1).T
