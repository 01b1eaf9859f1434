//! The metric `H` in which the tangent step is short: diagonal, with a dense block for the variables, or with a part of low rank.

mod damping;
mod diagonal;
pub(crate) mod exact;
pub(crate) mod limited_memory;
pub(crate) mod quasi_newton;

use serde::{Deserialize, Serialize};

use crate::form::iterate::Iterate;
use crate::kernel::subproblem::Block;
use crate::kernel::system::Beside;
use crate::kernel::vector::{add, dot, norm};
use crate::metric::diagonal::AdaptiveDiagonal;
use crate::metric::exact::ExactHessian;
use crate::metric::limited_memory::LimitedMemory;
use crate::metric::quasi_newton::QuasiNewton;
use crate::{Event, Metric, MetricKind, Unusual};

/// Powell's damping: along a step a quasi-Newton matrix keeps at least this share of its curvature, whatever the step shows.
const DAMPED: f64 = 0.2;

/// What is left of the metric after a step without curvature: as much as damping leaves of a quasi-Newton matrix along it.
const FALL: f64 = DAMPED;

/// The least that counts of a Hessian along a step, relative to its largest entry.
const SMALLEST: f64 = 1e-8;

/// The least curvature along a step that is demanded of a Hessian, relative to its largest entry: what rounding leaves of none.
const FLATTEST: f64 = 1e-15;

/// A row whose gradient is shorter than the root of this weighs its slack as one of that length does.
const LEAST_SQUARE: f64 = 1e-8;

/// The metric with its memory. What was learnt is all of it that is serialised.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CurrentMetric {
    #[serde(skip)]
    settings: Metric,
    /// The entries of variables are all this scalar, unless there are moments: then this is their size. Below the smallest eigenvalue of a
    /// dense block.
    scalar: f64,
    moments: Option<AdaptiveDiagonal>,
    /// The diagonal of `H`, variables and slacks.
    #[serde(skip)]
    pub diagonal: Vec<f64>,
    /// The metric of the normal step: 1 for a variable.
    #[serde(skip)]
    pub normal: Vec<f64>,
    quasi_newton: Option<QuasiNewton>,
    limited: Option<LimitedMemory>,
    /// The Hessian of the Lagrangian, where it is given.
    pub exact: Option<ExactHessian>,
}

/// How many steps a limited memory holds: twice as many where functions are `noisy`, since each of them shows less.
pub fn steps_in_memory(settings: &Metric, noisy: bool) -> usize {
    settings.memory.saturating_mul(if noisy { 2 } else { 1 })
}

/// The curvature of the Lagrangian along a step, multipliers fixed.
#[derive(Clone, Copy, Debug)]
pub struct Curvature<'a> {
    /// The step.
    pub dz: &'a [f64],
    /// The change of the Lagrangian's gradient under it.
    pub dl: &'a [f64],
    /// The mean square of the noise in `dl`.
    pub noise: f64,
}

/// What a step teaches a matrix `B`.
pub struct Lesson {
    /// `s^T B s`
    pub before: f64,
    /// `s^T y` of the change `y` that is learnt.
    pub after: f64,
    /// The share of the change, apart from that along `B s`, that noise does not explain.
    pub clear: f64,
}

impl Curvature<'_> {
    /// `|dl|` without its noise: at least what it shows along the step.
    pub fn size(&self) -> f64 {
        let along = dot(self.dl, self.dz) / norm(self.dz);
        (dot(self.dl, self.dl) - self.noise).max(along * along).sqrt()
    }

    /// What is to be learnt, given `B s`; the change is left in `y`. None: the step teaches nothing.
    ///
    /// What noise explains is not learnt: `y = c B s + r` with `c = s^T y / s^T B s` keeps the curvature along the step, which noise
    /// hardly touches, and the share `1 - noise / |r|^2` of the rest. Then Powell's damping keeps `B` positive definite where the
    /// curvature is not: `y` is moved towards `B s` until `s^T y = 0.2 s^T B s`.
    pub fn lesson(&self, bs: &[f64], y: &mut [f64]) -> Option<Lesson> {
        let (before, sy) = (dot(self.dz, bs), dot(self.dz, self.dl));
        if !(before > 0.0 && before.is_finite() && sy.is_finite()) {
            return None;
        }
        let (c, mut clear) = (sy / before, 1.0);
        y.copy_from_slice(self.dl);
        if self.noise > 0.0 {
            add(-c, bs, y);
            clear = (1.0 - self.noise / dot(y, y)).max(0.0);
            y.iter_mut().zip(bs).for_each(|(y, bs)| *y = clear * *y + c * bs);
        }
        let share = if sy >= DAMPED * before { 1.0 } else { (1.0 - DAMPED) * before / (before - sy) };
        y.iter_mut().zip(bs).for_each(|(y, bs)| *y = share * *y + (1.0 - share) * bs);
        Some(Lesson { before, after: share * sy + (1.0 - share) * before, clear })
    }
}

impl CurrentMetric {
    /// `H = I`. `limited_when_large`: whether more variables than a dense matrix is for get one from the last steps alone, or else a scalar. Where
    /// functions are `noisy` such a matrix has twice as many steps, and stands on an adaptive diagonal, whose moments average over the noise.
    pub fn new(n: usize, columns: usize, settings: &Metric, limited_when_large: bool, noisy: bool) -> Self {
        let dense = settings.kind == MetricKind::QuasiNewton && n <= settings.largest_dense;
        let quasi_newton = dense.then(|| QuasiNewton::new(n));
        let large = settings.kind == MetricKind::QuasiNewton && n > settings.largest_dense && limited_when_large;
        let limited = settings.kind == MetricKind::LimitedMemory || large;
        let moments = settings.kind == MetricKind::Diagonal || (limited && noisy);
        let steps = steps_in_memory(settings, noisy);
        let moments = moments.then(|| AdaptiveDiagonal::new(n));
        let (diagonal, normal) = (vec![1.0; columns], vec![1.0; columns]);
        CurrentMetric {
            settings: settings.clone(),
            scalar: 1.0,
            moments,
            diagonal,
            normal,
            quasi_newton,
            limited: limited.then(|| LimitedMemory::new(n, steps)),
            exact: None,
        }
    }

    /// A multiple of the identity that learns nothing.
    pub fn constant(columns: usize) -> Self {
        CurrentMetric::new(0, columns, &Metric { kind: MetricKind::Spectral, ..Metric::default() }, false, false)
    }

    /// Second derivatives take the place of what is learnt.
    pub fn use_hessian(&mut self, hessian: ExactHessian) {
        self.exact = Some(hessian);
    }

    pub fn set_scalar(&mut self, scalar: f64) {
        self.scalar = scalar;
    }

    /// Starts as this multiple of the identity, before anything was learnt.
    pub fn start(&mut self, sigma: f64) {
        if self.settings.kind == MetricKind::Identity {
            return;
        }
        self.scalar = sigma;
        if let Some(quasi_newton) = &mut self.quasi_newton {
            quasi_newton.start(sigma);
            self.scalar = quasi_newton.smallest();
        }
        if let Some(limited) = &mut self.limited {
            limited.start(sigma);
        }
    }

    /// The block of the variables.
    pub fn block(&self) -> Block<'_> {
        if let Some(exact) = &self.exact {
            return Block::Sparse(&exact.matrix);
        }
        match (&self.quasi_newton, &self.limited) {
            (Some(quasi_newton), _) => Block::Dense(quasi_newton.matrix()),
            (None, Some(limited)) => Block::LowRank(limited.low_rank()),
            (None, None) => Block::Diagonal,
        }
    }

    /// What a kernel for this metric must be made for.
    pub fn beside(&self) -> Beside<'_> {
        match self.block() {
            Block::Diagonal => Beside::Nothing,
            Block::Dense(_) => Beside::Dense,
            Block::LowRank(low_rank) => Beside::LowRank(low_rank.most()),
            Block::Sparse(matrix) => Beside::Sparse(matrix),
        }
    }

    /// Makes it simpler, where no subproblem is solved with it: a Hessian that is indefinite along the constraints is shifted by more. The steps that
    /// a limited memory holds may make it too ill conditioned for any system: the older half is forgotten, on record. False: nothing is left
    /// to do.
    pub fn simplify(&mut self, unusual: &mut Unusual) -> bool {
        if let Some(hessian) = &mut self.exact {
            return hessian.raise();
        }
        let forgot = self.limited.as_mut().is_some_and(LimitedMemory::forget_half);
        if forgot {
            unusual.insert(Event::Forgotten);
        }
        forgot
    }

    /// Whether it is a dense matrix.
    pub fn is_dense(&self) -> bool {
        self.quasi_newton.is_some()
    }

    /// Whether curvature is weighed by multipliers without the repair: those of a repair are as large as the matrix that they would be learnt by.
    pub fn is_weighed_at_rest(&self) -> bool {
        self.quasi_newton.is_some() || self.limited.is_some() || self.exact.is_some()
    }

    /// The smallest eigenvalue, or a bound below it.
    pub fn scalar(&self) -> f64 {
        match (&self.moments, &self.limited) {
            (_, Some(limited)) => limited.smallest,
            (Some(moments), None) => self.diagonal[..moments.size()].iter().fold(self.scalar, |least, h| least.min(*h)),
            (None, None) => self.scalar,
        }
    }

    /// Fills the entries at this iterate. A slack is measured relative to the size of its row, so that scaling a constraint changes
    /// nothing; the paper has 1.
    pub fn fill(&mut self, at: &Iterate) {
        let n = at.n();
        if let Some(quasi_newton) = &self.quasi_newton {
            self.scalar = quasi_newton.smallest();
        }
        match (&self.quasi_newton, &self.moments) {
            (Some(quasi_newton), _) => quasi_newton.write_diagonal(&mut self.diagonal[..n]),
            (None, None) => self.diagonal[..n].fill(self.scalar),
            _ => {}
        }
        if let Some(limited) = &self.limited {
            self.diagonal[..n].copy_from_slice(&limited.learnt.diagonal);
        }
        if let Some(exact) = &self.exact {
            // For a first guess only, and to tell the sizes of rows: the block itself is what counts.
            exact.matrix.write_diagonal(&mut self.diagonal);
            let least = SMALLEST * exact.matrix.size().max(1.0);
            self.diagonal[..n].iter_mut().for_each(|h| *h = h.max(least));
        }
        for (k, &row) in at.jacobian.slack_rows.iter().enumerate() {
            let values = at.jacobian.a.row_values(row);
            let weight = match self.settings.kind {
                MetricKind::Identity => 1.0,
                _ => self.settings.slack_weight / dot(values, values).max(LEAST_SQUARE),
            };
            self.normal[n + k] = weight;
            self.diagonal[n + k] = self.scalar * weight;
        }
    }

    /// `out = H s`
    pub fn apply(&self, s: &[f64], out: &mut [f64]) {
        for ((out, h), s) in out.iter_mut().zip(&self.diagonal).zip(s) {
            *out = h * s;
        }
        if let Some(quasi_newton) = &self.quasi_newton {
            quasi_newton.apply(s, out);
        }
        if let Some(limited) = &self.limited {
            limited.low_rank().add_product(s, out);
        }
        if let Some(exact) = &self.exact {
            out[..exact.matrix.n].fill(0.0);
            exact.matrix.add_product(s, out);
        }
    }

    /// `s^T H s`
    pub fn square(&self, s: &[f64]) -> f64 {
        if let Some(exact) = &self.exact {
            let n = exact.matrix.n;
            let slacks: f64 = self.diagonal[n..].iter().zip(&s[n..]).map(|(h, s)| h * s * s).sum();
            // Across the constraints it may be negative, where the merit parameter sees to the descent.
            let least = FLATTEST * exact.matrix.size() * dot(&s[..n], &s[..n]);
            return slacks + exact.matrix.square(s).max(least);
        }
        let first = self.quasi_newton.as_ref().map_or(0, QuasiNewton::size);
        let diagonal: f64 = self.diagonal[first..].iter().zip(&s[first..]).map(|(h, s)| h * s * s).sum();
        let limited = self.limited.as_ref().map_or(0.0, |limited| limited.low_rank().square(s));
        diagonal + limited + self.quasi_newton.as_ref().map_or(0.0, |quasi_newton| quasi_newton.square(s))
    }

    /// Follows the curvature of the Lagrangian along the last step. Gives the factor by which the norm changed, for a metric that is a
    /// scalar.
    pub fn learn(&mut self, curvature: Curvature) -> f64 {
        let mut sigma = curvature.size() / norm(curvature.dz);
        if self.settings.kind == MetricKind::Identity || !sigma.is_finite() {
            return 1.0;
        }
        // No curvature at all is no reason to stay as cautious as before: where all is linear, steps may grow.
        if sigma == 0.0 {
            sigma = FALL * self.scalar;
        }
        let range = (self.settings.smallest, self.settings.largest);
        if let (Some(moments), Some(limited)) = (&mut self.moments, &mut self.limited) {
            moments.add(curvature);
            self.scalar = moments.size_of_entries().clamp(range.0, range.1);
            limited.update(curvature, |diagonal| moments.write(range, diagonal));
            return 1.0;
        }
        if let Some(moments) = &mut self.moments {
            moments.add(curvature);
            moments.write(range, &mut self.diagonal[..curvature.dz.len()]);
            self.scalar = moments.size_of_entries().clamp(range.0, range.1);
            return 1.0;
        }
        let sigma = sigma.clamp(range.0, range.1);
        if let Some(limited) = &mut self.limited {
            self.scalar = sigma;
            limited.update(curvature, |diagonal| diagonal.fill(sigma));
            return 1.0;
        }
        match &mut self.quasi_newton {
            Some(quasi_newton) => {
                quasi_newton.update(curvature, sigma);
                self.scalar = quasi_newton.smallest();
                1.0
            }
            None => {
                let old = std::mem::replace(&mut self.scalar, sigma);
                sigma / old
            }
        }
    }

    /// Follows how far the last step could be gone: it was accepted at this share of its length; `parts` gives its part along the constraints, and the
    /// length of the other, to a metric that asks for them. What is learnt from steps has no damping where it is not to be held back. Gives the factor by
    /// which steps become shorter of themselves.
    pub fn follow<'a>(&mut self, eta: f64, held_back: bool, parts: impl FnOnce() -> (&'a [f64], f64)) -> f64 {
        let shorter = match (&mut self.exact, &mut self.quasi_newton) {
            (Some(exact), _) => exact.follow(eta),
            (None, Some(quasi_newton)) if self.settings.damped && held_back => quasi_newton.follow(eta, parts),
            (None, Some(quasi_newton)) => {
                quasi_newton.release();
                false
            }
            _ => false,
        };
        if shorter { f64::INFINITY } else { 1.0 }
    }

    /// Forgets what was learnt. False: there was nothing to forget.
    pub fn reset(&mut self) -> bool {
        if let Some(exact) = &mut self.exact {
            return exact.stiffen();
        }
        if let Some(limited) = &mut self.limited {
            return limited.reset();
        }
        let Some(quasi_newton) = &mut self.quasi_newton else { return false };
        let forgot = quasi_newton.reset();
        self.scalar = quasi_newton.smallest();
        forgot
    }

    /// Whether another metric is of this kind and of this size.
    pub fn fits(&self, saved: &CurrentMetric) -> bool {
        both(&self.moments, &saved.moments, |here, saved| here.size() == saved.size())
            && both(&self.quasi_newton, &saved.quasi_newton, QuasiNewton::fits)
            && both(&self.limited, &saved.limited, LimitedMemory::fits)
            && both(&self.exact, &saved.exact, ExactHessian::fits)
    }

    /// Goes on from what another metric that fits has learnt, in its own memory.
    pub fn take_up(&mut self, saved: CurrentMetric) {
        self.scalar = saved.scalar;
        if let (Some(here), Some(saved)) = (&mut self.moments, saved.moments) {
            *here = saved;
            here.write((self.settings.smallest, self.settings.largest), &mut self.diagonal);
        }
        if let (Some(here), Some(saved)) = (&mut self.quasi_newton, saved.quasi_newton) {
            here.take_up(saved);
        }
        if let (Some(here), Some(saved)) = (&mut self.limited, saved.limited) {
            here.take_up(saved);
        }
        if let (Some(here), Some(saved)) = (&mut self.exact, saved.exact) {
            here.take_up(saved);
        }
    }
}

/// Whether both are there and fit, or neither is.
fn both<T>(here: &Option<T>, saved: &Option<T>, fits: impl Fn(&T, &T) -> bool) -> bool {
    match (here, saved) {
        (Some(here), Some(saved)) => fits(here, saved),
        (None, None) => true,
        _ => false,
    }
}
