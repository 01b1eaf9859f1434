//! Test problems of nonlinear optimisation, written from their published mathematics, each with its known solution.
//!
//! ```
//! use tangor_collection::find;
//! use tangor_problem::Problem;
//!
//! let entry = find("hs71")?;
//! let mut problem = (entry.build)();
//! let x = (entry.known.x)();
//! assert!((problem.objective(&x)? - entry.known.objective.unwrap_or(0.0)).abs() < 1e-12);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[macro_use]
mod definition;

mod bounds;
mod chain;
mod entry;
mod equalities;
mod inequalities;
mod larger;
mod mixed;
mod peculiar;

pub use entry::{Entry, Kind, Known, Unknown, What, entries, find, nearest};
