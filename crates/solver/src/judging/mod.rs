//! What a point is: residuals, multipliers that fit it, and in a noisy run a certificate on fresh samples.

mod batch;
pub(crate) mod confidence;
pub mod events;
pub(crate) mod judge;
pub(crate) mod judge_point;
pub(crate) mod judgements;
pub(crate) mod looks;
pub(crate) mod multipliers;
pub(crate) mod removable;
pub(crate) mod residuals;
pub(crate) mod row_sizes;
pub(crate) mod sample_mean;
pub(crate) mod standing;
pub(crate) mod verdict;

use crate::kernel::matrix::Jacobian;
use crate::steps::line_search::ROUNDING;

/// Residuals and multipliers of a point, with their memory.
pub struct Judging {
    pub kkt: residuals::Kkt,
    /// Multipliers that fit a point better than those of a step.
    pub fit: multipliers::MultiplierFit,
}

impl Judging {
    /// In an exact run only rounding keeps a variable from its bound. A noisy one has shorter steps, each of which goes a share of what is left of the
    /// way: there a variable is at its bound when the rest of the way would gain no more of the violation than its `tolerance`.
    pub fn new(jacobian: &Jacobian, tolerance: Option<f64>) -> Self {
        let mut kkt = residuals::Kkt::new(jacobian.rows(), jacobian.a.n);
        kkt.held_within = tolerance.unwrap_or(0.0).max(ROUNDING);
        Judging { kkt, fit: multipliers::MultiplierFit::new(jacobian) }
    }
}
