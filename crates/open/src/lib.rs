//! From a name or a path to a problem, exact or sampled: the one place that knows where problems come from, and that puts noise on them.
//!
//! ```
//! use tangor_open::{Finder, Parameters};
//! use tangor_problem::Problem;
//!
//! let source = Finder::default().find("hs71", Parameters::new())?;
//! assert_eq!(source.to_string(), "the embedded problem HS71");
//! let opened = source.open()?;
//! assert_eq!(opened.problem.meta().n(), 4);
//! # Ok::<(), tangor_open::Error>(())
//! ```
//!
//! A name means, in this order: a file, when it looks like a path or ends as files of a known kind do; an embedded problem; a file of
//! that name in the folder of SIF files. A new kind of file is one more variant of [`FileKind`] and of [`About`].

mod error;
mod finder;
mod kind;
mod opened;
mod sampled;
mod source;

pub use error::Error;
pub use finder::{Finder, SIF_FOLDER};
pub use kind::FileKind;
pub use opened::{About, Opened};
pub use sampled::disturbed;
pub use source::{Parameters, Source};
