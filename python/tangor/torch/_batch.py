"""What a batch gives at the parameters as they are: loss, constraints and their derivatives."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ._engines import local, to_host
from ._flat import Flat
from ._products import row_sums, wide

__all__ = ["Batch", "Evaluator"]


@dataclass
class Batch:
    """One batch at one point. `parts` are its derivatives, parameter by parameter: the gradient of the loss is the first row, then comes the
    Jacobian."""

    loss: float
    c: np.ndarray
    parts: list[torch.Tensor]
    size: float
    told: tuple[torch.Tensor, torch.Tensor]
    finite: bool

    def scale(self, factors: np.ndarray) -> None:
        """Loss and constraints in other units."""
        self.loss, self.c = float(self.loss * factors[0]), self.c * factors[1:]
        if np.any(factors != 1.0):
            for part in self.parts:
                part.mul_(torch.as_tensor(factors, dtype=part.dtype, device=part.device)[:, None])


class Evaluator:
    """Calls closures, and takes derivatives of what they return."""

    def __init__(self, flat: Flat, constraints: int | None) -> None:
        self.flat = flat
        # None: the first call tells.
        self.m = constraints
        self.batched = not flat.engine.by_backward

    def evaluate(self, closure: Callable[[], Any], factors: np.ndarray | None, size: float = 1.0) -> Batch:
        """The closure's batch at the parameters as they are, averaged over all ranks."""
        flat = self.flat
        with torch.enable_grad():
            loss, c = self._call(closure)
            parts = self._derivatives(loss, c)
        values = torch.cat([loss.detach().reshape(1), c.detach()]).to(wide(loss))
        values, parts, size = flat.engine.average(values, parts, size)
        # One way to the host for all that is told of the batch.
        numbers = flat.engine.host(row_sums(parts)) if flat.engine.by_backward else to_host(row_sums(parts))
        told = to_host(values)
        finite = bool(np.isfinite(numbers).all() and np.isfinite(told).all())
        batch = Batch(float(told[0]), told[1:].copy(), parts, size, (values[0].to(loss.dtype), values[1:].to(c.dtype)), finite)
        if factors is not None:
            batch.scale(factors)
        return batch

    def _call(self, closure: Callable[[], Any]) -> tuple[torch.Tensor, torch.Tensor]:
        told = closure()
        if not (isinstance(told, (tuple, list)) and len(told) == 2):
            raise TypeError("the closure must return two things, the loss and the constraints: return loss, c")
        loss, c = told
        if not isinstance(loss, torch.Tensor) or loss.numel() != 1:
            raise TypeError("the first thing that the closure returns must be the loss, a tensor with one element")
        if c is None or isinstance(c, (tuple, list)):
            rows = [torch.as_tensor(one, device=loss.device).reshape(()) for one in c or ()]
            c = torch.stack(rows) if rows else loss.new_zeros(0)
        if not isinstance(c, torch.Tensor) or c.numel() != (c.numel() if self.m is None else self.m):
            count = c.numel() if isinstance(c, torch.Tensor) else "none"
            raise ValueError(f"the closure must return as many constraints as the optimizer was told: {self.m}, not {count}")
        self.m = c.numel()
        whole = [one.full_tensor() if hasattr(one, "full_tensor") else one for one in (loss, c)]
        return whole[0].reshape(()), whole[1].reshape(-1)

    def _derivatives(self, loss: torch.Tensor, c: torch.Tensor) -> list[torch.Tensor]:
        """One batched backward pass; where an operation cannot do that, one pass for each row."""
        outputs = [(value, at) for value, at in ((loss, 0), (c, 1)) if value.requires_grad and value.numel()]
        if not outputs:
            return [self._zeros(size) for size in self.flat.sizes]
        try:
            if self.batched and self.m:
                try:
                    return self._together(outputs)
                except RuntimeError as error:
                    if _is_freed(error):
                        raise
                    self.batched = False
                    warnings.warn(f"derivatives are taken row by row, since a batched backward pass failed: {error}", stacklevel=4)
            return self._row_by_row(outputs)
        except RuntimeError as error:
            if _is_freed(error):
                message = "the closure must return (loss, c) with their graphs, without calling backward(): the optimizer does that"
                raise RuntimeError(message) from error
            raise

    def _zeros(self, size: int) -> torch.Tensor:
        return torch.zeros(1 + (self.m or 0), size, dtype=self.flat.dtype, device=self.flat.device)

    def _together(self, outputs: list[tuple[torch.Tensor, int]]) -> list[torch.Tensor]:
        count = 1 + (self.m or 0)
        rows = torch.eye(count, device=self.flat.device)
        seeds = [(rows[:, 1:] if at else rows[:, 0]).to(value.dtype) for value, at in outputs]
        values = [value for value, _ in outputs]
        # The graph stays for the second way, should this one fail; it goes with the closure's outputs.
        made: Iterable[torch.Tensor | None] = torch.autograd.grad(
            values, self.flat.parameters, seeds, is_grads_batched=True, allow_unused=True, retain_graph=True
        )
        return [
            self._zeros(size) if one is None else one.detach().reshape(count, size) for one, size in zip(made, self.flat.sizes)
        ]

    def _row_by_row(self, outputs: list[tuple[torch.Tensor, int]]) -> list[torch.Tensor]:
        parts = [self._zeros(size) for size in self.flat.sizes]
        rows = [(one, row) for value, at in outputs for row, one in enumerate(value.reshape(-1), start=at)]
        for number, (one, row) in enumerate(rows):
            # The last pass lets go of the graph.
            keep = number + 1 < len(rows)
            take = self._accumulated if self.flat.engine.by_backward else self._differentiated
            for part, made in zip(parts, take(one, keep)):
                if made is not None:
                    part[row] = made.detach().reshape(-1)
        return parts

    def _differentiated(self, one: torch.Tensor, keep: bool) -> Iterable[torch.Tensor | None]:
        return torch.autograd.grad(one, self.flat.parameters, allow_unused=True, retain_graph=keep)  # type: ignore[no-any-return]

    def _accumulated(self, one: torch.Tensor, keep: bool) -> Iterable[torch.Tensor | None]:
        """By `backward`, for engines that bring gradients to where the shards are."""
        for p in self.flat.parameters:
            p.grad = None
        one.backward(retain_graph=keep)
        for p in self.flat.parameters:
            made, p.grad = p.grad, None
            if made is not None and hasattr(made, "redistribute"):
                made = local(made.redistribute(p.device_mesh, p.placements))
            yield made


def _is_freed(error: RuntimeError) -> bool:
    return "backward through the graph a second time" in str(error)
