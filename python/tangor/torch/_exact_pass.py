"""Exact passes: where loss and constraints are averages over a finite population, all of it is evaluated once in a while, and recursive momentum
starts again from there, as in SVRG, SPIDER and PAGE. When a pass pays is the rule of the solver (`noise/exact_pass.rs`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch

__all__ = ["evaluate_all", "pays", "size_of", "values_of_all"]

# The share of all samples that exact passes may take.
SHARE = 0.1
# Noise matters where its mean square is this share of that of noise and residual together.
DOUBT = 0.2
# Where samples are limited, the last pass comes so many steps before the end: they go where its values lead.
LAST_STEPS = 24
# A step takes a batch at two points.
POINTS = 2


def size_of(batch: Any) -> float:
    """How many samples a batch has, by its first tensor."""
    if isinstance(batch, torch.Tensor) and batch.ndim > 0:
        return float(len(batch))
    if isinstance(batch, dict):
        batch = list(batch.values())
    if isinstance(batch, (list, tuple)) and batch:
        return size_of(batch[0])
    raise TypeError("the size of a batch is not known, since it does not begin with a tensor: give size=, a function of the batch")


def pays(optimizer: Any, population: int, limit: int | None) -> bool:
    """Whether all members should be evaluated now: noise is what holds the run back, and passes stay within their share of all samples, or the
    limit leaves room for just one of them with a few steps after it."""
    progress, batch = optimizer._progress, optimizer._estimates.gradient.batch
    if progress.iteration == 0 or progress.moved == 0.0:
        return False
    spent, step = float(progress.samples), POINTS * batch
    within_share = (progress.exact_passes + 1) * population <= SHARE * (spent + population)
    left = np.inf if limit is None else limit - spent
    is_last = limit is not None and population <= SHARE * limit and left < population + LAST_STEPS * step
    return bool((within_share or is_last) and left >= population + step and _noise_matters(optimizer))


def _noise_matters(optimizer: Any) -> bool:
    """Whether the residuals of the estimates do not stand out from their noise."""

    def matters(error: float, residual: float) -> bool:
        return error > 0.0 and error >= DOUBT * (error + residual**2)

    progress, estimates = optimizer._progress, optimizer._estimates
    # Residuals are in the closure's units, errors in those of the run.
    stationarity = progress.stationarity * optimizer._objective_scale
    feasibility = float(np.linalg.norm(optimizer._scaled.violation(estimates.c)))
    return matters(estimates.lagrangian.error(), stationarity) or matters(estimates.constraints.error(), feasibility)


@torch.no_grad()
def evaluate_all(
    optimizer: Any, loss_and_constraints: Callable[[Any], Any], loader: Iterable[Any], size: Callable[[Any], float]
) -> tuple[float, np.ndarray]:
    """Takes the averages over all batches for the estimates, and gives those of loss and constraints in the closure's units. The averages grow in
    the memory of the estimates. With a batch that is not finite they are those over the others, worth as many samples as these have."""
    estimates, progress = optimizer._estimates, optimizer._progress
    total, loss, whole, last = 0.0, 0.0, True, 0.0
    for batch in loader:
        made = optimizer._evaluate(lambda batch=batch: loss_and_constraints(batch), float(size(batch)), True)
        if not optimizer._evaluator.is_finite(made):
            progress.skipped, whole = progress.skipped + 1, False
            continue
        if estimates.gathered == 0 and total == 0.0:
            optimizer._scale_to(made)
        total, last = total + made.size, max(last, made.size)
        loss += (made.loss - loss) * made.size / total
        estimates.draw_in(made, made.size / total)
    if total == 0.0:
        raise ValueError("an exact pass needs batches with finite loss, constraints and derivatives; there were none, and nothing has changed")
    optimizer._evaluator.check_graphs(optimizer._names)
    for effective in estimates.all_effective_samples():
        if whole:
            effective.take_exact(last)
        else:
            effective.start(total)
            effective.batch = last
    estimates.lag.bias = 0.0
    estimates.gathered = max(estimates.gathered, optimizer._first_batches)
    progress.exact_passes += 1
    progress.loss = loss
    if progress.iteration == 0:
        optimizer._limit_unknown()
    return loss / optimizer._objective_scale, estimates.c / optimizer._row_scale


def values_of_all(
    optimizer: Any, loss_and_constraints: Callable[[Any], Any], loader: Iterable[Any], size: Callable[[Any], float]
) -> np.ndarray:
    """The averages of the constraints over all batches, in units of the run, without derivatives. A batch that is not finite makes them such."""
    total, mean = 0.0, np.zeros(len(optimizer._row_scale))
    for batch in loader:
        c, members = optimizer._evaluator.values(lambda batch=batch: loss_and_constraints(batch), float(size(batch)))
        optimizer._progress.evaluations += 1
        optimizer._progress.samples += round(members)
        total += members
        mean = mean + (c * optimizer._row_scale - mean) * (members / total)
    return mean
