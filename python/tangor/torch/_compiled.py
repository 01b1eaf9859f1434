"""Models that Inductor compiles. For one backward pass it writes results into memory of what the forward pass has kept ("donated buffers"), where a second pass over
the same graph would read them."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch

__all__ = ["Passes", "several_passes"]

T = TypeVar("T")

GIVEN_AWAY = (
    "the model was compiled for one backward pass, before the optimizer called it, and it takes several: call "
    "torch._dynamo.reset() before the first step, or compile with torch._functorch.config.donated_buffer = False"
)


def several_passes() -> contextlib.AbstractContextManager[Any]:
    """Models that are compiled meanwhile keep what the backward pass needs for several of them."""
    config: Any = sys.modules.get("torch._functorch.config") if "torch._dynamo" in sys.modules else None
    return config.patch(donated_buffer=False) if hasattr(config, "donated_buffer") else contextlib.nullcontext()


class Passes:
    """Several backward passes over one graph. torch refuses them where a graph does not say that it keeps its memory, and those that were compiled for batches of
    any size never say so, however they were compiled. So graphs are looked at once that has happened."""

    def __init__(self) -> None:
        self._look = False

    def over(self, outputs: Sequence[torch.Tensor], take: Callable[[], T]) -> T:
        """What `take` does with the graphs of these outputs."""
        try:
            with several_passes() if self._look and _keeps_memory(outputs) else contextlib.nullcontext():
                return take()
        except RuntimeError as error:
            if "donated buffers" not in str(error):
                raise
            if self._look or not _keeps_memory(outputs):
                raise RuntimeError(GIVEN_AWAY) from error
        self._look = True
        return self.over(outputs, take)


def _keeps_memory(outputs: Sequence[torch.Tensor]) -> bool:
    """Whether no compiled part of these graphs gives memory of the forward pass away."""
    nodes: list[Any] = [one.grad_fn for one in outputs if one.grad_fn is not None]
    seen = set(nodes)
    for node in nodes:
        compiled = getattr(node, "_forward_cls", None)
        if hasattr(compiled, "_lazy_backward_info") and getattr(getattr(compiled, "metadata", None), "bw_donated_idxs", True):
            return False
        following = [one for one, _ in node.next_functions if one is not None and one not in seen]
        seen.update(following)
        nodes += following
    return True
