use std::fmt;

/// What is wrong with a SIF file, and where.
///
/// It prints as `file:line:column: message`, or as `file: message` when the file as a whole is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SifError {
    /// The file, as the caller named it.
    pub file: String,
    /// The line, counted from 1; 0 when the file as a whole is meant.
    pub line: usize,
    /// The column, counted from 1; 0 when the file as a whole is meant.
    pub column: usize,
    /// A sentence that says what was expected.
    pub message: String,
}

impl fmt::Display for SifError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(out, "{}: {}", self.file, self.message),
            line => write!(out, "{}:{}:{}: {}", self.file, line, self.column, self.message),
        }
    }
}

impl std::error::Error for SifError {}

/// A complaint about a place in the file; whoever knows the name of the file turns it into a [`SifError`].
#[derive(Debug)]
pub(crate) struct Complaint {
    pub line: usize,
    pub column: usize,
    pub message: String,
}

impl Complaint {
    pub fn new(line: usize, column: usize, message: impl Into<String>) -> Self {
        Complaint { line, column, message: message.into() }
    }

    pub fn in_file(self, file: &str) -> SifError {
        SifError { file: file.to_string(), line: self.line, column: self.column, message: self.message }
    }
}
