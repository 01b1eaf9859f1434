//! Where the interior-point method begins, and how its multipliers are lifted where they began too small.

use crate::kernel::interior::{Interior, PROXIMAL};
use crate::kernel::subproblem::Subproblem;
use crate::kernel::system::System;
use crate::kernel::vector::{add, norm};

/// Room between a column and its bounds at the start, relative to the largest column, and multipliers of bounds, relative to the mean of the reduced gradient or of its
/// terms.
const ROOM: f64 = 0.5;
const MULTIPLIERS: f64 = 3.0;
/// Two bounds leave no more room to each side than this share of what is between them, so that a column begins in the middle half.
const OF_THE_ROOM: f64 = 0.25;
/// Room and multipliers where all is zero and no size is known.
const UNKNOWN: f64 = 1e-8;
/// Columns whose bounds agree to so many digits are held: a gap between them would be rounding.
const NARROW: f64 = 1e-14;
/// By how much the products of multipliers and gaps are lifted.
const LIFT: f64 = 10.0;

/// Columns with hardly any room are held.
pub(super) fn is_narrow(lower: f64, upper: f64) -> bool {
    (upper - lower).is_finite() && upper - lower <= NARROW * (1.0 + lower.abs().min(upper.abs()))
}

fn mean_size(values: &[f64]) -> f64 {
    values.iter().map(|value| value.abs()).sum::<f64>() / values.len().max(1) as f64
}

impl Interior {
    /// A point well between the bounds, from the solution without any; this takes one factorisation. False: it failed.
    pub fn start(&mut self, problem: &Subproblem, sizes: &[f64], system: &mut System, y: &mut [f64], s: &mut [f64]) -> bool {
        (self.solved, self.steps, self.last) = (false, 0, 0.0);
        self.set_proximal(problem, sizes, PROXIMAL);
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
        let direction = &mut self.direction;
        direction.y.copy_from_slice(&self.residual);
        for i in 0..s.len() {
            direction.s[i] = if self.extra[i] == 0.0 { -self.q[i] } else { 0.0 };
        }
        system.solve(problem, &mut direction.s, &mut direction.y);
        add(1.0, &direction.s, s);
        add(1.0, &direction.y, y);
        self.make_room(problem, s);
        problem.find_reduced_gradient(s, y, &mut self.q);
        // Without bounds the terms of the reduced gradient cancel, and where room was made in flat columns alone, as slacks are, what is left of them is no
        // measure of multipliers: these are as large as the terms. On LISWET1 1e-6 was left of 0.3.
        problem.apply_hessian(s, &mut self.direction.s);
        let size = MULTIPLIERS * mean_size(&self.q).max(mean_size(&self.direction.s));
        let size = if size > 0.0 { size } else { UNKNOWN };
        for i in 0..s.len() {
            let at = |bound: f64| if self.extra[i] == 0.0 && bound.is_finite() { size } else { 0.0 };
            (self.lower[i], self.upper[i]) = (at(problem.lower[i]), at(problem.upper[i]));
        }
        self.first = self.measure(problem, s);
        self.scale = norm(problem.target) + problem.jacobian.norm() * norm(s);
        true
    }

    pub(super) fn set_proximal(&mut self, problem: &Subproblem, sizes: &[f64], relative: f64) {
        self.proximal = relative;
        for (i, softness) in self.softness.iter_mut().enumerate() {
            *softness = problem.softness[i].max(if sizes[i] > 0.0 { relative * sizes[i] } else { 1.0 });
        }
    }

    /// Moves columns away from their bounds, as far as the largest of them is, or the room allows.
    fn make_room(&self, problem: &Subproblem, s: &mut [f64]) {
        let inside = |i: usize, s: &[f64]| s[i].max(problem.lower[i]).min(problem.upper[i]);
        let size = (0..s.len()).map(|i| inside(i, s).abs()).fold(0.0, f64::max);
        let room = if size > 0.0 { ROOM * size } else { UNKNOWN };
        for i in 0..s.len() {
            let (lower, upper) = (problem.lower[i], problem.upper[i]);
            if self.extra[i] == 0.0 {
                let room = room.min(OF_THE_ROOM * (upper - lower));
                s[i] = s[i].max(lower + room).min(upper - room);
            }
        }
    }

    /// Lifts multipliers until every product with its gap is at least ten times their mean. Multipliers at the solution may be larger than any size that is known
    /// at the start, and rows are repaired by small shares only as long as those of the few bounds in the way are too small; what was lifted too far falls by orders in a step.
    pub(super) fn lift(&mut self, problem: &Subproblem, s: &[f64]) {
        let aim = LIFT * self.measure(problem, s);
        let lifted = |z: f64, gap: f64| if z > 0.0 { z.max(aim / gap) } else { z };
        for (i, s) in s.iter().enumerate() {
            self.lower[i] = lifted(self.lower[i], s - problem.lower[i]);
            self.upper[i] = lifted(self.upper[i], problem.upper[i] - s);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::matrix::{Jacobian, Matrix};
    use crate::kernel::subproblem::Block;
    use crate::kernel::system::Beside;
    use crate::run::clock::Clock;
    use crate::run::memory::Budget;
    use crate::{Factorisation, Kernel};

    /// `min x + 1/2 x^2 + 1e-4/2 t^2` with `x = t >= 0`: at the solution, 0, the bound has the multiplier 1. Without bounds `x = t` is nearly -1, where both terms
    /// of the first column are 1 and cancel; room for `t` makes 1.5e-4 of the second.
    #[test]
    fn multipliers_begin_as_large_as_the_terms_that_cancel() {
        let jacobian = Jacobian { a: Matrix { values: vec![1.0], ..Matrix::dense(1, 1) }, slack_rows: [0].into() };
        let problem = Subproblem {
            jacobian: &jacobian,
            metric: &[1.0, 1e-4],
            block: Block::Diagonal,
            gradient: Some(&[1.0, 0.0]),
            target: &[0.0],
            lower: &[f64::NEG_INFINITY, 0.0],
            upper: &[f64::INFINITY; 2],
            softness: &[0.0],
        };
        let clock = Clock::new(None, 0.0);
        let factorisation: Factorisation = Kernel::default().factorisation;
        let mut system = System::new(&jacobian, factorisation, Beside::Nothing, Budget::NO_LIMIT, &clock).expect("no limit");
        let (mut interior, mut sizes, mut y, mut s) = (Interior::new(1, 2), [0.0], [0.0], [0.0; 2]);
        problem.find_row_sizes(&mut sizes);
        assert!(interior.start(&problem, &sizes, &mut system, &mut y, &mut s));
        assert!((s[0] + 1.0).abs() < 1e-3 && (s[1] - 0.5).abs() < 1e-3, "{s:?}");
        // Three times the mean of 1 and next to nothing.
        assert!(interior.lower[0] == 0.0 && (interior.lower[1] - 1.5).abs() < 1e-3, "{:?}", interior.lower);
    }

    #[test]
    fn products_are_lifted_to_ten_times_their_mean() {
        let jacobian = Jacobian { a: Matrix::dense(0, 3), slack_rows: [].into() };
        let problem =
            Subproblem::of_bounds(&jacobian, &[1.0; 3], &[0.0, 0.0, f64::NEG_INFINITY], &[f64::INFINITY, 3.0, f64::INFINITY]);
        let mut interior = Interior::new(0, 3);
        (interior.lower, interior.upper) = (vec![1.0, 4.0, 0.0], vec![0.0, 1.5, 0.0]);
        // Products 2, 4 and 3, hence an aim of 30, with gaps of 2, 1 and 2. A column without bounds has no multiplier to lift.
        interior.lift(&problem, &[2.0, 1.0, 7.0]);
        assert_eq!((interior.lower, interior.upper), (vec![15.0, 30.0, 0.0], vec![0.0, 15.0, 0.0]));
    }
}
