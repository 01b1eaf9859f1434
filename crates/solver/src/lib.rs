//! The adaptive directional decomposition methods for
//!
//! ```text
//! minimise f(x)   subject to   cl <= c(x) <= cu,   xl <= x <= xu
//! ```
//!
//! Each iteration splits its step into a part normal to the constraints, which repairs them, and a part tangent to them, which improves
//! the objective; merit parameter and stepsize adapt by themselves. [`solve`] runs to the end, [`Solver`] step by step.

mod error;
mod form;
#[doc(hidden)]
pub mod internals;
mod judging;
mod kernel;
mod metric;
mod noise;
#[cfg(test)]
#[path = "../tests/support/random.rs"]
mod random_problem;
mod run;
mod settings;
mod solver;
mod steps;

pub use error::Error;
pub use judging::events::rarest_told;
pub use judging::judge_point::{Candidate, JudgedPoint, beyond_doubt, judge_before, judge_point, judge_point_and_rows};
pub use judging::standing::{JudgedResidual, Standing};
#[doc(hidden)]
pub use judging::standing::{and_are, names_of};
pub use judging::verdict::{Averaged, Bounded, Verdict};
pub use run::checkpoint::Checkpoint;
pub use run::clock::{Agreement, EndedBy, Ending};
pub use run::descent::Followed;
pub use run::display::Silent;
#[doc(hidden)]
pub use run::display::largest;
pub use run::field::field_at;
pub use run::names::Names;
pub use run::observer::{Event, Observer, Row, TrueResiduals, Unusual};
pub use run::plausible::{MOST_COUNTED, MOST_SECONDS, work_of};
pub use run::report::{EvaluationFailure, Presolved, REPORT_VERSION, Report, WorstRow};
pub use run::status::{Point, Stop};
pub use run::whole_file::write as write_whole_file;
pub use settings::*;
pub use solver::{Solver, solve, solve_sampled};
pub use steps::mapping::OwnMapping;
