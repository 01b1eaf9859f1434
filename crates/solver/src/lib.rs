//! The adaptive directional decomposition methods for
//!
//! ```text
//! minimise f(x)   subject to   cl <= c(x) <= cu,   xl <= x <= xu
//! ```
//!
//! Each iteration splits its step into a part normal to the constraints, which repairs them, and a part tangent to them, which improves
//! the objective; merit parameter and stepsize adapt by themselves. [`solve`] runs to the end, [`Solver`] step by step.

mod assign;
mod best;
mod checkpoint;
mod cholesky;
mod clock;
mod cone;
mod confidence;
mod error;
mod estimate;
mod estimator;
mod fitting;
mod frame;
mod gram;
#[doc(hidden)]
pub mod internals;
mod iterate;
mod judge;
mod judge_point;
mod kkt;
mod lipschitz;
mod mapping;
mod matrix;
mod merit_parameter;
mod metric;
mod moments;
mod normal_step;
mod number;
mod observer;
mod oracle;
mod projection;
mod quasi_newton;
mod random;
#[cfg(test)]
#[path = "../tests/support/random.rs"]
mod random_problem;
mod report;
mod result;
mod same_draws;
mod sampling;
mod schedule;
mod search;
mod settings;
mod solver;
mod source;
mod sparse_gram;
mod spread;
mod standard;
mod status;
mod stochastic;
mod tangent_step;
mod vector;
mod verdict;
mod worth;

pub use checkpoint::Checkpoint;
pub use error::Error;
pub use judge_point::{Candidate, judge_point};
pub use mapping::OwnMapping;
pub use observer::{Event, Observer, Row, TrueResiduals, Unusual};
pub use report::{EvaluationFailure, REPORT_VERSION, Report, WorstRow};
pub use sampling::*;
pub use settings::*;
pub use solver::{Solver, solve};
pub use status::{Point, Stop};
pub use verdict::{Bounded, Verdict};
