//! Cards: a line of data cut into its six fields, in fixed or in free format.

use crate::error::Complaint;
use crate::names::{Lexicon, Name};
use crate::source::Line;

/// A number field as it is written.
#[derive(Clone, Debug)]
pub(crate) struct Number {
    pub text: Box<str>,
    pub column: usize,
    /// Its value; none when the field is blank or holds something else.
    value: Option<f64>,
}

impl Number {
    fn new(text: &str, column: usize) -> Self {
        let text = text.split('$').next().unwrap_or("").trim();
        Number { text: text.into(), column, value: parse_number(text) }
    }

    pub fn is_blank(&self) -> bool {
        self.text.is_empty()
    }
}

/// Reads a number as Fortran does: blanks inside a field do not count, `D` is an exponent too, and a sign alone also begins one.
pub(crate) fn parse_number(text: &str) -> Option<f64> {
    let mut compact = String::with_capacity(text.len() + 1);
    for character in text.chars().filter(|character| *character != ' ') {
        match character {
            'd' | 'D' | 'e' => compact.push('E'),
            '+' | '-' if compact.ends_with(|before: char| before == '.' || before.is_ascii_digit()) => {
                compact.extend(['E', character]);
            }
            other => compact.push(other),
        }
    }
    // `inf` and `nan` are numbers for the standard library and not for the format.
    if !compact.bytes().all(|b| matches!(b, b'0'..=b'9' | b'+' | b'-' | b'.' | b'E')) {
        return None;
    }
    compact.parse::<f64>().ok().filter(|value| value.is_finite())
}

/// One data card.
#[derive(Clone, Debug)]
pub(crate) struct Card {
    pub line: usize,
    /// Field 1, without blanks.
    pub code: Box<str>,
    pub field2: Name,
    pub field3: Name,
    pub field4: Number,
    pub field5: Name,
    pub field6: Number,
}

impl Card {
    pub fn complain(&self, column: usize, message: impl Into<String>) -> Complaint {
        Complaint::new(self.line, column, message)
    }

    /// The value of a number field; a blank one is zero, as Fortran reads it.
    pub fn number(&self, field: &Number) -> Result<f64, Complaint> {
        match field.value {
            Some(value) => Ok(value),
            None if field.is_blank() => Ok(0.0),
            None => Err(self.complain(field.column, format!("a number was expected, not '{}'", field.text))),
        }
    }
}

/// A line of the data part after reading.
#[derive(Debug)]
pub(crate) enum Entry {
    /// An indicator card: its keyword and line.
    Section(String, usize),
    /// A data card.
    Card(Box<Card>),
}

/// Reads the lines of the data part, without its NAME and ENDATA cards.
pub(crate) fn entries(lines: &[Line], lexicon: &mut Lexicon) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut free = false;
    for line in lines.iter().filter(|line| !line.is_silent()) {
        match line.keyword().as_deref() {
            Some("FREE FORMAT" | "FREE FORM") => free = true,
            Some("FIXED FORMAT" | "FIXED FORM") => free = false,
            _ if free => free_format(line, lexicon, &mut entries),
            Some(keyword) => entries.push(Entry::Section(keyword.to_string(), line.number)),
            None => entries.push(Entry::Card(Box::new(fixed_format(line, lexicon)))),
        }
    }
    entries
}

fn fixed_format(line: &Line, lexicon: &mut Lexicon) -> Card {
    let mut text = line.text.as_str();
    // A `$` at the beginning of a field starts a comment.
    for start in [4, 14, 39] {
        if text.as_bytes().get(start) == Some(&b'$') {
            text = &text[..start];
        }
    }
    let field = |start: usize, end: usize| text.get(start - 1..end.min(text.len())).unwrap_or("");
    let mut name = |start: usize, end: usize| Name::new(field(start, end).trim_end(), start, lexicon);
    Card {
        line: line.number,
        code: field(2, 3).trim().into(),
        field2: name(5, 14),
        field3: name(15, 24),
        field5: name(40, 49),
        field4: Number::new(field(25, 36), 25),
        field6: Number::new(field(50, 61), 50),
    }
}

const SECTIONS: [&str; 21] = [
    "GROUPS",
    "ROWS",
    "CONSTRAINTS",
    "VARIABLES",
    "COLUMNS",
    "CONSTANTS",
    "RHS",
    "RHS'",
    "RANGES",
    "BOUNDS",
    "START POINT",
    "QUADRATIC",
    "HESSIAN",
    "QUADS",
    "QUADOBJ",
    "QSECTION",
    "QMATRIX",
    "ELEMENT TYPE",
    "ELEMENT USES",
    "GROUP TYPE",
    "GROUP USES",
];

/// Free format: strings separated by blanks; `_` stands for an empty string, `;` ends a card, `$` begins a comment.
fn free_format(line: &Line, lexicon: &mut Lexicon, entries: &mut Vec<Entry>) {
    let text = line.text.split('$').next().unwrap_or("");
    let mut start = 0;
    for segment in text.split(';') {
        let words = segment.split_whitespace().collect::<Vec<_>>().join(" ");
        if words == "OBJECT BOUND" || words == "ENDATA" || SECTIONS.contains(&words.as_str()) {
            entries.push(Entry::Section(words, line.number));
        } else if !words.is_empty() {
            entries.push(Entry::Card(Box::new(free_card(line.number, start, segment, lexicon))));
        }
        start += segment.len() + 1;
    }
}

fn free_card(line: usize, start: usize, segment: &str, lexicon: &mut Lexicon) -> Card {
    let mut strings: Vec<(usize, &str)> = Vec::new();
    let mut word: Option<usize> = None;
    for (at, character) in segment.char_indices().chain([(segment.len(), ' ')]) {
        if matches!(character, ' ' | '_') {
            if let Some(begin) = word.take() {
                strings.push((start + begin + 1, &segment[begin..at]));
            }
            if character == '_' {
                strings.push((start + at + 1, ""));
            }
        } else if word.is_none() {
            word = Some(at);
        }
    }
    let field = |k: usize, width: usize| {
        let (column, text) = strings.get(k).copied().unwrap_or((start + segment.len() + 1, ""));
        (&text[..text.len().min(width)], column)
    };
    let number = |k: usize| Number::new(field(k, 12).0, field(k, 12).1);
    let mut name = |k: usize| Name::new(field(k, 10).0, field(k, 10).1, lexicon);
    let (field2, field3, field5) = (name(1), name(2), name(4));
    Card { line, code: field(0, 2).0.into(), field2, field3, field4: number(3), field5, field6: number(5) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::lines;

    fn cards(text: &str) -> Vec<[String; 6]> {
        let mut lexicon = Lexicon::default();
        let entries = entries(&lines(text), &mut lexicon);
        let texts = entries.into_iter().map(|entry| match entry {
            Entry::Section(keyword, _) => [&keyword, "", "", "", "", ""].map(String::from),
            Entry::Card(c) => {
                [c.code, c.field2.text, c.field3.text, c.field4.text, c.field5.text, c.field6.text].map(String::from)
            }
        });
        texts.collect()
    }

    #[test]
    fn numbers_as_fortran_reads_them() {
        let cases = [
            ("1.0D+0", Some(1.0)),
            ("- 2.5", Some(-2.5)),
            (".5e1", Some(5.0)),
            ("1.", Some(1.0)),
            ("7", Some(7.0)),
            ("1.5-2", Some(0.015)),
        ];
        let bad = [("inf", None), ("nan", None), ("1e999", None), ("x", None), ("", None), ("1-2-3", None)];
        for (text, value) in cases.into_iter().chain(bad) {
            assert_eq!(parse_number(text), value, "{text}");
        }
    }

    #[test]
    fn fixed_columns_are_cut_and_comments_dropped() {
        let text =
            " XG C(I)      X(I)      1.2345678901234Y         2.0  $ no\n IE N                   10             $-PARAMETER";
        assert_eq!(cards(text)[0], ["XG", "C(I)", "X(I)", "1.2345678901", "Y", "2.0"].map(String::from));
        assert_eq!(cards(text)[1], ["IE", "N", "", "10", "", ""].map(String::from));
    }

    #[test]
    fn free_format_means_the_same() {
        let text = "FREE FORMAT\nVARIABLES;_X1 GROUP1 1.0;_X2\n V G2E1 V1_X2 $ comment\nFIXED FORMAT\n E  A";
        let expected = [
            ["VARIABLES", "", "", "", "", ""],
            ["", "X1", "GROUP1", "1.0", "", ""],
            ["", "X2", "", "", "", ""],
            ["V", "G2E1", "V1", "", "X2", ""],
            ["E", "A", "", "", "", ""],
        ];
        assert_eq!(cards(text), expected.map(|card| card.map(String::from)));
    }
}
