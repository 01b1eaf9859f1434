//! The error function and its relatives, which newer Fortran knows.
//!
//! Rational approximations of W. J. Cody, Mathematics of Computation 23 (1969), 631-638, in three ranges of the argument.

/// `2 / sqrt(pi)`
pub const TWO_OVER_ROOT_PI: f64 = std::f64::consts::FRAC_2_SQRT_PI;

/// Up to here `erf(x) = x N(x^2) / D(x^2)`.
const SMALL: f64 = 0.46875;
/// Up to here `erfc(x) = exp(-x^2) N(x) / D(x)`, and beyond it `exp(-x^2) / x (1/sqrt(pi) - t N(t) / D(t))` with `t = 1 / x^2`.
const MIDDLE: f64 = 4.0;

// Coefficients of N and D, from the highest power down.
const SMALL_N: [f64; 5] = [
    1.857_777_061_846_031_5e-1,
    3.161_123_743_870_565_5,
    1.138_641_541_510_501_6e2,
    3.774_852_376_853_02e2,
    3.209_377_589_138_469_4e3,
];
const SMALL_D: [f64; 5] =
    [1.0, 2.360_129_095_234_412e1, 2.440_246_379_344_441_7e2, 1.282_616_526_077_372_3e3, 2.844_236_833_439_171e3];
const MIDDLE_N: [f64; 9] = [
    2.153_115_354_744_038_3e-8,
    5.641_884_969_886_701e-1,
    8.883_149_794_388_377,
    6.611_919_063_714_163e1,
    2.986_351_381_974_001e2,
    8.819_522_212_417_69e2,
    1.712_047_612_634_070_7e3,
    2.051_078_377_826_071_6e3,
    1.230_339_354_797_997_2e3,
];
const MIDDLE_D: [f64; 9] = [
    1.0,
    1.574_492_611_070_983_5e1,
    1.176_939_508_913_125e2,
    5.371_811_018_620_099e2,
    1.621_389_574_566_690_3e3,
    3.290_799_235_733_459_7e3,
    4.362_619_090_143_247e3,
    3.439_367_674_143_721_6e3,
    1.230_339_354_803_749_3e3,
];
const LARGE_N: [f64; 6] = [
    1.631_538_713_730_209_7e-2,
    3.053_266_349_612_323_6e-1,
    3.603_448_999_498_044_5e-1,
    1.257_817_261_112_292_6e-1,
    1.608_378_514_874_228e-2,
    6.587_491_615_298_378e-4,
];
const LARGE_D: [f64; 6] = [
    1.0,
    2.568_520_192_289_822,
    1.872_952_849_923_460_4,
    5.279_051_029_514_285e-1,
    6.051_834_131_244_132e-2,
    2.335_204_976_268_691_8e-3,
];

/// The error function.
pub fn erf(x: f64) -> f64 {
    if x.abs() <= SMALL { near_zero(x) } else { (1.0 - erfc(x.abs())).copysign(x) }
}

/// `1 - erf(x)`, without loss where that is small.
pub fn erfc(x: f64) -> f64 {
    if x.abs() <= SMALL {
        return 1.0 - near_zero(x);
    }
    let tail = exp_minus_square(x.abs()) * scaled_tail(x.abs());
    if x < 0.0 { 2.0 - tail } else { tail }
}

/// `exp(x^2) erfc(x)`
pub fn erfc_scaled(x: f64) -> f64 {
    if x.abs() <= SMALL {
        (x * x).exp() * (1.0 - near_zero(x))
    } else if x < 0.0 {
        2.0 / exp_minus_square(-x) - scaled_tail(-x)
    } else {
        scaled_tail(x)
    }
}

fn near_zero(x: f64) -> f64 {
    let square = x * x;
    x * polynomial(&SMALL_N, square) / polynomial(&SMALL_D, square)
}

// exp(x^2) erfc(x) for x > SMALL
fn scaled_tail(x: f64) -> f64 {
    if x <= MIDDLE {
        return polynomial(&MIDDLE_N, x) / polynomial(&MIDDLE_D, x);
    }
    let t = 1.0 / (x * x);
    (0.5 * TWO_OVER_ROOT_PI - t * polynomial(&LARGE_N, t) / polynomial(&LARGE_D, t)) / x
}

// x is cut after its fourth binary place, so that the square of the first part is exact. Beyond 28 nothing is left.
fn exp_minus_square(x: f64) -> f64 {
    if x > 28.0 {
        return 0.0;
    }
    let cut = (x * 16.0).trunc() / 16.0;
    (-cut * cut).exp() * (-(x - cut) * (x + cut)).exp()
}

fn polynomial(coefficients: &[f64], x: f64) -> f64 {
    coefficients.iter().fold(0.0, |value, coefficient| value * x + coefficient)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_tables() {
        let cases = [
            (erf(0.0), 0.0),
            (erf(0.25), 0.276_326_390_168_236_93),
            (erf(0.5), 0.520_499_877_813_046_5),
            (erf(-1.0), -0.842_700_792_949_714_9),
            (erfc(2.0), 4.677_734_981_047_266e-3),
            (erfc(5.0), 1.537_459_794_428_035e-12),
            (erfc(-3.0), 1.999_977_909_503_001_4),
            (erfc_scaled(10.0), 5.614_099_274_382_259e-2),
            (erfc_scaled(-1.0), 5.008_980_080_762_283),
        ];
        for (found, expected) in cases {
            assert!((found - expected).abs() <= 4.0 * f64::EPSILON * expected.abs(), "{found} is not {expected}");
        }
        assert!(erf(f64::NAN).is_nan() && erfc(f64::INFINITY) == 0.0 && erf(f64::INFINITY) == 1.0);
    }
}
