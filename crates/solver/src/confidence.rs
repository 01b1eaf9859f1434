//! Quantiles for confidence bounds.

/// The factor `k` such that a mean of `count` independent vectors is farther than `k` standard errors (root of the sum of squares
/// over its entries) from its expectation with probability at most `1 - confidence`.
///
/// Among all Gaussian vectors with the same sum of variances, one with a single nonzero entry has the heaviest tail at the levels used
/// here, so the two-sided quantile of Student's distribution serves for all.
pub fn factor(confidence: f64, count: usize) -> f64 {
    student(0.5 + 0.5 * confidence, count as f64 - 1.0)
}

/// The quantile of Student's distribution: an expansion about the normal one (Abramowitz and Stegun 26.7.5), good to 1e-3 from four
/// degrees of freedom on at the usual levels.
fn student(probability: f64, freedom: f64) -> f64 {
    let z = normal(probability);
    let (z2, v) = (z * z, freedom);
    let terms = [
        (z2 + 1.0) / 4.0,
        ((5.0 * z2 + 16.0) * z2 + 3.0) / 96.0,
        (((3.0 * z2 + 19.0) * z2 + 17.0) * z2 - 15.0) / 384.0,
        ((((79.0 * z2 + 776.0) * z2 + 1482.0) * z2 - 1920.0) * z2 - 945.0) / 92160.0,
    ];
    z * (1.0 + terms.iter().rev().fold(0.0, |sum, term| (sum + term) / v))
}

/// The quantile of the normal distribution, by Newton's method on its integral.
fn normal(probability: f64) -> f64 {
    let mut z: f64 = 0.0;
    for _ in 0..60 {
        let density = (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
        let step: f64 = (probability - cumulative(z)) / density;
        z += step.clamp(-1.0, 1.0);
        if step.abs() < 1e-14 {
            break;
        }
    }
    z
}

/// The normal distribution: its Taylor series with all terms of one sign, `1/2 + phi(z) (z + z^3/3 + z^5/15 + ...)`.
fn cumulative(z: f64) -> f64 {
    let (mut term, mut sum) = (z, z);
    for k in 1..400 {
        term *= z * z / (2 * k + 1) as f64;
        sum += term;
        if term.abs() < 1e-18 * sum.abs() {
            break;
        }
    }
    0.5 + sum * (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_equal_those_of_the_tables() {
        for (probability, expected) in [(0.5, 0.0), (0.95, 1.644854), (0.975, 1.959964), (0.995, 2.575829)] {
            assert!((normal(probability) - expected).abs() < 1e-6, "{probability}: {}", normal(probability));
        }
        for (freedom, expected) in [(4.0, 2.776), (9.0, 2.262), (19.0, 2.093), (100.0, 1.984)] {
            assert!((student(0.975, freedom) - expected).abs() < 2e-3, "{freedom}: {}", student(0.975, freedom));
        }
    }
}
