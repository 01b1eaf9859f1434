//! Expressions, read with Fortran's precedence:
//! `.EQV. < .OR. < .AND. < .NOT. < relations < + - < * / < **`, where `**` binds to the right and a sign is as weak as `+`.

use super::text::{Name, Parsed, Place, Text};

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expression {
    Real(f64, Place),
    Integer(f64, Place),
    Logical(bool, Place),
    /// A variable, or a whole array.
    Name(Name),
    /// An element or a section of an array, or a function of arguments.
    Apply(Name, Vec<Argument>),
    Negative(Box<Expression>),
    Not(Box<Expression>),
    Binary(Operator, Place, Box<Expression>, Box<Expression>),
}

impl Expression {
    /// The number 1, where the text leaves it out.
    pub fn one(place: Place) -> Self {
        Expression::Integer(1.0, place)
    }
}

/// What stands between the parentheses after a name.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Argument {
    Value(Expression),
    /// `from : to`, either of which may be left out.
    Section(Option<Expression>, Option<Expression>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Power,
    Less,
    LessEqual,
    Equal,
    NotEqual,
    Greater,
    GreaterEqual,
    And,
    Or,
    Equivalent,
    NotEquivalent,
}

use Operator::*;

const EQUIVALENCES: &[(&str, Operator)] = &[(".EQV.", Equivalent), (".NEQV.", NotEquivalent)];
const OR: &[(&str, Operator)] = &[(".OR.", Or)];
const AND: &[(&str, Operator)] = &[(".AND.", And)];
const RELATIONS: &[(&str, Operator)] = &[
    (".LT.", Less),
    (".LE.", LessEqual),
    (".EQ.", Equal),
    (".NE.", NotEqual),
    (".GT.", Greater),
    (".GE.", GreaterEqual),
    ("<=", LessEqual),
    ("<", Less),
    ("==", Equal),
    ("/=", NotEqual),
    (">=", GreaterEqual),
    (">", Greater),
];
const SUMS: &[(&str, Operator)] = &[("+", Add), ("-", Subtract)];

/// Reads one expression; what follows it stays in the text.
pub(super) fn expression(text: &mut Text) -> Parsed<Expression> {
    chain(text, EQUIVALENCES, |text| chain(text, OR, |text| chain(text, AND, negation)))
}

/// Reads an expression that must end the text.
pub(super) fn whole_expression(mut text: Text) -> Parsed<Expression> {
    let value = expression(&mut text)?;
    text.expect_end()?;
    Ok(value)
}

// operand (operator operand)*, from left to right
fn chain(
    text: &mut Text,
    operators: &[(&str, Operator)],
    operand: impl Fn(&mut Text) -> Parsed<Expression>,
) -> Parsed<Expression> {
    let mut left = operand(text)?;
    loop {
        let place = text.place();
        let Some(&(_, operator)) = operators.iter().find(|(word, _)| text.eat_word(word)) else { return Ok(left) };
        left = binary(text, operator, place, left, &operand)?;
    }
}

fn binary(
    text: &mut Text,
    operator: Operator,
    place: Place,
    left: Expression,
    operand: impl Fn(&mut Text) -> Parsed<Expression>,
) -> Parsed<Expression> {
    text.count_operation()?;
    let right = operand(text)?;
    Ok(Expression::Binary(operator, place, Box::new(left), Box::new(right)))
}

fn negation(text: &mut Text) -> Parsed<Expression> {
    if text.eat_word(".NOT.") {
        text.count_operation()?;
        return Ok(Expression::Not(Box::new(text.nested(negation)?)));
    }
    relation(text)
}

fn relation(text: &mut Text) -> Parsed<Expression> {
    let left = sum(text)?;
    let place = text.place();
    match RELATIONS.iter().find(|(word, _)| text.eat_word(word)) {
        Some(&(_, operator)) => binary(text, operator, place, left, sum),
        None => Ok(left),
    }
}

fn sum(text: &mut Text) -> Parsed<Expression> {
    chain(text, SUMS, signed)
}

// A second sign, as in `a + -b` or `a * -b`, is not standard, but compilers take it and so files have it.
fn signed(text: &mut Text) -> Parsed<Expression> {
    if text.eat('-') {
        text.count_operation()?;
        return Ok(Expression::Negative(Box::new(text.nested(signed)?)));
    }
    if text.eat('+') {
        return text.nested(signed);
    }
    product(text)
}

fn product(text: &mut Text) -> Parsed<Expression> {
    let mut left = power(text)?;
    loop {
        let place = text.place();
        let slash = text.peek() == Some('/') && !matches!(text.ahead(1), Some('=' | '/'));
        let operator = if text.eat('*') {
            Multiply
        } else if slash && text.eat('/') {
            Divide
        } else {
            return Ok(left);
        };
        left = binary(text, operator, place, left, factor)?;
    }
}

fn factor(text: &mut Text) -> Parsed<Expression> {
    if matches!(text.peek(), Some('-' | '+')) { signed_factor(text) } else { power(text) }
}

fn signed_factor(text: &mut Text) -> Parsed<Expression> {
    let negative = text.eat('-');
    let _ = negative || text.eat('+');
    text.count_operation()?;
    let value = text.nested(factor)?;
    Ok(if negative { Expression::Negative(Box::new(value)) } else { value })
}

fn power(text: &mut Text) -> Parsed<Expression> {
    let base = primary(text)?;
    let place = text.place();
    if text.eat_word("**") { binary(text, Power, place, base, |text| text.nested(factor)) } else { Ok(base) }
}

/// A number, a reference, or an expression in parentheses.
pub(super) fn primary(text: &mut Text) -> Parsed<Expression> {
    let place = text.place();
    match text.peek() {
        Some('(') => {
            text.eat('(');
            let inner = text.nested(expression)?;
            text.expect(')')?;
            Ok(inner)
        }
        Some('.') if text.eat_word(".TRUE.") => Ok(Expression::Logical(true, place)),
        Some('.') if text.eat_word(".FALSE.") => Ok(Expression::Logical(false, place)),
        Some(letter) if letter.is_ascii_digit() || letter == '.' => number(text),
        Some(letter) if letter.is_ascii_alphabetic() => reference(text),
        _ => Err(text.expected("an expression")),
    }
}

/// A name, alone or with what stands in parentheses after it.
pub(super) fn reference(text: &mut Text) -> Parsed<Expression> {
    let name = text.name()?;
    if !text.eat('(') {
        return Ok(Expression::Name(name));
    }
    let mut arguments = Vec::new();
    while !text.eat(')') {
        if !arguments.is_empty() {
            text.expect(',')?;
        }
        text.count_operation()?;
        arguments.push(text.nested(argument)?);
    }
    Ok(Expression::Apply(name, arguments))
}

fn argument(text: &mut Text) -> Parsed<Argument> {
    let bound = |text: &mut Text| match text.peek() {
        Some(',' | ')' | ':') => Ok(None),
        _ => expression(text).map(Some),
    };
    let first = bound(text)?;
    if text.eat(':') {
        return Ok(Argument::Section(first, bound(text)?));
    }
    first.map(Argument::Value).ok_or_else(|| text.expected("an expression"))
}

// Every real literal is a double: `0.1` and `0.1D0` are the same number.
fn number(text: &mut Text) -> Parsed<Expression> {
    let (mark, place) = (text.mark(), text.place());
    let digit = |letter: char| letter.is_ascii_digit();
    let mut digits = text.take_while(digit);
    let mut real = false;
    if text.peek() == Some('.') && !operator_follows(text) {
        text.eat('.');
        real = true;
        digits = format!("{digits}.{}", text.take_while(digit));
    }
    if let Some(exponent) = exponent(text) {
        real = true;
        digits = format!("{digits}e{exponent}");
    }
    if text.eat('_') {
        text.take_while(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    }
    match digits.parse::<f64>() {
        Ok(value) if real => Ok(Expression::Real(value, place)),
        Ok(value) if value < 9.0e15 => Ok(Expression::Integer(value, place)),
        wrong => {
            text.rewind(mark);
            Err(text.expected(if wrong.is_ok() { "an integer below 9e15" } else { "a number" }))
        }
    }
}

// In `1.EQ.N` the point belongs to the operator; in `1.E5` it belongs to the number.
fn operator_follows(text: &mut Text) -> bool {
    let mark = text.mark();
    let words = [EQUIVALENCES, OR, AND, RELATIONS].concat();
    let found = words.iter().any(|(word, _)| word.starts_with('.') && text.eat_word(word));
    text.rewind(mark);
    found
}

fn exponent(text: &mut Text) -> Option<String> {
    let mark = text.mark();
    if text.eat('E') || text.eat('D') || text.eat('Q') {
        let sign = if text.eat('-') { "-" } else { "" };
        if sign.is_empty() {
            text.eat('+');
        }
        let digits = text.take_while(|letter| letter.is_ascii_digit());
        if !digits.is_empty() {
            return Some(format!("{sign}{digits}"));
        }
    }
    text.rewind(mark);
    None
}
