//! Where the interior-point method starts: well between the bounds, with multipliers of a size that lets it move.

use super::{Direction, Interior, PROXIMAL, is_narrow};
use crate::kernel::subproblem::Subproblem;
use crate::kernel::system::System;
use crate::kernel::vector::{add, norm};

/// Room between a column and its bounds at the start, relative to the largest column, and multipliers of bounds, relative to their mean.
const ROOM: f64 = 0.5;
const MULTIPLIERS: f64 = 3.0;
/// Room and multipliers where all is zero and no size is known.
const UNKNOWN: f64 = 1e-8;
/// Two bounds leave no more room to each side than this share of what is between them, so that a column begins in the middle half.
const OF_THE_ROOM: f64 = 0.25;
/// Multipliers are lifted by so much of what is furthest below zero.
const LIFT: f64 = 1.5;

impl Interior {
    /// A point well between the bounds, from the solution without any; this takes one factorisation. False: it failed.
    pub fn start(&mut self, problem: &Subproblem, sizes: &[f64], system: &mut System, y: &mut [f64], s: &mut [f64]) -> bool {
        (self.solved, self.steps, self.lifts, self.last) = (false, 0, 0, 0.0);
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
        let room = self.make_room(problem, s);
        problem.find_reduced_gradient(s, y, &mut self.q);
        let size = MULTIPLIERS * self.q.iter().map(|q| q.abs()).sum::<f64>() / self.q.len().max(1) as f64;
        let size = if size > 0.0 { size } else { UNKNOWN };
        for i in 0..s.len() {
            // The same product for all but those that have less room than the others.
            let near = |bound: f64| size * (room / (s[i] - bound).abs()).min(1.0);
            let at = |bound: f64| if self.extra[i] == 0.0 && bound.is_finite() { near(bound) } else { 0.0 };
            (self.lower[i], self.upper[i]) = (at(problem.lower[i]), at(problem.upper[i]));
        }
        self.first = self.measure(problem, s);
        self.scale = norm(problem.target) + problem.jacobian.norm() * norm(s);
        true
    }

    /// Moves columns away from their bounds, as far as the largest of them is, or the room allows. Gives how far.
    fn make_room(&self, problem: &Subproblem, s: &mut [f64]) -> f64 {
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
        room
    }

    /// Multipliers of the size that a whole step asks for, where steps are short because they are too small: those after the whole step, and as much more
    /// as makes all of them positive, as in Mehrotra's start. None becomes smaller.
    pub(super) fn lift(&mut self, problem: &Subproblem, s: &[f64], y: &mut [f64]) {
        self.lifts += 1;
        let Direction { y: dy, lower, upper, .. } = &self.direction;
        add(1.0, dy, y);
        let bounds = [(&mut self.lower, lower), (&mut self.upper, upper)];
        let after = bounds.iter().flat_map(|(z, dz)| z.iter().zip(*dz)).filter(|(z, _)| **z > 0.0).map(|(z, dz)| z + dz);
        let below = after.fold(0.0, f64::min);
        for (z, dz) in bounds {
            for (z, dz) in z.iter_mut().zip(dz).filter(|(z, _)| **z > 0.0) {
                *z = (*z + dz - LIFT * below).max(*z);
            }
        }
        self.first = self.first.max(self.measure(problem, s));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::matrix::{Jacobian, Matrix};
    use crate::kernel::subproblem::Block;

    #[test]
    fn multipliers_are_lifted_to_the_size_that_a_whole_step_asks_for() {
        let jacobian = Jacobian { a: Matrix::dense(1, 3), slack_rows: [].into() };
        let problem = Subproblem {
            jacobian: &jacobian,
            metric: &[1.0; 3],
            block: Block::Diagonal,
            gradient: None,
            target: &[0.0],
            lower: &[0.0, 0.0, f64::NEG_INFINITY],
            upper: &[f64::INFINITY, f64::INFINITY, 5.0],
            softness: &[1.0],
        };
        let mut interior = Interior::new(1, 3);
        (interior.lower, interior.upper) = (vec![1.0, 1.0, 0.0], vec![0.0, 0.0, 1.0]);
        interior.direction.lower = vec![-5.0, 9.0, -100.0];
        interior.direction.upper = vec![0.0, 0.0, -7.0];
        interior.direction.y = vec![3.0];
        let mut y = [1.0];
        // After the whole step they would be -4, 10 and -6: all get 9 more, and none is smaller than before. There is no third bound below.
        interior.lift(&problem, &[1.0, 1.0, 4.0], &mut y);
        assert_eq!((interior.lower.as_slice(), interior.upper.as_slice()), (&[5.0, 19.0, 0.0][..], &[0.0, 0.0, 3.0][..]));
        assert_eq!(y, [4.0]);
        assert_eq!(interior.first, (5.0 + 19.0 + 3.0) / 3.0);
    }
}
