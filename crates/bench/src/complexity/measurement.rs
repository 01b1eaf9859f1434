//! One run: how much of each oracle it takes until an iterate is an eps-KKT point.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;
use tangor_problem::SampledProblem;
use tangor_solver::{Row, Solver};

use super::setting::{Oracle, Rules, Setting};
use super::valley::Valley;
use crate::Error;

/// What is to be run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// Whose rules.
    pub rules: Rules,
    /// The row of the table.
    pub setting: Setting,
    /// Which residuals are wanted.
    pub eps: f64,
    /// The seed of all draws.
    pub seed: u64,
    /// How much of the proven stepsize is taken, by the paper's rules.
    pub tau: f64,
}

/// What it took. A function that is exact counts its evaluations, one that is sampled its samples: the same sample at two points
/// counts twice.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Measurement {
    /// Whose rules.
    pub rules: Rules,
    /// The row of the table.
    pub setting: Setting,
    /// Which residuals were wanted.
    pub eps: f64,
    /// The seed of all draws.
    pub seed: u64,
    /// Whether they were reached.
    pub reached: bool,
    /// Iterations until then.
    pub iterations: u64,
    /// Gradients of the objective.
    pub objective_gradients: u64,
    /// Gradients of the constraint.
    pub constraint_gradients: u64,
    /// Values of the constraint.
    pub constraint_values: u64,
}

impl Measurement {
    /// The count of one function.
    pub fn count(&self, oracle: Oracle) -> u64 {
        match oracle {
            Oracle::Gradient => self.objective_gradients,
            Oracle::Jacobian => self.constraint_gradients,
            Oracle::Constraints => self.constraint_values,
        }
    }
}

impl Trial {
    /// Runs until the exact residuals of an iterate are at most `eps`. As in the paper's theorems, the estimates at that iterate
    /// are counted too. None: the flag ended it.
    pub fn run(&self, interrupt: &AtomicBool) -> Result<Option<Measurement>, Error> {
        let problem = self.setting.problem();
        let settings = self.setting.settings(self.rules, self.eps, self.tau, self.seed);
        let refused = |error: tangor_solver::Error| Error::Refused(error.to_string());
        if self.setting.is_sampled() {
            Ok(self.follow(Solver::sampled(problem, settings).map_err(refused)?, interrupt))
        } else {
            Ok(self.follow(Solver::new(problem, settings).map_err(refused)?, interrupt))
        }
    }

    fn follow<S: SampledProblem>(&self, mut solver: Solver<S>, interrupt: &AtomicBool) -> Option<Measurement> {
        let mut measurement = Measurement {
            rules: self.rules,
            setting: self.setting,
            eps: self.eps,
            seed: self.seed,
            reached: false,
            iterations: 0,
            objective_gradients: 0,
            constraint_gradients: 0,
            constraint_values: 0,
        };
        // A row comes after its step: what it counts went into the iterate of the next row and the estimates there.
        let mut observer = |row: &Row, x: &[f64]| {
            measurement.iterations = row.iteration;
            if Valley::residuals(x).iter().all(|residual| *residual <= self.eps) {
                measurement.reached = true;
                return ControlFlow::Break(());
            }
            let used = |evaluations: u64, samples: u64| if samples > 0 { samples } else { evaluations };
            measurement.objective_gradients = used(row.evaluations.gradient, row.samples.gradient);
            measurement.constraint_gradients = used(row.evaluations.jacobian, row.samples.jacobian);
            measurement.constraint_values = used(row.evaluations.constraints, row.samples.constraints);
            if interrupt.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        solver.run(&mut observer);
        (measurement.reached || !interrupt.load(Ordering::Relaxed)).then_some(measurement)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(setting: Setting, eps: f64, seed: u64) -> Measurement {
        run_by(Rules::Paper, setting, eps, seed)
    }

    fn run_by(rules: Rules, setting: Setting, eps: f64, seed: u64) -> Measurement {
        let trial = Trial { rules, setting, eps, seed, tau: 0.1 };
        trial.run(&AtomicBool::new(false)).expect("a valid trial").expect("nobody interrupts")
    }

    #[test]
    fn the_defaults_reach_an_eps_kkt_point_in_every_setting() {
        for setting in Setting::ALL {
            let measurement = run_by(Rules::Defaults, setting, 0.4, 0);
            assert!(measurement.reached && measurement.objective_gradients > 0, "{measurement:?}");
            assert_ne!(measurement, Measurement { rules: Rules::Defaults, ..run(setting, 0.4, 0) }, "other rules, other runs");
        }
    }

    #[test]
    fn exact_functions_are_evaluated_once_at_every_iterate() {
        let measurement = run(Setting::Deterministic, 0.4, 0);
        assert!(measurement.reached && measurement.iterations > 10);
        assert_eq!(Oracle::ALL.map(|oracle| measurement.count(oracle)), [measurement.iterations + 1; 3]);
        let half = run(Setting::SemiMinibatch, 0.4, 0);
        assert_eq!([half.constraint_gradients, half.constraint_values], [half.iterations + 1; 2]);
    }

    #[test]
    fn minibatches_have_the_sizes_of_the_paper() {
        let eps: f64 = 0.4;
        let measurement = run(Setting::FullMinibatch, eps, 3);
        let log = 20f64.ln();
        // 9 sigma^2 log(1 / gamma) / eps^2, and eps^4 for values, at each of the iterates.
        let sizes = [9.0 * 0.25 * log / eps.powi(2), 9.0 / 64.0 * log / eps.powi(2), 9.0 / 64.0 * log / eps.powi(4)];
        let expected = sizes.map(|size| size.ceil() as u64 * (measurement.iterations + 1));
        assert!(measurement.reached);
        assert_eq!(Oracle::ALL.map(|oracle| measurement.count(oracle)), expected);
    }

    #[test]
    fn a_seed_fixes_a_run_and_an_interrupt_ends_it() {
        let first = run(Setting::FullMomentum, 0.8, 1);
        assert_eq!(first, run(Setting::FullMomentum, 0.8, 1));
        assert_ne!(first, run(Setting::FullMomentum, 0.8, 2));
        let trial = Trial { rules: Rules::Paper, setting: Setting::FullMomentum, eps: 0.8, seed: 1, tau: 0.1 };
        assert_eq!(trial.run(&AtomicBool::new(true)).expect("a valid trial"), None);
        let refused = Trial { tau: 0.7, ..trial }.run(&AtomicBool::new(false));
        assert!(refused.is_err_and(|error| error.to_string().contains("sampling.tau")));
    }
}
