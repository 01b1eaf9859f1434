use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::portions::{EndWanted, Portions, add};
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
        let all = [self.objective, self.gradient, self.constraints, self.jacobian, self.hessian];
        all.into_iter().fold(0, u64::saturating_add)
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
        self.gradient.saturating_add(self.constraints).saturating_add(self.jacobian)
    }

    /// In the order gradient, constraints, Jacobian.
    fn add(&mut self, [gradient, constraints, jacobian]: [u64; 3]) {
        self.gradient += gradient;
        self.constraints += constraints;
        self.jacobian += jacobian;
    }
}

/// A problem whose evaluations are counted, and whose panics are turned into failures: a user's function never takes the run
/// down. Averages over many draws can be taken in portions, between which an evaluation can be broken off. An evaluation beyond a limit is
/// refused before it begins.
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
///
/// ```
/// use tangor_problem::{ClosureProblem, Counted, Draw, Meta, Noise, Noisy, SampledProblem};
///
/// let line = ClosureProblem::builder(Meta::new("line", vec![0.0])).objective(|x| x[0]).gradient(|_, g| g[0] = 1.0).build()?;
/// let mut line = Counted::in_portions(Noisy::new(line, Noise::level(1e-2))?);
/// line.break_off_when(Some(std::sync::Arc::new(|| true)));
/// let (few, many): (Vec<Draw>, Vec<Draw>) = ((0..10).map(Draw).collect(), (0..1_000_000).map(Draw).collect());
/// assert!(line.gradient(&[3.0], &few, &mut [0.0]).is_ok());
/// assert!(line.gradient(&[3.0], &many, &mut [0.0]).is_err());
/// # Ok::<(), tangor_problem::Failure>(())
/// ```
///
/// ```
/// use tangor_problem::{ClosureProblem, Counted, Meta, Problem};
///
/// let line = ClosureProblem::builder(Meta::new("line", vec![0.0])).objective(|x| x[0]).gradient(|_, g| g[0] = 1.0).build()?;
/// let mut line = Counted::new(line);
/// line.limit_evaluations(Some(1));
/// assert!(line.objective(&[1.0]).is_ok());
/// assert!(line.objective(&[2.0]).is_err_and(|failure| failure.is_broken()));
/// assert!(line.is_exhausted() && line.counts().total() == 1);
/// # Ok::<(), tangor_problem::Failure>(())
/// ```
#[derive(Debug)]
pub struct Counted<P> {
    problem: P,
    counts: Counts,
    samples: Samples,
    portions: Portions,
    ration: Ration,
}

/// How many evaluations there may be.
#[derive(Clone, Copy, Debug, Default)]
struct Ration {
    most: Option<u64>,
    /// Evaluations that are not part of the counts.
    uncounted: u64,
    /// Whether one was refused.
    exhausted: bool,
}

impl Ration {
    fn left(&self, counts: &Counts) -> Option<u64> {
        self.most.map(|most| most.saturating_sub(counts.total().saturating_add(self.uncounted)))
    }

    /// Refuses so many more evaluations where they are beyond the limit.
    fn allow(&mut self, counts: &Counts, more: u64) -> Evaluation {
        if self.left(counts).is_none_or(|left| more <= left) {
            return Ok(());
        }
        self.exhausted = true;
        Err(Failure::broken("the limit on evaluations is reached"))
    }
}

impl<P> Counted<P> {
    /// Starts counting from zero.
    pub fn new(problem: P) -> Self {
        Counted {
            problem,
            counts: Counts::default(),
            samples: Samples::default(),
            portions: Portions::whole(),
            ration: Ration::default(),
        }
    }

    /// Refuses every evaluation with which there would be more than so many, of all functions together. None: there may be any number.
    pub fn limit_evaluations(&mut self, most: Option<u64>) {
        self.ration.most = most;
        self.ration.exhausted = false;
    }

    /// How many evaluations there may still be; none without a limit.
    pub fn evaluations_left(&self) -> Option<u64> {
        self.ration.left(&self.counts)
    }

    /// Whether an evaluation was refused because of the limit.
    pub fn is_exhausted(&self) -> bool {
        self.ration.exhausted
    }

    /// Goes back to these counts: what was evaluated since then is not counted, but stays within the limit.
    pub fn uncount(&mut self, counts: Counts, samples: Samples) {
        let since = self.counts.total().saturating_sub(counts.total());
        self.ration.uncounted = self.ration.uncounted.saturating_add(since);
        self.set_counts(counts, samples);
    }

    /// Breaks a batch off after a portion when the end is wanted then: the evaluation fails. None: every batch is evaluated to its end.
    pub fn break_off_when(&mut self, end_wanted: Option<EndWanted>) {
        self.portions.end_wanted = end_wanted;
    }

    /// Whether somebody wants the end, as far as is known: for those who prepare a batch.
    pub fn is_end_wanted(&self) -> bool {
        self.portions.is_end_wanted()
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

    /// Refuses functions that are evaluated together where they are beyond the limit.
    fn allow(&mut self, wanted: Wanted) -> Result<(), FunctionFailure> {
        let first = wanted.first().unwrap_or(Function::Objective);
        self.ration.allow(&self.counts, wanted.count() as u64).map_err(FunctionFailure::of(first))
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
        self.ration.allow(&self.counts, 1)?;
        self.counts.objective += 1;
        guarded(|| self.problem.objective(x))
    }
    fn gradient(&mut self, x: &[f64], g: &mut [f64]) -> Evaluation {
        self.ration.allow(&self.counts, 1)?;
        self.counts.gradient += 1;
        guarded(|| self.problem.gradient(x, g))
    }
    fn constraints(&mut self, x: &[f64], c: &mut [f64]) -> Evaluation {
        self.ration.allow(&self.counts, 1)?;
        self.counts.constraints += 1;
        guarded(|| self.problem.constraints(x, c))
    }
    fn jacobian(&mut self, x: &[f64], values: &mut [f64]) -> Evaluation {
        self.ration.allow(&self.counts, 1)?;
        self.counts.jacobian += 1;
        guarded(|| self.problem.jacobian(x, values))
    }
    /// Counts as one evaluation of each function that is wanted.
    fn evaluate(&mut self, x: &[f64], wanted: Wanted, out: &mut Outputs<'_>) -> Result<(), FunctionFailure> {
        let wanted = wanted.of(self.problem.meta());
        self.allow(wanted)?;
        self.counts.add(wanted);
        together(wanted, || self.problem.evaluate(x, wanted, out))
    }
    /// What it lends is not counted: [`Counted::hessian`] counts.
    fn second_order(&mut self) -> Option<&mut dyn SecondOrder> {
        self.problem.second_order()
    }
    fn place(&mut self, x: &mut Arc<Vec<f64>>, write: &mut dyn FnMut(&mut [f64])) {
        self.problem.place(x, write);
    }
}

impl<S: SampledProblem> Counted<S> {
    /// Starts counting from zero, and takes averages over as many draws at once as the problem's size suggests.
    pub fn in_portions(problem: S) -> Self {
        let portions = Portions::of(problem.meta());
        Counted { portions, ..Counted::new(problem) }
    }

    /// The average of one function, the k-th of gradient, constraints and Jacobian.
    fn average(
        &mut self,
        draws: &[Draw],
        k: usize,
        out: &mut [f64],
        evaluate: impl Fn(&mut S, &[Draw], &mut [f64]) -> Evaluation,
    ) -> Evaluation {
        let (access, lengths) = (accesses(&self.problem)[k], lengths(&self.problem));
        let Counted { problem, samples, portions, .. } = self;
        let mut count = |draws: &[Draw]| samples.add([0, 1, 2].map(|one| if one == k { drawn(access, draws) } else { 0 }));
        if !(access.is_sampled() && portions.are_several(draws)) {
            count(draws);
            return guarded(|| evaluate(problem, draws, out));
        }
        out.fill(0.0);
        portions.each(
            lengths,
            draws,
            |failure| failure,
            |draws, share, _, parts| {
                count(draws);
                guarded(|| evaluate(problem, draws, &mut parts[k]))?;
                add(share, &parts[k], out);
                Ok(())
            },
        )
    }

    /// Where the lower triangle of the Hessian of the Lagrangian has its entries; none when the problem has no second derivatives.
    pub fn hessian_pattern(&mut self) -> Option<Pattern> {
        self.problem.second_order().map(|problem| problem.hessian_pattern().clone())
    }

    /// `sigma * hess f(x) + sum_i y_i * hess c_i(x)`, counted; none when the problem has no second derivatives.
    pub fn hessian(&mut self, x: &[f64], sigma: f64, y: &[f64], values: &mut [f64]) -> Option<Evaluation> {
        let Counted { problem, counts, ration, .. } = self;
        let problem = problem.second_order()?;
        if let Err(refused) = ration.allow(counts, 1) {
            return Some(Err(refused));
        }
        counts.hessian += 1;
        Some(guarded(|| problem.hessian(x, sigma, y, values)))
    }
}

/// Adds the share of a portion to an average; what is exact is taken from the first portion alone.
fn take_in(part: &[f64], share: f64, (is_sampled, is_first): (bool, bool), out: &mut [f64]) {
    match (is_sampled, is_first) {
        (false, true) => out.copy_from_slice(part),
        (false, false) => {}
        (true, _) => {
            if is_first {
                out.fill(0.0);
            }
            add(share, part, out);
        }
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
    fn held(&self) -> u64 {
        self.problem.held()
    }
    fn gradient(&mut self, x: &[f64], draws: &[Draw], g: &mut [f64]) -> Evaluation {
        self.ration.allow(&self.counts, 1)?;
        self.counts.gradient += 1;
        self.average(draws, 0, g, |problem, draws, out| problem.gradient(x, draws, out))
    }
    fn constraints(&mut self, x: &[f64], draws: &[Draw], c: &mut [f64]) -> Evaluation {
        self.ration.allow(&self.counts, 1)?;
        self.counts.constraints += 1;
        self.average(draws, 1, c, |problem, draws, out| problem.constraints(x, draws, out))
    }
    fn jacobian(&mut self, x: &[f64], draws: &[Draw], values: &mut [f64]) -> Evaluation {
        self.ration.allow(&self.counts, 1)?;
        self.counts.jacobian += 1;
        self.average(draws, 2, values, |problem, draws, out| problem.jacobian(x, draws, out))
    }
    /// Counts as one evaluation of each function that is wanted. What is exact is evaluated with the first portion alone: an average would
    /// round it.
    fn evaluate(&mut self, x: &[f64], draws: &[Draw], wanted: Wanted, out: &mut Outputs<'_>) -> Result<(), FunctionFailure> {
        let (wanted, accesses, lengths) = (wanted.of(self.problem.meta()), accesses(&self.problem), lengths(&self.problem));
        self.allow(wanted)?;
        let Counted { problem, counts, samples, portions, .. } = self;
        counts.add(wanted);
        let is_sampled = accesses.map(|access| access.is_sampled());
        let of_each = |wanted: Wanted, draws: &[Draw]| {
            let functions = [wanted.gradient, wanted.constraints, wanted.jacobian];
            [0, 1, 2].map(|k| if functions[k] { drawn(accesses[k], draws) } else { 0 })
        };
        let sampled = Wanted {
            objective: wanted.objective,
            gradient: wanted.gradient && is_sampled[0],
            constraints: wanted.constraints && is_sampled[1],
            jacobian: wanted.jacobian && is_sampled[2],
        };
        if !portions.are_several(draws) || sampled == Wanted::NOTHING {
            samples.add(of_each(wanted, draws));
            return together(wanted, || problem.evaluate(x, draws, wanted, out));
        }
        let mut objective = wanted.objective.then_some(0.0);
        let broken_off = FunctionFailure::of(sampled.first().unwrap_or(Function::Objective));
        portions.each(lengths, draws, broken_off, |draws, share, is_first, [g, c, j]| {
            let asked = if is_first { wanted } else { sampled };
            samples.add(of_each(asked, draws));
            let mut part = Outputs::new(g, c, j);
            together(asked, || problem.evaluate(x, draws, asked, &mut part))?;
            objective = objective.zip(part.objective).map(|(sum, value)| sum + share * value);
            let parts = [
                (wanted.gradient, is_sampled[0], &mut *out.gradient, &*part.gradient),
                (wanted.constraints, is_sampled[1], &mut *out.constraints, &*part.constraints),
                (wanted.jacobian, is_sampled[2], &mut *out.jacobian, &*part.jacobian),
            ];
            for (_, is_sampled, out, part) in parts.into_iter().filter(|(wanted, ..)| *wanted) {
                take_in(part, share, (is_sampled, is_first), out);
            }
            Ok(())
        })?;
        out.objective = objective;
        Ok(())
    }
    fn objective(&mut self, x: &[f64], draws: &[Draw]) -> Option<Evaluation<f64>> {
        if let Err(refused) = self.ration.allow(&self.counts, 1) {
            return Some(Err(refused));
        }
        self.counts.objective += 1;
        let lengths = lengths(&self.problem);
        let Counted { problem, portions, .. } = self;
        if !portions.are_several(draws) {
            return guarded(|| problem.objective(x, draws).transpose()).transpose();
        }
        let mut average = Some(0.0);
        let done = portions.each(
            lengths,
            draws,
            |failure| failure,
            |draws, share, _, _| {
                let value = guarded(|| problem.objective(x, draws).transpose())?;
                average = average.zip(value).map(|(sum, value)| sum + share * value);
                Ok(())
            },
        );
        done.map(|()| average).transpose()
    }
    fn exact(&mut self) -> Option<&mut dyn Problem> {
        self.problem.exact()
    }
    /// What it lends is not counted: [`Counted::hessian`] counts.
    fn second_order(&mut self) -> Option<&mut dyn SecondOrder> {
        self.problem.second_order()
    }
    fn place(&mut self, x: &mut Arc<Vec<f64>>, write: &mut dyn FnMut(&mut [f64])) {
        self.problem.place(x, write);
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

/// How gradient, constraints and Jacobian are had.
fn accesses(problem: &impl SampledProblem) -> [Access; 3] {
    let Accesses { gradient, constraints, jacobian } = problem.accesses();
    [gradient, constraints, jacobian]
}

/// How many numbers these are.
fn lengths(problem: &impl SampledProblem) -> [usize; 3] {
    let meta = problem.meta();
    [meta.n(), meta.m(), meta.jacobian_len()]
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
