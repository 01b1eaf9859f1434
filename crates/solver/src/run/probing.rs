//! Values around a point that is about to be called infeasible: derivatives say that no small change reduces the violation there, and only
//! values can tell whether derivatives are right. Where the violation falls in proportion to a step, they are not.

use tangor_problem::{Function, Meta, SampledProblem};

use crate::EvaluationFailure;
use crate::kernel::vector::norm;
use crate::noise::random::uniform;
use crate::solver::Solver;
use crate::steps::line_search::ROUNDING;

/// How far a probe lies from the point, relative to `1 + |x_i|`.
const RADIUS: f64 = 1e-4;

/// Random directions that are looked along, forth and back.
const DIRECTIONS: u64 = 3;

/// A fall that is a smaller share of the violation is no contradiction of a slope within its tolerance.
const CLEARLY: f64 = 1e-6;

/// Rounding of this many operations is no fall either.
const OPERATIONS: f64 = 1e3;

/// Half the way makes about half the fall: a quarter is what curvature makes of it.
const HALF: std::ops::RangeInclusive<f64> = 0.4..=0.6;

impl<S: SampledProblem> Solver<S> {
    /// What contradicts the claim that no small change reduces the violation of the best point, to first order, if anything does. A probe without
    /// a value tells nothing.
    pub(super) fn find_contradiction(&mut self) -> Option<EvaluationFailure> {
        let meta = self.oracle.problem.meta().clone();
        let (x, violation) = (self.outcome.best.x.clone(), violation(&meta, &self.outcome.best.c));
        let least = (CLEARLY * violation).max(OPERATIONS * ROUNDING * norm(&self.outcome.best.c));
        let mut fall = |step: f64, seed: u64| {
            let mut values = vec![0.0; meta.m()];
            self.oracle.problem.constraints(&moved(&meta, &x, step, seed), &[], &mut values).ok()?;
            Some(violation - self::violation(&meta, &values))
        };
        for seed in 0..DIRECTIONS {
            for step in [RADIUS, -RADIUS] {
                let whole = fall(step, seed).filter(|whole| *whole > least);
                let half = whole.and_then(|_| fall(0.5 * step, seed));
                if let (Some(whole), Some(half)) = (whole, half)
                    && HALF.contains(&(half / whole))
                {
                    return Some(contradiction(violation, whole));
                }
            }
        }
        None
    }
}

fn contradiction(violation: f64, fall: f64) -> EvaluationFailure {
    let message = format!(
        "the values of the constraints contradict their derivatives: by these no small change reduces the violation of {violation:.1e}, but a \
         step of {RADIUS:.0e} takes away {fall:.1e}, and half the step half of that"
    );
    EvaluationFailure { function: Function::Jacobian, place: None, message, cause: None }
}

/// The point a step away in a random direction, within its bounds; a variable at a bound can only move to the inside.
fn moved(meta: &Meta, x: &[f64], step: f64, seed: u64) -> Vec<f64> {
    let along = |i: usize| x[i] + step * (1.0 + x[i].abs()) * uniform(seed, i as u64);
    (0..meta.n()).map(|i| along(i).max(meta.x_lower[i]).min(meta.x_upper[i])).collect()
}

/// The norm of what rows are off by.
fn violation(meta: &Meta, c: &[f64]) -> f64 {
    norm(&meta.violations(c).collect::<Vec<_>>())
}
