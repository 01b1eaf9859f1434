//! Settings of the stochastic method.

#[cfg(feature = "toml")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::SettingsError;
use crate::judging::events::telling;
use crate::settings::ranges::in_range;

/// How sampled functions are estimated and judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "toml", derive(JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Sampling {
    /// The seed of all draws. Default: 0.
    pub seed: u64,
    /// The gradient of the objective.
    pub gradient: Estimation,
    /// The values of the constraints.
    pub constraints: Estimation,
    /// The Jacobian of the constraints.
    pub jacobian: Estimation,
    /// Whether functions that are averages over a finite population use the same members of it, so that a member is read once.
    /// Default: true.
    pub shared_draws: bool,
    /// Whether members of a finite population are drawn with replacement, as in the paper. Otherwise every member is drawn once before
    /// any is drawn twice, which averages better; recursive momentum then has a bias, since later batches of a round are not independent of
    /// the point, which exact passes take away. Default: false.
    pub replacement: bool,
    /// The share of all samples that whole populations may take: where the noise of the estimates matters, all members are evaluated, the
    /// point is judged exactly, and recursive momentum starts again from there. In [0, 1); 0 for none. Default: 0.1.
    pub exact_passes: f64,
    /// How much of the residual a step of a noisy run shall remove; the variant `mapping` of the normal step has its own share.
    /// Default: measured.
    pub theta: Theta,
    /// How much of the stepsize to take; in (0, 1/2). Default: 0.4.
    pub tau: f64,
    /// Which curvature the stepsize of a noisy run is made of, where Lipschitz constants are not given. Default: lagrangian.
    pub curvature: SampledCurvature,
    /// Whether a step must descend on the merit function of its own samples, taken at both of its ends; the paper has no such test.
    /// Nothing is tested where Lipschitz constants are given. Default: true.
    pub merit_test: bool,
    /// Once in so many iterations a batch is evaluated in two halves, at two points, to learn noise and curvature; with the merit test,
    /// at two points also whenever a step is twice as long as the last one seen so. 0: never. Default: 10.
    pub probe: u64,
    /// Constants of the paper's schedules.
    pub schedule: Schedule,
    /// How a point is judged.
    pub judge: Judge,
    /// Whether every row tells true residuals, where exact functions exist. They cost about two more iterations' work, count neither
    /// as evaluations nor as samples, and change nothing else in the run. Default: false.
    pub true_residuals: bool,
    /// The average of so many last iterates (up to twice as many) is reported; 0 for none. Default: 0.
    pub average: u64,
}

impl Default for Sampling {
    fn default() -> Self {
        Sampling {
            seed: 0,
            gradient: Estimation::default(),
            constraints: Estimation::default(),
            jacobian: Estimation::default(),
            shared_draws: true,
            replacement: false,
            exact_passes: 0.1,
            theta: Theta::Measured,
            tau: 0.4,
            curvature: SampledCurvature::Lagrangian,
            merit_test: true,
            probe: 10,
            schedule: Schedule::default(),
            judge: Judge::default(),
            true_residuals: false,
            average: 0,
        }
    }
}

impl Sampling {
    /// Checks that all values are in their ranges.
    pub(crate) fn validate(&self) -> Result<(), SettingsError> {
        in_range("sampling.tau", self.tau, self.tau > 0.0 && self.tau < 0.5, "between 0 and 1/2")?;
        let share = self.exact_passes;
        in_range("sampling.exact_passes", share, (0.0..1.0).contains(&share), "at least 0 and below 1")?;
        if let Theta::Fixed { share } = self.theta {
            in_range("sampling.theta.fixed.share", share, share > 0.0 && share <= 1.0, "above 0 and at most 1")?;
        }
        let Schedule { sigma_f, sigma_c, sigma_v, epsilon, gamma } = self.schedule;
        let positive = [
            ("sampling.schedule.sigma_f", sigma_f),
            ("sampling.schedule.sigma_c", sigma_c),
            ("sampling.schedule.sigma_v", sigma_v),
            ("sampling.schedule.epsilon", epsilon),
        ];
        for (path, value) in positive {
            in_range(path, value, value > 0.0 && value.is_finite(), "positive and finite")?;
        }
        in_range("sampling.schedule.gamma", gamma, gamma > 0.0 && gamma < 1.0, "between 0 and 1")?;
        let Judge { samples, batches, confidence, rarest, .. } = self.judge;
        let most = 1_000_000_000_000;
        in_range("sampling.judge.samples", samples as f64, (1..=most).contains(&samples), "between 1 and 1e12")?;
        in_range("sampling.judge.batches", batches as f64, (20..=1_000_000).contains(&batches), "between 20 and 1e6")?;
        if let Some(range) = self.judge.range {
            in_range("sampling.judge.range", range, range >= 0.0 && range.is_finite(), "finite and at least 0")?;
        }
        in_range("sampling.judge.rarest", rarest, rarest > 0.0 && rarest <= 1.0, "above 0 and at most 1")?;
        in_range("sampling.judge.confidence", confidence, confidence > 0.5 && confidence < 1.0, "between 0.5 and 1")?;
        self.gradient.validate("sampling.gradient.batch", "sampling.gradient.momentum")?;
        self.constraints.validate("sampling.constraints.batch", "sampling.constraints.momentum")?;
        self.jacobian.validate("sampling.jacobian.batch", "sampling.jacobian.momentum")
    }
}

impl Estimation {
    fn validate(&self, batch: &'static str, momentum: &'static str) -> Result<(), SettingsError> {
        let (size, growth, largest) = match self.batch {
            Batch::Constant { size } => (size, 1.0, 1),
            Batch::Geometric { size, growth, largest } => (size, growth, largest),
            Batch::Paper { largest } => (1, 1.0, largest),
        };
        in_range(batch, size as f64, size >= 1, "of at least 1 sample")?;
        let first = self.first_batch.unwrap_or(size);
        in_range(batch, first as f64, first >= 1, "of at least 1 sample, the first one included")?;
        in_range(batch, largest as f64, largest >= 1, "of at least 1 sample")?;
        in_range(batch, growth, growth >= 1.0 && growth.is_finite(), "growing by a finite factor of at least 1")?;
        match self.momentum {
            Momentum::Constant { a } => in_range(momentum, a, (0.0..=1.0).contains(&a), "between 0 and 1"),
            Momentum::Adaptive | Momentum::Paper => Ok(()),
        }
    }
}

/// How one function is estimated, when it is not exact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "toml", derive(JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Estimation {
    /// Mini-batch or recursive momentum. Default: momentum.
    pub estimator: Estimator,
    /// Samples per iteration. Default: constant.
    pub batch: Batch,
    /// Samples at the start; >= 1. None: with momentum, which goes on from it for long, 16 times the usual batch; the paper's batches have a first one
    /// of their own.
    pub first_batch: Option<usize>,
    /// The momentum `a`. Default: adaptive.
    pub momentum: Momentum,
}

impl Default for Estimation {
    fn default() -> Self {
        Estimation {
            estimator: Estimator::Momentum,
            batch: Batch::Constant { size: 1 },
            first_batch: None,
            momentum: Momentum::Adaptive,
        }
    }
}

/// Which estimator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "toml", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Estimator {
    /// The average over new samples.
    Minibatch,
    /// `avg[new(x_k)] + (1 - a) (estimate - avg[new(x_{k-1})])`: the same samples at two points.
    #[default]
    Momentum,
}

/// How many samples per iteration.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "toml", derive(JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Batch {
    /// Always as many.
    Constant {
        /// >= 1
        size: usize,
    },
    /// `size * growth^k`, at most `largest`.
    Geometric {
        /// >= 1
        size: usize,
        /// >= 1
        growth: f64,
        /// >= 1
        largest: usize,
    },
    /// The paper's sizes: (batch-mb), or (rm_b0) and (batch-rm).
    Paper {
        /// At most so many; >= 1
        largest: usize,
    },
}

/// The momentum parameter `a`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "toml", derive(JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Momentum {
    /// What makes the most of all draws so far: `a = B / (N + B)`, when the estimate is worth `N` draws and the batch has `B`. Two
    /// halves of a batch, compared once in a while, tell how much an estimate loses when the point moves.
    Adaptive,
    /// Always the same.
    Constant {
        /// In [0, 1]; 1 is a mini-batch.
        a: f64,
    },
    /// The paper's: `a = epsilon` of the schedule.
    Paper,
}

/// How much of the residual a step shall remove.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "toml", derive(JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Theta {
    /// What the normal subproblem can.
    Measured,
    /// This share, as in the paper, where the bounds allow it; elsewhere what the normal subproblem can.
    Fixed {
        /// In (0, 1].
        share: f64,
    },
}

/// Which curvature the stepsize is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "toml", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SampledCurvature {
    /// `eta = min(tau / max(L, 1), 1)` with the curvature `L` of the Lagrangian that the same samples show at both ends of steps, in the norm of
    /// the metric: curvature of objective and constraints may cancel.
    #[default]
    Lagrangian,
    /// The paper: `eta = min(tau / (L_f + rho (L_c + 1)), 1)`, with the constants that the same samples show at both ends of steps.
    Constants,
}

/// The constants of the paper's batch sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "toml", derive(JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Schedule {
    /// Bound on the error of a sampled gradient; > 0. Default: 1.
    pub sigma_f: f64,
    /// Bound on the error of a sampled constraint gradient; > 0. Default: 1.
    pub sigma_c: f64,
    /// Bound on the error of a sampled constraint value; > 0. Default: 1.
    pub sigma_v: f64,
    /// The accuracy of the estimates; > 0. Default: 0.1.
    pub epsilon: f64,
    /// The probability of a worse estimate; in (0, 1). Default: 0.01.
    pub gamma: f64,
}

impl Default for Schedule {
    fn default() -> Self {
        Schedule { sigma_f: 1.0, sigma_c: 1.0, sigma_v: 1.0, epsilon: 0.1, gamma: 0.01 }
    }
}

/// How a point is judged: on fresh samples, with a confidence bound.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "toml", derive(JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Judge {
    /// For the first time after so many iterations, then after as many again or a quarter of all, and at the end. 0: only at the end.
    /// Default: 100.
    pub every: u64,
    /// Fresh samples of each function per judgement, or a tenth of those since the last one if that is more; where samples are limited,
    /// only that tenth. In [1, 1e12]. Default: 2000.
    pub samples: usize,
    /// They are split into so many batches, whose spread gives the standard errors; in [20, 1e6]: one half of
    /// them fits the multipliers, the other judges stationarity. Default: 20.
    pub batches: usize,
    /// The confidence of each upper bound; in (0.5, 1). All judgements of a run share the risk, so that it holds for the one that ends it.
    /// Default: 0.95.
    pub confidence: f64,
    /// The length of an interval that holds the values of a constraint for every sample, if it is known: then bounds on the constraints
    /// hold however rare the events are that make them. Each sample is evaluated on its own for that. >= 0. Default: none.
    pub range: Option<f64>,
    /// The probability of the rarest event that matters; in (0, 1]. A point is certified on so many samples of each function that it cannot be
    /// missing, about 25,000; where limits do not allow them nothing is claimed, and the verdict says of which events the samples tell. Where
    /// samples are dear and no event rarer than that matters, 0.01 asks for about 370. Default: 1.5e-4.
    pub rarest: f64,
    /// The run ends at its noise floor when so many judgements in a row were no better than the best by more than their standard
    /// errors; twice as many while the estimates still gain accuracy. 0: never. Default: 10.
    pub patience: u64,
}

impl Judge {
    /// So many samples in one judgement tell of the rarest event that matters.
    pub fn samples_that_tell(&self) -> usize {
        telling(1.0 - self.confidence, self.rarest)
    }
}

impl Default for Judge {
    fn default() -> Self {
        Judge { every: 100, samples: 2000, batches: 20, confidence: 0.95, range: None, rarest: 1.5e-4, patience: 10 }
    }
}
