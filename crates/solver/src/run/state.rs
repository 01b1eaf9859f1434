//! What a run is at: all that the next iteration depends on, apart from what only a noisy run has.

use serde::{Deserialize, Serialize};

use crate::form::iterate::Iterate;
use crate::judging::row_sizes::RowSizes;
use crate::metric::CurrentMetric;
use crate::run::escape::Escapes;
use crate::run::idle::Idle;
use crate::steps::excursion::Slowness;
use crate::steps::lipschitz::Estimates;
use crate::steps::merit_parameter::Falls;
use crate::steps::{Multipliers, Steps};
use crate::{Event, Settings};

/// The point with its values, the metric that was learnt, and the numbers beside them: cloned and serialised as one.
///
/// Of the point its place is serialised, of the metric what was learnt. What the functions are at the point is found out again, and memory to
/// work in is that of the run that takes a state up.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    pub current: Iterate,
    /// What the steps of this iteration start from.
    pub multipliers: Multipliers,
    pub metric: CurrentMetric,
    /// How large the gradients of rows have been: what one that has vanished is small relative to.
    pub row_sizes: RowSizes,
    pub progress: Progress,
}

impl State {
    /// Nothing is evaluated yet.
    pub fn new(current: Iterate, metric: CurrentMetric, settings: &Settings) -> Self {
        let m = current.h.len();
        State {
            multipliers: Multipliers::new(m),
            row_sizes: RowSizes::new(m),
            current,
            metric,
            progress: Progress::new(settings),
        }
    }

    /// The next iteration begins, with the multipliers that the steps of this one found.
    pub fn begin_next_iteration(&mut self, steps: &Steps) {
        self.multipliers.keep(steps);
        self.progress.count_iteration();
    }

    /// The field of a state that is of other sizes, or a metric of another kind.
    pub fn misfit(&self, saved: &State) -> Option<&'static str> {
        let m = self.current.h.len();
        let parts = [
            ("state.current.z", saved.current.z.len() == self.current.z.len()),
            ("state.multipliers", saved.multipliers.are_of(m)),
            ("state.row_sizes", saved.row_sizes.are_of(m)),
            ("state.metric", self.metric.fits(&saved.metric)),
        ];
        parts.into_iter().find(|(_, fits)| !fits).map(|(field, _)| field)
    }

    /// Becomes a state that fits, apart from what the functions are at its point.
    pub fn take_up(&mut self, saved: State) {
        let State { current, multipliers, metric, row_sizes, progress } = saved;
        self.current.z = current.z;
        self.metric.take_up(metric);
        (self.multipliers, self.row_sizes, self.progress) = (multipliers, row_sizes, progress);
    }
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
    /// The objective, in the internal scale, and the violation where metric and constants were last forgotten.
    #[serde(default)]
    pub forgot_at: Option<(f64, f64)>,
}

impl Progress {
    /// One more iteration is done.
    pub fn count_iteration(&mut self) {
        self.iteration += 1;
    }

    /// The objective has this value, in the internal scale.
    pub fn see_objective(&mut self, f: f64) {
        self.largest_objective = self.largest_objective.max(f.abs());
    }

    /// The objective is so many times as large inside from now on.
    pub fn scale_objective(&mut self, factor: f64) {
        self.largest_objective *= factor;
    }

    /// The merit parameter is at least this from now on.
    pub fn raise_rho(&mut self, least: f64) {
        self.rho = self.rho.max(least);
    }

    /// The merit parameter is at most this from now on.
    pub fn lower_rho(&mut self, most: f64) {
        self.rho = self.rho.min(most);
    }

    /// Forgets the Lipschitz constants.
    pub fn forget_constants(&mut self, settings: &Settings) {
        self.lipschitz = Estimates::new(settings.stepsize.lipschitz, self.rho);
    }

    /// Forgets the Lipschitz constants but that of the constraints: where these are violated and steps have become too small to move, the normal step needs
    /// what was measured of their curvature, or it is far too long again.
    pub fn forget_constants_of_steps(&mut self, settings: &Settings) {
        let constraints = self.lipschitz.constraints;
        self.forget_constants(settings);
        self.lipschitz.constraints = constraints;
    }

    /// Forgets what was learnt on the way here, `rho` too: a new start is a new run.
    pub fn begin_anew(&mut self, settings: &Settings) {
        self.rho = settings.merit.rho0;
        self.idle = Idle::default();
        self.forgot_at = None;
        self.slowness = Slowness::default();
        self.forget_constants(settings);
    }

    pub fn new(settings: &Settings) -> Self {
        Progress {
            begun: false,
            iteration: 0,
            rho: settings.merit.rho0,
            falls: Falls::default(),
            lipschitz: Estimates::new(settings.stepsize.lipschitz, settings.merit.rho0),
            events: Default::default(),
            escapes: Escapes::default(),
            idle: Idle::default(),
            slowness: Slowness::default(),
            was_feasible: false,
            looked_at: 0.0,
            followed_at: 0.0,
            largest_objective: 0.0,
            forgot_at: None,
        }
    }
}
