"""The stochastic method as an optimizer: `step` is one iteration."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from . import _checkpoint
from ._batch import Batch, Evaluator
from ._bends import Bends
from ._columns import Columns
from ._comparisons import Comparisons
from ._directions import Direction, Warm, find
from ._estimates import Estimates, Left
from ._exact_pass import evaluate_all, pays, size_of, values_of_all
from ._flat import Flat
from ._limited_memory import LimitedMemory
from ._limits import read_limits, read_names
from ._metric import Diagonal
from ._moves import longest
from ._products import dots, row_maxima, row_sums
from ._progress import Progress
from ._random import RandomState
from ._repairs import correct, repair
from ._report import Report
from ._trials import Arrival, Trial, arrive

__all__ = ["Tangor"]

RECURSIONS = ("rows", "lagrangian")

# A step that the limited memory makes is no longer than so many moves that noise allows.
TOO_LONG = 30.0

# So many batches that are skipped one after the other are told of.
MANY_SKIPPED = 20

# What rounding makes of a share of 1 at most.
ROUNDING = 1e-9


class Tangor(torch.optim.Optimizer):
    """Minimises the expected loss subject to `lower <= E[c] <= upper` and bounds on parameters. There is nothing to tune.

    Parameters
    ----------
    params : iterable
        Parameters, or groups of them; all of the same dtype and on the same device.
    constraints : int
        How many constraints the closure returns.
    lower, upper : float or sequence, optional
        Their bounds, one for all or one for each; equal ones make an equality. Without any, all are equalities with zero.
    names : sequence of str, optional
        Names of the constraints, for reports.
    lr : float
        The share of the stepsize that is taken, in [0, 1]: what learning-rate schedulers may lower.
    weight_decay : float
        Must be zero; a sentence says what to do instead.
    minimum, maximum : float or tensor, optional
        Bounds on parameters; a tensor is like its parameter. Give them in a parameter group for parameters of its own.
    first_batches : int
        So many batches are averaged at the start before the first step.
    memory : int, optional
        So many of the last steps make a quasi-Newton part of the metric over its diagonal: 20 up to 16,384 parameters and none for more of
        them unless told otherwise, none where parameters have bounds. Each takes memory of two vectors like the parameters.
    recursion : {"rows", "lagrangian"}
        What is taken at both ends of a step: all rows of derivatives, `2 (1 + m)` backward passes, or the gradient of the Lagrangian alone, which makes
        two, and the Jacobian, a plain average, `m` more at the new end where its lag and noise ask for it.
    group : torch.distributed.ProcessGroup, optional
        Which processes train together, each with batches of its own; all of them unless told otherwise. Parameters start as those of the
        first. Shards (DTensor) know their own processes.
    """

    def __init__(
        self,
        params: Any,
        constraints: int,
        lower: float | Sequence[float] | None = None,
        upper: float | Sequence[float] | None = None,
        *,
        names: Sequence[str] | None = None,
        minimum: Any = None,
        maximum: Any = None,
        lr: float = 1.0,
        weight_decay: float = 0.0,
        first_batches: int = 16,
        memory: int | None = None,
        recursion: str = "lagrangian",
        group: Any = None,
    ) -> None:
        super().__init__(params, {"lr": lr, "weight_decay": weight_decay, "minimum": minimum, "maximum": maximum})
        if isinstance(constraints, bool) or not (isinstance(constraints, (int, np.integer)) and constraints >= 0):
            raise ValueError(f"constraints must be their number, not {constraints!r}")
        constraints = int(constraints)
        if not (isinstance(first_batches, int) and first_batches >= 1):
            raise ValueError(f"first_batches must be a number of batches, at least 1, not {first_batches!r}")
        if memory is not None and not (isinstance(memory, int) and memory >= 0):
            raise ValueError(f"memory must be a number of steps, at least 0, not {memory!r}")
        if recursion not in RECURSIONS:
            raise ValueError(f"recursion must be 'rows' or 'lagrangian', not {recursion!r}")
        self._limits = read_limits(constraints, lower, upper)
        self._names = read_names(constraints, names)
        self._first_batches = first_batches
        self._share()
        both = [(p, (each["minimum"], each["maximum"])) for each in self.param_groups for p in each["params"]]
        self._flat = Flat((p for p, _ in both), group)
        self._flat.engine.agree([p.data for p in self._flat.parameters])
        self._flat.bound([bounds for p, bounds in both if p.requires_grad])
        self._evaluator = Evaluator(self._flat, constraints)
        self._estimates = Estimates(self._flat, constraints, recursion == "lagrangian")
        self._comparisons = Comparisons(self._flat, self._estimates, self._flat.dtype)
        self._metric, self._memory, self._progress = Diagonal(self._flat), LimitedMemory(self._flat, memory), Progress()
        # The last point, the step, the change of the Lagrangian's gradient along it, and with one row that gradient of the estimates where it began.
        self._base, self._s, self._lagrangian = (self._flat.zeros() for _ in range(3))
        self._combined = self._flat.zeros() if self._estimates.one_row else None
        self._warm = Warm(np.zeros(constraints), np.zeros(constraints))
        self._multipliers = np.zeros(constraints)
        self._objective_scale, self._row_scale = 1.0, np.ones(constraints)
        self._scaled = self._limits
        self._skipped_in_a_row = 0

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Only while the optimizer is made: the estimates have a length."""
        if hasattr(self, "_flat"):
            raise ValueError("parameters cannot be added to a Tangor optimizer later: make a new one with all of them")
        super().add_param_group(param_group)

    def __getstate__(self) -> dict[str, Any]:
        """All of it, for copies and pickles, which go with the parameters; but not `step` as a scheduler watches it, which is that of this one."""
        return {name: value for name, value in self.__dict__.items() if name != "step"}

    def _check_parameters(self) -> None:
        """Whether they are what they were when the optimizer was made, beside their values."""
        self._flat.check([p for group in self.param_groups for p in group["params"]])

    def _share(self) -> float:
        shares = {float(group["lr"]) for group in self.param_groups}
        if any(group.get("weight_decay", 0.0) != 0.0 for group in self.param_groups):
            raise ValueError(
                "Tangor takes no weight_decay, which would move the parameters off the constraints: add the penalty "
                "0.5 * weight_decay * sum(p.square().sum() for p in params) to the loss instead"
            )
        if len(shares) != 1:
            raise ValueError("all parameter groups must have the same lr, since a step that keeps to constraints has one length")
        share = shares.pop()
        # A scheduler that multiplies factors up to 1 may end a few roundings above it.
        if not 0.0 <= share <= 1.0 + ROUNDING:
            raise ValueError(f"lr is the share of the stepsize that Tangor finds, between 0 and 1, not {share}")
        return min(share, 1.0)

    @torch.no_grad()
    def step(
        self,
        closure: Callable[[], Any] | None = None,
        samples: int | None = None,
        exact_constraints: Callable[[], Any] | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """One iteration on the batch of the closure, which returns `(loss, c)` and is called two or three times.

        `samples` is the size of the batch, for reports, and where sizes differ for the averages. `exact_constraints` gives the constraints alone, where
        they do not depend on the batch: then each step ends with a correction that brings it back to them. Gives loss and constraints of the
        batch before the step. A batch with a NaN or an infinity is skipped, and counted.
        """
        if closure is None:
            raise ValueError("Tangor needs a closure that returns (loss, c): optimizer.step(closure)")
        self._check_parameters()
        share, size = self._share(), 1.0 if samples is None else float(samples)
        if not size > 0.0:
            raise ValueError(f"samples must be the size of the batch, not {samples!r}")
        random = RandomState(self._flat.device)

        def evaluate(weights: np.ndarray | None = None, out: torch.Tensor | None = None, rows: bool = True) -> Batch:
            return self._evaluate(closure, size, samples is not None, weights, out, rows)

        past = self._at_last_point(evaluate, random)
        self._progress.batches += 1
        if self._estimates.gathered < self._first_batches:
            there = evaluate()
            self._gather(there) if self._evaluator.is_finite(there) else self._skip()
            return there.told
        begun = self._progress, self._warm, self._multipliers
        compared = self._comparisons.save(self._base)
        self._flat.read(self._base)
        self._progress, self._warm = replace(self._progress), replace(self._warm)
        try:
            return self._iterate(evaluate, random, past, share, exact_constraints)
        except BaseException:
            # Ctrl-C, or whatever the closure raises: who catches it goes on from where the step began. What it cost stays counted.
            spent = {name: getattr(self._progress, name) for name in ("batches", "evaluations", "samples")}
            self._progress, self._warm, self._multipliers = replace(begun[0], **spent), *begun[1:]
            self._comparisons.restore(compared, self._base)
            raise

    def _iterate(
        self,
        evaluate: Callable[..., Batch],
        random: RandomState,
        past: Batch | None,
        share: float,
        exact_constraints: Callable[[], Any] | None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The step from the point that was read, and from what `past` tells of the batch at the last one."""
        direction, comparisons = self._find_direction(), self._comparisons
        # Sums that are taken at both ends of the step; here also those that were seen of the last batch.
        compared = comparisons.is_due(self._progress.iteration + 1)
        weights = comparisons.next_weights(direction.at_rest)[: None if compared else 1]
        seen = comparisons.seen.weights if past is not None and comparisons.seen is not None else weights[:0]
        there = evaluate(np.vstack([weights, seen]), self._lagrangian, not self._estimates.one_row)
        along = self._evaluator.along(there, direction.s)
        if along is not None:
            self._skipped_in_a_row = 0
            if past is not None:
                comparisons.compare(there, past)
            self._move(evaluate, random, there, weights, along, direction, share, exact_constraints)
        else:
            self._skip()
        return there.told

    def exact_pass(
        self, loss_and_constraints: Callable[[Any], Any], loader: Iterable[Any], size: Callable[[Any], float] = size_of
    ) -> tuple[float, np.ndarray]:
        """Evaluates a whole finite population where the parameters are, and goes on from its averages, which have no noise. Gives loss and
        constraints of all of it.

        `loss_and_constraints(batch)` returns what a closure does, for each batch of the loader; together they are the population, each member
        once. `size(batch)` is the number of members in one, by default the length of its first tensor. With several processes each has its own
        part, in as many batches as the others.
        """
        self._check_parameters()
        averages: tuple[float, np.ndarray] = evaluate_all(self, loss_and_constraints, loader, size)
        return averages

    def exact_pass_pays(self, population: int, limit: int | None = None) -> bool:
        """Whether an exact pass over so many members pays now: noise holds the run back, and passes take no more than a tenth of all samples;
        with a limit on samples there is one more, some steps before its end. Give `samples` to each step, which are counted for this."""
        if not population > 0:
            raise ValueError(f"population must be the number of its members, not {population!r}")
        return pays(self, population, limit)

    @torch.no_grad()
    def repair(
        self,
        loss_and_constraints: Callable[[Any], Any],
        loader: Iterable[Any],
        size: Callable[[Any], float] = size_of,
        limit: int | None = None,
    ) -> tuple[float, np.ndarray]:
        """Ends a run over a finite population: an exact pass, as in `exact_pass`, and then the shortest step that brings the constraints of all of it
        where they should be, inequalities to the inside by what their curvature may take away again. The end of it is evaluated, which takes the
        loader once more: a step that does not lessen the violation is taken back, and where an inequality does not hold there is a second one, which takes it a
        third time. No step is made whose end could not be evaluated within a `limit` on the samples of the run. Gives loss and constraints from before the step."""
        if isinstance(loader, Iterator):
            raise TypeError("a repair passes over all members up to three times: give a loader or a list of batches, not an iterator")
        before = self._progress.samples
        averages = self.exact_pass(loss_and_constraints, loader, size)
        members = self._progress.samples - before

        def may_evaluate() -> bool:
            return limit is None or self._progress.samples + members <= limit

        repair(self, lambda: values_of_all(self, loss_and_constraints, loader, size), may_evaluate)
        return averages

    def _skip(self) -> None:
        """The batch is not taken in."""
        self._progress.skipped += 1
        self._comparisons.seen = None
        self._skipped_in_a_row += 1
        if self._skipped_in_a_row == MANY_SKIPPED:
            warnings.warn(
                f"{MANY_SKIPPED} batches in a row were skipped, since their loss, constraints or derivatives had a NaN or an infinity: the data may have one in "
                "each batch, or the parameters are where there is no finite value",
                stacklevel=5,
            )

    def _evaluate(
        self,
        closure: Callable[[], Any],
        size: float,
        counted: bool,
        weights: np.ndarray | None = None,
        out: torch.Tensor | None = None,
        rows: bool = True,
    ) -> Batch:
        factors = np.concatenate([[self._objective_scale], self._row_scale])
        batch = self._evaluator.evaluate(closure, factors, size, weights, out, rows)
        self._progress.evaluations += 1
        self._progress.samples += round(batch.size) if counted else 0
        return batch

    def _gather(self, batch: Batch) -> None:
        """The average at the start."""
        self._skipped_in_a_row = 0
        if self._estimates.gathered == 0:
            self._scale_to(batch)
        self._progress.loss = batch.loss
        self._estimates.gather(batch)
        if self._estimates.gathered == self._first_batches:
            self._evaluator.check_graphs(self._names)
            self._limit_unknown()

    def _scale_to(self, batch: Batch) -> None:
        """Loss and rows with large derivatives in the first batch are scaled down."""
        largest = self._flat.engine.largest(row_maxima(batch.parts))
        factors = np.clip(100.0 / np.maximum(largest, 1e-300), 1e-8, 1.0)
        self._objective_scale, self._row_scale = float(factors[0]), factors[1:].copy()
        self._scaled = self._limits.scaled(self._row_scale)
        batch.scale(factors)

    def _limit_unknown(self) -> None:
        """What was not measured yet, beside the size of the Jacobian."""
        if self._estimates.c.size:
            rows = list(self._estimates.derivatives[1:])
            square = float(self._flat.engine.host(dots([(rows, rows)]))[0])
            self._progress.limit_unknown(math.sqrt(square), float(np.linalg.norm(self._scaled.violation(self._estimates.c))))

    def _at_last_point(self, evaluate: Callable[..., Batch], random: RandomState) -> Batch | None:
        """This batch where the last step began, now and then, to compare it with the last batch."""
        seen = self._comparisons.seen
        if seen is None or not self._comparisons.is_due(self._progress.iteration):
            return None
        # The direction is found anew: its memory keeps the point meanwhile.
        now = self._flat.read(self._s)
        self._flat.write(self._base)
        try:
            past = evaluate(seen.weights, self._lagrangian, not self._estimates.one_row)
        finally:
            self._flat.write(now)
        random.restore()
        # Its rows are long.
        past.parts.clear()
        finite = past.has_values() and bool(np.isfinite(self._flat.engine.host(row_sums([past.some]))).all())
        return past if finite else None

    def _find_direction(self) -> Direction:
        estimates, progress = self._estimates, self._progress
        memory = self._lagrangian, self._memory, self._combined
        columns = Columns(self._flat, estimates.derivatives, self._metric, self._base, *memory, estimates.gram)
        lipschitz, scalar = progress.cautious(), self._metric.scalar
        direction = find(columns, estimates.c, lipschitz, self._scaled, scalar, self._warm, self._s, self._is_too_long)
        estimates.gram = columns.gram
        if self._combined is not None and direction.at_rest is not direction.multipliers:
            # `w` of the multipliers that the recursion has.
            self._combined.addmv_(estimates.derivatives[1:].T, self._flat.tensor(direction.at_rest - direction.multipliers))
        self._multipliers = direction.signed
        progress.theta = direction.theta
        progress.inexact += not direction.converged
        progress.stationarity = direction.stationarity / self._objective_scale
        progress.complementarity = direction.complementarity / self._objective_scale
        progress.feasibility = float(np.linalg.norm(direction.h / self._row_scale))
        rounding, h = 64.0 * torch.finfo(self._flat.dtype).eps, float(np.linalg.norm(direction.h))
        progress.update_merit(
            (direction.slope + 0.5 * direction.square, rounding * (direction.gradient * direction.length + direction.square)),
            (direction.theta * h, rounding * (float(np.linalg.norm(estimates.c)) + h)),
            float(np.linalg.norm(direction.multipliers)),
        )
        return direction

    def _move(
        self,
        evaluate: Callable[..., Batch],
        random: RandomState,
        there: Batch,
        weights: np.ndarray,
        along: np.ndarray,
        direction: Direction,
        share: float,
        exact_constraints: Callable[[], Any] | None,
    ) -> None:
        """The parameters move; less far where a function has no value, or where the merit function of the batch does not descend."""
        progress = self._progress
        self._comparisons.seen = None
        eta = min(progress.stepsize(), self._longest(direction) / max(direction.length, 1e-300)) * share
        correction, pushed = (None, 0.0) if exact_constraints is None else correct(self, exact_constraints, direction, eta)
        rows = self._is_jacobian_due(direction, eta)
        left = self._estimates.leave(there, weights, along, self._lagrangian, eta * direction.length)
        # Its rows are long: they go before the next ones come.
        there.parts.clear()
        try:
            end = arrive(self, evaluate, random, left, direction, Trial(eta, rows, correction, pushed), share)
        except BaseException:
            self._flat.write(self._base)
            self._estimates.take_back(left)
            raise
        progress.eta = end.trial.eta
        if end.trial.correction is not None:
            # The step that was taken, from here on.
            direction.s.add_(end.trial.correction, alpha=1.0 / progress.eta)
            direction.length = math.sqrt(float(self._flat.engine.host(dots([([direction.s], [direction.s])]))[0]))
        self._accept(end, left, direction)

    def _longest(self, direction: Direction) -> float:
        """The longest move that the noise of the estimates allows."""
        h = float(np.linalg.norm(direction.h))
        return longest(self._estimates.effective_samples_of_step(), self._estimates.lagrangian, direction.stationarity, h)

    def _is_too_long(self, direction: Direction) -> bool:
        """Whether noise allows but a small share of a step. Such a one goes along what the limited memory has learnt of flat directions, from moves that were much
        shorter: rows far from their bounds would be beyond them at its end, and have multipliers for it."""
        return direction.length > TOO_LONG * self._longest(direction)

    def _is_jacobian_due(self, direction: Direction, eta: float) -> bool:
        """Whether the batch's own Jacobian is taken at the end of a step."""
        if not self._estimates.one_row:
            return True
        smallest = math.sqrt(max(float(np.linalg.eigvalsh(direction.plain[1:, 1:])[0]), 0.0))
        jacobian = self._estimates.jacobian
        return self._estimates.lag.is_due(jacobian, smallest, jacobian.batch, eta * direction.length)

    def _accept(self, end: Arrival, left: Left, direction: Direction) -> None:
        progress, estimates, here = self._progress, self._estimates, end.here
        moved = progress.eta * direction.length
        bend = estimates.arrive(left, here, moved, direction.at_rest, direction.s, self._combined)
        if moved > 0.0:
            self._learn(left, bend, end.bends, direction, moved)
            self._trust(direction, end.residual)
        progress.iteration += 1
        progress.moved = moved
        progress.loss = here.loss
        if moved > 0.0:
            self._comparisons.remember(left, here, moved)

    def _learn(self, left: Left, bend: float, bends: Bends, direction: Direction, moved: float) -> None:
        """Lipschitz constants and metric, from the change of the batch along the step."""
        gradient, jacobian = self._estimates.gradient, self._estimates.jacobian
        weights = float(direction.at_rest @ direction.at_rest)
        noise = gradient.noise_of_difference(moved) + weights * jacobian.noise_of_difference(moved)
        # The merit test judges what the step does, and for that the curvature along it counts.
        before = self._progress.eta * direction.own_square
        # Derivatives in short numbers differ by their rounding however near two points are: that is no curvature.
        sizes = np.sqrt(np.maximum(np.diag(direction.plain), 0.0))
        rounding = self._evaluator.eps * float(sizes[0] + np.abs(direction.at_rest) @ sizes[1:]) * direction.length
        ratio = max(bend - rounding, 0.0) / before if before > 0.0 else math.inf
        # How the constraints of the batch curve along the step, `|dJ s|`: twice what their linearisation misses.
        curved = float(np.linalg.norm(np.maximum(np.abs(bends.rows) - self._evaluator.eps * sizes[1:] * direction.length, 0.0)))
        # Guessed ones hold the noise of the Jacobian and its lag, which over the length of a short step would be any constant: where there is noise they tell
        # nothing, and otherwise what lag does not explain.
        curved = max(curved - bends.lags * direction.length, 0.0)
        told = not bends.guessed or (curved > 0.0 and not jacobian.is_noisy())
        self._progress.follow(curved / (moved * direction.length) if told else math.nan, ratio)
        if self._memory.most:
            inverse = self._metric.inverse(self._flat.zeros())
            self._memory.learn(direction.s, self._progress.eta, left.lagrangian, inverse, noise)
        self._metric.learn(left.lagrangian, moved**2)

    def _trust(self, direction: Direction, residual: float) -> None:
        """How much of what the step should remove of the residual is gone on its batch."""
        h, theta = float(np.linalg.norm(direction.h)), direction.theta
        promised = self._progress.eta * theta * h
        if promised > 0.0:
            self._progress.trust((h - residual) / promised)

    def report(self) -> Report:
        """What is known of the run so far, in the closure's units."""
        progress = self._progress
        unscaled = self._estimates.c / self._row_scale
        multipliers = self._multipliers * self._row_scale / self._objective_scale
        return Report(
            iterations=progress.iteration,
            batches=progress.batches,
            evaluations=progress.evaluations,
            samples=progress.samples,
            skipped=progress.skipped,
            shortened=progress.shortened,
            inexact=progress.inexact,
            exact_passes=progress.exact_passes,
            loss=progress.loss / self._objective_scale,
            stationarity=progress.stationarity,
            feasibility=float(np.linalg.norm(self._limits.violation(unscaled))) if progress.iteration else progress.feasibility,
            complementarity=progress.complementarity,
            constraints={name: float(value) for name, value in zip(self._names, unscaled)},
            multipliers={name: float(value) for name, value in zip(self._names, multipliers)},
            rho=progress.rho,
            eta=progress.eta,
            theta=progress.theta,
            lipschitz_lagrangian=progress.merit,
            lipschitz_constraints=progress.constraints,
            metric=self._metric.scalar,
            effective_samples=min(effective.draws for effective in self._estimates.effective_samples()),
        )

    def state_dict(self) -> dict[str, Any]:
        """All that the next step depends on, except for the parameters and torch's random state."""
        return {**super().state_dict(), "tangor": _checkpoint.save(self)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Goes on where `state_dict` was taken, bit for bit."""
        if "tangor" not in state_dict:
            raise ValueError("this state_dict is not one of a Tangor optimizer: its entry 'tangor' is missing")
        _checkpoint.check(self, state_dict["tangor"])
        super().load_state_dict({name: value for name, value in state_dict.items() if name != "tangor"})
        _checkpoint.load(self, state_dict["tangor"])
