//! Large batches in portions, so that nobody waits for the whole of one that is not wanted any more.

use std::fmt;
use std::sync::Arc;

use crate::{Draw, Failure, Meta};

/// Numbers that a portion computes, all samples together, and the fewest and most samples of one: a fraction of a second of usual work.
/// They follow from the problem's sizes alone, so that an average has the same bits on every machine.
const NUMBERS: usize = 1 << 26;
const FEWEST: usize = 256;
const MOST: usize = 1 << 16;

/// Whether somebody wants the end of the run.
pub type EndWanted = Arc<dyn Fn() -> bool + Send + Sync>;

/// Cuts batches, and holds what a part of one gives.
pub(crate) struct Portions {
    /// Most draws of a portion.
    most: usize,
    /// Asked between two portions.
    pub end_wanted: Option<EndWanted>,
    /// Gradient, constraints and Jacobian of a portion; of no length before the first batch that needs one.
    parts: [Vec<f64>; 3],
}

impl fmt::Debug for Portions {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Portions").field("most", &self.most).finish_non_exhaustive()
    }
}

impl Portions {
    /// Every batch is one portion.
    pub fn whole() -> Self {
        Portions { most: usize::MAX, end_wanted: None, parts: [const { Vec::new() }; 3] }
    }

    /// As many draws at once as the problem's size suggests.
    pub fn of(meta: &Meta) -> Self {
        let numbers = (meta.n() + meta.m()).saturating_add(meta.jacobian_len());
        Portions { most: (NUMBERS / numbers.max(1)).clamp(FEWEST, MOST), ..Portions::whole() }
    }

    pub fn is_end_wanted(&self) -> bool {
        self.end_wanted.as_ref().is_some_and(|wanted| wanted())
    }

    /// Whether so many draws are more than a portion.
    pub fn are_several(&self, draws: &[Draw]) -> bool {
        draws.len() > self.most
    }

    /// One portion after the other, each with its share of the whole; the first comes with `true`.
    pub fn each<E>(
        &mut self,
        lengths: [usize; 3],
        draws: &[Draw],
        broken_off: impl Fn(Failure) -> E,
        mut take: impl FnMut(&[Draw], f64, bool, &mut [Vec<f64>; 3]) -> Result<(), E>,
    ) -> Result<(), E> {
        for (part, length) in self.parts.iter_mut().zip(lengths) {
            part.resize(length, 0.0);
        }
        for (k, some) in draws.chunks(self.most).enumerate() {
            if k > 0 && self.is_end_wanted() {
                return Err(broken_off(Failure::broken("the run is to end, in the middle of a batch of samples")));
            }
            take(some, some.len() as f64 / draws.len() as f64, k == 0, &mut self.parts)?;
        }
        Ok(())
    }
}

/// `sum += share * values`
pub(crate) fn add(share: f64, values: &[f64], sum: &mut [f64]) {
    sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += share * value);
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::{Access, Accesses, Counted, Evaluation, Outputs, SampledProblem, Samples, Wanted};

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

    fn numbers() -> (Counted<Numbers>, Arc<AtomicUsize>) {
        let largest = Arc::new(AtomicUsize::new(0));
        let meta = Meta::new("numbers", vec![0.0]).at_most(&[0.0]);
        (Counted::in_portions(Numbers { meta, largest: Arc::clone(&largest) }), largest)
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
        let most = |n: usize| Portions::of(&Meta::new("wide", vec![0.0; n]).at_most(&[0.0])).most;
        // Of 1,000 variables and one dense row: 2,001 numbers a sample.
        assert_eq!([1, 1000, 1_000_000].map(most), [MOST, NUMBERS / 2001, FEWEST]);
    }

    #[test]
    fn the_end_is_noticed_between_two_portions() {
        let draws: Vec<Draw> = (0..1_000_000).map(Draw).collect();
        let (mut problem, _) = numbers();
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        problem.break_off_when(Some(Arc::new(move || count.fetch_add(1, Ordering::Relaxed) == 2)));
        let failure = problem.constraints(&[0.0], &draws, &mut [0.0]).expect_err("broken off");
        assert!(failure.is_broken() && failure.to_string().contains("the run is to end"), "{failure}");
        assert_eq!(asked.load(Ordering::Relaxed), 3);
        // Three portions were evaluated, and no more are counted.
        assert_eq!(problem.samples(), Samples { constraints: 3 * MOST as u64, ..Samples::default() });
        problem.break_off_when(None);
        assert!(problem.constraints(&[0.0], &draws, &mut [0.0]).is_ok());
        assert_eq!(problem.samples().constraints, 3 * MOST as u64 + 1_000_000);
    }
}
