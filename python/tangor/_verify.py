"""`tangor.verify`: what samples that a run has not seen say of its point."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from . import _options, _tangor
from ._described import Described
from ._numbers import kind_of, whole_number
from ._result import RESIDUALS, Result

#: A second look takes no more samples than this, or than twice those of the run: enough to tell that a constraint which never varies has no noise.
MOST = 32_000


def verify(result: Result, problem: Any = None, *, samples: int | None = None, seed: int | None = None) -> dict[str, Any]:
    """Judges the point of a run, with its multipliers, on samples that the run has not seen.

    Gives the verdict: for each residual its value and its upper confidence bound, and `holds`: whether all bounds are within the
    tolerances of the run, on samples that tell of rare events (`sampling.judge.rarest`). Of a finite population all members are judged, where the run saw as many samples or `samples` says so: then the
    verdict is exact, and each bound is its residual. Unless `samples` says how many, half as many samples are taken as the run took, and where they
    cannot tell, once more as many as may (at most twice those of the run, or 32,000 of each function). Of a result that was pickled give the
    problem, too.

    >>> import numpy as np, tangor
    >>> problem = tangor.SampledProblem([0.0], sample=lambda x, rng: (x - rng.normal(1.0, 0.1, 1), None, None))
    >>> result = tangor.minimize_sampled(problem, samples=20_000)
    >>> verdict = tangor.verify(result, samples=2_000)
    >>> verdict["stationarity"]["upper"] >= verdict["stationarity"]["value"]
    True
    """
    if not isinstance(result, Result):
        raise TypeError(f"the result is {kind_of(result)}, but must be a tangor.Result")
    problem = problem if problem is not None else result.get("problem_object")
    if not result.settings:
        raise ValueError("the run was interrupted before it began: there is nothing to verify")
    if problem is None:
        raise TypeError("the result does not know its problem (it was pickled): give it, verify(result, problem)")
    if not isinstance(problem, Described):
        raise TypeError(f"the problem is {kind_of(problem)}, but must be a SampledProblem or a Problem")
    sampling = json.loads(json.dumps(result.settings["sampling"]))
    if seed is not None:
        sampling["seed"] = whole_number(seed, "seed", 0)
    tolerance, confidence = result.settings["tolerance"], sampling["judge"]["confidence"]

    def look(count: int) -> dict[str, Any]:
        sampling["judge"]["samples"] = max(count, sampling["judge"]["batches"])
        arguments = problem._model, result.x, result.row_multipliers, result.bound_multipliers
        verdict: dict[str, Any] = json.loads(_tangor.judge(*arguments, _options.to_json({"sampling": sampling})))
        return {**verdict, "confidence": confidence}

    if samples is not None:
        verdict = look(whole_number(samples, "samples"))
    else:
        # Two looks share the risk.
        sampling["judge"]["confidence"] = 0.5 * (1.0 + confidence)
        count = enough(result, problem)
        verdict = look(count)
        more = telling(verdict, tolerance, count, max(MOST, 2 * used_samples(result)), sampling["judge"]["rarest"])
        verdict = look(more) if more > count else verdict
    holds = all(verdict[name]["upper"] <= tolerance[name] for name in RESIDUALS)
    verdict["holds"] = holds and not verdict["few_events"] and not may_miss(verdict, sampling["judge"]["rarest"])
    return verdict


def used_samples(result: Result) -> int:
    """The most samples that the run took of a function."""
    return max([*result.samples.values(), 0])


def enough(result: Result, problem: Described) -> int:
    """Half as many samples as the run took of a function; all members of a population that the run could have seen as a whole."""
    used, usual = used_samples(result), int(result.settings["sampling"]["judge"]["samples"])
    members: int | None = getattr(problem, "members", None)
    return members if members is not None and members <= max(used, usual) else max(usual, used // 2)


def may_miss(verdict: dict[str, Any], rarest: float) -> bool:
    """Whether an event of this probability may be missing among the samples."""
    return verdict["rarest"] is not None and verdict["rarest"] > rarest


def telling(verdict: dict[str, Any], tolerance: dict[str, float], count: int, most: int, rarest: float) -> int:
    """How many samples may tell what so many do not: whether residuals are within their tolerances, and no event is missing that matters.

    Margins fall as the root of the number of samples; half as many again, since they are themselves of samples. Who knows already that a
    residual is above its tolerance needs no more.
    """
    factor = 0.0
    for name in RESIDUALS:
        residual, most_allowed = verdict[name], tolerance[name]
        if not residual["lower"] <= most_allowed:
            return count
        if residual["upper"] > most_allowed:
            distance = abs(most_allowed - residual["value"])
            factor = max(factor, 1.5 * (residual["upper"] - residual["value"]) ** 2 / distance**2 if distance > 0.0 else np.inf)
    if verdict["few_events"] or may_miss(verdict, rarest):
        factor = np.inf
    return int(min(count * factor, most)) if factor > 0.0 else count
