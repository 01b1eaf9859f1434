//! How well a model does, on all rows and group by group, for people.

use std::io::{self, Write};

use tangor_learn::{Evaluation, Quality};

use crate::number::readable;
use crate::plain;
use crate::style::{DIM, TITLE};

/// Groups of a column that are shown: the largest.
const SHOWN: usize = 12;
/// How wide a measure is.
const CELL: usize = 10;
/// How wide the number of rows is.
const COUNT: usize = 8;

/// How well probabilities and decisions agree with the labels: a line for each measure, and where decisions are made.
pub fn print_quality(out: &mut dyn Write, training: &Evaluation, test: Option<&Evaluation>) -> io::Result<()> {
    let column = |evaluation: &Evaluation| {
        let quality = &evaluation.overall;
        [
            ("mean loss", Some(evaluation.loss)),
            ("accuracy", Some(quality.accuracy)),
            ("AUC", quality.auc),
            ("recall", quality.recall),
            ("precision", quality.precision),
            ("false positive rate", quality.false_positive),
            ("calibration error", Some(quality.calibration_error)),
        ]
    };
    let title = format!("{:<20} {:>10}  {:>10}", "quality", "training", if test.is_some() { "test" } else { "" });
    writeln!(out, "  {TITLE}{}{TITLE:#}", title.trim_end())?;
    let line = |out: &mut dyn Write, name: &str, value: String, other: String| {
        writeln!(out, "{}", format!("  {name:<20} {value:>10}  {other:>10}").trim_end())
    };
    line(out, "rows", training.rows.to_string(), test.map(|test| test.rows.to_string()).unwrap_or_default())?;
    let told = |value: Option<f64>| value.map_or_else(|| "-".to_string(), |value| format!("{value:.4}"));
    let others = test.map(column);
    for (k, (name, value)) in column(training).into_iter().enumerate() {
        line(out, name, told(value), others.map(|others| told(others[k].1)).unwrap_or_default())?;
    }
    writeln!(out, "  {DIM}decisions are made at a probability of {}{DIM:#}", readable(training.threshold))
}

/// The measures of a group, in the order of their interest.
type Measure = (&'static str, fn(&Quality) -> Option<f64>);
const MEASURES: [Measure; 8] = [
    ("observed", |quality| Some(quality.observed)),
    ("predicted", |quality| Some(quality.predicted)),
    ("selected", |quality| Some(quality.selected)),
    ("recall", |quality| quality.recall),
    ("false pos", |quality| quality.false_positive),
    ("calib err", |quality| Some(quality.calibration_error)),
    ("precision", |quality| quality.precision),
    ("AUC", |quality| quality.auc),
];

/// The same for each group of each column; where not all measures fit beside each other, in several tables.
pub fn print_groups(out: &mut dyn Write, evaluation: &Evaluation, what: &str, width: usize) -> io::Result<()> {
    let mut columns: Vec<&str> = evaluation.groups.iter().map(|group| group.column.as_str()).collect();
    columns.sort_unstable();
    columns.dedup();
    for column in columns {
        let mut groups: Vec<(String, &Quality)> = evaluation
            .groups
            .iter()
            .filter(|group| group.column == column)
            .map(|group| (plain::name(&group.value).into_owned(), &group.quality))
            .collect();
        groups.sort_by_key(|(_, quality)| std::cmp::Reverse(quality.rows));
        let more = groups.len().saturating_sub(SHOWN);
        groups.truncate(SHOWN);
        let title = format!("{}, {what}", plain::name(column));
        print_column(out, &title, &groups, width)?;
        match more {
            0 => {}
            1 => writeln!(out, "  {DIM}and a smaller one; --json shows all{DIM:#}")?,
            _ => writeln!(out, "  {DIM}and {more} smaller ones; --json shows all{DIM:#}")?,
        }
    }
    Ok(())
}

fn print_column(out: &mut dyn Write, title: &str, groups: &[(String, &Quality)], width: usize) -> io::Result<()> {
    let names = groups.iter().map(|(name, _)| name.as_str()).chain([title]);
    // At least three measures fit beside the names.
    let most = width.saturating_sub(2 + COUNT + 3 * CELL).max(12);
    let first = names.map(|name| name.chars().count()).max().unwrap_or(0).min(most);
    let room = width.saturating_sub(2 + first + COUNT) / CELL;
    for measures in MEASURES.chunks(room.clamp(1, MEASURES.len())) {
        write!(out, "\n  {TITLE}{:<first$} {:>7}", shortened(title, first), "rows")?;
        measures.iter().try_for_each(|(title, _)| write!(out, " {title:>9}"))?;
        writeln!(out, "{TITLE:#}")?;
        for (name, quality) in groups {
            write!(out, "  {:<first$} {:>7}", shortened(name, first), quality.rows)?;
            for (_, measure) in measures {
                write!(out, " {:>9}", measure(quality).map_or_else(|| "-".to_string(), |value| format!("{value:.4}")))?;
            }
            writeln!(out)?;
        }
    }
    Ok(())
}

/// A name of at most so many letters. It is cut in the middle, and seen to be: names that begin alike often end apart.
pub fn shortened(name: &str, width: usize) -> String {
    let (length, start) = (name.chars().count(), width / 2);
    let end = width.saturating_sub(1 + start);
    match length <= width {
        true => name.to_string(),
        false => name.chars().take(start).chain(['…']).chain(name.chars().skip(length - end)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quality(rows: u64) -> Quality {
        let share = Some(0.25);
        Quality {
            rows,
            observed: 0.5,
            predicted: 0.25,
            selected: 0.125,
            accuracy: 1.0,
            recall: share,
            false_positive: None,
            precision: share,
            auc: share,
            calibration_error: 0.0,
        }
    }

    #[test]
    fn all_measures_are_shown_however_narrow_the_screen_is() {
        let (large, small) = (quality(7), quality(3));
        let groups = [("Amer-Indian-Eskimo, and others".to_string(), &large), ("b".to_string(), &small)];
        for (width, tables) in [(60, 3), (80, 2), (120, 1), (20, 8)] {
            let mut out = Vec::new();
            print_column(&mut out, "race, test", &groups, width).unwrap();
            let text = anstream::adapter::strip_str(std::str::from_utf8(&out).unwrap()).to_string();
            assert_eq!(text.matches("race, test").count(), tables, "{width}: {text}");
            assert!(MEASURES.iter().all(|(title, _)| text.contains(title)), "{width}: {text}");
            assert!(width < 40 || text.lines().all(|line| line.chars().count() <= width), "{width}: {text}");
        }
    }

    #[test]
    fn what_is_cut_off_is_seen_to_be() {
        assert_eq!([shortened("abcd", 4), shortened("abcde", 4), shortened("äbcdéfg", 5)], ["abcd", "ab…e", "äb…fg"]);
    }
}
