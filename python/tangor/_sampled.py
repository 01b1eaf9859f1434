"""Noise: problems whose functions are averages over draws, `tangor.minimize_sampled` and `tangor.verify`."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.optimize import Bounds
from scipy.sparse import csr_array

from . import _inputs, _options, _tangor
from ._described import Described
from ._problem import statement
from ._progress import watching
from ._result import Result
from ._solver import finish
from ._threads import Threads, read_threads

#: Samples of all functions together, where nobody says how many.
USUAL_SAMPLES = 1_000_000
#: Draws per call: a call of a Python function costs about as much as a few dozen samples do in NumPy.
USUAL_BATCH = 32
#: Samples that tell how large the noise is at the start.
PILOT = 400
THREE = ("gradient", "constraints", "jacobian")


class SampledProblem(Described):
    """minimise E F(x, xi)   subject to   c_lower <= E C(x, xi) <= c_upper,   lower <= x <= upper.

    A draw is an integer that stands for one `xi`: the same integer is the same `xi` at every `x`. Functions get an array of draws (uint64)
    and give the average over them.

    Parameters
    ----------
    x0 : array
        Where to start.
    evaluate : function of (x, draws)
        All three at once: it gives the tuple `(gradient, constraints, jacobian)`; the last two are None if there are no constraints.
    gradient, constraints, jacobian : functions of (x, draws)
        Instead of `evaluate`, one by one.
    sample : function of (x, rng)
        Instead of these, for one draw: it gives `(gradient, constraints, jacobian)` with randomness from the NumPy generator `rng`, which
        is seeded by the draw.
    objective : function of (x, draws)
        Values of the objective, where they can be told; they are only reported.
    members : int
        The functions are averages over a population of so many members; draws are 0 ... members - 1. Without it draws have no end.
    exact : names out of "gradient", "constraints", "jacobian"
        Functions without noise; draws do not matter to them.
    threads : int
        The functions may be called from so many threads at once; without it they are called from the thread of the run alone. `sample`
        gets its draws one by one, the others portions of 8 draws, so that any number of threads gives the same bits.
    bounds, c_lower, c_upper, sparsity, name, variable_names, row_names
        As for `tangor.Problem`.

    >>> import numpy as np, tangor
    >>> def sample(x, rng):                      # a demand that is uniform between 0 and 2
    ...     xi = rng.uniform(0, 2, 2)
    ...     return x - xi, x.sum(), np.ones(2)
    >>> problem = tangor.SampledProblem([0.0, 0.0], sample=sample, exact=("constraints", "jacobian"), c_upper=1.5)
    >>> result = tangor.minimize_sampled(problem, samples=100_000)
    >>> bool(abs(result.x - 0.75).max() < 0.05)
    True
    """

    def __init__(
        self,
        x0: Any,
        evaluate: Callable[..., Any] | None = None,
        *,
        gradient: Callable[..., Any] | None = None,
        constraints: Callable[..., Any] | None = None,
        jacobian: Callable[..., Any] | None = None,
        sample: Callable[..., Any] | None = None,
        objective: Callable[..., Any] | None = None,
        members: int | None = None,
        exact: Sequence[str] = (),
        threads: int | None = None,
        bounds: Any = None,
        c_lower: Any = -np.inf,
        c_upper: Any = np.inf,
        sparsity: Any = None,
        name: str = "problem",
        variable_names: Sequence[str] = (),
        row_names: Sequence[str] = (),
    ) -> None:
        pool = read_threads(threads)
        if sample is not None and evaluate is None:
            evaluate, pool = one_by_one(sample, pool), None
        if evaluate is None and gradient is None and constraints is None:
            raise TypeError("a function is missing: give evaluate, sample, or gradient (with constraints and jacobian)")
        if (constraints is None) != (jacobian is None):
            raise TypeError("constraints and jacobian belong together: give both or none")
        self.members = read_members(members)
        self.exact = read_exact(exact)
        start = _inputs.real_vector(x0, "x0")
        lower, upper = _inputs.read_bounds(bounds, start.size)
        blocks = _inputs.Blocks(start, lower, upper)
        draws = np.zeros(1, dtype=np.uint64)
        if evaluate is not None:
            three = evaluate(blocks.x0.copy(), draws)
            if not (isinstance(three, tuple) and len(three) == 3):
                raise TypeError("evaluate(x, draws) must give a tuple of three: gradient, constraints and Jacobian")
            has_objective, c, jac = three[0] is not None, three[1], three[2]
        else:
            has_objective = gradient is not None
            c = constraints(blocks.x0.copy(), draws) if constraints is not None else None
            jac = jacobian(blocks.x0.copy(), draws) if jacobian is not None else None
        pattern = None
        if c is not None:
            if sparsity is None and hasattr(jac, "tocsr"):
                raise ValueError("a sparse Jacobian of a noisy problem needs sparsity, a matrix with entries where it may have any")
            pattern = blocks.add_fused(c, Bounds(c_lower, c_upper), sparsity, None)
        given = statement(name, start, (lower, upper), None, blocks, has_objective, None, variable_names, row_names)

        def call(function: Any) -> Any:
            if function is None:
                return None
            return (function if pool is None else pool.averaging(function), (), False)

        given.update(
            pattern=pattern, evaluate=call(evaluate), objective=call(objective), gradient=call(gradient),
            constraints=call(constraints), jacobian=call(jacobian),
        )  # fmt: skip
        keys = ("gradient_members", "constraint_members", "jacobian_members")
        given.update({key: 0 if name in self.exact else self.members for key, name in zip(keys, THREE)})
        self._take(_tangor.Model.sampled(given))

    def f(self, x: Any, draws: Any) -> float:
        """The average objective over draws; NaN when it cannot be told."""
        return float(self._model.objective(_inputs.real_vector(x, "x"), _draws(draws)))

    def grad(self, x: Any, draws: Any) -> np.ndarray:
        """The average gradient over draws."""
        return self._model.gradient(_inputs.real_vector(x, "x"), _draws(draws))

    def c(self, x: Any, draws: Any) -> np.ndarray:
        """The average constraints over draws."""
        return self._model.constraints(_inputs.real_vector(x, "x"), _draws(draws))

    def jac(self, x: Any, draws: Any) -> csr_array:
        """The average Jacobian over draws."""
        return self._matrix(self._model.jacobian(_inputs.real_vector(x, "x"), _draws(draws)))


def _draws(draws: Any) -> list[int]:
    return [int(draw) for draw in np.atleast_1d(draws)]


def read_members(members: Any) -> int | None:
    """A population has at least one member."""
    if members is None:
        return None
    if int(members) != members or members < 1:
        raise ValueError(f"members must be a whole number of at least 1, not {members!r}")
    return int(members)


def read_exact(exact: Any) -> tuple[str, ...]:
    """Names of functions."""
    names = (exact,) if isinstance(exact, str) else tuple(exact)
    for name in names:
        if name not in THREE:
            raise ValueError(f"exact names functions out of {', '.join(map(repr, THREE))}, not {name!r}")
    return names


def one_by_one(sample: Callable[..., Any], threads: Threads | None) -> Callable[..., Any]:
    """The average over draws of a function that takes one at a time, each with a generator that it seeds."""

    def alone(x: np.ndarray, draw: Any) -> Any:
        return sample(x, np.random.default_rng(int(draw)))

    def answers(x: np.ndarray, draws: np.ndarray) -> Any:
        if threads is None:
            return (alone(x, draw) for draw in draws)
        # An array for each, since a function may write into what it gets.
        return threads.map(lambda draw: alone(x.copy(), draw), draws)

    def evaluate(x: np.ndarray, draws: np.ndarray) -> tuple[Any, Any, Any]:
        sums: list[Any] = [None, None, None]
        for parts in answers(x, draws if draws.size else np.zeros(1, dtype=np.uint64)):
            if not (isinstance(parts, tuple) and len(parts) == 3):
                raise TypeError("sample(x, rng) must give a tuple of three: gradient, constraints and Jacobian")
            for k, part in enumerate(parts):
                if part is not None:
                    value = np.asarray(part, dtype=float)
                    sums[k] = value if sums[k] is None else sums[k] + value
        count = max(draws.size, 1)
        g, c, jac = (None if total is None else total / count for total in sums)
        return g, c, jac

    return evaluate


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
    exact: Sequence[str] = (),
    threads: int | None = None,
    bounds: Any = None,
    c_lower: Any = -np.inf,
    c_upper: Any = np.inf,
    **keywords: Any,
) -> Result:
    """Minimises an expectation under constraints that may be expectations.

    Parameters
    ----------
    problem : SampledProblem, an object with its attributes, or a function `evaluate(x, draws)`
        With a function, `x0`, `members`, `exact`, `threads`, `bounds`, `c_lower` and `c_upper` are taken from here.
    samples : int
        The budget: samples of all functions together; default 1,000,000. A sample seen at two points counts twice.
    seconds : float
        Most wall time.
    tol : float
        For all three residuals, to be certified by fresh samples. Without it the tolerance is what the noise at the start and the budget
        allow; `result.tolerance` says how it was chosen.
    batch : int
        Draws per call; default 32.
    seed : int
        One seed, the same bits.

    Returns
    -------
    tangor.Result
        `result.verdict` has each residual with its upper confidence bound from fresh samples, `result.certified` the bounds alone.
        `tangor.verify(result)` judges the point again on samples that the run has not seen.

    >>> import numpy as np, tangor
    >>> data = np.random.default_rng(0).normal(2.0, 1.0, 500)
    >>> def evaluate(x, draws):                   # the mean of the data, but at most 1.5
    ...     return x - data[draws.astype(int)].mean(), x, np.ones((1, 1))
    >>> result = tangor.minimize_sampled(evaluate, [0.0], members=500, exact=("constraints", "jacobian"), c_upper=1.5, samples=50_000)
    >>> bool(abs(result.x[0] - 1.5) < 1e-3), result.tolerance["chosen"]
    (True, 'all members are judged: 1e-4')
    """
    rest = {"members": members, "exact": exact, "threads": threads, "bounds": bounds, "c_lower": c_lower, "c_upper": c_upper}
    problem = as_sampled(problem, x0, rest)
    tree, others = _options.read(settings, options, keywords, tol)
    budget = tree.get("limits", {}).get("samples") or int(samples or USUAL_SAMPLES)
    size = read_batch(batch, problem.members)
    base: dict[str, Any] = {
        "limits": {"samples": budget, "iterations": max(budget, 1)},
        "sampling": {"seed": int(seed), "judge": {"confidence": confidence}}
        | {name: {"batch": {"constant": {"size": size}}} for name in THREE},
    }
    if seconds is not None:
        base["limits"]["seconds"] = float(seconds)
    tree = _options.merge(base, tree)
    chosen = "given"
    if "tolerance" not in tree:
        tree["tolerance"], chosen = attainable(problem, tree, budget, confidence)
    run = _tangor.Run(problem._model, _options.to_json(tree))
    if callback is None and not progress:
        run.advance(None, None)
    else:
        with watching(callback, progress, tree) as watch:
            run.advance(watch, None)
    result = finish(run, problem, [problem.m] if problem.m else [], True)
    tolerance = result.settings["tolerance"]
    result.tolerance = {**{name: tolerance[name] for name in ("stationarity", "feasibility", "complementarity")}, "chosen": chosen}
    if result.verdict:
        result.certified = {name: result.verdict[name]["upper"] for name in ("stationarity", "feasibility", "complementarity")}
    if others.get("disp"):
        print(result)
    return result


def as_sampled(problem: Any, x0: Any, rest: dict[str, Any]) -> SampledProblem:
    """A problem from a function or from an object that has the same attributes."""
    if isinstance(problem, SampledProblem):
        return problem
    if hasattr(problem, "evaluate") or hasattr(problem, "gradient") or hasattr(problem, "sample"):
        names = ("evaluate", "gradient", "constraints", "jacobian", "sample", "objective", "sparsity", "name", "variable_names", "row_names")
        found = {name: getattr(problem, name) for name in names if getattr(problem, name, None) is not None}
        found.update({name: getattr(problem, name, value) for name, value in rest.items()})
        start = x0 if x0 is not None else getattr(problem, "x0", None)
        if start is None:
            raise TypeError("x0, where to start, is missing")
        return SampledProblem(start, found.pop("evaluate", None), **found)
    if callable(problem):
        if x0 is None:
            raise TypeError("x0, where to start, is missing")
        return SampledProblem(x0, problem, **rest)
    raise TypeError(f"the problem is a {type(problem).__name__}, but must be a SampledProblem, an object like it or a function")


def read_batch(batch: Any, members: int | None) -> int:
    """No batch is larger than the population."""
    size = USUAL_BATCH if batch is None else int(batch)
    if size < 1:
        raise ValueError(f"batch must be at least 1, not {batch!r}")
    return size if members is None else min(size, members)


def attainable(problem: SampledProblem, tree: dict[str, Any], budget: int, confidence: float) -> tuple[dict[str, float], str]:
    """The tolerance that fresh samples can certify: three times the confidence margin that a tenth of the budget will have.

    The margin of a mean is `k sigma / sqrt(N)`; a pilot at the start tells `k sigma` of each function.
    """
    x = np.clip(problem.x0, problem._data["x_lower"], problem._data["x_upper"])
    sampling = {**tree["sampling"], "judge": {**tree["sampling"].get("judge", {}), "samples": PILOT, "batches": 20}}
    zeros = np.zeros(problem.m), np.zeros(problem.n)
    verdict = json.loads(_tangor.judge(problem._model, x, *zeros, _options.to_json({"sampling": sampling})))
    sampled = [name for name in THREE if name not in problem.exact]
    judged = 0.1 * budget / max(len(sampled), 1)
    if problem.members is not None and judged >= problem.members:
        return dict.fromkeys(("stationarity", "feasibility", "complementarity"), 1e-4), "all members are judged: 1e-4"

    def margin(residual: str) -> float:
        value = verdict[residual]
        return max(1e-6, 3.0 * (value["upper"] - value["value"]) * float(np.sqrt(PILOT / (0.5 * judged))))

    stationarity, feasibility = margin("stationarity"), margin("feasibility")
    chosen = f"three times the margin that a tenth of {budget} samples leaves, at confidence {confidence:g}"
    worst = max(stationarity, feasibility)
    return {"stationarity": worst, "feasibility": feasibility, "complementarity": worst}, chosen


def verify(result: Result, problem: Any = None, *, samples: int | None = None, seed: int | None = None) -> dict[str, Any]:
    """Judges the point of a run, with its multipliers, on samples that the run has not seen.

    Gives the verdict: for each residual its value and its upper confidence bound, and `holds`: whether all bounds are within the
    tolerances of the run. Of a result that was pickled give the problem, too.

    >>> import numpy as np, tangor
    >>> problem = tangor.SampledProblem([0.0], sample=lambda x, rng: (x - rng.normal(1.0, 0.1, 1), None, None))
    >>> result = tangor.minimize_sampled(problem, samples=20_000)
    >>> verdict = tangor.verify(result, samples=2_000)
    >>> verdict["stationarity"]["upper"] >= verdict["stationarity"]["value"]
    True
    """
    problem = problem if problem is not None else result.get("problem_object")
    if problem is None:
        raise TypeError("the result does not know its problem (it was pickled): give it, verify(result, problem)")
    sampling = json.loads(json.dumps(result.settings["sampling"]))
    if seed is not None:
        sampling["seed"] = int(seed)
    used = max([*result.samples.values(), 0])
    sampling["judge"]["samples"] = int(samples) if samples is not None else max(sampling["judge"]["samples"], used // 2)
    text = _options.to_json({"sampling": sampling})
    verdict = json.loads(_tangor.judge(problem._model, result.x, result.row_multipliers, result.bound_multipliers, text))
    tolerance = result.settings["tolerance"]
    residuals = ("stationarity", "feasibility", "complementarity")
    verdict["holds"] = all(verdict[name]["upper"] <= tolerance[name] for name in residuals)
    return verdict
