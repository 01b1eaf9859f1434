"""How far a step may go: noise of the estimates beside the residuals, by the rule of the solver (`noise/common_samples.rs`)."""

from __future__ import annotations

import math

from ._effective_samples import EffectiveSamples

__all__ = ["longest"]

# A move may add this share of a residual's square, less that of its noise, to the noise of the estimates.
NEW_NOISE = 1.0 / 64.0
# However far residuals stand out from their noise, moves that keep the estimates as good as they are become no longer than this doubt allows: what
# goes beyond is paid for in new noise.
LEAST_DOUBT = 0.1


def longest(
    effective: tuple[EffectiveSamples, EffectiveSamples, EffectiveSamples],
    lagrangian: EffectiveSamples,
    stationarity: float,
    feasibility: float,
) -> float:
    """The longest move that makes sense. Where the residuals of the estimates stand out from their noise it adds little to that noise; where they
    do not, a move is not worth the accuracy that the estimates lose by it. `effective` are those of gradient, constraints and Jacobian, `lagrangian` is that of its gradient."""
    c = effective[1]
    residuals, errors = (stationarity, feasibility), (lagrangian.error(), c.error())
    of_a_move = (lagrangian.noise_of_difference(1.0), c.noise_of_difference(1.0))
    doubts = min(error / (error + residual**2) if error > 0.0 else 1.0 for residual, error in zip(residuals, errors))
    lasting = min(one.reach() for one in effective) / math.sqrt(max(doubts, LEAST_DOUBT))

    def paid_by(k: int, noise: float) -> float:
        """The move that adds so much noise."""
        return math.sqrt(noise / of_a_move[k]) if errors[k] > 0.0 and of_a_move[k] > 0.0 else math.inf

    def signal(k: int) -> float:
        return NEW_NOISE * max(residuals[k] ** 2 - 2.0 * errors[k], 0.0)

    for_feasibility = paid_by(1, signal(1)) if errors[1] > 0.0 else 0.0
    kept = paid_by(1, max(NEW_NOISE * feasibility**2, errors[1]))
    for_stationarity = min(paid_by(0, signal(0)), kept) if errors[0] > 0.0 else 0.0
    return max(lasting, for_feasibility, for_stationarity)
