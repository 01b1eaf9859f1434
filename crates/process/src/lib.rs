//! A process in any language as a problem: Tangor asks over its standard input, it answers over its standard output.
//!
//! ```text
//! minimise f(x) = E F(x, xi)   subject to   cl <= c(x) = E C(x, zeta) <= cu,   xl <= x <= xu
//! ```
//!
//! [`ProcessProblem`] starts the process, lets it introduce its problem and is a
//! [`SampledProblem`](tangor_problem::SampledProblem). When all its functions are exact, [`ProcessProblem::into_exact`] makes it a
//! plain [`Problem`](tangor_problem::Problem). The protocol is in `docs/oracle.md`; examples are in `examples/python`.
//!
//! A process that crashes, hangs or lies gives [`Failure::Broken`](tangor_problem::Failure::Broken) with an [`OracleError`]: what it
//! did, how it ended and what it last wrote to its standard error. After that it is stopped and never asked again. No process
//! outlives its problem or this program, nor does what it started in its process group, however this program ends.
//!
//! ```no_run
//! use tangor_problem::Problem;
//! use tangor_process::{ProcessProblem, ProcessSettings};
//!
//! let process = ProcessProblem::start("python3 hs71.py", &ProcessSettings::default())?;
//! let mut problem = process.into_exact()?;
//! println!("{}", problem.objective(&[1.0, 5.0, 5.0, 1.0])?);
//! # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
//! ```

mod child;
mod error;
mod group;
mod introduction;
mod literal;
#[cfg(unix)]
mod mark;
mod message;
mod oracle;
mod patience;
mod pipes;
mod problem;
mod settings;

pub use error::{Ending, Error, Misdeed, OracleError, Question};
pub use patience::{Impatience, Patience};
pub use problem::{ExactProcess, ProcessProblem};
pub use settings::ProcessSettings;

/// The version of the protocol that this crate speaks.
pub const PROTOCOL_VERSION: u64 = 1;

/// Reads a line as an introduction and as both kinds of answers: the project's own tests feed it with anything.
#[doc(hidden)]
pub fn understand(line: &[u8]) -> [bool; 3] {
    let functions = tangor_problem::Wanted { gradient: true, ..tangor_problem::Wanted::NOTHING };
    let question = Question::Evaluation { id: 1, functions };
    [
        introduction::Introduction::read(line).is_ok(),
        message::reply::<Vec<Option<f64>>>(line, question, 1).is_ok(),
        message::reply::<usize>(line, question, 1).is_ok(),
    ]
}
