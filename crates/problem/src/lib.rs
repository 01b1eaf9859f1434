//! What Tangor minimises:
//!
//! ```text
//! minimise f(x)   subject to   cl <= c(x) <= cu,   xl <= x <= xu
//! ```
//!
//! A problem is plain data ([`Meta`]: sizes, bounds, names, start, pattern of the Jacobian) and up to four
//! functions ([`Problem`]: objective, gradient, constraints, Jacobian). This crate knows no algorithm.

mod autodiff;
mod counted;
mod failure;
mod groups;
mod meta;
mod number;
mod pattern;
mod problem;

pub use autodiff::{Differentiated, Formulas};
pub use counted::{Counted, Counts};
pub use failure::{Evaluation, Failure, Function};
pub use meta::{INFINITE, Meta, MetaError};
pub use number::Number;
pub use pattern::Pattern;
pub use problem::{Problem, SecondOrder};
