//! The tangent step `s`: the best step for the objective among those that repair the constraints as the normal step does,
//! `min g^T s + 1/2 s^T H s` subject to `J s = r` and the bounds, with its multipliers.

use crate::frame::{Frame, Room};
use crate::iterate::Iterate;
use crate::projection::{Projection, Subproblem};
use crate::{Event, Unusual, cone};

/// The tangent step with its memory.
pub struct TangentStep {
    pub s: Vec<f64>,
    /// Multipliers of `J s = r`; also the warm start.
    pub lambda: Vec<f64>,
    /// Multipliers of the bounds: `>= 0` where the lower bound holds the step, `<= 0` at the upper, 0 elsewhere.
    pub mu: Vec<f64>,
}

impl TangentStep {
    pub fn new(m: usize, columns: usize) -> Self {
        TangentStep { s: vec![0.0; columns], lambda: vec![0.0; m], mu: vec![0.0; columns] }
    }

    /// Computes `s`, `lambda` and `mu`.
    pub fn compute(
        &mut self,
        frame: Frame,
        target: &[f64],
        fallback: bool,
        projection: &mut Projection,
        unusual: &mut Unusual,
    ) -> u32 {
        let Frame { at, room, metric, clock } = frame;
        let subproblem = Subproblem {
            jacobian: &at.jacobian,
            metric,
            gradient: Some(&at.g),
            target,
            lower: &room.lower,
            upper: &room.upper,
            softness: 0.0,
        };
        let projected = projection.solve(&subproblem, &mut self.lambda, &mut self.s, clock);
        if projected.dependent {
            unusual.insert(Event::RankDeficient);
        }
        if !projected.converged && !clock.is_over() {
            if fallback && cone::quadratic(&subproblem, &mut self.s, &mut self.lambda) {
                unusual.insert(Event::Fallback);
            } else {
                unusual.insert(Event::Inexact);
            }
        }
        self.find_bound_multipliers(at, room, metric);
        projected.iterations
    }

    /// `mu = H s + g + J^T lambda` where a bound holds the step.
    fn find_bound_multipliers(&mut self, at: &Iterate, room: &Room, metric: &[f64]) {
        self.mu.copy_from_slice(&at.g);
        at.jacobian.add_transposed(&self.lambda, &mut self.mu);
        for i in 0..self.s.len() {
            let mu = metric[i] * self.s[i] + self.mu[i];
            let held_below = self.s[i] <= room.lower[i];
            let held_above = self.s[i] >= room.upper[i];
            self.mu[i] = match (held_below, held_above) {
                (true, true) => mu,
                (true, false) => mu.max(0.0),
                (false, true) => mu.min(0.0),
                (false, false) => 0.0,
            };
        }
    }
}
