//! Full steps that nothing tests on their way, where the violation falls too slowly.
//!
//! In a narrow valley of the violation, curved as it may be, every step that must descend is short. Newton's steps need not descend, and often leave
//! the valley for a point where all rows hold. So where constraints are all there is and the violation has not halved for many iterations, a few such
//! steps are tried from the current point. Where they end is taken if the violation is at most half of what it was, and if the inequality of
//! the proof holds between the two ends; otherwise the run goes on from where it is. Each of these steps counts as an iteration.

use serde::{Deserialize, Serialize};
use tangor_problem::SampledProblem;

use crate::kernel::vector::norm;
use crate::solver::Solver;
use crate::steps::lipschitz::LEAST_CAUTION;
use crate::steps::local_model::LocalModel;
use crate::steps::normal_step::Repair;
use crate::{Event, NormalVariant, Stop, Unusual};

/// What the violation must have become, relative to what it was.
const HALF: f64 = 0.5;

/// The first excursion comes after so many iterations in which the violation has not halved, each next one after twice as many, up to the last.
const PATIENCE: u32 = 20;
const MOST_PATIENCE: u32 = 640;

/// So many steps lead away at most.
const STEPS: u32 = 40;

/// How much of `L_c` the steps reckon with, excursion by excursion: nothing is Newton's method.
const CAUTION: [f64; 4] = [0.0, 0.1, 0.01, 1.0];

/// How slowly the violation falls.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Slowness {
    /// Iterations since the violation last halved, and what it was then, if it is known yet.
    iterations: u32,
    violation: Option<f64>,
    patience: u32,
    /// Excursions that led nowhere since then.
    in_vain: u32,
}

impl Default for Slowness {
    fn default() -> Self {
        Slowness { iterations: 0, violation: None, patience: PATIENCE, in_vain: 0 }
    }
}

impl Slowness {
    /// An iteration at a point with this violation; true: it has fallen too slowly for too long.
    fn count(&mut self, violation: f64) -> bool {
        if self.violation.is_none_or(|before| violation <= HALF * before) {
            *self = Slowness { violation: Some(violation), ..Slowness::default() };
        }
        self.iterations += 1;
        self.iterations > self.patience
    }

    /// An excursion led nowhere: the next one is another, and comes later.
    fn was_in_vain(&mut self) {
        self.iterations = 0;
        self.patience = (2 * self.patience).min(MOST_PATIENCE);
        self.in_vain += 1;
    }

    fn caution(&self) -> f64 {
        CAUTION[self.in_vain as usize % CAUTION.len()]
    }
}

impl<S: SampledProblem> Solver<S> {
    /// Whether an excursion is due and leads to a point that is accepted: then the trial is there, with its derivatives.
    pub(super) fn excursion_leads_on(&mut self, phi: f64, decrease: f64, unusual: &mut Unusual) -> Result<bool, Stop> {
        let possible = self.only_repairs()
            && self.noisy.is_none()
            && !self.state.progress.lipschitz.are_given()
            && self.settings.normal.variant == NormalVariant::Majorised;
        let violation = norm(&self.state.current.h);
        if !possible || !self.state.progress.slowness.count(violation) {
            return Ok(false);
        }
        let led_on = self.lead_away(phi - decrease, violation, unusual);
        if led_on.is_err() {
            self.beginning.break_off();
        }
        led_on
    }

    /// Steps from the trial until one has halved the violation, and its merit function is at most `phi`.
    fn lead_away(&mut self, phi: f64, violation: f64, unusual: &mut Unusual) -> Result<bool, Stop> {
        let caution = self.state.progress.slowness.caution() * self.state.progress.lipschitz.constraints;
        self.trial.copy_from(&self.state.current);
        for _ in 0..STEPS {
            self.check_clock()?;
            // A run whose limit is within an excursion ends in this iteration, which a resumed run does again: cut off, it would have been in vain.
            if self.state.progress.iteration + 1 >= self.settings.limits.iterations {
                self.state.progress.count_iteration();
                return Err(Stop::Iterations);
            }
            self.step_from_the_trial(caution, unusual);
            self.state.progress.count_iteration();
            if !(self.evaluate_trial(unusual)? && self.evaluate_derivatives(unusual)?) {
                break;
            }
            if norm(&self.trial.h) <= HALF * violation && self.trial_merit() <= phi {
                unusual.insert(Event::Excursion);
                return Ok(true);
            }
        }
        self.state.progress.slowness.was_in_vain();
        Ok(false)
    }

    /// Moves the trial by a normal step of its own, which reckons with so much of a constant `L_c`.
    fn step_from_the_trial(&mut self, caution: f64, unusual: &mut Unusual) {
        let standard = &self.oracle.standard;
        self.steps.bounds.around(&self.trial.z, &standard.lower, &standard.upper);
        let local = LocalModel { at: &self.trial, bounds: &self.steps.bounds, metric: &self.state.metric, clock: &self.clock };
        let (y, d) = (&mut self.steps.search.y, &mut self.steps.search.d);
        // As little softness as any that steps have earned.
        let all = Repair { residual: &self.trial.h, softness: caution * norm(&self.trial.h), posed: LEAST_CAUTION };
        self.steps.normal.repair(local, all, y, d, &mut self.steps.projection, unusual);
        self.trial.move_within_bounds(d, standard);
    }
}

#[cfg(test)]
mod tests {
    use tangor_problem::{ClosureProblem, Meta};

    use super::*;
    use crate::{Point, Scaling, Settings, Silent, solve};

    #[test]
    fn patience_doubles_until_the_violation_halves() {
        let mut slowness = Slowness::default();
        let mut due_after = |violation: f64| {
            let waited = (1..).find(|_| slowness.count(violation)).unwrap_or(0);
            slowness.was_in_vain();
            (waited, slowness.caution())
        };
        assert_eq!([due_after(1.0), due_after(0.9), due_after(0.8)], [(21, 0.1), (41, 0.01), (81, 1.0)]);
        // Half of the last one that counted.
        assert_eq!(due_after(0.5), (21, 0.1));
    }

    #[test]
    fn newton_steps_leave_a_valley_that_descent_follows() {
        // A chain of Rosenbrock's valleys, 10 (x_i - x_{i+1}^2) = 0 and x_n = 1, from -1: descent follows one valley after the other.
        let n = 10;
        let chain = || {
            let mut sides = vec![0.0; n];
            sides[n - 1] = 1.0;
            let meta = Meta::new("valleys", vec![-1.0; n]).equalities(&sides).no_objective();
            ClosureProblem::builder(meta)
                .constraints(move |x, c| {
                    (0..n - 1).for_each(|i| c[i] = 10.0 * (x[i] - x[i + 1] * x[i + 1]));
                    c[n - 1] = x[n - 1];
                })
                .jacobian(move |x, values| {
                    values.fill(0.0);
                    for i in 0..n - 1 {
                        values[i * n + i] = 10.0;
                        values[i * n + i + 1] = -20.0 * x[i + 1];
                    }
                    values[n * n - 1] = 1.0;
                })
                .build()
                .unwrap()
        };
        let settings = Settings { scaling: Scaling::None, ..Settings::default() };
        let report = solve(chain(), settings.clone()).unwrap();
        assert_eq!(report.point, Point::EpsKkt);
        assert!(report.unusual.iter().any(|(event, _)| *event == Event::Excursion), "{:?}", report.unusual);
        // Its steps are iterations: a limit on these holds, wherever it falls.
        for limit in 1..report.iterations {
            let mut few = settings.clone();
            few.limits.iterations = limit;
            let mut solver = Solver::new(chain(), few).unwrap();
            let stopped = solver.run(&mut Silent);
            assert_eq!((stopped.stop, stopped.iterations), (Stop::Iterations, limit));
            // The run that goes on from there is the one without the limit.
            let mut checkpoint = solver.checkpoint();
            checkpoint.settings.limits = settings.limits.clone();
            let resumed = Solver::resume(chain(), checkpoint).unwrap().run(&mut Silent);
            assert_eq!(
                (&resumed.x, resumed.iterations, resumed.evaluations),
                (&report.x, report.iterations, report.evaluations),
                "{limit}"
            );
        }
    }
}
