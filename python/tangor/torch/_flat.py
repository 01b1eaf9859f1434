"""The parameters as one vector, and what a batch gives at them: loss, constraints and their derivatives, on the parameters' device."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

__all__ = ["Batch", "Flat", "dot", "products", "to_host", "wide"]

# Products with the Jacobian are summed in double precision, so many columns at a time.
COLUMNS = 65_536


def to_host(tensor: torch.Tensor) -> np.ndarray:
    """The only way from the device to the host: for scalars, m-vectors and m x m matrices."""
    return tensor.detach().to("cpu", torch.float64).numpy()  # type: ignore[no-any-return]


@dataclass
class Batch:
    """One batch at one point. `derivatives` has the gradient of the loss as its first row, then the Jacobian."""

    loss: float
    c: np.ndarray
    derivatives: torch.Tensor
    told: tuple[torch.Tensor, torch.Tensor]

    def is_finite(self) -> bool:
        """Whether everything is a number."""
        sums = to_host(self.derivatives.sum(dim=1, dtype=wide(self.derivatives)))
        return bool(np.isfinite(self.loss) and np.all(np.isfinite(self.c)) and np.all(np.isfinite(sums)))


def wide(tensor: torch.Tensor) -> torch.dtype:
    """Double precision, where the device has it."""
    return torch.float32 if tensor.device.type == "mps" else torch.float64


class Flat:
    """All parameters as one vector."""

    def __init__(self, parameters: Iterable[torch.Tensor], constraints: int) -> None:
        self.parameters = [p for p in parameters if p.requires_grad]
        self.m = constraints
        if not self.parameters:
            raise ValueError("none of the parameters requires a gradient: there is nothing to train")
        kinds = {(p.dtype, p.device) for p in self.parameters}
        if len(kinds) > 1:
            names = ", ".join(sorted(f"{dtype} on {device}" for dtype, device in kinds))
            raise ValueError(f"all parameters must have the same dtype and device, but these have {names}")
        if not self.parameters[0].dtype.is_floating_point:
            raise ValueError(f"parameters must be real floating-point numbers, not {self.parameters[0].dtype}")
        self.dtype, self.device = self.parameters[0].dtype, self.parameters[0].device
        self.sizes = [p.numel() for p in self.parameters]
        self.d = sum(self.sizes)
        self.batched = True

    def zeros(self, *shape: int) -> torch.Tensor:
        """A buffer like the parameters."""
        return torch.zeros(*shape, self.d, dtype=self.dtype, device=self.device)

    @torch.no_grad()
    def read(self, out: torch.Tensor) -> torch.Tensor:
        """The parameters, into a vector."""
        for part, p in zip(out.split(self.sizes), self.parameters):
            part.copy_(p.reshape(-1))
        return out

    @torch.no_grad()
    def write(self, vector: torch.Tensor) -> None:
        """A vector, into the parameters."""
        for part, p in zip(vector.split(self.sizes), self.parameters):
            p.copy_(part.view_as(p))

    def evaluate(self, closure: Callable[[], Any], objective_scale: float, row_scale: np.ndarray) -> Batch:
        """The closure's batch at the parameters as they are."""
        with torch.enable_grad():
            loss, c = self._call(closure)
            loss_value, values = float(to_host(loss)) * objective_scale, to_host(c) * row_scale
            derivatives = self._derivatives(loss, c)
        scale = torch.as_tensor(np.concatenate([[objective_scale], row_scale]), dtype=self.dtype, device=self.device)
        return Batch(loss_value, values, derivatives.mul_(scale[:, None]), (loss.detach(), c.detach()))

    def _call(self, closure: Callable[[], Any]) -> tuple[torch.Tensor, torch.Tensor]:
        told = closure()
        if not (isinstance(told, (tuple, list)) and len(told) == 2):
            raise TypeError("the closure must return two things, the loss and the constraints: return loss, c")
        loss, c = told
        if not isinstance(loss, torch.Tensor) or loss.numel() != 1:
            raise TypeError("the first thing that the closure returns must be the loss, a tensor with one element")
        if c is None or isinstance(c, (tuple, list)):
            c = torch.stack([torch.as_tensor(one, device=self.device).reshape(()) for one in c or ()]) if c else self.zeros(0)[:, 0]
        if not isinstance(c, torch.Tensor) or c.numel() != self.m:
            count = c.numel() if isinstance(c, torch.Tensor) else "none"
            raise ValueError(f"the closure must return as many constraints as the optimizer was told: {self.m}, not {count}")
        return loss.reshape(()), c.reshape(-1)

    def _derivatives(self, loss: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
        """One batched backward pass; where an operation cannot do that, one pass for each row."""
        outputs = [(loss, 0), (c, 1)] if self.m else [(loss, 0)]
        outputs = [(value, at) for value, at in outputs if value.requires_grad]
        if not outputs:
            return self.zeros(1 + self.m)
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

    def _together(self, outputs: list[tuple[torch.Tensor, int]]) -> torch.Tensor:
        rows = torch.eye(1 + self.m, device=self.device)
        seeds = [(rows[:, 1:] if at else rows[:, 0]).to(value.dtype) for value, at in outputs]
        values = [value for value, _ in outputs]
        # The graph stays for the second way, should this one fail; it goes with the closure's outputs.
        made = torch.autograd.grad(values, self.parameters, seeds, is_grads_batched=True, allow_unused=True, retain_graph=True)
        return self._joined(made, 1 + self.m)

    def _row_by_row(self, outputs: list[tuple[torch.Tensor, int]]) -> torch.Tensor:
        derivatives = self.zeros(1 + self.m)
        for value, at in outputs:
            for row, one in enumerate(value.reshape(-1), start=at):
                made = torch.autograd.grad(one, self.parameters, allow_unused=True, retain_graph=True)
                derivatives[row] = self._joined([None if part is None else part[None] for part in made], 1)[0]
        return derivatives

    def _joined(self, made: Iterable[torch.Tensor | None], rows: int) -> torch.Tensor:
        joined = torch.empty(rows, self.d, dtype=self.dtype, device=self.device)
        for part, one in zip(joined.split(self.sizes, dim=1), made):
            part.zero_() if one is None else part.copy_(one.detach().reshape(rows, -1))
        return joined


def _is_freed(error: RuntimeError) -> bool:
    return "backward through the graph a second time" in str(error)


def products(left: torch.Tensor, right: torch.Tensor, weights: torch.Tensor | None = None) -> torch.Tensor:
    """`left diag(1 / weights) right^T`, summed in double precision; on the device."""
    kind = wide(left)
    total = torch.zeros(left.shape[0], right.shape[0], dtype=kind, device=left.device)
    for at in range(0, left.shape[1], COLUMNS):
        part = slice(at, at + COLUMNS)
        one = left[:, part].to(kind)
        if weights is not None:
            one = one / weights[part].to(kind)
        total.addmm_(one, right[:, part].to(kind).T)
    return total


def dot(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """A dot product in double precision; on the device."""
    return products(left[None], right[None]).reshape(())
