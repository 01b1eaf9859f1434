"""What a noisy run can certify, from the noise at its start and its budget."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from . import _options, _tangor
from ._result import RESIDUALS
from ._sampled_problem import SampledProblem

#: The most samples of each function that tell how large the noise is, the fewest, one in each of the fewest batches of a judgement,
#: and the share of the budget that they may take.
MOST, FEWEST, SHARE = 400, 20, 0.05
#: The tolerance where whole populations are judged, and there is no noise; and where a function has no value at the start.
WHOLE, UNKNOWN = 1e-4, 1e-3
#: No tolerance is chosen smaller than this.
LEAST = 1e-6
#: Samples that the pilot took: of gradient, constraints and Jacobian.
Taken = tuple[int, int, int]


def chosen_tolerance(problem: SampledProblem, tree: dict[str, Any], budget: int) -> tuple[str, Taken]:
    """Puts the tolerances that nobody gave into the settings. Says how they were chosen, and how many samples that took."""
    given = tree.get("tolerance", {})
    if not isinstance(given, dict) or all(name in given for name in RESIDUALS):
        return "given", (0, 0, 0)
    found, chosen, taken = attainable(problem, tree, budget)
    tree["tolerance"] = {**found, **given}
    return (f"{chosen}; partly given" if any(name in given for name in RESIDUALS) else chosen), taken


def attainable(problem: SampledProblem, tree: dict[str, Any], budget: int) -> tuple[dict[str, float], str, Taken]:
    """The tolerance that fresh samples can certify: three times the confidence margin that a tenth of the budget will have.

    The margin of a mean is `k sigma / sqrt(N)`; a pilot at the start tells `k sigma` of each function.
    """
    functions = max(len(problem._sampled()), 1)
    judged = 0.1 * budget / functions
    if problem.members is not None and judged >= problem.members:
        return dict.fromkeys(RESIDUALS, WHOLE), "all members are judged: 1e-4", (0, 0, 0)
    if 2 * FEWEST * functions > budget:
        raise ValueError(f"{budget} samples are too few to choose a tolerance from: give tol, or at least {2 * FEWEST * functions} samples")
    size = int(min(MOST, max(FEWEST, SHARE * budget / functions)))
    judge = {**tree["sampling"].get("judge", {}), "samples": size, "batches": FEWEST}
    settings = _options.to_json({"sampling": {**tree["sampling"], "judge": judge}})
    text, taken = _tangor.pilot(problem._model, problem._projected_start(), settings)
    if text is None:
        return dict.fromkeys(RESIDUALS, UNKNOWN), "a function has no value at the start: 1e-3", taken
    verdict = json.loads(text)

    return tolerances(verdict, float(np.sqrt(size / (0.5 * judged)))), how(budget, judge["confidence"]), taken


def how(budget: int, confidence: float) -> str:
    return f"three times the margin that a tenth of {budget} samples leaves, at confidence {confidence:g}"


def tolerances(verdict: dict[str, Any], share: float = 1.0) -> dict[str, float]:
    """Three times each margin of a verdict, or of one on more samples, where margins are this share."""

    def margin(residual: str) -> float:
        value = verdict[residual]
        return max(LEAST, 3.0 * share * float(value["upper"] - value["value"]))

    feasibility = margin("feasibility")
    worst = max(margin("stationarity"), feasibility)
    return {"stationarity": worst, "feasibility": feasibility, "complementarity": worst}


def chosen_again(run: Any, result: Any, given: dict[str, Any], chosen: str) -> str | None:
    """Where the tolerance from the noise at the start is not certified: the same rule with the noise at the last point that was judged.

    Bounds on residuals hold whatever they are compared with, so that a tolerance chosen after them certifies no more than they say. It is
    never smaller than the first one, and not made to fit: a residual that is more than twice its margin is not within it. Says how it was chosen, or gives None
    where the first one stays.
    """
    verdict, before = result.verdict, result.settings["tolerance"]
    if result.success or result.stop == "tolerance" or verdict is None:
        return None
    now = tolerances(verdict)
    # The multipliers are known now, and with them the noise of what they weigh.
    slack = verdict["complementarity"]
    now["complementarity"] = max(now["complementarity"], 3.0 * (slack["upper"] - slack["value"]))
    again = {name: max(before[name], value) for name, value in now.items() if name not in given}
    if not all(np.isfinite(value) for value in again.values()) or all(again[name] == before[name] for name in again):
        return None
    run.tell_by(json.dumps({**before, **again}))
    first = before["stationarity"] if "stationarity" in again else max(before[name] for name in again)
    return f"{chosen}: {first:.2g} by the noise at the start; again at the last point judged, by the noise there"
