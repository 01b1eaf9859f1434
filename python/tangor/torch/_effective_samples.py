"""How many samples an estimate is worth, and the momentum that makes the most of it.

Recursive momentum has the error `e_k = (1 - a) (e_{k-1} - n) + n'`, where `n` and `n'` are those of the batch at the old and the new point. A batch of `B` samples has
`E |n|^2 = E |n'|^2 = S / B`, its difference between two points `E |n' - n|^2 = K |x_k - x_{k-1}|^2 / B`. If the estimate was worth `N` samples, `E |e_{k-1}|^2 = S / N`, and a move
costs `D = K / S |x_k - x_{k-1}|^2 / B`, then

    1 / N_k = (1 - a)^2 / N + a^2 / B + (1 - a) D,     best with     a = min(1, (1 / N + D / 2) / (1 / N + 1 / B))

so that an estimate is never worth less than its last batch, however long a move was. Two batches at the
same two points show `S` and `K`. When `S` changes along the way it is the error `S / N` that stays, and `N` changes with it. After a pass over a whole
population the estimate has no error, `1 / N = 0`, and only moves add to it. For short moves, where `D` counts once and `a = B / (N + B)`, these are the rules of the solver
(`noise/effective_samples.rs`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["EffectiveSamples", "Lag"]

# The share of what is known that a new comparison replaces.
FORGET = 0.1
# The share of what the next batch gives that a move may cost.
COST_OF_A_MOVE = 0.36
# An average may be off by this share of what matters of it; and a batch that would have less weight in it than this is not needed.
STALE, USEFUL = 0.1, 0.1
# So many draws are as good as the expectation itself; a number that files know, as infinity is none in some of them.
ALL = 1e300


def _after(total: float, new: float) -> float:
    """A sum over the comparisons so far, in which earlier ones count less."""
    return (1.0 - FORGET) * total + new


@dataclass
class EffectiveSamples:
    """How many samples one estimate is worth."""

    draws: float = 0.0
    # `N` as it would be without exact passes.
    running: float = 0.0
    batch: float = 0.0
    variance: float = 0.0
    drift: float = 0.0
    weight: float = 0.0

    def start(self, batch: float) -> None:
        """Some batches alone."""
        self.batch = self.draws = self.running = batch

    def take_exact(self, batch: float) -> None:
        """The estimate is the whole population's average: no draw can add to it until the point moves. Without passes before, it is as if
        a batch had begun it."""
        self.draws = ALL
        if self.running == 0.0:
            self.running = self.batch = batch

    def momentum(self, batch: float, moved: float = 0.0) -> float:
        """The best momentum for a batch, after a move."""
        return self._best(self.draws, batch, moved)

    def _best(self, draws: float, batch: float, moved: float) -> float:
        """The same for an estimate that is worth so many draws."""
        if draws <= 0.0:
            return 1.0
        return min((1.0 / draws + 0.5 * self._drifted(batch, moved)) / (1.0 / draws + 1.0 / batch), 1.0)

    def _drifted(self, batch: float, moved: float) -> float:
        """What a move costs, `D`."""
        return self._ratio() * moved**2 / batch if moved > 0.0 else 0.0

    def _worth(self, draws: float, a: float, batch: float, moved: float) -> float:
        """What so many draws are worth when a batch was taken in with the momentum `a`, after a move."""
        lost = a * a / batch
        if a < 1.0:
            lost += (1.0 - a) ** 2 / draws + (1.0 - a) * self._drifted(batch, moved)
        return min(1.0 / lost, ALL) if lost > 0.0 else ALL

    def compare(self, sizes: tuple[float, float], variance: float, drift: float, moved: float) -> None:
        """Two batches differed by `variance` (square of the norm) at a point, and their differences to a point `moved` away by `drift`."""
        per_draw = 1.0 / (1.0 / sizes[0] + 1.0 / sizes[1])
        if moved > 0.0 and math.isfinite(variance) and math.isfinite(drift):
            before = self._variance_of_draw()
            self.variance = _after(self.variance, per_draw * variance)
            self.drift = _after(self.drift, per_draw * drift / moved**2)
            self.weight = _after(self.weight, 1.0)
            if before > 0.0:
                self._keep_error(self._variance_of_draw() / before)

    def _keep_error(self, factor: float) -> None:
        """`S` is this multiple of what it was thought to be, and the error of the estimate is what it was."""
        if factor > 0.0 and math.isfinite(factor):
            self.draws, self.running = min(factor * self.draws, ALL), min(factor * self.running, ALL)

    def lose(self, square: float) -> None:
        """Something beside draws has added an error with this mean square."""
        if self.weight > 0.0 and square > 0.0:
            variance = self._variance_of_draw()
            self.draws, self.running = (variance / (variance / one + square) if one > 0.0 else 0.0 for one in (self.draws, self.running))

    def _variance_of_draw(self) -> float:
        """`S`; 0 before the first comparison."""
        return self.variance / self.weight if self.weight > 0.0 else 0.0

    def is_noisy(self) -> bool:
        """Whether batches were seen to differ."""
        return self.variance > 0.0

    def noise_of_difference(self, moved: float) -> float:
        """The mean square error of the last batch's difference."""
        return self.drift / self.weight / max(self.batch, 1.0) * moved**2 if self.weight > 0.0 else 0.0

    def error(self) -> float:
        """The mean square error of the estimate, `S / N`."""
        return self._variance_of_draw() / self.draws if self.draws > 0.0 else 0.0

    def _ratio(self) -> float:
        if self.drift <= 0.0:
            return 0.0
        return self.drift / self.variance if self.variance > 0.0 else math.inf

    def reach(self) -> float:
        """How far a point may move without the estimate losing more than its share of what the next batch gives. An exact pass does not count:
        what it gave is there to be spent on moves."""
        lost = self.running * math.sqrt(self._ratio())
        return math.sqrt(COST_OF_A_MOVE) * self.batch / lost if lost > 0.0 else math.inf

    def advance(self, a: float, batch: float, moved: float) -> None:
        """A batch was taken in with the momentum `a`, after the point had `moved`."""
        self.batch = batch
        self.draws = self._worth(self.draws, a, batch, moved)
        self.running = self._worth(self.running, self._best(self.running, batch, moved), batch, moved)


@dataclass
class Lag:
    """A plain average `e_k = (1 - b) e_{k-1} + b new(x_k)` lags behind the point. If it is off by `bias` in the mean, and worth `N` samples beside that,
    then after a move that changes what it estimates by `L |x_k - x_{k-1}|` the best weight is

        b = A / (A + S / B),     A = (bias + L |x_k - x_{k-1}|)^2 + S / N

    Where there is no noise it is 1."""

    bias: float = 0.0
    # Of the square of the change for a move of 1, from products of the changes of two batches, whose noise is independent.
    square: float = 0.0
    weight: float = 0.0

    def compare(self, product: float, moved: float) -> None:
        """Changes of two batches along the same move have this product."""
        if moved > 0.0 and math.isfinite(product):
            self.square = _after(self.square, product / moved**2)
            self.weight = _after(self.weight, 1.0)

    def _ahead(self, moved: float) -> float:
        rate = math.sqrt(max(self.square, 0.0) / self.weight) if self.weight > 0.0 else 0.0
        return self.bias + rate * moved

    def is_due(self, effective: EffectiveSamples, size: float, batch: float, moved: float) -> bool:
        """Whether, after a move, lag and noise together are much beside the `size` of what is estimated, and a batch would better them."""
        if effective.weight == 0.0 or self.weight == 0.0:
            return True
        off = self._ahead(moved) ** 2 + effective.error()
        return off > (STALE * size) ** 2 and self.share(effective, batch, moved) >= USEFUL

    def share(self, effective: EffectiveSamples, batch: float, moved: float) -> float:
        """The best weight of a new batch."""
        if effective.weight == 0.0 or effective.variance <= 0.0:
            return 1.0
        of_batch = effective.variance / effective.weight / batch
        off = self._ahead(moved) ** 2 + effective.error()
        return off / (off + of_batch)

    def advance(self, effective: EffectiveSamples, share: float, batch: float, moved: float) -> None:
        """A batch was taken in with this weight."""
        self.bias = (1.0 - share) * self._ahead(moved)
        effective.batch = batch
        kept = (1.0 - share) ** 2 / effective.draws if share < 1.0 else 0.0
        effective.draws = min(1.0 / (kept + share * share / batch), ALL)
        effective.running = effective.draws
