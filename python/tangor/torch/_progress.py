"""Merit parameter and stepsize, by the rules of the solver's stochastic method: plain numbers on the host."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["Progress"]

RHO0, MARGIN = 1e-2, 2.0
# `rho` falls when it is so many times larger than what was needed; so often can it fall; and so many steps pass before the first look.
EXCESS, MOST_FALLS, FIRST_WINDOW = 10.0, 16, 10
# How much of the stepsize to take, and how much of the descent that the proof needs.
TAU, DESCENT_TAU = 0.4, 0.9
# By how much a constant may fall at once.
FALL = 0.5


@dataclass
class Progress:
    """What one step tells the next."""

    iteration: int = 0
    batches: int = 0
    evaluations: int = 0
    samples: int = 0
    skipped: int = 0
    shortened: int = 0
    inexact: int = 0
    rho: float = RHO0
    eta: float = 0.0
    theta: float = 1.0
    moved: float = 0.0
    loss: float = math.nan
    stationarity: float = math.nan
    feasibility: float = math.nan
    complementarity: float = math.nan
    # Lipschitz constants of gradient and Jacobian, and that of the Lagrangian in the norm of the metric.
    objective: float = 1.0
    constraints: float = 1.0
    merit: float = 0.0
    most_needed: float = 0.0
    left: int = FIRST_WINDOW
    falls: int = 0

    def limit_unknown(self, jacobian: float, residual: float) -> None:
        """Nothing was measured yet: what is not known must not outweigh the Jacobian by far, whatever its unit is."""
        if residual > 0.0:
            self.constraints = min(self.constraints, 10.0 * jacobian**2 / residual)

    def update_merit(self, change: tuple[float, float], gain: tuple[float, float], multipliers: float) -> None:
        """`rho >= (g^T s + 1/2 s^T H s) / (theta |h|)`; both with the size of their rounding errors, whose ratio means nothing."""
        known = change[0] > change[1] and gain[0] > gain[1] and gain[0] > 1e-300
        needed = change[0] / gain[0] if known else 0.0
        if needed > self.rho:
            self.rho = MARGIN * needed
        self.most_needed = max(self.most_needed, needed, multipliers)
        self.left -= 1
        if self.left > 0:
            return
        enough = max(MARGIN * self.most_needed, RHO0)
        self.most_needed = 0.0
        if self.rho > EXCESS * enough and self.falls < MOST_FALLS:
            self.rho = enough
            self.falls += 1
        self.left = FIRST_WINDOW << self.falls

    def stepsize(self) -> float:
        """`eta = min(tau / L, 1)` with the curvature that was found in place of `L`."""
        return min(TAU / max(self.merit, 1.0), 1.0)

    def shorten(self, eta: float) -> None:
        """The next stepsize is at most `eta`."""
        self.shortened += 1
        self.merit = max(self.merit, TAU / eta)

    def follow(self, objective: float, constraints: float, ratio: float) -> None:
        """The same samples at two points showed these constants. Estimates rise at once and fall slowly."""

        def followed(old: float, new: float) -> float:
            return max(new, FALL * old) if math.isfinite(new) else old

        self.objective = followed(self.objective, objective)
        self.constraints = followed(self.constraints, constraints)
        self.merit = followed(self.merit, ratio)
