//! Whether the objective falls without bound: the run is far from its start, and along its next step, feasible all along, the objective
//! goes on falling as far as one looks.

use tangor_problem::SampledProblem;

use crate::kernel::vector::norm;
use crate::solver::Solver;
use crate::steps::line_search::ROUNDING;

/// An objective below this at a feasible point is no minimum that anybody looks for.
const BOTTOM: f64 = -1e20;

/// How far from the start a point is suspicious, relative to `1 + |start|`.
const FAR: f64 = 1e5;

/// A ray is looked at again when the distance has grown by this factor.
const AGAIN: f64 = 10.0;

/// How often the distance is doubled on the ray.
const DOUBLINGS: u32 = 20;

/// Each doubling must lower the objective by this share of what the one before did: a logarithm passes, what tends to a limit does not.
const STEADY: f64 = 0.95;

impl<S: SampledProblem> Solver<S> {
    /// True where the objective was seen to fall without bound. The trial point is used up.
    pub(crate) fn diverges(&mut self) -> bool {
        let (violation, tolerance) = (self.judging.kkt.residuals.feasibility, self.settings.tolerance.feasibility);
        let feasible = self.feasible_up_to_rounding(&self.state.current.z);
        // So far away that rounding hides a violation, rows that contradict each other seem to hold: a point must have shown that they can.
        self.state.progress.was_feasible |= violation <= tolerance && feasible <= 2.0 * tolerance;
        let could_be = self.noisy.is_none() && self.oracle.meta().has_objective && self.state.progress.was_feasible;
        if !could_be || violation > feasible {
            return false;
        }
        let (user, start) = (&self.state.current.user, &self.oracle.standard.start);
        if user.objective < BOTTOM {
            return true;
        }
        let distance = user.x.iter().zip(start).map(|(x, start)| (x - start) * (x - start)).sum::<f64>().sqrt();
        let progress = &mut self.state.progress;
        if distance <= FAR * (1.0 + norm(start)) || distance <= AGAIN * progress.looked_at {
            return false;
        }
        progress.looked_at = distance;
        self.falls_along_the_ray(distance)
    }

    /// Looks along the step from the current point, at first as far as the start is away.
    fn falls_along_the_ray(&mut self, distance: f64) -> bool {
        let (mut f, mut fall) = (self.state.current.user.objective, 0.0);
        let length = norm(&self.steps.tangent.s);
        for doubling in 1..=DOUBLINGS {
            let t = (f64::from(doubling).exp2() - 1.0) * distance / length;
            if !self.place_on_the_ray(t) || self.oracle.values(&mut self.trial, true).is_err() {
                return false;
            }
            self.judging.kkt.find_violation(&self.trial, &self.oracle.standard);
            let next = self.trial.user.objective;
            let is_feasible = self.judging.kkt.violation() <= self.feasible_up_to_rounding(&self.trial.z);
            if !is_feasible || next >= f || f - next < STEADY * fall || self.clock.is_over() {
                return false;
            }
            (f, fall) = (next, f - next);
        }
        true
    }

    /// The tolerance of feasibility, and what rounding makes of a row so far away.
    fn feasible_up_to_rounding(&self, z: &[f64]) -> f64 {
        self.settings.tolerance.feasibility + ROUNDING * self.state.current.jacobian.norm() * norm(z)
    }

    /// `z + t s`; false where a bound is in the way.
    fn place_on_the_ray(&mut self, t: f64) -> bool {
        let standard = &self.oracle.standard;
        for i in 0..standard.n() {
            let z = self.state.current.z[i] + t * self.steps.tangent.s[i];
            if !(standard.lower[i]..=standard.upper[i]).contains(&z) {
                return false;
            }
            self.trial.z[i] = z;
        }
        true
    }
}
