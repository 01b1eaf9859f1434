//! The Lipschitz constants of the derivatives, `L_f` and `L_c`: given, or found from trial points.

use serde::{Deserialize, Serialize};

use crate::{Lipschitz, SampledCurvature};

/// The least caution of the normal step: what remains keeps it well posed.
pub const LEAST_CAUTION: f64 = 1e-6;

/// By how much a good step relaxes the caution, and by how much a bad one brings it back: one bad step undoes two good ones, so that the caution
/// settles where most steps are good.
const RELAXED: f64 = 4.0;
const TIGHTENED: f64 = 16.0;

/// Less caution has paid where the next step removes a share of the residual that is larger by this factor.
const PAYS: f64 = 1.2;

/// Good steps that are waited for, at most, until less caution is tried again.
const MOST_PATIENCE: u32 = 64;

/// A step that is to remove a smaller share of the residual leaves much to repair: there less caution would gain something.
const MUCH_IS_LEFT: f64 = 0.5;

/// A step that removes more than this share of what it should has kept its promise. Levenberg's and Marquardt's methods have the same.
const KEPT: f64 = 0.75;

/// By how much estimates fall at most after a step: the constant there says little of the next one.
const FALL: f64 = 4.0;

/// Before anything was measured, `L_c |h|` is at most this multiple of the Jacobian's square.
const UNKNOWN: f64 = 10.0;

/// A step that was rejected becomes shorter by the first of these at least, and by the second at most: far from the point the quadratic model
/// says little.
const SHORTER: f64 = 2.0;
const SHORTEST: f64 = 10.0;

/// In the norm of a metric that knows the curvature the constant of the Lagrangian is 1. A noisy run does not believe in less, which would
/// be a step beyond the metric's own.
const LEAST_OF_LAGRANGIAN: f64 = 1.0;

/// How much of `L_c` the normal step reckons with.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Caution {
    share: f64,
    /// The share of the residual that was removed when the caution was last relaxed; 0 when that is settled.
    before: f64,
    /// Good steps until it may be relaxed again.
    wait: u32,
    patience: u32,
}

impl Default for Caution {
    fn default() -> Self {
        Caution { share: 1.0, before: 0.0, wait: 0, patience: 1 }
    }
}

impl Caution {
    /// A step that removed the share `theta` went well. Less caution must pay: where the violation itself is nearly stationary it does
    /// not, and the caution comes back.
    fn relax(&mut self, theta: f64) {
        if self.before > 0.0 && theta < PAYS * self.before {
            self.patience = (2 * self.patience).min(MOST_PATIENCE);
            self.wait = self.patience;
            self.tighten();
        } else if self.wait > 0 {
            self.wait -= 1;
        } else {
            self.before = theta;
            self.share = (self.share / RELAXED).max(LEAST_CAUTION);
        }
    }

    fn tighten(&mut self) {
        self.share = (TIGHTENED * self.share).min(1.0);
        self.before = 0.0;
    }
}

/// Estimates of the two constants, and of the one that the stepsize needs.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Estimates {
    /// `L_f`
    pub objective: f64,
    /// `L_c`
    pub constraints: f64,
    /// The local constant in place of `L_f + rho L_c`, in the norm of the metric: what the merit function showed. Curvature of
    /// objective and constraints may cancel, so it is often much smaller.
    merit: f64,
    given: bool,
    caution: Caution,
    /// How long the last step was that the same samples compared at both of its ends.
    pub compared: f64,
}

/// What a trial point tells: `eta s` was taken.
pub struct Trial {
    pub eta: f64,
    /// `|s|^2` over the variables
    pub square: f64,
    /// `s^T H s`
    pub metric_square: f64,
    /// `f(z + eta s) - f - eta g^T s`, and the size of its rounding error
    pub objective: (f64, f64),
    /// `|h(z + eta s) - h - eta J s|`, and the size of its rounding error
    pub constraints: (f64, f64),
    /// The share of the residual that the normal step meant to remove, and how much of that is gone.
    pub theta: f64,
    pub kept: f64,
    /// `phi(z + eta s) - (f + eta g^T s + rho |h + eta J s|)`, and the size of its rounding error
    pub merit: (f64, f64),
}

impl Trial {
    /// What the constant is at most, rounding included.
    fn most(&self, (remainder, rounding): (f64, f64), square: f64) -> f64 {
        let most = 2.0 * (remainder.abs() + rounding) / (self.eta * self.eta * square);
        if most.is_finite() { most } else { f64::INFINITY }
    }

    /// `2 remainder / (eta^2 |s|^2)`; `None` when rounding explains the remainder.
    fn constant(&self, (remainder, rounding): (f64, f64), square: f64) -> Option<f64> {
        let constant = 2.0 * remainder / (self.eta * self.eta * square);
        (remainder.abs() > rounding && constant.is_finite()).then_some(constant.max(0.0))
    }
}

impl Estimates {
    pub fn new(settings: Lipschitz, rho: f64) -> Self {
        match settings {
            Lipschitz::Found => Estimates {
                objective: 1.0,
                constraints: 1.0,
                merit: 0.0,
                given: false,
                caution: Caution::default(),
                compared: 0.0,
            },
            Lipschitz::Given { objective, constraints } => Estimates {
                objective,
                constraints,
                merit: objective + rho * constraints,
                given: true,
                caution: Caution::default(),
                compared: 0.0,
            },
        }
    }

    /// `eta = min(tau / (L_f + rho L_c), cap)` (etak-2) with given constants, which the smallest eigenvalue of the metric turns into those of its
    /// norm; otherwise `min(tau / L, cap)` with the constant `L` of the merit function that was found in place of the sum.
    pub fn stepsize(&self, rho: f64, tau: f64, cap: f64, smallest: f64) -> f64 {
        let constant = if self.given { (self.objective + rho * self.constraints) / smallest } else { self.merit };
        (tau / constant).min(cap)
    }

    /// The stepsize of the stochastic method, `eta = min(tau / (L_f + rho (L_c + 1)), cap)` (eq:sto_rhok_etak), with constants that are given or
    /// that samples showed; unless what samples showed of the Lagrangian's curvature is to stand in place of the sum.
    pub fn sampled_stepsize(&self, rho: f64, tau: f64, cap: f64, smallest: f64, curvature: SampledCurvature) -> f64 {
        let constant = match curvature {
            SampledCurvature::Lagrangian if !self.given => self.merit.max(LEAST_OF_LAGRANGIAN),
            SampledCurvature::Lagrangian | SampledCurvature::Constants => {
                (self.objective + rho * (self.constraints + 1.0)) / smallest
            }
        };
        (tau / constant).min(cap)
    }

    /// The constant that the normal step reckons with, as Levenberg and Marquardt do: `L_c` bounds what the linearisation may miss in the
    /// worst direction, and where full steps are accepted one after the other it misses less.
    pub fn cautious(&self) -> f64 {
        self.caution.share * self.constraints
    }

    /// How cautious a normal step is: 1 at first, and less where steps went well.
    pub fn caution(&self) -> f64 {
        self.caution.share
    }

    /// The next normal step is as bold as it can be: it goes all the way that the linearised constraints show.
    pub fn dare(&mut self) {
        self.caution.share = LEAST_CAUTION;
    }

    /// Nothing was measured yet: what is not known must not outweigh the Jacobian by far, whatever its unit is.
    pub fn limit_unknown(&mut self, jacobian: f64, residual: f64) {
        if !self.given && residual > 0.0 {
            self.constraints = self.constraints.min(UNKNOWN * jacobian * jacobian / residual);
        }
    }

    /// The same samples were compared at both ends of a step of this length.
    pub fn compare_over(&mut self, length: f64) {
        self.compared = length;
    }

    /// The same samples at two points showed these constants: `L_f`, `L_c`, and that of the Lagrangian in the norm of the metric.
    /// Estimates rise at once and `fall` slowly.
    pub fn follow(&mut self, [objective, constraints, ratio]: [f64; 3], fall: f64) {
        if self.given {
            return;
        }
        let follow = |old: f64, new: f64| if new.is_finite() { new.max(fall * old) } else { old };
        self.objective = follow(self.objective, objective);
        self.constraints = follow(self.constraints, constraints);
        self.merit = follow(self.merit, ratio);
    }

    /// The share `kept` of what a noisy step should remove of the residual, which was `theta` for a full step, is gone on its samples: more may
    /// be promised where it kept its promise, as after a full step of an exact run.
    pub fn trust(&mut self, theta: f64, kept: f64) {
        if !self.given && theta < MUCH_IS_LEFT && kept > KEPT {
            self.caution.relax(theta);
        }
    }

    /// A noisy step was not accepted: the next stepsize is at most `eta`.
    pub fn shorten(&mut self, tau: f64, eta: f64) {
        self.caution.tighten();
        self.merit = self.merit.max(tau / eta);
    }

    /// That a noisy step was not accepted, however short, says nothing of the next one: goes back to the constant from `before` the attempts.
    pub fn forget_attempts(&mut self, before: &Estimates) {
        self.merit = before.merit;
    }

    /// Whether the user gave the constants.
    pub fn are_given(&self) -> bool {
        self.given
    }

    /// The step was accepted: `L_f` and `L_c` follow what was measured, and fall by at most [`FALL`]. After an `easy` success, at
    /// the first trial, the constant of the merit function falls by that factor: the test at the next point decides.
    pub fn accept(&mut self, trial: &Trial, easy: bool) {
        if self.given {
            return;
        }
        // A remainder that is nothing but rounding says not how large the constant is, but how large at most.
        let follow = |old: f64, remainder: (f64, f64)| match trial.constant(remainder, trial.square) {
            Some(new) => new.max(old / FALL),
            None => old.min(trial.most(remainder, trial.square).max(old / FALL)),
        };
        self.objective = follow(self.objective, trial.objective);
        self.constraints = follow(self.constraints, trial.constraints);
        if easy {
            self.merit /= FALL;
        }
        // Much was left to repair, and all that the linearised constraints promised came true: more may be promised.
        if easy && trial.eta >= 1.0 && trial.theta < MUCH_IS_LEFT && trial.kept > KEPT {
            self.caution.relax(trial.theta);
        }
    }

    /// The merit function did not descend enough: the estimates rise, and the next stepsize is at most half of this one.
    pub fn reject(&mut self, trial: &Trial, tau: f64) {
        let rise = |old: f64, measured: Option<f64>| measured.map_or(old, |new| new.max(old));
        self.objective = rise(self.objective, trial.constant(trial.objective, trial.square));
        self.constraints = rise(self.constraints, trial.constant(trial.constraints, trial.square));
        self.caution.tighten();
        let measured = trial.constant(trial.merit, trial.metric_square).unwrap_or(0.0);
        self.merit = measured.clamp(SHORTER * tau / trial.eta, SHORTEST * tau / trial.eta);
    }

    /// The square of the metric's norm changed by this factor: so does the constant measured in it.
    pub fn rescale(&mut self, factor: f64) {
        self.merit /= factor;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_that_led_nowhere_do_not_shorten_the_next_step() {
        let mut estimates = Estimates::new(Lipschitz::Found, 1.0);
        estimates.follow([1.0, 1.0, 2.0], 0.5);
        let stepsize = |estimates: &Estimates| estimates.sampled_stepsize(1.0, 0.4, 1.0, 1.0, SampledCurvature::Lagrangian);
        let before = estimates;
        assert_eq!(stepsize(&before), 0.2);
        estimates.shorten(0.4, 1e-9);
        assert!((stepsize(&estimates) - 1e-9).abs() < 1e-20);
        estimates.forget_attempts(&before);
        assert_eq!(stepsize(&estimates), 0.2);
    }

    #[test]
    fn a_quadratic_shows_its_constant() {
        // f = 3/2 x^2 from x = 2 along s = -1: the remainder at eta = 1/2 is 3/2 * 1/4, hence L_f = 3.
        let trial = Trial {
            eta: 0.5,
            square: 1.0,
            metric_square: 1.0,
            objective: (0.375, 1e-16),
            constraints: (1e-17, 1e-16),
            theta: 1.0,
            kept: 1.0,
            merit: (0.375, 1e-16),
        };
        let mut found = Estimates::new(Lipschitz::Found, 1.0);
        found.accept(&trial, true);
        assert_eq!(found.objective, 3.0);
        assert_eq!(found.constraints, 0.25, "a remainder of rounding only lets the estimate fall");
        assert_eq!(found.stepsize(1.0, 0.9, 1.0, 1.0), 1.0);
        found.reject(&trial, 0.9);
        assert_eq!(found.stepsize(1.0, 0.9, 1.0, 1.0), 0.25, "at most half of the rejected stepsize");
        found.accept(&trial, false);
        assert_eq!(found.stepsize(1.0, 0.9, 1.0, 1.0), 0.25);
        found.accept(&trial, true);
        assert_eq!(found.stepsize(1.0, 0.9, 1.0, 1.0), 1.0);
    }

    #[test]
    fn given_constants_follow_the_paper() {
        let given = Estimates::new(Lipschitz::Given { objective: 2.0, constraints: 3.0 }, 1.0);
        assert_eq!(given.stepsize(4.0, 0.7, 1.0, 1.0), 0.7 / 14.0);
        assert_eq!(given.stepsize(0.0, 0.7, 0.1, 1.0), 0.1);
        // tau / (L_f + rho (L_c + 1)) = 0.4 / (2 + 4 * 4), whatever stands in place of constants that are found.
        for curvature in [SampledCurvature::Lagrangian, SampledCurvature::Constants] {
            assert_eq!(given.sampled_stepsize(4.0, 0.4, 1.0, 1.0, curvature), 0.4 / 18.0);
        }
    }

    #[test]
    fn constants_that_samples_showed_make_the_papers_stepsize() {
        let mut found = Estimates::new(Lipschitz::Found, 1.0);
        let stepsize = |found: &Estimates, rho: f64, curvature| found.sampled_stepsize(rho, 0.4, 1.0, 1.0, curvature);
        // Nothing was seen yet: both are 1, and 0.4 / (1 + 3 * 2).
        assert_eq!(stepsize(&found, 3.0, SampledCurvature::Constants), 0.4 / 7.0);
        // L_f = 6, L_c = 2, and the Lagrangian, in which they cancel, has 1/2: 0.4 / (6 + 3 * 3), or 0.4 / 1.
        found.follow([6.0, 2.0, 0.5], 0.9);
        assert_eq!(stepsize(&found, 3.0, SampledCurvature::Constants), 0.4 / 15.0);
        assert_eq!(stepsize(&found, 3.0, SampledCurvature::Lagrangian), 0.4);
        // Less is believed slowly: L_f = 0.9 * 6, L_c = 0.9 * 2.
        found.follow([1.0, 1.0, 0.5], 0.9);
        assert!((stepsize(&found, 3.0, SampledCurvature::Constants) - 0.4 / (5.4 + 3.0 * 2.8)).abs() < 1e-15);
    }
}
