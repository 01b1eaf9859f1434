//! How a run ended: why it stopped, and, apart from that, what was found.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Why the run stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// A point within the tolerances was found.
    Tolerance,
    /// The objective falls without bound.
    Unbounded,
    /// The limit on iterations was reached.
    Iterations,
    /// The limit on wall time was reached.
    WallTime,
    /// The limit on evaluations was reached.
    Evaluations,
    /// The user asked for it, by an interrupt or from an observer.
    User,
    /// Further iterations cannot be told from noise.
    NoiseFloor,
    /// The limit on samples was reached.
    Samples,
    /// The step became too small to change the point.
    StepTooSmall,
    /// A function failed, or had no value at the start.
    EvaluationFailed,
    /// The linear algebra broke down.
    NumericalTrouble,
}

impl fmt::Display for Stop {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Stop::Tolerance => "the tolerances are met",
            Stop::Unbounded => "the objective improves without bound",
            Stop::Iterations => "the limit on iterations was reached",
            Stop::WallTime => "the time limit was reached",
            Stop::Evaluations => "the limit on evaluations was reached",
            Stop::User => "it was interrupted",
            Stop::NoiseFloor => "further iterations cannot be told from noise",
            Stop::Samples => "the limit on samples was reached",
            Stop::StepTooSmall => "the step became too small",
            Stop::EvaluationFailed => "a function failed",
            Stop::NumericalTrouble => "numerical trouble",
        })
    }
}

/// What the returned point is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Point {
    /// All three residuals are within the tolerances.
    EpsKkt,
    /// The constraints are violated, and to first order no small change reduces the violation. That is a local statement: other starts
    /// may lead to feasible points.
    EpsInfeasibleStationary,
    /// The constraints hold, and from here on the objective falls without bound as far as was looked: below -1e20, or steadily along a
    /// ray of feasible points.
    Unbounded,
    /// The constraints hold, but another residual is above its tolerance.
    Feasible,
    /// None of these.
    Nothing,
}

impl fmt::Display for Point {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Point::EpsKkt => "a KKT point within the tolerances",
            Point::EpsInfeasibleStationary => {
                "a stationary point of the violation: to first order no small change reduces it, but other starts may"
            }
            Point::Unbounded => "feasible, and from there the objective improves without bound as far as was looked",
            Point::Feasible => "a feasible point, but no KKT point within the tolerances",
            Point::Nothing => "neither feasible nor stationary",
        })
    }
}
