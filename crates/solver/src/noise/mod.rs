//! What only a noisy run has: estimates from samples, and the step that they allow.

pub(crate) mod common_samples;
pub(crate) mod effective_samples;
pub(crate) mod estimate;
pub(crate) mod estimator;
mod exact_pass;
pub(crate) mod random;
pub(crate) mod sampled_step;
pub(crate) mod schedule;
