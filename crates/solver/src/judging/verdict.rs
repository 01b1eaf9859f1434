//! What fresh samples say of a point: its residuals, each with a confidence bound.

use serde::{Deserialize, Serialize};

use crate::Tolerance;
use crate::judging::residuals::Residuals;

/// A residual, and the bounds that it keeps, each with the confidence of the verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bounded {
    /// The residual of the averages over fresh samples.
    pub value: f64,
    /// The lower confidence bound; 0 where nothing was said of it.
    #[serde(default)]
    pub lower: f64,
    /// The upper confidence bound.
    pub upper: f64,
}

impl Bounded {
    /// A residual whose true value is above by no more than `above`, and below by no more than `below`.
    pub(crate) fn new(value: f64, above: f64, below: f64) -> Self {
        // A residual is never negative; one that is no number has no bound either.
        let lower = if value - below < 0.0 { 0.0 } else { value - below };
        Bounded { value, lower, upper: value + above }
    }
}

/// An average over fresh samples, and how far off it may be with the confidence of the verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Averaged {
    /// The average.
    pub value: f64,
    /// It is off by no more than this.
    pub error: f64,
}

/// A point judged on fresh samples.
///
/// A bound rests on the spread of batches: it assumes that these are nearly Gaussian, as averages over many samples are. Where a rare event
/// makes an average, a sample may not contain one; what the batches show of that is `few_events`. A range of the samples
/// (`sampling.judge.range`) makes do without the assumption, and a whole population is exact.
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
    /// The same relative to the terms that it is the sum of, as the run saw them: free of the scale of rows.
    #[serde(default)]
    pub relative_infeasible: f64,
    /// The objective; none where the problem cannot tell.
    #[serde(default)]
    pub objective: Option<Averaged>,
    /// The confidence of each bound; all judgements of a run share the risk.
    pub confidence: f64,
    /// Whether an average of constraints rests on so few events that nothing is certain.
    #[serde(default)]
    pub few_events: bool,
    /// Fresh samples of all functions.
    pub samples: u64,
    /// The iteration of the point.
    pub iteration: u64,
}

impl Verdict {
    /// Whether all three bounds are within the tolerances, and rest on enough events.
    pub fn holds(&self, tolerance: &Tolerance) -> bool {
        !self.few_events && tolerance.is_kkt(&self.upper())
    }

    /// Whether the constraints hold within their tolerance.
    pub(crate) fn is_feasible(&self, tolerance: &Tolerance) -> bool {
        !self.few_events && self.feasibility.upper <= tolerance.feasibility
    }

    /// The residuals of the averages.
    pub(crate) fn values(&self) -> Residuals {
        Residuals {
            stationarity: self.stationarity.value,
            feasibility: self.feasibility.value,
            complementarity: self.complementarity.value,
            infeasible: self.infeasible.value,
            relative_infeasible: self.relative_infeasible,
            infeasible_rounding: 0.0,
        }
    }

    fn upper(&self) -> Residuals {
        Residuals {
            stationarity: self.stationarity.upper,
            feasibility: self.feasibility.upper,
            complementarity: self.complementarity.upper,
            infeasible: self.infeasible.upper,
            relative_infeasible: self.relative_infeasible,
            infeasible_rounding: 0.0,
        }
    }

    /// Whether the point is infeasible stationary, the violation being no mere noise.
    pub fn is_infeasible_stationary(&self, tolerance: &Tolerance) -> bool {
        let violation = self.feasibility.lower;
        let is_stationary = self.infeasible.upper <= tolerance.infeasible * violation.min(1.0)
            && self.relative_infeasible <= tolerance.infeasible.sqrt();
        !self.few_events && violation > tolerance.feasibility && is_stationary
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_slope_of_a_small_row_is_not_stationary() {
        let tolerance = Tolerance::default();
        // 1e-7 x = 1 at x = 0: the gradient of the violation is 1e-7, as large as that of the row itself.
        let verdict = Verdict {
            feasibility: Bounded { value: 1.0, lower: 1.0, upper: 1.0 },
            infeasible: Bounded { value: 1e-7, lower: 1e-7, upper: 1e-7 },
            relative_infeasible: 1.0,
            ..Verdict::default()
        };
        assert!(!verdict.is_infeasible_stationary(&tolerance));
        assert!(Verdict { relative_infeasible: 1e-6, ..verdict }.is_infeasible_stationary(&tolerance));
    }
}
