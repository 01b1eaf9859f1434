"""How coarse the numbers are that a closure computes with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

__all__ = ["Precision"]


class Precision(TorchFunctionMode):
    """Sees the dtypes of all results meanwhile: under `torch.autocast` most of them are shorter than parameters and outputs are."""

    def __init__(self) -> None:
        super().__init__()
        # Of all results. No number that changes: compiled code, which sees this too, would take it for an input of its own.
        self.kinds: set[torch.dtype] = set()

    @property
    def coarsest(self) -> float:
        """The largest rounding error of them; 0 without any."""
        return max((torch.finfo(kind).eps for kind in self.kinds), default=0.0)

    def __torch_function__(
        self, function: Callable[..., Any], types: Sequence[type], args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = function(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor) and result.is_floating_point():
            self.kinds.add(result.dtype)
        return result
