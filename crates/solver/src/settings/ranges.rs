//! The ranges of all settings, as their documentation states them.

use crate::{Lipschitz, Mapping, MetricKind, Settings, SettingsError};

impl Settings {
    /// Checks that all values are in their ranges.
    pub fn validate(&self) -> Result<(), SettingsError> {
        let positive = [
            ("tolerance.stationarity", self.tolerance.stationarity),
            ("tolerance.feasibility", self.tolerance.feasibility),
            ("tolerance.complementarity", self.tolerance.complementarity),
            ("tolerance.infeasible", self.tolerance.infeasible),
            ("normal.regularisation", self.normal.regularisation),
            ("metric.smallest", self.metric.smallest),
            ("metric.slack_weight", self.metric.slack_weight),
            ("merit.rho0", self.merit.rho0),
            ("kernel.tolerance", self.kernel.tolerance),
            ("kernel.floor", self.kernel.floor),
            ("limits.seconds", self.limits.seconds.unwrap_or(1.0)),
        ];
        for (path, value) in positive {
            in_range(path, value, value > 0.0 && value.is_finite(), "positive and finite")?;
        }
        let alphas = match self.normal.mapping {
            Mapping::AugmentedLagrangian { alpha } => [("normal.mapping.augmented_lagrangian.alpha", alpha); 2],
            Mapping::Sqp { alpha } => [("normal.mapping.sqp.alpha", alpha); 2],
            Mapping::Hybrid { alpha1, alpha2 } => {
                [("normal.mapping.hybrid.alpha1", alpha1), ("normal.mapping.hybrid.alpha2", alpha2)]
            }
            Mapping::Regularised | Mapping::Own => [("normal.mapping", 1.0); 2],
        };
        for (path, alpha) in alphas {
            in_range(path, alpha, alpha > 0.0 && alpha.is_finite(), "positive and finite")?;
        }
        let alone = self.normal.alone;
        in_range("normal.alone", alone, (0.0..1.0).contains(&alone), "at least 0 and below 1")?;
        let smallest = self.stepsize.smallest;
        in_range("stepsize.smallest", smallest, smallest >= 0.0 && smallest.is_finite(), "finite and at least 0")?;
        in_range("kernel.iterations", self.kernel.iterations as f64, self.kernel.iterations >= 1, "at least 1")?;
        let margin = self.merit.margin;
        in_range("merit.margin", margin, margin >= 1.0 && margin.is_finite(), "finite and at least 1")?;
        let tau = self.stepsize.tau;
        in_range("stepsize.tau", tau, tau > 0.0 && tau < 1.0, "between 0 and 1")?;
        let largest = self.metric.largest;
        in_range("metric.memory", self.metric.memory as f64, self.metric.memory >= 1, "at least 1")?;
        let fine = largest >= self.metric.smallest && largest.is_finite();
        in_range("metric.largest", largest, fine, "finite and at least metric.smallest")?;
        if let Lipschitz::Given { objective, constraints } = self.stepsize.lipschitz {
            let fine = |constant: f64| constant >= 0.0 && constant.is_finite();
            in_range("stepsize.lipschitz.given.objective", objective, fine(objective), "finite and at least 0")?;
            in_range("stepsize.lipschitz.given.constraints", constraints, fine(constraints), "finite and at least 0")?;
        }
        if matches!(self.stepsize.lipschitz, Lipschitz::Given { .. })
            && matches!(self.metric.kind, MetricKind::LimitedMemory | MetricKind::Exact)
        {
            return Err(SettingsError::Conflict(
                "given Lipschitz constants need a metric whose smallest eigenvalue is known: set metric.kind to identity, spectral, diagonal or \
                 quasi_newton",
            ));
        }
        self.sampling.validate()
    }
}

pub(crate) fn in_range(path: &'static str, value: f64, fine: bool, range: &'static str) -> Result<(), SettingsError> {
    if fine { Ok(()) } else { Err(SettingsError::Range { path, value, range }) }
}
