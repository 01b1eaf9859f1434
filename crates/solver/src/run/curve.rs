//! Whether the objective falls without bound along a curve: far from the start, where the constraints bend away from every ray, points that are
//! guessed from the last two and brought back to the constraints tell whether it goes on falling as far as one looks.

use tangor_problem::SampledProblem;

use crate::kernel::vector::{largest, norm};
use crate::run::descent::Descent;
use crate::solver::Solver;

/// Rows must hold within this share of the tolerance: what decays along a curve must not end below it.
const HOLDS: f64 = 1e-3;

/// So many steps may bring a guess back to the constraints.
const REPAIRS: u32 = 12;

/// A guess that is farther from the constraints than this share of its distance from the point before belongs to another branch of them.
const NEAR: f64 = 0.5;

impl<S: SampledProblem> Solver<S> {
    /// Looks along the constraints from the current point, at first as far as the start is away. Where the objective falls all along, the first
    /// of these points becomes the current one: it satisfies the constraints.
    pub(super) fn falls_along_the_curve(&mut self, distance: f64) -> bool {
        self.trial.go_to(&self.state.current.z);
        if !self.evaluate_on_the_curve() || !self.return_to_the_curve(distance) || !self.is_clearly_feasible() {
            return false;
        }
        let mut descent = Descent::from(self.to_be_minimised(&self.trial));
        let first = self.trial.z.clone();
        let mut last = first.clone();
        // The guess lies as far beyond a point as twice its distance from the one before.
        let (s, length) = (&self.steps.tangent.s, norm(&self.steps.tangent.s));
        let mut ahead: Vec<f64> = s.iter().map(|s| s * distance / length).collect();
        while !descent.is_over(largest(&last) + largest(&ahead)) {
            self.trial.move_by(&ahead);
            if !self.trial.is_inside_its_bounds(&self.oracle.standard)
                || !self.evaluate_on_the_curve()
                || !self.return_to_the_curve(norm(&ahead))
            {
                return false;
            }
            if !descent.goes_on(Some(self.to_be_minimised(&self.trial))) || self.clock.is_over() {
                return false;
            }
            for (ahead, (z, last)) in ahead.iter_mut().zip(self.trial.z.iter().zip(&mut last)) {
                *ahead = 2.0 * (z - std::mem::replace(last, *z));
            }
        }
        if !self.no_bound_is_ahead(&ahead) {
            return false;
        }
        self.note_how_far();
        self.trial.go_to(&first);
        let evaluated = self.evaluate_on_the_curve();
        if evaluated {
            std::mem::swap(&mut self.state.current, &mut self.trial);
            self.judging.kkt.measure(&self.state.current, &self.steps.tangent, &self.oracle.standard);
        }
        evaluated
    }

    fn evaluate_on_the_curve(&mut self) -> bool {
        self.oracle.values(&mut self.trial, true).is_ok() && self.oracle.derivatives(&mut self.trial).is_ok()
    }

    /// Brings the trial point back to the constraints by the shortest steps of their linearisations. False: it is too far away from them.
    fn return_to_the_curve(&mut self, length: f64) -> bool {
        let (n, mut moved) = (self.trial.n(), 0.0);
        for _ in 0..REPAIRS {
            if self.trial_is_feasible(HOLDS * self.settings.tolerance.feasibility) {
                return true;
            }
            let standard = &self.oracle.standard;
            let d = self.steps.shortest_repair(&self.trial, standard, &self.state.metric, &self.clock);
            moved += norm(&d[..n]);
            if moved.is_nan() || moved > NEAR * length {
                return false;
            }
            self.trial.move_within_bounds(d, standard);
            if !self.evaluate_on_the_curve() {
                return false;
            }
        }
        false
    }

    /// Whether all rows hold at the trial point within so much, but for what rounding makes of their terms.
    fn trial_is_feasible(&mut self, within: f64) -> bool {
        self.judging.kkt.find_violation(&self.trial, &self.oracle.standard);
        let mut rows = self.judging.kkt.violations().iter().enumerate();
        rows.all(|(row, violation)| violation.abs() <= within + self.rounding_of_row(row, &self.trial))
    }

    /// Whether rounding hides no violation of the trial point that matters, or a point before has shown that the rows can hold.
    fn is_clearly_feasible(&self) -> bool {
        let tolerance = self.settings.tolerance.feasibility;
        let clear = |row| self.rounding_of_row(row, &self.trial) <= tolerance;
        self.state.progress.was_feasible || (0..self.trial.h.len()).all(clear)
    }
}
