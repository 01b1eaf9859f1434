//! What a run is at: all that the next iteration depends on, apart from the estimates of a noisy run.

use serde::{Deserialize, Serialize};

use crate::form::iterate::Iterate;
use crate::judging::row_sizes::RowSizes;
use crate::metric::CurrentMetric;
use crate::noise::effective_samples::EffectiveSamples;
use crate::noise::random::Stream;
use crate::run::escape::Escapes;
use crate::run::idle::Idle;
use crate::steps::excursion::Slowness;
use crate::steps::lipschitz::Estimates;
use crate::steps::merit_parameter::Falls;
use crate::{Event, Settings};

/// The point with its values, the metric that was learnt, and the numbers beside them.
pub struct State {
    pub current: Iterate,
    pub metric: CurrentMetric,
    /// How large the gradients of rows have been: what one that has vanished is small relative to.
    pub row_sizes: RowSizes,
    pub progress: Progress,
}

/// The numbers of a run, copied and serialised as one.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Progress {
    /// Whether the start was evaluated, and found what depends on it alone: scales, units, the first metric.
    pub begun: bool,
    /// Iterations done.
    pub iteration: u64,
    /// The merit parameter.
    pub rho: f64,
    /// How `rho` fell.
    pub falls: Falls,
    pub lipschitz: Estimates,
    /// How often each event happened.
    pub events: [u64; Event::ALL.len()],
    pub judged: Judgements,
    /// What the estimate of the Lagrangian's gradient is worth, in a noisy run.
    pub lagrangian: EffectiveSamples,
    pub escapes: Escapes,
    pub idle: Idle,
    pub slowness: Slowness,
    /// Whether a point satisfied the constraints where rounding could not hide that it does not.
    pub was_feasible: bool,
    /// The distance from the start at which the run last looked for a ray along which the objective falls without bound.
    pub looked_at: f64,
    /// The same for a curve.
    #[serde(default)]
    pub followed_at: f64,
    /// The largest value of the objective so far, without its sign: what its terms were at least.
    pub largest_objective: f64,
}

/// How the judgements of a noisy run stand.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Judgements {
    /// The iteration of the latest one.
    pub at: Option<u64>,
    /// The iteration of the latest one whose time had come; exact passes have no such time.
    pub due: u64,
    /// How many there were that a risk was taken in.
    pub looks: u64,
    /// How many there were of the whole population.
    pub exact: u64,
    /// Judgements in a row that were no better than the best.
    pub stale: u64,
    /// How many samples the estimates were worth at the latest one.
    #[serde(rename = "worth")]
    pub effective: f64,
    /// Where its samples come from: one stream for each of gradient, constraints and Jacobian.
    pub streams: [Stream; 3],
}

impl Progress {
    pub fn new(settings: &Settings) -> Self {
        let (seed, replacement) = (settings.sampling.seed, settings.sampling.replacement);
        Progress {
            begun: false,
            iteration: 0,
            rho: settings.merit.rho0,
            falls: Falls::default(),
            lipschitz: Estimates::new(settings.stepsize.lipschitz, settings.merit.rho0),
            events: Default::default(),
            // The estimates draw from the streams 0, 1 and 2.
            escapes: Escapes::default(),
            idle: Idle::default(),
            slowness: Slowness::default(),
            was_feasible: false,
            looked_at: 0.0,
            followed_at: 0.0,
            largest_objective: 0.0,
            lagrangian: EffectiveSamples::default(),
            judged: Judgements {
                at: None,
                due: 0,
                looks: 0,
                exact: 0,
                stale: 0,
                effective: 0.0,
                streams: [3, 4, 5].map(|k| Stream::new(seed, k, replacement)),
            },
        }
    }
}
