"""Callbacks of SciPy's kind and of ours, and a bar that shows how far a run is."""

from __future__ import annotations

import contextlib
import inspect
import math
from collections.abc import Callable, Iterator
from typing import Any

from scipy.optimize import OptimizeResult

from ._numbers import kind_of


def adapted(callback: Callable[..., Any]) -> Callable[[Any], Any]:
    """What is called with a row. Callbacks of SciPy's get what SciPy gives: `callback(intermediate_result=...)` and `callback(xk)`, by these
    names, and `callback(xk, state)`, two arguments as trust-constr has them; others get the row itself."""
    try:
        parameters = list(inspect.signature(callback).parameters.values())
    except (TypeError, ValueError):
        return callback
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = [one.name for one in parameters if one.default is one.empty and one.kind in positional]
    if [one.name for one in parameters] == ["intermediate_result"]:
        return lambda row: callback(intermediate_result=state_of(row))
    if len(needed) > 2:
        raise TypeError(f"callback needs {len(needed)} arguments, {', '.join(needed)}, but gets a row, or the pair (xk, state) as in SciPy")
    if len(needed) == 2:
        return lambda row: callback(row.x, state_of(row))
    return (lambda row: callback(row.x)) if needed == ["xk"] else callback


def state_of(row: Any) -> OptimizeResult:
    """A row under the names that SciPy's users look for."""
    return OptimizeResult(
        x=row.x, fun=row.fun, nit=row.iteration, niter=row.iteration, nfev=row.evaluations, execution_time=row.seconds,
        optimality=row.stationarity, constr_violation=row.feasibility, stationarity=row.stationarity, feasibility=row.feasibility,
        complementarity=row.complementarity, rho=row.rho, eta=row.eta,
    )  # fmt: skip


@contextlib.contextmanager
def watching(callback: Callable[..., Any] | None, progress: bool, tree: dict[str, Any]) -> Iterator[Callable[[Any], Any]]:
    """What the solver calls once per iteration."""
    if callback is not None and not callable(callback):
        raise TypeError(f"callback is {kind_of(callback)}, which cannot be called")
    told = adapted(callback) if callback is not None else None
    if not progress:
        assert told is not None
        yield told
        return
    with bar() as shown:

        def watch(row: Any) -> Any:
            worst = max(row.stationarity, row.feasibility, row.complementarity)
            parts = [f"f = {row.fun:.6g}"] if math.isfinite(row.fun) else []
            parts += [f"worst residual {worst:.1e}"] if math.isfinite(worst) else []
            shown.set_postfix_str(", ".join(parts), refresh=False)
            shown.update(1)
            return told(row) if told is not None else None

        yield watch


def bar() -> Any:
    """A bar of tqdm, which knows terminals and notebooks."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        raise ImportError("progress=True needs the package tqdm: pip install tqdm") from None
    return tqdm(unit=" iterations", leave=False)
