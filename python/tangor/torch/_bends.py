"""How loss and constraints of a batch bend along a step: the changes of the products of their derivatives with it, from one end to the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ._estimates import Left

__all__ = ["Bends", "bends_of"]

# Rounding of a batch's values, relative to what they are made of, in units of the closure's own precision.
COARSE = 4.0


@dataclass
class Bends:
    """`dg^T s` of the loss and `dJ s` of the constraints, and `J s` of the batch at the old end. They are guessed where the Jacobian of the estimates
    stood for that of the batch, whose noise is then in them, and so is what it `lags` behind the point, for a step of the length 1."""

    loss: float
    rows: np.ndarray
    slopes: np.ndarray
    guessed: bool = False
    lags: float = 0.0


def bends_of(left: Left, ahead: np.ndarray, moved: np.ndarray, y: np.ndarray, eta: float, reaction: np.ndarray, eps: float, behind: float) -> Bends:
    """From the products of the batch's rows with the step at the old end (`left.along`) and `ahead`: of all rows, or of the gradient of its Lagrangian
    alone, the sum with the multipliers `y`. Constraints that are quadratic along the step and `moved` by `dc` then bend by `2 (J s - dc / eta)` with the
    Jacobian of the new end, or `2 (dc / eta - J s)` with that of the old one, for which the `reaction` is there, as far as rounding does not explain it. The
    Jacobian of the reaction is `behind` that of the point by so much."""
    known = 1 + len(moved)
    if len(left.along) == len(ahead) == known:
        both = ahead - left.along
        return Bends(float(both[0]), both[1:], left.along[1:])
    if eta == 0.0:
        return Bends(0.0, np.zeros_like(moved), reaction)
    guessed = len(ahead) < known
    missed = 2.0 * (moved / eta - reaction if guessed else ahead[1:] - moved / eta)
    rounding = COARSE * eps * (2.0 * np.abs(left.c) + np.abs(moved)) / eta
    rows = np.sign(missed) * np.maximum(np.abs(missed) - rounding, 0.0)
    of_lagrangian = float(ahead[0] - left.along[0] + (0.0 if guessed else y @ ahead[1:]))
    return Bends(of_lagrangian - float(y @ rows), rows, reaction if guessed else ahead[1:] - rows, guessed, 2.0 * behind if guessed else 0.0)
