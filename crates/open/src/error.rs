use std::path::PathBuf;

use crate::FileKind;

/// Why a problem cannot be opened, as a sentence.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No problem has this name.
    #[error("{unknown}, and {elsewhere}")]
    Unknown {
        /// The nearest names among the embedded problems.
        unknown: tangor_collection::Unknown,
        /// Where else was looked, or could have been.
        elsewhere: String,
    },
    /// There is no such file.
    #[error("there is no file {}{elsewhere}", path.display())]
    NoFile {
        /// Which file.
        path: PathBuf,
        /// Where else was looked, or could have been; nothing for a path, which means one place.
        elsewhere: String,
    },
    /// A file of a kind that is not read.
    #[error("the file {} cannot be opened: problems are read from files that end in {}", .0.display(), FileKind::endings())]
    NoReader(PathBuf),
    /// Parameters for a problem that has none.
    #[error("{0} has no parameters: only SIF files have them")]
    NoParameters(String),
    /// Nothing gives second derivatives.
    #[error("{0} has no second derivatives")]
    NoHessian(String),
    /// Noise on functions that have some already.
    #[error("noise is put on exact functions, but those of this problem are noisy already")]
    NoisyAlready,
    /// A level of noise makes no sense.
    #[error("{0}")]
    Noise(#[from] tangor_problem::NoiseError),
    /// A SIF file is wrong.
    #[error("{0}")]
    Sif(#[from] tangor_sif::SifError),
    /// An .nl file is wrong.
    #[error("{0}")]
    Nl(#[from] tangor_nl::NlError),
}
