use std::error::Error;
use std::fmt;

use crate::differences::Differences;
#[cfg(feature = "autodiff")]
use crate::{Differentiated, Formulas};
use crate::{Evaluation, Failure, Function, Meta, MetaError, Problem};

type Value = Box<dyn FnMut(&[f64]) -> Evaluation<f64> + Send>;
type Fill = Box<dyn FnMut(&[f64], &mut [f64]) -> Evaluation + Send>;

/// A problem whose functions are closures.
///
/// A closure returns its value, or a `Result` with any error: [`Failure::undefined`] where the function has no value, anything
/// else where something is broken. Values that are written into a slice need no `return` at all.
///
/// ```
/// use tangor_problem::{ClosureProblem, Meta, Problem};
///
/// // minimise x0 + x1 on the unit circle
/// let mut circle = ClosureProblem::builder(Meta::new("circle", vec![1.0, 0.5]).equalities(&[1.0]))
///     .objective(|x| x[0] + x[1])
///     .gradient(|_, g| g.copy_from_slice(&[1.0, 1.0]))
///     .constraints(|x, c| c[0] = x[0] * x[0] + x[1] * x[1])
///     .jacobian(|x, values| values.copy_from_slice(&[2.0 * x[0], 2.0 * x[1]]))
///     .build()?;
/// assert_eq!(circle.objective(&[1.0, 0.5])?, 1.5);
/// # Ok::<(), tangor_problem::Failure>(())
/// ```
pub struct ClosureProblem {
    meta: Meta,
    objective: Option<Value>,
    gradient: Option<Fill>,
    constraints: Option<Fill>,
    jacobian: Option<Fill>,
    automatic: Option<Box<dyn Problem + Send>>,
    differences: Option<Differences>,
}

impl ClosureProblem {
    /// Starts with the data; the functions follow.
    pub fn builder(meta: Meta) -> ClosureBuilder {
        ClosureBuilder(ClosureProblem {
            meta,
            objective: None,
            gradient: None,
            constraints: None,
            jacobian: None,
            automatic: None,
            differences: None,
        })
    }

    /// Whether this derivative is estimated by finite differences.
    pub fn is_estimated(&self, function: Function) -> bool {
        self.differences.is_some()
            && match function {
                Function::Gradient => self.gradient.is_none() && self.objective.is_some(),
                Function::Jacobian => self.jacobian.is_none() && self.constraints.is_some(),
                _ => false,
            }
    }

    /// A function comes from its closure or from the formulas. A derivative comes from its closure, or from where its function
    /// comes from: the derivative of a closure is estimated, that of a formula is exact.
    fn has(&self, function: Function) -> bool {
        let (closure, estimable) = match function {
            Function::Objective => (self.objective.is_some(), false),
            Function::Gradient => (self.gradient.is_some(), self.objective.is_some()),
            Function::Constraints => (self.constraints.is_some(), false),
            Function::Jacobian => (self.jacobian.is_some(), self.constraints.is_some()),
            Function::Hessian => (true, false),
        };
        closure || if estimable { self.differences.is_some() } else { self.automatic.is_some() }
    }

    fn first_missing(&self) -> Option<Function> {
        let objective = [Function::Objective, Function::Gradient].into_iter().filter(|_| self.meta.has_objective);
        let constraints = [Function::Constraints, Function::Jacobian].into_iter().filter(|_| self.meta.m() > 0);
        objective.chain(constraints).find(|&function| !self.has(function))
    }

    fn missing(&self, function: Function) -> Failure {
        Failure::from(ClosureError::Missing { problem: self.meta.name.clone(), function })
    }
}

impl Problem for ClosureProblem {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn objective(&mut self, x: &[f64]) -> Evaluation<f64> {
        match (&mut self.objective, &mut self.automatic) {
            (Some(objective), _) => objective(x),
            (None, Some(automatic)) => automatic.objective(x),
            (None, None) => Err(self.missing(Function::Objective)),
        }
    }

    fn gradient(&mut self, x: &[f64], g: &mut [f64]) -> Evaluation {
        match (&mut self.gradient, &mut self.objective, &mut self.automatic, &mut self.differences) {
            (Some(gradient), ..) => gradient(x, g),
            (None, Some(objective), _, Some(differences)) => differences.gradient(&self.meta, x, g, objective),
            (None, None, Some(automatic), _) => automatic.gradient(x, g),
            _ => Err(self.missing(Function::Gradient)),
        }
    }

    fn constraints(&mut self, x: &[f64], c: &mut [f64]) -> Evaluation {
        match (&mut self.constraints, &mut self.automatic) {
            (Some(constraints), _) => constraints(x, c),
            (None, Some(automatic)) => automatic.constraints(x, c),
            (None, None) => Err(self.missing(Function::Constraints)),
        }
    }

    fn jacobian(&mut self, x: &[f64], values: &mut [f64]) -> Evaluation {
        match (&mut self.jacobian, &mut self.constraints, &mut self.automatic, &mut self.differences) {
            (Some(jacobian), ..) => jacobian(x, values),
            (None, Some(constraints), _, Some(differences)) => differences.jacobian(&self.meta, x, values, constraints),
            (None, None, Some(automatic), _) => automatic.jacobian(x, values),
            _ => Err(self.missing(Function::Jacobian)),
        }
    }
}

impl fmt::Debug for ClosureProblem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("ClosureProblem").field("meta", &self.meta).finish_non_exhaustive()
    }
}

/// Collects the functions of a [`ClosureProblem`].
#[derive(Debug)]
pub struct ClosureBuilder(ClosureProblem);

impl ClosureBuilder {
    /// `f(x)`
    pub fn objective<R: IntoEvaluation<f64>>(mut self, mut f: impl FnMut(&[f64]) -> R + Send + 'static) -> Self {
        self.0.objective = Some(Box::new(move |x| f(x).into_evaluation()));
        self
    }

    /// The gradient of `f`, into the second argument.
    pub fn gradient<R: IntoEvaluation<()>>(mut self, f: impl FnMut(&[f64], &mut [f64]) -> R + Send + 'static) -> Self {
        self.0.gradient = Some(fill(f));
        self
    }

    /// `c(x)`, into the second argument.
    pub fn constraints<R: IntoEvaluation<()>>(mut self, f: impl FnMut(&[f64], &mut [f64]) -> R + Send + 'static) -> Self {
        self.0.constraints = Some(fill(f));
        self
    }

    /// The Jacobian of `c`, into the second argument, in the order of [`Meta::jacobian`].
    pub fn jacobian<R: IntoEvaluation<()>>(mut self, f: impl FnMut(&[f64], &mut [f64]) -> R + Send + 'static) -> Self {
        self.0.jacobian = Some(fill(f));
        self
    }

    /// Functions that are not given as closures come from these formulas, and their derivatives from automatic
    /// differentiation.
    #[cfg(feature = "autodiff")]
    pub fn formulas(mut self, formulas: impl Formulas + 'static) -> Self {
        self.0.automatic = Some(Box::new(Differentiated::new(self.0.meta.clone(), formulas)));
        self
    }

    /// Derivatives that are not given are **estimated** by finite differences.
    ///
    /// They are good to about ten digits where the functions are smooth and computed to full precision, and worthless where they
    /// are noisy. The functions are called inside the bounds only: at a bound both points lie on its inner side. The slope along
    /// a fixed variable is given as 0. The gradient takes two evaluations for each variable, a sparse Jacobian two for each
    /// group of columns that share no row.
    ///
    /// ```
    /// use tangor_problem::{ClosureProblem, Meta, Problem};
    ///
    /// let mut root = ClosureProblem::builder(Meta::new("root", vec![4.0]).bounds(&[0.0], &[9.0]))
    ///     .objective(|x| x[0].sqrt())
    ///     .finite_differences()
    ///     .build()?;
    /// let mut g = [0.0];
    /// root.gradient(&[4.0], &mut g)?;
    /// assert!((g[0] - 0.25).abs() < 1e-10);
    /// # Ok::<(), tangor_problem::Failure>(())
    /// ```
    pub fn finite_differences(mut self) -> Self {
        self.0.differences = Some(Differences::new(&self.0.meta));
        self
    }

    /// The problem, or what is missing or wrong.
    pub fn build(self) -> Result<ClosureProblem, ClosureError> {
        self.0.meta.validate().map_err(|error| ClosureError::Data { problem: self.0.meta.name.clone(), error })?;
        match self.0.first_missing() {
            Some(function) => Err(ClosureError::Missing { problem: self.0.meta.name, function }),
            None => Ok(self.0),
        }
    }
}

fn fill<R: IntoEvaluation<()>>(mut f: impl FnMut(&[f64], &mut [f64]) -> R + Send + 'static) -> Fill {
    Box::new(move |x, values| f(x, values).into_evaluation())
}

/// What a closure may return: a value, nothing, or a `Result` of either with any error.
pub trait IntoEvaluation<T> {
    /// The value or the failure.
    fn into_evaluation(self) -> Evaluation<T>;
}

impl IntoEvaluation<f64> for f64 {
    fn into_evaluation(self) -> Evaluation<f64> {
        Ok(self)
    }
}

impl IntoEvaluation<()> for () {
    fn into_evaluation(self) -> Evaluation {
        Ok(())
    }
}

impl<T, E: Into<Box<dyn Error + Send + Sync>>> IntoEvaluation<T> for Result<T, E> {
    fn into_evaluation(self) -> Evaluation<T> {
        self.map_err(Failure::broken)
    }
}

/// Why a [`ClosureProblem`] cannot be built.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ClosureError {
    /// A function that the problem needs is missing.
    #[error("the problem {problem:?} has no {function}: {}", advice(function))]
    Missing {
        /// The name of the problem.
        problem: String,
        /// What is missing.
        function: Function,
    },
    /// The data are nonsense.
    #[error("the data of problem {problem:?} are wrong: {error}")]
    Data {
        /// The name of the problem.
        problem: String,
        /// What is wrong.
        error: MetaError,
    },
}

fn advice(function: &Function) -> &'static str {
    match function {
        Function::Gradient => "give it with gradient(..), or ask for finite_differences()",
        Function::Jacobian => "give it with jacobian(..), or ask for finite_differences()",
        Function::Constraints => "give them with constraints(..) or as formulas(..)",
        _ => "give it with objective(..) or as formulas(..), or declare the data no_objective()",
    }
}
