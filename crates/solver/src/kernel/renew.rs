//! The system of the bounds that hold now: factorised, or by a border around what was factorised for others, and its solution.

use crate::kernel::projection::{Projected, Projection};
use crate::kernel::subproblem::{Block, BoundStatus, Subproblem};
use crate::kernel::vector::{add, norm};
use crate::run::clock::Clock;

/// So many systems at most for each factorisation that the settings allow.
const SYSTEMS_PER_FACTORISATION: u32 = 4;

/// What a border may leave of the system, relative to the size of its terms.
const ACCURATE: f64 = 1e-11;

impl Projection {
    /// Makes the system that of the statuses: where few columns changed over since it was factorised, by a border. False: no more systems may be
    /// formed, or this one is not regular.
    pub(super) fn renew(&mut self, problem: &Subproblem, clock: &Clock, done: &mut Projected) -> bool {
        if done.systems > 0 && clock.is_over() || self.is_enough(done) {
            return false;
        }
        done.systems += 1;
        self.is_factorised && self.change_few(problem) || self.factorise(problem, done)
    }

    /// Whether the settings allow no more of it, or the search that goes on.
    pub(super) fn is_enough(&self, done: &Projected) -> bool {
        done.iterations >= self.most || done.systems >= SYSTEMS_PER_FACTORISATION * self.settings.iterations
    }

    fn factorise(&mut self, problem: &Subproblem, done: &mut Projected) -> bool {
        self.hold();
        done.iterations += 1;
        let factorised = self.system.factorise(problem, &self.extra, &self.softness);
        done.dependent |= matches!(factorised, Ok(true));
        done.unsuited_metric |= factorised.is_err() && matches!(problem.block, Block::Sparse(_));
        self.is_factorised = factorised.is_ok();
        self.is_factorised
    }

    /// Changes columns of the factorised system over. False: there are too many.
    fn change_few(&mut self, problem: &Subproblem) -> bool {
        let is_held = |status: &BoundStatus| *status != BoundStatus::Free;
        let changes = self.extra.iter().zip(&self.statuses).filter(|(extra, status)| (**extra > 0.0) != is_held(status));
        if changes.count() > self.system.solutions_in_a_factorisation() {
            return false;
        }
        for (i, status) in self.statuses.iter().enumerate() {
            let holds = is_held(status);
            if (self.extra[i] > 0.0) != holds {
                self.extra[i] = if holds { f64::INFINITY } else { 0.0 };
                if !self.system.change_over(problem, i) {
                    return false;
                }
            }
        }
        true
    }

    fn hold(&mut self) {
        for (extra, status) in self.extra.iter_mut().zip(&self.statuses) {
            *extra = if *status == BoundStatus::Free { 0.0 } else { f64::INFINITY };
        }
    }

    /// Moves held columns to their bounds.
    fn place_held(&self, problem: &Subproblem, s: &mut [f64]) {
        for (i, s) in s.iter_mut().enumerate() {
            match self.statuses[i] {
                BoundStatus::Free => {}
                BoundStatus::Lower => *s = problem.lower[i],
                BoundStatus::Upper => *s = problem.upper[i],
            }
        }
    }

    /// Solves the system for these statuses, as a correction of `s` and `y`. Where a border makes this too inaccurate, all is factorised anew; false:
    /// this cannot be.
    pub(super) fn correct(
        &mut self,
        problem: &Subproblem,
        y: &mut [f64],
        s: &mut [f64],
        clock: &Clock,
        done: &mut Projected,
    ) -> bool {
        self.place_held(problem, s);
        problem.find_reduced_gradient(s, y, &mut self.q);
        problem.find_residual(s, y, &mut self.residual);
        if !self.system.is_bordered() {
            self.solve_for_correction(problem, y, s);
        } else {
            let before = self.left_of_system(y);
            self.solve_for_correction(problem, y, s);
            let (left, size) = (self.left_of_system(y), self.size_of_terms(problem, y));
            let is_good =
                left.0 <= ACCURATE * (before.0 + size) && left.1 <= ACCURATE * (before.1 + self.jacobian_norm * norm(s));
            if !is_good {
                if clock.is_over() || !self.factorise(problem, done) {
                    return false;
                }
                self.solve_for_correction(problem, y, s);
            }
        }
        true
    }

    /// How far free columns and rows are from what the system asks for.
    fn left_of_system(&self, y: &[f64]) -> (f64, f64) {
        let free = self.q.iter().zip(&self.statuses).filter(|(_, status)| **status == BoundStatus::Free);
        let rows = (0..y.len()).map(|i| self.residual[i] + self.proximal[i] * (y[i] - self.centre[i]));
        (free.fold(0.0, |most, (q, _)| q.abs().max(most)), rows.fold(0.0, |most, row| row.abs().max(most)))
    }

    fn solve_for_correction(&mut self, problem: &Subproblem, y: &mut [f64], s: &mut [f64]) {
        for (i, ds) in self.ds.iter_mut().enumerate() {
            *ds = if self.statuses[i] == BoundStatus::Free { -self.q[i] } else { 0.0 };
        }
        for i in 0..y.len() {
            self.dy[i] = self.residual[i] + self.proximal[i] * (y[i] - self.centre[i]);
        }
        self.system.solve(problem, &mut self.ds, &mut self.dy);
        add(1.0, &self.ds, s);
        add(1.0, &self.dy, y);
        problem.find_reduced_gradient(s, y, &mut self.q);
        problem.find_residual(s, y, &mut self.residual);
    }
}
