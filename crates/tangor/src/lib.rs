//! x
pub use tangor_problem::*;
pub use tangor_solver::*;
