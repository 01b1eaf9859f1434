//! The Fortran after the last ENDATA, cut into subprograms and statements.

use super::expression::{Expression, expression};
use super::text::{Fault, Name, Parsed, Place, Text};
use super::typing::Kind;
use crate::Line;

/// A statement with its label.
#[derive(Clone, Debug)]
pub(super) struct Labelled {
    pub label: Option<u32>,
    pub text: Text,
}

/// A function or a subroutine. Its statements are read only when something calls it.
#[derive(Clone, Debug)]
pub(super) struct Subprogram {
    pub name: Name,
    pub arguments: Vec<Name>,
    /// The variable whose value a function gives back, and its kind when the header says it; nothing for a subroutine.
    pub result: Option<(Name, Option<Kind>)>,
    pub statements: Vec<Labelled>,
}

/// Cuts the lines into subprograms.
pub(super) fn subprograms(lines: &[Line]) -> Parsed<Vec<Subprogram>> {
    let mut found = Vec::new();
    let mut current: Option<Subprogram> = None;
    for statement in statements(lines)? {
        match current.take() {
            None => current = Some(header(statement.text)?),
            Some(subprogram) if is_end(&statement.text) => found.push(subprogram),
            Some(mut subprogram) => {
                subprogram.statements.push(statement);
                current = Some(subprogram);
            }
        }
    }
    match current {
        Some(subprogram) => {
            let message = format!("subprogram {} has no END statement", subprogram.name.text);
            Err(Fault::new(subprogram.name.place, message))
        }
        None => Ok(found),
    }
}

// Fixed form: comments have a mark in column 1, labels stand in columns 1 to 5, a mark in column 6 continues a statement,
// which stands in columns 7 to 72.
fn statements(lines: &[Line]) -> Parsed<Vec<Labelled>> {
    let mut found: Vec<Labelled> = Vec::new();
    for line in lines {
        // An exclamation mark begins a comment, except in column 6.
        let code: String =
            line.text.chars().enumerate().take_while(|&(i, letter)| letter != '!' || i == 5).map(|(_, c)| c).collect();
        if code.starts_with(['C', 'c', '*']) || code.trim().is_empty() {
            continue;
        }
        let columns = |from: usize, to: usize| code.chars().skip(from).take(to - from).collect::<String>();
        let body = columns(6, 72);
        let place = Place { line: line.number, column: 7 };
        let continued = !matches!(columns(5, 6).as_str(), "" | " " | "0");
        match found.last_mut() {
            Some(statement) if continued => statement.text.push(&body, place),
            None if continued => {
                let message = "expected a statement before its continuation (a mark in column 6 continues a statement)";
                return Err(Fault::new(Place { line: line.number, column: 6 }, message));
            }
            _ => {
                let label = columns(0, 5).replace(' ', "");
                let number = if label.is_empty() { None } else { label.parse().ok() };
                if number.is_none() && !label.is_empty() {
                    let message = format!("expected a label in columns 1 to 5, but found `{label}`");
                    return Err(Fault::new(Place { line: line.number, column: 1 }, message));
                }
                let mut text = Text::at(place);
                text.push(&body, place);
                found.push(Labelled { label: number, text });
            }
        }
    }
    Ok(found.into_iter().flat_map(split).collect())
}

// `a = 1 ; b = 2` is two statements, of which the first has the label.
fn split(statement: Labelled) -> impl Iterator<Item = Labelled> {
    let label = statement.label;
    let parts = statement.text.split().into_iter().enumerate();
    parts.filter_map(move |(i, text)| {
        let label = label.filter(|_| i == 0);
        (label.is_some() || !text.is_empty()).then_some(Labelled { label, text })
    })
}

fn is_end(text: &Text) -> bool {
    let mut text = text.clone();
    text.eat_word("END") && (text.at_end() || text.eat_word("FUNCTION") || text.eat_word("SUBROUTINE"))
}

fn header(mut text: Text) -> Parsed<Subprogram> {
    for prefix in ["RECURSIVE", "PURE", "ELEMENTAL"] {
        text.eat_word(prefix);
    }
    let function = |text: &mut Text, kind| {
        let name = text.name()?;
        let arguments = dummies(text)?;
        let result = if text.eat_word("RESULT") {
            text.expect('(')?;
            let result = text.name()?;
            text.expect(')')?;
            result
        } else {
            name.clone()
        };
        text.expect_end()?;
        Ok(Subprogram { name, arguments, result: Some((result, kind)), statements: Vec::new() })
    };
    if text.eat_word("SUBROUTINE") {
        let name = text.name()?;
        let arguments = dummies(&mut text)?;
        text.expect_end()?;
        return Ok(Subprogram { name, arguments, result: None, statements: Vec::new() });
    }
    if text.eat_word("FUNCTION") {
        return function(&mut text, None);
    }
    let kind = kind_word(&mut text)?;
    if kind.is_some() && text.eat_word("FUNCTION") {
        return function(&mut text, kind);
    }
    Err(Fault::new(text.start(), "expected the FUNCTION or SUBROUTINE statement of an external function"))
}

fn dummies(text: &mut Text) -> Parsed<Vec<Name>> {
    let mut names = Vec::new();
    if text.eat('(') {
        while !text.eat(')') {
            if !names.is_empty() {
                text.expect(',')?;
            }
            names.push(text.name()?);
        }
    }
    Ok(names)
}

/// One dimension of an array: its lowest index, and its highest unless that is `*`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Dimension {
    pub low: Expression,
    pub high: Option<Expression>,
}

/// Reads a name with the dimensions that it is declared to have.
pub(super) fn declarator(text: &mut Text) -> Parsed<(Name, Vec<Dimension>)> {
    let name = text.name()?;
    Ok((name, dimensions(text)?))
}

/// Reads dimensions in parentheses, if there are any.
pub(super) fn dimensions(text: &mut Text) -> Parsed<Vec<Dimension>> {
    let mut found = Vec::new();
    if !text.eat('(') {
        return Ok(found);
    }
    loop {
        let bound = |text: &mut Text| if text.eat('*') { Ok(None) } else { expression(text).map(Some) };
        let first = bound(text)?;
        found.push(match first {
            Some(low) if text.eat(':') => Dimension { low, high: bound(text)? },
            high => Dimension { low: Expression::one(text.place()), high },
        });
        if text.eat(')') {
            return Ok(found);
        }
        text.expect(',')?;
    }
}

/// Reads the name of a kind and its length, if the text goes on with one: `REAL*8`, `REAL (KIND = wp)`, `DOUBLE PRECISION`.
pub(super) fn kind_word(text: &mut Text) -> Parsed<Option<Kind>> {
    const WORDS: [(&str, Kind); 4] =
        [("DOUBLEPRECISION", Kind::Real), ("REAL", Kind::Real), ("INTEGER", Kind::Integer), ("LOGICAL", Kind::Logical)];
    let Some(&(_, kind)) = WORDS.iter().find(|(word, _)| text.eat_word(word)) else { return Ok(None) };
    if text.eat('*') {
        text.take_while(|letter| letter.is_ascii_digit());
    } else if text.eat('(') {
        text.take_while(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '='));
        text.expect(')')?;
    }
    Ok(Some(kind))
}
