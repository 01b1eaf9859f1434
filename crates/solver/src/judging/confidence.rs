//! How far an average may be from its expectation.

use tangor_problem::two_sided_student;

/// The factor `k` such that the distance of the mean of `count` independent vectors from a convex set (a point, a box) is more than `k`
/// standard errors (root of the sum of squares over the entries) *below* that of their expectation with probability at most `risk`:
/// distance plus `k` standard errors is an upper bound.
///
/// With `e` the expectation, `m` the mean and `u` the unit vector from the set to `e`, the distance of `m` is at least that of `e` less
/// `u^T (e - m)`. The direction is the same for all samples, so only one tail of Student's distribution counts, and its standard error
/// along `u` is no more than that over all entries.
pub fn factor_above(risk: f64, count: usize) -> f64 {
    two_sided_student(1.0 - 2.0 * risk, count as f64 - 1.0)
}

/// The factor `k` such that a mean of `count` independent vectors is farther than `k` standard errors (root of the sum of squares
/// over its entries) from its expectation, in whatever direction, with probability at most `risk`. A distance less `k` standard errors is a
/// lower bound.
///
/// Among all Gaussian vectors with the same sum of variances, one with a single nonzero entry has the heaviest tail at the levels used
/// here, so the two-sided quantile of Student's distribution serves for all.
pub fn factor(risk: f64, count: usize) -> f64 {
    two_sided_student(1.0 - risk, count as f64 - 1.0)
}

/// Standard errors for bounds of each kind.
pub struct Factors {
    /// For upper bounds.
    pub above: f64,
    /// For lower bounds.
    pub around: f64,
    /// For the distances of two averages at once, which share the risk.
    pub both: f64,
}

impl Factors {
    pub fn new(risk: f64, count: usize) -> Self {
        let [around, both] = [risk, 0.5 * risk].map(|risk| factor(risk, count));
        Factors { above: factor_above(risk, count), around, both }
    }
}

/// `|J^T v|` with the noise of `v`, that of `J`, and where both meet.
pub fn slope_noise(slope: f64, violation: f64, noise: f64, jacobian_noise: f64) -> f64 {
    slope * noise + violation * jacobian_noise + noise * jacobian_noise
}

/// The risk of one of many looks, counted from 1, at a run that ends as soon as one of them is good: all together, however many there
/// are, they have the risk `1 - confidence`, since `1/2 + 1/6 + 1/12 + ... = 1`. One that is known to be the `last` takes what the others
/// have left, `1 - (1/2 + 1/6 + ...) = 1/k` for the k-th.
///
/// Looks have fresh samples, so their errors are independent: the sum of the risks is what they have together, up to its square.
pub fn risk_of_look(confidence: f64, look: u64, last: bool) -> f64 {
    let look = look.max(1) as f64;
    (1.0 - confidence) / if last { look } else { look * (look + 1.0) }
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
        // One tail of 0.05 with 4 and 9 degrees.
        for (count, expected) in [(5, 2.131_847), (10, 1.833_113)] {
            assert!((factor_above(0.05, count) - expected).abs() < 1e-6, "{count}: {}", factor_above(0.05, count));
        }
    }

    #[test]
    fn all_looks_together_have_the_risk() {
        let sum = |looks: u64| (1..=looks).map(|look| risk_of_look(0.95, look, false)).sum::<f64>();
        assert!(sum(100_000) < 0.05 && sum(100_000) > 0.04999, "{}", sum(100_000));
        for last in [1, 2, 7, 1000] {
            let all = sum(last - 1) + risk_of_look(0.95, last, true);
            assert!((all - 0.05).abs() < 1e-12, "{last}: {all}");
        }
    }

    #[test]
    fn noise_of_a_slope_has_the_product_of_both() {
        // |J| = 4 with the noise 0.5, |v| = 2 with the noise 0.25, in one direction: at worst J v grows from 8 to 4.5 * 2.25.
        assert_eq!(slope_noise(4.0, 2.0, 0.25, 0.5), 4.5 * 2.25 - 8.0);
    }

    #[test]
    fn bernstein_by_hand() {
        // log(4 / risk) = 2: sqrt(2 * 3 * 2 / 3) + 7 * 0.5 * 2 / 6 with the variance 6 / 2.
        let risk = 4.0 * (-2.0f64).exp();
        assert!((bernstein(6.0, 3.0, 0.5, risk) - (2.0 + 7.0 / 6.0)).abs() < 1e-14);
    }
}
