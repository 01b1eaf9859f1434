use std::path::{Path, PathBuf};

/// Why data cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read.
    #[error("{} cannot be read: {cause}", named(file))]
    Unreadable {
        /// Which file.
        file: PathBuf,
        /// Why not.
        cause: std::io::Error,
    },
    /// A place in a file is wrong.
    #[error("{}:{line}: {message}", file.display())]
    Line {
        /// Which file.
        file: PathBuf,
        /// Which line, counted from 1.
        line: u64,
        /// What is wrong and what was expected.
        message: String,
    },
    /// A field of a table is wrong.
    #[error("{}:{line}: column {column:?}: {message}", file.display())]
    Field {
        /// Which file.
        file: PathBuf,
        /// Which line, counted from 1.
        line: u64,
        /// The name of the column.
        column: String,
        /// What is wrong and what was expected.
        message: String,
    },
    /// A file as a whole is wrong.
    #[error("{} cannot be used: {message}", named(file))]
    File {
        /// Which file.
        file: PathBuf,
        /// What is wrong.
        message: String,
    },
    /// A constraint does not fit the data.
    #[error("the constraint {name} cannot be used: {message}")]
    Constraint {
        /// Which constraint.
        name: String,
        /// What is wrong.
        message: String,
    },
    /// Data or model would need too much memory.
    #[error("{0}")]
    Memory(#[from] tangor_problem::TooLarge),
    /// There is no file for data that do not fit into memory.
    #[error("the data do not fit into memory, and no file can be made for them in {}: {cause}", folder.display())]
    Cache {
        /// Where it was to be.
        folder: PathBuf,
        /// Why not.
        cause: std::io::Error,
    },
    /// Another process could not have its part of the data, and says why.
    #[error("another process could not go on")]
    Elsewhere,
    /// Something asked for makes no sense.
    #[error("{0}")]
    Senseless(String),
}

/// What text is called that comes from no file.
pub(crate) const STANDARD_INPUT: &str = "standard input";

fn named(file: &Path) -> String {
    match file == Path::new(STANDARD_INPUT) {
        true => STANDARD_INPUT.to_string(),
        false => format!("the file {}", file.display()),
    }
}
