//! Steps along curved constraints: a correction where the curvature spoils a step, a bend where it holds one back.

use tangor_problem::{Access, SampledProblem};

use crate::kernel::vector::{dot, norm};
use crate::solver::Solver;
use crate::steps::line_search::{Line, SearchMemory};
use crate::steps::lipschitz::Trial;
use crate::steps::local_model::LocalModel;
use crate::steps::normal_step::Repair;
use crate::{Event, Stop, Unusual};

/// A step that removes less of the residual than this was held back by the curvature of the constraints, and is bent along them.
pub const HELD_BACK: f64 = 0.5;

/// How long the bend may be, relative to the step: beyond that two terms of the series say nothing.
const LONGEST_BEND: f64 = 0.75;

impl<S: SampledProblem> Solver<S> {
    /// Whether the step would have been accepted, had the constraints been linear. What removes their remainder changes the objective, too:
    /// by about the multipliers times the remainder.
    pub(super) fn curvature_is_to_blame(&self, told: &Trial, allowed: f64) -> bool {
        let objective = dot(&self.steps.tangent.lambda, &self.steps.search.remainder).min(0.0);
        self.trial_merit() + objective - self.state.progress.rho * told.constraints.0 <= allowed
    }

    /// Bends the step along the curved constraints, as the second derivative of a geodesic would: what the linearisation missed is removed
    /// with the same caution as the residual. The bend stays if the merit function is lower at its end; then it also tells of `L_c`.
    pub(super) fn bend(&mut self, line: &Line, eta: f64, told: &mut Trial, unusual: &mut Unusual) -> Result<bool, Stop> {
        let (merit, n) = (self.trial_merit(), self.state.current.n());
        let standard = &self.oracle.standard;
        self.steps.bounds.around(&self.trial.z, &standard.lower, &standard.upper);
        let local =
            LocalModel { at: &self.state.current, bounds: &self.steps.bounds, metric: &self.state.metric, clock: &self.clock };
        let SearchMemory { remainder, y, d, .. } = &mut self.steps.search;
        let missed = Repair { residual: remainder, softness: self.steps.reckoned * line.residual, posed: 1.0 };
        self.steps.normal.repair(local, missed, y, d, &mut self.steps.projection, unusual);
        if norm(&d[..n]) > LONGEST_BEND * eta * norm(&self.steps.tangent.s[..n]) {
            return Ok(false);
        }
        self.place_trial(eta, true);
        if self.evaluate_trial(unusual)? && self.trial_merit() < merit {
            *told = self.tell(line, eta);
            unusual.insert(Event::Corrected);
            return Ok(true);
        }
        self.place_trial(eta, false);
        self.evaluate_trial(unusual)?;
        Ok(false)
    }

    /// Adds the second-order correction: removes the residual at the end of the step by another short one, as far as the softness lets it.
    pub(super) fn correct(&mut self, eta: f64, softness: f64, unusual: &mut Unusual) {
        let standard = &self.oracle.standard;
        self.steps.bounds.around(&self.trial.z, &standard.lower, &standard.upper);
        // The slacks of the trial may have been reset: what is left of the residual is what must go.
        let local =
            LocalModel { at: &self.state.current, bounds: &self.steps.bounds, metric: &self.state.metric, clock: &self.clock };
        let (y, d) = (&mut self.steps.search.y, &mut self.steps.search.d);
        let left = Repair { residual: &self.trial.h, softness, posed: 1.0 };
        self.steps.normal.repair(local, left, y, d, &mut self.steps.projection, unusual);
        for i in 0..self.trial.z.len() {
            self.steps.search.d[i] += self.trial.z[i] - (self.state.current.z[i] + eta * self.steps.tangent.s[i]);
        }
        self.place_trial(eta, true);
    }

    /// Where constraints and Jacobian are exact and the rest is not, every step ends with a correction: constraints cost no samples, and a step
    /// that is shorter than a full one, because its direction is noisy, would leave them violated. The merit test is made at the corrected point.
    pub(crate) fn repair_exact_rows(&mut self, eta: f64, unusual: &mut Unusual) -> Result<(), Stop> {
        let accesses = self.oracle.problem.accesses();
        let exact = accesses.constraints == Access::Exact && accesses.jacobian == Access::Exact;
        if !exact
            || self.oracle.meta().m() == 0
            || !self.settings.stepsize.correction
            || self.state.progress.lipschitz.are_given()
        {
            return Ok(());
        }
        let done = self.oracle.exact_rows(&mut self.trial, self.settings.stepsize.slack_reset);
        if !self.is_defined(done, unusual)? {
            // The same place has no value for the samples either: they shorten the step.
            return Ok(());
        }
        let n = self.state.current.n();
        self.correct(eta, self.steps.reckoned * norm(&self.trial.h), unusual);
        if norm(&self.steps.search.d[..n]) <= LONGEST_BEND * eta * norm(&self.steps.tangent.s[..n]) {
            unusual.insert(Event::Corrected);
        } else {
            self.place_trial(eta, false);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use tangor_problem::{ClosureProblem, Meta};

    use super::*;
    use crate::{Row, Scaling, Settings};

    /// `x = (J^T J + delta I)^-1 J^T r` for two rows and two columns.
    fn damped(j: [[f64; 2]; 2], delta: f64, r: [f64; 2]) -> [f64; 2] {
        let entry = |a: usize, b: usize| j[0][a] * j[0][b] + j[1][a] * j[1][b] + if a == b { delta } else { 0.0 };
        let right = |a: usize| j[0][a] * r[0] + j[1][a] * r[1];
        let determinant = entry(0, 0) * entry(1, 1) - entry(0, 1) * entry(0, 1);
        [
            (entry(1, 1) * right(0) - entry(0, 1) * right(1)) / determinant,
            (entry(0, 0) * right(1) - entry(0, 1) * right(0)) / determinant,
        ]
    }

    #[test]
    fn a_step_along_a_curved_valley_is_bent() {
        // 10 (x1 - x0^2) = 0 and 1 - x0 = 0 from (-1, 1): h = (0, 2), L_c starts at 1, so delta = 2, and the step misses -10 s0^2.
        let meta = Meta::new("valley", vec![-1.0, 1.0]).equalities(&[0.0, -1.0]).no_objective();
        let valley = ClosureProblem::builder(meta)
            .constraints(|x, c| c.copy_from_slice(&[10.0 * (x[1] - x[0] * x[0]), -x[0]]))
            .jacobian(|x, values| values.copy_from_slice(&[-20.0 * x[0], 10.0, -1.0, 0.0]))
            .build()
            .unwrap();
        let (j, delta) = ([[20.0, 10.0], [-1.0, 0.0]], 2.0);
        let s = damped(j, delta, [0.0, -2.0]);
        let bend = damped(j, delta, [10.0 * s[0] * s[0], 0.0]);
        let settings = Settings { scaling: Scaling::None, ..Settings::default() };
        let mut solver = Solver::new(valley, settings).unwrap();
        let mut corrected = false;
        solver.advance(&mut |row: &Row, _: &[f64]| {
            corrected = row.unusual.contains(Event::Corrected);
            ControlFlow::Continue(())
        });
        let x = &solver.state.current.user.x;
        assert!(corrected && solver.steps.normal.theta < HELD_BACK);
        assert!((x[0] - (-1.0 + s[0] + bend[0])).abs() < 1e-9 && (x[1] - (1.0 + s[1] + bend[1])).abs() < 1e-9, "{x:?}");
    }
}
