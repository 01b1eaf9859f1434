//! Whether the objective falls without bound: the run is far from its start, and along its next step, feasible all along, the objective
//! goes on falling as far as one looks, or it does so along the curve that the constraints leave.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tangor_problem::SampledProblem;

use crate::form::iterate::Iterate;
use crate::kernel::vector::{largest, norm};
use crate::run::descent::{BOTTOM, Descent};
use crate::solver::Solver;
use crate::steps::line_search::ROUNDING;

/// How far from the start a point is suspicious, relative to `1 + |start|`.
const FAR: f64 = 1e5;

/// A ray is looked at again when the distance has grown by this factor.
const AGAIN: f64 = 10.0;

/// How much farther each look is, in doublings, after the first ones.
const FARTHER: f64 = 1.5;

/// A part of a step this small, relative to its largest, is along a bound and not towards it.
const ALONG: f64 = 1e-9;

impl<S: SampledProblem> Solver<S> {
    /// True where the objective was seen to fall without bound. The trial point is used up.
    pub(crate) fn diverges(&mut self) -> bool {
        if self.noisy.is_some() || !self.oracle.meta().has_objective {
            return false;
        }
        self.look_for_a_feasible_point();
        let distance = self.distance_from_start();
        let progress = &self.state.progress;
        let is_deep = self.to_be_minimised(&self.state.current) < BOTTOM;
        let is_new = |looked_at: f64| self.is_far(distance) && distance > AGAIN * looked_at;
        let ray = is_new(progress.looked_at);
        let curve = is_new(progress.followed_at) && !self.state.current.h.is_empty();
        if progress.was_feasible && (is_deep || ray) {
            self.judging.kkt.find_violation(&self.state.current, &self.oracle.standard);
            if self.is_feasible_up_to_rounding(&self.state.current.z) {
                if is_deep {
                    self.outcome.followed = Some(self.followed_to(&self.state.current));
                    return true;
                }
                self.state.progress.looked_at = distance;
                if self.venturing(|run| run.falls_along_the_ray(distance)) {
                    return true;
                }
            }
        }
        if curve {
            self.state.progress.followed_at = distance;
        }
        curve && self.venturing(|run| run.falls_along_the_curve(distance))
    }

    /// Looks far away, where a function may fail in any way: the run does not depend on it, and whoever evaluates functions can know that.
    pub(super) fn venturing(&mut self, look: impl FnOnce(&mut Self) -> bool) -> bool {
        self.oracle.ventures.store(true, Ordering::Relaxed);
        let falls = look(self);
        self.oracle.ventures.store(false, Ordering::Relaxed);
        falls
    }

    /// The flag is true while functions are evaluated far away, only to see whether the objective has a bound there. Who evaluates them may take
    /// note: what fails then is no reason to end the run, and no failure to tell the user of.
    pub fn show_ventures(&mut self, flag: Arc<AtomicBool>) {
        self.oracle.ventures = flag;
    }

    /// Whether an attempt to leave a stationary point of the violation has gone so far away that rounding hides any violation as small as the
    /// one there: from here it can lead to nothing better, however long it goes on.
    pub(crate) fn is_lost(&self) -> bool {
        self.state.progress.escapes.least_violation().is_some_and(|least| self.violation_hidden_by_rounding() > least)
    }

    /// The largest violation of a row that rounding hides at the current point. Near the start there is none worth a look.
    fn violation_hidden_by_rounding(&self) -> f64 {
        if self.noisy.is_some() || !self.is_far(self.distance_from_start()) {
            return 0.0;
        }
        let rows = 0..self.state.current.h.len();
        rows.map(|row| self.rounding_of_row(row, &self.state.current)).fold(0.0, f64::max)
    }

    /// The user's objective, or its negative where that is to be as large as possible.
    pub(super) fn to_be_minimised(&self, at: &Iterate) -> f64 {
        at.f / self.oracle.standard.scales.objective
    }

    fn distance_from_start(&self) -> f64 {
        let (x, start) = (&self.state.current.user.x, &self.oracle.standard.start);
        x.iter().zip(start).map(|(x, start)| (x - start) * (x - start)).sum::<f64>().sqrt()
    }

    fn is_far(&self, distance: f64) -> bool {
        distance > FAR * (1.0 + norm(&self.oracle.standard.start))
    }

    /// So far away that rounding hides a violation, rows that contradict each other seem to hold: a point must have shown that they can.
    fn look_for_a_feasible_point(&mut self) {
        let holds = self.judging.kkt.residuals.feasibility <= self.settings.tolerance.feasibility;
        if !self.state.progress.was_feasible && holds {
            self.state.progress.was_feasible = self.rounding_hides_no_violation();
        }
    }

    /// Whether rounding is too small at the current point to hide a violation that matters.
    pub(super) fn rounding_hides_no_violation(&self) -> bool {
        let is_clear = |row| self.rounding_of_row(row, &self.state.current) <= self.settings.tolerance.feasibility;
        (0..self.state.current.h.len()).all(is_clear)
    }

    /// Looks along the step from the current point, at first as far as the start is away.
    fn falls_along_the_ray(&mut self, distance: f64) -> bool {
        let unit = distance / norm(&self.steps.tangent.s);
        let size = unit * largest(&self.steps.tangent.s);
        let mut descent = Descent::from(self.to_be_minimised(&self.state.current));
        let mut doublings = 1.0;
        while !descent.is_over(size * f64::exp2(doublings)) {
            let next = self.value_on_the_ray(unit, doublings);
            if !descent.goes_on(next) {
                return false;
            }
            doublings = if descent.is_long() { FARTHER * doublings } else { doublings + 1.0 };
        }
        let falls = self.no_bound_is_ahead(&self.steps.tangent.s);
        if falls {
            self.note_how_far();
        }
        falls
    }

    /// The objective on the ray after so many doublings of the distance, where it has a value and all rows hold.
    fn value_on_the_ray(&mut self, unit: f64, doublings: f64) -> Option<f64> {
        let is_there = !self.clock.is_over() && self.place_on_the_ray((doublings.exp2() - 1.0) * unit);
        if !is_there || self.oracle.values(&mut self.trial, true).is_err() {
            return None;
        }
        self.judging.kkt.find_violation(&self.trial, &self.oracle.standard);
        self.is_feasible_up_to_rounding(&self.trial.z).then(|| self.to_be_minimised(&self.trial))
    }

    /// Whether a ray in this direction never leaves the bounds of variables and rows, however far away they are. What is next to nothing of the
    /// direction is rounding, or part of a curve that fades.
    pub(super) fn no_bound_is_ahead(&self, direction: &[f64]) -> bool {
        let (standard, along) = (&self.oracle.standard, ALONG * largest(direction));
        let mut parts = direction.iter().zip(standard.lower.iter().zip(&standard.upper));
        parts.all(|(&part, (lower, upper))| part.abs() <= along || (if part > 0.0 { *upper } else { -lower }) == f64::INFINITY)
    }

    /// Whether each row holds, by the violation found last, but for the tolerance and what rounding makes of its own terms so far away.
    pub(super) fn is_feasible_up_to_rounding(&self, z: &[f64]) -> bool {
        let tolerance = self.settings.tolerance.feasibility;
        let mut rows = self.judging.kkt.violations().iter().enumerate();
        rows.all(|(row, violation)| violation.abs() <= tolerance + self.rounding_of_terms(row, &self.state.current, z))
    }

    /// What rounding may make of a row, in the user's scale.
    pub(super) fn rounding_of_row(&self, row: usize, at: &Iterate) -> f64 {
        self.rounding_of_terms(row, at, &at.z)
    }

    /// The same at a point `z` where the Jacobian is about that of another one.
    fn rounding_of_terms(&self, row: usize, at: &Iterate, z: &[f64]) -> f64 {
        ROUNDING * at.jacobian.a.size_of_terms_in_row(row, z) / self.oracle.standard.scales.rows[row]
    }

    /// `z + t s`; false where a bound is in the way.
    fn place_on_the_ray(&mut self, t: f64) -> bool {
        let (z, s) = (&self.state.current.z, &self.steps.tangent.s);
        self.trial.put(|i| z[i] + t * s[i]);
        self.trial.is_inside_its_bounds(&self.oracle.standard)
    }
}

#[cfg(test)]
mod tests {
    use tangor_problem::{ClosureProblem, Meta};

    use crate::{Point, Report, Settings, Solver, solve};

    /// `min -x^3` with `1000 x = w` and `atan x <= most`, far away: rounding excuses the first row, whose terms are 1e11, and nothing the second.
    fn diverges_far_away(most: f64) -> bool {
        let meta = Meta::new("runaway", vec![1e8, 1e11 + 1e-5]).equalities(&[0.0]).at_most(&[most]);
        let problem = ClosureProblem::builder(meta)
            .objective(|x| -x[0].powi(3))
            .gradient(|x, g| g.copy_from_slice(&[-3.0 * x[0] * x[0], 0.0]))
            .constraints(|x, c| c.copy_from_slice(&[1e3 * x[0] - x[1], x[0].atan()]))
            .jacobian(|x, values| values.copy_from_slice(&[1e3, -1.0, 1.0 / (1.0 + x[0] * x[0]), 0.0]))
            .build()
            .expect("complete");
        let mut solver = Solver::new(problem, Settings::default()).expect("valid");
        solver.state.progress.was_feasible = true;
        solver.diverges()
    }

    #[test]
    fn a_violated_row_is_not_hidden_by_the_terms_of_another() {
        assert!(diverges_far_away(2.0));
        assert!(!diverges_far_away(1.0));
    }

    /// `min -x` with `x <= most` and `x <= 2 most`, the second as a row.
    fn far_bound(most: f64) -> Report {
        let mut meta = Meta::new("far bound", vec![0.0]).at_most(&[2.0 * most]);
        meta.x_upper[0] = most;
        let problem = ClosureProblem::builder(meta)
            .objective(|x| -x[0])
            .gradient(|_, g| g[0] = -1.0)
            .constraints(|x, c| c[0] = x[0])
            .jacobian(|_, values| values[0] = 1.0)
            .build()
            .expect("complete");
        solve(problem, Settings::default()).expect("valid")
    }

    #[test]
    fn a_minimum_far_away_is_one() {
        let is_unbounded = |f: fn(f64) -> f64, slope: fn(f64) -> f64| {
            let problem = ClosureProblem::builder(Meta::new("far", vec![0.0]))
                .objective(move |x| f(x[0]))
                .gradient(move |x, g| g[0] = slope(x[0]))
                .build()
                .expect("complete");
            solve(problem, Settings::default()).expect("valid").point == Point::Unbounded
        };
        assert!(is_unbounded(|x| -x, |_| -1.0));
        // The minima are at 5e12, 5e15 and 2e11, and the last one has a limit.
        assert!(!is_unbounded(|x| 1e-13 * x * x - x, |x| 2e-13 * x - 1.0));
        assert!(!is_unbounded(|x| 1e-16 * x * x - x, |x| 2e-16 * x - 1.0));
        assert!(!is_unbounded(|x| (1e-10 * x).exp() - x, |x| 1e-10 * (1e-10 * x).exp() - 1.0));
        assert!(!is_unbounded(|x| -1e12 * (1e-12 * x).atan(), |x| -1.0 / (1.0 + (1e-12 * x).powi(2))));
    }

    #[test]
    fn a_bound_is_one_however_far_away() {
        for most in [1e9, 1e12, 1e15] {
            let report = far_bound(most);
            assert_eq!((report.point, report.x[0]), (Point::EpsKkt, most), "{report:?}");
        }
    }
}
