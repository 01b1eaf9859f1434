//! Several functions at one point in one pass.

use std::fmt;

use crate::counted::guarded;
use crate::{Draw, Evaluation, Failure, Function, Meta, Problem, SampledProblem};

/// Which functions of a problem are asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// `f(x)`
    pub objective: bool,
    /// The gradient of `f`
    pub gradient: bool,
    /// `c(x)`
    pub constraints: bool,
    /// The Jacobian of `c`
    pub jacobian: bool,
}

impl Wanted {
    /// None of them.
    pub const NOTHING: Wanted = Wanted { objective: false, gradient: false, constraints: false, jacobian: false };
    /// All four.
    pub const ALL: Wanted = Wanted { objective: true, gradient: true, constraints: true, jacobian: true };
    /// `f(x)` and `c(x)`
    pub const VALUES: Wanted = Wanted { objective: true, constraints: true, ..Wanted::NOTHING };
    /// The gradient and the Jacobian.
    pub const DERIVATIVES: Wanted = Wanted { gradient: true, jacobian: true, ..Wanted::NOTHING };
    /// All but the value of the objective: what a method needs that only sees samples.
    pub const SAMPLED: Wanted = Wanted { objective: false, ..Wanted::ALL };

    /// Those of them that the problem has: nothing of an objective that it lacks, nothing of constraints when there are none.
    pub fn of(self, meta: &Meta) -> Self {
        let (f, c) = (meta.has_objective, meta.m() > 0);
        Wanted {
            objective: self.objective && f,
            gradient: self.gradient && f,
            constraints: self.constraints && c,
            jacobian: self.jacobian && c,
        }
    }

    /// Those that are wanted, in the order of the fields.
    pub fn functions(self) -> impl Iterator<Item = Function> {
        let all = [
            (self.objective, Function::Objective),
            (self.gradient, Function::Gradient),
            (self.constraints, Function::Constraints),
            (self.jacobian, Function::Jacobian),
        ];
        all.into_iter().filter(|(wanted, _)| *wanted).map(|(_, function)| function)
    }

    /// The first that is wanted.
    pub fn first(self) -> Option<Function> {
        self.functions().next()
    }

    /// How many are wanted.
    pub fn count(self) -> usize {
        self.functions().count()
    }
}

/// Where the values go that are asked for. A slice that belongs to a function that is not wanted may be empty.
#[derive(Debug, Default)]
pub struct Outputs<'a> {
    /// `f(x)`; it stays none where it is not wanted or where the problem cannot tell.
    pub objective: Option<f64>,
    /// The gradient of `f`, of length `n`
    pub gradient: &'a mut [f64],
    /// `c(x)`, of length `m`
    pub constraints: &'a mut [f64],
    /// The Jacobian of `c`, in the order of [`Meta::jacobian`]
    pub jacobian: &'a mut [f64],
}

impl<'a> Outputs<'a> {
    /// Writes into these slices.
    pub fn new(gradient: &'a mut [f64], constraints: &'a mut [f64], jacobian: &'a mut [f64]) -> Self {
        Outputs { objective: None, gradient, constraints, jacobian }
    }
}

/// Memory for all functions of a problem at one point.
///
/// ```
/// use tangor_problem::{ClosureProblem, FunctionValues, Meta, Problem, Wanted};
///
/// let mut line = ClosureProblem::builder(Meta::new("line", vec![0.0])).objective(|x| 3.0 * x[0]).gradient(|_, g| g[0] = 3.0).build()?;
/// let mut values = FunctionValues::new(line.meta());
/// values.evaluate(&mut line, &[2.0], Wanted::ALL)?;
/// assert_eq!((values.objective, values.gradient), (Some(6.0), vec![3.0]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FunctionValues {
    /// `f(x)`; none when it was not wanted.
    pub objective: Option<f64>,
    /// The gradient of `f`; zeros when there is no objective.
    pub gradient: Vec<f64>,
    /// `c(x)`
    pub constraints: Vec<f64>,
    /// The Jacobian of `c`, in the order of [`Meta::jacobian`]
    pub jacobian: Vec<f64>,
}

impl FunctionValues {
    /// Zeros.
    pub fn new(meta: &Meta) -> Self {
        FunctionValues {
            objective: None,
            gradient: vec![0.0; meta.n()],
            constraints: vec![0.0; meta.m()],
            jacobian: vec![0.0; meta.jacobian_len()],
        }
    }

    /// Evaluates the wanted functions of a problem.
    pub fn evaluate<P: Problem + ?Sized>(&mut self, problem: &mut P, x: &[f64], wanted: Wanted) -> Result<(), FunctionFailure> {
        let mut out = self.outputs();
        let done = problem.evaluate(x, wanted, &mut out);
        self.objective = out.objective;
        done
    }

    /// Lends the memory to an evaluation, which puts the value of the objective into what is lent.
    pub fn outputs(&mut self) -> Outputs<'_> {
        Outputs::new(&mut self.gradient, &mut self.constraints, &mut self.jacobian)
    }
}

/// A function that could not be evaluated, and why.
#[derive(Clone, Debug)]
pub struct FunctionFailure {
    /// Which function. Where several were evaluated in one pass and the problem cannot tell, the first of them.
    pub function: Function,
    /// Why.
    pub failure: Failure,
}

impl FunctionFailure {
    /// For `map_err`: says that it was this function.
    pub fn of(function: Function) -> impl Fn(Failure) -> FunctionFailure {
        move |failure| FunctionFailure { function, failure }
    }
}

impl fmt::Display for FunctionFailure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "the {} failed: {}", self.function, self.failure)
    }
}

impl std::error::Error for FunctionFailure {}

/// The wanted functions one after the other; ends with the first that fails, a panic among the failures. It is what
/// [`Problem::evaluate`] does unless a problem knows better.
pub fn evaluate_separately<P: Problem + ?Sized>(
    problem: &mut P,
    x: &[f64],
    wanted: Wanted,
    out: &mut Outputs<'_>,
) -> Result<(), FunctionFailure> {
    let wanted = wanted.of(problem.meta());
    if wanted.objective {
        out.objective = Some(named(Function::Objective, || problem.objective(x))?);
    }
    if wanted.gradient {
        named(Function::Gradient, || problem.gradient(x, out.gradient))?;
    }
    if wanted.constraints {
        named(Function::Constraints, || problem.constraints(x, out.constraints))?;
    }
    if wanted.jacobian {
        named(Function::Jacobian, || problem.jacobian(x, out.jacobian))?;
    }
    Ok(())
}

/// The same over draws: what [`SampledProblem::evaluate`] does unless a problem knows better.
pub fn evaluate_draws_separately<S: SampledProblem + ?Sized>(
    problem: &mut S,
    x: &[f64],
    draws: &[Draw],
    wanted: Wanted,
    out: &mut Outputs<'_>,
) -> Result<(), FunctionFailure> {
    let wanted = wanted.of(problem.meta());
    if wanted.objective {
        out.objective = named(Function::Objective, || problem.objective(x, draws).transpose())?;
    }
    if wanted.gradient {
        named(Function::Gradient, || problem.gradient(x, draws, out.gradient))?;
    }
    if wanted.constraints {
        named(Function::Constraints, || problem.constraints(x, draws, out.constraints))?;
    }
    if wanted.jacobian {
        named(Function::Jacobian, || problem.jacobian(x, draws, out.jacobian))?;
    }
    Ok(())
}

fn named<T>(function: Function, evaluate: impl FnOnce() -> Evaluation<T>) -> Result<T, FunctionFailure> {
    guarded(evaluate).map_err(FunctionFailure::of(function))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ClosureProblem, Counted, Exact};

    fn broken_jacobian() -> ClosureProblem {
        ClosureProblem::builder(Meta::new("p", vec![1.0]).equalities(&[0.0]))
            .objective(|x| 2.0 * x[0])
            .gradient(|_, g| g[0] = 2.0)
            .constraints(|x, c| c[0] = x[0])
            .jacobian(|x, _| assert!(x[0] < 0.0, "no slope"))
            .build()
            .unwrap()
    }

    #[test]
    fn only_what_is_wanted_is_evaluated_and_counted() {
        let mut problem = Counted::new(broken_jacobian());
        let mut values = FunctionValues::new(Problem::meta(&problem));
        let mut out = values.outputs();
        Problem::evaluate(&mut problem, &[3.0], Wanted::VALUES, &mut out).unwrap();
        assert_eq!((out.objective, out.gradient[0], out.constraints[0]), (Some(6.0), 0.0, 3.0));
        let counts = problem.counts();
        assert_eq!([counts.objective, counts.gradient, counts.constraints, counts.jacobian], [1, 0, 1, 0]);
    }

    #[test]
    fn a_failure_names_its_function() {
        let message = "the Jacobian of the constraints failed: the function panicked: no slope";
        let mut values = FunctionValues::new(broken_jacobian().meta());
        let failure = broken_jacobian().evaluate(&[3.0], Wanted::ALL, &mut values.outputs()).unwrap_err();
        assert_eq!((failure.function, failure.to_string().as_str()), (Function::Jacobian, message));
        let mut sampled = Counted::new(Exact(broken_jacobian()));
        let failure = sampled.evaluate(&[3.0], &[], Wanted::ALL, &mut values.outputs()).unwrap_err();
        assert_eq!((failure.function, failure.to_string().as_str()), (Function::Jacobian, message));
    }

    #[test]
    fn what_a_problem_lacks_is_not_wanted() {
        let feasibility = Meta::new("p", vec![0.0]).no_objective().equalities(&[0.0]);
        assert_eq!(Wanted::ALL.of(&feasibility), Wanted { constraints: true, jacobian: true, ..Wanted::NOTHING });
        let free = Meta::new("p", vec![0.0]);
        assert_eq!(Wanted::SAMPLED.of(&free), Wanted { gradient: true, ..Wanted::NOTHING });
        assert_eq!((Wanted::DERIVATIVES.first(), Wanted::DERIVATIVES.count()), (Some(Function::Gradient), 2));
        assert_eq!(Wanted::NOTHING.first(), None);
    }
}
