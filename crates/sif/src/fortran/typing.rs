//! The kinds of Fortran: what an expression means, operation by operation, for whoever emits the operations.

use super::expression::{Argument, Expression, Operator};
use super::intrinsic;
use super::text::{Fault, Name, Parsed, Place};
use tangor_expression::{Binary, Unary};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Integer,
    Real,
    Logical,
}

impl Kind {
    /// The kind of a name that no declaration mentions: integer from I to N.
    pub fn implicit(name: &str) -> Self {
        if name.starts_with(|letter| ('I'..='N').contains(&letter)) { Kind::Integer } else { Kind::Real }
    }
}

/// A value that will have been computed: where the emitter finds it, and its kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Value {
    pub handle: u32,
    pub kind: Kind,
}

/// Where the operations of an expression go: into a graph, or into the program of a machine.
pub(super) trait Emitter {
    fn constant(&mut self, value: f64) -> u32;
    /// The value of a handle that is a constant.
    fn known(&self, handle: u32) -> Option<f64>;
    fn unary(&mut self, operation: Unary, a: u32) -> u32;
    fn binary(&mut self, operation: Binary, a: u32, b: u32) -> u32;
    /// `a` where the condition is not 0, else `b`.
    fn select(&mut self, condition: u32, a: u32, b: u32) -> u32;
    fn variable(&mut self, name: &Name) -> Parsed<Value>;
    /// An element of an array or the value of an external function; nothing when the name is neither.
    fn apply(&mut self, name: &Name, arguments: &[Argument]) -> Parsed<Option<Value>>;
}

/// Emits the operations of an expression.
pub(super) fn emit(to: &mut impl Emitter, expression: &Expression) -> Parsed<Value> {
    match expression {
        Expression::Real(value, _) => Ok(Value { handle: to.constant(*value), kind: Kind::Real }),
        Expression::Integer(value, _) => Ok(Value { handle: to.constant(*value), kind: Kind::Integer }),
        Expression::Logical(value, _) => Ok(Value { handle: to.constant(f64::from(u8::from(*value))), kind: Kind::Logical }),
        Expression::Name(name) => to.variable(name),
        Expression::Apply(name, arguments) => apply(to, name, arguments),
        Expression::Negative(inner) => {
            let a = number(emit(to, inner)?, place_of(inner))?;
            Ok(Value { handle: to.unary(Unary::Negative, a.handle), ..a })
        }
        Expression::Not(inner) => {
            let a = logical(emit(to, inner)?, place_of(inner))?;
            Ok(Value { handle: to.unary(Unary::Not, a.handle), ..a })
        }
        Expression::Binary(operator, place, left, right) => {
            let (a, b) = (emit(to, left)?, emit(to, right)?);
            match operator {
                Operator::And | Operator::Or | Operator::Equivalent | Operator::NotEquivalent => {
                    connective(to, *operator, logical(a, *place)?, logical(b, *place)?)
                }
                _ => arithmetic(to, *operator, number(a, *place)?, number(b, *place)?),
            }
        }
    }
}

/// Emits an expression that must be true or false.
pub(super) fn emit_condition(to: &mut impl Emitter, expression: &Expression) -> Parsed<u32> {
    let value = emit(to, expression)?;
    Ok(logical(value, place_of(expression))?.handle)
}

/// Emits an expression that must be a number.
pub(super) fn emit_number(to: &mut impl Emitter, expression: &Expression) -> Parsed<u32> {
    let value = emit(to, expression)?;
    Ok(number(value, place_of(expression))?.handle)
}

/// Makes a value fit a variable of another kind, as an assignment does.
pub(super) fn convert(to: &mut impl Emitter, value: Value, kind: Kind, place: Place) -> Parsed<u32> {
    match (value.kind, kind) {
        (Kind::Real, Kind::Integer) => Ok(to.unary(Unary::Truncate, value.handle)),
        (Kind::Logical, Kind::Logical) | (Kind::Integer | Kind::Real, Kind::Integer | Kind::Real) => Ok(value.handle),
        (Kind::Logical, _) => Err(Fault::new(place, "expected a number, but the expression is a logical value")),
        (_, Kind::Logical) => Err(Fault::new(place, "expected a logical value, but the expression is a number")),
    }
}

fn apply(to: &mut impl Emitter, name: &Name, arguments: &[Argument]) -> Parsed<Value> {
    if let Some(value) = to.apply(name, arguments)? {
        return Ok(value);
    }
    let mut values = Vec::with_capacity(arguments.len());
    for argument in arguments {
        match argument {
            Argument::Value(expression) => values.push(emit(to, expression)?),
            Argument::Section(..) => {
                return Err(Fault::new(name.place, format!("{} is not an array, and has no sections", name.text)));
            }
        }
    }
    intrinsic::emit(to, name, &values)
}

fn connective(to: &mut impl Emitter, operator: Operator, a: Value, b: Value) -> Parsed<Value> {
    let operation = match operator {
        Operator::And => Binary::And,
        Operator::Or => Binary::Or,
        Operator::Equivalent => Binary::Equal,
        _ => Binary::NotEqual,
    };
    Ok(Value { handle: to.binary(operation, a.handle, b.handle), kind: Kind::Logical })
}

fn arithmetic(to: &mut impl Emitter, operator: Operator, a: Value, b: Value) -> Parsed<Value> {
    let kind = if a.kind == Kind::Integer && b.kind == Kind::Integer { Kind::Integer } else { Kind::Real };
    let (a, b) = match operator {
        Operator::Greater | Operator::GreaterEqual => (b, a),
        _ => (a, b),
    };
    let operation = match operator {
        Operator::Add => Binary::Add,
        Operator::Subtract => Binary::Subtract,
        Operator::Multiply => Binary::Multiply,
        Operator::Divide if kind == Kind::Integer => Binary::IntegerDivide,
        Operator::Divide => Binary::Divide,
        Operator::Power => return Ok(power(to, a, b, kind)),
        Operator::Less | Operator::Greater => Binary::Less,
        Operator::LessEqual | Operator::GreaterEqual => Binary::LessEqual,
        Operator::Equal => Binary::Equal,
        _ => Binary::NotEqual,
    };
    let handle = to.binary(operation, a.handle, b.handle);
    let relation = matches!(operation, Binary::Less | Binary::LessEqual | Binary::Equal | Binary::NotEqual);
    Ok(Value { handle, kind: if relation { Kind::Logical } else { kind } })
}

fn power(to: &mut impl Emitter, a: Value, b: Value, kind: Kind) -> Value {
    if b.kind != Kind::Integer {
        return Value { handle: to.binary(Binary::Power, a.handle, b.handle), kind };
    }
    let handle = match to.known(b.handle).filter(|exponent| exponent.abs() <= f64::from(i32::MAX)) {
        Some(exponent) => to.unary(Unary::Power(exponent as i32), a.handle),
        None => to.binary(Binary::IntegerPower, a.handle, b.handle),
    };
    // 2 ** (-1) is 0 in integers
    Value { handle: if kind == Kind::Integer { to.unary(Unary::Truncate, handle) } else { handle }, kind }
}

fn number(value: Value, place: Place) -> Parsed<Value> {
    if value.kind != Kind::Logical {
        return Ok(value);
    }
    Err(Fault::new(place, "expected a number, but this is a logical value"))
}

fn logical(value: Value, place: Place) -> Parsed<Value> {
    if value.kind == Kind::Logical {
        return Ok(value);
    }
    Err(Fault::new(place, "expected a logical value, but this is a number"))
}

/// Where an expression stands: its first name or operator.
pub(super) fn place_of(expression: &Expression) -> Place {
    match expression {
        Expression::Name(name) | Expression::Apply(name, _) => name.place,
        Expression::Real(_, place) | Expression::Integer(_, place) | Expression::Logical(_, place) => *place,
        Expression::Binary(_, place, ..) => *place,
        Expression::Negative(inner) | Expression::Not(inner) => place_of(inner),
    }
}
