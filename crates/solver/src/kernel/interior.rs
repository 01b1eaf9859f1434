//! An interior-point method for the subproblem: where a search for the active set does not settle, it says which bounds hold.
//!
//! Mehrotra's predictor and corrector on `H s + g + J^T y - zl + zu = 0`, `J s - kappa y = r`, `zl (s - lower) = zu (upper - s) = t`,
//! with `t` going to 0 and `s` strictly between the bounds.

use crate::kernel::subproblem::{Side, Subproblem};
use crate::kernel::system::System;
use crate::kernel::vector::{add, largest, norm};
use crate::run::clock::Clock;

/// Most steps.
const STEPS: u32 = 40;
/// How far towards the nearest bound a step goes.
const FRACTION: f64 = 0.995;
/// The duality measure at which the active set is told, relative to where it began and to the size of its factors.
const ENOUGH: f64 = 1e-9;
/// The proximal term on the multipliers, relative to the size of a row.
const PROXIMAL: f64 = 1e-10;

/// The memory of the method.
pub struct Interior {
    lower: Vec<f64>,
    upper: Vec<f64>,
    /// `z` over the gaps, for each column.
    extra: Vec<f64>,
    softness: Vec<f64>,
    q: Vec<f64>,
    residual: Vec<f64>,
    ds: Vec<f64>,
    dy: Vec<f64>,
    /// Changes of the multipliers of the bounds in the predictor, then in the step.
    dlower: Vec<f64>,
    dupper: Vec<f64>,
    kept: (Vec<f64>, Vec<f64>),
    solved: bool,
}

/// Columns with hardly any room are held.
fn is_narrow(lower: f64, upper: f64) -> bool {
    (upper - lower).is_finite() && upper - lower <= 1e-14 * (1.0 + lower.abs().min(upper.abs()))
}

impl Interior {
    pub fn new(m: usize, columns: usize) -> Self {
        let (rows, columns) = (vec![0.0; m], vec![0.0; columns]);
        Interior {
            lower: columns.clone(),
            upper: columns.clone(),
            extra: columns.clone(),
            softness: rows.clone(),
            q: columns.clone(),
            residual: rows.clone(),
            ds: columns.clone(),
            dy: rows.clone(),
            dlower: columns.clone(),
            dupper: columns.clone(),
            kept: (columns, rows),
            solved: false,
        }
    }

    /// Comes near the solution from the inside. Gives the number of factorisations.
    pub fn solve(
        &mut self,
        problem: &Subproblem,
        sizes: &[f64],
        system: &mut System,
        y: &mut [f64],
        s: &mut [f64],
        clock: &Clock,
    ) -> u32 {
        self.solved = false;
        for (i, softness) in self.softness.iter_mut().enumerate() {
            *softness = problem.softness[i].max(if sizes[i] > 0.0 { PROXIMAL * sizes[i] } else { 1.0 });
        }
        if !self.start(problem, system, y, s) {
            return 1;
        }
        let (first, mut steps) = (self.measure(problem, s), 1);
        let scale = norm(problem.target) + problem.jacobian.norm() * norm(s);
        while steps < STEPS && !clock.is_over() {
            let measure = self.measure(problem, s);
            problem.find_reduced_gradient(s, y, &mut self.q);
            problem.find_residual(s, y, &mut self.residual);
            let dual = self.dual_residual();
            let size = scale.max(norm(problem.target) + problem.jacobian.norm() * norm(s) + problem.softened(y));
            if !measure.is_finite() || measure <= 1e-18 * first {
                return steps;
            }
            let enough = (ENOUGH * first.min(largest(&self.q) * largest(s))).max(1e-16 * first);
            if measure <= enough
                && norm(&self.residual) <= 1e-11 * size
                && dual <= 1e-10 * (largest(&self.q) + largest(&self.lower))
            {
                self.solved = true;
                return steps;
            }
            for i in 0..s.len() {
                let (below, above) = (s[i] - problem.lower[i], problem.upper[i] - s[i]);
                self.extra[i] = if is_narrow(problem.lower[i], problem.upper[i]) {
                    f64::INFINITY
                } else {
                    self.lower[i] / below + self.upper[i] / above
                };
            }
            steps += 1;
            if system.factorise(problem, &self.extra, &self.softness).is_err() {
                return steps;
            }
            // The predictor aims at the solution itself.
            self.direction(problem, system, s, 0.0, false);
            let t = self.longest(problem, s, 1.0);
            let ahead = self.measure_ahead(problem, s, t);
            let centring = (ahead / measure).powi(3).clamp(1e-6, 1.0);
            self.direction(problem, system, s, centring * measure, true);
            let t = self.longest(problem, s, FRACTION);
            if t < 1e-10 {
                return steps;
            }
            add(t, &self.ds, s);
            add(t, &self.dy, y);
            add(t, &self.dlower, &mut self.lower);
            add(t, &self.dupper, &mut self.upper);
        }
        steps
    }

    /// A point well between the bounds, from the solution without any.
    fn start(&mut self, problem: &Subproblem, system: &mut System, y: &mut [f64], s: &mut [f64]) -> bool {
        for i in 0..s.len() {
            let narrow = is_narrow(problem.lower[i], problem.upper[i]);
            self.extra[i] = if narrow { f64::INFINITY } else { 0.0 };
            let start = if s[i].is_finite() { s[i] } else { 0.0 };
            s[i] = if narrow { problem.lower[i] } else { start.max(problem.lower[i]).min(problem.upper[i]) };
        }
        if system.factorise(problem, &self.extra, &self.softness).is_err() {
            return false;
        }
        problem.find_reduced_gradient(s, y, &mut self.q);
        problem.find_residual(s, y, &mut self.residual);
        self.dy.copy_from_slice(&self.residual);
        for i in 0..s.len() {
            self.ds[i] = if self.extra[i] == 0.0 { -self.q[i] } else { 0.0 };
        }
        system.solve(problem, &mut self.ds, &mut self.dy);
        let mut size = 0.0f64;
        for i in 0..s.len() {
            size = size.max((s[i] + self.ds[i]).max(problem.lower[i]).min(problem.upper[i]).abs());
        }
        let room = if size > 0.0 { 0.1 * size } else { 1e-8 };
        for i in 0..s.len() {
            let (lower, upper) = (problem.lower[i], problem.upper[i]);
            if self.extra[i] == 0.0 {
                let room = room.min(0.25 * (upper - lower));
                s[i] = (s[i] + self.ds[i]).max(lower + room).min(upper - room);
            }
        }
        add(1.0, &self.dy, y);
        problem.find_reduced_gradient(s, y, &mut self.q);
        let size = largest(&self.q);
        let size = if size > 0.0 { size } else { 1e-8 };
        for i in 0..s.len() {
            let at = |bound: f64| if self.extra[i] == 0.0 && bound.is_finite() { size } else { 0.0 };
            (self.lower[i], self.upper[i]) = (at(problem.lower[i]), at(problem.upper[i]));
        }
        true
    }

    /// The mean of `z` times gap.
    fn measure(&self, problem: &Subproblem, s: &[f64]) -> f64 {
        self.mean(|i| (self.lower[i], s[i] - problem.lower[i], self.upper[i], problem.upper[i] - s[i]))
    }

    fn measure_ahead(&self, problem: &Subproblem, s: &[f64], t: f64) -> f64 {
        self.mean(|i| {
            let s = s[i] + t * self.ds[i];
            let (zl, zu) = (self.lower[i] + t * self.dlower[i], self.upper[i] + t * self.dupper[i]);
            (zl, s - problem.lower[i], zu, problem.upper[i] - s)
        })
    }

    fn mean(&self, of: impl Fn(usize) -> (f64, f64, f64, f64)) -> f64 {
        let (mut sum, mut count) = (0.0, 0usize);
        for i in 0..self.lower.len() {
            let (zl, below, zu, above) = of(i);
            if self.lower[i] > 0.0 {
                sum += zl * below;
                count += 1;
            }
            if self.upper[i] > 0.0 {
                sum += zu * above;
                count += 1;
            }
        }
        sum / count.max(1) as f64
    }

    /// `|H s + g + J^T y - zl + zu|` in the worst column that is not held.
    fn dual_residual(&self) -> f64 {
        let columns = (0..self.q.len()).filter(|&i| self.extra[i].is_finite());
        columns.map(|i| (self.q[i] - self.lower[i] + self.upper[i]).abs()).fold(0.0, f64::max)
    }

    /// The step towards `z gap = aim`; the second one corrects for what the first one changes together.
    fn direction(&mut self, problem: &Subproblem, system: &mut System, s: &[f64], aim: f64, corrects: bool) {
        for i in 0..s.len() {
            let (below, above) = (s[i] - problem.lower[i], problem.upper[i] - s[i]);
            let (mut low, mut high) = (aim, aim);
            if corrects {
                low -= self.ds[i] * self.dlower[i];
                high += self.ds[i] * self.dupper[i];
            }
            // What the multipliers become where the step is zero.
            self.dlower[i] = if self.lower[i] > 0.0 { low / below } else { 0.0 };
            self.dupper[i] = if self.upper[i] > 0.0 { high / above } else { 0.0 };
            self.ds[i] = if self.extra[i].is_finite() { -self.q[i] + self.dlower[i] - self.dupper[i] } else { 0.0 };
        }
        self.dy.copy_from_slice(&self.residual);
        system.solve(problem, &mut self.ds, &mut self.dy);
        for i in 0..s.len() {
            if self.lower[i] > 0.0 {
                self.dlower[i] -= self.lower[i] + self.lower[i] / (s[i] - problem.lower[i]) * self.ds[i];
            }
            if self.upper[i] > 0.0 {
                self.dupper[i] += self.upper[i] / (problem.upper[i] - s[i]) * self.ds[i] - self.upper[i];
            }
        }
    }

    /// How much of the step keeps all gaps and multipliers positive.
    fn longest(&self, problem: &Subproblem, s: &[f64], fraction: f64) -> f64 {
        let mut t = 1.0f64;
        for i in 0..s.len() {
            for (value, change) in [
                (s[i] - problem.lower[i], self.ds[i]),
                (problem.upper[i] - s[i], -self.ds[i]),
                (self.lower[i], self.dlower[i]),
                (self.upper[i], self.dupper[i]),
            ] {
                if change < 0.0 && value > 0.0 && value + t / fraction * change < 0.0 {
                    t = -fraction * value / change;
                }
            }
        }
        t
    }

    /// Which bounds hold: those whose multiplier is larger than the distance, each relative to the largest of its kind.
    pub fn tell_sides(&self, problem: &Subproblem, s: &[f64], sides: &mut [Side]) {
        let scale = largest(&self.lower).max(largest(&self.upper)) / largest(s).max(f64::MIN_POSITIVE);
        for (i, side) in sides.iter_mut().enumerate() {
            *side = if is_narrow(problem.lower[i], problem.upper[i]) || self.lower[i] > scale * (s[i] - problem.lower[i]) {
                Side::Lower
            } else if self.upper[i] > scale * (problem.upper[i] - s[i]) {
                Side::Upper
            } else {
                Side::Free
            };
        }
    }

    pub fn keep(&mut self, s: &[f64], y: &[f64]) {
        self.kept.0.copy_from_slice(s);
        self.kept.1.copy_from_slice(y);
    }

    pub fn give_back(&self, s: &mut [f64], y: &mut [f64]) {
        s.copy_from_slice(&self.kept.0);
        y.copy_from_slice(&self.kept.1);
    }

    pub fn is_solved(&self) -> bool {
        self.solved
    }
}
