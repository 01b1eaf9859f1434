//! What Tangor minimises:
//!
//! ```text
//! minimise f(x)   subject to   cl <= c(x) <= cu,   xl <= x <= xu
//! ```
//!
//! A problem is plain data ([`Meta`]: sizes, bounds, names, start, pattern of the Jacobian) and up to four
//! functions ([`Problem`]: objective, gradient, constraints, Jacobian). This crate knows no algorithm.
//!
//! There are three ways to state one:
//! - implement [`Problem`];
//! - give closures to [`ClosureProblem`], with derivatives by hand or estimated by finite differences;
//! - write [`Formulas`] once for every kind of [`Number`], and let [`Differentiated`] find the derivatives.
//!
//! When functions are expectations of which only samples can be had, the trait is [`SampledProblem`]. To get one, implement it, state a
//! [`FiniteSum`] over the rows of a data set, or put noise on any problem with [`Noisy`]. [`AtDraws`] is one
//! with its draws fixed.
//!
//! [`KktResiduals`] tells how good a point is, [`check_derivatives`] tells whether derivatives are right, and [`Counted`] counts evaluations.

mod at_draws;
#[cfg(feature = "autodiff")]
mod autodiff;
mod check;
mod closures;
mod counted;
#[cfg(feature = "autodiff")]
mod curvature;
mod differences;
mod estimate;
mod evaluation;
mod exact;
mod failure;
mod finite_sum;
#[cfg(feature = "autodiff")]
mod forward;
mod groups;
mod interval;
mod kkt;
mod kkt_form;
mod memory;
mod meta;
mod noisy;
#[cfg(feature = "autodiff")]
mod number;
mod pattern;
mod portions;
mod problem;
mod quantile;
mod reading;
mod recent;
mod reduction;
#[cfg(feature = "autodiff")]
mod reverse;
mod sampled;
mod stream;
pub mod vector;
mod wording;
mod ziggurat;

pub use at_draws::AtDraws;
#[cfg(feature = "autodiff")]
pub use autodiff::{Differentiated, Formulas, Mode};
pub use check::{Comparison, DerivativeCheck, Unsteady, check_derivatives};
pub use closures::{ClosureBuilder, ClosureError, ClosureProblem, IntoEvaluation};
pub use counted::{Counted, Counts, Samples};
pub use evaluation::{FunctionFailure, FunctionValues, Outputs, Wanted, evaluate_draws_separately, evaluate_separately};
pub use exact::Exact;
pub use failure::{Evaluation, Failure, Function};
pub use finite_sum::{FiniteSum, SampledSum};
pub use interval::Interval;
pub use kkt::{KktPoint, KktResiduals};
pub use kkt_form::{KktForm, KktMemory, Place, gradient_of_lagrangian};
pub use memory::{Bytes, MemoryLimit, TooLarge};
pub use meta::{INFINITE, Meta, MetaError};
pub use noisy::{Distribution, Noise, NoiseError, NoiseForm, Noisy};
#[cfg(feature = "autodiff")]
pub use number::Number;
pub use pattern::Pattern;
pub use portions::EndWanted;
pub use problem::{Problem, SecondOrder};
pub use quantile::{two_sided, two_sided_student};
pub use reading::ReadingLimits;
pub use reduction::{Collective, Members, Reduction, Threads, gather, own_members, parts_of};
pub use sampled::{Access, Accesses, Draw, SampledProblem};
pub use stream::Stream;
#[doc(hidden)]
pub use stream::{INCREMENT, mixed};
#[doc(hidden)]
pub use wording::count_of;
