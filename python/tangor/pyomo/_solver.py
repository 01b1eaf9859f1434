"""The interface that `pyomo.contrib.solver.common.factory.SolverFactory` gives."""

from __future__ import annotations

import datetime
import io
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyomo.common.config import ConfigValue
from pyomo.common.errors import ApplicationError, InfeasibleConstraintException
from pyomo.common.tee import TeeStream
from pyomo.contrib.solver.common.base import Availability, SolverBase
from pyomo.contrib.solver.common.config import SolverConfig
from pyomo.contrib.solver.common.results import Results, SolutionStatus, TerminationCondition
from pyomo.contrib.solver.common.util import NoOptimalSolutionError, NoSolutionError
from pyomo.core.expr.numvalue import value
from pyomo.core.expr.visitor import replace_expressions
from pyomo.core.staleflag import StaleFlagManager
from pyomo.repn.plugins.nl_writer import NLWriter, NLWriterInfo

from . import _program
from ._answer import Answer, AnswerLoader, read

CONDITIONS = {
    _program.INFEASIBLE: (TerminationCondition.locallyInfeasible, SolutionStatus.infeasible),
    _program.UNBOUNDED: (TerminationCondition.unbounded, SolutionStatus.unknown),
    _program.ITERATIONS: (TerminationCondition.iterationLimit, SolutionStatus.unknown),
    _program.WALL_TIME: (TerminationCondition.maxTimeLimit, SolutionStatus.unknown),
    _program.USER: (TerminationCondition.interrupted, SolutionStatus.unknown),
    _program.STEP_TOO_SMALL: (TerminationCondition.minStepLength, SolutionStatus.unknown),
}
#: Beyond its own limit the program gets this many seconds to write its answer.
GRACE = 30.0


class TangorConfig(SolverConfig):
    """What a user may set."""

    def __init__(self, **keywords: Any) -> None:
        super().__init__(**keywords)
        meaning = "The program; by default the one that came with the package, or that on the PATH."
        self.executable = self.declare("executable", ConfigValue(default=None, description=meaning))
        self.writer_config = self.declare("writer_config", NLWriter.CONFIG())


class Tangor(SolverBase):
    """Nonconvex constrained optimisation."""

    CONFIG = TangorConfig()

    def _program(self) -> str | None:
        given = self.config.executable
        return str(given) if given is not None else _program.program()

    def available(self) -> Any:
        """Whether there is a program to run."""
        return Availability.NotFound if self.version() is None else Availability.FullLicense

    def version(self) -> tuple[int, ...] | None:
        """Of the program; None if there is none."""
        path = self._program()
        if path is None:
            return None
        try:
            told = subprocess.run([path, "-v"], capture_output=True, text=True, timeout=GRACE, check=True).stdout
        except (OSError, subprocess.SubprocessError):
            return None
        found = re.fullmatch(r"Tangor (\d+)\.(\d+)\.(\d+)\s*", told)
        return tuple(int(part) for part in found.groups()) if found else None

    def solve(self, model: Any, **keywords: Any) -> Results:
        """Solves a model. The run starts at the values of the variables."""
        began = time.perf_counter()
        config = self.config(value=keywords, preserve_implicit=True)
        results = Results()
        results.timing_info.start_timestamp = datetime.datetime.now(datetime.timezone.utc)
        results.solver_name, results.solver_config = self.name, config
        StaleFlagManager.mark_all_as_stale()
        with folder(config.working_dir) as place:
            stem = place / "model"
            try:
                written = write(model, stem, config)
            except InfeasibleConstraintException as error:
                written, answer = NLWriterInfo(), Answer(message=str(error))
                judge(results, TerminationCondition.provenInfeasible, SolutionStatus.noSolution)
            else:
                answer = self._answered(results, config, written, stem)
        results.extra_info.solver_message = answer.message
        iterations = re.search(r"^(\d+) iterations?,", answer.message, re.MULTILINE)
        results.extra_info.iteration_count = int(iterations.group(1)) if iterations else 0
        results.solution_loader = AnswerLoader(answer, written, model)
        finish(results, config, written)
        results.timing_info.wall_time = time.perf_counter() - began
        return results

    def _answered(self, results: Results, config: Any, written: Any, stem: Path) -> Answer:
        """The answer of the program, or none where there is nothing to ask."""
        if not written.variables:
            done = bool(written.eliminated_vars)
            condition = TerminationCondition.convergenceCriteriaSatisfied if done else TerminationCondition.emptyModel
            judge(results, condition, SolutionStatus.optimal if done else SolutionStatus.noSolution)
            return Answer()
        results.solver_version = self.version()
        results.solver_log = self._run(config, stem)
        answer = read(stem.with_suffix(".sol"))
        judge(results, *meaning(answer))
        return answer

    def _run(self, config: Any, stem: Path) -> str:
        """Runs the program and gives what it printed."""
        path = self._program()
        if path is None:
            raise ApplicationError("the program tangor was not found, neither beside the package nor on the PATH")
        options = dict(config.solver_options.value())
        if config.time_limit is not None:
            options["timelimit"] = config.time_limit
        if config.tee:
            options.setdefault("outlev", 2)
        command = [path, str(stem.with_suffix(".nl")), "-AMPL", *_program.words(options)]
        limit = options.get("timelimit")
        log = io.StringIO()
        try:
            with TeeStream(log, *config.tee) as streams:
                subprocess.run(
                    command, stdout=streams.STDOUT, stderr=streams.STDERR, text=True, check=False,
                    timeout=None if limit is None else float(limit) + GRACE,
                )  # fmt: skip
        except OSError as error:
            raise ApplicationError(f"the program {path} could not be run: {error}") from error
        except subprocess.TimeoutExpired:
            log.write(f"the program did not end {GRACE:g} seconds after its time limit\n")
        return log.getvalue()


@contextmanager
def folder(wanted: Any) -> Iterator[Path]:
    """Where the files go; one that nobody asked for is removed at the end."""
    if wanted is not None:
        Path(wanted).mkdir(parents=True, exist_ok=True)
        yield Path(tempfile.mkdtemp(prefix="tangor", dir=wanted))
    else:
        with tempfile.TemporaryDirectory(prefix="tangor") as made:
            yield Path(made)


def write(model: Any, stem: Path, config: Any) -> Any:
    """Writes the model with names of rows and variables; gives Pyomo's account of what is where."""
    with (
        open(stem.with_suffix(".nl"), "w", newline="\n", encoding="utf-8") as nl,
        open(stem.with_suffix(".row"), "w", encoding="utf-8") as rows,
        open(stem.with_suffix(".col"), "w", encoding="utf-8") as columns,
    ):
        labels = config.symbolic_solver_labels
        return NLWriter().write(model, nl, rows, columns, config=config.writer_config, symbolic_solver_labels=labels)


def meaning(answer: Answer) -> tuple[Any, Any]:
    """What an answer says in Pyomo's words."""
    code = answer.code
    if code is None:
        return TerminationCondition.error, SolutionStatus.noSolution
    if code < _program.NOISE_FLOOR:
        return TerminationCondition.convergenceCriteriaSatisfied, SolutionStatus.optimal
    condition, status = CONDITIONS.get(code, (TerminationCondition.unknown if code < 500 else TerminationCondition.error, SolutionStatus.unknown))
    return condition, status if answer.x else SolutionStatus.noSolution


def judge(results: Results, condition: Any, status: Any) -> None:
    """Why it ended, and what was found."""
    results.termination_condition, results.solution_status = condition, status


def finish(results: Results, config: Any, written: Any) -> None:
    """Loads the point if that is wanted and tells the objective."""
    if config.raise_exception_on_nonoptimal_result and results.solution_status != SolutionStatus.optimal:
        raise NoOptimalSolutionError()
    loader = results.solution_loader
    if config.load_solutions:
        if results.solution_status == SolutionStatus.noSolution:
            raise NoSolutionError()
        loader.load_solution()
    if written.objectives and results.solution_status in (SolutionStatus.feasible, SolutionStatus.optimal):
        known = {id(var): x for var, x in loader.get_vars().items()}
        formula = replace_expressions(
            written.objectives[0].expr, known, descend_into_named_expressions=True, remove_named_expressions=True
        )
        results.incumbent_objective = value(formula)
