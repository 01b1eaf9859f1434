use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use num_dual::{DualNum, DualSVec64};

/// A number that a formula is written in: `f64` for a value, a dual number for its derivatives.
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
    + Sum
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
    fn square(self) -> Self {
        self * self
    }
}

// What `num-dual` offers for `f64` and for dual numbers alike.
macro_rules! same_function {
    ($($function:ident)*) => {
        $(#[inline]
        fn $function(self) -> Self {
            DualNum::$function(&self)
        })*
    };
}

impl Number for f64 {
    #[inline]
    fn value(self) -> f64 {
        self
    }
    #[inline]
    fn powi(self, n: i32) -> f64 {
        f64::powi(self, n)
    }
    #[inline]
    fn powf(self, p: f64) -> f64 {
        f64::powf(self, p)
    }
    #[inline]
    fn abs(self) -> f64 {
        f64::abs(self)
    }
    same_function!(sqrt exp ln sin cos tan asin acos atan sinh cosh tanh);
}

/// Forward mode: the value and its derivatives in `N` directions at once.
impl<const N: usize> Number for DualSVec64<N> {
    #[inline]
    fn value(self) -> f64 {
        self.re
    }
    // `num-dual` computes both powers through x^(n-3), which is infinite at 0 where x^2.5 is not.
    #[inline]
    fn powi(self, n: i32) -> Self {
        Self::new(self.re.powi(n), self.eps * (f64::from(n) * self.re.powi(n.saturating_sub(1))))
    }
    #[inline]
    fn powf(self, p: f64) -> Self {
        Self::new(self.re.powf(p), self.eps * (p * self.re.powf(p - 1.0)))
    }
    #[inline]
    fn abs(self) -> Self {
        Self::new(self.re.abs(), self.eps * sign(self.re))
    }
    same_function!(sqrt exp ln sin cos tan asin acos atan sinh cosh tanh);
}

/// The derivative of `|x|`, with 0 in the middle.
pub(crate) fn sign(x: f64) -> f64 {
    if x == 0.0 { 0.0 } else { x.signum() }
}
