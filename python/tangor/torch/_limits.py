"""`lower <= c <= upper`: how it is read, what violates it, and which multipliers it allows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._kernel import Rows

__all__ = ["Limits", "read_limits", "read_names", "signed_multipliers"]

# A slack is measured relative to the size of its row; a small weight keeps inactive inequalities from shortening the step.
SLACK_WEIGHT = 1e-4


@dataclass
class Limits:
    """`lower <= c <= upper`, row by row."""

    lower: np.ndarray
    upper: np.ndarray

    def __post_init__(self) -> None:
        self.inequalities = np.flatnonzero(self.lower != self.upper)

    def scaled(self, scale: np.ndarray) -> Limits:
        """The same in other units."""
        return Limits(self.lower * scale, self.upper * scale)

    def violation(self, c: np.ndarray) -> np.ndarray:
        """`h`, each slack being where it violates least."""
        h: np.ndarray = c - np.clip(c, self.lower, self.upper)
        return h

    def rows(self, c: np.ndarray, squares: np.ndarray, scalar: float) -> Rows:
        """The slacks of the inequalities for the kernel, `squares` being those of the rows' norms."""
        k = self.inequalities
        slack = np.clip(c, self.lower, self.upper)[k]
        weights = scalar * SLACK_WEIGHT / np.maximum(squares[k], 1e-8)
        return Rows(k, weights, self.lower[k] - slack, self.upper[k] - slack)


def read_limits(m: int, lower: Any, upper: Any) -> Limits:
    """The bounds as people give them."""
    if lower is None and upper is None:
        lower = upper = 0.0

    def read(name: str, given: Any, missing: float) -> np.ndarray:
        values = np.asarray(missing if given is None else given, dtype=float)
        if values.ndim > 1 or (values.ndim == 1 and len(values) != m):
            raise ValueError(f"{name} must be one number or {m}, one for each constraint, not {values.size}")
        if np.any(np.isnan(values)):
            raise ValueError(f"{name} must not contain a NaN")
        return np.broadcast_to(values, (m,)).copy()

    limits = Limits(read("lower", lower, -math.inf), read("upper", upper, math.inf))
    for row, (low, high) in enumerate(zip(limits.lower, limits.upper)):
        if low > high:
            raise ValueError(f"the lower bound of constraint {row} is {low}, above its upper bound {high}")
        if low == -math.inf and high == math.inf or low == math.inf or high == -math.inf:
            raise ValueError(f"constraint {row} has the bounds {low} and {high}, but needs a finite one")
    return limits


def read_names(m: int, names: Any) -> list[str]:
    """The names of the constraints, `c0`, `c1` and so on if there are none."""
    if isinstance(names, str):
        raise ValueError(f"names must be a list with a name for each constraint, not {names!r}")
    found: list[str] = list(names) if names is not None else [f"c{row}" for row in range(m)]
    if len(found) != m or len(set(found)) != m:
        raise ValueError(f"there must be {m} different names for the constraints, not {found}")
    return found


def signed_multipliers(y: np.ndarray, c: np.ndarray, limits: Limits) -> tuple[np.ndarray, float]:
    """Multipliers with the right signs, and the complementarity that they give."""
    signed, complementarity = y.copy(), 0.0
    for row in limits.inequalities:
        bound = limits.lower[row] if y[row] < 0.0 else limits.upper[row]
        if np.isfinite(bound):
            complementarity += abs(y[row]) * abs(c[row] - bound)
        else:
            signed[row] = 0.0
    return signed, float(complementarity)
