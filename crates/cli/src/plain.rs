//! Text from files and programs of others, made fit for a screen: what would steer a terminal is shown, not obeyed.

use std::borrow::Cow;

use serde::Serialize;
use tangor_problem::Meta;
use tangor_solver::Report;

/// A name on one line: control characters and those that turn the direction of writing or cannot be seen are shown as `\u{1b}`.
pub fn name(text: &str) -> Cow<'_, str> {
    replaced(text, |letter| steers(letter) || matches!(letter, '\n' | '\t'))
}

/// A message of several lines.
pub fn lines(text: &str) -> Cow<'_, str> {
    replaced(text, steers)
}

/// A value as JSON on several lines. What would steer a terminal can only be within a string, where JSON has another way to write it.
pub fn json(value: &impl Serialize) -> serde_json::Result<String> {
    serde_json::to_string_pretty(value).map(escaped)
}

/// The same on one line.
pub fn json_line(value: &impl Serialize) -> serde_json::Result<String> {
    serde_json::to_string(value).map(escaped)
}

fn escaped(text: String) -> String {
    if !text.contains(steers) {
        return text;
    }
    let mut plain = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        match steers(letter) {
            true => letter.encode_utf16(&mut [0; 2]).iter().for_each(|unit| plain.push_str(&format!("\\u{unit:04x}"))),
            false => plain.push(letter),
        }
    }
    plain
}

fn steers(letter: char) -> bool {
    let turns = matches!(letter, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    // Two names must not look the same.
    let hides = matches!(letter, '\u{ad}' | '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{feff}');
    turns || hides || (letter.is_control() && !matches!(letter, '\n' | '\t'))
}

fn replaced(text: &str, bad: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&bad) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        if bad(letter) { plain.extend(letter.escape_default()) } else { plain.push(letter) }
    }
    Cow::Owned(plain)
}

fn make_plain(text: &mut String) {
    if let Cow::Owned(plain) = name(text) {
        *text = plain;
    }
}

/// The data of a problem with names that can be printed.
pub fn meta(meta: &Meta) -> Meta {
    let mut meta = meta.clone();
    make_plain(&mut meta.name);
    meta.variable_names.iter_mut().chain(&mut meta.row_names).for_each(make_plain);
    meta
}

/// A report with names and messages that can be printed.
pub fn report(report: &Report) -> Report {
    let mut report = report.clone();
    make_plain(&mut report.problem);
    report.worst_rows.iter_mut().for_each(|row| make_plain(&mut row.name));
    if let Some(failure) = &mut report.failure {
        failure.place.iter_mut().for_each(make_plain);
        failure.message = lines(&failure.message).into_owned();
    }
    report
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_is_shown() {
        assert_eq!(name("x[0] = äß漢"), "x[0] = äß漢");
        assert_eq!(name("a\x1b[2Jb\r\n\u{7f}\u{9b}"), "a\\u{1b}[2Jb\\r\\n\\u{7f}\\u{9b}");
        assert_eq!(name("c\u{202e}b\u{200b}"), "c\\u{202e}b\\u{200b}");
        assert_eq!(lines("one\n  two\x07"), "one\n  two\\u{7}");
    }

    #[test]
    fn all_names_of_a_problem_are_made_plain() {
        let bad = "a\x1bb".to_string();
        let mut problem = Meta::new(&bad, vec![0.0]).equalities(&[1.0]);
        (problem.variable_names, problem.row_names) = (vec![bad.clone()], vec![bad]);
        let plain = meta(&problem);
        assert_eq!([plain.name.clone(), plain.variable_name(0), plain.row_name(0)], ["a\\u{1b}b"; 3].map(String::from));
    }

    #[test]
    fn json_says_the_same_without_steering() {
        let text = "a\u{9b}31m \u{202e}b \u{1b}[2J \u{feff}\u{1f600}";
        for written in [json(&text).expect("text"), json_line(&[text]).expect("texts")] {
            assert!(!written.contains(steers), "{written:?}");
            assert!(written.contains("\\u009b31m \\u202eb"), "{written}");
            let read: serde_json::Value = serde_json::from_str(&written).expect("JSON");
            assert_eq!(read.as_str().or(read[0].as_str()), Some(text));
        }
    }
}
