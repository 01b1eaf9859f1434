//! The arithmetic: what one operation does to numbers. Integers and logical values (1 and 0) are doubles too.

use crate::special;

/// An operation on one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unary {
    /// `-a`
    Negative,
    /// 1 where the number is 0, else 0.
    Not,
    /// `|a|`
    Absolute,
    /// The integer next to it towards zero.
    Truncate,
    /// The nearest integer, halves away from zero.
    Round,
    /// The largest integer that is not above.
    Floor,
    /// The smallest integer that is not below.
    Ceiling,
    /// The square root.
    SquareRoot,
    /// `e^a`
    Exponential,
    /// The natural logarithm.
    Logarithm,
    /// The logarithm to base 10.
    Logarithm10,
    /// The sine.
    Sine,
    /// The cosine.
    Cosine,
    /// The tangent.
    Tangent,
    /// The inverse of the sine.
    ArcSine,
    /// The inverse of the cosine.
    ArcCosine,
    /// The inverse of the tangent.
    ArcTangent,
    /// The hyperbolic sine.
    HyperbolicSine,
    /// The hyperbolic cosine.
    HyperbolicCosine,
    /// The hyperbolic tangent.
    HyperbolicTangent,
    /// The inverse of the hyperbolic sine.
    AreaSine,
    /// The inverse of the hyperbolic cosine.
    AreaCosine,
    /// The inverse of the hyperbolic tangent.
    AreaTangent,
    /// The error function.
    Error,
    /// 1 minus the error function.
    ComplementaryError,
    /// `exp(a^2)` times the complementary error function.
    ScaledError,
    /// A power that is a known integer.
    Power(i32),
}

/// An operation on two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Binary {
    /// `a + b`
    Add,
    /// `a - b`
    Subtract,
    /// `a b`
    Multiply,
    /// `a / b`
    Divide,
    /// Division of integers, towards zero.
    IntegerDivide,
    /// `a^b`
    Power,
    /// A power whose exponent is an integer.
    IntegerPower,
    /// The remainder with the sign of the first.
    Remainder,
    /// The remainder with the sign of the second.
    Modulo,
    /// The size of the first with the sign of the second.
    Sign,
    /// The angle of the point `(b, a)`.
    ArcTangent2,
    /// The larger of the two; NaN if either is.
    Maximum,
    /// The smaller of the two; NaN if either is.
    Minimum,
    /// `max(a - b, 0)`
    PositiveDifference,
    /// 1 where `a < b`, else 0.
    Less,
    /// 1 where `a <= b`, else 0.
    LessEqual,
    /// 1 where `a = b`, else 0.
    Equal,
    /// 1 where `a` is not `b`, else 0.
    NotEqual,
    /// 1 where neither is 0, else 0.
    And,
    /// 1 where not both are 0, else 0.
    Or,
}

impl Unary {
    /// The result.
    #[inline]
    pub fn apply(self, a: f64) -> f64 {
        match self {
            Unary::Negative => -a,
            Unary::Not => truth(a == 0.0),
            Unary::Absolute => a.abs(),
            Unary::Truncate => a.trunc(),
            Unary::Round => a.round(),
            Unary::Floor => a.floor(),
            Unary::Ceiling => a.ceil(),
            Unary::SquareRoot => a.sqrt(),
            Unary::Exponential => a.exp(),
            Unary::Logarithm => a.ln(),
            Unary::Logarithm10 => a.log10(),
            Unary::Sine => a.sin(),
            Unary::Cosine => a.cos(),
            Unary::Tangent => a.tan(),
            Unary::ArcSine => a.asin(),
            Unary::ArcCosine => a.acos(),
            Unary::ArcTangent => a.atan(),
            Unary::HyperbolicSine => a.sinh(),
            Unary::HyperbolicCosine => a.cosh(),
            Unary::HyperbolicTangent => a.tanh(),
            Unary::AreaSine => a.asinh(),
            Unary::AreaCosine => a.acosh(),
            Unary::AreaTangent => a.atanh(),
            Unary::Error => special::erf(a),
            Unary::ComplementaryError => special::erfc(a),
            Unary::ScaledError => special::erfc_scaled(a),
            Unary::Power(exponent) => integer_power(a, exponent),
        }
    }
}

impl Binary {
    /// The result.
    #[inline]
    pub fn apply(self, a: f64, b: f64) -> f64 {
        match self {
            Binary::Add => a + b,
            Binary::Subtract => a - b,
            Binary::Multiply => a * b,
            Binary::Divide => a / b,
            Binary::IntegerDivide => (a / b).trunc(),
            Binary::Power => a.powf(b),
            Binary::IntegerPower => integer_power(a, b as i32),
            Binary::Remainder => a % b,
            Binary::Modulo => a - b * (a / b).floor(),
            Binary::Sign => a.abs().copysign(b),
            Binary::ArcTangent2 => a.atan2(b),
            // A NaN must not vanish, as it would in `f64::max`: a function that has no value says so.
            Binary::Maximum => {
                if a >= b || a.is_nan() {
                    a
                } else {
                    b
                }
            }
            Binary::Minimum => {
                if a <= b || a.is_nan() {
                    a
                } else {
                    b
                }
            }
            Binary::PositiveDifference => {
                if a <= b {
                    0.0
                } else {
                    a - b
                }
            }
            Binary::Less => truth(a < b),
            Binary::LessEqual => truth(a <= b),
            Binary::Equal => truth(a == b),
            Binary::NotEqual => truth(a != b),
            Binary::And => truth(a != 0.0 && b != 0.0),
            Binary::Or => truth(a != 0.0 || b != 0.0),
        }
    }

    /// True when the order of the operands does not matter.
    pub fn commutes(self) -> bool {
        use Binary::*;
        matches!(self, Add | Multiply | Equal | NotEqual | And | Or)
    }
}

#[inline]
fn truth(value: bool) -> f64 {
    f64::from(u8::from(value))
}

// Repeated squaring, with the inverse at the end: what Fortran compilers do for integer powers.
#[inline]
fn integer_power(a: f64, exponent: i32) -> f64 {
    match exponent {
        2 => return a * a,
        3 => return a * a * a,
        _ => {}
    }
    let (mut result, mut square, mut left) = (1.0, a, exponent.unsigned_abs());
    while left > 0 {
        if left & 1 == 1 {
            result *= square;
        }
        square *= square;
        left >>= 1;
    }
    if exponent < 0 { 1.0 / result } else { result }
}
