"""Torch's random numbers."""

from __future__ import annotations

from typing import Any

import torch

__all__ = ["RandomState"]


class RandomState:
    """Torch's random numbers as they were: a batch at a second point sees the same, in dropout for instance."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.module: Any = getattr(torch, device.type, None) if device.type != "cpu" else None
        self.host = torch.get_rng_state()
        self.own = self.module.get_rng_state(device) if self.module is not None and hasattr(self.module, "get_rng_state") else None

    def restore(self) -> None:
        torch.set_rng_state(self.host)
        if self.own is not None:
            self.module.set_rng_state(self.own, self.device)
