"""The interface that `pyomo.environ.SolverFactory` gives."""

from __future__ import annotations

from typing import Any

from pyomo.opt import SolverStatus, TerminationCondition
from pyomo.solvers.plugins.solvers.ASL import ASL

from . import _program

#: Where Pyomo's reader of answers knows only ranges, Tangor says more.
CONDITIONS = {
    _program.WALL_TIME: (SolverStatus.warning, TerminationCondition.maxTimeLimit),
    _program.EVALUATIONS: (SolverStatus.warning, TerminationCondition.maxEvaluations),
    _program.SAMPLES: (SolverStatus.warning, TerminationCondition.maxEvaluations),
    _program.USER: (SolverStatus.aborted, TerminationCondition.userInterrupt),
    _program.STEP_TOO_SMALL: (SolverStatus.warning, TerminationCondition.minStepLength),
}


class LegacyTangor(ASL):
    """Writes the model as a `.nl` file, runs the program, and reads its answer."""

    def __init__(self, **keywords: Any) -> None:
        super().__init__(**{**keywords, "type": "tangor"})
        self.options.solver = "tangor"
        self._metasolver = False
        for unknown in ("integer", "sos1", "sos2"):
            self._capabilities[unknown] = False

    def _default_executable(self) -> str | None:
        return _program.program()

    def warm_start_capable(self) -> bool:
        """The values of the variables are where every run starts."""
        return True

    def solve(self, *args: Any, warmstart: bool = True, **keywords: Any) -> Any:
        """As any solver of Pyomo; `warmstart` need not be asked for."""
        del warmstart
        return super().solve(*args, **keywords)

    def create_command_line(self, executable: str, problem_files: Any) -> Any:
        command = super().create_command_line(executable, problem_files)
        given = list(_program.words(self.options))
        limit = self._timelimit
        if limit and limit > 0 and not any(word.startswith("timelimit=") for word in given):
            given.append(f"timelimit={limit}")
        command.cmd = [*command.cmd[: command.cmd.index("-AMPL") + 1], *given]
        # Pyomo repeats the options in the environment; the words of the call are enough, and the user's own variable stays.
        if "tangor_options" in command.env:
            del command.env["tangor_options"]
        return command

    def process_output(self, rc: Any) -> Any:
        results = super().process_output(rc)
        known = CONDITIONS.get(results.solver.id)
        if known is not None:
            results.solver.status, results.solver.termination_condition = known
        return results
