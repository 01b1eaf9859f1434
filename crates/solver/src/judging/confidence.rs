//! How far an average may be from its expectation.

use tangor_problem::two_sided_student;

/// The factor `k` such that a mean of `count` independent vectors is farther than `k` standard errors (root of the sum of squares
/// over its entries) from its expectation with probability at most `risk`.
///
/// Among all Gaussian vectors with the same sum of variances, one with a single nonzero entry has the heaviest tail at the levels used
/// here, so the two-sided quantile of Student's distribution serves for all.
pub fn factor(risk: f64, count: usize) -> f64 {
    two_sided_student(1.0 - risk, count as f64 - 1.0)
}

/// The risk of one of many looks, counted from 1, at a run that ends as soon as one of them is good: all together, however many there
/// are, they have the risk `1 - confidence`, since `1/2 + 1/6 + 1/12 + ... = 1`.
pub fn risk_of_look(confidence: f64, look: u64) -> f64 {
    let look = look.max(1) as f64;
    (1.0 - confidence) / (look * (look + 1.0))
}

/// The empirical Bernstein bound (Maurer and Pontil 2009): with probability `1 - risk` the average of `count` numbers, independent and from
/// an interval of length `range`, is no farther from its expectation. `square` is the sum of the squares of their deviations.
pub fn bernstein(square: f64, count: f64, range: f64, risk: f64) -> f64 {
    let log = (4.0 / risk).ln();
    let variance = square / (count - 1.0);
    (2.0 * variance * log / count).sqrt() + 7.0 * range * log / (3.0 * (count - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_factor_is_students_quantile() {
        // From the tables: 0.95 with 4, 9 and 100 degrees of freedom.
        for (count, expected) in [(5, 2.776_445), (10, 2.262_157), (101, 1.983_972)] {
            assert!((factor(0.05, count) - expected).abs() < 1e-6, "{count}: {}", factor(0.05, count));
        }
        assert_eq!(factor(0.05, 1), f64::INFINITY, "one batch has no spread");
    }

    #[test]
    fn all_looks_together_have_the_risk() {
        let sum: f64 = (1..100_000).map(|look| risk_of_look(0.95, look)).sum();
        assert!(sum < 0.05 && sum > 0.04999, "{sum}");
    }

    #[test]
    fn bernstein_by_hand() {
        // log(4 / risk) = 2: sqrt(2 * 3 * 2 / 3) + 7 * 0.5 * 2 / 6 with the variance 6 / 2.
        let risk = 4.0 * (-2.0f64).exp();
        assert!((bernstein(6.0, 3.0, 0.5, risk) - (2.0 + 7.0 / 6.0)).abs() < 1e-14);
    }
}
