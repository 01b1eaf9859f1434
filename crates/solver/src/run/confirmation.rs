//! The end of an exact run: the functions are evaluated once more at the point that is reported, and what is reported of it, residuals
//! included, is what they say there. These evaluations are not counted, but are within the limit on them.

use tangor_problem::{FunctionValues, KktPoint, KktResiduals, SampledProblem, Wanted};

use crate::form::oracle::Oracle;
use crate::judging::removable::removable_share;
use crate::solver::Solver;
use crate::{Event, Stop, Unusual};

/// Derivatives that differ by no more than this, relative to the largest entry, are the same but for rounding.
const SAME: f64 = 1e-12;

impl<S: SampledProblem> Solver<S> {
    /// False: the run was about to claim what is not so when it is computed in the user's own scale.
    pub(crate) fn confirms(&mut self) -> bool {
        self.confirm();
        let claimed = self.outcome.stop == Some(Stop::Tolerance);
        let (tolerance, best) = (&self.settings.tolerance, &self.outcome.best);
        let holds = best
            .values
            .is_some_and(|best| tolerance.is_kkt(&best.residuals) || tolerance.is_infeasible_stationary(&best.residuals));
        !claimed || holds
    }

    /// Evaluates the functions at the best point, unless the run ends because there is no time for it, because nothing may be evaluated any
    /// more, or because they fail.
    fn confirm(&mut self) {
        let has_time =
            !matches!(self.outcome.stop, Some(Stop::WallTime | Stop::User | Stop::Evaluations | Stop::EvaluationFailed));
        if self.noisy.is_some() || !has_time || self.outcome.best.values.is_none() {
            return;
        }
        // A run that goes on from here knows nothing of this end.
        self.beginning.keep(&self.outcome.best, &self.state.row_sizes);
        let (counts, samples) = (self.oracle.counts(), self.oracle.samples());
        self.outcome.confirmed = self.evaluate_best();
        let reached = self.outcome.best.values.is_some_and(|best| self.settings.tolerance.is_kkt(&best.residuals));
        // A run that has met its tolerances needs no reason why it has not.
        if self.outcome.confirmed == Some(true) && !reached {
            self.outcome.confirmed = self.repeats_derivatives();
        }
        if self.outcome.confirmed == Some(true) && self.calls_infeasible() && !self.goes_back_to_a_feasible_point() {
            self.look_for_a_contradiction();
        }
        self.oracle.problem.uncount(counts, samples);
    }

    /// Values that contradict the derivatives of a point that is about to be called infeasible end the run.
    fn look_for_a_contradiction(&mut self) {
        if let Some(contradiction) = self.find_contradiction() {
            self.outcome.remember_failure(contradiction);
            self.outcome.end(Stop::EvaluationFailed);
        }
    }

    /// A run that has been at a point where the constraints hold reports that, and no point that is infeasible: true if they hold there.
    fn goes_back_to_a_feasible_point(&mut self) -> bool {
        let stuck = self.outcome.best.clone();
        if !self.outcome.best.go_back(self.oracle.meta()) {
            return false;
        }
        let tolerance = self.settings.tolerance.feasibility;
        let is_there = self.evaluate_best().is_some();
        let holds = is_there && self.outcome.best.values.is_some_and(|best| best.residuals.feasibility <= tolerance);
        if !holds {
            self.outcome.best = stuck;
        } else if self.outcome.stop == Some(Stop::Tolerance) {
            self.outcome.end(Stop::StepTooSmall);
        }
        holds
    }

    /// Whether the run ends with the claim that no small change reduces the violation.
    fn calls_infeasible(&self) -> bool {
        let is_settled = !self.state.progress.escapes.may_go_on(self.settings.limits.escapes);
        self.best_is_stuck() && (is_settled || self.outcome.stop == Some(Stop::Tolerance))
    }

    /// Whether the functions gave the same values again; none where they did not give any. What was reported is replaced.
    fn evaluate_best(&mut self) -> Option<bool> {
        let (best, oracle) = (&mut self.outcome.best, &mut self.oracle);
        let (row_multipliers, bound_multipliers) = oracle.user_multipliers(&best.y, &best.mu);
        let objective = oracle.evaluate_exactly(Wanted::ALL, &best.x).ok()?.unwrap_or(0.0);
        let (meta, estimates) = (oracle.meta(), &oracle.estimates);
        let zeros = vec![0.0; meta.n()];
        let point = KktPoint {
            x: &best.x,
            gradient: if meta.has_objective { estimates.gradient.values() } else { &zeros },
            constraints: estimates.constraints.values(),
            jacobian: estimates.jacobian.values(),
            row_multipliers: &row_multipliers,
            bound_multipliers: &bound_multipliers,
        };
        let found = KktResiduals::new(meta, point).ok()?;
        let values = best.values.as_mut()?;
        let same = values.objective == objective && best.c == estimates.constraints.values();
        values.objective = objective;
        best.c.copy_from_slice(estimates.constraints.values());
        let residuals = &mut values.residuals;
        residuals.stationarity = found.stationarity;
        residuals.feasibility = found.feasibility;
        residuals.complementarity = found.complementarity;
        // Rows that were left out may be violated where the others are not. Of all rows together it is said whether a small change reduces
        // the violation: rows that became bounds are rows here.
        let violated = oracle.presolve.is_some() && found.feasibility > self.settings.tolerance.feasibility;
        if residuals.infeasible > 0.0 || violated {
            residuals.infeasible = found.infeasible_stationarity;
        }
        let tolerance = &self.settings.tolerance;
        let is_unsettled = found.feasibility > tolerance.feasibility && !tolerance.is_infeasible_stationary(residuals);
        if is_unsettled && !self.state.progress.escapes.may_go_on(self.settings.limits.escapes) {
            // Every start ended here, and still it has a slope: that of rows of unlike size may be what rounding makes of it.
            residuals.removable = removable_share(meta, &best.x, estimates.constraints.values(), estimates.jacobian.values());
        }
        Some(same)
    }

    /// Whether gradient and Jacobian, which the run does not keep, are the same when they are asked for twice at the best point; none where they
    /// failed the second time. Sums over threads may differ by rounding.
    fn repeats_derivatives(&mut self) -> Option<bool> {
        let Oracle { problem, estimates, .. } = &mut self.oracle;
        let mut again = FunctionValues::new(problem.meta());
        problem.evaluate(&self.outcome.best.x, &[], Wanted::DERIVATIVES, &mut again.outputs()).ok()?;
        let is_same = |(first, again): (&[f64], &[f64])| {
            let largest = first.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
            first.iter().zip(again).all(|(a, b)| (a - b).abs() <= SAME * largest)
        };
        let both = [(estimates.gradient.values(), &*again.gradient), (estimates.jacobian.values(), &*again.jacobian)];
        Some(both.into_iter().all(is_same))
    }

    fn is_about_to_claim_kkt(&self) -> bool {
        self.outcome.stop == Some(Stop::Tolerance) && self.settings.tolerance.is_kkt(&self.judging.kkt.residuals)
    }

    /// The gradient of the objective at the point that is reported, where it was evaluated there at the end of an exact run.
    pub fn confirmed_gradient(&self) -> Option<&[f64]> {
        let known = self.outcome.confirmed.is_some() && self.oracle.meta().has_objective;
        known.then(|| self.oracle.estimates.gradient.values())
    }

    /// At the end of a run, whatever the reason, and only there: confirms, and says so where the functions give other values than before.
    pub(crate) fn conclude(&mut self, unusual: &mut Unusual) {
        if self.outcome.stop.is_none() {
            return;
        }
        let confirms = self.confirms();
        if self.outcome.confirmed == Some(false) {
            unusual.insert(Event::Unrepeatable);
        }
        if !confirms {
            // The run goes on, and ends elsewhere.
            (self.outcome.stop, self.outcome.confirmed) = (None, None);
        } else if self.is_about_to_claim_kkt() && self.falls_from_a_flat_place() {
            // Slopes within the tolerance are no minimum where the objective goes on falling far away. The point was confirmed before, since
            // functions that fail there may never answer again.
            self.outcome.stop = Some(Stop::Unbounded);
        }
    }
}
