use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use echidna::Scalar;
use num_traits::Float;

/// A number that a formula is written in: `f64` for a value, another for its derivatives.
///
/// Constants stand on the right (`x * 2.0`, `x + 1.0`), because Rust does not know `2.0 * x` for a generic `x`.
///
/// ```
/// use tangor_problem::Number;
///
/// fn rosenbrock<D: Number>(x: &[D]) -> D {
///     (x[1] - x[0].square()).square() * 100.0 + (x[0] - 1.0).square()
/// }
/// assert_eq!(rosenbrock(&[-1.0, 2.0]), 104.0);
/// ```
pub trait Number:
    Copy
    + From<f64>
    + Neg<Output = Self>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Add<f64, Output = Self>
    + Sub<f64, Output = Self>
    + Mul<f64, Output = Self>
    + Div<f64, Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + DivAssign
{
    /// The plain value, to compare and to branch on.
    fn value(self) -> f64;
    /// `x^n` for an integer `n`
    fn powi(self, n: i32) -> Self;
    /// `x^p` for a real `p`
    fn powf(self, p: f64) -> Self;
    /// `|x|`, with derivative 0 at 0
    fn abs(self) -> Self;
    /// The square root
    fn sqrt(self) -> Self;
    /// `e^x`
    fn exp(self) -> Self;
    /// The natural logarithm
    fn ln(self) -> Self;
    /// The sine
    fn sin(self) -> Self;
    /// The cosine
    fn cos(self) -> Self;
    /// The tangent
    fn tan(self) -> Self;
    /// The inverse sine
    fn asin(self) -> Self;
    /// The inverse cosine
    fn acos(self) -> Self;
    /// The inverse tangent
    fn atan(self) -> Self;
    /// The hyperbolic sine
    fn sinh(self) -> Self;
    /// The hyperbolic cosine
    fn cosh(self) -> Self;
    /// The hyperbolic tangent
    fn tanh(self) -> Self;

    /// `x * x`
    #[inline]
    fn square(self) -> Self {
        self * self
    }

    /// The larger of the two, the first where they are equal; not a number when one of them is not.
    #[inline]
    fn max(self, other: Self) -> Self {
        if other.value() > self.value() || other.value().is_nan() { other } else { self }
    }

    /// The smaller of the two, the first where they are equal; not a number when one of them is not.
    #[inline]
    fn min(self, other: Self) -> Self {
        if other.value() < self.value() || other.value().is_nan() { other } else { self }
    }

    /// The sum of the terms, 0 if there are none.
    #[inline]
    fn sum(terms: impl IntoIterator<Item = Self>) -> Self {
        terms.into_iter().fold(Self::from(0.0), |sum, term| sum + term)
    }
}

macro_rules! as_float {
    ($($function:ident)*) => {
        $(#[inline]
        fn $function(self) -> Self {
            Float::$function(self)
        })*
    };
}

impl<T> Number for T
where
    T: Scalar<Float = f64> + From<f64> + AddAssign + SubAssign + MulAssign + DivAssign,
    T: Add<f64, Output = T> + Sub<f64, Output = T> + Mul<f64, Output = T> + Div<f64, Output = T>,
{
    #[inline]
    fn value(self) -> f64 {
        Scalar::value(&self)
    }
    #[inline]
    fn powi(self, n: i32) -> Self {
        Float::powi(self, n)
    }
    #[inline]
    fn powf(self, p: f64) -> Self {
        Float::powf(self, T::from_f(p))
    }
    as_float!(abs sqrt exp ln sin cos tan asin acos atan sinh cosh tanh);
}
