//! The stepsize `eta`: from the Lipschitz constants, and accepted when the merit function descends as the proof needs it,
//! `phi(z + eta s) <= phi(z) - eta (1 - tau)/2 s^T H s` (descent-ine).

use tangor_problem::SampledProblem;

use crate::kernel::vector::{dot, norm};
use crate::solver::Solver;
use crate::steps::correction::HELD_BACK;
use crate::steps::lipschitz::Trial;
use crate::{Event, Lipschitz, NormalVariant, Stop, Unusual};

/// The relative rounding error that a sum of many terms may have.
pub const ROUNDING: f64 = 64.0 * f64::EPSILON;

/// What is left of a step that led to where a function has no value: nothing tells how far away the next value is.
pub const TO_WHERE_VALUES_ARE: f64 = 0.25;

/// The memory of the search and of the metric's update.
pub struct SearchMemory {
    /// `A s` without slacks
    pub linear: Vec<f64>,
    pub remainder: Vec<f64>,
    pub y: Vec<f64>,
    pub d: Vec<f64>,
    pub dz: Vec<f64>,
    pub dl: Vec<f64>,
}

impl SearchMemory {
    pub fn new(m: usize, columns: usize) -> Self {
        let (rows, columns) = (vec![0.0; m], vec![0.0; columns]);
        SearchMemory {
            linear: rows.clone(),
            remainder: rows.clone(),
            y: rows,
            d: columns.clone(),
            dz: columns.clone(),
            dl: columns,
        }
    }
}

/// The merit function along the step.
pub struct Line {
    phi: f64,
    /// `g^T s`
    slope: f64,
    /// `|s|^2` over the variables
    square: f64,
    /// `s^T H s`
    metric_square: f64,
    /// `|h|`
    pub residual: f64,
    /// Bounds on the rounding errors of `h` and of `phi`
    rounding_of_rows: f64,
    rounding: f64,
}

impl<S: SampledProblem> Solver<S> {
    /// Finds the stepsize and leaves the accepted point, with its derivatives, in `trial`.
    pub(crate) fn find_acceptable_trial(&mut self, unusual: &mut Unusual) -> Result<f64, Stop> {
        let tau = self.settings.stepsize.tau;
        let given = matches!(self.settings.stepsize.lipschitz, Lipschitz::Given { .. });
        let line = self.line();
        let decrease = 0.5 * (1.0 - tau) * line.metric_square;
        if self.excursion_leads_on(line.phi, decrease, unusual)? {
            return Ok(1.0);
        }
        let mut eta = self.stepsize();
        let mut easy = true;
        let mut may_correct = self.settings.stepsize.correction && !given;
        let majorised = self.settings.normal.variant == NormalVariant::Majorised;
        let mut may_bend = may_correct && majorised && self.steps.normal.theta < HELD_BACK;
        loop {
            self.check_limits(eta)?;
            self.place_trial(eta, false);
            if !self.evaluate_trial(unusual)? {
                eta *= TO_WHERE_VALUES_ARE;
                continue;
            }
            let mut told = self.tell(&line, eta);
            if may_bend {
                may_bend = false;
                may_correct = !self.bend(&line, eta, &mut told, unusual)?;
            }
            let allowed = line.phi - 0.5 * eta * (1.0 - tau) * line.metric_square + line.rounding;
            let mut accepted = given || self.trial_merit() <= allowed || self.descends_by_gradients(&line, eta, unusual)?;
            if !accepted && may_correct && self.curvature_is_to_blame(&told, allowed) {
                may_correct = false;
                self.correct(eta, 0.0, unusual);
                accepted = self.evaluate_trial(unusual)? && self.trial_merit() <= allowed;
                if accepted {
                    unusual.insert(Event::Corrected);
                    told.merit = (self.trial_merit() - self.model(&line, eta), line.rounding);
                }
            }
            if accepted {
                if self.evaluate_derivatives(unusual)? {
                    self.state.progress.lipschitz.accept(&told, easy);
                    return Ok(eta);
                }
                eta *= TO_WHERE_VALUES_ARE;
                continue;
            }
            easy = false;
            unusual.insert(Event::Shortened);
            self.state.progress.lipschitz.reject(&told, tau);
            eta = self.stepsize();
        }
    }

    /// The stepsize by the constants that are known now.
    fn stepsize(&self) -> f64 {
        let (rho, scalar) = (self.state.progress.rho, self.state.metric.scalar());
        self.state.progress.lipschitz.stepsize(rho, self.settings.stepsize.tau, self.steps.normal.cap, scalar)
    }

    /// Whether the merit function descends where the change of the objective is lost in its rounding error, by the trapezium rule with the
    /// gradients at both ends. The terms of the objective are at least as large as its values once were, and may cancel now.
    fn descends_by_gradients(&mut self, line: &Line, eta: f64, unusual: &mut Unusual) -> Result<bool, Stop> {
        let change = self.trial.f - self.state.current.f;
        let lost = change.abs().max(eta * line.slope.abs()) <= ROUNDING * self.state.progress.largest_objective;
        if !self.settings.stepsize.gradient_test || !lost || !self.evaluate_derivatives(unusual)? {
            return Ok(false);
        }
        let (here, there) = (&self.state.current, &self.trial);
        let slopes = here.g.iter().zip(&there.g).zip(here.z.iter().zip(&there.z));
        let objective = slopes.map(|((g, ahead), (z, end))| 0.5 * (g + ahead) * (end - z)).sum::<f64>();
        let residual = self.state.progress.rho * (norm(&self.trial.h) - line.residual);
        let descends = objective + residual <= -0.5 * eta * (1.0 - self.settings.stepsize.tau) * line.metric_square;
        if descends {
            unusual.insert(Event::Rounded);
        }
        Ok(descends)
    }

    fn line(&mut self) -> Line {
        self.state.progress.see_objective(self.state.current.f);
        let (current, s) = (&self.state.current, &self.steps.tangent.s);
        let residual = norm(&current.h);
        current.jacobian.a.apply(&s[..current.n()], &mut self.steps.search.linear);
        // The terms of a row may be large where its value is not.
        let rows = norm(&current.c) + residual + current.jacobian.a.size_of_terms(&current.z[..current.n()]);
        let size = current.f.abs() + self.state.progress.rho * rows;
        Line {
            phi: current.f + self.state.progress.rho * residual,
            slope: dot(&current.g, s),
            square: dot(&s[..current.n()], &s[..current.n()]),
            metric_square: self.state.metric.square(s),
            residual,
            rounding_of_rows: ROUNDING * rows,
            rounding: ROUNDING * size,
        }
    }

    pub(crate) fn check_limits(&self, eta: f64) -> Result<(), Stop> {
        let (s, z) = (&self.steps.tangent.s, &self.state.current.z);
        if !(eta * norm(s)).is_finite() {
            return Err(Stop::NumericalTrouble);
        }
        // Estimates change even where the point does not.
        let exact = self.noisy.is_none();
        let smallest = self.settings.stepsize.smallest;
        if exact && s.iter().zip(z).all(|(s, z)| eta * s.abs() <= smallest * (1.0 + z.abs())) {
            return Err(Stop::StepTooSmall);
        }
        self.check_clock()
    }

    /// The reason to end when time is over or the user asked for it.
    pub(crate) fn check_clock(&self) -> Result<(), Stop> {
        if self.clock.is_interrupted() {
            return Err(Stop::User);
        }
        if self.clock.is_late() { Err(Stop::WallTime) } else { Ok(()) }
    }

    /// `trial.z = z + eta s`, plus the correction `d` when asked; never outside the bounds, whatever rounding does.
    pub(crate) fn place_trial(&mut self, eta: f64, corrected: bool) {
        let standard = &self.oracle.standard;
        self.trial.put(|i| {
            let correction = if corrected { self.steps.search.d[i] } else { 0.0 };
            let z = self.state.current.z[i] + eta * self.steps.tangent.s[i] + correction;
            z.max(standard.lower[i]).min(standard.upper[i])
        });
    }

    /// How far the variables of the trial point are away.
    pub(crate) fn distance_to_trial(&self) -> f64 {
        let n = self.state.current.n();
        self.trial.z[..n].iter().zip(&self.state.current.z).map(|(trial, here)| (trial - here).powi(2)).sum::<f64>().sqrt()
    }

    /// False: a function has no value here.
    pub(crate) fn evaluate_trial(&mut self, unusual: &mut Unusual) -> Result<bool, Stop> {
        let done = self.oracle.values(&mut self.trial, self.settings.stepsize.slack_reset);
        self.is_defined(done, unusual)
    }

    pub(crate) fn evaluate_derivatives(&mut self, unusual: &mut Unusual) -> Result<bool, Stop> {
        let done = self.oracle.derivatives(&mut self.trial);
        self.is_defined(done, unusual)
    }

    pub(crate) fn is_defined(
        &mut self,
        done: Result<(), crate::form::oracle::Trouble>,
        unusual: &mut Unusual,
    ) -> Result<bool, Stop> {
        match done {
            Ok(()) => Ok(true),
            Err(trouble) if trouble.is_broken() => Err(self.fail(trouble)),
            Err(trouble) => {
                unusual.insert(Event::Undefined);
                self.outcome.remember_failure(trouble.into_failure());
                Ok(false)
            }
        }
    }

    pub(super) fn trial_merit(&self) -> f64 {
        self.trial.f + self.state.progress.rho * norm(&self.trial.h)
    }

    /// `f + eta g^T s + rho |h + eta J s|`
    fn model(&self, line: &Line, eta: f64) -> f64 {
        let linear = self.state.current.h.iter().zip(&self.steps.normal.target).map(|(h, r)| (h + eta * r) * (h + eta * r));
        line.phi - self.state.progress.rho * line.residual
            + eta * line.slope
            + self.state.progress.rho * linear.sum::<f64>().sqrt()
    }

    /// What the trial point tells of the Lipschitz constants.
    pub(super) fn tell(&mut self, line: &Line, eta: f64) -> Trial {
        let (current, trial) = (&self.state.current, &self.trial);
        for (i, remainder) in self.steps.search.remainder.iter_mut().enumerate() {
            *remainder = trial.c[i] - current.c[i] - eta * self.steps.search.linear[i];
        }
        let rounding = |size: f64| ROUNDING * size;
        Trial {
            eta,
            square: line.square,
            metric_square: line.metric_square,
            objective: (trial.f - current.f - eta * line.slope, rounding(trial.f.abs() + current.f.abs())),
            constraints: (
                norm(&self.steps.search.remainder),
                rounding(norm(&trial.c) + norm(&current.c)).max(line.rounding_of_rows),
            ),
            theta: self.steps.normal.theta,
            kept: (line.residual - norm(&trial.h)) / self.steps.normal.gain(&current.h),
            merit: (self.trial_merit() - self.model(line, eta), line.rounding),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    use super::*;
    use crate::kernel::subproblem::Block;
    use crate::random_problem::{RandomProblem, problem};
    use crate::{Lipschitz, MetricKind, NormalVariant, Row, Scaling, Settings};
    use tangor_problem::Exact;

    /// `s^T H s`, from what the block of the metric was before it learnt from the step.
    fn square(solver: &Solver<Exact<RandomProblem>>, block: &[f64]) -> f64 {
        let s = &solver.steps.tangent.s;
        let n = solver.state.current.n();
        let first = if block.is_empty() { 0 } else { n };
        let diagonal: f64 = (first..s.len()).map(|i| solver.state.metric.diagonal[i] * s[i] * s[i]).sum();
        diagonal + block.iter().enumerate().map(|(k, b)| b * s[k / n] * s[k % n]).sum::<f64>()
    }

    fn block(solver: &Solver<Exact<RandomProblem>>) -> Vec<f64> {
        match solver.state.metric.block() {
            Block::Diagonal => Vec::new(),
            Block::Dense(matrix) => matrix.to_vec(),
            Block::LowRank(_) | Block::Sparse(_) => unreachable!("few variables have a dense matrix"),
        }
    }

    /// Runs, and checks each accepted step: inside the bounds, `rho` no smaller, and the inequality of the proof. Gives the number of
    /// steps.
    fn check_steps(problem: RandomProblem, settings: Settings) -> Result<u64, TestCaseError> {
        let tau = settings.stepsize.tau;
        let mut solver = Solver::new(problem, settings).unwrap();
        loop {
            let (rho, block) = (solver.state.progress.rho, block(&solver));
            let (mut eta, mut recorded, mut tested_by_gradients) = (0.0, false, false);
            let stop = solver.advance(&mut |row: &Row, _: &[f64]| {
                eta = row.eta;
                recorded = [Event::Lowered, Event::Elsewhere, Event::Rescaled].iter().any(|event| row.unusual.contains(*event));
                tested_by_gradients = row.unusual.contains(Event::Rounded);
                ControlFlow::Continue(())
            });
            prop_assert!(recorded || solver.state.progress.rho >= rho, "rho fell from {rho} to {}", solver.state.progress.rho);
            if eta > 0.0 && !tested_by_gradients {
                // Accepted: the two iterates were swapped.
                let (old, new, rho) = (&solver.trial, &solver.state.current, solver.state.progress.rho);
                let merit = |f: f64, h: &[f64]| f + rho * h.iter().map(|h| h * h).sum::<f64>().sqrt();
                let (before, after) = (merit(old.f, &old.h), merit(new.f, &new.h));
                let needed = 0.5 * eta * (1.0 - tau) * square(&solver, &block);
                let terms = old.jacobian.a.size_of_terms(&old.z[..old.n()]);
                let rounding = ROUNDING * (old.f.abs() + rho * (norm(&old.c) + norm(&old.h) + terms));
                // The sums here are done in another order than in the search.
                let allowed = rounding + 1e-12 * needed + f64::EPSILON * before.abs();
                prop_assert!(after <= before - needed + allowed, "{after} is not {needed} below {before}; eta = {eta}");
                let standard = &solver.oracle.standard;
                let inside = |i: usize| standard.lower[i] <= new.z[i] && new.z[i] <= standard.upper[i];
                prop_assert!((0..new.z.len()).all(inside), "outside of the bounds, slacks included");
            }
            if stop.is_some() {
                return Ok(solver.state.progress.iteration);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, rng_seed: RngSeed::Fixed(2), failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn every_accepted_step_descends(problem in problem(), kind in 0..3, correction: bool, slack_reset: bool) {
            let mut settings = Settings::default();
            settings.metric.kind = [MetricKind::Identity, MetricKind::Spectral, MetricKind::QuasiNewton][kind as usize];
            settings.stepsize.correction = correction;
            settings.stepsize.slack_reset = slack_reset;
            settings.limits.iterations = 300;
            check_steps(problem, settings)?;
        }

        /// With constants that are right, the theory promises the same without any test.
        #[test]
        fn given_constants_make_every_step_descend(problem in problem(), majorised: bool) {
            let (objective, constraints) = problem.lipschitz();
            let mut settings = Settings { scaling: Scaling::None, ..Settings::default() };
            settings.metric.kind = MetricKind::Identity;
            settings.normal.variant = if majorised { NormalVariant::Majorised } else { NormalVariant::Bounded };
            settings.stepsize.lipschitz = Lipschitz::Given { objective, constraints };
            settings.limits.iterations = 100;
            check_steps(problem, settings)?;
        }
    }

    #[test]
    fn steps_are_looked_at() {
        let mut runner = proptest::test_runner::TestRunner::deterministic();
        let tree = problem().new_tree(&mut runner).unwrap();
        let steps = check_steps(proptest::strategy::ValueTree::current(&tree), Settings::default()).unwrap();
        assert!(steps > 0);
    }
}
