//! AMPL's `.nl` files, in which AMPL, Pyomo, JuMP and GAMS hand problems to solvers, and the `.sol` files that go back.
//!
//! ```text
//! minimise or maximise f(x)   subject to   cl <= c(x) <= cu,   xl <= x <= xu
//! ```
//!
//! [`read`] makes a [`tangor_problem::Problem`] of a file, text or binary in either byte order: first the segments as they stand in
//! the file, then a graph of all formulas, in which a defined variable is one node however often it is used, then functions that are
//! compiled once, with first derivatives and, on demand, second ones.
//!
//! ```
//! use tangor_nl::{Options, parse};
//! use tangor_problem::Problem;
//!
//! // minimise (x0 - 1)^2 subject to x0 >= 2
//! let file = "g3 0 1 0\n 1 0 1 0 0\n 0 1\n 0 0\n 0 1 0\n 0 0 0 1\n 0 0 0 0 0\n 0 1\n 0 0\n 0 0 0 0 0\n\
//!             O0 0\no5\no0\nv0\nn-1\nn2\nb\n2 2\nG0 1\n0 0\n";
//! let mut problem = parse(file.as_bytes(), "small.nl", &Options::default()).unwrap();
//! assert_eq!(problem.meta().x_lower, [2.0]);
//! assert_eq!(problem.objective(&[3.0]).unwrap(), 4.0);
//! ```

mod answer;
mod build;
mod cursor;
mod error;
mod formula;
mod functions;
mod header;
mod info;
mod kinks;
mod model;
mod names;
mod opcode;
mod problem;
mod segments;
mod solution;

pub use error::{NlError, Place};
pub use header::Header;
pub use info::Info;
pub use model::{Suffix, Target};
pub use problem::{NlProblem, Options, parse, read};
pub use solution::Solution;
