//! The functions that Fortran knows by itself, by their generic and their specific names.

use super::text::{Fault, Name, Parsed};
use super::typing::{Emitter, Kind, Value};
use tangor_expression::{Binary, Unary};

#[derive(Clone, Copy, PartialEq)]
enum Meaning {
    /// A real function of one real number.
    Real(Unary),
    /// Of one number, of the same kind.
    Same(Unary),
    /// An integer near a real number.
    ToInteger(Unary),
    ToReal,
    /// Of two numbers, of their common kind.
    Pair(Binary),
    /// Of two numbers or more; `Some` when the name fixes the kind of the result.
    Many(Binary, Option<Kind>),
    Merge,
    Hypotenuse,
    /// A constant of the arithmetic: for integers, for reals.
    Model(f64, f64),
    /// An integer that does not depend on the arguments.
    Constant(f64),
}

use Meaning::*;

/// Emits a function that Fortran knows.
pub(super) fn emit(to: &mut impl Emitter, name: &Name, values: &[Value]) -> Parsed<Value> {
    let Some(meaning) = meaning(&name.text) else {
        let message = format!("{} is neither an array, nor a function of the file, nor one that Fortran knows", name.text);
        return Err(Fault::new(name.place, message));
    };
    check_arguments(name, meaning, values)?;
    let kind = if values.iter().all(|value| value.kind == Kind::Integer) { Kind::Integer } else { Kind::Real };
    let a = values[0].handle;
    Ok(match meaning {
        Real(operation) => Value { handle: to.unary(operation, a), kind: Kind::Real },
        Same(operation) => Value { handle: to.unary(operation, a), kind },
        ToInteger(operation) => Value { handle: to.unary(operation, a), kind: Kind::Integer },
        ToReal => Value { handle: a, kind: Kind::Real },
        Pair(operation) => Value { handle: to.binary(operation, a, values[1].handle), kind },
        Many(operation, fixed) => {
            let mut handle = a;
            for value in &values[1..] {
                handle = to.binary(operation, handle, value.handle);
            }
            match fixed {
                Some(Kind::Integer) => Value { handle: to.unary(Unary::Truncate, handle), kind: Kind::Integer },
                fixed => Value { handle, kind: fixed.unwrap_or(kind) },
            }
        }
        Merge => Value { handle: to.select(values[2].handle, a, values[1].handle), kind: values[0].kind },
        Hypotenuse => {
            let squares = [a, values[1].handle].map(|side| to.unary(Unary::Power(2), side));
            let sum = to.binary(Binary::Add, squares[0], squares[1]);
            Value { handle: to.unary(Unary::SquareRoot, sum), kind: Kind::Real }
        }
        Constant(value) => Value { handle: to.constant(value), kind: Kind::Integer },
        Model(integer, real) => Value { handle: to.constant(if kind == Kind::Integer { integer } else { real }), kind },
    })
}

fn check_arguments(name: &Name, meaning: Meaning, values: &[Value]) -> Parsed<()> {
    let (fewest, most) = match meaning {
        Real(_) | Same(_) | Model(..) => (1, 1),
        // The second argument of INT and REAL is the kind, of which there is one.
        ToInteger(_) | ToReal | Constant(_) => (1, 2),
        Pair(_) | Hypotenuse => (2, 2),
        Many(..) => (2, usize::MAX),
        Merge => (3, 3),
    };
    if !(fewest..=most).contains(&values.len()) {
        let expected = match fewest {
            1 => "one argument",
            2 if most > 2 => "at least two arguments",
            2 => "two arguments",
            _ => "three arguments",
        };
        return Err(Fault::new(name.place, format!("{} takes {expected}, but has {}", name.text, values.len())));
    }
    let logical = |value: &Value| value.kind == Kind::Logical;
    let fits = match meaning {
        Merge => logical(&values[2]) && logical(&values[0]) == logical(&values[1]),
        _ => !values.iter().any(logical),
    };
    if fits { Ok(()) } else { Err(Fault::new(name.place, format!("an argument of {} has the wrong kind", name.text))) }
}

fn meaning(name: &str) -> Option<Meaning> {
    Some(match name {
        "ABS" | "DABS" | "IABS" => Same(Unary::Absolute),
        "SQRT" | "DSQRT" => Real(Unary::SquareRoot),
        "EXP" | "DEXP" => Real(Unary::Exponential),
        "LOG" | "DLOG" | "ALOG" => Real(Unary::Logarithm),
        "LOG10" | "DLOG10" | "ALOG10" => Real(Unary::Logarithm10),
        "SIN" | "DSIN" => Real(Unary::Sine),
        "COS" | "DCOS" => Real(Unary::Cosine),
        "TAN" | "DTAN" => Real(Unary::Tangent),
        "ASIN" | "DASIN" => Real(Unary::ArcSine),
        "ACOS" | "DACOS" => Real(Unary::ArcCosine),
        "ATAN" | "DATAN" => Real(Unary::ArcTangent),
        "SINH" | "DSINH" => Real(Unary::HyperbolicSine),
        "COSH" | "DCOSH" => Real(Unary::HyperbolicCosine),
        "TANH" | "DTANH" => Real(Unary::HyperbolicTangent),
        "ASINH" | "DASINH" => Real(Unary::AreaSine),
        "ACOSH" | "DACOSH" => Real(Unary::AreaCosine),
        "ATANH" | "DATANH" => Real(Unary::AreaTangent),
        "ERF" | "DERF" => Real(Unary::Error),
        "ERFC" | "DERFC" => Real(Unary::ComplementaryError),
        "ERFC_SCALED" => Real(Unary::ScaledError),
        "AINT" | "DINT" => Real(Unary::Truncate),
        "ANINT" | "DNINT" => Real(Unary::Round),
        "INT" | "IDINT" | "IFIX" => ToInteger(Unary::Truncate),
        "NINT" | "IDNINT" => ToInteger(Unary::Round),
        "FLOOR" => ToInteger(Unary::Floor),
        "CEILING" => ToInteger(Unary::Ceiling),
        "REAL" | "DBLE" | "FLOAT" | "DFLOAT" | "SNGL" => ToReal,
        "MOD" | "AMOD" | "DMOD" => Pair(Binary::Remainder),
        "MODULO" => Pair(Binary::Modulo),
        "SIGN" | "DSIGN" | "ISIGN" => Pair(Binary::Sign),
        "DIM" | "DDIM" | "IDIM" => Pair(Binary::PositiveDifference),
        "DPROD" => Pair(Binary::Multiply),
        "ATAN2" | "DATAN2" => Pair(Binary::ArcTangent2),
        "HYPOT" => Hypotenuse,
        "MAX" | "DMAX1" | "AMAX1" | "MAX0" => Many(Binary::Maximum, None),
        "MIN" | "DMIN1" | "AMIN1" | "MIN0" => Many(Binary::Minimum, None),
        "AMAX0" => Many(Binary::Maximum, Some(Kind::Real)),
        "AMIN0" => Many(Binary::Minimum, Some(Kind::Real)),
        "MAX1" => Many(Binary::Maximum, Some(Kind::Integer)),
        "MIN1" => Many(Binary::Minimum, Some(Kind::Integer)),
        "MERGE" => Merge,
        "EPSILON" => Model(f64::NAN, f64::EPSILON),
        "TINY" => Model(f64::NAN, f64::MIN_POSITIVE),
        "HUGE" => Model(f64::from(i32::MAX), f64::MAX),
        // There is one kind of real numbers.
        "KIND" | "SELECTED_REAL_KIND" => Constant(8.0),
        _ => return None,
    })
}

/// True when Fortran knows a function of this name.
pub(super) fn exists(name: &str) -> bool {
    meaning(name).is_some()
}
