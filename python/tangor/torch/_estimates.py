"""Estimates of gradient, Jacobian and constraints by recursive momentum: the same batch at two points.

    estimate_k = new(x_k) + (1 - a) (estimate_{k-1} - new(x_{k-1}))

Gradient and Jacobian are the rows of one buffer like the parameters. That takes all rows of derivatives at both points. With one row at the old point,
the gradient of the Lagrangian `l = g + J^T y` for the multipliers `y` of the step, the same holds for `w = g + J^T y` of the estimates, while the
Jacobian is a plain average, whose weight is chosen by how far it lags behind (`Lag`):

    w_k = l(x_k) + (1 - a) (w_{k-1} - l(x_{k-1})),     J_k = (1 - b) J_{k-1} + b new J(x_k),     g_k = w_k - J_k^T y

An error of the Jacobian then counts only beside a change of the multipliers. While it is small beside the Jacobian itself, the batch's own Jacobian is not
taken, `b = 0`, and that one row is all there is at both ends (adjoint-based SQP: Diehl, Walther, Bock and Kostina 2010).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from . import _passes
from ._batch import Batch
from ._flat import Flat
from ._products import dots, pieces
from ._effective_samples import EffectiveSamples, Lag

__all__ = ["Estimates", "Left"]


@dataclass
class Left:
    """What is kept of a batch at the point that a step leaves: its constraints beside their estimate, the products of its rows with the step, the
    gradient of its Lagrangian, the weights of the sums that are taken at the other end, too, the momenta, and where sums are compared some columns of each."""

    c: np.ndarray
    estimate: np.ndarray
    size: float
    along: np.ndarray
    lagrangian: torch.Tensor
    weights: np.ndarray
    momenta: list[float]
    some: torch.Tensor | None = None


class Estimates:
    """The estimates, and what each of them is worth."""

    def __init__(self, flat: Flat, constraints: int, one_row: bool = False) -> None:
        self.flat = flat
        # Without constraints the Lagrangian is the loss.
        self.one_row = one_row and constraints > 0
        self.lag = Lag()
        self.derivatives = flat.zeros(1 + constraints)
        # The products of the Jacobian's rows with each other, as long as it stays as it is.
        self.gram: np.ndarray | None = None
        self.c = np.zeros(constraints)
        # The multipliers of the Lagrangian whose gradient has the recursion.
        self.y = np.zeros(constraints)
        self.gathered = 0
        self.constraints, self.jacobian = EffectiveSamples(), EffectiveSamples()
        # That of the gradient of the Lagrangian, whose noise is measured as a whole; with one row it is what the recursion holds for.
        self.lagrangian = EffectiveSamples()
        self.gradient = self.lagrangian if self.one_row else EffectiveSamples()

    def effective_samples(self) -> tuple[EffectiveSamples, EffectiveSamples, EffectiveSamples]:
        """Of gradient, constraints and Jacobian; with one row, the first is that of the Lagrangian's gradient."""
        return self.gradient, self.constraints, self.jacobian

    def all_effective_samples(self) -> list[EffectiveSamples]:
        """Each of them once."""
        return [*self.effective_samples(), *([] if self.one_row else [self.lagrangian])]

    def effective_samples_of_step(self) -> tuple[EffectiveSamples, EffectiveSamples, EffectiveSamples]:
        """The same as far as moves cost them something: with one row, the Jacobian is a part of the Lagrangian's gradient."""
        first, second, third = self.effective_samples()
        return first, second, EffectiveSamples() if self.one_row else third

    def numbers(self) -> list[dict[str, float]]:
        """What the estimates are worth, as it is now."""
        return [dict(vars(one)) for one in (*self.all_effective_samples(), self.lag)]

    def restore(self, numbers: list[dict[str, float]]) -> None:
        """They are worth what they were."""
        for one, values in zip((*self.all_effective_samples(), self.lag), numbers):
            vars(one).update(values)

    def gather(self, batch: Batch) -> None:
        """One more batch for the average at the start."""
        self.gathered += 1
        self.draw_in(batch, batch.size / (self.gradient.draws + batch.size))
        for effective in self.all_effective_samples():
            effective.start(effective.draws + batch.size)
            effective.batch = batch.size

    def draw_in(self, batch: Batch, share: float) -> None:
        """The averages come nearer to a batch, by this share of the way: all of it, and what was there is forgotten."""
        self.gram = None
        for mean, part in zip(self.flat.cut(self.derivatives, batch.parts), batch.parts):
            mean.copy_(part) if share == 1.0 else mean.lerp_(part, share)
        self.c = batch.c.copy() if share == 1.0 else self.c + share * (batch.c - self.c)

    def leave(self, batch: Batch, weights: np.ndarray, along: np.ndarray, lagrangian: torch.Tensor, moved: float) -> Left:
        """Takes a batch out of the estimates at the point that a step leaves, `estimate <- (1 - a) (estimate - new)`, so that its rows need
        not stay. The first `weights` are those of the Lagrangian, `along` are the products of its rows with the step, and `lagrangian` is memory, in which its
        only row may lie already. With one row, only the gradient of its Lagrangian is kept. The step will have `moved` so far, unless it is shortened."""
        a = [effective.momentum(batch.size, moved) for effective in self.effective_samples()]
        kept = [1.0 - one for one in a]
        if self.one_row:
            row = batch.parts[0][0]
            if row.data_ptr() != lagrangian.data_ptr():
                lagrangian.copy_(row)
        else:
            self._take_out(batch, weights[0], [kept[0]] + [kept[2]] * len(self.c), lagrangian)
        some = batch.some[: len(weights)] if batch.some is not None and len(weights) > 1 else None
        left = Left(batch.c, self.c, batch.size, along, lagrangian, weights, a, some)
        self.c = kept[1] * (self.c - batch.c)
        return left

    def _take_out(self, batch: Batch, weights: np.ndarray, kept: list[float], lagrangian: torch.Tensor) -> None:
        """All rows of a batch leave the estimates, of which these shares stay, and their sum is kept."""
        factors, coefficients, cut, parts = self.flat.tensor(kept)[:, None], self.flat.tensor(weights), self.flat.cut, batch.parts
        for estimate, part, combined in zip(cut(self.derivatives, parts), parts, cut(lagrangian, parts)):
            # Some columns at a time, so that nothing of all their length is made.
            for piece in pieces(part.shape[1]):
                rows = part[:, piece]
                torch.mv(rows.T, coefficients, out=combined[piece])
                estimate[:, piece].sub_(rows).mul_(factors)

    def take_back(self, left: Left) -> None:
        """The step is not taken after all. Rows that are not kept cannot be taken back: with all rows at both ends the batch stays out of them."""
        self.c = left.estimate

    def arrive(self, left: Left, batch: Batch, moved: float, y: np.ndarray, s: torch.Tensor, combined: torch.Tensor | None) -> float:
        """Takes the batch in at the new point. `left.lagrangian` becomes the change `dl` of its Lagrangian's gradient on the way there;
        gives `dl^T s`. `combined`, with one row, is `w` of the estimates where the step began; its memory is used. A batch whose only row is
        that of its Lagrangian leaves the Jacobian as it is."""
        self._turn(y)
        # With one row, the turn and the move are known before the recursion begins.
        a = [self.gradient.momentum(batch.size, moved), *left.momenta[1:]] if self.one_row else left.momenta
        coefficients, cut, parts = self.flat.tensor(np.concatenate([[1.0], y])), self.flat.cut, batch.parts
        alone = len(parts[0]) < len(coefficients)
        if alone and combined is not None and len(parts) == 1 and self.flat.at_once:
            bend = _passes.take_row_in(parts[0][0], combined, s, a[0], left.lagrangian, self.derivatives[0])
            return self._advance(batch, a, 0.0, moved, bend)
        self.gram = self.gram if alone else None
        b = 0.0 if alone else self.lag.share(self.jacobian, batch.size, moved)
        together = zip(cut(self.derivatives, parts), parts, cut(left.lagrangian, parts), cut(s if combined is None else combined, parts))
        for estimate, part, change, off in together:
            for piece in pieces(part.shape[1]):
                rows, mine = part[:, piece], estimate[:, piece]
                new = rows[0] if alone else torch.mv(rows.T, coefficients)
                torch.sub(new, change[piece], out=change[piece])
                if self.one_row:
                    # g_k = (1 - b) g_{k-1} + b new g + (1 - a) dl + (b - a) (w_{k-1} - l(x_k))
                    if not alone:
                        mine.lerp_(rows, b)
                    mine[0].add_(change[piece], alpha=1.0 - a[0]).add_(off[piece].sub_(new), alpha=b - a[0])
                else:
                    mine.add_(rows)
        return self._advance(batch, a, b, moved, dots([([left.lagrangian], [s])])[0])

    def _turn(self, y: np.ndarray) -> None:
        """With one row, `w` is now that of other multipliers: `J^T dy` is added to it, with the error of the Jacobian."""
        if self.one_row:
            change = y - self.y
            self.lagrangian.lose((self.lag.bias**2 + self.jacobian.error()) * float(change @ change) / len(y))
            self.y = y.copy()

    def _advance(self, batch: Batch, a: list[float], b: float, moved: float, bend: torch.Tensor) -> float:
        """What the estimates are worth after a batch was taken in; gives the bend on the host."""
        self.c = self.c + batch.c
        self.lagrangian.advance(a[0], batch.size, moved)
        self.constraints.advance(a[1], batch.size, moved)
        if self.one_row:
            self.lag.advance(self.jacobian, b, batch.size, moved)
        else:
            self.gradient.advance(a[0], batch.size, moved)
            self.jacobian.advance(a[2], batch.size, moved)
        return float(self.flat.engine.host(bend))
