use std::io;
use std::path::PathBuf;

use tangor_problem::Failure;
use tangor_process::{Impatience, Misdeed, OracleError};

use crate::exit;

/// Why a command could not be carried out, as a sentence.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another process of the same fit could not go on, and says why.
    #[error("another process could not go on")]
    Elsewhere,
    /// Processes of the same fit could not go on, and one of them has said why; all end with this exit code.
    #[error("this was told already")]
    Told(u8),
    /// No problem has this name.
    #[error("{unknown}; `tangor list` shows all of them, and {elsewhere}")]
    UnknownProblem {
        /// The nearest names.
        unknown: tangor_collection::Unknown,
        /// Where else a problem may come from.
        elsewhere: String,
    },
    /// A problem cannot be opened.
    #[error("{0}")]
    Open(tangor_open::Error),
    /// Nobody waits any longer for a file to be read.
    #[error("{error}: {reason}")]
    BrokenOff {
        /// How far reading got.
        error: tangor_open::Error,
        /// Why it got no further.
        reason: Impatience,
    },
    /// A SIF file is wrong.
    #[error("{0}")]
    Sif(#[from] tangor_sif::SifError),
    /// A .nl or .sol file is wrong.
    #[error("{0}")]
    Nl(#[from] tangor_nl::NlError),
    /// A process cannot be had as a problem.
    #[error("{0}")]
    Oracle(#[from] tangor_process::Error),
    /// The problem does not fit into memory.
    #[error("{0}")]
    Memory(#[from] tangor_problem::TooLarge),
    /// The command needs functions without noise.
    #[error("the functions of {0} can only be sampled, but this command needs exact ones")]
    OnlySampled(String),
    /// A file could not be read.
    #[error("the file {} cannot be read: {cause}", path.display())]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// Why not.
        cause: io::Error,
    },
    /// A file could not be written.
    #[error("the file {} cannot be written: {cause}", path.display())]
    Unwritable {
        /// Which file.
        path: PathBuf,
        /// Why not.
        cause: io::Error,
    },
    /// A file of this kind is not written.
    #[error("the file {} must end in {expected}", path.display())]
    Extension {
        /// Which file.
        path: PathBuf,
        /// What would be right.
        expected: &'static str,
    },
    /// Two outputs would overwrite each other.
    #[error("the file {} is named twice as an output", .0.display())]
    NamedTwice(PathBuf),
    /// An output would overwrite an input.
    #[error("the file {} is read and cannot be an output as well", .0.display())]
    Overwritten(PathBuf),
    /// A trace does not reach the state that a run goes on from.
    #[error("the trace {} {message}; name another file for it", path.display())]
    Trace {
        /// Which file.
        path: PathBuf,
        /// Why it cannot be continued.
        message: String,
    },
    /// A file of settings is wrong.
    #[error("the settings in {} cannot be used: {message}", path.display())]
    Config {
        /// Which file.
        path: PathBuf,
        /// Where and why.
        message: String,
    },
    /// A point does not fit.
    #[error("the point in {} cannot be used: {message}", path.display())]
    Point {
        /// Which file.
        path: PathBuf,
        /// Why not.
        message: String,
    },
    /// A result cannot be checked.
    #[error("the result in {} cannot be checked: {message}", path.display())]
    Result {
        /// Which file.
        path: PathBuf,
        /// Why not.
        message: String,
    },
    /// The noise makes no sense.
    #[error("{0}")]
    Noise(#[from] tangor_problem::NoiseError),
    /// A function has no value.
    #[error("the functions of {} cannot be evaluated: {cause}", crate::plain::name(name))]
    Evaluation {
        /// Which problem.
        name: String,
        /// Why not.
        cause: Failure,
    },
    /// Data or a model cannot be used.
    #[error("{0}")]
    Learn(tangor_learn::Error),
    /// A setting is wrong.
    #[error("{0}")]
    Setting(String),
    /// No setting contains this text.
    #[error("no setting contains {0:?}; `tangor options` without a word shows all of them")]
    NoSuchOption(String),
    /// No command has this name.
    #[error("there is no command {0:?}; `tangor --help` shows all of them")]
    UnknownCommand(String),
    /// Something could not be measured.
    #[error("{0}")]
    Bench(#[from] tangor_bench::Error),
    /// The run could not be done.
    #[error("{0}")]
    Solver(#[from] tangor_solver::Error),
    /// Ctrl-C could not be caught.
    #[error("interrupts cannot be caught: {0}")]
    Interrupt(#[from] ctrlc::Error),
    /// The result could not be put into JSON.
    #[error("the result cannot be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// The screen, or where the output was sent instead, takes no more.
    #[error("the output cannot be written: {0}")]
    Screen(#[from] io::Error),
}

impl From<tangor_learn::Error> for Error {
    fn from(error: tangor_learn::Error) -> Self {
        match error {
            tangor_learn::Error::Elsewhere => Error::Elsewhere,
            error => Error::Learn(error),
        }
    }
}

impl From<tangor_open::Error> for Error {
    fn from(error: tangor_open::Error) -> Self {
        match error {
            tangor_open::Error::Unknown { unknown, elsewhere } => Error::UnknownProblem { unknown, elsewhere },
            error => Error::Open(error),
        }
    }
}

impl Error {
    /// The exit code of a command that ends so.
    pub fn exit_code(&self) -> u8 {
        let oracle = match self {
            Error::Told(code) => return *code,
            Error::BrokenOff { reason, .. } => return reason_code(*reason),
            Error::Oracle(tangor_process::Error::Oracle(oracle)) => Some(oracle),
            Error::Evaluation { cause: Failure::Broken(cause), .. } => cause.downcast_ref::<OracleError>(),
            _ => None,
        };
        match oracle.map(|oracle| &oracle.misdeed) {
            Some(Misdeed::Abandoned { reason, .. }) => reason_code(*reason),
            _ => exit::INPUT,
        }
    }
}

/// The exit code of a command for which nobody waits any longer.
fn reason_code(reason: Impatience) -> u8 {
    match reason {
        Impatience::Interrupted => exit::STOPPED,
        Impatience::OutOfTime => exit::LIMIT,
    }
}
