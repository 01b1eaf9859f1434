//! Sums over slices that residuals and solvers share.

/// `a . b`, summed in four lanes: fast, and the same on every machine.
#[inline]
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut lanes = [0.0; 4];
    let (a4, a_rest) = a.as_chunks::<4>();
    let (b4, b_rest) = b.as_chunks::<4>();
    for (a, b) in a4.iter().zip(b4) {
        for lane in 0..4 {
            lanes[lane] += a[lane] * b[lane];
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]) + rest
}

/// The 2-norm, also where squares are beyond what a number can hold, as those of 1e-200 and 1e200 are.
#[inline]
pub fn norm(a: &[f64]) -> f64 {
    root_of_squares(dot(a, a), || a.iter().copied())
}

/// The 2-norm of numbers that are no slice, in the same way.
#[inline]
pub fn norm_of<I: Iterator<Item = f64>>(values: impl Fn() -> I) -> f64 {
    root_of_squares(values().map(|value| value * value).sum(), values)
}

/// The root of a sum of squares; where squares have become too small or too large, of those of the numbers relative to their largest.
#[inline]
fn root_of_squares<I: Iterator<Item = f64>>(square: f64, values: impl Fn() -> I) -> f64 {
    if (SMALLEST_SQUARE..=f64::MAX).contains(&square) || square.is_nan() {
        return square.sqrt();
    }
    let largest = values().fold(0.0, |most: f64, value| most.max(value.abs()));
    if largest == 0.0 || largest.is_infinite() {
        return largest;
    }
    largest * values().map(|value| (value / largest).powi(2)).sum::<f64>().sqrt()
}

/// A sum of squares below this may have lost some of them.
const SMALLEST_SQUARE: f64 = f64::MIN_POSITIVE / f64::EPSILON;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn norms_are_those_of_any_unit() {
        for unit in [1e-320, 1e-300, 1e-160, 1.0, 1e160, 1e300] {
            let a = [3.0 * unit, 0.0, -4.0 * unit];
            for size in [norm(&a), norm_of(|| a.into_iter())] {
                assert!((size / (5.0 * unit) - 1.0).abs() < if unit < 1e-310 { 1e-3 } else { 1e-15 }, "{unit:e}: {size:e}");
            }
        }
        assert_eq!(norm(&[0.0, -0.0]), 0.0);
        assert_eq!(norm(&[f64::NEG_INFINITY, 1e-300]), f64::INFINITY);
        assert!(norm(&[f64::NAN, 1e-300]).is_nan() && norm(&[f64::INFINITY, f64::NAN]).is_nan());
        assert_eq!(norm(&[]), 0.0);
    }
}
