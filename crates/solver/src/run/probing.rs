//! Values around a point that is about to be called infeasible: derivatives say that no small change reduces the violation there, and only
//! values can tell whether derivatives are right. Where the violation falls in proportion to a step, however short, and by more than they say, they are not.

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
    /// What contradicts the claim that no small change reduces the violation of the best point, to first order, if anything does. The derivatives there
    /// are those of the estimates, just evaluated. A probe without a value tells nothing.
    pub(super) fn find_contradiction(&mut self) -> Option<EvaluationFailure> {
        let meta = self.oracle.problem.meta().clone();
        let jacobian = self.oracle.estimates.jacobian.values().to_vec();
        let (x, c) = (self.outcome.best.x.clone(), self.outcome.best.c.clone());
        let violation = violation(&meta, &c);
        let slope = slope(&meta, &c, &jacobian);
        let least = (CLEARLY * violation).max(OPERATIONS * ROUNDING * norm(&c));
        // What a step takes away of the violation beyond what the slope there says.
        let mut fall = |step: f64, seed: u64| {
            let (there, mut values) = (moved(&meta, &x, step, seed), vec![0.0; meta.m()]);
            self.oracle.problem.constraints(&there, &[], &mut values).ok()?;
            let promised: f64 = slope.iter().zip(there.iter().zip(&x)).map(|(slope, (there, x))| slope * (x - there)).sum();
            Some(violation - self::violation(&meta, &values) - promised)
        };
        for seed in 0..DIRECTIONS {
            for step in [RADIUS, -RADIUS] {
                let whole = fall(step, seed).filter(|whole| *whole > least);
                if let Some(whole) = whole.filter(|whole| is_proportional(*whole, least, |share| fall(share * step, seed))) {
                    return Some(contradiction(violation, whole));
                }
            }
        }
        None
    }
}

/// Whether the fall of a step halves with it, as often as it can be seen: once at least. Where a row has its scale below that of the step, a quarter of it may
/// look like a half of it once.
fn is_proportional(whole: f64, least: f64, mut fall: impl FnMut(f64) -> Option<f64>) -> bool {
    let (mut share, mut before) = (1.0, whole);
    loop {
        share *= 0.5;
        let Some(half) = fall(share).filter(|half| HALF.contains(&(half / before))) else { return false };
        if half <= least {
            return true;
        }
        before = half;
    }
}

/// The gradient of the norm of the violation.
fn slope(meta: &Meta, c: &[f64], jacobian: &[f64]) -> Vec<f64> {
    let violations: Vec<f64> = meta.violations(c).collect();
    let (size, mut slope) = (norm(&violations), vec![0.0; meta.n()]);
    for (k, value) in jacobian.iter().enumerate() {
        let (row, column) = meta.jacobian.place(k, meta.n());
        slope[column] += value * (violations[row] / size);
    }
    slope
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_falls_in_proportion_does_so_however_short_the_step_is() {
        let falls = |fall: fn(f64) -> f64| is_proportional(fall(1.0), 1e-6, |share| Some(fall(share)));
        assert!(falls(|share| 0.3 * share) && falls(|share| 1.5e-6 * share));
        // A row that falls by its square and levels off: once half the way makes about half the fall, a tenth of it does not.
        let levels = |share: f64| 0.3 * (1.0 - (-(1.3 * share).powi(2)).exp());
        assert!(HALF.contains(&(levels(0.5) / levels(1.0))), "{}", levels(0.5) / levels(1.0));
        assert!(!falls(|share| 0.3 * (1.0 - (-(1.3 * share).powi(2)).exp())));
        assert!(!is_proportional(1.0, 1e-6, |_| None), "no value");
    }

    #[test]
    fn the_slope_by_hand() {
        // Rows x + 2 y = 5 and 3 y <= 1 at (6, 1): x + 2 y is 8 and 3 y is 3, off by 3 and 2. The norm is root 13.
        let meta = Meta::new("by hand", vec![6.0, 1.0]).rows(&[5.0, f64::NEG_INFINITY], &[5.0, 1.0]);
        let slope = slope(&meta, &[8.0, 3.0], &[1.0, 2.0, 0.0, 3.0]);
        let size = 13f64.sqrt();
        assert!((slope[0] - 3.0 / size).abs() < 1e-15 && (slope[1] - 12.0 / size).abs() < 1e-15, "{slope:?}");
    }
}
