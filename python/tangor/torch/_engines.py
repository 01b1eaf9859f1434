"""Who computes: one process, several with all parameters and a batch each, or several with a shard of the parameters each.

Every number that decides something passes through `host` or `average`, which give the same bits on all ranks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import torch.distributed as dist

__all__ = ["Alone", "DataParallel", "Engine", "Sharded", "choose", "local", "to_host"]


def to_host(tensor: torch.Tensor) -> np.ndarray:
    """The only way from the device to the host: for scalars, m-vectors and m x m matrices."""
    return tensor.detach().to("cpu", torch.float64).numpy()  # type: ignore[no-any-return]


def local(tensor: torch.Tensor) -> torch.Tensor:
    """What this rank has of a tensor, in the same memory."""
    return tensor.to_local() if _is_sharded(tensor) else tensor


def _is_sharded(tensor: Any) -> bool:
    return hasattr(tensor, "to_local") and hasattr(tensor, "placements")


class Alone:
    """One process."""

    # Whether gradients of parameters come by `backward` alone, as where another engine gathers and scatters them.
    by_backward = False

    def host(self, sums: torch.Tensor) -> np.ndarray:
        """Sums over the parameters, on the host."""
        return to_host(sums)

    def same(self, values: torch.Tensor) -> np.ndarray:
        """What all ranks have, as the first one has it, on the host."""
        return to_host(values)

    def largest(self, values: torch.Tensor) -> np.ndarray:
        """Each of these at its largest over all parameters, on the host."""
        return to_host(values)

    def average(
        self, values: torch.Tensor, parts: list[torch.Tensor], size: float
    ) -> tuple[torch.Tensor, list[torch.Tensor], float]:
        """Values and derivatives of the batches of all ranks, and how large they are together."""
        return values, parts, size

    def agree(self, tensors: Sequence[torch.Tensor]) -> None:
        """All ranks start alike."""


class DataParallel(Alone):
    """All ranks have all parameters; each has a batch of its own."""

    def __init__(self, group: Any) -> None:
        self.group = group
        self.first = dist.get_global_rank(group, 0)

    def host(self, sums: torch.Tensor) -> np.ndarray:
        # They are the same everywhere but for rounding, which differs between devices; a decision must not.
        sums = sums.detach().clone()
        dist.broadcast(sums, self.first, group=self.group)
        return to_host(sums)

    def same(self, values: torch.Tensor) -> np.ndarray:
        return self.host(values)

    def average(
        self, values: torch.Tensor, parts: list[torch.Tensor], size: float
    ) -> tuple[torch.Tensor, list[torch.Tensor], float]:
        """All in one bucket, weighted by size."""
        shapes = [part.shape for part in parts]
        lengths = [part.numel() for part in parts]
        bucket = parts[0].new_empty(sum(lengths) + len(values) + 1)
        *places, scalars, total = bucket.split([*lengths, len(values), 1])
        for place in places:
            # One by one, so that not all of them are there twice.
            torch.mul(parts.pop(0).reshape(-1), size, out=place)
        scalars.copy_(values * size)
        total.fill_(size)
        dist.all_reduce(bucket, group=self.group)
        size = float(to_host(total)[0])
        bucket.div_(size)
        return scalars.to(values.dtype), [place.view(shape) for place, shape in zip(places, shapes)], size

    def agree(self, tensors: Sequence[torch.Tensor]) -> None:
        """The parameters of the first rank go to all."""
        for tensor in tensors:
            dist.broadcast(tensor, self.first, group=self.group)


class Sharded(Alone):
    """Each rank has a shard of every parameter, and of all that is like them: only sums go from rank to rank."""

    by_backward = True

    def __init__(self, parameters: Sequence[Any]) -> None:
        layouts = {(p.device_mesh, tuple(p.placements)) if _is_sharded(p) else None for p in parameters}
        meshes = {layout[0] for layout in layouts if layout is not None}
        sharded = {tuple(at.is_shard() for at in layout[1]) for layout in layouts if layout is not None}
        if None in layouts or len(meshes) > 1 or len(sharded) > 1:
            raise ValueError("either all parameters must be sharded over the same devices in the same way, or none")
        self.mesh, kinds = meshes.pop(), sharded.pop()
        if sum(kinds) > 1:
            raise ValueError("parameters may be sharded along one dimension of the device mesh, not along several")
        # Along the other dimensions of the mesh, shards are repeated.
        self.shards = self.mesh.get_group(kinds.index(True)) if any(kinds) else None

    def host(self, sums: torch.Tensor) -> np.ndarray:
        return to_host(sums if self.shards is None else _sum(sums, self.shards))

    def same(self, values: torch.Tensor) -> np.ndarray:
        for at in range(self.mesh.ndim):
            group = self.mesh.get_group(at)
            values = values.detach().clone()
            dist.broadcast(values, dist.get_global_rank(group, 0), group=group)
        return to_host(values)

    def largest(self, values: torch.Tensor) -> np.ndarray:
        if self.shards is None:
            return to_host(values)
        values = values.detach().clone()
        dist.all_reduce(values, dist.ReduceOp.MAX, group=self.shards)
        return to_host(values)

    def average(
        self, values: torch.Tensor, parts: list[torch.Tensor], size: float
    ) -> tuple[torch.Tensor, list[torch.Tensor], float]:
        """Derivatives are averages over all ranks already, each rank counting once; so do the values."""
        joined = torch.cat([values, values.new_tensor([size, 1.0])])
        for at in range(self.mesh.ndim):
            joined = _sum(joined, self.mesh.get_group(at))
        return joined[:-2] / joined[-1], parts, float(to_host(joined[-2]))


Engine = Alone


def _sum(tensor: torch.Tensor, group: Any) -> torch.Tensor:
    """The sum over the ranks, in their order: the same bits on all of them."""
    tensor = tensor.detach().contiguous()
    gathered = [torch.empty_like(tensor) for _ in range(dist.get_world_size(group))]
    dist.all_gather(gathered, tensor, group=group)
    total = gathered[0]
    for one in gathered[1:]:
        total = total + one
    return total


def choose(parameters: Sequence[torch.Tensor], group: Any) -> Engine:
    """The engine for these parameters. `group` is a process group, or None for all processes if there are several."""
    if any(_is_sharded(p) for p in parameters):
        return Sharded(parameters)
    if not (dist.is_available() and dist.is_initialized()):
        return Alone()
    group = dist.group.WORLD if group is None else group
    return DataParallel(group) if dist.get_world_size(group) > 1 else Alone()
