//! The row that a run leaves behind.

use serde::{Deserialize, Serialize};
use tangor_problem::KktResiduals;
use tangor_solver::{Point, Stop};

/// Where an objective is worse than the best known by more than this, relative to `max(1, |best known|)`, the row says so.
pub const WORSE: f64 = 1e-4;

/// One run: a problem, a solver with its settings, a seed. Everything that is said of the point was computed here, from the problem's
/// functions; only `stop`, `claimed` and `iterations` are the solver's word.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The problem.
    pub problem: String,
    /// The solver and its variant.
    pub solver: String,
    /// The seed.
    pub seed: u64,
    /// Variables.
    pub n: usize,
    /// Constraints.
    pub m: usize,
    /// Why the run ended.
    pub stop: Ending,
    /// What the point is, as recomputed.
    pub point: Point,
    /// What the solver says that the point is.
    pub claimed: Point,
    /// `f(x)`
    pub objective: Option<f64>,
    /// The best objective known.
    pub best_known: Option<f64>,
    /// The point is feasible and its objective is worse than the best known.
    pub worse: bool,
    /// `|grad f + J^T y - mu|`
    pub stationarity: Option<f64>,
    /// Violation of constraints and bounds.
    pub feasibility: Option<f64>,
    /// Sum of |multiplier| times distance.
    pub complementarity: Option<f64>,
    /// Projected gradient of the violation.
    pub infeasible_stationarity: Option<f64>,
    /// Iterations.
    pub iterations: u64,
    /// Values of the objective.
    pub objective_evaluations: u64,
    /// Gradients of the objective.
    pub gradient_evaluations: u64,
    /// Values of the constraints.
    pub constraint_evaluations: u64,
    /// Jacobians of the constraints.
    pub jacobian_evaluations: u64,
    /// Hessians of the Lagrangian; only peers use them.
    pub hessian_evaluations: u64,
    /// Samples drawn; none with exact functions.
    pub samples: u64,
    /// Wall time of the solver, without reading the problem.
    pub seconds: f64,
    /// Megabytes that the process of the run needed at most, reading the problem included; Linux tells.
    #[serde(default)]
    pub memory: Option<f64>,
    /// How far the seed moved the start, relative to `max(1, |x0_i|)`.
    #[serde(default)]
    pub perturbation: f64,
    /// What happened, as a sentence.
    pub message: String,
    /// A fingerprint of settings, limits and version: rows with the same one may be continued together.
    pub setup: String,
    /// The course of the residuals, thinned; JSON lines have it, CSV does not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trace: Vec<TracePoint>,
}

/// Iteration, stationarity, feasibility, complementarity: the residuals as the solver saw them.
pub type TracePoint = (u64, Option<f32>, Option<f32>, Option<f32>);

/// Why a run ended: the reasons of a solver, and what can happen around it. In rows all of them are single words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The solver's looser tolerances are met (Ipopt).
    Acceptable,
    /// The solver did not take the problem, or the problem could not be read.
    Refused,
    /// The process did not keep to the limit on time and was ended.
    Hung,
    /// The process died.
    Crashed,
    /// The solver stopped for a reason that Tangor knows too.
    #[serde(untagged)]
    Stopped(Stop),
}

impl Record {
    /// A run without a result.
    pub fn failed(problem: &str, solver: &str, seed: u64, setup: &str, stop: Ending, message: String) -> Self {
        Record {
            problem: problem.to_string(),
            solver: solver.to_string(),
            seed,
            n: 0,
            m: 0,
            stop,
            point: Point::Nothing,
            claimed: Point::Nothing,
            objective: None,
            best_known: None,
            worse: false,
            stationarity: None,
            feasibility: None,
            complementarity: None,
            infeasible_stationarity: None,
            iterations: 0,
            objective_evaluations: 0,
            gradient_evaluations: 0,
            constraint_evaluations: 0,
            jacobian_evaluations: 0,
            hessian_evaluations: 0,
            samples: 0,
            seconds: 0.0,
            memory: None,
            perturbation: 0.0,
            message,
            setup: setup.to_string(),
            trace: Vec::new(),
        }
    }

    /// All four residuals, when they could be computed.
    pub fn residuals(&self) -> Option<KktResiduals> {
        Some(KktResiduals {
            stationarity: self.stationarity?,
            feasibility: self.feasibility?,
            complementarity: self.complementarity?,
            infeasible_stationarity: self.infeasible_stationarity?,
            ..KktResiduals::default()
        })
    }

    /// Evaluations of values and first derivatives together.
    pub fn evaluations(&self) -> u64 {
        self.objective_evaluations + self.gradient_evaluations + self.constraint_evaluations + self.jacobian_evaluations
    }
}

/// Whether an objective is worse than the best known.
pub fn is_worse(objective: f64, best_known: Option<f64>) -> bool {
    best_known.is_some_and(|best| objective > best + WORSE * best.abs().max(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worse_means_by_more_than_a_ten_thousandth() {
        assert!(is_worse(100.02, Some(100.0)) && !is_worse(100.009, Some(100.0)));
        assert!(is_worse(-0.9998, Some(-1.0)) && !is_worse(-1.5, Some(-1.0)) && !is_worse(5.0, None));
    }

    #[test]
    fn csv_gives_back_what_was_written() {
        let mut record = Record::failed("P", "tangor", 3, "s", Ending::Crashed, "died, \"really\"".into());
        let other = Record::failed("P", "tangor", 4, "s", Ending::Stopped(Stop::WallTime), "late".into());
        record.objective = Some(0.1 + 0.2);
        record.point = Point::EpsKkt;
        let file = tempfile::NamedTempFile::new().unwrap();
        crate::journal::write_csv(file.path(), &[record.clone(), other.clone()]).unwrap();
        let text = std::fs::read_to_string(file.path()).unwrap();
        assert!(text.starts_with("problem,solver,seed,n,m,stop,point,claimed,objective,"));
        assert!(text.contains(",3,0,0,crashed,") && text.contains(",4,0,0,wall_time,"), "{text}");
        let back: Vec<Record> = csv::Reader::from_path(file.path()).unwrap().deserialize().map(Result::unwrap).collect();
        assert_eq!(back, [record, other]);
    }
}
