//! The few operations on slices that everything else is made of.

pub use tangor_problem::vector::{dot, norm, norm_of};

/// `b += t a`
pub fn add(t: f64, a: &[f64], b: &mut [f64]) {
    for (a, b) in a.iter().zip(b) {
        *b += t * a;
    }
}

/// The largest absolute value.
pub fn largest(a: &[f64]) -> f64 {
    a.iter().fold(0.0, |most, value| value.abs().max(most))
}
