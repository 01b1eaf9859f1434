"""What exact and noisy problems have in common: sizes, bounds, names, and the model of the extension behind them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import Bounds
from scipy.sparse import coo_array, csr_array

from ._numbers import count_of

if TYPE_CHECKING:
    from . import _tangor
    from typing_extensions import Self


class Described:
    """A problem with its plain data."""

    #: The extension's problem, made when it is first needed; beside it, what functions gave at the start when it was made.
    _make: Callable[[], tuple[_tangor.Model, dict[str, Any] | None]]
    #: The start of a problem that is made later.
    _given_start: np.ndarray
    #: What the problem was made from, under the names of the arguments; None where that is known to a run alone.
    _given: dict[str, Any] | None = None
    #: Another start than that which the problem was made with.
    _moved_to: np.ndarray | None = None

    @functools.cached_property
    def _model(self) -> _tangor.Model:
        return self._make()[0]

    @functools.cached_property
    def _data(self) -> dict[str, Any]:
        return self._model.data()

    def _for_run(self) -> tuple[_tangor.Model, dict[str, Any] | None]:
        """The problem, and what is known of its functions at the start if they were called just now."""
        if "_model" in self.__dict__:
            return self._model, None
        self._model, first = self._make()
        return self._model, first

    @classmethod
    def _of(cls, model: _tangor.Model) -> Self:
        problem = cls.__new__(cls)
        problem._model = model
        return problem

    def _starting_at(self, x0: np.ndarray) -> Self:
        """The same problem with another start."""
        if x0.size != self.n:
            raise ValueError(f"x0 has {x0.size} numbers, but {self.name} has {self.n} variables")
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.__dict__.pop("_data", None)
        other._model, other._moved_to = self._model.starting_at(x0), x0
        return other

    def _remake(self, given: dict[str, Any]) -> None:
        """Makes the problem from what it was made from."""
        raise NotImplementedError

    def __getstate__(self) -> dict[str, Any]:
        """What the problem was made from: functions are pickled as Python pickles functions, by their names."""
        if self._given is None:
            raise TypeError(f"{self!r} cannot be pickled: it was made for one run; a tangor.Problem can")
        return {name: value for name, value in self.__dict__.items() if name not in ("_model", "_data", "_make", "_given_start")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._remake(state["_given"])
        self.__dict__.update(state)
        if self._moved_to is not None:
            self._model = self._model.starting_at(self._moved_to)

    def _projected_start(self) -> np.ndarray:
        """The start, inside of the bounds."""
        start: np.ndarray = np.clip(self._data["x0"], self._data["x_lower"], self._data["x_upper"])
        return start

    @property
    def name(self) -> str:
        """What it is called."""
        return str(self._data["name"])

    @property
    def n(self) -> int:
        """The number of variables."""
        return int(self._data["n"])

    @property
    def m(self) -> int:
        """The number of constraints, bounds not counted."""
        return int(self._data["m"])

    @property
    def x0(self) -> np.ndarray:
        """The start."""
        return np.array(self._data["x0"])

    @property
    def bounds(self) -> Bounds:
        """Bounds on the variables."""
        return Bounds(self._data["x_lower"].copy(), self._data["x_upper"].copy())

    @property
    def c_lower(self) -> np.ndarray:
        """Lower limits of the constraints."""
        return np.array(self._data["c_lower"])

    @property
    def c_upper(self) -> np.ndarray:
        """Upper limits of the constraints."""
        return np.array(self._data["c_upper"])

    @property
    def has_objective(self) -> bool:
        """False: there are only constraints to satisfy."""
        return bool(self._data["has_objective"])

    @property
    def variable_names(self) -> list[str]:
        """Names of the variables."""
        return self._data["variable_names"] or [f"x[{i}]" for i in range(self.n)]

    @property
    def row_names(self) -> list[str]:
        """Names of the constraints."""
        return self._data["row_names"] or [f"c[{i}]" for i in range(self.m)]

    def _matrix(self, values: np.ndarray) -> csr_array:
        """The Jacobian from its values in the order of the pattern."""
        shape = (self.m, self.n)
        if self._data["pattern"] is None:
            return csr_array(values.reshape(shape))
        return csr_array(coo_array((values, self._data["pattern"]), shape=shape))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}: {count_of(self.n, 'variable')}, {count_of(self.m, 'constraint')}>"
