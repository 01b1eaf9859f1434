//! What fresh samples say of a point: its residuals, each with a confidence bound.

use serde::{Deserialize, Serialize};

use tangor_problem::Meta;

use crate::Tolerance;
use crate::judging::events::{risk_of_events, telling};
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
/// A bound rests on the spread of batches: it assumes that these are nearly Gaussian, as averages over many samples are, and that no event
/// which matters is missing among the samples: those that are less likely than `rarest` may be. What the batches show of few events is
/// `few_events`. Where that, or an event which may be missing, leaves nothing certain, `bounds_unknown` says so: then what the spread of batches makes of
/// the bounds is none. A range of the samples (`sampling.judge.range`) makes do without both assumptions, and a whole population is exact.
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
    /// The first constraint that never varied, in too few samples to tell that it has no noise.
    #[serde(default)]
    pub silent_row: Option<usize>,
    /// An event that is at least this likely is not missing among the samples of any function, with the confidence; of rarer ones nothing
    /// is known. None where there is nothing to miss: exact functions, a whole population; constraints whose samples have a known range.
    #[serde(default)]
    pub rarest: Option<f64>,
    /// Whether few events, or one as rare as `sampling.judge.rarest` that may be missing, leave no bound on any residual that could be relied on.
    #[serde(default)]
    pub bounds_unknown: bool,
    /// The least tolerance, the same for all three residuals, that their upper bounds keep: to that the point is certified, whatever was asked for.
    /// None where few events, one as rare as `sampling.judge.rarest` that may be missing, or a residual that is no number leave nothing certain.
    #[serde(default)]
    pub certified: Option<f64>,
    /// The part of these bounds that is noise: from so many samples no smaller tolerance can be certified, at any point.
    #[serde(default)]
    pub noise: f64,
    /// Fresh samples of all functions.
    pub samples: u64,
    /// The iteration of the point.
    pub iteration: u64,
}

impl Verdict {
    /// With what follows from its bounds: the tolerance that they certify where no event as rare as this may be missing, and what noise makes
    /// of it.
    pub fn summed_up(mut self, rarest: f64) -> Self {
        let all = [self.stationarity, self.feasibility, self.complementarity];
        let most = |part: fn(&Bounded) -> f64| {
            all.iter().map(part).fold(0.0, |most: f64, one| if one.is_nan() || one > most { one } else { most })
        };
        self.bounds_unknown = !self.tells_of_events(rarest);
        self.certified = Some(most(|one| one.upper)).filter(|upper| upper.is_finite() && !self.bounds_unknown);
        self.noise = Some(most(|one| one.upper - one.value)).filter(|noise| noise.is_finite()).unwrap_or(0.0);
        self
    }

    /// Whether all three bounds are within the tolerances, and rest on samples in which no event of this probability is missing.
    pub fn holds(&self, tolerance: &Tolerance, rarest: f64) -> bool {
        self.tells_of_events(rarest) && tolerance.is_kkt(&self.upper())
    }

    /// Whether the point would be what its bounds say, a KKT point, at the end a feasible one, or a stationary one of the violation, but more
    /// samples could show events that are missing.
    pub(crate) fn lacks_only_events(&self, tolerance: &Tolerance, rarest: f64, last: bool) -> bool {
        let feasible = last && self.feasibility.upper <= tolerance.feasibility;
        let says = feasible || tolerance.is_kkt(&self.upper()) || self.seems_infeasible_stationary(tolerance);
        says && !self.tells_of_events(rarest)
    }

    /// Whether averages rest on enough events, and none of this probability may be missing: otherwise nothing is certain.
    pub(crate) fn tells_of_events(&self, rarest: f64) -> bool {
        !self.few_events && !self.may_miss(rarest)
    }

    /// Whether an event of this probability may be missing among the samples.
    pub fn may_miss(&self, rarest: f64) -> bool {
        self.rarest.is_some_and(|told| told > rarest)
    }

    /// Why nothing is said of a point whose constraints rest on too few events, or seem to hold in samples that may miss one.
    pub(crate) fn missing_events(&self, meta: &Meta, tolerance: &Tolerance, rarest: f64) -> Option<String> {
        let enough = telling(risk_of_events(self.confidence, 1, true), rarest);
        let why = match self.silent_row {
            Some(row) => format!(
                "constraint {} did not vary in the fresh samples: it has no noise, or waits for a rare event. Who knows that it has none \
                 may declare it exact (exact_rows); otherwise about {enough} samples in one judgement tell",
                meta.row_name(row),
            ),
            None if self.few_events => "an average over the fresh samples rests on too few events".to_string(),
            None if !self.lacks_only_events(tolerance, rarest, true) => return None,
            None => format!(
                "{}; about {enough} in one judgement tell. Who knows that no such event matters may say so (sampling.judge.rarest)",
                self.missing_event().unwrap_or_default()
            ),
        };
        Some(format!("what the point is cannot be told, since {why}"))
    }

    /// Which events may be missing among the samples, as a sentence without its end.
    pub fn missing_event(&self) -> Option<String> {
        self.rarest
            .map(|told| format!("an event rarer than 1 in {:.0} samples may be missing among the fresh ones", 1.0 / told))
    }

    /// What must be true for the verdict to be so: all that is told of it, on a screen or in a message, says the same. None: of a whole population, or
    /// with exact functions, nothing is assumed. Samples that do not vary may miss an event all the same.
    pub fn condition(&self) -> Option<String> {
        let is_sampled = [self.stationarity, self.feasibility, self.complementarity].iter().any(|one| one.upper > one.value);
        let gaussian = "if batches of samples are nearly Gaussian";
        match self.rarest.map(|told| 1.0 / told) {
            Some(told) if self.bounds_unknown => Some(format!(
                "unless an event rarer than 1 in {told:.0} samples matters, which may be missing among the fresh ones"
            )),
            Some(told) => Some(format!("{gaussian} and no event rarer than 1 in {told:.0} samples matters")),
            None if is_sampled => Some(gaussian.to_string()),
            None => None,
        }
    }

    /// With what confidence the verdict says what it says, and on what condition: the end of a sentence.
    pub(crate) fn assumption(&self) -> String {
        match self.condition() {
            None => String::new(),
            Some(condition) if self.bounds_unknown => format!(", {condition}"),
            Some(condition) => format!(", with {}% confidence {condition}", (1e6 * self.confidence).round() / 1e4),
        }
    }

    /// Whether the constraints hold within their tolerance.
    pub(crate) fn is_feasible(&self, tolerance: &Tolerance, rarest: f64) -> bool {
        self.tells_of_events(rarest) && self.feasibility.upper <= tolerance.feasibility
    }

    /// The residuals of the averages.
    pub(crate) fn values(&self) -> Residuals {
        Residuals {
            stationarity: self.stationarity.value,
            feasibility: self.feasibility.value,
            complementarity: self.complementarity.value,
            infeasible: self.infeasible.value,
            relative_infeasible: self.relative_infeasible,
            steepness: f64::INFINITY,
            infeasible_rounding: 0.0,
            removable: None,
        }
    }

    fn upper(&self) -> Residuals {
        Residuals {
            stationarity: self.stationarity.upper,
            feasibility: self.feasibility.upper,
            complementarity: self.complementarity.upper,
            infeasible: self.infeasible.upper,
            relative_infeasible: self.relative_infeasible,
            steepness: f64::INFINITY,
            infeasible_rounding: 0.0,
            removable: None,
        }
    }

    /// Whether the point is infeasible stationary, the violation being no mere noise, nor what a missing event of this probability makes of it.
    pub fn is_infeasible_stationary(&self, tolerance: &Tolerance, rarest: f64) -> bool {
        self.tells_of_events(rarest) && self.seems_infeasible_stationary(tolerance)
    }

    fn seems_infeasible_stationary(&self, tolerance: &Tolerance) -> bool {
        let violation = self.feasibility.lower;
        let is_stationary = self.infeasible.upper <= tolerance.infeasible * violation.min(1.0)
            && self.relative_infeasible <= tolerance.infeasible.sqrt();
        violation > tolerance.feasibility && is_stationary
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
    fn a_verdict_certifies_the_largest_of_its_bounds() {
        let mut verdict = Verdict {
            stationarity: Bounded::new(1e-3, 2e-3, 0.0),
            feasibility: Bounded::new(0.0, 2.5e-3, 0.0),
            complementarity: Bounded::new(1e-4, 0.0, 0.0),
            ..Verdict::default()
        }
        .summed_up(1e-3);
        assert_eq!((verdict.certified, verdict.noise, verdict.bounds_unknown), (Some(3e-3), 2.5e-3, false));
        verdict.few_events = true;
        assert_eq!((verdict.summed_up(1e-3).certified, verdict.summed_up(1e-3).bounds_unknown), (None, true));
        verdict.few_events = false;
        verdict.rarest = Some(1e-3);
        assert_eq!([1e-3, 0.9e-3].map(|rarest| verdict.summed_up(rarest).certified), [Some(3e-3), None]);
        assert_eq!([1e-3, 0.9e-3].map(|rarest| verdict.summed_up(rarest).bounds_unknown), [false, true]);
        verdict.confidence = 0.999;
        let told = ", with 99.9% confidence if batches of samples are nearly Gaussian and no event rarer than 1 in 1000 samples matters";
        assert_eq!(verdict.assumption(), told);
        let unless = ", unless an event rarer than 1 in 1000 samples matters, which may be missing among the fresh ones";
        assert_eq!(verdict.summed_up(0.9e-3).assumption(), unless);
        verdict.feasibility = Bounded::new(f64::NAN, 0.0, 0.0);
        assert_eq!(verdict.summed_up(1e-3).certified, None);
    }

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
        assert!(!verdict.is_infeasible_stationary(&tolerance, 1e-3));
        let stationary = Verdict { relative_infeasible: 1e-6, ..verdict };
        assert!(stationary.is_infeasible_stationary(&tolerance, 1e-3));
        assert!(!Verdict { rarest: Some(2e-3), ..stationary }.is_infeasible_stationary(&tolerance, 1e-3));
    }

    #[test]
    fn nothing_is_claimed_where_an_event_that_matters_may_be_missing() {
        let tolerance = Tolerance { stationarity: 1e-2, feasibility: 1e-2, complementarity: 1e-2, ..Tolerance::default() };
        let verdict = Verdict { rarest: Some(1e-3), confidence: 0.95, ..Verdict::default() };
        assert!(verdict.holds(&tolerance, 1e-3) && verdict.is_feasible(&tolerance, 1e-3));
        assert!(!verdict.holds(&tolerance, 0.9e-3) && !verdict.is_feasible(&tolerance, 0.9e-3));
        let why = verdict.missing_events(&Meta::new("p", vec![0.0]), &tolerance, 0.9e-3).expect("a reason");
        assert!(why.contains("rarer than 1 in 1000 samples may be missing"), "{why}");
        // A point that is violated, events or not, is called so.
        let sloping = Bounded::new(1.0, 0.1, 0.1);
        let violated = Verdict { feasibility: sloping, infeasible: sloping, ..verdict };
        assert_eq!(violated.missing_events(&Meta::new("p", vec![0.0]), &tolerance, 0.9e-3), None);
    }
}
