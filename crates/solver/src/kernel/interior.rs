//! An interior-point method for the subproblem: where a search for the active set does not settle, it says which bounds hold.
//!
//! Mehrotra's predictor and corrector, and further correctors of Gondzio's where the step is short, on `H s + g + J^T y - zl + zu = 0`,
//! `J s - kappa y = r`, `zl (s - lower) = zu (upper - s) = t`, with `t` going to 0 and `s` strictly between the bounds.

use crate::kernel::interior_start::is_narrow;
use crate::kernel::subproblem::{BoundStatus, Subproblem};
use crate::kernel::system::System;
use crate::kernel::vector::{add, largest, norm};
use crate::run::clock::Clock;
use crate::run::memory::NUMBER;

/// Most steps.
const STEPS: u32 = 40;
/// How far towards the nearest bound a step goes.
const FRACTION: f64 = 0.995;
/// The proximal term on the multipliers, relative to the size of a row: the first and the least.
pub(super) const PROXIMAL: f64 = 1e-10;
const LEAST_PROXIMAL: f64 = 1e-15;
/// A step shorter than this is corrected again, for one that is longer by so much, and so often at most.
const SHORT: f64 = 0.9;
const LONGER: f64 = 0.15;
const CORRECTORS: u32 = 2;
/// The products of multiplier and gap that the further corrector allows, relative to their aim.
const SMALLEST: f64 = 0.1;
const LARGEST: f64 = 10.0;

/// Nothing is left to gain: the duality measure relative to the first, where it ends whatever is near, and where it counts as near.
const NOTHING: f64 = 1e-18;
const NEXT_TO_NOTHING: f64 = 1e-16;
/// Rows hold to rounding, relative to their terms: what is left then says nothing of the proximal term.
const ROUNDED: f64 = 1e-12;
/// By how much the proximal term falls where it hides rows.
const SMALLER: f64 = 1e-2;
/// Steps shorter than this, while rows do not hold, show that multipliers of bounds are too small for what is to be repaired.
const TOO_SHORT: f64 = 0.1;
/// Steps shorter than this lead nowhere.
const NOWHERE: f64 = 1e-10;
/// What rows and gradients may miss at the solution, relative to their terms.
const ROWS_HOLD: f64 = 1e-11;
const GRADIENT_VANISHES: f64 = 1e-10;
/// How far ahead a step aims at most.
const FURTHEST_AIM: f64 = 1e-6;
/// The duality measure at which most bounds that hold show, and all of them, relative to what [`Near`] says.
const MOST_BOUNDS_SHOW: f64 = 1e-3;
const ALL_BOUNDS_SHOW: f64 = 1e-9;
/// Of what rows miss, a step of length `t` must remove this share of `t`; a whole one with exact systems removes all of it.
const EXPECTED: f64 = 0.5;
/// What becomes zero beyond so many times the step does not matter to it.
const WITHIN: f64 = 2.0;

/// How near to come: the duality measure at which the active set is told, relative to where it began and to the size of its factors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Near {
    /// Most bounds that hold show by now.
    Enough,
    /// All do, and the point itself is nearly right.
    Solved,
}

impl Near {
    fn measure(self) -> f64 {
        match self {
            Near::Enough => MOST_BOUNDS_SHOW,
            Near::Solved => ALL_BOUNDS_SHOW,
        }
    }
}

/// Changes of the point and of all multipliers.
#[derive(Clone, Debug, Default)]
pub(super) struct Direction {
    pub s: Vec<f64>,
    pub y: Vec<f64>,
    pub lower: Vec<f64>,
    pub upper: Vec<f64>,
}

/// What becomes zero along a direction, and its change along the whole of it.
#[derive(Clone, Copy, Debug)]
struct Zero {
    value: f64,
    change: f64,
}

impl Zero {
    /// How much of the direction goes such a share of the way to it; all of it at most.
    fn step(self, share: f64) -> f64 {
        (-share * self.value / self.change).min(1.0)
    }
}

/// The memory of the method.
pub struct Interior {
    pub(super) lower: Vec<f64>,
    pub(super) upper: Vec<f64>,
    /// One over the gaps, where there is a multiplier, and `z` over the gaps for each column.
    inverse: (Vec<f64>, Vec<f64>),
    pub(super) extra: Vec<f64>,
    pub(super) softness: Vec<f64>,
    pub(super) q: Vec<f64>,
    pub(super) residual: Vec<f64>,
    /// What the products of multiplier and gap are to become, with the terms of second order.
    aims: (Vec<f64>, Vec<f64>),
    pub(super) direction: Direction,
    other: Direction,
    kept: (Vec<f64>, Vec<f64>),
    /// The duality measure, and the size of the rows' terms, at the start.
    pub(super) first: f64,
    pub(super) scale: f64,
    pub(super) steps: u32,
    /// How much of the last direction was gone.
    pub(super) last: f64,
    /// The proximal term, relative to the size of a row.
    pub(super) proximal: f64,
    pub(super) solved: bool,
}

impl Interior {
    /// The memory of one for so many rows and columns.
    pub fn bytes(m: usize, columns: usize) -> u128 {
        NUMBER * (15 * columns + 5 * m) as u128
    }

    pub fn new(m: usize, columns: usize) -> Self {
        let (rows, columns) = (vec![0.0; m], vec![0.0; columns]);
        let direction = Direction { s: columns.clone(), y: rows.clone(), lower: columns.clone(), upper: columns.clone() };
        Interior {
            lower: columns.clone(),
            upper: columns.clone(),
            inverse: (columns.clone(), columns.clone()),
            extra: columns.clone(),
            softness: rows.clone(),
            q: columns.clone(),
            residual: rows.clone(),
            aims: (columns.clone(), columns.clone()),
            other: direction.clone(),
            direction,
            kept: (columns, rows),
            first: 0.0,
            scale: 0.0,
            steps: 0,
            last: 0.0,
            proximal: PROXIMAL,
            solved: false,
        }
    }

    /// Comes near the solution from the inside. Gives the number of factorisations.
    #[allow(clippy::too_many_arguments)]
    pub fn approach(
        &mut self,
        problem: &Subproblem,
        sizes: &[f64],
        system: &mut System,
        near: Near,
        y: &mut [f64],
        s: &mut [f64],
        clock: &Clock,
    ) -> u32 {
        let before = self.steps;
        let mut expected = f64::INFINITY;
        while self.steps < STEPS && !clock.is_over() {
            let measure = self.measure(problem, s);
            problem.find_reduced_gradient(s, y, &mut self.q);
            problem.find_residual(s, y, &mut self.residual);
            if !measure.is_finite() || measure <= NOTHING * self.first || self.is_near(problem, near, measure, y, s) {
                break;
            }
            // Rows that nearly depend on each other are lost in the proximal term: it must be smaller.
            let left = norm(&self.residual);
            if left > expected.max(ROUNDED * self.scale) && self.proximal > LEAST_PROXIMAL {
                self.set_proximal(problem, sizes, SMALLER * self.proximal);
            }
            self.find_inverse_gaps(problem, s);
            self.steps += 1;
            if system.factorise(problem, &self.extra, &self.softness).is_err() {
                break;
            }
            let t = self.find_direction(problem, system, s, measure);
            if t < NOWHERE {
                break;
            }
            add(t, &self.direction.s, s);
            add(t, &self.direction.y, y);
            add(t, &self.direction.lower, &mut self.lower);
            add(t, &self.direction.upper, &mut self.upper);
            self.last = t;
            if t < TOO_SHORT && left > ROUNDED * self.scale {
                self.lift(problem, s);
            }
            expected = (1.0 - EXPECTED * t) * left;
        }
        self.steps - before
    }

    fn is_near(&mut self, problem: &Subproblem, near: Near, measure: f64, y: &[f64], s: &[f64]) -> bool {
        let enough = (near.measure() * self.first.min(largest(&self.q) * largest(s))).max(NEXT_TO_NOTHING * self.first);
        if near == Near::Enough || measure > enough {
            return measure <= enough;
        }
        let size = self.scale.max(norm(problem.target) + problem.jacobian.norm() * norm(s) + problem.softened(y));
        self.solved = norm(&self.residual) <= ROWS_HOLD * size
            && self.dual_residual() <= GRADIENT_VANISHES * (largest(&self.q) + largest(&self.lower));
        self.solved
    }

    /// Finds the next step, and how much of it may be gone.
    fn find_direction(&mut self, problem: &Subproblem, system: &mut System, s: &[f64], measure: f64) -> f64 {
        // The predictor aims at the solution itself.
        self.aims.0.fill(0.0);
        self.aims.1.fill(0.0);
        self.solve(problem, system);
        let t = self.first_zero(problem, s).step(1.0);
        let ahead = self.measure_ahead(problem, s, t);
        let aim = (ahead / measure).powi(3).clamp(FURTHEST_AIM, 1.0) * measure;
        for i in 0..s.len() {
            self.aims.0[i] = aim - self.direction.s[i] * self.direction.lower[i];
            self.aims.1[i] = aim + self.direction.s[i] * self.direction.upper[i];
        }
        self.solve(problem, system);
        let mut first = self.first_zero(problem, s);
        for _ in 0..CORRECTORS {
            let t = first.step(1.0);
            if t >= SHORT {
                break;
            }
            self.correct_outliers(problem, s, aim, (t + LONGER).min(1.0));
            std::mem::swap(&mut self.direction, &mut self.other);
            self.solve(problem, system);
            let other = self.first_zero(problem, s);
            if other.step(1.0) < t {
                std::mem::swap(&mut self.direction, &mut self.other);
                break;
            }
            first = other;
        }
        first.step(FRACTION)
    }

    /// Aims where products after a step of length `t` would be far from their aim.
    fn correct_outliers(&mut self, problem: &Subproblem, s: &[f64], aim: f64, t: f64) {
        let correction =
            |product: f64| (product.clamp(SMALLEST * aim, LARGEST * aim) - product).clamp(-LARGEST * aim, LARGEST * aim);
        for i in 0..s.len() {
            let ahead = s[i] + t * self.direction.s[i];
            let (zl, zu) = (self.lower[i] + t * self.direction.lower[i], self.upper[i] + t * self.direction.upper[i]);
            if self.lower[i] > 0.0 {
                self.aims.0[i] += correction(zl * (ahead - problem.lower[i]));
            }
            if self.upper[i] > 0.0 {
                self.aims.1[i] += correction(zu * (problem.upper[i] - ahead));
            }
        }
    }

    fn find_inverse_gaps(&mut self, problem: &Subproblem, s: &[f64]) {
        let inverse = |z: f64, gap: f64| if z > 0.0 { 1.0 / gap } else { 0.0 };
        for i in 0..s.len() {
            let (lower, upper) = (problem.lower[i], problem.upper[i]);
            let (below, above) = (inverse(self.lower[i], s[i] - lower), inverse(self.upper[i], upper - s[i]));
            (self.inverse.0[i], self.inverse.1[i]) = (below, above);
            self.extra[i] = if is_narrow(lower, upper) { f64::INFINITY } else { self.lower[i] * below + self.upper[i] * above };
        }
    }

    /// The step to where the products of multiplier and gap are what they aim at.
    fn solve(&mut self, problem: &Subproblem, system: &mut System) {
        let (direction, (below, above)) = (&mut self.direction, &self.inverse);
        for i in 0..self.q.len() {
            // What the multipliers become where the step is zero.
            direction.lower[i] = self.aims.0[i] * below[i];
            direction.upper[i] = self.aims.1[i] * above[i];
            direction.s[i] = if self.extra[i].is_finite() { direction.lower[i] - direction.upper[i] - self.q[i] } else { 0.0 };
        }
        direction.y.copy_from_slice(&self.residual);
        system.solve(problem, &mut direction.s, &mut direction.y);
        for i in 0..self.q.len() {
            direction.lower[i] -= self.lower[i] * (1.0 + below[i] * direction.s[i]);
            direction.upper[i] -= self.upper[i] * (1.0 - above[i] * direction.s[i]);
        }
    }

    /// The mean of `z` times gap.
    pub(super) fn measure(&self, problem: &Subproblem, s: &[f64]) -> f64 {
        self.mean(|i| (self.lower[i], s[i] - problem.lower[i], self.upper[i], problem.upper[i] - s[i]))
    }

    fn measure_ahead(&self, problem: &Subproblem, s: &[f64], t: f64) -> f64 {
        let direction = &self.direction;
        self.mean(|i| {
            let s = s[i] + t * direction.s[i];
            let (zl, zu) = (self.lower[i] + t * direction.lower[i], self.upper[i] + t * direction.upper[i]);
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

    /// The gap or multiplier that the step makes zero first, and how it changes, if this is within twice the step.
    fn first_zero(&self, problem: &Subproblem, s: &[f64]) -> Zero {
        let direction = &self.direction;
        let (mut first, mut t) = (Zero { value: WITHIN, change: -1.0 }, WITHIN);
        let mut see = |value: f64, change: f64| {
            if t * change < -value && value > 0.0 {
                (first, t) = (Zero { value, change }, -value / change);
            }
        };
        for (((s, ds), lower), upper) in s.iter().zip(&direction.s).zip(problem.lower).zip(problem.upper) {
            see(s - lower, *ds);
            see(upper - s, -ds);
        }
        for (z, change) in [(&self.lower, &direction.lower), (&self.upper, &direction.upper)] {
            z.iter().zip(change).for_each(|(z, change)| see(*z, *change));
        }
        first
    }

    /// Which bounds hold: those whose gap shrank by more than their multiplier in the last step. Units play no part in this.
    pub fn tell_statuses(&self, problem: &Subproblem, s: &[f64], statuses: &mut [BoundStatus]) {
        let direction = &self.direction;
        let holds = |z: f64, dz: f64, gap: f64, ds: f64| z > 0.0 && z * (gap - self.last * ds) > gap * (z - self.last * dz);
        for (i, status) in statuses.iter_mut().enumerate() {
            let (lower, upper) = (problem.lower[i], problem.upper[i]);
            *status = if is_narrow(lower, upper) || holds(self.lower[i], direction.lower[i], s[i] - lower, direction.s[i]) {
                BoundStatus::Lower
            } else if holds(self.upper[i], direction.upper[i], upper - s[i], -direction.s[i]) {
                BoundStatus::Upper
            } else {
                BoundStatus::Free
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::matrix::{Jacobian, Matrix};

    #[test]
    fn a_gap_that_shrinks_and_a_multiplier_that_stays_mean_a_bound_that_holds() {
        let jacobian = Jacobian { a: Matrix::dense(0, 3), slack_rows: [].into() };
        let problem =
            Subproblem::of_bounds(&jacobian, &[1.0; 3], &[0.0, 0.0, f64::NEG_INFINITY], &[f64::INFINITY, f64::INFINITY, 5.0]);
        let mut interior = Interior::new(0, 3);
        // Half of the direction was gone. Gaps: 1 to 0.1, 1 to 1, 1e6 to 1e3; multipliers: 1e-6 to 1e-6, 1 to 0.1, 1 to 0.5.
        interior.last = 0.5;
        (interior.lower, interior.upper) = (vec![1e-6, 0.1, 0.0], vec![0.0, 0.0, 0.5]);
        let gone = 1e6 - 1e3;
        interior.direction.s = vec![-1.8, 0.0, 2.0 * gone];
        interior.direction.lower = vec![0.0, -1.8, 0.0];
        interior.direction.upper = vec![0.0, 0.0, -1.0];
        let mut statuses = [BoundStatus::Upper; 3];
        interior.tell_statuses(&problem, &[0.1, 1.0, 5.0 - 1e3], &mut statuses);
        assert_eq!(statuses, [BoundStatus::Lower, BoundStatus::Free, BoundStatus::Upper]);
    }

    #[test]
    fn a_step_ends_where_the_first_gap_or_multiplier_would_be_zero() {
        let jacobian = Jacobian { a: Matrix::dense(0, 2), slack_rows: [].into() };
        let problem = Subproblem::of_bounds(&jacobian, &[1.0; 2], &[0.0, f64::NEG_INFINITY], &[f64::INFINITY, 5.0]);
        let mut interior = Interior::new(0, 2);
        (interior.lower, interior.upper) = (vec![3.0, 0.0], vec![0.0, 1.0]);
        // Gaps of 1 and 2 change by -1/2 and +3: none is zero within the step.
        interior.direction.s = vec![-0.5, -3.0];
        assert_eq!(interior.first_zero(&problem, &[1.0, 3.0]).step(0.5), 1.0);
        // The multiplier 3 changes by -4, which is zero at 3/4; the gap of 2 by -8, which is zero at 1/4.
        interior.direction.lower[0] = -4.0;
        assert_eq!(interior.first_zero(&problem, &[1.0, 3.0]).step(1.0), 0.75);
        interior.direction.s[1] = 8.0;
        assert_eq!(interior.first_zero(&problem, &[1.0, 3.0]).step(1.0), 0.25);
        assert_eq!(interior.first_zero(&problem, &[1.0, 3.0]).step(0.5), 0.125);
    }
}
