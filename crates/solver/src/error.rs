//! Why a run could not be done. How a run ended is not an error: see [`Stop`](crate::Stop).

use tangor_problem::{MetaError, TooLarge};

use crate::SettingsError;

/// Why a run could not be done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The problem's data are nonsense.
    #[error("problem {name}: {source}")]
    Problem {
        /// The problem.
        name: String,
        /// What is wrong with it.
        source: MetaError,
    },
    /// The run would need too much memory.
    #[error("{0}")]
    Memory(#[from] TooLarge),
    /// A setting is out of range.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The closed form cannot take this problem.
    #[error("normal.variant=mapping takes equality constraints only, but problem {name} has bounds or inequalities")]
    NotOnlyEqualities {
        /// The problem.
        name: String,
    },
    /// There are no second derivatives.
    #[error("metric.kind=exact needs second derivatives of exact functions, and problem {name} has none")]
    NoSecondDerivatives {
        /// The problem.
        name: String,
    },
    /// The own mapping is missing.
    #[error("normal.mapping=own needs a mapping: use Solver::with_mapping (a run with an own mapping cannot be resumed)")]
    NoOwnMapping,
    /// A point to be judged cannot be.
    #[error("the point cannot be judged: {reason}")]
    Point {
        /// What is wrong with it.
        reason: String,
    },
    /// The checkpoint cannot be used.
    #[error("checkpoint {file}: {reason}")]
    Checkpoint {
        /// The file.
        file: String,
        /// What is wrong with it.
        reason: String,
    },
}
