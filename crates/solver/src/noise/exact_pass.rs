//! Exact passes: where a function is an average over a finite population, all members are evaluated once in a while, and recursive momentum
//! starts again from there, as in SVRG, SPIDER and PAGE. The values are those of an exact judgement: nothing is evaluated twice. Nor are those
//! of any other judgement lost: its samples are new ones at the very point of the estimates, which they join.

use tangor_problem::{Access, SampledProblem};

use crate::form::quantity::Quantity;
use crate::solver::Solver;
use crate::{Estimator, Event, Unusual};

/// Noise matters where its mean square is this share of that of noise and residual together.
const DOUBT: f64 = 0.2;

/// A pass that may end the run pays when it costs this share of all samples: what comes after the tolerances are met is wasted.
const TO_CERTIFY: f64 = 0.25;

/// Where samples are limited, the last exact pass comes so many steps before the end: they go where its values lead, and the judgement at the
/// end sees what that was worth.
const LAST_STEPS: u64 = 24;

impl<S: SampledProblem> Solver<S> {
    /// The members of the population that a function is an average over; 0 for one that is exact or without end.
    pub(crate) fn population(&self, quantity: Quantity) -> usize {
        match quantity.access(self.oracle.problem.accesses()) {
            Access::Finite(size) if quantity.is_needed(self.oracle.meta()) => usize::try_from(size).unwrap_or(usize::MAX),
            _ => 0,
        }
    }

    /// Whether all members should be evaluated now: they can be, the noise of the estimates is what holds the run back, and exact passes
    /// stay within their share of all samples, or limits leave room for just one of them with a few steps after it.
    pub(crate) fn exact_pass_pays(&self) -> bool {
        let (usual, estimates) = (self.settings.sampling.exact_passes, &self.oracle.estimates);
        let promising = usual > 0.0 && self.seems_solved();
        let share = if promising { usual.max(TO_CERTIFY) } else { usual };
        let passes = self.judgements().map_or(0, |judgements| judgements.exact);
        let (limits, mut lasting, mut within_share, mut within_limits) = (&self.settings.limits, false, true, true);
        let each = [limits.gradient_samples, limits.constraint_samples, limits.jacobian_samples];
        for (quantity, limit) in Quantity::ALL.into_iter().zip(each) {
            let access = quantity.access(self.oracle.problem.accesses());
            if !quantity.is_needed(self.oracle.meta()) || access == Access::Exact {
                continue;
            }
            let Access::Finite(size) = access else { return false };
            let (size, spent) = (size as f64, quantity.samples(self.oracle.samples()) as f64);
            within_share &= (passes as f64 + 1.0) * size <= share * (spent + size);
            within_limits &= limit.or(limits.samples).is_some_and(|most| size <= usual * most as f64);
            lasting |= estimates.get(quantity).settings.estimator == Estimator::Momentum;
        }
        let passes_then_steps = |steps: u64| {
            Quantity::ALL.map(|quantity| self.population(quantity) as u64 + steps * estimates.next_samples(quantity))
        };
        let is_last = || within_limits && !self.affords(passes_then_steps(LAST_STEPS));
        lasting && (within_share || is_last()) && (promising || self.noise_matters()) && self.affords(passes_then_steps(1))
    }

    /// Whether the residuals of the estimates and their noise together are within the tolerances, so that an exact judgement is likely to end the run.
    fn seems_solved(&self) -> bool {
        let (residuals, tolerance) = (&self.judging.kkt.residuals, &self.settings.tolerance);
        let within = |residual: f64, error: f64, tolerance: f64| residual * residual + error <= tolerance * tolerance;
        within(residuals.stationarity, self.error_of_lagrangian(), tolerance.stationarity)
            && within(residuals.feasibility, self.oracle.estimates.constraints.error(), tolerance.feasibility)
            && residuals.complementarity <= tolerance.complementarity
    }

    /// Whether the residuals do not stand out from the noise of the estimates.
    fn noise_matters(&self) -> bool {
        let (estimates, kkt) = (&self.oracle.estimates, &self.judging.kkt);
        let matters = |error: f64, residual: f64| error > 0.0 && error >= DOUBT * (error + residual * residual);
        matters(self.error_of_lagrangian(), kkt.residuals.stationarity)
            || matters(estimates.constraints.error(), kkt.residuals.feasibility)
    }

    /// Goes on from what a judgement in this iteration showed: averages over whole populations take the place of estimates by recursive momentum,
    /// others join them, each with the weight of its draws. False: there was nothing to take.
    pub(crate) fn take_judged_values(&mut self, unusual: &mut Unusual) -> bool {
        let Some(noisy) = &mut self.noisy else { return false };
        if !noisy.judge.hand_over() {
            return false;
        }
        let (mut taken, mut least) = (false, usize::MAX);
        for ((quantity, average), drawn) in Quantity::ALL.into_iter().zip(noisy.judge.averages()).zip(noisy.judge.drawn) {
            let estimate = self.oracle.estimates.of(quantity);
            if !quantity.is_needed(self.oracle.problem.meta()) || !estimate.access.is_sampled() {
                continue;
            }
            match drawn {
                // Who wants no exact passes has none by way of a judgement either.
                0 if self.settings.sampling.exact_passes == 0.0 => continue,
                0 => estimate.take_exact(average),
                _ if !estimate.weighs_draws() => continue,
                drawn => {
                    estimate.join(average, drawn);
                    least = least.min(drawn);
                }
            }
            taken = true;
        }
        if !taken {
            return false;
        }
        if least == usize::MAX {
            noisy.lagrangian.make_exact();
        } else {
            noisy.lagrangian.join(least);
        }
        self.oracle.load_estimates(&mut self.state.current, self.settings.stepsize.slack_reset);
        if noisy.judge.were_exact() {
            unusual.insert(Event::ExactPass);
        }
        true
    }
}
