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

/// Residuals and multipliers of a point, with their memory.
pub struct Judging {
    pub kkt: residuals::Kkt,
    /// Multipliers that fit a point better than those of a step.
    pub fit: multipliers::MultiplierFit,
}

impl Judging {
    pub fn new(jacobian: &Jacobian) -> Self {
        Judging { kkt: residuals::Kkt::new(jacobian.rows(), jacobian.a.n), fit: multipliers::MultiplierFit::new(jacobian) }
    }
}
