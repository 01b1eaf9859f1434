"""Reads what SciPy's users write: points, bounds, constraints, functions. The outcome is the statement that the extension takes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint, OptimizeWarning
from scipy.sparse import csr_array, issparse

DIFFERENCES = ("2-point", "3-point", "cs")
#: Differences where nobody says which: good to about ten digits where the function is smooth.
USUAL_DIFFERENCES = "3-point"


def real_vector(values: Any, what: str) -> np.ndarray:
    """A vector of real numbers of its own, or a sentence that says what is wrong with it."""
    try:
        array = np.atleast_1d(np.asarray(values))
    except ValueError as error:
        raise ValueError(f"{what} is no vector of numbers: {error}") from error
    if array.ndim != 1:
        raise ValueError(f"{what} must have one dimension, but its shape is {array.shape}")
    return real_array(array, what)


def real_array(array: Any, what: str) -> np.ndarray:
    """The same numbers as floats, contiguous; texts, complex numbers and None are refused."""
    array = np.asarray(array)
    if array.dtype.kind not in "biufO":
        raise TypeError(f"{what} must be real numbers, but they are {array.dtype}")
    if array.dtype.kind == "O" and any(value is None for value in array.flat):
        raise TypeError(f"{what} must be real numbers, but one of them is None")
    try:
        return np.array(array, dtype=float, order="C")
    except (TypeError, ValueError) as error:
        raise TypeError(f"{what} must be real numbers: {error}") from error


def spread(values: Any, count: int, what: str) -> np.ndarray:
    """One number for each of `count`, or one for all."""
    array = np.asarray(values)
    array = real_array(array.reshape(-1) if array.ndim != 1 else array, what)
    if array.size not in (1, count):
        raise ValueError(f"{what} has {array.size} numbers, but {count} are needed (or one for all)")
    return np.full(count, array[0]) if array.size != count else array


def read_bounds(bounds: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    """SciPy's `Bounds`, pairs `(lower, upper)` with None for none, or nothing at all."""
    if bounds is None:
        return np.full(n, -np.inf), np.full(n, np.inf)
    if isinstance(bounds, Bounds):
        return spread(bounds.lb, n, "the lower bound"), spread(bounds.ub, n, "the upper bound")
    pairs = list(bounds)
    if len(pairs) != n:
        raise ValueError(f"there are {len(pairs)} pairs of bounds, but {n} variables")
    lower, upper = np.empty(n), np.empty(n)
    for i, pair in enumerate(pairs):
        try:
            low, high = pair
        except (TypeError, ValueError):
            raise ValueError(f"the bounds of variable {i} must be a pair (lower, upper), not {pair!r}") from None
        try:
            lower[i] = -np.inf if low is None else low
            upper[i] = np.inf if high is None else high
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
    return [float(h) for h in spread(step, n, "the relative step of differences")]


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
                f"{label} is a {type(constraint).__name__}, but must be a LinearConstraint, a NonlinearConstraint or a dictionary"
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
            raise TypeError(f"the function of {label} is a {type(constraint.fun).__name__}, which cannot be called")
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
            raise TypeError(f"'fun' of {label} is a {type(constraint['fun']).__name__}, which cannot be called")
        args = read_args(constraint.get("args", ()))
        slope = read_slope(constraint.get("jac"), args, f"'jac' of {label}", self.usual)
        limits = Bounds(0.0, 0.0 if kind.lower() == "eq" else np.inf)
        self.add_function(constraint["fun"], args, slope, limits, label, self.steps, None)

    def add_function(self, fun: Any, args: tuple[Any, ...], slope: Any, limits: Any, label: str, steps: Any, sparsity: Any) -> None:
        rows = count_rows(fun, self.x0, args, label)
        pattern = None
        if sparsity is not None:
            pattern = read_pattern(sparsity, rows, self.x0.size, label)
        elif isinstance(slope, tuple):
            pattern = find_pattern(slope, self.x0, (self.x_lower, self.x_upper), rows, label)
        steps = read_steps(steps, self.x0.size)
        self.put(rows, limits, label, value=a_call(fun, args), slope=slope, steps=steps, pattern=pattern)

    def add_fused(self, values: Any, limits: Any, sparsity: Any, slope: Any) -> tuple[list[int], list[int]] | None:
        """Constraints out of a function for all, from what it gave at the start; gives the pattern of their Jacobian."""
        label = "the constraints"
        rows = real_vector(np.reshape(np.asarray(values), -1), label).size
        pattern = None
        if sparsity is not None:
            pattern = read_pattern(sparsity, rows, self.x0.size, label)
        elif slope is not None:
            pattern = find_pattern(slope, self.x0, (self.x_lower, self.x_upper), rows, label)
        self.put(rows, limits, label, pattern=pattern)
        return pattern

    def put(self, rows: int, limits: Any, label: str, **block: Any) -> None:
        self.lower.append(spread(limits.lb, rows, f"the lower limit of {label}"))
        self.upper.append(spread(limits.ub, rows, f"the upper limit of {label}"))
        self.linear += [block.get("linear") is not None] * rows
        empty = {"label": label, "rows": rows, "pattern": None, "linear": None, "value": None, "slope": None, "steps": []}
        self.blocks.append({**empty, **block})

    def limits(self) -> tuple[np.ndarray, np.ndarray]:
        nothing = [np.empty(0)]
        return np.concatenate(self.lower or nothing), np.concatenate(self.upper or nothing)

    def sizes(self) -> list[int]:
        return [block["rows"] for block in self.blocks]


def count_rows(fun: Callable[..., Any], x0: np.ndarray, args: tuple[Any, ...], label: str) -> int:
    """How many numbers a function of constraints gives; it is called once for that."""
    values = fun(x0.copy(), *args)
    if values is None:
        raise TypeError(f"{label} gave None, but must give numbers")
    return real_vector(np.asarray(values).reshape(-1) if np.ndim(values) != 1 else values, f"what {label} gave").size


def read_pattern(sparsity: Any, rows: int, n: int, label: str) -> tuple[list[int], list[int]]:
    """Where entries may be, from a matrix whose entries are not zero there."""
    matrix = csr_array(sparsity, copy=True)
    if matrix.shape != (rows, n):
        raise ValueError(f"the sparsity of {label} has shape {matrix.shape}, but ({rows}, {n}) is needed")
    matrix.sum_duplicates()
    return matrix.indptr.tolist(), matrix.indices.tolist()


def find_pattern(
    slope: tuple[Any, tuple[Any, ...], bool], x0: np.ndarray, bounds: tuple[np.ndarray, np.ndarray], rows: int, label: str
) -> tuple[list[int], list[int]] | None:
    """Where a Jacobian that is given as a sparse matrix has entries: at the start or at one point nearby. None: it is dense."""
    function, args, _ = slope
    first = function(x0.copy(), *args)
    if not issparse(first):
        return None
    # Some entries vanish at the start by chance; a point nearby has them.
    step = 1e-3 * np.random.default_rng(0).uniform(0.5, 1.0, x0.size) * np.maximum(1.0, np.abs(x0))
    second = function(np.clip(x0 + step, *bounds), *args)
    if first.shape != (rows, x0.size):
        raise ValueError(f"the Jacobian of {label} has shape {first.shape}, but ({rows}, {x0.size}) is needed")
    # Stored zeros count, too: who stores them says that there may be something.
    same_kind = issparse(second) and second.shape == first.shape
    union = stored(first) + stored(second) if same_kind else stored(first)
    union.sum_duplicates()
    return union.indptr.tolist(), union.indices.tolist()


def stored(matrix: Any) -> csr_array:
    """One for each stored entry."""
    rows = csr_array(matrix, copy=True)
    rows.data = np.ones(rows.data.size)
    return rows


def as_list(constraints: Any) -> Sequence[Any]:
    """One constraint or several."""
    if constraints is None:
        return ()
    if isinstance(constraints, (LinearConstraint, NonlinearConstraint, dict)):
        return (constraints,)
    if isinstance(constraints, Iterable) and not isinstance(constraints, (str, bytes)):
        return list(constraints)
    raise TypeError(f"constraints is a {type(constraints).__name__}, but must be a constraint or a sequence of them")
