"""`tangor.Solver`: a run step by step, and the run behind `minimize`."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from . import _options, _result, _tangor
from ._described import Described
from ._numbers import kind_of, whole_number
from ._problem import Problem
from ._progress import adapted, watching
from ._sampled_problem import SampledProblem

Made = TypeVar("Made")


class Solver:
    """A run on a problem, step by step.

    >>> import tangor
    >>> solver = tangor.Solver(tangor.collection["HS71"])
    >>> while not solver.step():
    ...     pass
    >>> solver.result().success
    True
    """

    def __init__(self, problem: Problem | SampledProblem, *, settings: Any = None, tol: Any = None, **keywords: Any) -> None:
        if not isinstance(problem, Described):
            raise TypeError(f"the problem is {kind_of(problem)}, but must be a Problem or a SampledProblem")
        settings_json = _options.to_json(_only_settings(settings, keywords, tol))
        model, first = problem._for_run()
        self._begin(problem, _tangor.Run(model, settings_json, first=first))

    def _begin(self, problem: Problem | SampledProblem, run: Any) -> None:
        self.problem = problem
        self._run = run
        #: Why the run ended, or None while it goes on.
        self.stop: str | None = None

    @classmethod
    def resume(cls, problem: Problem | SampledProblem, checkpoint: str | Path, *, settings: Any = None, **keywords: Any) -> Solver:
        """Goes on where a checkpoint was taken, bit for bit as if there had been no break. Limits and tolerances
        may be changed; all other settings are those of the checkpoint."""
        if not isinstance(problem, Described):
            raise TypeError(f"the problem is {kind_of(problem)}, but must be a Problem or a SampledProblem")
        # A number would be a file that is open already, such as standard output, and would be closed below.
        if not isinstance(checkpoint, (str, os.PathLike)):
            raise TypeError(f"the checkpoint is {kind_of(checkpoint)}, but must be the path of a file")
        tree = _only_settings(settings, keywords, None)
        solver = cls.__new__(cls)
        changed = _options.to_json(tree) if tree else None
        with open(checkpoint, "rb"):
            # A file that cannot be opened is an OSError, one that is no checkpoint a ValueError.
            pass
        solver._begin(problem, _tangor.Run.resume(problem._model, Path(checkpoint), changed))
        return solver

    def step(self, iterations: int = 1, callback: Any = None) -> bool:
        """So many iterations. True: the run has ended, and `stop` says why."""
        self.stop = self._run.advance(_watch(callback), whole_number(iterations, "iterations", 0))
        return self.stop is not None

    def run(self, callback: Any = None) -> _result.Result:
        """To the end."""
        self.stop = self._run.advance(_watch(callback), None)
        return self.result()

    def result(self) -> _result.Result:
        """The best point so far."""
        m = self.problem.m
        return finish(self._run, self.problem, [m] if m else [], True)

    def checkpoint(self, file: str | Path) -> None:
        """Writes all that `resume` needs. The file is replaced whole or not at all."""
        self._run.checkpoint(Path(file))


def _only_settings(settings: Any, keywords: dict[str, Any], tol: Any) -> dict[str, Any]:
    tree, others = _options.read(settings, None, keywords, tol)
    if others:
        raise TypeError(f"there is no setting {next(iter(others))!r}")
    return tree


def _watch(callback: Any) -> Any:
    if callback is not None and not callable(callback):
        raise TypeError(f"callback is {kind_of(callback)}, which cannot be called")
    return None if callback is None else adapted(callback)


def run_to_the_end(run: Any, callback: Any, progress: bool, tree: dict[str, Any]) -> None:
    """Ctrl-C ends a run, also where it comes while Python is at work beside it, as at a bar."""
    try:
        if callback is None and not progress:
            run.advance(None, None)
        else:
            with watching(callback, progress, tree) as watch:
                run.advance(watch, None)
    except KeyboardInterrupt:
        run.interrupt()


def not_lost(make: Callable[[], Made]) -> Made:
    """What is made of a run that has ended. Who presses Ctrl-C once more meanwhile still gets it."""
    try:
        return make()
    except KeyboardInterrupt:
        return make()


def finish(run: Any, problem: Described, sizes: list[int], with_bounds: bool) -> _result.Result:
    """The result of a run, with what SciPy's users look for."""
    result = _result.make(run.report(), sizes, with_bounds)
    if result.verdict is None and any(result.samples.values()) and problem.has_objective:
        # The method needs no values of a noisy objective, and nobody has asked for any yet.
        result.fun = math.nan
    result.trace = run.trace()
    result.problem_object = problem
    return result
