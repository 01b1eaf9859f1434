//! Which point of a run is kept: the one that the report gives.

use tangor_problem::SampledProblem;

use crate::solver::Solver;
use crate::{Row, Stop, Unusual};

impl<S: SampledProblem> Solver<S> {
    /// Keeps the point if it is the best so far: by the merit function, or in a noisy run by fresh samples.
    pub(crate) fn keep_best(&mut self, row: &mut Row, unusual: &mut Unusual) {
        if self.noisy.is_none() {
            return self.keep_best_of_exact(unusual);
        }
        // Until a point was judged, the latest one is kept, unjudged: a run may end at any moment.
        if self.outcome.best.verdict.is_none() {
            self.outcome.best.keep_unjudged(&self.state.current, &self.judging.kkt, &self.oracle);
        }
        if self.settings.sampling.true_residuals {
            row.true_residuals = self.true_residuals();
        }
        // Fresh samples take time: whoever is out of it, or wants the run to end, does not get to wait for them.
        let has_time = !matches!(self.outcome.stop, Some(Stop::WallTime | Stop::User));
        if let Some(stop) = self.judge_if_due(self.outcome.stop.is_some() && has_time, unusual) {
            self.outcome.stop.get_or_insert(stop);
        }
    }

    fn keep_best_of_exact(&mut self, unusual: &mut Unusual) {
        let (residuals, tolerance) = (self.judging.kkt.residuals, &self.settings.tolerance);
        let solved = tolerance.is_kkt(&residuals) || self.outcome.stop == Some(Stop::Unbounded);
        let stuck = tolerance.is_infeasible_stationary(&residuals);
        self.keep_feasible();
        let broken = self.has_broken_down() && self.outcome.stop.is_none();
        if broken {
            // The next start is what is left to do.
            self.state.progress.escapes.stuck(residuals.feasibility);
        }
        // Of a point without numbers nothing is known, and what rounding makes of a violation is no violation.
        if broken || (self.is_lost() && !solved) {
            return;
        }
        // While the run looks for a way out of a stationary point of the violation, that point is the best, not one that is farther off.
        let proven = self.best_is_stuck();
        let escapes = &mut self.state.progress.escapes;
        let as_good = stuck && !proven && escapes.is_level(residuals.feasibility);
        if solved || as_good || !escapes.is_behind(residuals.feasibility) {
            escapes.pass(residuals.feasibility);
            self.outcome.best.offer(
                &self.state.current,
                &self.judging.kkt,
                &self.oracle,
                self.state.progress.rho,
                solved || stuck,
            );
        }
        if stuck {
            self.state.progress.escapes.stuck(residuals.feasibility);
        } else if !solved && self.outcome.stop.is_some() {
            self.refit_best(unusual);
        }
    }

    /// Keeps the point where the constraints hold, rounding aside, if its objective is the best of such.
    fn keep_feasible(&mut self) {
        let objective = self.to_be_minimised(&self.state.current);
        let holds = self.judging.kkt.residuals.feasibility <= self.settings.tolerance.feasibility;
        if holds && self.outcome.best.feasible.is_beaten_by(objective) && self.rounding_hides_no_violation() {
            self.outcome.best.feasible.keep(&self.state.current.user.x, objective);
        }
    }
}
