use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::{Deserialize, Serialize};

use crate::{
    Access, Accesses, Draw, Evaluation, Failure, Function, FunctionFailure, Meta, Outputs, Pattern, Problem, SampledProblem,
    SecondOrder, Wanted,
};

/// How often each function was evaluated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counts {
    /// Values of the objective.
    pub objective: u64,
    /// Gradients of the objective.
    pub gradient: u64,
    /// Values of the constraints.
    pub constraints: u64,
    /// Jacobians of the constraints.
    pub jacobian: u64,
    /// Hessians of the Lagrangian.
    #[serde(default)]
    pub hessian: u64,
}

impl Counts {
    /// All evaluations together.
    pub fn total(&self) -> u64 {
        self.objective + self.gradient + self.constraints + self.jacobian + self.hessian
    }

    fn add(&mut self, wanted: Wanted) {
        self.objective += u64::from(wanted.objective);
        self.gradient += u64::from(wanted.gradient);
        self.constraints += u64::from(wanted.constraints);
        self.jacobian += u64::from(wanted.jacobian);
    }
}

/// How many samples each function was averaged over, all evaluations together. A sample that is evaluated at two points counts twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Samples {
    /// Gradients of the objective.
    pub gradient: u64,
    /// Values of the constraints.
    pub constraints: u64,
    /// Jacobians of the constraints.
    pub jacobian: u64,
}

impl Samples {
    /// All samples together.
    pub fn total(&self) -> u64 {
        self.gradient + self.constraints + self.jacobian
    }
}

/// A problem whose evaluations are counted, and whose panics are turned into failures: a user's function never takes the run
/// down.
///
/// ```
/// use tangor_problem::{ClosureProblem, Counted, Meta, Problem};
///
/// let line = ClosureProblem::builder(Meta::new("line", vec![0.0])).objective(|x| x[0]).gradient(|_, g| g[0] = 1.0).build()?;
/// let mut line = Counted::new(line);
/// line.objective(&[1.0])?;
/// line.objective(&[2.0])?;
/// assert_eq!(line.counts().objective, 2);
/// # Ok::<(), tangor_problem::Failure>(())
/// ```
#[derive(Debug)]
pub struct Counted<P> {
    problem: P,
    counts: Counts,
    samples: Samples,
}

impl<P> Counted<P> {
    /// Starts counting from zero.
    pub fn new(problem: P) -> Self {
        Counted { problem, counts: Counts::default(), samples: Samples::default() }
    }

    /// The samples so far; only those of a [`SampledProblem`] are counted.
    pub fn samples(&self) -> Samples {
        self.samples
    }

    /// The counts so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Goes on from these counts (a resumed run).
    pub fn set_counts(&mut self, counts: Counts, samples: Samples) {
        self.counts = counts;
        self.samples = samples;
    }

    /// The problem itself; what it evaluates is not counted.
    pub fn get_mut(&mut self) -> &mut P {
        &mut self.problem
    }

    /// Gives the problem back.
    pub fn into_inner(self) -> P {
        self.problem
    }
}

impl<P: Problem> Problem for Counted<P> {
    fn meta(&self) -> &Meta {
        self.problem.meta()
    }
    fn objective(&mut self, x: &[f64]) -> Evaluation<f64> {
        self.counts.objective += 1;
        guarded(|| self.problem.objective(x))
    }
    fn gradient(&mut self, x: &[f64], g: &mut [f64]) -> Evaluation {
        self.counts.gradient += 1;
        guarded(|| self.problem.gradient(x, g))
    }
    fn constraints(&mut self, x: &[f64], c: &mut [f64]) -> Evaluation {
        self.counts.constraints += 1;
        guarded(|| self.problem.constraints(x, c))
    }
    fn jacobian(&mut self, x: &[f64], values: &mut [f64]) -> Evaluation {
        self.counts.jacobian += 1;
        guarded(|| self.problem.jacobian(x, values))
    }
    /// Counts as one evaluation of each function that is wanted.
    fn evaluate(&mut self, x: &[f64], wanted: Wanted, out: &mut Outputs<'_>) -> Result<(), FunctionFailure> {
        let wanted = wanted.of(self.problem.meta());
        self.counts.add(wanted);
        together(wanted, || self.problem.evaluate(x, wanted, out))
    }
    /// What it lends is not counted: [`Counted::hessian`] counts.
    fn second_order(&mut self) -> Option<&mut dyn SecondOrder> {
        self.problem.second_order()
    }
}

impl<S: SampledProblem> Counted<S> {
    /// Where the lower triangle of the Hessian of the Lagrangian has its entries; none when the problem has no second derivatives.
    pub fn hessian_pattern(&mut self) -> Option<Pattern> {
        self.problem.second_order().map(|problem| problem.hessian_pattern().clone())
    }

    /// `sigma * hess f(x) + sum_i y_i * hess c_i(x)`, counted; none when the problem has no second derivatives.
    pub fn hessian(&mut self, x: &[f64], sigma: f64, y: &[f64], values: &mut [f64]) -> Option<Evaluation> {
        let problem = self.problem.second_order()?;
        self.counts.hessian += 1;
        Some(guarded(|| problem.hessian(x, sigma, y, values)))
    }
}

impl<S: SampledProblem> SampledProblem for Counted<S> {
    fn meta(&self) -> &Meta {
        self.problem.meta()
    }
    fn accesses(&self) -> Accesses {
        self.problem.accesses()
    }
    fn exact_rows(&self) -> &[bool] {
        self.problem.exact_rows()
    }
    fn gradient(&mut self, x: &[f64], draws: &[Draw], g: &mut [f64]) -> Evaluation {
        self.counts.gradient += 1;
        self.samples.gradient += drawn(self.problem.accesses().gradient, draws);
        guarded(|| self.problem.gradient(x, draws, g))
    }
    fn constraints(&mut self, x: &[f64], draws: &[Draw], c: &mut [f64]) -> Evaluation {
        self.counts.constraints += 1;
        self.samples.constraints += drawn(self.problem.accesses().constraints, draws);
        guarded(|| self.problem.constraints(x, draws, c))
    }
    fn jacobian(&mut self, x: &[f64], draws: &[Draw], values: &mut [f64]) -> Evaluation {
        self.counts.jacobian += 1;
        self.samples.jacobian += drawn(self.problem.accesses().jacobian, draws);
        guarded(|| self.problem.jacobian(x, draws, values))
    }
    /// Counts as one evaluation of each function that is wanted.
    fn evaluate(&mut self, x: &[f64], draws: &[Draw], wanted: Wanted, out: &mut Outputs<'_>) -> Result<(), FunctionFailure> {
        let (wanted, accesses) = (wanted.of(self.problem.meta()), self.problem.accesses());
        self.counts.add(wanted);
        let samples = |wanted: bool, access| if wanted { drawn(access, draws) } else { 0 };
        self.samples.gradient += samples(wanted.gradient, accesses.gradient);
        self.samples.constraints += samples(wanted.constraints, accesses.constraints);
        self.samples.jacobian += samples(wanted.jacobian, accesses.jacobian);
        together(wanted, || self.problem.evaluate(x, draws, wanted, out))
    }
    fn objective(&mut self, x: &[f64], draws: &[Draw]) -> Option<Evaluation<f64>> {
        self.counts.objective += 1;
        guarded(|| self.problem.objective(x, draws).transpose()).transpose()
    }
    fn exact(&mut self) -> Option<&mut dyn Problem> {
        self.problem.exact()
    }
    /// What it lends is not counted: [`Counted::hessian`] counts.
    fn second_order(&mut self) -> Option<&mut dyn SecondOrder> {
        self.problem.second_order()
    }
}

/// Turns a panic into a failure. A problem that evaluates several functions in one pass cannot be asked in which of them it was.
fn together(wanted: Wanted, evaluate: impl FnOnce() -> Result<(), FunctionFailure>) -> Result<(), FunctionFailure> {
    catch_unwind(AssertUnwindSafe(evaluate)).unwrap_or_else(|panic| {
        let several = if wanted.count() > 1 { " (while several functions were evaluated together)" } else { "" };
        let failure = Failure::broken(format!("{}{several}", panic_message(&*panic)));
        Err(FunctionFailure { function: wanted.first().unwrap_or(Function::Objective), failure })
    })
}

fn drawn(access: Access, draws: &[Draw]) -> u64 {
    if access.is_sampled() { draws.len() as u64 } else { 0 }
}

// Unwind safety: after a panic the run ends and the problem is not evaluated again.
pub(crate) fn guarded<T>(evaluate: impl FnOnce() -> Evaluation<T>) -> Evaluation<T> {
    catch_unwind(AssertUnwindSafe(evaluate)).unwrap_or_else(|panic| Err(Failure::broken(panic_message(&*panic))))
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| text.to_string());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    format!("the function panicked: {}", text.as_deref().unwrap_or("no message"))
}
