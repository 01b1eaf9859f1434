use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::{Deserialize, Serialize};

use crate::{Access, Accesses, Draw, Evaluation, Failure, Function, Meta, Problem, SampledProblem};

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
}

impl Counts {
    /// All evaluations together.
    pub fn total(&self) -> u64 {
        self.objective + self.gradient + self.constraints + self.jacobian
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
}

impl<S: SampledProblem> SampledProblem for Counted<S> {
    fn meta(&self) -> &Meta {
        self.problem.meta()
    }
    fn accesses(&self) -> Accesses {
        self.problem.accesses()
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
    /// Counts as one evaluation of each function that the problem has.
    fn all(
        &mut self,
        x: &[f64],
        draws: &[Draw],
        g: &mut [f64],
        c: &mut [f64],
        values: &mut [f64],
    ) -> Result<(), (Function, Failure)> {
        let accesses = self.problem.accesses();
        if self.problem.meta().has_objective {
            self.counts.gradient += 1;
            self.samples.gradient += drawn(accesses.gradient, draws);
        }
        if self.problem.meta().m() > 0 {
            self.counts.constraints += 1;
            self.counts.jacobian += 1;
            self.samples.constraints += drawn(accesses.constraints, draws);
            self.samples.jacobian += drawn(accesses.jacobian, draws);
        }
        catch_unwind(AssertUnwindSafe(|| self.problem.all(x, draws, g, c, values))).unwrap_or_else(|panic| {
            // A problem that evaluates its functions together and panics cannot be asked in which of them.
            let message = format!("{} (while all functions were evaluated together)", panic_message(&*panic));
            Err((Function::Gradient, Failure::broken(message)))
        })
    }
    fn objective(&mut self, x: &[f64], draws: &[Draw]) -> Option<Evaluation<f64>> {
        self.counts.objective += 1;
        guarded(|| self.problem.objective(x, draws).transpose()).transpose()
    }
    fn exact(&mut self) -> Option<&mut dyn Problem> {
        self.problem.exact()
    }
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
