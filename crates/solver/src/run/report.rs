//! What a run gives back, in the user's variables, rows and signs.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tangor_problem::{Counts, Failure, Function, Samples};

use crate::run::number;
use crate::{Event, Followed, Names, Point, Settings, Stop, Verdict};

/// The version of the report's JSON form.
pub const REPORT_VERSION: u32 = 1;

/// The result of a run. Signs: `grad f + J^T row_multipliers = bound_multipliers`; a multiplier of a row is `<= 0` at its lower and
/// `>= 0` at its upper bound, one of a variable is `>= 0` at its lower and `<= 0` at its upper bound.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// The version of this form.
    pub version: u32,
    /// The version of Tangor.
    pub tangor: String,
    /// The name of the problem.
    pub problem: String,
    /// Why the run stopped.
    pub stop: Stop,
    /// What the point is.
    pub point: Point,
    /// Both of these as a sentence.
    pub message: String,
    /// `f(x)`; 0 when there is no objective.
    #[serde(with = "number")]
    pub objective: f64,
    /// The point.
    #[serde(with = "number::vector")]
    pub x: Vec<f64>,
    /// `c(x)`.
    #[serde(with = "number::vector")]
    pub constraints: Vec<f64>,
    /// `|g + J^T y - mu|`, unscaled, 2-norm.
    #[serde(with = "number")]
    pub stationarity: f64,
    /// Violation of the constraints, unscaled, 2-norm.
    #[serde(with = "number")]
    pub feasibility: f64,
    /// Sum of |multiplier| times distance to its bound, over rows and variables, unscaled.
    #[serde(with = "number")]
    pub complementarity: f64,
    /// Projected gradient of the violation, `|J^T v - mu'|`; 0 where an exact run had no need of it, since all constraints hold.
    #[serde(with = "number")]
    pub infeasible_stationarity: f64,
    /// Multipliers of the constraints.
    #[serde(with = "number::vector")]
    pub row_multipliers: Vec<f64>,
    /// Multipliers of the bounds.
    #[serde(with = "number::vector")]
    pub bound_multipliers: Vec<f64>,
    /// The most violated constraints, worst first, at most ten; empty when all hold within the tolerance.
    pub worst_rows: Vec<WorstRow>,
    /// Iterations done.
    pub iterations: u64,
    /// Evaluations of each function.
    pub evaluations: Counts,
    /// Samples of each function, in a noisy run.
    pub samples: Samples,
    /// The point judged on fresh samples, in a noisy run.
    pub verdict: Option<Verdict>,
    /// The average of the last iterates, if it was asked for.
    pub average: Option<Vec<f64>>,
    /// Wall time.
    pub seconds: f64,
    /// Bytes that the run and its problem held, as they are counted against `limits.memory`. None: the report is of an older version.
    #[serde(default)]
    pub memory: Option<u64>,
    /// Final merit parameter.
    #[serde(with = "number")]
    pub rho: f64,
    /// Unusual events, with the number of iterations in which they happened.
    pub unusual: Vec<(Event, u64)>,
    /// The function that failed, if one did.
    pub failure: Option<EvaluationFailure>,
    /// Whether all functions were evaluated at the start, or estimated there. False: the run ended before that was done, and its point is the
    /// start.
    #[serde(default = "yes")]
    pub evaluated: bool,
    /// Whether the functions, evaluated once more at the point at the end of an exact run, gave the same values again. None: there was no
    /// time for it, or the run was noisy.
    #[serde(default)]
    pub confirmed: Option<bool>,
    /// How far the objective was followed, where it improves without bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub followed: Option<Followed>,
    /// What was taken out of the problem before the run.
    #[serde(default, skip_serializing_if = "Presolved::is_empty")]
    pub presolved: Presolved,
    /// Names of variables and constraints, as far as the problem gives them.
    #[serde(default)]
    pub names: Names,
    /// The settings of the run.
    pub settings: Settings,
}

/// A report from before this was recorded is taken to be of a run that began.
fn yes() -> bool {
    true
}

/// What was taken out of a problem before a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Presolved {
    /// How many linear rows were left out.
    pub rows: usize,
    /// How many of these became bounds.
    pub bounds: usize,
    /// Linear rows, by name, that no point satisfies together with the bounds or with other linear rows; they were not left out.
    pub contradictions: Vec<String>,
}

impl Presolved {
    fn is_empty(&self) -> bool {
        *self == Presolved::default()
    }

    /// What contradicts itself, as the end of a sentence.
    pub(crate) fn complaint(&self) -> String {
        match self.contradictions.split_first() {
            None => String::new(),
            Some((first, rest)) => {
                let others = if rest.is_empty() { String::new() } else { format!(", nor {} others,", rest.len()) };
                format!("; no point satisfies constraint {first}{others} together with the bounds and other linear rows")
            }
        }
    }
}

/// A violated constraint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorstRow {
    /// Its index, counted from 0.
    pub index: usize,
    /// Its name.
    pub name: String,
    /// Its value.
    #[serde(with = "number")]
    pub value: f64,
    /// The bound that it violates.
    pub bound: f64,
    /// By how much.
    #[serde(with = "number")]
    pub violation: f64,
}

/// A function that failed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EvaluationFailure {
    /// Which function.
    pub function: Function,
    /// The row (or variable, for a gradient) whose value was not finite, by name.
    pub place: Option<String>,
    /// What happened, as a sentence.
    pub message: String,
    /// The failure as the function gave it, for the caller in the same process.
    #[serde(skip)]
    pub cause: Option<Arc<Failure>>,
}
