use std::io;
use std::path::{Path, PathBuf};

/// Why something could not be measured, compared or reported, as a sentence.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No problem has this name.
    #[error("{name} is neither a set, nor an embedded problem, nor a file, and {reason}")]
    UnknownProblem {
        /// The name.
        name: String,
        /// Where else was looked, or why not.
        reason: String,
    },
    /// A named set has a problem whose file is not there.
    #[error("the file {name}.SIF is needed, and {reason}")]
    MissingFile {
        /// The name of the problem.
        name: String,
        /// Where it was looked for, or why not.
        reason: String,
    },
    /// A parameter of a SIF file is written wrongly.
    #[error("the parameter {0:?} of a problem is not understood: write NAME:PARAMETER=NUMBER, as in DEGENQPC:N=10")]
    Parameter(String),
    /// A problem cannot be opened.
    #[error("{0}")]
    Open(#[from] tangor_open::Error),
    /// No problem is left.
    #[error("no problem is left to run: {0}")]
    Empty(String),
    /// A file cannot be read.
    #[error("the file {} cannot be read: {cause}", path.display())]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// Why not.
        cause: io::Error,
    },
    /// A file cannot be written.
    #[error("the file {} cannot be written: {cause}", path.display())]
    Unwritable {
        /// Which file.
        path: PathBuf,
        /// Why not.
        cause: io::Error,
    },
    /// A table has a form that nobody knows.
    #[error("the table {} cannot be used: {reason}", path.display())]
    Table {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The journal has rows that were made differently.
    #[error(
        "{} already has rows of {solver} with other settings, limits or another version; start over with a fresh file, or name another one",
        path.display()
    )]
    OtherSetup {
        /// Which file.
        path: PathBuf,
        /// Whose rows.
        solver: String,
    },
    /// Rows cannot be put into JSON or CSV.
    #[error("a row cannot be written: {0}")]
    Encoding(String),
    /// The program that carries out single runs cannot be started.
    #[error("the program {} cannot be started: {cause}", program.display())]
    Program {
        /// Which program.
        program: PathBuf,
        /// Why not.
        cause: io::Error,
    },
    /// The peer is not part of this build.
    #[error("this program was built without Ipopt; build it with the feature `ipopt` (Debian: coinor-libipopt-dev)")]
    NoIpopt,
    /// A solver refused the problem.
    #[error("{0}")]
    Refused(String),
}

impl Error {
    pub(crate) fn unreadable(path: &Path, cause: io::Error) -> Self {
        Error::Unreadable { path: path.to_owned(), cause }
    }

    pub(crate) fn unwritable(path: &Path, cause: io::Error) -> Self {
        Error::Unwritable { path: path.to_owned(), cause }
    }

    pub(crate) fn table(path: &Path, reason: impl ToString) -> Self {
        Error::Table { path: path.to_owned(), reason: reason.to_string() }
    }
}
