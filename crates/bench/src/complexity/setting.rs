//! The five settings of the paper's Table 1, with its exponents, and whose rules they are run by.

use serde::{Serialize, Serializer};
use tangor_solver::{Batch, Estimator, Lipschitz, Schedule, Settings, Theta};

use super::valley::{L_CONSTRAINT, L_OBJECTIVE, SIGMA_CONSTRAINT, SIGMA_OBJECTIVE, Valley};

/// The share of the residual that a noisy step removes; the paper wants it small enough for the bounds, of which there are none here.
const SHARE: f64 = 0.5;
/// The probability that one estimate is worse than its batch size promises. The paper lets it fall with `eps`, which
/// multiplies the counts by logarithms; here it is one number, so that they do not tilt the slopes.
const GAMMA: f64 = 0.05;
/// A run that has not reached its `eps` by then never will.
const MOST_ITERATIONS: u64 = 1_000_000;
/// Beyond the largest batch that occurs, and far below what a list of draws could not hold.
const LARGEST_BATCH: usize = 1 << 28;

/// A row of the paper's Table 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// Everything exact.
    Deterministic,
    /// Sampled objective, exact constraints, mini-batches.
    SemiMinibatch,
    /// The same with recursive momentum.
    SemiMomentum,
    /// Everything sampled, mini-batches.
    FullMinibatch,
    /// The same with recursive momentum.
    FullMomentum,
}

/// Whose rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// The preset `paper`, with the constants of the problem given to it.
    Paper,
    /// The defaults, which are told none.
    Defaults,
}

impl Rules {
    /// Both of them, the paper's first: its exponents are what is looked at.
    pub const ALL: [Rules; 2] = [Rules::Paper, Rules::Defaults];

    /// Their name.
    pub fn name(self) -> &'static str {
        match self {
            Rules::Paper => "preset paper",
            Rules::Defaults => "defaults",
        }
    }
}

/// One of the three functions that are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Oracle {
    /// Gradients of the objective.
    Gradient,
    /// Gradients of the constraint.
    Jacobian,
    /// Values of the constraint.
    Constraints,
}

impl Oracle {
    /// In the order of the paper's columns.
    pub const ALL: [Oracle; 3] = [Oracle::Gradient, Oracle::Jacobian, Oracle::Constraints];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Oracle::Gradient => "objective gradients",
            Oracle::Jacobian => "constraint gradients",
            Oracle::Constraints => "constraint values",
        }
    }
}

impl Setting {
    /// In the order of the paper's rows.
    pub const ALL: [Setting; 5] =
        [Setting::Deterministic, Setting::SemiMinibatch, Setting::SemiMomentum, Setting::FullMinibatch, Setting::FullMomentum];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Setting::Deterministic => "deterministic",
            Setting::SemiMinibatch => "semi-stochastic, mini-batch",
            Setting::SemiMomentum => "semi-stochastic, momentum",
            Setting::FullMinibatch => "fully stochastic, mini-batch",
            Setting::FullMomentum => "fully stochastic, momentum",
        }
    }

    /// The paper's exponents of `eps`, in the order of [`Oracle::ALL`].
    pub fn exponents(self) -> [f64; 3] {
        match self {
            Setting::Deterministic => [-2.0, -2.0, -2.0],
            Setting::SemiMinibatch => [-4.0, -2.0, -2.0],
            Setting::SemiMomentum => [-3.0, -2.0, -2.0],
            Setting::FullMinibatch => [-4.0, -4.0, -6.0],
            Setting::FullMomentum => [-3.0, -3.0, -5.0],
        }
    }

    /// Whether anything is sampled.
    pub fn is_sampled(self) -> bool {
        self != Setting::Deterministic
    }

    pub(super) fn problem(self) -> Valley {
        Valley::new(self.is_sampled(), matches!(self, Setting::FullMinibatch | Setting::FullMomentum))
    }

    /// The settings of a run. The estimator is that of the row, and batches have the paper's sizes, whose accuracy is `eps` itself, where the
    /// paper has `eps` over a constant; but recursive momentum by the defaults has the defaults' batches, since the paper's grow with the square
    /// of a step, and these steps are long.
    pub(super) fn settings(self, rules: Rules, eps: f64, tau: f64, seed: u64) -> Settings {
        let mut settings = match rules {
            Rules::Paper => theory(tau),
            Rules::Defaults => Settings::default(),
        };
        settings.limits.iterations = MOST_ITERATIONS;
        let sampling = &mut settings.sampling;
        sampling.seed = seed;
        // What a judgement draws is none of the method's.
        sampling.judge.every = 0;
        sampling.schedule = Schedule {
            sigma_f: SIGMA_OBJECTIVE,
            sigma_c: SIGMA_CONSTRAINT,
            sigma_v: SIGMA_CONSTRAINT,
            epsilon: eps,
            gamma: GAMMA,
        };
        let estimator = match self {
            Setting::SemiMomentum | Setting::FullMomentum => Estimator::Momentum,
            _ => Estimator::Minibatch,
        };
        for estimation in [&mut sampling.gradient, &mut sampling.constraints, &mut sampling.jacobian] {
            estimation.estimator = estimator;
            if rules == Rules::Paper || estimator == Estimator::Minibatch {
                estimation.batch = Batch::Paper { largest: LARGEST_BATCH };
            }
        }
        settings
    }
}

/// The preset with the constants that the paper takes as known: nothing is left to be found, and nothing is probed for it.
fn theory(tau: f64) -> Settings {
    let mut settings = Settings::paper();
    settings.merit.rho0 = 1.0;
    settings.stepsize.tau = tau;
    settings.stepsize.lipschitz = Lipschitz::Given { objective: L_OBJECTIVE, constraints: L_CONSTRAINT };
    settings.sampling.theta = Theta::Fixed { share: SHARE };
    settings.sampling.tau = tau;
    settings.sampling.probe = 0;
    settings
}

impl Serialize for Setting {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl Serialize for Rules {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
