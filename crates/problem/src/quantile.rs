//! Standard errors on each side of a confidence interval.

use statrs::distribution::{Continuous, ContinuousCDF, Normal, StudentsT};

/// `z` with `P(|Z| <= z) = confidence` for a standard normal `Z`; infinite from a confidence of 1 on, 0 up to one of 0 and for NaN.
pub fn two_sided(confidence: f64) -> f64 {
    from_tail(confidence, |tail| Normal::standard().inverse_cdf(tail))
}

/// `t` with `P(|T| <= t) = confidence` for a `T` of Student's distribution with so many degrees of freedom; the edges as in
/// [`two_sided`]. Without a positive number of degrees nothing is known: it is infinite then.
pub fn two_sided_student(confidence: f64, degrees: f64) -> f64 {
    if degrees >= MANY {
        return expanded(two_sided(confidence), degrees);
    }
    match StudentsT::new(0.0, 1.0, degrees) {
        Ok(student) => from_tail(confidence, |tail| polished(&student, tail)),
        Err(_) => from_tail(confidence, |_| f64::NEG_INFINITY),
    }
}

/// From so many degrees on the expansion about the normal quantile has an error below that of rounding.
const MANY: f64 = 1000.0;

/// The library's quantile, which loses digits as the degrees grow, after Newton's steps on its distribution function.
fn polished(student: &StudentsT, tail: f64) -> f64 {
    let start = student.inverse_cdf(tail);
    let step = |t: f64, _| t - (student.cdf(t) - tail) / student.pdf(t);
    let t = (0..3).fold(start, step);
    if t.is_finite() { t } else { start }
}

/// Student's quantile from the normal one (Abramowitz and Stegun 26.7.5).
fn expanded(z: f64, degrees: f64) -> f64 {
    if !z.is_finite() {
        return z;
    }
    let (s, v) = (z * z, 1.0 / degrees);
    let terms = [
        (s + 1.0) / 4.0,
        ((5.0 * s + 16.0) * s + 3.0) / 96.0,
        (((3.0 * s + 19.0) * s + 17.0) * s - 15.0) / 384.0,
        ((((79.0 * s + 776.0) * s + 1482.0) * s - 1920.0) * s - 945.0) / 92160.0,
    ];
    z + z * terms.iter().rev().fold(0.0, |sum, term| v * (term + sum))
}

/// From the lower tail, whose probability has no rounding error however close to 1 the confidence is.
fn from_tail(confidence: f64, quantile: impl Fn(f64) -> f64) -> f64 {
    if confidence >= 1.0 {
        f64::INFINITY
    } else if confidence > 0.0 {
        -quantile(0.5 * (1.0 - confidence))
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() <= 1e-12 * expected, "{found}, not {expected}");
    }

    #[test]
    fn normal_quantiles_equal_known_ones() {
        close(two_sided(0.5), 0.674_489_750_196_081_7);
        close(two_sided(0.9), 1.644_853_626_951_472_2);
        close(two_sided(0.95), 1.959_963_984_540_054);
        close(two_sided(0.99), 2.575_829_303_548_901);
        assert_eq!([two_sided(0.0), two_sided(-1.0), two_sided(f64::NAN), two_sided(1.0)], [0.0, 0.0, 0.0, f64::INFINITY]);
    }

    #[test]
    fn students_quantiles_equal_closed_forms() {
        for confidence in [0.1, 0.5, 0.9, 0.95, 0.99, 0.9999] {
            // One degree is Cauchy's distribution; for two, t = c sqrt(2 / (1 - c^2)).
            close(two_sided_student(confidence, 1.0), (0.5 * std::f64::consts::PI * confidence).tan());
            close(two_sided_student(confidence, 2.0), confidence * (2.0 / (1.0 - confidence * confidence)).sqrt());
            // Four degrees: P(|T| <= t) = 3/2 s - 1/2 s^3 with s = t / sqrt(4 + t^2).
            let t = two_sided_student(confidence, 4.0);
            let s = t / (4.0 + t * t).sqrt();
            close(1.5 * s - 0.5 * s * s * s, confidence);
        }
        assert_eq!(two_sided_student(0.95, 0.0), f64::INFINITY);
        assert_eq!([two_sided_student(0.0, 5.0), two_sided_student(1.0, 5.0)], [0.0, f64::INFINITY]);
        // From the finite series for odd and even degrees.
        close(two_sided_student(0.95, 9.0), 2.262_157_162_798_204);
        close(two_sided_student(0.95, 30.0), 2.042_272_456_301_237_8);
        // Both ways agree where they meet.
        for confidence in [0.5, 0.95, 0.9999] {
            let (below, above) = (two_sided_student(confidence, MANY * (1.0 - 1e-13)), two_sided_student(confidence, MANY));
            assert!((below - above).abs() <= 1e-11 * above, "{below}, {above}");
        }
        assert!((two_sided_student(0.95, 1e7) - two_sided(0.95)).abs() < 1e-6);
    }
}
