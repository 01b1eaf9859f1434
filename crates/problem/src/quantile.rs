//! Standard errors on each side of a confidence interval.

/// `z` with `P(|Z| <= z) = confidence` for a normal `Z`; infinite from a confidence of 1 on, 0 up to one of 0 and for NaN.
pub fn two_sided(confidence: f64) -> f64 {
    if confidence >= 1.0 {
        return f64::INFINITY;
    }
    // Beyond 9 the probability is 1 in double precision.
    let (mut below, mut above) = (0.0, 9.0);
    for _ in 0..60 {
        let middle = 0.5 * (below + above);
        if confidence > within(middle) {
            below = middle;
        } else {
            above = middle;
        }
    }
    below
}

/// `P(|Z| <= z) = 2 phi(z) (z + z^3/3 + z^5/(3 5) + ...)`, all terms of one sign.
fn within(z: f64) -> f64 {
    let (mut term, mut sum) = (z, z);
    for odd in (3..600).step_by(2) {
        term *= z * z / f64::from(odd);
        sum += term;
    }
    sum * (-0.5 * z * z).exp() * (2.0 / std::f64::consts::PI).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_equal_those_of_the_tables() {
        let cases =
            [(0.5, 0.674490), (0.6826895, 1.0), (0.9, 1.644854), (0.95, 1.959964), (0.99, 2.575829), (0.999999, 4.891638)];
        for (confidence, expected) in cases {
            let found = two_sided(confidence);
            assert!((found - expected).abs() < 1e-6, "{confidence}: {found}, not {expected}");
        }
        assert_eq!([two_sided(0.0), two_sided(-1.0), two_sided(f64::NAN), two_sided(1.0)], [0.0, 0.0, 0.0, f64::INFINITY]);
    }
}
