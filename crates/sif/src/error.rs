/// What is wrong with a SIF file, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {message}")]
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
