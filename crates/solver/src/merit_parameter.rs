//! The merit parameter `rho` of `phi_rho = f + rho |h|`. It never falls.

/// `rho <- max(rho, margin (g^T s + 1/2 s^T H s) / (theta |h|))` (eq:rhok-2, where the margin is 1), when `rho` is too small without the
/// margin.
///
/// `model` is the numerator and `noise` the size of its rounding error; `gain` is `theta |h|`. A ratio of two rounding errors must not
/// blow `rho` up, so a numerator within its noise and a gain that is numerically zero change nothing.
pub fn updated(rho: f64, margin: f64, model: f64, noise: f64, gain: f64) -> f64 {
    if model <= noise || gain <= noise * 1e-3 || gain <= f64::MIN_POSITIVE {
        return rho;
    }
    let needed = model / gain;
    if needed > rho { margin * needed } else { rho }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        // g^T s + 1/2 s^T H s = 3, theta |h| = 0.5 * 2 = 1: rho must be 3.
        assert_eq!(updated(1.0, 1.0, 3.0, 1e-16, 1.0), 3.0);
        assert_eq!(updated(1.0, 2.0, 3.0, 1e-16, 1.0), 6.0);
        assert_eq!(updated(4.0, 2.0, 3.0, 1e-16, 1.0), 4.0);
        assert_eq!(updated(1.0, 2.0, -3.0, 1e-16, 1.0), 1.0);
        assert_eq!(updated(1.0, 2.0, 1e-17, 1e-16, 1e-30), 1.0);
        assert_eq!(updated(1.0, 2.0, 1.0, 1e-16, 0.0), 1.0);
    }
}
