"""A part of low rank over the diagonal metric, from the last steps `s` and the changes `y` of the Lagrangian's gradient along them.

BFGS updates of `D`, in the compact form of the inverse (Byrd, Nocedal and Schnabel 1994): with steps and changes as rows of `S` and `Y`, `R` the upper
triangle of `S Y^T` and `E` its diagonal,

    H^-1 = D^-1 + W^T M W,     W = (S, Y D^-1),     M = ( R^-T (E + Y D^-1 Y^T) R^-1   -R^-T )
                                                        ( -R^-1                          0   )

Rows of length d stay on the device; only products of them go to the host.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from scipy.linalg import solve_triangular

from ._flat import Flat
from ._products import dots, products

__all__ = ["LimitedMemory", "Part"]

# Up to so many parameters this many steps are kept, by default; with more of them none: memory and time go into the rows of derivatives.
FEW, STEPS = 16_384, 20
# A step of which noise explains more than the rest of this share of what it shows beyond its own curvature is not kept.
CLEAREST = 0.5
# What may be noise of a pair makes `H^-1` along its step at most so many times what its curvature makes it.
MOST_NOISE = 10.0
# Powell's damping: the least curvature along a step, relative to that of the metric.
DAMPED = 0.2
# Of products of long vectors, relative to their norms.
ROUNDING = 64.0


class Part:
    """`W^T M W` for one diagonal."""

    def __init__(self, flat: Flat, basis: torch.Tensor, middle: np.ndarray) -> None:
        self.flat, self.basis, self.middle = flat, basis, middle

    def products(self, rows: torch.Tensor) -> np.ndarray:
        """`rows W^T M W rows^T`"""
        seen = self.flat.engine.host(products(rows, self.basis))
        return seen @ self.middle @ seen.T  # type: ignore[no-any-return]

    def add_to(self, moved: torch.Tensor, v: torch.Tensor) -> None:
        """`moved + W^T M W v`"""
        seen = self.flat.engine.host(products(self.basis, v[None]))[:, 0]
        moved.add_(torch.mv(self.basis.T, self.flat.tensor(self.middle @ seen)))


class LimitedMemory:
    """Steps and changes, the latest last; each scaled so that `s^T y = 1`."""

    def __init__(self, flat: Flat, most: int | None) -> None:
        self.flat = flat
        # With bounds the kernel wants a diagonal.
        default = min(STEPS, flat.whole) if flat.whole <= FEW else 0
        self.most = 0 if flat.low is not None else default if most is None else most
        self.count = 0
        self.steps, self.changes = flat.zeros(self.most), flat.zeros(self.most)

    def part(self, inverse: torch.Tensor) -> Part | None:
        """The part over the diagonal whose inverse this is; None: there is none yet."""
        if self.count == 0:
            return None
        s, y = self.steps[: self.count], self.changes[: self.count]
        weighted = y * inverse
        both = self.flat.engine.host(torch.stack([products(s, y), products(y, weighted)]))
        upper, eye, zero = np.triu(both[0]), np.eye(self.count), np.zeros((self.count, self.count))
        inner = solve_triangular(upper, eye)
        first = inner.T @ (np.diag(np.diag(upper)) + 0.5 * (both[1] + both[1].T)) @ inner
        return Part(self.flat, torch.cat([s, weighted]), np.block([[first, -inner.T], [-inner, zero]]))

    def product(self, s: torch.Tensor, inverse: torch.Tensor) -> torch.Tensor | None:
        """`H s` over the diagonal whose inverse this is, by the compact form of `H` itself; None where rounding leaves none."""
        ds = s / inverse
        if self.count == 0:
            return ds
        steps, changes = self.steps[: self.count], self.changes[: self.count]
        weighted = steps / inverse
        sums = [products(weighted, steps), products(steps, changes), products(weighted, s[None]), products(changes, s[None])]
        numbers = self.flat.engine.host(torch.cat(sums, dim=1).T.contiguous())
        square, across = numbers[: self.count].T, numbers[self.count : 2 * self.count].T
        lower = np.tril(across, -1)
        middle = np.block([[square, lower], [lower.T, -np.diag(np.diag(across))]])
        try:
            found = np.linalg.solve(middle, numbers[2 * self.count :].ravel())
        except np.linalg.LinAlgError:
            return None
        first, second = self.flat.tensor(found).split(self.count)
        return ds.sub_(torch.mv(weighted.T, first)).sub_(torch.mv(changes.T, second))

    def learn(self, s: torch.Tensor, eta: float, change: torch.Tensor, inverse: torch.Tensor, noise: float) -> None:
        """Takes in the step `eta s` over the diagonal whose inverse this is. What noise explains of the change is not learnt: `y = c H s + r` keeps
        the curvature along the step, and the share `1 - noise / |r|^2` of the rest, or less (`_bounded`). Negative curvature is damped: `y` moves
        towards `H s` until `s^T y = 0.2 s^T H s`, as in the solver (`metric/mod.rs`)."""
        if self.most == 0:
            return
        hs = self.product(s, inverse)
        if hs is None:
            return
        pairs = [([s], [s]), ([s], [hs]), ([s], [change]), ([hs], [hs]), ([hs], [change]), ([change], [change])]
        ss, shs, sy, hh, hy, yy = (float(one) for one in self.flat.engine.host(dots(pairs)))
        before, along = eta * eta * shs, eta * sy
        if not (before > 0.0 and np.isfinite(before) and np.isfinite(along)):
            return
        c, clear = along / before, 1.0
        if noise > 0.0:
            rest = yy - 2.0 * c * eta * hy + (c * eta) ** 2 * hh
            clear = max(1.0 - noise / rest, 0.0) if rest > 0.0 else 0.0
            if clear < CLEAREST:
                return
            clear = self._bounded(clear, change, inverse, c * along, noise / rest, max(along, DAMPED * before))
        share = 1.0 if along >= DAMPED * before else (1.0 - DAMPED) * before / (before - along)
        # y = share (clear change + (1 - clear) c eta hs) + (1 - share) eta hs
        y = hs.mul_(eta * (share * (1.0 - clear) * c + 1.0 - share)).add_(change, alpha=share * clear)
        after = share * along + (1.0 - share) * before
        # Where rounding of the product is larger, the curvature is not known.
        rounding = ROUNDING * torch.finfo(s.dtype).eps * eta * (ss * max(yy, eta * eta * hh)) ** 0.5
        if after > rounding:
            self._push(s * (eta / after**0.5), y.div_(after**0.5))

    def _bounded(self, clear: float, change: torch.Tensor, inverse: torch.Tensor, along: float, unclear: float, curvature: float) -> float:
        """The share of the rest `r` that is learnt. The update adds `(1 / s^T y + r^T H^-1 r / (s^T y)^2) s s^T` to `H^-1`: where `r` is long beside the
        curvature, the metric becomes flat along the step. Noise is now and then much larger than in the mean, and then it is all that is clear: what
        may be noise of the second term, the share `unclear`, is to be no more than ten times the first. `along` is the part of `y^T H^-1 y` that `r` has not."""
        part = self.part(inverse)
        square = float(self.flat.engine.host(dots([([change * inverse], [change])]))[0])
        square += 0.0 if part is None else float(part.products(change[None])[0, 0])
        doubtful, most = clear * clear * unclear * (square - along), MOST_NOISE * curvature
        return clear * math.sqrt(most / doubtful) if doubtful > most else clear

    def _push(self, s: torch.Tensor, y: torch.Tensor) -> None:
        if self.count == self.most:
            for rows in (self.steps, self.changes):
                rows.copy_(rows.roll(-1, dims=0))
        self.count = min(self.count + 1, self.most)
        self.steps[self.count - 1].copy_(s)
        self.changes[self.count - 1].copy_(y)

    def save(self) -> dict[str, Any]:
        return {"count": self.count, "steps": self.steps, "changes": self.changes}

    @torch.no_grad()
    def load(self, saved: dict[str, Any]) -> None:
        if saved["steps"].shape != self.steps.shape:
            raise ValueError(f"the state_dict keeps {len(saved['steps'])} steps of a limited memory, but the optimizer {self.most}")
        self.count = saved["count"]
        self.steps.copy_(saved["steps"])
        self.changes.copy_(saved["changes"])
