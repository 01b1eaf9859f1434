"""`tangor.SampledProblem`: functions that are averages over draws."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from . import _inputs, _tangor
from ._described import Described
from ._numbers import kind_of, read_draws, read_names, real_array, real_vector, whole_number
from ._problem import definition
from ._threads import Threads, read_threads

#: The functions that may be sampled.
THREE = ("gradient", "constraints", "jacobian")
#: What a problem is made from.
ARGUMENTS = ("x0", "evaluate", *THREE, "sample", "objective", "members", "exact", "exact_rows", "threads", "bounds", "c_lower", "c_upper",
             "sparsity", "name", "variable_names", "row_names")  # fmt: skip


class SampledProblem(Described):
    """minimise E F(x, xi)   subject to   c_lower <= E C(x, xi) <= c_upper,   lower <= x <= upper.

    A draw is an integer that stands for one `xi`: the same integer is the same `xi` at every `x`. Functions get an array of draws (uint64)
    and give the average over them.

    Parameters
    ----------
    x0 : array
        Where to start.
    evaluate : function of (x, draws)
        All three at once: it gives the tuple `(gradient, constraints, jacobian)`; the last two are None if there are no constraints. Where values
        of the objective come along, `(objective, gradient, constraints, jacobian)`, as for `tangor.Problem`.
    gradient, constraints, jacobian : functions of (x, draws)
        Instead of `evaluate`, one by one.
    sample : function of (x, rng)
        Instead of these, for one draw: it gives `(gradient, constraints, jacobian)`, or these after the objective, with randomness from the NumPy generator `rng`, which
        is seeded by the draw.
    objective : function of (x, draws)
        Values of the objective, where they can be told and `evaluate` does not give them; they are only reported.
    members : int
        The functions are averages over a population of so many members; draws are 0 ... members - 1. Without it draws have no end.
    exact : names out of "gradient", "constraints", "jacobian"
        Functions without noise; draws do not matter to them.
    exact_rows : names or numbers of constraints, or a boolean for each
        Constraints without noise where others are sampled, such as a budget beside an expectation. Samples cannot tell: a row that does
        not vary among them may wait for a rare event, and nothing is certified before about 25,000 of them.
    threads : int
        The functions may be called from so many threads at once; without it they are called from the thread of the run alone. `sample`
        gets its draws one by one, the others portions of 8 draws, so that any number of threads gives the same bits.
    bounds, c_lower, c_upper, sparsity, name, variable_names, row_names
        As for `tangor.Problem`.

    `evaluate`, `constraints` and `jacobian` are called once, with draw 0, when the problem is made, to see what they give.

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
        exact_rows: Any = (),
        threads: int | None = None,
        bounds: Any = None,
        c_lower: Any = -np.inf,
        c_upper: Any = np.inf,
        sparsity: Any = None,
        name: str = "problem",
        variable_names: Sequence[str] = (),
        row_names: Sequence[str] = (),
    ) -> None:
        self._given = {name: value for name, value in locals().items() if name in ARGUMENTS}
        pool = read_threads(threads)
        functions = {"evaluate": evaluate, "sample": sample, "gradient": gradient, "constraints": constraints, "jacobian": jacobian}
        for what, function in {**functions, "objective": objective}.items():
            if function is not None and not callable(function):
                raise TypeError(f"{what} is {kind_of(function)}, which cannot be called")
        given_ones = [what for what, function in functions.items() if function is not None]
        if len(given_ones) > 1 and given_ones[0] in ("evaluate", "sample"):
            raise TypeError(f"{given_ones[0]} stands for all functions: leave {given_ones[1]} out")
        if sample is not None and evaluate is None:
            evaluate, pool = one_by_one(sample, pool), None
        if evaluate is None and gradient is None and constraints is None:
            raise TypeError("a function is missing: give evaluate, sample, or gradient (with constraints and jacobian)")
        if (constraints is None) != (jacobian is None):
            raise TypeError("constraints and jacobian belong together: give both or none")
        self.members = None if members is None else whole_number(members, "members")
        self.exact = read_exact(exact)
        start = real_vector(x0, "x0")
        lower, upper = _inputs.read_bounds(bounds, start.size)
        blocks = _inputs.Blocks(start, lower, upper)
        draws = np.zeros(1, dtype=np.uint64)
        if evaluate is not None:
            *value, g, c, jac = parts_of(evaluate(blocks.x0.copy(), draws), "evaluate(x, draws)")
            has_objective, has_values = g is not None, bool(value)
        else:
            has_objective, has_values = gradient is not None, False
            c = constraints(blocks.x0.copy(), draws) if constraints is not None else None
            jac = jacobian(blocks.x0.copy(), draws) if jacobian is not None else None
        if has_objective and objective is None and not has_values and set(self.exact) == set(THREE):
            raise TypeError("all functions are exact: the method then needs values of the objective; give it, or use tangor.minimize")
        if c is None and jac is not None:
            raise TypeError("there is a Jacobian, but there are no constraints: give both or none")
        pattern = None
        if c is None:
            _inputs.refuse_limits(_inputs.Limits(c_lower, c_upper), sparsity)
        else:
            if sparsity is None and hasattr(jac, "tocsr"):
                raise ValueError("a sparse Jacobian of a noisy problem needs sparsity, a matrix with entries where it may have any")
            pattern = blocks.add_fused(c, _inputs.Limits(c_lower, c_upper), sparsity, None)
        given = definition(name, start, (lower, upper), None, blocks, has_objective, None, variable_names, row_names)

        def call(function: Any) -> Any:
            if function is None:
                return None
            return (function if pool is None else pool.averaging(function), (), False)

        given.update(
            pattern=pattern, evaluate=call(evaluate), objective=call(objective), gradient=call(gradient),
            constraints=call(constraints), jacobian=call(jacobian),
        )  # fmt: skip
        keys = ("gradient_members", "constraint_members", "jacobian_members")
        given["exact_rows"] = read_rows(exact_rows, len(blocks.linear), list(row_names))
        given.update({key: 0 if name in self.exact else self.members for key, name in zip(keys, THREE)})
        self._model = _tangor.Model.sampled(given)

    def _remake(self, given: dict[str, Any]) -> None:
        SampledProblem.__init__(self, **given)

    def _sampled(self) -> list[str]:
        """The functions that are asked for, and can only be sampled."""
        asked = {"gradient": self.has_objective, "constraints": self.m > 0, "jacobian": self.m > 0}
        return [name for name in THREE if asked[name] and name not in self.exact]

    def f(self, x: Any, draws: Any) -> float:
        """The average objective over draws; NaN when it cannot be told."""
        return float(self._model.objective(real_vector(x, "x"), read_draws(draws, self.members)))

    def grad(self, x: Any, draws: Any) -> np.ndarray:
        """The average gradient over draws."""
        return self._model.gradient(real_vector(x, "x"), read_draws(draws, self.members))

    def c(self, x: Any, draws: Any) -> np.ndarray:
        """The average constraints over draws."""
        return self._model.constraints(real_vector(x, "x"), read_draws(draws, self.members))

    def jac(self, x: Any, draws: Any) -> csr_array:
        """The average Jacobian over draws."""
        return self._matrix(self._model.jacobian(real_vector(x, "x"), read_draws(draws, self.members)))


def read_exact(exact: Any) -> tuple[str, ...]:
    """Names of functions."""
    names = (exact,) if isinstance(exact, str) else tuple(read_names(exact, "exact"))
    for name in names:
        if name not in THREE:
            raise ValueError(f"exact names functions out of {', '.join(map(repr, THREE))}, not {name!r}")
    return names


def read_rows(rows: Any, count: int, names: list[str]) -> list[bool]:
    """A boolean for each of the constraints, from names, numbers or booleans."""
    if isinstance(rows, (str, int, np.integer)) and not isinstance(rows, bool):
        rows = [rows]
    if not isinstance(rows, Iterable):
        raise TypeError(f"exact_rows must be names, numbers or booleans, not {rows!r}")
    given = list(rows)
    if given and all(isinstance(row, (bool, np.bool_)) for row in given):
        if len(given) != count:
            raise ValueError(f"exact_rows has {len(given)} booleans, but there are {count} constraints")
        return [bool(row) for row in given]
    chosen = [False] * count
    for row in given:
        number: Any = names.index(str(row)) if row in names else row
        if isinstance(number, (bool, np.bool_)) or not isinstance(number, (int, np.integer)):
            raise ValueError(f"exact_rows names constraints out of {', '.join(map(repr, names)) or 'none that have names'}, not {row!r}")
        if not -count <= number < count:
            raise ValueError(f"exact_rows has the row {row!r}, but there are {count} constraints")
        chosen[number] = True
    return chosen if given else []


def one_by_one(sample: Callable[..., Any], threads: Threads | None) -> Callable[..., Any]:
    """The average over draws of a function that takes one at a time, each with a generator that it seeds."""

    def alone(x: np.ndarray, draw: Any) -> Any:
        return sample(x, np.random.default_rng(int(draw)))

    def answers(x: np.ndarray, draws: np.ndarray) -> Any:
        if threads is None:
            return (alone(x, draw) for draw in draws)
        # An array for each, since a function may write into what it gets.
        return threads.map(lambda draw: alone(x.copy(), draw), draws)

    def evaluate(x: np.ndarray, draws: np.ndarray) -> tuple[Any, ...]:
        sums: list[Any] = []
        for parts in answers(x, draws if draws.size else np.zeros(1, dtype=np.uint64)):
            parts_of(parts, "sample(x, rng)")
            sums = sums or [None] * len(parts)
            if len(parts) != len(sums):
                raise TypeError("sample(x, rng) gives the objective for some draws and not for others")
            for k, (part, name) in enumerate(zip(parts, ("objective", *THREE)[-len(parts) :])):
                if part is not None:
                    value = real_array(part, f"the {name} that sample(x, rng) gave")
                    sums[k] = value if sums[k] is None else sums[k] + value
        count = max(draws.size, 1)
        return tuple(None if total is None else total / count for total in sums)

    return evaluate


def parts_of(result: Any, what: str) -> tuple[Any, ...]:
    """Gradient, constraints and Jacobian, perhaps after the objective."""
    if not (isinstance(result, tuple) and len(result) in (3, 4)):
        raise TypeError(f"{what} must give a tuple: gradient, constraints and Jacobian, or the objective and these three")
    return result


def as_sampled(problem: Any, x0: Any, rest: dict[str, Any]) -> SampledProblem:
    """A problem from a function or from an object that has the same attributes."""
    if isinstance(problem, SampledProblem):
        if rest:
            raise TypeError(f"a SampledProblem has its own {next(iter(rest))}: leave it out")
        return problem if x0 is None else problem._starting_at(real_vector(x0, "x0"))
    if isinstance(problem, Described):
        raise TypeError(f"the problem is {kind_of(problem)}, whose functions have no noise: tangor.minimize takes it")
    if hasattr(problem, "evaluate") or hasattr(problem, "gradient") or hasattr(problem, "sample"):
        names = ("evaluate", "gradient", "constraints", "jacobian", "sample", "objective", "sparsity", "name", "variable_names", "row_names",
                 "members", "exact", "exact_rows", "threads", "bounds", "c_lower", "c_upper")  # fmt: skip
        found = {name: getattr(problem, name) for name in names if getattr(problem, name, None) is not None}
        found.update(rest)
        start = x0 if x0 is not None else getattr(problem, "x0", None)
        if start is None:
            raise TypeError("x0, where to start, is missing")
        return SampledProblem(start, found.pop("evaluate", None), **found)
    if callable(problem):
        if x0 is None:
            raise TypeError("x0, where to start, is missing")
        return SampledProblem(x0, problem, **rest)
    raise TypeError(f"the problem is {kind_of(problem)}, but must be a SampledProblem, an object like it or a function")
