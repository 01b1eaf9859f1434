#![doc = include_str!("../../../README.md")]

pub use tangor_problem::*;
pub use tangor_solver::*;
