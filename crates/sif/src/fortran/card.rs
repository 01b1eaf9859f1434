//! One card of a function part, cut into its fields.

use super::expression::{Expression, reference};
use super::text::{Fault, Name, Parsed, Place, Text};
use super::unit::{Dimension, declarator};
use crate::Line;
use crate::card::parse_number;

/// A field of a card.
#[derive(Clone, Copy, Debug)]
pub(super) enum Field {
    Code,
    Second,
    Third,
    Fourth,
    Fifth,
    Sixth,
    /// Field 7: an expression, where other cards have their fields 4 to 6.
    Expression,
    /// From field 2 to the end, for an array whose dimensions need more room than a field has.
    Wide,
}

/// Their columns in fixed format, counted from 0: the first, and the one after the last.
const COLUMNS: [(usize, usize); 8] = [(1, 3), (4, 14), (14, 24), (24, 36), (39, 49), (49, 61), (24, 65), (4, 65)];

/// Which string of a card in free format is which field.
const STRINGS: [usize; 8] = [0, 1, 2, 3, 4, 5, 3, 1];

#[derive(Clone, Debug)]
pub(super) struct Card {
    line: usize,
    /// The text of each field and the column, counted from 1, where it begins.
    fields: [(String, usize); 8],
}

impl Card {
    /// A card in fixed format.
    pub fn fixed(line: &Line) -> Self {
        let mut letters: Vec<char> = line.text.chars().collect();
        // A dollar sign at the beginning of a field starts a comment.
        for (start, _) in [COLUMNS[Field::Third as usize], COLUMNS[Field::Fifth as usize]] {
            if letters.get(start) == Some(&'$') {
                letters.truncate(start);
            }
        }
        let text = |(from, to): (usize, usize)| letters.iter().skip(from).take(to - from).collect();
        Card { line: line.number, fields: COLUMNS.map(|columns| (text(columns), columns.0 + 1)) }
    }

    /// The cards of a line in free format: strings separated by blanks; `_` stands for an empty string, `;` ends a card, `$` begins
    /// a comment.
    pub fn free(line: &Line) -> Vec<Self> {
        let mut cards = Vec::new();
        let mut strings: Vec<(String, usize)> = Vec::new();
        let mut open = false;
        for (column, letter) in (1..).zip(line.text.chars().chain([';'])) {
            match letter {
                ';' | '$' => {
                    open = false;
                    if !strings.is_empty() {
                        let end = (String::new(), column);
                        let field = |k: usize| strings.get(k).cloned().unwrap_or_else(|| end.clone());
                        cards.push(Card { line: line.number, fields: STRINGS.map(field) });
                        strings.clear();
                    }
                    if letter == '$' {
                        break;
                    }
                }
                ' ' => open = false,
                '_' => {
                    open = false;
                    strings.push((String::new(), column));
                }
                letter => {
                    if !std::mem::replace(&mut open, true) {
                        strings.push((String::new(), column));
                    }
                    strings.iter_mut().last().into_iter().for_each(|(string, _)| string.push(letter));
                }
            }
        }
        cards
    }

    pub fn field(&self, field: Field) -> &str {
        self.fields[field as usize].0.trim()
    }

    pub fn place(&self, field: Field) -> Place {
        Place { line: self.line, column: self.fields[field as usize].1 }
    }

    fn text(&self, field: Field) -> Text {
        let mut text = Text::at(self.place(field));
        text.push(&self.fields[field as usize].0, self.place(field));
        text
    }

    /// Adds the expression of the card to a text. A dollar sign begins a comment: Fortran has no use for it.
    pub fn push_expression(&self, text: &mut Text) {
        let letters = self.fields[Field::Expression as usize].0.split('$').next().unwrap_or_default();
        text.push(letters, self.place(Field::Expression));
    }

    pub fn name(&self, field: Field) -> Parsed<Name> {
        let mut text = self.text(field);
        let name = text.name()?;
        text.expect_end()?;
        Ok(name)
    }

    pub fn optional_name(&self, field: Field) -> Parsed<Option<Name>> {
        if self.field(field).is_empty() { Ok(None) } else { self.name(field).map(Some) }
    }

    /// A variable or an element of an array that is assigned to.
    pub fn target(&self, field: Field) -> Parsed<Expression> {
        let mut text = self.text(field);
        let target = reference(&mut text)?;
        text.expect_end()?;
        Ok(target)
    }

    /// The name and the dimensions of a temporary.
    pub fn declared(&self) -> Parsed<(Name, Vec<Dimension>)> {
        let unfinished = self.field(Field::Second).contains('(') && !self.field(Field::Second).contains(')');
        declarator(&mut self.text(if unfinished { Field::Wide } else { Field::Second }))
    }

    /// A number; a blank field is zero, as Fortran reads it.
    pub fn number(&self, field: Field) -> Parsed<f64> {
        match self.field(field) {
            "" => Ok(0.0),
            text => parse_number(text)
                .ok_or_else(|| Fault::new(self.place(field), format!("expected a number, but found `{text}`"))),
        }
    }
}
