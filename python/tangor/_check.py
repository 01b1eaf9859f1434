"""`tangor.check_derivatives`."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from . import _tangor
from ._described import Described
from ._numbers import count_of, kind_of, read_draws, real_vector


class DerivativeCheck(dict[str, Any]):
    """What the comparison with differences found: `right`, `compared`, `undecided`, `worst`, `wrong`, `undeclared`, and `unsteady`: functions
    that gave another value when they were asked again at the same point."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __bool__(self) -> bool:
        return bool(self["right"])

    def __str__(self) -> str:
        lines = [f"{self['compared']} derivatives compared, {len(self['wrong'])} wrong, {len(self['undeclared'])} not declared"]
        lines += [f"  wrong: {found['sentence']}" for found in self["wrong"][:10]]
        lines += [f"  not declared: {found['sentence']}" for found in self["undeclared"][:10]]
        lines += [f"  not the same when asked again: {found['sentence']}" for found in self["unsteady"][:10]]
        if self["worst"] and not self["wrong"]:
            lines.append(f"  worst: {self['worst']['sentence']}")
        if self["undecided"]:
            lines.append(f"  {self['undecided']} could not be compared: the function has no value nearby")
        return "\n".join(lines)

    __repr__ = __str__


def check_derivatives(problem: Any, x: Any = None, draws: Any = None) -> DerivativeCheck:
    """Compares gradient and Jacobian with differences of the functions, and names the worst entry.

    `x` is the start if it is left out. Of a noisy problem the functions are averages over the same draws (by default eight of them), and
    the gradient is compared if the problem can tell its objective.

    >>> import tangor
    >>> problem = tangor.Problem([2.0], f=lambda x: x[0] ** 3, grad=lambda x: 3 * x)
    >>> check = tangor.check_derivatives(problem)
    >>> bool(check)
    False
    >>> print(check.worst["sentence"])
    gradient of the objective, column x[0]: given 6, differences give 12
    """
    if not isinstance(problem, Described):
        raise TypeError(f"the problem is {kind_of(problem)}, but must be a Problem or a SampledProblem")
    point = problem.x0 if x is None else real_vector(x, "x")
    if point.size != problem.n:
        raise ValueError(f"x has {count_of(point.size, 'number')}, but {problem.name} has {count_of(problem.n, 'variable')}")
    strange = np.flatnonzero(~np.isfinite(point))
    if strange.size:
        raise ValueError(f"x must be finite, but variable {problem.variable_names[strange[0]]} is {point[strange[0]]}")
    members = getattr(problem, "members", None)
    if draws is None:
        draws = np.arange(8 if members is None else min(8, members))
    numbers = read_draws(draws, members)
    if not numbers:
        raise ValueError("draws must name at least one: functions without a draw are none to compare")
    point = np.clip(point, problem._data["x_lower"], problem._data["x_upper"])
    found = json.loads(_tangor.check(problem._model, point, numbers))
    return DerivativeCheck(found)
