"""What the program answered, and how it gets back into the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyomo.common.collections import ComponentMap
from pyomo.contrib.solver.common import solution_loader
from pyomo.core import Suffix
from pyomo.core.expr.numvalue import value
from pyomo.core.expr.visitor import replace_expressions
from pyomo.core.staleflag import StaleFlagManager

#: Pyomo called it otherwise before version 6.10.
Loader: Any = getattr(solution_loader, "SolutionLoader", None) or solution_loader.SolutionLoaderBase


@dataclass
class Answer:
    """The contents of a `.sol` file."""

    message: str = ""
    code: int | None = None
    x: list[float] = field(default_factory=list)
    duals: list[float] = field(default_factory=list)
    #: Values by name and number of the variable.
    suffixes: dict[str, dict[int, float]] = field(default_factory=dict)


def read(path: Path) -> Answer:
    """Reads what `tangor FILE -AMPL` wrote; nothing if there is no such file."""
    if not path.is_file():
        return Answer()
    lines = path.read_text(encoding="utf-8").splitlines()
    start = lines.index("Options")
    answer = Answer(message="\n".join(line for line in lines[:start] if line.strip()))
    rest = iter(lines[start + 1 :])
    options = int(next(rest))
    for _ in range(options):
        next(rest)
    _, duals, _, variables = (int(next(rest)) for _ in range(4))
    answer.duals = [float(next(rest)) for _ in range(duals)]
    answer.x = [float(next(rest)) for _ in range(variables)]
    for line in rest:
        head = line.split()
        if head[:1] == ["objno"]:
            answer.code = int(head[2])
        elif head[:1] == ["suffix"]:
            name, count = next(rest).strip(), int(head[2])
            pairs = [next(rest).split() for _ in range(count)]
            if int(head[1]) & 3 == 0:
                answer.suffixes[name] = {int(place): float(number) for place, number in pairs}
    return answer


class AnswerLoader(Loader):
    """Puts an answer into the model from which the file was written."""

    def __init__(self, answer: Answer, written: Any, model: Any) -> None:
        self._answer, self._written, self._model = answer, written, model

    def get_number_of_solutions(self) -> int:
        """One, if the program gave a point."""
        return int(bool(self._answer.x) or not self._written.variables)

    def get_vars(self, vars_to_load: Sequence[Any] | None = None) -> Mapping[Any, float]:
        """Values of the variables, those that Pyomo took out of the model as well."""
        scales = self._written.scaling.variables if self._written.scaling else [1.0] * len(self._answer.x)
        found = ComponentMap((var, x / scale) for var, x, scale in zip(self._written.variables, self._answer.x, scales))
        known = {id(var): x for var, x in found.items()}
        for var, formula in self._written.eliminated_vars:
            found[var] = known[id(var)] = value(replace_expressions(formula, substitution_map=known))
        return self._some(found, vars_to_load)

    get_primals = get_vars

    def load_vars(self, vars_to_load: Sequence[Any] | None = None) -> None:
        """Puts the values into the model."""
        for var, x in self.get_vars(vars_to_load).items():
            var.set_value(x, skip_validation=True)
        StaleFlagManager.mark_all_as_stale(delayed=True)

    def get_duals(self, cons_to_load: Sequence[Any] | None = None) -> dict[Any, float]:
        """Slopes of the optimal value by the right-hand sides."""
        duals = [y * scale for y, scale in zip(self._answer.duals, self._scales("constraints", len(self._answer.duals)))]
        found = dict(zip(self._written.constraints, duals))
        return found if cons_to_load is None else {row: found[row] for row in cons_to_load}

    def get_reduced_costs(self, vars_to_load: Sequence[Any] | None = None) -> Mapping[Any, float]:
        """Multipliers of the bounds; zero where no bound holds."""
        return self._some(self._by_variable("rc"), vars_to_load)

    def load_import_suffixes(self, solution_id: Any = None) -> None:
        """Fills the suffixes that the model declares for import."""
        del solution_id
        wanted: dict[str, Any] = {}
        for suffix in self._model.component_objects(Suffix, active=True, descend_into=True):
            if suffix.import_enabled():
                suffix.clear()
                wanted.setdefault(suffix.local_name, suffix)
        for name, suffix in wanted.items():
            if name == "dual":
                suffix.update(self.get_duals())
            elif name in self._answer.suffixes:
                suffix.update(self._by_variable(name))

    def load_solution(self) -> None:
        """Values and suffixes."""
        self.load_vars()
        self.load_import_suffixes()

    def _some(self, found: Mapping[Any, float], wanted: Sequence[Any] | None) -> Mapping[Any, float]:
        """All that was found, or what is wanted of it."""
        some: Mapping[Any, float] = found if wanted is None else ComponentMap((var, found[var]) for var in wanted)
        return some

    def _by_variable(self, name: str) -> ComponentMap:
        given, variables = self._answer.suffixes.get(name, {}), self._written.variables
        scales = self._scales("variables", len(variables))
        return ComponentMap((var, given.get(i, 0.0) * scales[i]) for i, var in enumerate(variables))

    def _scales(self, kind: str, count: int) -> Sequence[float]:
        """What turns multipliers of the scaled model into those of the model."""
        scaling = self._written.scaling
        if not scaling:
            return [1.0] * count
        objective = scaling.objectives[0] if scaling.objectives else 1.0
        return [scale / objective for scale in getattr(scaling, kind)]
