//! Logistic regression under constraints that people want,
//!
//! ```text
//! minimise  1/N sum_i log(1 + exp(-s_i a_i'x)) + l2/2 |x|^2     s_i = 1 for positive rows, -1 for negative ones
//! ```
//!
//! subject to a bound on the norm of `x`, on gaps between groups of rows, or on rates: see [`Constraint`] and [`Goal`].
//!
//! A table ([`Reading::csv`], [`Reading::libsvm`], or [`generate`]) becomes a [`DataSet`], which is kept in memory once, or in a file where it does not fit. [`Regression`] is
//! the exact problem over all rows, [`SampledRegression`] the same seen row by row, and [`Model`] the result: it knows
//! everything that is needed to apply it, and how well it does ([`Evaluation`]).

mod cache;
mod cell;
mod classes;
mod constraint;
mod cut;
mod data;
mod distribution;
mod encoding;
mod error;
mod estimate;
mod evaluation;
mod features;
mod generate;
mod goal;
mod identity;
mod input;
mod layout;
mod libsvm;
mod matrix;
mod model;
#[cfg(feature = "parquet")]
mod parquet;
mod quality;
mod ranking;
mod ration;
mod reading;
mod regression;
mod scan;
mod sharing;
mod store;
mod strangers;
mod table;
pub mod tasks;

pub use cell::Decimal;
pub use classes::{Classes, Contrast};
pub use constraint::{Comparison, Constraint, Rate};
pub use data::{DataSet, Grouping, Labels};
pub use encoding::{Column, Encoding, Kind, Scale};
pub use error::Error;
pub use estimate::Estimate;
pub use evaluation::{Attained, Evaluation, GroupQuality, chosen_threshold};
pub use features::Features;
pub use generate::{generate, generate_shared};
pub use goal::{Goal, Outcome, Part, Penalty, Requirement};
pub use input::{Input, Watcher};
pub use model::{FileForm, MODEL_VERSION, Model, Prediction};
pub use quality::{Criterion, Quality};
pub use reading::Reading;
pub use regression::{Regression, SampledRegression};
pub use sharing::{Processes, Share, of_each};
pub use table::Format;
