//! The dual active-set method of Goldfarb and Idnani, for the last columns of which it is not clear whether a bound holds them.
//!
//! Held columns whose multiplier has the wrong sign are let go, until none is left: then the point is the solution of the subproblem
//! without some of its bounds. Of these bounds one that is violated is pressed against until it holds; a held column whose multiplier
//! becomes zero on the way is let go. The dual objective rises with every step, so that no set of bounds comes twice.

use crate::kernel::projection::{Projected, Projection};
use crate::kernel::subproblem::{BoundStatus, Subproblem};
use crate::kernel::vector::add;
use crate::run::clock::Clock;

/// So many columns are pressed before the point is computed anew.
const PRESSES: u32 = 8;

impl Projection {
    /// Settles all columns, with at most so many systems in all. False: it did not come to an end.
    pub(super) fn settle(
        &mut self,
        problem: &Subproblem,
        y: &mut [f64],
        s: &mut [f64],
        most: u32,
        clock: &Clock,
        done: &mut Projected,
    ) -> bool {
        let mut pressed = 0u32;
        loop {
            let renewed = done.systems < most && self.renew(problem, clock, done);
            if !renewed || !self.correct(problem, y, s, clock, done) {
                return false;
            }
            if !self.let_go(problem, y, s) {
                break;
            }
        }
        while let Some(p) = self.most_violated(problem, y, s) {
            if !self.press(problem, y, s, p, most, clock, done) {
                return false;
            }
            // What was gone step by step is computed anew at the end, and where rounding may have gathered.
            pressed += 1;
            let is_due = pressed.is_multiple_of(PRESSES) || self.most_violated(problem, y, s).is_none();
            if is_due && !self.correct(problem, y, s, clock, done) {
                return false;
            }
        }
        true
    }

    /// Lets all columns go whose multiplier has the wrong sign. False: there is none.
    fn let_go(&mut self, problem: &Subproblem, y: &[f64], s: &[f64]) -> bool {
        let rounding = self.rounding(problem, y, s);
        let mut any = false;
        for i in 0..s.len() {
            if self.statuses[i] != BoundStatus::Free && self.is_wrong(problem, s, rounding, i) {
                self.statuses[i] = BoundStatus::Free;
                any = true;
            }
        }
        any
    }

    /// The free column that is furthest beyond its bounds, in the metric.
    fn most_violated(&self, problem: &Subproblem, y: &[f64], s: &[f64]) -> Option<usize> {
        let rounding = self.rounding(problem, y, s);
        let free = (0..s.len()).filter(|&i| self.statuses[i] == BoundStatus::Free && self.is_wrong(problem, s, rounding, i));
        let distance = |i: usize| problem.metric[i].sqrt() * (problem.lower[i] - s[i]).max(s[i] - problem.upper[i]);
        free.max_by(|&a, &b| distance(a).total_cmp(&distance(b)))
    }

    /// Presses column `p` against its bound until it holds.
    #[allow(clippy::too_many_arguments)]
    fn press(
        &mut self,
        problem: &Subproblem,
        y: &mut [f64],
        s: &mut [f64],
        p: usize,
        most: u32,
        clock: &Clock,
        done: &mut Projected,
    ) -> bool {
        let from_below = s[p] < problem.lower[p];
        let (status, bound, sign) =
            if from_below { (BoundStatus::Lower, problem.lower[p], 1.0) } else { (BoundStatus::Upper, problem.upper[p], -1.0) };
        loop {
            self.ds.fill(0.0);
            self.dy.fill(0.0);
            self.ds[p] = sign;
            self.system.solve(problem, &mut self.ds, &mut self.dy);
            problem.apply_hessian(&self.ds, &mut self.dq);
            problem.jacobian.add_transposed(&self.dy, &mut self.dq);
            let enough = (bound - s[p]) / self.ds[p];
            let (free_at, freed) = self.first_zero(problem);
            let t = enough.min(free_at);
            if !(t >= 0.0 && t.is_finite()) {
                return false;
            }
            add(t, &self.ds, s);
            add(t, &self.dy, y);
            add(t, &self.dq, &mut self.q);
            let holds = enough <= free_at;
            if holds {
                self.statuses[p] = status;
                s[p] = bound;
            } else {
                self.statuses[freed] = BoundStatus::Free;
                self.q[freed] = 0.0;
            }
            if done.systems >= most || !self.renew(problem, clock, done) {
                return false;
            }
            if holds {
                return true;
            }
        }
    }

    /// How far along the direction the first multiplier becomes zero, and which one.
    fn first_zero(&self, problem: &Subproblem) -> (f64, usize) {
        let mut first = (f64::INFINITY, 0);
        for i in (0..self.q.len()).filter(|&i| problem.lower[i] < problem.upper[i]) {
            let towards = match self.statuses[i] {
                BoundStatus::Free => continue,
                BoundStatus::Lower => -self.dq[i],
                BoundStatus::Upper => self.dq[i],
            };
            if towards > 0.0 {
                let t = (self.q[i] / -self.dq[i]).max(0.0);
                if t < first.0 {
                    first = (t, i);
                }
            }
        }
        first
    }
}
