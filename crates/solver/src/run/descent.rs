//! How long one looks along a way on which the objective falls, and how far was looked.
//!
//! A minimum that is far away, as that of `1e-16 x^2 - x` is, looks like none for long: so a look begins with steps that double the distance, on which the
//! fall must not slacken, and goes on until the objective is at the bottom or numbers end.

use serde::{Deserialize, Serialize};
use tangor_problem::SampledProblem;

use crate::form::iterate::Iterate;
use crate::kernel::vector::largest;
use crate::run::number;
use crate::solver::Solver;

/// An objective below this at a feasible point is no minimum that anybody looks for.
pub(super) const BOTTOM: f64 = -1e20;

/// How often the distance is doubled at first.
pub(super) const DOUBLINGS: u32 = 20;

/// Numbers beyond this are not asked for.
pub(super) const END: f64 = 1e300;

/// Each doubling must lower the objective by this share of what the one before did: a logarithm passes, what tends to a limit does not.
pub(super) const STEADY: f64 = 0.95;

/// What was seen of the objective on a way that leads away from a point.
pub(super) struct Descent {
    f: f64,
    fall: f64,
    looks: u32,
}

impl Descent {
    /// The way begins where the objective has this value.
    pub fn from(f: f64) -> Self {
        Descent { f, fall: 0.0, looks: 0 }
    }

    /// Whether the fall goes on at the next place, where the objective has this value, if it has one.
    pub fn goes_on(&mut self, next: Option<f64>) -> bool {
        let Some(next) = next.filter(|next| *next < self.f) else { return false };
        let fall = self.f - next;
        let is_steady = self.is_long() || fall >= STEADY * self.fall;
        (self.f, self.fall, self.looks) = (next, fall, self.looks + 1);
        is_steady
    }

    /// Whether the doublings of the beginning are done.
    pub fn is_long(&self) -> bool {
        self.looks >= DOUBLINGS
    }

    /// Whether there is no more to be seen: the objective is at the bottom, or the next place has numbers of this size, which is too much.
    pub fn is_over(&self, size: f64) -> bool {
        self.is_long() && (self.f <= BOTTOM || size > END)
    }
}

/// How far the objective was followed before it was said to improve without bound.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Followed {
    /// The objective at the last place.
    #[serde(with = "number")]
    pub objective: f64,
    /// The largest variable there, without its sign.
    #[serde(with = "number")]
    pub largest: f64,
}

impl<S: SampledProblem> Solver<S> {
    /// What is to be told of a place where the objective is still falling.
    pub(super) fn followed_to(&self, at: &Iterate) -> Followed {
        Followed { objective: self.oracle.meta().sense() * self.to_be_minimised(at), largest: largest(&at.user.x) }
    }

    /// The objective falls as far as the trial point, the last place that was looked at.
    pub(super) fn note_how_far(&mut self) {
        self.outcome.followed = Some(self.followed_to(&self.trial));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a look at so many doublings of the distance 1 finds no end of the fall.
    fn is_bottomless(f: fn(f64) -> f64) -> bool {
        let mut descent = Descent::from(f(1.0));
        let mut x = 2.0;
        while !descent.is_over(x) {
            if !descent.goes_on(Some(f(x))) {
                return false;
            }
            x *= 2.0;
        }
        true
    }

    #[test]
    fn a_look_ends_at_the_bottom_or_with_numbers() {
        assert!(is_bottomless(|x| -x) && is_bottomless(|x| -x.ln()) && is_bottomless(|x| -x.powi(3)));
        assert!(!is_bottomless(|x| 1.0 / x), "a limit");
        assert!(!is_bottomless(|x| 1e-16 * x * x - x), "a minimum at 5e15, beyond 20 doublings");
        assert!(!is_bottomless(|x| 1e-100 * x - x.ln()), "a minimum at 1e100");
        assert!(!is_bottomless(|x| if x < 1e9 { -x } else { f64::NAN }), "no value");
    }
}
