//! The five settings of the paper's Table 1, with its exponents, and the paper's settings of the method.

use serde::{Serialize, Serializer};
use tangor_solver::{
    Batch, Estimation, Estimator, Lipschitz, Merit, MetricKind, Momentum, NormalVariant, Scaling, Schedule, Settings, Theta,
};

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

    /// The paper's rules: identity metric, given Lipschitz constants, no margin on the merit parameter, a fixed `theta`, its batch
    /// sizes and its momentum. The accuracy of the estimates is `eps` itself, where the paper has `eps` over a constant.
    pub(super) fn settings(self, eps: f64, tau: f64, seed: u64) -> Settings {
        let mut settings = Settings { scaling: Scaling::None, ..Settings::default() };
        settings.normal.variant = NormalVariant::Bounded;
        settings.metric.kind = MetricKind::Identity;
        settings.merit = Merit { falls: false, rho0: 1.0, margin: 1.0 };
        settings.stepsize.tau = tau;
        settings.stepsize.lipschitz = Lipschitz::Given { objective: L_OBJECTIVE, constraints: L_CONSTRAINT };
        settings.limits.iterations = MOST_ITERATIONS;
        let sampling = &mut settings.sampling;
        sampling.seed = seed;
        sampling.theta = Theta::Fixed { share: SHARE };
        sampling.tau = tau;
        sampling.probe = 0;
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
        let batch = Batch::Paper { largest: LARGEST_BATCH };
        let estimation = Estimation { estimator, batch, first_batch: None, momentum: Momentum::Paper };
        sampling.gradient = estimation.clone();
        sampling.constraints = estimation.clone();
        sampling.jacobian = estimation;
        settings
    }
}

impl Serialize for Setting {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
