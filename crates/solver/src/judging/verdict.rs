//! What fresh samples say of a point: its residuals, each with a confidence bound.

use serde::{Deserialize, Serialize};

use crate::Tolerance;
use crate::judging::residuals::Residuals;

/// A residual, and what it does not exceed with the confidence of the verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bounded {
    /// The residual of the averages over fresh samples.
    pub value: f64,
    /// The upper confidence bound.
    pub upper: f64,
}

/// A point judged on fresh samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// `|g + J^T y - mu|`
    pub stationarity: Bounded,
    /// The violation of the constraints.
    pub feasibility: Bounded,
    /// The sum of |multiplier| times distance.
    pub complementarity: Bounded,
    /// The projected gradient of the violation.
    pub infeasible: Bounded,
    /// The confidence of each bound.
    pub confidence: f64,
    /// Fresh samples of all functions.
    pub samples: u64,
    /// The iteration of the point.
    pub iteration: u64,
}

impl Verdict {
    /// Whether all three bounds are within the tolerances.
    pub fn holds(&self, tolerance: &Tolerance) -> bool {
        tolerance.is_kkt(&self.upper())
    }

    /// The residuals of the averages.
    pub(crate) fn values(&self) -> Residuals {
        Residuals {
            stationarity: self.stationarity.value,
            feasibility: self.feasibility.value,
            complementarity: self.complementarity.value,
            infeasible: self.infeasible.value,
            relative_infeasible: 0.0,
        }
    }

    fn upper(&self) -> Residuals {
        Residuals {
            stationarity: self.stationarity.upper,
            feasibility: self.feasibility.upper,
            complementarity: self.complementarity.upper,
            infeasible: self.infeasible.upper,
            relative_infeasible: 0.0,
        }
    }

    /// Whether the point is infeasible stationary, the violation being no mere noise.
    pub fn is_infeasible_stationary(&self, tolerance: &Tolerance) -> bool {
        let Bounded { value, upper } = self.feasibility;
        let certain = Residuals { feasibility: 2.0 * value - upper, ..self.upper() };
        tolerance.is_infeasible_stationary(&certain)
    }

    /// The worst bound relative to its tolerance, and how much of that is noise.
    pub(crate) fn score(&self, tolerance: &Tolerance) -> (f64, f64) {
        // A residual that is no number is as bad as can be.
        let known = |value: f64| if value.is_nan() { f64::INFINITY } else { value };
        let relative =
            |bounded: Bounded, tolerance: f64| (known(bounded.upper / tolerance), (bounded.upper - bounded.value) / tolerance);
        let all = [
            relative(self.stationarity, tolerance.stationarity),
            relative(self.feasibility, tolerance.feasibility),
            relative(self.complementarity, tolerance.complementarity),
        ];
        all.into_iter().fold((0.0, 0.0), |worst, one| if one.0 > worst.0 { one } else { worst })
    }
}
