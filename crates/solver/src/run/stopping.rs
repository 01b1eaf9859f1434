//! When a run ends: the one place that decides it between two iterations.

use tangor_problem::SampledProblem;

use crate::Stop;
use crate::solver::Solver;

impl<S: SampledProblem> Solver<S> {
    /// The first reason that holds, if any.
    pub(crate) fn reason_to_stop(&mut self) -> Option<Stop> {
        if self.judging.kkt.residuals.feasibility > self.settings.tolerance.feasibility {
            self.judging.kkt.measure_infeasibility(&self.state.current, &self.oracle.standard, &mut self.state.row_sizes);
        } else {
            self.judging.kkt.find_nothing_to_repair();
        }
        let diverges = self.diverges();
        let residuals = self.judging.kkt.residuals;
        let (tolerance, limits) = (&self.settings.tolerance, &self.settings.limits);
        // Residuals of running estimates flatter a noisy run: there, only a verdict ends it.
        let exact = self.noisy.is_none();
        let stuck = tolerance.is_infeasible_stationary(&residuals);
        let has_failed = self.has_failed() && !self.looks_for_a_way_out();
        let is_last = !self.state.progress.escapes.may_go_on(limits.escapes);
        let reasons = [
            // Far away gradients may vanish although the objective never stops falling: that is no KKT point.
            (diverges, Stop::Unbounded),
            (exact && (tolerance.is_kkt(&residuals) || (stuck && !self.looks_for_a_way_out())), Stop::Tolerance),
            // A step that was broken off says nothing of numbers: what ended it comes first.
            (self.clock.is_interrupted(), Stop::User),
            (self.clock.is_late(), Stop::WallTime),
            // The last of all starts failed: what is left is the stationary point that they were to leave.
            (exact && has_failed && is_last && self.best_is_stuck(), Stop::Tolerance),
            (has_failed, Stop::NumericalTrouble),
            (self.state.progress.iteration >= limits.iterations, Stop::Iterations),
            (self.evaluations_are_spent(), Stop::Evaluations),
            (self.samples_are_spent(), Stop::Samples),
        ];
        reasons.into_iter().find(|(holds, _)| *holds).map(|(_, stop)| stop)
    }
}
