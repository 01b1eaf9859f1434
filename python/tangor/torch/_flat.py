"""The parameters as one vector, on their device; where they are sharded, the shards of this rank."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch

from ._engines import choose, local
from ._passes import fit
from ._sample import Sample

__all__ = ["Flat"]


class Flat:
    """All parameters as one vector, with their bounds."""

    def __init__(self, parameters: Iterable[torch.Tensor], group: Any = None) -> None:
        self.parameters = [p for p in parameters if p.requires_grad]
        if not self.parameters:
            raise ValueError("none of the parameters requires a gradient: there is nothing to train")
        if len({id(p) for p in self.parameters}) < len(self.parameters):
            raise ValueError("a parameter is given twice: each belongs to the optimizer once, however often the model uses it")
        kinds = {(p.dtype, p.device) for p in self.parameters}
        if len(kinds) > 1:
            names = ", ".join(sorted(f"{dtype} on {device}" for dtype, device in kinds))
            raise ValueError(f"all parameters must have the same dtype and device, but these have {names}")
        self.dtype, self.device = self.parameters[0].dtype, self.parameters[0].device
        if not self.dtype.is_floating_point:
            raise ValueError(f"parameters must be real floating-point numbers, not {self.dtype}")
        self.engine = choose(self.parameters, group)
        with torch.no_grad():
            self.sizes = [local(p).numel() for p in self.parameters]
        self.d = sum(self.sizes)
        # How many parameters there are on all ranks.
        self.whole = int(self.engine.host(torch.tensor(float(self.d), dtype=torch.float64, device=self.device)))
        # Whether the library passes over vectors itself.
        self.at_once = fit(self.dtype, self.device, self.whole)
        # Columns that stand for all where two batches are compared.
        self.sample = Sample(self.d, self.device)
        self.low: torch.Tensor | None = None
        self.high: torch.Tensor | None = None

    def bound(self, limits: Sequence[tuple[Any, Any]]) -> None:
        """Takes a lower and an upper bound for each parameter, numbers or tensors like it, and moves parameters between them."""
        if all(low is None and high is None for low, high in limits):
            return
        self.low, self.high = self.zeros().fill_(-math.inf), self.zeros().fill_(math.inf)
        for number, (p, low, high, (below, above)) in enumerate(
            zip(self.parameters, self.low.split(self.sizes), self.high.split(self.sizes), limits)
        ):
            for name, vector, given in (("minimum", low, below), ("maximum", high, above)):
                if given is None:
                    continue
                if isinstance(given, torch.Tensor) and given.shape not in (torch.Size([]), p.shape):
                    raise ValueError(f"{name} of parameter {number} has the shape {tuple(given.shape)}, not {tuple(p.shape)}")
                if isinstance(given, torch.Tensor) and given.numel() > 1 and local(given).numel() != vector.numel():
                    raise ValueError(f"{name} of parameter {number}, a shard, must be a number or a tensor that is sharded alike")
                vector.copy_(local(given).reshape(-1)) if isinstance(given, torch.Tensor) else vector.fill_(float(given))
            if not bool((low <= high).all()):
                raise ValueError(f"a minimum of parameter {number} is above its maximum, or one of them is a NaN")
        self.write(self.read(self.zeros()).clamp_(self.low, self.high))

    def check(self, parameters: Sequence[torch.Tensor]) -> None:
        """Whether these are still the parameters that are trained, in their dtype and on their device."""
        for p in self.parameters:
            if p.dtype != self.dtype or p.device != self.device:
                raise RuntimeError(
                    f"the parameters are {p.dtype} on {p.device} now, and were {self.dtype} on {self.device} when the optimizer was made: "
                    "move or convert the model first, and make the optimizer after that"
                )
        trained = {id(p) for p in self.parameters}
        if any(p.requires_grad != (id(p) in trained) for p in parameters):
            raise RuntimeError(
                "which parameters require a gradient has changed since the optimizer was made, and its estimates belong to those that did: make a new one"
            )

    def zeros(self, *shape: int) -> torch.Tensor:
        """A buffer like the parameters."""
        return torch.zeros(*shape, self.d, dtype=self.dtype, device=self.device)

    def split(self, rows: torch.Tensor) -> Sequence[torch.Tensor]:
        """The parts of a vector, or of rows of vectors, that belong to the parameters."""
        parts: Sequence[torch.Tensor] = rows.split(self.sizes, dim=-1)
        return parts

    def cut(self, rows: torch.Tensor, like: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        """A vector, or rows of vectors, in parts of the same widths as these."""
        parts: Sequence[torch.Tensor] = rows.split([part.shape[-1] for part in like], dim=-1)
        return parts

    def tensor(self, values: Any) -> torch.Tensor:
        """Numbers of the host, on the device."""
        return torch.as_tensor(np.asarray(values), dtype=self.dtype, device=self.device)

    @torch.no_grad()
    def read(self, out: torch.Tensor) -> torch.Tensor:
        """The parameters, into a vector."""
        for part, p in zip(self.split(out), self.parameters):
            part.copy_(local(p).reshape(-1))
        return out

    @torch.no_grad()
    def write(self, vector: torch.Tensor) -> None:
        """A vector, into the parameters."""
        for part, p in zip(self.split(vector), self.parameters):
            own = local(p)
            own.copy_(part.view_as(own))

    @torch.no_grad()
    def move(self, base: torch.Tensor, s: torch.Tensor, eta: float) -> None:
        """`base + eta s`, into the parameters; both ends of `s` are between the bounds, and rounding must not change that."""
        low, high = (None if one is None else self.split(one) for one in (self.low, self.high))
        for number, (p, at, along) in enumerate(zip(self.parameters, self.split(base), self.split(s))):
            own = local(p)
            torch.add(at.view_as(own), along.view_as(own), alpha=eta, out=own)
            if low is not None and high is not None:
                own.clamp_(low[number].view_as(own), high[number].view_as(own))

    @torch.no_grad()
    def shift(self, vector: torch.Tensor) -> None:
        """Adds a vector to the parameters, which have no bounds."""
        for part, p in zip(self.split(vector), self.parameters):
            own = local(p)
            own.add_(part.view_as(own))
