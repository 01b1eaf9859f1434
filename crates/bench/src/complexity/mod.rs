//! Measured oracle complexity: how many samples the method needs for an eps-KKT point, against `eps`, in the five settings of the
//! paper's Table 1, on a problem with known constants, by the paper's rules and by the defaults.

mod measurement;
mod outcome;
mod setting;
mod slope;
pub mod valley;

use std::sync::atomic::AtomicBool;

pub use measurement::Measurement;
pub use outcome::{Line, Outcome};
pub use setting::{Oracle, Rules, Setting};
pub use slope::Fit;

use crate::Error;
use crate::progress::Crew;
use measurement::Trial;

/// How many values of `eps` there are, each smaller than the one before by the square root of 2.
pub const VALUES: usize = 9;
/// The fewest that a slope is fitted to.
pub const FEWEST_VALUES: usize = 5;
/// Seeds whose median is taken, unless told otherwise.
pub const SEEDS: u64 = 5;
/// How much of the proven stepsize is taken, unless told otherwise.
pub const TAU: f64 = 0.1;
/// The paper allows all below 1/2, but batches of recursive momentum grow with the square of a step, and lists of draws need memory.
pub const LARGEST_TAU: f64 = 0.2;
/// The largest `eps`: the residuals of the start are 2 and 1.
const LARGEST: f64 = 0.8;

/// What is measured, and how.
#[derive(Debug)]
pub struct Study<'a> {
    /// How many seeds noisy runs have; at least 1.
    pub seeds: u64,
    /// How many of the values of `eps` are used, from the largest; between [`FEWEST_VALUES`] and [`VALUES`].
    pub values: usize,
    /// How much of the proven stepsize is taken by the paper's rules; above 0 and at most [`LARGEST_TAU`].
    pub tau: f64,
    /// Runs at the same time.
    pub jobs: usize,
    /// Ends the study in order when it becomes true.
    pub interrupt: &'a AtomicBool,
    /// Whether a bar is shown, on a terminal only.
    pub progress: bool,
}

impl Study<'_> {
    /// The values of `eps`, falling.
    pub fn eps(&self) -> Vec<f64> {
        let values = self.values.clamp(FEWEST_VALUES, VALUES);
        (0..values).map(|k| LARGEST * 0.5f64.powf(k as f64 / 2.0)).collect()
    }

    fn trials(&self) -> Vec<Trial> {
        let mut trials = Vec::new();
        for (rules, setting) in Rules::ALL.into_iter().flat_map(|rules| Setting::ALL.map(|setting| (rules, setting))) {
            let seeds = if setting.is_sampled() { self.seeds.max(1) } else { 1 };
            for eps in self.eps() {
                trials.extend((0..seeds).map(|seed| Trial { rules, setting, eps, seed, tau: self.tau }));
            }
        }
        trials
    }

    /// Runs everything.
    pub fn run(&self) -> Result<Outcome, Error> {
        if !(self.tau > 0.0 && self.tau <= LARGEST_TAU) {
            return Err(Error::Refused(format!("tau is {}, but must be above 0 and at most {LARGEST_TAU} here", self.tau)));
        }
        let trials = self.trials();
        // The longest runs come first, so that no core waits for another at the end.
        let mut order: Vec<usize> = (0..trials.len()).collect();
        order.sort_by(|a, b| trials[*a].eps.total_cmp(&trials[*b].eps));
        let crew = Crew { jobs: self.jobs, shown: self.progress, interrupt: self.interrupt };
        let done = crew.make(&order, |&place| trials[place].setting.name(), |&place| trials[place].run(self.interrupt))?;
        let mut results = vec![None; trials.len()];
        order.iter().zip(done).for_each(|(&place, result)| results[place] = result.flatten());
        let measurements: Vec<Measurement> = results.into_iter().flatten().collect();
        Ok(Outcome::new(measurements, trials.len(), self.tau))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn study(jobs: usize, tau: f64) -> Result<Outcome, Error> {
        Study { seeds: 2, values: FEWEST_VALUES, tau, jobs, interrupt: &AtomicBool::new(false), progress: false }.run()
    }

    #[test]
    fn a_short_study_has_slopes_that_are_no_worse_and_does_not_depend_on_threads() {
        let outcome = study(2, TAU).expect("a valid study");
        // The deterministic runs need no seeds.
        assert_eq!(outcome.measurements.len(), 2 * FEWEST_VALUES * (1 + 4 * 2));
        assert_eq!(outcome.lines.len(), 30);
        for line in outcome.lines.iter().filter(|line| line.rules == Rules::Paper) {
            assert_eq!(line.is_no_worse(), Some(true), "{line:?}");
            assert!(line.points.is_sorted_by(|a, b| a.0 > b.0 && a.1 < b.1), "smaller residuals take more: {line:?}");
        }
        assert_eq!(study(1, TAU).expect("a valid study").measurements, outcome.measurements);
    }

    #[test]
    fn a_stepsize_that_needs_too_much_memory_is_refused() {
        for tau in [0.0, 0.3, f64::NAN] {
            assert!(study(1, tau).is_err_and(|error| error.to_string().contains("must be above 0 and at most 0.2")));
        }
    }
}
