"""`tangor.Problem`: a model with names, bounds, structure and functions, whether they are Python's or Rust's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array

from . import _inputs, _tangor
from ._described import Described
from ._numbers import broadcast, kind_of, read_names, real_number, real_vector
from ._sparsity import check_stated
from ._threads import read_threads


#: What a problem is made from.
ARGUMENTS = ("x0", "f", "grad", "c", "jac", "evaluate", "bounds", "c_lower", "c_upper", "sparsity", "maximise", "threads", "name",
             "variable_names", "row_names")  # fmt: skip


class Problem(Described):
    """minimise f(x)   subject to   c_lower <= c(x) <= c_upper,   lower <= x <= upper.

    Parameters
    ----------
    x0 : array
        Where to start; its length is the number of variables. It is projected into the bounds.
    f, grad : functions of x
        The objective and its gradient. `grad` may also be "2-point", "3-point" (default) or "cs", for differences, or True if `f` gives
        the pair of both. Leave `f` out to look for a feasible point.
    c, jac : functions of x
        The constraints and their Jacobian, dense or scipy.sparse, or the name of differences.
    evaluate : function of x
        All at once instead of the four: it gives the tuple `(f, grad, c, jac)` and is called once for each point.
    bounds : scipy.optimize.Bounds or pairs
        Bounds on the variables.
    c_lower, c_upper : numbers or arrays
        Limits of the constraints; equal ones make an equation, infinite ones are none.
    sparsity : sparse matrix
        Where the Jacobian may have entries. Without it they are taken from the Jacobian at the start and at one point nearby.
    maximise : bool
        True: the objective is to be as large as possible. Functions, values and the result are your own, no sign is turned.
    threads : int
        Differences may call the functions from so many threads at once, with the same bits as without. Without it all functions are
        called from the thread of the run alone.
    variable_names, row_names : sequences of str
        For messages and reports.

    `evaluate` is called for the first time when the problem is first used, the other functions of constraints at once.

    A gradient with a keyword-only argument `out` writes into that array, which with many variables is the solver's own memory.

    >>> import numpy as np, tangor
    >>> circle = tangor.Problem([1.0, 0.5], f=lambda x: x.sum(), grad=lambda x: np.ones(2),
    ...                         c=lambda x: x @ x, jac=lambda x: 2 * x, c_lower=1, c_upper=1, row_names=["radius"])
    >>> print(np.round(tangor.minimize(circle).x, 5))
    [-0.70711 -0.70711]
    """

    def __init__(
        self,
        x0: Any,
        f: Callable[..., Any] | None = None,
        grad: Any = None,
        c: Callable[..., Any] | None = None,
        jac: Any = None,
        *,
        evaluate: Callable[..., Any] | None = None,
        bounds: Any = None,
        c_lower: Any = -np.inf,
        c_upper: Any = np.inf,
        sparsity: Any = None,
        maximise: bool = False,
        threads: int | None = None,
        name: str = "problem",
        variable_names: Sequence[str] = (),
        row_names: Sequence[str] = (),
    ) -> None:
        self._given = {name: value for name, value in locals().items() if name in ARGUMENTS}
        start = real_vector(x0, "x0")
        lower, upper = _inputs.read_bounds(bounds, start.size)
        blocks = _inputs.Blocks(start, lower, upper)
        limits = _inputs.Limits(c_lower, c_upper)
        for function, what in ((f, "f"), (c, "c"), (evaluate, "evaluate")):
            if function is not None and not callable(function):
                raise TypeError(f"{what} is {kind_of(function)}, which cannot be called")
        if evaluate is not None and not (f is None and grad is None and c is None and jac is None):
            raise TypeError("evaluate stands for all functions: give either it or the single ones")
        if evaluate is None:
            _refuse_halves(f, grad, c, jac)
        if c is not None:
            slope = _inputs.read_slope(jac, (), "jac")
            blocks.add_function(c, (), slope, limits, "the constraints", None, sparsity)
        elif evaluate is None:
            _inputs.refuse_limits(limits, sparsity)
        objective = None
        if f is not None:
            objective = {"value": _inputs.a_call(f), "slope": _inputs.read_slope(grad, (), "grad"), "steps": []}
        pool = read_threads(threads)

        def make() -> tuple[Any, dict[str, Any] | None]:
            has_objective = _add_fused(evaluate, blocks, limits, sparsity) if evaluate is not None else f is not None
            given = definition(name, start, (lower, upper), objective, blocks, has_objective, evaluate, variable_names, row_names)
            return _tangor.Model({**given, "maximise": bool(maximise), "threads": pool}), blocks.first.for_run()

        # A function for all is called when the problem is used, so that a run can go on from what it gave and no point is evaluated twice.
        self._make, self._given_start = make, blocks.x0
        if evaluate is None:
            self._model, _ = make()
            check_stated(self, blocks.stated)

    def _remake(self, given: dict[str, Any]) -> None:
        Problem.__init__(self, **given)

    def f(self, x: Any) -> float:
        """The objective; 0 when there is none."""
        return float(self._model.objective(self._point(x))) if self.has_objective else 0.0

    def grad(self, x: Any) -> np.ndarray:
        """The gradient of the objective."""
        return self._model.gradient(self._point(x)) if self.has_objective else np.zeros(self.n)

    def c(self, x: Any) -> np.ndarray:
        """The constraints."""
        return self._model.constraints(self._point(x))

    def jac(self, x: Any) -> csr_array:
        """The Jacobian of the constraints, one row for each."""
        return self._matrix(self._model.jacobian(self._point(x)))

    def hess(self, x: Any, y: Any = None, sigma: float = 1.0) -> csr_array:
        """`sigma` times the Hessian of the objective plus the sum of `y[i]` times that of constraint `i`, both triangles.

        Problems of files know it; for others it is estimated by differences of the gradient and the Jacobian,
        at points on both sides of `x` that may lie beyond a bound.
        """
        point = self._point(x)
        weights = np.zeros(self.m) if y is None else broadcast(y, self.m, "y")
        if y is not None and np.ndim(y) > 0 and np.size(y) != self.m:
            raise ValueError(f"y has one number, but there are {self.m} constraints")
        sigma = real_number(sigma, "sigma")
        known = self._model.hessian(point, sigma, weights)
        if known is not None:
            rows, columns, values = known
            lower = coo_array((values, (rows, columns)), shape=(self.n, self.n)).tocsr()
            strict = coo_array((values * (rows != columns), (rows, columns)), shape=(self.n, self.n)).tocsr()
            return csr_array(lower + strict.T)
        return csr_array(self._estimated_hessian(point, sigma, weights))

    def _estimated_hessian(self, x: np.ndarray, sigma: float, y: np.ndarray) -> np.ndarray:
        def slope(x: np.ndarray) -> np.ndarray:
            g = sigma * self.grad(x) if self.has_objective else np.zeros(self.n)
            return g + self.jac(x).T @ y if self.m else g

        steps = np.cbrt(np.finfo(float).eps) * np.maximum(1.0, np.abs(x))
        hessian = np.empty((self.n, self.n))
        for i, step in enumerate(steps):
            above, below = x.copy(), x.copy()
            above[i] += step
            below[i] -= step
            hessian[i] = (slope(above) - slope(below)) / (above[i] - below[i])
        return 0.5 * (hessian + hessian.T)

    def _point(self, x: Any) -> np.ndarray:
        return real_vector(x, "x")


def _refuse_halves(f: Any, grad: Any, c: Any, jac: Any) -> None:
    """A derivative without its function would be left out in silence."""
    for function, slope, names in ((f, grad, ("f", "grad")), (c, jac, ("c", "jac"))):
        if function is None and slope is not None:
            raise TypeError(f"{names[1]} is the derivative of {names[0]}, which is missing")
    if f is None and c is None:
        raise TypeError("a function is missing: give f, c or evaluate")


def _add_fused(evaluate: Callable[..., Any], blocks: _inputs.Blocks, limits: _inputs.Limits, sparsity: Any) -> bool:
    """Calls the function once to see what it gives. True: there is an objective."""
    given = _inputs.kept(evaluate(blocks.x0.copy()))
    if not (isinstance(given, tuple) and len(given) == 4):
        raise TypeError("evaluate(x) must give a tuple of four: objective, gradient, constraints and Jacobian")
    f, grad, c, jac = given
    _refuse_halves(f, grad, c, jac)
    blocks.first.evaluate = given
    if c is not None:
        blocks.add_fused(c, limits, sparsity, jac, lambda x: evaluate(x)[3])
    else:
        _inputs.refuse_limits(limits, sparsity)
    return f is not None


def definition(
    name: str,
    x0: np.ndarray,
    bounds: tuple[np.ndarray, np.ndarray],
    objective: dict[str, Any] | None,
    blocks: _inputs.Blocks,
    has_objective: bool = True,
    evaluate: Callable[..., Any] | None = None,
    variable_names: Sequence[str] = (),
    row_names: Sequence[str] = (),
) -> dict[str, Any]:
    """All that the extension must know of a problem."""
    if not isinstance(name, str):
        raise TypeError(f"name must be a text, not {name!r}")
    c_lower, c_upper = blocks.limits()
    return {
        "name": name,
        "x0": x0,
        "x_lower": bounds[0],
        "x_upper": bounds[1],
        "c_lower": c_lower,
        "c_upper": c_upper,
        "variable_names": read_names(variable_names, "variable_names"),
        "row_names": read_names(row_names, "row_names"),
        "linear_rows": blocks.linear,
        "has_objective": has_objective,
        "maximise": False,
        "threads": None,
        "objective": objective,
        "evaluate": None if evaluate is None else _inputs.a_call(evaluate),
        "blocks": blocks.blocks,
    }
