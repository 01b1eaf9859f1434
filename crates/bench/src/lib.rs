//! Measuring Tangor: problem sets, many runs that nothing can stop, residuals recomputed from the problem's functions, comparisons
//! with other solvers and with published figures, and reports.
//!
//! A run is a problem, a solver with its settings and a seed ([`Task`]); it leaves a row ([`Record`]).

mod campaign;
mod child;
pub mod compare;
pub mod complexity;
mod contender;
mod course;
mod error;
pub mod growth;
mod journal;
pub mod large;
pub mod learning;
mod moved;
pub mod paper;
#[cfg(feature = "ipopt")]
mod peer;
mod progress;
mod record;
pub mod report;
pub mod reproduce;
mod residuals;
mod sets;
pub mod shares;
mod spreadsheet;
pub mod subproblems;
mod task;

pub use campaign::{Campaign, Plan, Results};
pub use child::{Program, run as run_in_child, serve};
pub use contender::{Contender, Method, PEERS};
pub use course::Course;
pub use error::Error;
pub use journal::{Journal, write_csv, write_rows};
pub use record::{Ending, Record, TracePoint, WORSE};
pub use residuals::{Candidate, Recomputed, classify, recompute};
pub use sets::{Member, SETS, members, only};
pub use spreadsheet::no_formula;
pub use task::Task;
