"""What an optimizer tells of its run."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Report"]


@dataclass(frozen=True)
class Report:
    """The state of a run. Residuals are those of the running estimates, which flatter it; `certify` takes fresh data."""

    iterations: int
    batches: int
    evaluations: int
    samples: int
    skipped: int
    shortened: int
    inexact: int
    exact_passes: int
    loss: float
    stationarity: float
    feasibility: float
    complementarity: float
    constraints: dict[str, float]
    multipliers: dict[str, float]
    rho: float
    eta: float
    theta: float
    lipschitz_lagrangian: float
    lipschitz_constraints: float
    metric: float
    effective_samples: float

    def scalars(self) -> dict[str, float]:
        """All numbers with a name each, as TensorBoard and others take them."""
        plain = {name: float(value) for name, value in vars(self).items() if not isinstance(value, dict)}
        rows = {f"constraint/{name}": value for name, value in self.constraints.items()}
        return {**plain, **rows, **{f"multiplier/{name}": value for name, value in self.multipliers.items()}}

    def line(self) -> str:
        """One line of progress."""
        return (
            f"{self.iterations:6d}  loss {self.loss:.5g}  stationarity {self.stationarity:.2e}  feasibility {self.feasibility:.2e}"
            f"  rho {self.rho:.2g}  eta {self.eta:.2g}"
        )

    def __str__(self) -> str:
        taken = f"{self.samples} samples in " if self.samples else ""
        lines = [
            f"{self.iterations} iterations, {taken}{self.batches} batches ({self.skipped} skipped), {self.evaluations} evaluations",
            f"loss {self.loss:.6g} (of the last batch)",
            f"stationarity {self.stationarity:.2e}, feasibility {self.feasibility:.2e}, complementarity {self.complementarity:.2e}"
            " (of the estimates)",
            f"rho {self.rho:.3g}, eta {self.eta:.3g}, theta {self.theta:.3g}, metric {self.metric:.3g}",
        ]
        lines += [f"  {name}: {value:.6g}, multiplier {self.multipliers[name]:.4g}" for name, value in self.constraints.items()]
        return "\n".join(lines)
