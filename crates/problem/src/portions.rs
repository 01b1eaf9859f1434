//! Large batches in portions, so that nobody waits for the whole of one that is not wanted any more.

use std::fmt;
use std::sync::Arc;

use crate::{
    Accesses, Draw, Evaluation, Failure, Function, FunctionFailure, Meta, Outputs, Problem, SampledProblem, SecondOrder, Wanted,
};

/// Numbers that a portion computes, all samples together, and the fewest and most samples of one: a fraction of a second of usual work.
/// They follow from the problem's sizes alone, so that an average has the same bits on every machine.
const NUMBERS: usize = 1 << 26;
const FEWEST: usize = 256;
const MOST: usize = 1 << 16;

/// Whether somebody wants the end of the run.
pub type EndWanted = Arc<dyn Fn() -> bool + Send + Sync>;

/// A problem whose averages over many draws are taken in portions, between which an evaluation can be broken off.
///
/// ```
/// use tangor_problem::{ClosureProblem, Draw, Meta, Noise, Noisy, Portions, SampledProblem};
///
/// let line = ClosureProblem::builder(Meta::new("line", vec![0.0])).objective(|x| x[0]).gradient(|_, g| g[0] = 1.0).build()?;
/// let mut line = Portions::new(Noisy::new(line, Noise::level(1e-2))?);
/// line.break_off_when(std::sync::Arc::new(|| true));
/// let (few, many): (Vec<Draw>, Vec<Draw>) = ((0..10).map(Draw).collect(), (0..1_000_000).map(Draw).collect());
/// assert!(line.gradient(&[3.0], &few, &mut [0.0]).is_ok());
/// assert!(line.gradient(&[3.0], &many, &mut [0.0]).is_err());
/// # Ok::<(), tangor_problem::Failure>(())
/// ```
pub struct Portions<S> {
    problem: S,
    /// Most draws of a portion.
    most: usize,
    end_wanted: Option<EndWanted>,
    /// Gradient, constraints and Jacobian of a portion; of no length before the first batch that needs one.
    portion: [Vec<f64>; 3],
}

impl<S: fmt::Debug> fmt::Debug for Portions<S> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Portions").field("problem", &self.problem).field("most", &self.most).finish_non_exhaustive()
    }
}

impl<S: SampledProblem> Portions<S> {
    /// Takes averages over as many draws at once as the problem's size suggests.
    pub fn new(problem: S) -> Self {
        let meta = problem.meta();
        let numbers = (meta.n() + meta.m()).saturating_add(meta.jacobian_len());
        let most = (NUMBERS / numbers.max(1)).clamp(FEWEST, MOST);
        Portions { problem, most, end_wanted: None, portion: [const { Vec::new() }; 3] }
    }

    /// Breaks a batch off after a portion when the end is wanted then: the evaluation fails.
    pub fn break_off_when(&mut self, end_wanted: EndWanted) {
        self.end_wanted = Some(end_wanted);
    }

    /// Evaluates every batch to its end again.
    pub fn never_break_off(&mut self) {
        self.end_wanted = None;
    }

    /// Whether so many draws are more than a portion.
    fn is_large(&self, draws: &[Draw]) -> bool {
        draws.len() > self.most
    }

    /// One portion after the other, each with its share of the whole; the first comes with `true`.
    fn each<E>(
        &mut self,
        draws: &[Draw],
        broken_off: impl Fn(Failure) -> E,
        mut take: impl FnMut(&mut S, &[Draw], f64, bool, &mut [Vec<f64>; 3]) -> Result<(), E>,
    ) -> Result<(), E> {
        let meta = self.problem.meta();
        for (portion, length) in self.portion.iter_mut().zip([meta.n(), meta.m(), meta.jacobian_len()]) {
            portion.resize(length, 0.0);
        }
        for (k, some) in draws.chunks(self.most).enumerate() {
            if k > 0 && self.end_wanted.as_ref().is_some_and(|wanted| wanted()) {
                return Err(broken_off(Failure::broken("the run is to end, in the middle of a batch of samples")));
            }
            take(&mut self.problem, some, some.len() as f64 / draws.len() as f64, k == 0, &mut self.portion)?;
        }
        Ok(())
    }

    /// The average of one function.
    fn average(
        &mut self,
        draws: &[Draw],
        k: usize,
        out: &mut [f64],
        evaluate: impl Fn(&mut S, &[Draw], &mut [f64]) -> Evaluation,
    ) -> Evaluation {
        let is_sampled = self.is_sampled()[k];
        if !(is_sampled && self.is_large(draws)) {
            return evaluate(&mut self.problem, draws, out);
        }
        out.fill(0.0);
        self.each(
            draws,
            |failure| failure,
            |problem, draws, share, _, portion| {
                evaluate(problem, draws, &mut portion[k])?;
                add(share, &portion[k], out);
                Ok(())
            },
        )
    }

    fn is_sampled(&self) -> [bool; 3] {
        let Accesses { gradient, constraints, jacobian } = self.problem.accesses();
        [gradient, constraints, jacobian].map(|access| access.is_sampled())
    }
}

impl<S: SampledProblem> SampledProblem for Portions<S> {
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
        self.average(draws, 0, g, |problem, draws, out| problem.gradient(x, draws, out))
    }
    fn constraints(&mut self, x: &[f64], draws: &[Draw], c: &mut [f64]) -> Evaluation {
        self.average(draws, 1, c, |problem, draws, out| problem.constraints(x, draws, out))
    }
    fn jacobian(&mut self, x: &[f64], draws: &[Draw], values: &mut [f64]) -> Evaluation {
        self.average(draws, 2, values, |problem, draws, out| problem.jacobian(x, draws, out))
    }
    /// What is exact is evaluated with the first portion alone: an average would round it.
    fn evaluate(&mut self, x: &[f64], draws: &[Draw], wanted: Wanted, out: &mut Outputs<'_>) -> Result<(), FunctionFailure> {
        let [gradient, constraints, jacobian] = self.is_sampled();
        let wanted = wanted.of(self.problem.meta());
        let sampled = Wanted {
            objective: wanted.objective,
            gradient: wanted.gradient && gradient,
            constraints: wanted.constraints && constraints,
            jacobian: wanted.jacobian && jacobian,
        };
        if !self.is_large(draws) || sampled == Wanted::NOTHING {
            return self.problem.evaluate(x, draws, wanted, out);
        }
        let first = sampled.first().unwrap_or(Function::Objective);
        let mut objective = wanted.objective.then_some(0.0);
        let broken_off = FunctionFailure::of(first);
        self.each(draws, broken_off, |problem, draws, share, is_first, [g, c, j]| {
            let mut portion = Outputs::new(g, c, j);
            problem.evaluate(x, draws, if is_first { wanted } else { sampled }, &mut portion)?;
            objective = objective.zip(portion.objective).map(|(sum, value)| sum + share * value);
            let parts = [
                (wanted.gradient, sampled.gradient, &mut *out.gradient, &*portion.gradient),
                (wanted.constraints, sampled.constraints, &mut *out.constraints, &*portion.constraints),
                (wanted.jacobian, sampled.jacobian, &mut *out.jacobian, &*portion.jacobian),
            ];
            for (wanted, is_sampled, out, portion) in parts {
                match (wanted, is_sampled) {
                    (true, true) if is_first => {
                        out.fill(0.0);
                        add(share, portion, out);
                    }
                    (true, true) => add(share, portion, out),
                    (true, false) if is_first => out.copy_from_slice(portion),
                    _ => {}
                }
            }
            Ok(())
        })?;
        out.objective = objective;
        Ok(())
    }
    fn objective(&mut self, x: &[f64], draws: &[Draw]) -> Option<Evaluation<f64>> {
        if !self.is_large(draws) {
            return self.problem.objective(x, draws);
        }
        let mut average = Some(0.0);
        let done = self.each(
            draws,
            |failure| failure,
            |problem, draws, share, _, _| {
                let value = problem.objective(x, draws).transpose()?;
                average = average.zip(value).map(|(sum, value)| sum + share * value);
                Ok(())
            },
        );
        done.map(|()| average).transpose()
    }
    fn exact(&mut self) -> Option<&mut dyn Problem> {
        self.problem.exact()
    }
    fn second_order(&mut self) -> Option<&mut dyn SecondOrder> {
        self.problem.second_order()
    }
}

/// `sum += share * values`
fn add(share: f64, values: &[f64], sum: &mut [f64]) {
    sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += share * value);
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::Access;

    /// Gradient and constraints are the mean of the draws' numbers, the Jacobian is exact: 1/3, which no average keeps.
    struct Numbers {
        meta: Meta,
        largest: Arc<AtomicUsize>,
    }

    impl Numbers {
        fn mean(&self, draws: &[Draw]) -> f64 {
            self.largest.fetch_max(draws.len(), Ordering::Relaxed);
            draws.iter().map(|draw| draw.0 as f64).sum::<f64>() / draws.len() as f64
        }
    }

    impl SampledProblem for Numbers {
        fn meta(&self) -> &Meta {
            &self.meta
        }
        fn accesses(&self) -> Accesses {
            Accesses { jacobian: Access::Exact, ..Accesses::all(Access::Endless) }
        }
        fn gradient(&mut self, _: &[f64], draws: &[Draw], g: &mut [f64]) -> Evaluation {
            g[0] = self.mean(draws);
            Ok(())
        }
        fn constraints(&mut self, _: &[f64], draws: &[Draw], c: &mut [f64]) -> Evaluation {
            c[0] = -self.mean(draws);
            Ok(())
        }
        fn jacobian(&mut self, _: &[f64], _: &[Draw], values: &mut [f64]) -> Evaluation {
            values[0] = 1.0 / 3.0;
            Ok(())
        }
        fn objective(&mut self, _: &[f64], draws: &[Draw]) -> Option<Evaluation<f64>> {
            Some(Ok(2.0 * self.mean(draws)))
        }
    }

    fn numbers() -> (Portions<Numbers>, Arc<AtomicUsize>) {
        let largest = Arc::new(AtomicUsize::new(0));
        let meta = Meta::new("numbers", vec![0.0]).at_most(&[0.0]);
        (Portions::new(Numbers { meta, largest: Arc::clone(&largest) }), largest)
    }

    #[test]
    fn averages_are_those_of_the_whole_and_no_portion_is_large() {
        // 0, 1, ..., 200000: the mean is 100000, over four portions of which the last is short.
        let draws: Vec<Draw> = (0..=200_000).map(Draw).collect();
        let (mut problem, largest) = numbers();
        let (mut g, mut c, mut j) = ([9.0], [9.0], [9.0]);
        let close = |value: f64, expected: f64| (value - expected).abs() < 1e-9;
        problem.gradient(&[0.0], &draws, &mut g).expect("a mean");
        assert!(close(g[0], 1e5), "{}", g[0]);
        let mut out = Outputs::new(&mut g, &mut c, &mut j);
        problem.evaluate(&[0.0], &draws, Wanted::SAMPLED, &mut out).expect("means");
        assert!(close(g[0], 1e5) && close(c[0], -1e5), "{} {}", g[0], c[0]);
        assert_eq!(j, [1.0 / 3.0], "exact is exact");
        let f = problem.objective(&[0.0], &draws).expect("told").expect("a mean");
        assert!(close(f, 2e5), "{f}");
        assert_eq!(largest.load(Ordering::Relaxed), MOST);
    }

    #[test]
    fn a_large_problem_has_small_portions() {
        let meta = |n: usize| Meta::new("wide", vec![0.0; n]).at_most(&[0.0]);
        let most = |n: usize| Portions::new(Numbers { meta: meta(n), largest: Arc::default() }).most;
        // Of 1,000 variables and one dense row: 2,001 numbers a sample.
        assert_eq!([1, 1000, 1_000_000].map(most), [MOST, NUMBERS / 2001, FEWEST]);
    }

    #[test]
    fn the_end_is_noticed_between_two_portions() {
        let draws: Vec<Draw> = (0..1_000_000).map(Draw).collect();
        let (mut problem, _) = numbers();
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        problem.break_off_when(Arc::new(move || count.fetch_add(1, Ordering::Relaxed) == 2));
        let failure = problem.constraints(&[0.0], &draws, &mut [0.0]).expect_err("broken off");
        assert!(failure.is_broken() && failure.to_string().contains("the run is to end"), "{failure}");
        assert_eq!(asked.load(Ordering::Relaxed), 3);
        problem.never_break_off();
        assert!(problem.constraints(&[0.0], &draws, &mut [0.0]).is_ok());
    }
}
