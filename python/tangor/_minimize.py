"""`tangor.minimize`, with SciPy's signature."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _inputs, _options, _tangor
from ._described import Described
from ._numbers import kind_of, real_vector
from ._problem import Problem, definition
from ._result import Result, stopped_at_the_start
from ._sparsity import check_stated
from ._solver import finish, not_lost, run_to_the_end
from ._threads import read_threads


def minimize(
    fun: Any,
    x0: Any = None,
    args: Any = (),
    jac: Any = None,
    bounds: Any = None,
    constraints: Any = (),
    tol: float | None = None,
    callback: Any = None,
    options: dict[str, Any] | None = None,
    *,
    settings: Any = None,
    progress: bool = False,
    threads: int | None = None,
    **keywords: Any,
) -> Result:
    """Minimises a function under constraints.

    Parameters
    ----------
    fun : function of x, or a `tangor.Problem`
        The objective, `fun(x, *args)`. A Problem brings its functions, bounds and constraints itself.
    x0 : array
        Where to start. With a Problem it may be left out.
    args : tuple
        More arguments of `fun` and `jac`.
    jac : function, True, "2-point", "3-point" or "cs"
        The gradient; True if `fun` gives the pair of value and gradient. Without it the gradient is estimated by differences
        ("3-point"), inside the bounds.
    bounds : scipy.optimize.Bounds or pairs `(lower, upper)`
        None in a pair means no bound. Every point at which a function is called lies inside the bounds.
    constraints : one or several of LinearConstraint, NonlinearConstraint, {"type": "eq" or "ineq", "fun": ..., "jac": ..., "args": ...}
        As in SciPy. Jacobians may be scipy.sparse.
    tol : float
        For all three residuals; default 1e-6.
    callback : function of a row
        Called once per iteration with a row that has `x`, `fun`, `iteration`, the residuals and more. It ends the run by giving True or
        raising StopIteration. SciPy's own kinds work as well: one argument named `intermediate_result` or `xk`, and two, `(xk, state)`, as
        trust-constr has them.
    options : dict
        SciPy's `maxiter`, `maxfev`, `gtol`, `disp`, `finite_diff_rel_step`, or settings by path, as in {"merit.rho0": 1}.
    settings : tangor.Settings or nested dict
        All settings of the solver. Keywords do as well: `minimize(..., limits={"seconds": 10})`.
    progress : bool
        Shows a bar (tqdm), in a terminal or a notebook.
    threads : int
        Differences may call the functions from so many threads at once: worth it for functions that release the interpreter's lock, with
        the same bits as without. Without it all functions are called from the thread that called `minimize`. A Problem has its own.

    Returns
    -------
    tangor.Result
        A `scipy.optimize.OptimizeResult`. Ctrl-C ends the run and gives the best point so far, with `stop` = "user"; before the first
        iteration that is the start.

    >>> import tangor
    >>> result = tangor.minimize(lambda x: x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2], [1, 5, 5, 1], bounds=[(1, 5)] * 4,
    ...     constraints=[{"type": "ineq", "fun": lambda x: x[0] * x[1] * x[2] * x[3] - 25},
    ...                  {"type": "eq", "fun": lambda x: (x ** 2).sum() - 40}])
    >>> round(result.fun, 4), result.success
    (17.014, True)
    """
    tree, others = _options.read(settings, options, keywords, tol)
    if isinstance(fun, Problem):
        if threads is not None:
            raise TypeError("a Problem says itself from how many threads its functions may be called: tangor.Problem(..., threads=...)")
        return _minimize_problem(fun, x0, (args, jac, bounds, constraints), callback, (tree, others), progress)
    if isinstance(fun, Described):
        raise TypeError(f"fun is {kind_of(fun)}, whose functions are sampled: tangor.minimize_sampled takes it")
    if not callable(fun):
        raise TypeError(f"fun is {kind_of(fun)}, which cannot be called")
    if x0 is None:
        raise TypeError("x0, where to start, is missing")
    start = real_vector(x0, "x0")
    limits = _inputs.read_bounds(bounds, start.size)
    try:
        problem, blocks = _read(fun, start, limits, args, jac, constraints, others, threads)
    except KeyboardInterrupt:
        return stopped_at_the_start(np.clip(start, *limits))
    problem_for_run = problem, blocks.first.for_run()
    return _run(problem_for_run, blocks.sizes(), bounds is not None, callback, (tree, others), progress)


def _read(
    fun: Any, start: np.ndarray, limits: tuple[np.ndarray, np.ndarray], args: Any, jac: Any, constraints: Any, others: Any, threads: Any
) -> tuple[Problem, _inputs.Blocks]:
    args = _inputs.read_args(args)
    slope = _inputs.read_slope(jac, args, "jac")
    steps = others.get("finite_diff_rel_step", others.get("eps"))
    usual = slope if isinstance(slope, str) else _inputs.USUAL_DIFFERENCES
    blocks = _inputs.Blocks(start, *limits, usual, steps)
    for k, constraint in enumerate(_inputs.as_list(constraints)):
        blocks.add(constraint, f"constraints[{k}]")
    objective = {"value": _inputs.a_call(fun, args), "slope": slope, "steps": _inputs.read_steps(steps, start.size)}
    name = getattr(fun, "__name__", "problem")
    given = definition("problem" if name == "<lambda>" else name, start, limits, objective, blocks)
    problem = Problem._of(_tangor.Model({**given, "threads": read_threads(threads)}))
    check_stated(problem, blocks.stated)
    return problem, blocks


def _minimize_problem(
    problem: Problem, x0: Any, rest: tuple[Any, ...], callback: Any, settings: tuple[Any, Any], progress: bool
) -> Result:
    args, jac, bounds, constraints = rest
    if args not in ((), None) or jac is not None or bounds is not None or (constraints is not None and len(_inputs.as_list(constraints))):
        raise TypeError("a Problem has its own functions, bounds and constraints: leave args, jac, bounds and constraints out")
    try:
        _, first = problem._for_run()
    except KeyboardInterrupt:
        return stopped_at_the_start(problem._given_start if x0 is None else x0)
    if x0 is not None:
        problem = problem._starting_at(real_vector(x0, "x0"))
    return _run((problem, first), [problem.m] if problem.m else [], True, callback, settings, progress)


def _run(
    started: tuple[Problem, dict[str, Any] | None],
    sizes: list[int],
    with_bounds: bool,
    callback: Any,
    settings: tuple[Any, Any],
    progress: bool,
) -> Result:
    (problem, first), (tree, others) = started, settings
    run = _tangor.Run(problem._model, _options.to_json(tree), first=first)
    run_to_the_end(run, callback, progress or bool(others.get("progress")), tree)

    def told() -> Result:
        result = finish(run, problem, sizes, with_bounds)
        gradient = _gradient_at_the_end(run, problem, result.x)
        if gradient is not None:
            result.jac = result.grad = gradient
        return result

    result = not_lost(told)
    if others.get("disp"):
        print(result)
    return result


def _gradient_at_the_end(run: Any, problem: Problem, x: Any) -> Any:
    """SciPy's results have it; None where there is no objective. A run that has ended is not lost by a function without a value, or by an interrupt, in this last call."""
    known = run.gradient()
    if known is not None:
        return known
    if not problem.has_objective:
        return None
    if run.is_interrupted():
        # Who pressed Ctrl-C does not want to wait for it.
        return np.full(problem.n, np.nan)
    try:
        return problem._model.gradient(x)
    except (_tangor.Undefined, ValueError, KeyboardInterrupt):
        return np.full(problem.n, np.nan)


def scipy_method(
    fun: Any,
    x0: Any,
    args: Any = (),
    jac: Any = None,
    hess: Any = None,
    hessp: Any = None,
    bounds: Any = None,
    constraints: Any = (),
    callback: Any = None,
    **options: Any,
) -> Result:
    """For `scipy.optimize.minimize(..., method=tangor.scipy_method)`; Hessians are not needed.

    >>> import scipy.optimize, tangor
    >>> result = scipy.optimize.minimize(lambda x: (x[0] - 1) ** 2 + x[1] ** 2, [0, 0], method=tangor.scipy_method,
    ...                                  constraints={"type": "eq", "fun": lambda x: x[0] + x[1]})
    >>> print(result.x.round(5))
    [ 0.5 -0.5]
    """
    del hess, hessp
    return minimize(fun, x0, args, jac, bounds, constraints, callback=callback, options=options)
