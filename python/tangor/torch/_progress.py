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
# The least caution of the normal step.
LEAST_CAUTION = 1e-6


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
    exact_passes: int = 0
    rho: float = RHO0
    eta: float = 0.0
    theta: float = 1.0
    moved: float = 0.0
    loss: float = math.nan
    stationarity: float = math.nan
    feasibility: float = math.nan
    complementarity: float = math.nan
    # Lipschitz constants of the Jacobian, and of the Lagrangian's gradient in the norm of the metric.
    constraints: float = 1.0
    merit: float = 0.0
    # The share of the constant of the constraints that the normal step reckons with; the share of the residual that was removed when it was
    # last relaxed, 0 when that is settled; and good steps until it may be relaxed again.
    caution: float = 1.0
    relaxed: float = 0.0
    wait: int = 0
    patience: int = 1
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
        self._tighten()
        self.merit = max(self.merit, TAU / eta)

    def cautious(self) -> float:
        """The constant that the normal step reckons with, as Levenberg and Marquardt do: where steps keep what they promised, the linearisation
        misses less than in the worst direction."""
        return self.caution * self.constraints

    def trust(self, kept: float) -> None:
        """The share `kept` of what a step should remove of the residual is gone on its batch. Less caution must pay: where the violation itself
        is nearly stationary it does not, and the caution comes back."""
        if not (self.theta < 0.5 and kept > 0.75):
            return
        if self.relaxed > 0.0 and self.theta < 1.2 * self.relaxed:
            self.patience = self.wait = min(2 * self.patience, 64)
            self._tighten()
        elif self.wait > 0:
            self.wait -= 1
        else:
            self.relaxed = self.theta
            self.caution = max(self.caution / 4.0, LEAST_CAUTION)

    def _tighten(self) -> None:
        self.caution, self.relaxed = min(16.0 * self.caution, 1.0), 0.0

    def follow(self, constraints: float, ratio: float) -> None:
        """The same samples at two points showed these constants. Estimates rise at once and fall slowly."""

        def followed(old: float, new: float) -> float:
            return max(new, FALL * old) if math.isfinite(new) else old

        self.constraints = followed(self.constraints, constraints)
        self.merit = followed(self.merit, ratio)
