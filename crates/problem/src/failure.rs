use std::error::Error;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{ClosureError, FunctionFailure, MetaError, NoiseError};

/// What an evaluation gives back: nothing (the values are in the caller's slice) or a reason.
pub type Evaluation<T = ()> = Result<T, Failure>;

/// Why a function could not be evaluated at a point.
///
/// It is an error like any other. `?` turns input errors and boxed ones into [`Failure::Broken`]; what else goes wrong becomes one by
/// `map_err(Failure::broken)`, in which a failure that was boxed on the way stays what it is. Closures may return any error.
///
/// ```
/// use tangor_problem::{Evaluation, Failure};
///
/// fn logarithm(x: f64) -> Evaluation<f64> {
///     if x > 0.0 { Ok(x.ln()) } else { Err(Failure::undefined(format!("the logarithm of {x}"))) }
/// }
/// assert_eq!(logarithm(-1.0).unwrap_err().to_string(), "the logarithm of -1");
/// ```
#[derive(Clone, Debug)]
pub enum Failure {
    /// The function has no value here (the logarithm of a negative number, a simulation that does not converge).
    /// The solver treats it as it treats a NaN: it shortens the step and goes on.
    Undefined(String),
    /// Something is broken (a file is gone, a process died). The run ends cleanly and the cause comes back.
    Broken(Arc<dyn Error + Send + Sync>),
}

impl Failure {
    /// The function has no value at this point.
    pub fn undefined(reason: impl Into<String>) -> Self {
        Failure::Undefined(reason.into())
    }

    /// Something is broken; the run should end. A cause that already is a failure stays what it is.
    pub fn broken(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        match cause.into().downcast::<Failure>() {
            Ok(failure) => *failure,
            Err(cause) => Failure::Broken(Arc::from(cause)),
        }
    }

    /// True when the run cannot go on.
    pub fn is_broken(&self) -> bool {
        matches!(self, Failure::Broken(_))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Undefined(reason) => out.write_str(reason),
            Failure::Broken(cause) => {
                write!(out, "{cause}")?;
                let mut deeper = cause.source();
                while let Some(cause) = deeper {
                    write!(out, ": {cause}")?;
                    deeper = cause.source();
                }
                Ok(())
            }
        }
    }
}

// No source: the message tells the whole chain of causes already.
impl Error for Failure {}

impl From<Box<dyn Error + Send + Sync>> for Failure {
    fn from(cause: Box<dyn Error + Send + Sync>) -> Self {
        Failure::broken(cause)
    }
}

impl From<FunctionFailure> for Failure {
    fn from(failed: FunctionFailure) -> Self {
        failed.failure
    }
}

/// Errors that mean that something is broken. A conversion of all errors at once would overlap with that of a failure into itself.
macro_rules! broken_by {
    ($($cause:ty),*) => {
        $(impl From<$cause> for Failure {
            fn from(cause: $cause) -> Self {
                Failure::Broken(Arc::new(cause))
            }
        })*
    };
}

broken_by!(
    std::io::Error,
    std::fmt::Error,
    std::num::ParseFloatError,
    std::num::ParseIntError,
    ClosureError,
    MetaError,
    NoiseError
);

/// One of the functions of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Function {
    /// f(x)
    Objective,
    /// The gradient of f
    Gradient,
    /// c(x)
    Constraints,
    /// The Jacobian of c, one row per constraint
    Jacobian,
    /// The Hessian of the Lagrangian
    Hessian,
}

impl fmt::Display for Function {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Function::Objective => "objective",
            Function::Gradient => "gradient of the objective",
            Function::Constraints => "constraints",
            Function::Jacobian => "Jacobian of the constraints",
            Function::Hessian => "Hessian of the Lagrangian",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_function_tells_its_whole_cause() {
        #[derive(Debug, thiserror::Error)]
        #[error("the mesh could not be read")]
        struct Mesh(#[from] std::io::Error);
        fn objective() -> Evaluation<f64> {
            Err(Failure::broken(Mesh(std::io::Error::other("no such disk"))))
        }
        let failure = objective().unwrap_err();
        assert!(failure.is_broken());
        assert_eq!(failure.to_string(), "the mesh could not be read: no such disk");
        assert!(!Failure::undefined("log(-1)").is_broken());
    }

    #[test]
    fn a_failure_is_an_error_and_stays_what_it_is() {
        fn inner() -> Result<(), Box<dyn Error + Send + Sync>> {
            Err(Failure::undefined("log(-1)"))?
        }
        fn outer() -> Evaluation {
            Ok(inner()?)
        }
        assert!(matches!(outer(), Err(Failure::Undefined(reason)) if reason == "log(-1)"));
        fn reads() -> Evaluation<f64> {
            Ok("3,5".parse::<f64>()?)
        }
        assert!(reads().unwrap_err().is_broken());
    }
}
