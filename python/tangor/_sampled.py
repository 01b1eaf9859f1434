"""Noise: `tangor.minimize_sampled`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from . import _options, _tangor
from ._numbers import real_number, whole_number
from ._pilot import chosen_again, chosen_tolerance
from ._result import RESIDUALS, Result, stopped_at_the_start
from ._sampled_problem import THREE, SampledProblem, as_sampled
from ._solver import finish, not_lost, run_to_the_end

#: Samples of all functions together, where nobody says how many.
USUAL_SAMPLES = 1_000_000
#: Draws per call: a call of a Python function costs about as much as a few dozen samples do in NumPy.
USUAL_BATCH = 32
#: The first batch is so many usual ones.
FIRST_BATCH = 16


def minimize_sampled(
    problem: Any,
    x0: Any = None,
    *,
    samples: int | None = None,
    seconds: float | None = None,
    tol: float | None = None,
    batch: int | None = None,
    seed: int = 0,
    confidence: float = 0.95,
    callback: Any = None,
    progress: bool = False,
    options: dict[str, Any] | None = None,
    settings: Any = None,
    members: int | None = None,
    exact: Sequence[str] | None = None,
    exact_rows: Any = None,
    threads: int | None = None,
    bounds: Any = None,
    c_lower: Any = None,
    c_upper: Any = None,
    **keywords: Any,
) -> Result:
    """Minimises an expectation under constraints that may be expectations.

    Parameters
    ----------
    problem : SampledProblem, an object with its attributes, or a function `evaluate(x, draws)`
        With a function, `x0`, `members`, `exact`, `exact_rows`, `threads`, `bounds`, `c_lower` and `c_upper` are taken from here.
    x0 : array
        Another start than that of the problem.
    samples : int
        The budget: samples of all functions together, those that a tolerance is chosen from included; default 1,000,000. A sample seen at
        two points counts twice.
    seconds : float
        Most wall time.
    tol : float
        For all three residuals, to be certified by fresh samples. Without it the tolerance is what the noise at the start and the budget
        allow, and where that is not reached, what the noise at the last point judged allows; `result.tolerance` says how it was chosen.
    batch : int
        Draws per call; default 32, and fewer where the budget is small.
    seed : int
        One seed, the same bits.

    Returns
    -------
    tangor.Result
        `result.verdict` has each residual with its upper confidence bound from fresh samples, `result.certified` the bounds
        alone, infinite where none is known.
        `tangor.verify(result)` judges the point again on samples that the run has not seen.

    >>> import numpy as np, tangor
    >>> data = np.random.default_rng(0).normal(2.0, 1.0, 500)
    >>> def evaluate(x, draws):                   # the mean of the data, but at most 1.5
    ...     return x - data[draws.astype(int)].mean(), x, np.ones((1, 1))
    >>> result = tangor.minimize_sampled(evaluate, [0.0], members=500, exact=("constraints", "jacobian"), c_upper=1.5, samples=50_000)
    >>> bool(abs(result.x[0] - 1.5) < 1e-3), result.tolerance["chosen"]
    (True, 'all members are judged: 1e-4')
    """
    given = {"members": members, "exact": exact, "exact_rows": exact_rows, "threads": threads, "bounds": bounds, "c_lower": c_lower, "c_upper": c_upper}
    preset = _options.of_preset(settings, options, keywords)
    tree, others = _options.read(settings, options, keywords, tol, {})
    try:
        problem = as_sampled(problem, x0, {name: value for name, value in given.items() if value is not None})
    except KeyboardInterrupt:
        return stopped_at_the_start(x0 if x0 is not None else problem.x0)
    budget = read_budget(samples, tree)
    sampling = {"seed": whole_number(seed, "seed", 0), "judge": {"confidence": real_number(confidence, "confidence")}}
    size = read_batch(batch, budget, problem)
    base: dict[str, Any] = {
        "limits": {"samples": budget, "iterations": budget},
        "sampling": sampling | {name: {"batch": {"constant": {"size": size}}} for name in THREE},
    }
    if seconds is not None:
        base["limits"]["seconds"] = real_number(seconds, "seconds")
    # A batch that nobody asked for gives way to that of a preset.
    beneath = _options.merge(base, preset) if batch is None else _options.merge(preset, base)
    tree = _options.merge(beneath, tree)
    given_tolerance = dict(tree["tolerance"]) if isinstance(tree.get("tolerance"), dict) else {}
    try:
        chosen, before = chosen_tolerance(problem, tree, budget)
    except KeyboardInterrupt:
        return stopped_at_the_start(problem._projected_start(), problem)
    run = _tangor.Run(problem._model, _options.to_json(tree), before)
    run_to_the_end(run, callback, progress, tree)
    result = not_lost(lambda: told(run, problem, given_tolerance, chosen))
    if others.get("disp"):
        print(result)
    return result


def told(run: Any, problem: SampledProblem, given_tolerance: dict[str, Any], chosen: str) -> Result:
    """The result, by the tolerance that the noise allows."""
    sizes = [problem.m] if problem.m else []
    result = finish(run, problem, sizes, True)
    again = None if chosen == "given" else chosen_again(run, result, given_tolerance, chosen)
    if again is not None:
        chosen, result = again, finish(run, problem, sizes, True)
    tolerance = result.settings["tolerance"]
    result.tolerance = {**{name: tolerance[name] for name in RESIDUALS}, "chosen": chosen}
    if result.verdict:
        unknown = result.verdict["bounds_unknown"]
        result.certified = {name: math.inf if unknown else result.verdict[name]["upper"] for name in RESIDUALS}
    return result


def read_budget(samples: Any, tree: dict[str, Any]) -> int:
    """From the argument or from the settings."""
    limits = tree.get("limits")
    set_before = limits.get("samples") if isinstance(limits, dict) else None
    if samples is not None and set_before is not None:
        raise TypeError("samples and limits.samples are the same: give one of them")
    if samples is None:
        samples = USUAL_SAMPLES if set_before is None else set_before
    return whole_number(samples, "samples")


def read_batch(batch: Any, budget: int, problem: SampledProblem) -> int:
    """No batch is larger than the population. Where nobody says how large, the first ones leave three quarters of the budget."""
    if batch is None:
        size = min(USUAL_BATCH, max(1, budget // (4 * FIRST_BATCH * max(len(problem._sampled()), 1))))
    else:
        size = whole_number(batch, "batch")
    return size if problem.members is None else min(size, problem.members)
