//! The derivatives of one operation, as numbers.

use crate::operation::{Binary, Unary};
use crate::special::TWO_OVER_ROOT_PI;

/// `f'(x)` and `f''(x)`, where `f` is the value.
pub(crate) fn slopes(operation: Unary, x: f64, f: f64) -> (f64, f64) {
    use Unary::*;
    match operation {
        Negative => (-1.0, 0.0),
        Not | Truncate | Round | Floor | Ceiling => (0.0, 0.0),
        Absolute => (if x < 0.0 { -1.0 } else { 1.0 }, 0.0),
        SquareRoot => (0.5 / f, -0.25 / (f * x)),
        Exponential => (f, f),
        Logarithm => (1.0 / x, -1.0 / (x * x)),
        Logarithm10 => (1.0 / (x * std::f64::consts::LN_10), -1.0 / (x * x * std::f64::consts::LN_10)),
        Sine => (x.cos(), -f),
        Cosine => (-x.sin(), -f),
        Tangent => (1.0 + f * f, 2.0 * f * (1.0 + f * f)),
        ArcSine | ArcCosine => {
            let sign = if operation == ArcSine { 1.0 } else { -1.0 };
            let square = 1.0 - x * x;
            (sign / square.sqrt(), sign * x / (square * square.sqrt()))
        }
        ArcTangent => (1.0 / (1.0 + x * x), -2.0 * x / (1.0 + x * x).powi(2)),
        HyperbolicSine => (x.cosh(), f),
        HyperbolicCosine => (x.sinh(), f),
        HyperbolicTangent => (1.0 - f * f, -2.0 * f * (1.0 - f * f)),
        AreaSine => (1.0 / (1.0 + x * x).sqrt(), -x / (1.0 + x * x).powf(1.5)),
        AreaCosine => (1.0 / (x * x - 1.0).sqrt(), -x / (x * x - 1.0).powf(1.5)),
        AreaTangent => (1.0 / (1.0 - x * x), 2.0 * x / (1.0 - x * x).powi(2)),
        Error | ComplementaryError => {
            let sign = if operation == Error { 1.0 } else { -1.0 };
            let slope = sign * TWO_OVER_ROOT_PI * (-x * x).exp();
            (slope, -2.0 * x * slope)
        }
        ScaledError => {
            let slope = 2.0 * x * f - TWO_OVER_ROOT_PI;
            (slope, 2.0 * (f + x * slope))
        }
        Power(n) => power_slopes(x, f64::from(n), |shift| Power(n.saturating_sub(shift)).apply(x)),
    }
}

// Of x^n: n x^(n-1) and n (n-1) x^(n-2); a factor of zero wins over an infinite power.
fn power_slopes(x: f64, n: f64, lower: impl Fn(i32) -> f64) -> (f64, f64) {
    let times = |factor: f64, shift| if factor == 0.0 && !x.is_nan() { 0.0 } else { factor * lower(shift) };
    (times(n, 1), times(n * (n - 1.0), 2))
}

/// The derivatives in x, y, xx, xy and yy, where `f` is the value. A power is differentiated in its exponent only if that depends on
/// the variables.
pub(crate) fn partials(operation: Binary, x: f64, y: f64, f: f64, depends: [bool; 2]) -> [f64; 5] {
    use Binary::*;
    let linear = |fx: f64, fy: f64| [fx, fy, 0.0, 0.0, 0.0];
    match operation {
        Add => linear(1.0, 1.0),
        Subtract => linear(1.0, -1.0),
        Multiply => [y, x, 0.0, 1.0, 0.0],
        Divide => [1.0 / y, -f / y, 0.0, -1.0 / (y * y), 2.0 * f / (y * y)],
        Power | IntegerPower => {
            let (fx, fxx) = power_slopes(x, y, |shift| operation.apply(x, y - f64::from(shift)));
            if depends[1] && operation == Power {
                let log = x.ln();
                let lower = x.powf(y - 1.0);
                [fx, f * log, fxx, lower * (1.0 + y * log), f * log * log]
            } else {
                [fx, 0.0, fxx, 0.0, 0.0]
            }
        }
        Remainder => linear(1.0, -(x / y).trunc()),
        Modulo => linear(1.0, -(x / y).floor()),
        Sign => linear(1f64.copysign(x) * 1f64.copysign(y), 0.0),
        ArcTangent2 => {
            let square = x * x + y * y;
            let mixed = (x * x - y * y) / (square * square);
            let twist = 2.0 * x * y / (square * square);
            [y / square, -x / square, -twist, mixed, twist]
        }
        Maximum => {
            if x >= y {
                linear(1.0, 0.0)
            } else {
                linear(0.0, 1.0)
            }
        }
        Minimum => {
            if x <= y {
                linear(1.0, 0.0)
            } else {
                linear(0.0, 1.0)
            }
        }
        PositiveDifference => {
            if x > y {
                linear(1.0, -1.0)
            } else {
                linear(0.0, 0.0)
            }
        }
        IntegerDivide | Less | LessEqual | Equal | NotEqual | And | Or => linear(0.0, 0.0),
    }
}
