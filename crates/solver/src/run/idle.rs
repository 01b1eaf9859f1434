//! Iterations at a violated point that repair nothing: the linearised constraints have nothing to offer that a value could show.
//!
//! Such a run is at a stationary point of the violation, as far as numbers tell, though its steps may go on for ever, each too small to be seen
//! and accepted as what rounding makes of it. It is given up as one whose step is too small: what is learnt anew is not forgotten again first.

use serde::{Deserialize, Serialize};
use tangor_problem::SampledProblem;

use crate::NormalVariant;
use crate::solver::Solver;

/// A normal step that removes a smaller share of the residual repairs nothing.
const NOTHING: f64 = 1e-8;

/// The violation in the user's units may still creep where that inside has nothing left to lose: so little in all is no progress.
const CREEPING: f64 = 1e-5;

/// Iterations in a row that repaired nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Idle {
    iterations: u32,
    /// The violation when they began.
    violation: f64,
}

impl Idle {
    /// An iteration at a point with this violation, whose normal step removes this share of it.
    pub fn count(&mut self, share: f64, violation: f64) {
        let goes_on = share <= NOTHING && self.iterations > 0 && violation >= (1.0 - CREEPING) * self.violation;
        match (goes_on, share <= NOTHING) {
            (true, _) => self.iterations += 1,
            (false, true) => *self = Idle { iterations: 1, violation },
            (false, false) => *self = Idle::default(),
        }
    }

    /// Whether nothing more is to be expected after so many of them; 0 for never.
    pub fn is_over(&self, patience: u32) -> bool {
        patience > 0 && self.iterations >= patience
    }
}

impl<S: SampledProblem> Solver<S> {
    /// Counts an iteration whose steps are found and whose point is measured.
    pub(crate) fn count_idle(&mut self) {
        let (violation, share) = (self.judging.kkt.residuals.feasibility, self.steps.normal.theta);
        // With a mapping `theta` is an eigenvalue, not what was removed.
        let tells = self.noisy.is_none() && self.settings.normal.variant != NormalVariant::Mapping;
        let idle = &mut self.state.progress.idle;
        match tells && violation > self.settings.tolerance.feasibility {
            true => idle.count(share, violation),
            false => *idle = Idle::default(),
        }
    }

    /// Whether the run repairs nothing any more.
    pub(crate) fn is_idle(&self) -> bool {
        self.state.progress.idle.is_over(self.settings.limits.idle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_repairs_nothing_for_long_is_given_up() {
        const PATIENCE: u32 = 50;
        let mut idle = Idle::default();
        for _ in 1..PATIENCE {
            idle.count(1e-14, 2.0);
            assert!(!idle.is_over(PATIENCE));
        }
        idle.count(0.0, 2.0);
        assert!(idle.is_over(PATIENCE) && !idle.is_over(PATIENCE + 1));
        assert!(!idle.is_over(0), "the paper gives up nothing");
        // A step that promises something, or a violation that falls without any promise, begins anew.
        idle.count(1e-3, 2.0);
        assert_eq!(idle, Idle::default());
        for k in 0..3 * PATIENCE {
            idle.count(0.0, 2.0 - 1e-3 * f64::from(k));
            assert!(!idle.is_over(PATIENCE));
        }
    }
}
