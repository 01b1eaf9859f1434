"""Callbacks of SciPy's kind and of ours, and a bar that shows how far a run is."""

from __future__ import annotations

import contextlib
import inspect
import math
from collections.abc import Callable, Iterator
from typing import Any

from scipy.optimize import OptimizeResult


def adapted(callback: Callable[..., Any]) -> Callable[[Any], Any]:
    """A callback that wants `intermediate_result` gets one, as in SciPy; others get the row."""
    try:
        names = set(inspect.signature(callback).parameters)
    except (TypeError, ValueError):
        names = set()
    if names != {"intermediate_result"}:
        return callback

    def with_result(row: Any) -> Any:
        return callback(intermediate_result=OptimizeResult(x=row.x, fun=row.fun, nit=row.iteration))

    return with_result


@contextlib.contextmanager
def watching(callback: Callable[..., Any] | None, progress: bool, tree: dict[str, Any]) -> Iterator[Callable[[Any], Any]]:
    """What the solver calls once per iteration."""
    if callback is not None and not callable(callback):
        raise TypeError(f"callback is a {type(callback).__name__}, which cannot be called")
    told = adapted(callback) if callback is not None else None
    if not progress:
        assert told is not None
        yield told
        return
    with bar() as shown:

        def watch(row: Any) -> Any:
            worst = max(row.stationarity, row.feasibility, row.complementarity)
            shown.set_postfix_str(f"f = {row.fun:.6g}, worst residual {worst:.1e}" if math.isfinite(worst) else "", refresh=False)
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
