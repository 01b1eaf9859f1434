//! The raw lines of a file, and the parts that they fall into.

use crate::error::Complaint;

/// One raw line of a SIF file: tabs expanded, no newline, printable ASCII only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its number in the file, counted from 1.
    pub number: usize,
    /// Its text.
    pub text: String,
}

impl Line {
    /// True for a line that says nothing: blank, or a comment with `*` in column 1.
    pub(crate) fn is_silent(&self) -> bool {
        self.text.starts_with('*') || self.text.trim().is_empty()
    }

    /// The keyword of an indicator card, which begins in column 1 and ends before column 15.
    pub(crate) fn keyword(&self) -> Option<String> {
        if self.is_silent() || self.text.starts_with(' ') {
            return None;
        }
        let head = &self.text[..self.text.len().min(14)];
        Some(head.split('$').next().unwrap_or("").split_whitespace().collect::<Vec<_>>().join(" "))
    }
}

/// Splits a text into lines. Columns are what the format counts, so a tab becomes blanks up to the next multiple of 8, and a
/// character outside ASCII (they occur in comments only) becomes one `?`.
pub(crate) fn lines(text: &str) -> Vec<Line> {
    text.lines().enumerate().map(|(index, raw)| Line { number: index + 1, text: printable(raw) }).collect()
}

fn printable(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    for character in raw.chars() {
        match character {
            '\t' => (0..8 - text.len() % 8).for_each(|_| text.push(' ')),
            ' '..='~' => text.push(character),
            '\0'..='\u{1f}' | '\u{7f}' => text.push(' '),
            _ => text.push('?'),
        }
    }
    text
}

/// The parts of a file, each up to and including its ENDATA.
#[derive(Debug, Default)]
pub(crate) struct Parts<'a> {
    /// From the NAME card on: the structure and all data.
    pub data: &'a [Line],
    /// After the ELEMENTS card: the element functions.
    pub elements: &'a [Line],
    /// After the GROUPS card: the group functions.
    pub groups: &'a [Line],
    /// Fortran subprograms.
    pub rest: &'a [Line],
}

/// Finds the parts.
pub(crate) fn parts(lines: &[Line]) -> Result<Parts<'_>, Complaint> {
    let first = significant(lines).ok_or_else(|| Complaint::new(1, 1, "the file is empty; a NAME card was expected"))?;
    let mut parts = Parts::default();
    if lines[first].keyword().as_deref().and_then(|keyword| keyword.split(' ').next()) != Some("NAME") {
        return Err(Complaint::new(lines[first].number, 1, "a file begins with a NAME card, which was not found here"));
    }
    let (data, mut rest) = cut(&lines[first..])?;
    parts.data = data;
    while let Some(first) = significant(rest) {
        let keyword = rest[first].keyword().unwrap_or_default();
        let part = match keyword.split(' ').next() {
            Some("ELEMENTS") => &mut parts.elements,
            Some("GROUPS") => &mut parts.groups,
            _ => break,
        };
        if !part.is_empty() {
            return Err(Complaint::new(rest[first].number, 1, format!("the file has a second {keyword} part")));
        }
        let (lines, after) = cut(&rest[first..])?;
        *part = &lines[1..];
        rest = after;
    }
    parts.rest = rest;
    Ok(parts)
}

fn significant(lines: &[Line]) -> Option<usize> {
    lines.iter().position(|line| !line.is_silent())
}

/// Splits after the first ENDATA.
fn cut(lines: &[Line]) -> Result<(&[Line], &[Line]), Complaint> {
    match lines.iter().position(|line| line.keyword().as_deref() == Some("ENDATA")) {
        Some(end) => Ok(lines.split_at(end + 1)),
        None => {
            let (start, end) = (lines[0].number, lines[lines.len() - 1].number);
            Err(Complaint::new(end, 1, format!("the file ends, but the part that begins on line {start} has no ENDATA card")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tabs_and_foreign_characters_keep_their_columns() {
        let lines = lines("a\tb\u{e9}c\r\n\n*x");
        assert_eq!(lines[0].text, "a       b?c");
        assert_eq!(lines[2], Line { number: 3, text: "*x".to_string() });
        assert!(lines[1].is_silent() && lines[2].is_silent());
    }

    #[test]
    fn a_file_falls_into_parts() {
        let lines = lines("* c\nNAME  A\nENDATA\n\nELEMENTS A\n T\nENDATA\n* c\nGROUPS A\nENDATA\n      END\n");
        let parts = parts(&lines).unwrap();
        let numbers = |part: &[Line]| part.iter().map(|line| line.number).collect::<Vec<_>>();
        assert_eq!(numbers(parts.data), [2, 3]);
        assert_eq!(numbers(parts.elements), [6, 7]);
        assert_eq!(numbers(parts.groups), [10]);
        assert_eq!(numbers(parts.rest), [11]);
    }
}
