"""`tangor.Solver`: a run step by step, and the run behind `minimize`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from . import _options, _result, _tangor
from ._problem import Problem


class Solver:
    """A run on a problem, step by step.

    >>> import tangor
    >>> solver = tangor.Solver(tangor.collection["HS71"])
    >>> while not solver.step():
    ...     pass
    >>> solver.result().success
    True
    """

    def __init__(self, problem: Problem, *, settings: Any = None, tol: Any = None, **keywords: Any) -> None:
        tree, others = _options.read(settings, None, keywords, tol)
        if others:
            raise TypeError(f"there is no setting {next(iter(others))!r}")
        self._begin(problem, _tangor.Run(problem._model, _options.to_json(tree)))

    def _begin(self, problem: Problem, run: Any) -> None:
        self.problem = problem
        self._run = run
        #: Why the run ended, or None while it goes on.
        self.stop: str | None = None

    @classmethod
    def resume(cls, problem: Problem, checkpoint: str | Path, *, settings: Any = None, **keywords: Any) -> Solver:
        """Goes on where a checkpoint was taken, bit for bit as if there had been no break. Settings may be changed, such as limits."""
        tree, _ = _options.read(settings, None, keywords, None)
        solver = cls.__new__(cls)
        changed = _options.to_json(tree) if tree else None
        solver._begin(problem, _tangor.Run.resume(problem._model, Path(checkpoint), changed))
        return solver

    def step(self, iterations: int = 1, callback: Any = None) -> bool:
        """So many iterations. True: the run has ended, and `stop` says why."""
        self.stop = self._run.advance(callback, iterations)
        return self.stop is not None

    def run(self, callback: Any = None) -> _result.Result:
        """To the end."""
        self.stop = self._run.advance(callback, None)
        return self.result()

    def result(self) -> _result.Result:
        """The best point so far."""
        m = self.problem.m
        return finish(self._run, self.problem, [m] if m else [], True)

    def checkpoint(self, file: str | Path) -> None:
        """Writes all that `resume` needs. The file is replaced whole or not at all."""
        self._run.checkpoint(Path(file))


def finish(run: Any, problem: Problem, sizes: list[int], with_bounds: bool) -> _result.Result:
    """The result of a run, with what SciPy's users look for."""
    result = _result.make(run.report(), sizes, with_bounds)
    c = np.concatenate(result.constr) if result.constr else np.empty(0)
    data = problem._data
    if c.size:
        worst = np.max(np.maximum(data["c_lower"] - c, c - data["c_upper"]), initial=0.0)
        result.constr_violation = result.maxcv = float(max(worst, 0.0))
    else:
        result.constr_violation = result.maxcv = 0.0
    result.trace = run.trace()
    result.problem_object = problem
    return result
