"""Functions that allow several threads: points or draws handed to a pool."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from ._numbers import is_real

#: Draws that one call in a thread gets. A constant, so that averages, which are taken over such portions, do not depend on the number of threads.
PORTION = 8


class Threads:
    """A pool in which the user's functions are called."""

    def __init__(self, count: int) -> None:
        self._pool = ThreadPoolExecutor(count, thread_name_prefix="tangor")

    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
        """What the function gives for each item, in their order. The first exception is raised, and what has not begun is left."""
        return list(self._pool.map(function, items))

    def at_points(self, function: Callable[..., Any], args: tuple[Any, ...], points: Sequence[Any], rows: int | None) -> list[Any]:
        """A function at several points; `rows`: it writes so many numbers into its keyword `out`."""
        if rows is None:
            return self.map(lambda x: function(x, *args), points)

        def written(x: np.ndarray) -> Any:
            # What it forgets to write is no number.
            out = np.full(rows, np.nan)
            result = function(x, *args, out=out)
            return out if result is None else result

        return self.map(written, points)

    def averaging(self, function: Callable[..., Any]) -> Callable[[np.ndarray, np.ndarray], Any]:
        """A function of (x, draws), called for portions of the draws; the average of what it gives, or of each part of it."""

        def average(x: np.ndarray, draws: np.ndarray) -> Any:
            if draws.size <= PORTION:
                return function(x, draws)
            portions = [draws[k : k + PORTION] for k in range(0, draws.size, PORTION)]
            # An array for each, since a function may write into what it gets.
            given = self.map(lambda portion: function(x.copy(), portion), portions)
            weights = [portion.size / draws.size for portion in portions]
            if isinstance(given[0], tuple):
                return tuple(_weighted(list(parts), weights) for parts in zip(*given, strict=True))
            return _weighted(given, weights)

        return average


def _weighted(values: list[Any], weights: list[float]) -> Any:
    """The sum of weighted values, in their order; None where a function has no such part."""
    if values[0] is None:
        return None
    total = None
    for value, weight in zip(values, weights):
        part = value * weight if hasattr(value, "tocsr") else np.asarray(value, dtype=float) * weight
        total = part if total is None else total + part
    return total


def read_threads(threads: Any) -> Threads | None:
    """None: functions are called from the thread of the run alone."""
    if threads is None:
        return None
    if isinstance(threads, bool) or not isinstance(threads, (int, np.integer)) or threads < 1:
        kind = ValueError if is_real(threads) else TypeError
        raise kind(f"threads must be a whole number of at least 1, or None, not {threads!r}")
    return Threads(int(threads))
