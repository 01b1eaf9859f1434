//! Quantiles for confidence bounds.

use tangor_problem::two_sided;

/// The factor `k` such that a mean of `count` independent vectors is farther than `k` standard errors (root of the sum of squares
/// over its entries) from its expectation with probability at most `1 - confidence`.
///
/// Among all Gaussian vectors with the same sum of variances, one with a single nonzero entry has the heaviest tail at the levels used
/// here, so the two-sided quantile of Student's distribution serves for all.
pub fn factor(confidence: f64, count: usize) -> f64 {
    student(confidence, count as f64 - 1.0)
}

/// The two-sided quantile of Student's distribution: an expansion about the normal one (Abramowitz and Stegun 26.7.5), good to 1e-3 from four
/// degrees of freedom on at the usual levels.
fn student(confidence: f64, freedom: f64) -> f64 {
    let z = two_sided(confidence);
    let (z2, v) = (z * z, freedom);
    let terms = [
        (z2 + 1.0) / 4.0,
        ((5.0 * z2 + 16.0) * z2 + 3.0) / 96.0,
        (((3.0 * z2 + 19.0) * z2 + 17.0) * z2 - 15.0) / 384.0,
        ((((79.0 * z2 + 776.0) * z2 + 1482.0) * z2 - 1920.0) * z2 - 945.0) / 92160.0,
    ];
    z * (1.0 + terms.iter().rev().fold(0.0, |sum, term| (sum + term) / v))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_equal_those_of_the_tables() {
        for (freedom, expected) in [(4.0, 2.776), (9.0, 2.262), (19.0, 2.093), (100.0, 1.984)] {
            assert!((student(0.95, freedom) - expected).abs() < 2e-3, "{freedom}: {}", student(0.95, freedom));
        }
    }
}
