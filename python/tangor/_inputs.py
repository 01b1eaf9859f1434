"""Reads what SciPy's users write: points, bounds, constraints, functions. The outcome is the definition that the extension takes."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint, OptimizeWarning
from scipy.sparse import csr_array, issparse

from ._numbers import broadcast, kind_of, real_array, real_vector
from ._sparsity import Stated, find_pattern, read_pattern

DIFFERENCES = ("2-point", "3-point", "cs")
#: Differences where nobody says which: good to about ten digits where the function is smooth.
USUAL_DIFFERENCES = "3-point"


def read_bounds(bounds: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    """SciPy's `Bounds`, pairs `(lower, upper)` with None for none, or nothing at all."""
    if bounds is None:
        return np.full(n, -np.inf), np.full(n, np.inf)
    if isinstance(bounds, Bounds):
        return broadcast(bounds.lb, n, "the lower bound"), broadcast(bounds.ub, n, "the upper bound")
    if isinstance(bounds, (str, bytes)) or not isinstance(bounds, Iterable):
        raise TypeError(f"bounds is {kind_of(bounds)}, but must be scipy.optimize.Bounds or pairs (lower, upper)")
    pairs = list(bounds)
    if len(pairs) != n:
        raise ValueError(f"bounds must have {n} pair{'' if n == 1 else 's'}, one for each variable, not {len(pairs)}")
    lower, upper = np.empty(n), np.empty(n)
    for i, pair in enumerate(pairs):
        try:
            low, high = pair
        except (TypeError, ValueError):
            raise ValueError(f"the bounds of variable {i} must be a pair (lower, upper), not {pair!r}") from None
        try:
            # NumPy would read texts as numbers.
            if isinstance(low, (str, bytes)) or isinstance(high, (str, bytes)):
                raise TypeError
            lower[i] = -np.inf if low is None else low
            upper[i] = np.inf if high is None else high
        except OverflowError:
            raise ValueError(f"the bounds of variable {i} have a number that is too large for a float; None is no bound") from None
        except (TypeError, ValueError):
            raise TypeError(f"the bounds of variable {i} must be numbers or None, not {pair!r}") from None
    return lower, upper


def takes_out(function: Callable[..., Any]) -> bool:
    """Whether the function has a keyword-only argument `out` and thus writes into an array that it is given."""
    code = getattr(function, "__code__", None) or getattr(getattr(function, "__func__", None), "__code__", None)
    if code is None:
        return False
    return "out" in code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]


def a_call(function: Callable[..., Any], args: tuple[Any, ...] = ()) -> tuple[Any, tuple[Any, ...], bool]:
    """A function as the extension takes it."""
    return function, args, takes_out(function)


def read_args(args: Any) -> tuple[Any, ...]:
    """A single argument need not be a tuple."""
    return args if isinstance(args, tuple) else (args,)


def read_slope(jac: Any, args: tuple[Any, ...], what: str, usual: str = USUAL_DIFFERENCES) -> Any:
    """A function, the name of differences, or True for "together with the value"."""
    if jac is None or jac is False:
        return usual
    if jac is True:
        return True
    if callable(jac):
        return a_call(jac, args)
    if isinstance(jac, str) and jac in DIFFERENCES:
        return jac
    raise ValueError(f"{what} must be a function, True or one of {', '.join(map(repr, DIFFERENCES))}, not {jac!r}")


def read_steps(step: Any, n: int) -> list[float]:
    """Relative steps of differences: none, one for all, or one for each variable."""
    if step is None:
        return []
    steps = broadcast(step, n, "the relative step of differences")
    if not np.all(np.isfinite(steps)) or not np.all(steps):
        raise ValueError(f"the relative step of differences must be finite and not zero, not {step!r}")
    return [float(h) for h in steps]


class Limits(NamedTuple):
    """Of constraints: what SciPy's Bounds has, without its checks, which take longer than a call of a small function."""

    lb: Any
    ub: Any


def refuse_limits(limits: Limits, sparsity: Any = None) -> None:
    """Where there are no constraints: who gives limits of them has forgotten a function."""
    given = np.any(np.asarray(limits.lb) != -np.inf) or np.any(np.asarray(limits.ub) != np.inf)
    if given or sparsity is not None:
        what = "c_lower and c_upper belong" if given else "sparsity belongs"
        raise TypeError(f"{what} to constraints, but there are none: give their function, or leave the rest out")


class First:
    """What functions gave at the start when they were read: a run that follows at once need not call them there again."""

    def __init__(self, x0: np.ndarray) -> None:
        self.x0 = x0
        self.evaluate: Any = None
        self.values: dict[int, np.ndarray] = {}
        self.slopes: dict[int, Any] = {}

    def for_run(self) -> dict[str, Any] | None:
        """As the extension takes it."""
        if self.evaluate is None and not self.values:
            return None
        return {"x": self.x0, "evaluate": self.evaluate, "values": self.values, "slopes": self.slopes}


def kept(value: Any) -> Any:
    """A copy, since a function may use its arrays again."""
    if isinstance(value, tuple):
        return tuple(kept(part) for part in value)
    if isinstance(value, np.ndarray) or issparse(value):
        return value.copy()
    try:
        return copy.deepcopy(value)
    except Exception:
        # A generator, for one: where numbers are read it is said that it is none.
        return value


class Blocks:
    """Constraints one after the other."""

    def __init__(self, x0: np.ndarray, x_lower: np.ndarray, x_upper: np.ndarray, usual: str = USUAL_DIFFERENCES, steps: Any = None):
        self.x0 = np.clip(x0, x_lower, x_upper)
        self.x_lower, self.x_upper = x_lower, x_upper
        self.usual, self.steps = usual, steps
        self.blocks: list[dict[str, Any]] = []
        self.lower: list[np.ndarray] = []
        self.upper: list[np.ndarray] = []
        self.linear: list[bool] = []
        self.stated: list[Stated] = []
        self.first = First(self.x0)

    def add(self, constraint: Any, label: str) -> None:
        """One of SciPy's kinds."""
        if getattr(constraint, "keep_feasible", None) is not None and np.any(constraint.keep_feasible):
            message = f"{label}: keep_feasible is not supported for constraints (bounds are always kept)"
            warnings.warn(message, OptimizeWarning, stacklevel=5)
        if isinstance(constraint, LinearConstraint):
            self.add_linear(constraint, label)
        elif isinstance(constraint, NonlinearConstraint):
            self.add_nonlinear(constraint, label)
        elif isinstance(constraint, dict):
            self.add_dictionary(constraint, label)
        else:
            raise TypeError(
                f"{label} is {kind_of(constraint)}, but must be a LinearConstraint, a NonlinearConstraint or a dictionary"
            )

    def add_linear(self, constraint: LinearConstraint, label: str) -> None:
        n = self.x0.size
        matrix: Any = constraint.A
        matrix = csr_array(matrix) if issparse(matrix) else np.atleast_2d(real_array(matrix, f"the matrix of {label}"))
        if matrix.ndim != 2 or matrix.shape[1] != n:
            raise ValueError(f"the matrix of {label} has shape {matrix.shape}, but there are {n} variables")
        pattern = None
        if issparse(matrix):
            matrix.sum_duplicates()
            pattern = (matrix.indptr.tolist(), matrix.indices.tolist())
            values = real_array(matrix.data, f"the matrix of {label}")
        else:
            values = matrix.reshape(-1)
        if not np.all(np.isfinite(values)):
            raise ValueError(f"the matrix of {label} has entries that are not finite")
        self.put(matrix.shape[0], constraint, label, linear=values, pattern=pattern)

    def add_nonlinear(self, constraint: NonlinearConstraint, label: str) -> None:
        if not callable(constraint.fun):
            raise TypeError(f"the function of {label} is {kind_of(constraint.fun)}, which cannot be called")
        slope = read_slope(constraint.jac, (), f"jac of {label}")
        steps = constraint.finite_diff_rel_step
        self.add_function(constraint.fun, (), slope, constraint, label, steps, constraint.finite_diff_jac_sparsity)

    def add_dictionary(self, constraint: dict[str, Any], label: str) -> None:
        if "type" not in constraint:
            raise KeyError(f"{label} has no 'type'; it must be 'eq' or 'ineq'")
        kind = constraint["type"]
        if not isinstance(kind, str):
            raise TypeError(f"the type of {label} must be 'eq' or 'ineq', not {kind!r}")
        if kind.lower() not in ("eq", "ineq"):
            raise ValueError(f"the type of {label} must be 'eq' or 'ineq', not {kind!r}")
        if "fun" not in constraint:
            raise KeyError(f"{label} has no function 'fun'")
        unknown = set(constraint) - {"type", "fun", "jac", "args"}
        if unknown:
            raise ValueError(f"{label} has unknown entries: {', '.join(sorted(map(str, unknown)))}")
        if not callable(constraint["fun"]):
            raise TypeError(f"'fun' of {label} is {kind_of(constraint['fun'])}, which cannot be called")
        args = read_args(constraint.get("args", ()))
        slope = read_slope(constraint.get("jac"), args, f"'jac' of {label}", self.usual)
        limits = Limits(0.0, 0.0 if kind.lower() == "eq" else np.inf)
        self.add_function(constraint["fun"], args, slope, limits, label, self.steps, None)

    def add_function(self, fun: Any, args: tuple[Any, ...], slope: Any, limits: Any, label: str, steps: Any, sparsity: Any) -> None:
        if slope is True:
            raise TypeError(f"{label} cannot give values and Jacobian together: jac must be a function or the name of differences")
        values = first_values(fun, self.x0, args, label)
        rows = values.size
        self.first.values[len(self.blocks)] = values
        pattern = None
        if sparsity is not None:
            pattern = read_pattern(sparsity, rows, self.x0.size, label)
            if isinstance(slope, str):
                self.stated.append(Stated(label, sum(self.sizes()), pattern))
        elif isinstance(slope, tuple):
            pattern = self.find_pattern(slope, rows, label)
        steps = read_steps(steps, self.x0.size)
        self.put(rows, limits, label, value=a_call(fun, args), slope=slope, steps=steps, pattern=pattern)

    def find_pattern(self, slope: Any, rows: int, label: str) -> tuple[list[int], list[int]] | None:
        """That of a Jacobian which a function gives."""
        function, args, takes_out = slope
        if takes_out:
            return None
        first = kept(function(self.x0.copy(), *args))
        self.first.slopes[len(self.blocks)] = first
        return find_pattern(first, lambda x: function(x, *args), self.x0, (self.x_lower, self.x_upper), rows, label)

    def add_fused(
        self, values: Any, limits: Any, sparsity: Any, first: Any = None, jacobian: Any = None
    ) -> tuple[list[int], list[int]] | None:
        """Constraints out of a function for all, from what it gave at the start; gives the pattern of their Jacobian."""
        label = "the constraints"
        rows = real_vector(np.reshape(np.asarray(values), -1), label).size
        pattern = None
        if sparsity is not None:
            pattern = read_pattern(sparsity, rows, self.x0.size, label)
        elif jacobian is not None:
            pattern = find_pattern(first, jacobian, self.x0, (self.x_lower, self.x_upper), rows, label)
        self.put(rows, limits, label, pattern=pattern)
        return pattern

    def put(self, rows: int, limits: Any, label: str, **block: Any) -> None:
        self.lower.append(broadcast(limits.lb, rows, f"the lower limit of {label}"))
        self.upper.append(broadcast(limits.ub, rows, f"the upper limit of {label}"))
        self.linear += [block.get("linear") is not None] * rows
        empty = {"label": label, "rows": rows, "pattern": None, "linear": None, "value": None, "slope": None, "steps": []}
        self.blocks.append({**empty, **block})

    def limits(self) -> tuple[np.ndarray, np.ndarray]:
        nothing = [np.empty(0)]
        return np.concatenate(self.lower or nothing), np.concatenate(self.upper or nothing)

    def sizes(self) -> list[int]:
        return [block["rows"] for block in self.blocks]


def first_values(fun: Callable[..., Any], x0: np.ndarray, args: tuple[Any, ...], label: str) -> np.ndarray:
    """The values at the start of a function of constraints, which is called once to see how many they are."""
    values = fun(x0.copy(), *args)
    if type(values) is np.ndarray and values.ndim == 1:
        return real_vector(values, f"what {label} gave")
    if values is None:
        raise TypeError(f"{label} gave None, but must give numbers")
    try:
        shape = np.shape(values)
    except ValueError as error:
        raise ValueError(f"{label} gave no vector of numbers: {error}") from error
    if sum(length != 1 for length in shape) > 1:
        raise ValueError(f"{label} gave an array of shape {shape}, but must give a vector")
    return real_vector(np.asarray(values).reshape(-1) if len(shape) != 1 else values, f"what {label} gave")


def as_list(constraints: Any) -> Sequence[Any]:
    """One constraint or several."""
    if constraints is None:
        return ()
    if isinstance(constraints, (LinearConstraint, NonlinearConstraint, dict)):
        return (constraints,)
    if isinstance(constraints, Iterable) and not isinstance(constraints, (str, bytes)):
        return list(constraints)
    raise TypeError(f"constraints is {kind_of(constraints)}, but must be a constraint or a sequence of them")
