"""What a batch gives at the parameters as they are: loss, constraints and their derivatives."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from . import _passes
from ._compiled import Passes, several_passes
from ._engines import local, to_host
from ._flat import Flat
from ._precision import Precision
from ._products import row_sums, rows_times, wide

__all__ = ["Batch", "Evaluator"]

# On the processor a backward pass over so many parameters keeps it busy, and one for each row, into memory that stays, is faster than one for all.
LONG_ROWS = 65_536

# Why a tensor has no graph, and what to do.
CAUSES = (
    "it is detached (detach(), item(), numpy(), torch.tensor(...)), computed under torch.no_grad(), or does not depend on parameters that require "
    "gradients. Return it as it is computed from the model"
)


@dataclass
class Batch:
    """One batch at one point. `parts` are its derivatives, some columns each: the gradient of the loss is the first row, then comes the
    Jacobian, or there is one row, that of a sum of both. They may lie in memory that the next evaluation uses again. `some` are a few columns of the rows of
    further sums."""

    loss: float
    c: np.ndarray
    parts: list[torch.Tensor]
    size: float
    told: tuple[torch.Tensor, torch.Tensor]
    some: torch.Tensor | None = None

    def has_values(self) -> bool:
        """Whether loss and constraints are finite; where they are, derivatives may still not be."""
        return math.isfinite(self.loss) and bool(np.isfinite(self.c).all())

    def scale(self, factors: np.ndarray, rows: bool = True) -> None:
        """Loss and constraints in other units, with or without the rows of their derivatives."""
        self.loss, self.c = float(self.loss * factors[0]), self.c * factors[1:]
        if rows and np.any(factors != 1.0):
            for part in self.parts:
                part.mul_(torch.as_tensor(factors, dtype=part.dtype, device=part.device)[:, None])


class Evaluator:
    """Calls closures, and takes derivatives of what they return."""

    def __init__(self, flat: Flat, constraints: int | None) -> None:
        self.flat = flat
        # None: the first call tells.
        self.m = constraints
        self.batched = not flat.engine.by_backward and not (flat.device.type == "cpu" and flat.d >= LONG_ROWS)
        self._rows: torch.Tensor | None = None
        self._passes = Passes()
        # Of the numbers that the closure computes with; 0 until it was called.
        self.eps = 0.0
        # For each constraint whether it has ever had a graph.
        self._graphs: np.ndarray | None = None

    def evaluate(
        self,
        closure: Callable[[], Any],
        factors: np.ndarray | None,
        size: float = 1.0,
        weights: np.ndarray | None = None,
        out: torch.Tensor | None = None,
        rows: bool = True,
    ) -> Batch:
        """The closure's batch at the parameters as they are, averaged over all ranks. `weights` are those of sums of loss and constraints, in units of the
        `factors`. Where not all `rows` are taken, that of the first sum is the only one, which may go into a vector `out`. With several sums, some
        columns of each are kept."""
        flat = self.flat
        with torch.enable_grad():
            loss, c = self._call(closure)
            if rows or weights is None:
                parts = self._passes.over((loss, c), lambda: self._derivatives(loss, c))
            else:
                units = weights if factors is None else weights * factors
                parts = self._passes.over((loss, c), lambda: self._of_sums(loss, c, units, out))
        values = torch.cat([loss.detach().reshape(1), c.detach()]).to(wide(loss))
        values, parts, size = flat.engine.average(values, parts, size)
        told = to_host(values)
        batch = Batch(float(told[0]), told[1:].copy(), parts, size, (values[0].to(loss.dtype), values[1:].to(c.dtype)))
        if factors is not None:
            batch.scale(factors, rows)
        if weights is not None and len(weights) > 1:
            # A copy: it stays longer than the bucket of all ranks, in which it may lie.
            batch.some = flat.tensor(weights) @ flat.sample.of(parts) if rows else parts.pop().clone()
        return batch

    def _of_sums(self, loss: torch.Tensor, c: torch.Tensor, weights: np.ndarray, out: torch.Tensor | None) -> list[torch.Tensor]:
        """One backward pass for each weighted sum: the row of the first, and where there are several, some columns of all of them."""
        # Multipliers keep their digits beside short numbers.
        kind = torch.promote_types(torch.promote_types(loss.dtype, c.dtype), torch.float32)
        # As one: what is done with it is done once, however many parameters there are, and in memory that stays where there is such.
        if out is None and self._rows is not None:
            out = self._rows[0]
        whole, some = self.flat.zeros() if out is None else out, []
        for number, row in enumerate(weights):
            total = loss.to(kind) * float(row[0]) + c.to(kind) @ torch.as_tensor(row[1:], dtype=kind, device=c.device)
            parts = self._parts_of(total, number + 1 < len(weights))
            if number == 0:
                torch.cat(parts, out=whole)
            if len(weights) > 1:
                some.append(self.flat.sample.of([part[None] for part in parts]))
        return [whole[None], torch.cat(some)] if some else [whole[None]]

    def _parts_of(self, total: torch.Tensor, keep: bool) -> list[torch.Tensor]:
        """The derivatives of a number, parameter by parameter."""
        if not total.requires_grad:
            return [self._zeros(size)[0] for size in self.flat.sizes]
        take = self._accumulated if self.flat.engine.by_backward else self._differentiated
        return [self._zeros(size)[0] if one is None else one.detach().reshape(size) for one, size in zip(take(total, keep), self.flat.sizes)]

    def _first_call(self, closure: Callable[[], Any]) -> Any:
        with Precision() as precision:
            told = closure()
        self.eps = max(precision.coarsest, torch.finfo(self.flat.dtype).eps)
        return told

    def constraints_alone(self, exact_constraints: Callable[[], Any]) -> np.ndarray:
        """The constraints where the parameters are, without derivatives."""
        with torch.no_grad():
            c = _stacked(exact_constraints(), self.flat.parameters[0])
            if c.numel() != self.m:
                raise ValueError(f"exact_constraints must return as many constraints as the closure does: {self.m}, not {c.numel()}")
            whole = (c.full_tensor() if hasattr(c, "full_tensor") else c).reshape(-1)
            return self.flat.engine.same(whole.to(wide(whole)))

    def values(self, closure: Callable[[], Any], size: float) -> tuple[np.ndarray, float]:
        """The constraints of the closure's batch without derivatives, averaged over all ranks, and how large it is."""
        with torch.no_grad():
            _, c = self._call(closure)
            values, _, size = self.flat.engine.average(c.to(wide(c)), [self.flat.zeros(1)[:, :0]], size)
        return to_host(values), size

    def along(self, batch: Batch, s: torch.Tensor) -> np.ndarray | None:
        """The products of its rows with a vector; none if something in the batch is not finite, since NaN and infinity stay such in products."""
        together = len(batch.parts) == 1 and self.flat.at_once
        products = self.flat.engine.host(_passes.times(batch.parts[0], s) if together else rows_times(batch.parts, self.flat.cut(s, batch.parts)))
        return products if batch.has_values() and bool(np.isfinite(products).all()) else None

    def is_finite(self, batch: Batch) -> bool:
        """Whether all of a batch is finite."""
        return batch.has_values() and bool(np.isfinite(self.flat.engine.host(row_sums(batch.parts))).all())

    def _call(self, closure: Callable[[], Any]) -> tuple[torch.Tensor, torch.Tensor]:
        with several_passes():
            told = closure() if self.eps > 0.0 else self._first_call(closure)
        if not (isinstance(told, (tuple, list)) and len(told) == 2):
            raise TypeError("the closure must return two things, the loss and the constraints: return loss, c")
        loss, c = told
        if not isinstance(loss, torch.Tensor) or loss.numel() != 1:
            raise TypeError("the first thing that the closure returns must be the loss, a tensor with one element")
        rows = [isinstance(one, torch.Tensor) and one.requires_grad for one in c] if isinstance(c, (tuple, list)) else None
        c = _stacked(c, loss)
        if not isinstance(c, torch.Tensor) or c.numel() != (c.numel() if self.m is None else self.m):
            count = c.numel() if isinstance(c, torch.Tensor) else "none"
            raise ValueError(f"the closure must return as many constraints as the optimizer was told: {self.m}, not {count}")
        self.m = c.numel()
        if torch.is_grad_enabled():
            self._note_graphs(loss, [c.requires_grad] * self.m if rows is None else rows)
        whole = [one.full_tensor() if hasattr(one, "full_tensor") else one for one in (loss, c)]
        return whole[0].reshape(()), whole[1].reshape(-1)

    def _note_graphs(self, loss: torch.Tensor, rows: list[bool]) -> None:
        """A loss without a graph is refused, as `backward` would; nothing to minimise is a constant 0. A constraint may be a constant on some batches, as where
        they have nobody of a group."""
        if not loss.requires_grad and not (rows and float(loss.detach()) == 0.0):
            raise RuntimeError(f"the loss that the closure returns has no graph, so it has no derivatives: {CAUSES}")
        seen = np.array(rows, dtype=bool)
        self._graphs = seen if self._graphs is None else self._graphs | seen

    def check_graphs(self, names: Sequence[str]) -> None:
        """Refuses constraints that had no graph in any batch so far, on any rank."""
        if self._graphs is None or not self._graphs.size:
            return
        seen = self.flat.tensor(self._graphs.astype(float))
        seen, _, _ = self.flat.engine.average(seen, [self.flat.zeros(1)[:, :0]], 1.0)
        missing = np.flatnonzero(to_host(seen) == 0.0)
        if missing.size:
            which = ", ".join(f"{row} ({names[int(row)]!r})" for row in missing)
            raise RuntimeError(
                f"no batch so far gave a graph to constraint {which} of those that the closure returns, counted from 0, so it has no derivatives: {CAUSES}. "
                "Where a constraint is a constant on some batches only, that is no error"
            )

    def _derivatives(self, loss: torch.Tensor, c: torch.Tensor) -> list[torch.Tensor]:
        """One batched backward pass; where an operation cannot do that, one pass for each row."""
        outputs = [(value, at) for value, at in ((loss, 0), (c, 1)) if value.requires_grad and value.numel()]
        if not outputs:
            return [self._kept().zero_()]
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

    def _kept(self) -> torch.Tensor:
        """All rows, in memory that stays: to have it anew each time costs more than to fill it."""
        if self._rows is None:
            self._rows = self.flat.zeros(1 + (self.m or 0))
        return self._rows

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
        kept = self._kept()
        if len(outputs) < 1 + (self.m is not None and self.m > 0):
            kept.zero_()
        rows = [(one, row) for value, at in outputs for row, one in enumerate(value.reshape(-1), start=at)]
        for number, (one, row) in enumerate(rows):
            # The last pass lets go of the graph.
            keep = number + 1 < len(rows)
            take = self._accumulated if self.flat.engine.by_backward else self._differentiated
            for place, made in zip(self.flat.split(kept[row]), take(one, keep)):
                place.zero_() if made is None else place.copy_(made.detach().reshape(-1))
        return [kept]

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


def _stacked(c: Any, like: torch.Tensor) -> Any:
    """Constraints as one tensor, if they are a list of them or none."""
    if c is None or isinstance(c, (tuple, list)):
        rows = [torch.as_tensor(one, device=like.device).reshape(()) for one in c or ()]
        return torch.stack(rows) if rows else like.new_zeros(0)
    return c


def _is_freed(error: RuntimeError) -> bool:
    return "backward through the graph a second time" in str(error)
