"""`tangor.verify`: what samples that a run has not seen say of its point."""

from __future__ import annotations

import json
from typing import Any

from . import _options, _tangor
from ._described import Described
from ._numbers import whole_number
from ._result import RESIDUALS, Result


def verify(result: Result, problem: Any = None, *, samples: int | None = None, seed: int | None = None) -> dict[str, Any]:
    """Judges the point of a run, with its multipliers, on samples that the run has not seen.

    Gives the verdict: for each residual its value and its upper confidence bound, and `holds`: whether all bounds are within the
    tolerances of the run. Of a finite population all members are judged, where the run saw as many samples or `samples` says so: then the
    verdict is exact, and each bound is its residual. Of a result that was pickled give the problem, too.

    >>> import numpy as np, tangor
    >>> problem = tangor.SampledProblem([0.0], sample=lambda x, rng: (x - rng.normal(1.0, 0.1, 1), None, None))
    >>> result = tangor.minimize_sampled(problem, samples=20_000)
    >>> verdict = tangor.verify(result, samples=2_000)
    >>> verdict["stationarity"]["upper"] >= verdict["stationarity"]["value"]
    True
    """
    if not isinstance(result, Result):
        raise TypeError(f"the result is a {type(result).__name__}, but must be a tangor.Result")
    problem = problem if problem is not None else result.get("problem_object")
    if problem is None:
        raise TypeError("the result does not know its problem (it was pickled): give it, verify(result, problem)")
    if not isinstance(problem, Described):
        raise TypeError(f"the problem is a {type(problem).__name__}, but must be a SampledProblem or a Problem")
    sampling = json.loads(json.dumps(result.settings["sampling"]))
    if seed is not None:
        sampling["seed"] = whole_number(seed, "seed", 0)
    count = enough(result, problem) if samples is None else whole_number(samples, "samples")
    sampling["judge"]["samples"] = max(count, sampling["judge"]["batches"])
    text = _options.to_json({"sampling": sampling})
    verdict: dict[str, Any] = json.loads(
        _tangor.judge(problem._model, result.x, result.row_multipliers, result.bound_multipliers, text)
    )
    tolerance = result.settings["tolerance"]
    within = all(verdict[name]["upper"] <= tolerance[name] for name in RESIDUALS)
    verdict["holds"] = within and not verdict["few_events"]
    return verdict


def enough(result: Result, problem: Described) -> int:
    """Half as many samples as the run took of a function; all members of a population that the run could have seen as a whole."""
    used, usual = max([*result.samples.values(), 0]), result.settings["sampling"]["judge"]["samples"]
    members = getattr(problem, "members", None)
    return members if members is not None and members <= max(used, usual) else max(usual, used // 2)
