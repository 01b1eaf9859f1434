//! Tables that a reader can sort and filter.

use std::fmt::Write;

use super::trace_key;
use crate::figure::escaped;
use crate::record::Record;

/// A table.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// What it shows.
    pub caption: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its rows.
    pub rows: Vec<Vec<Cell>>,
    /// Whether a reader may filter its rows.
    pub filter: bool,
}

/// A column.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its heading.
    pub title: String,
    /// Whether it holds numbers.
    pub numeric: bool,
}

impl Column {
    /// A column of words.
    pub fn words(title: &str) -> Self {
        Column { title: title.to_string(), numeric: false }
    }

    /// A column of numbers.
    pub fn numbers(title: &str) -> Self {
        Column { title: title.to_string(), numeric: true }
    }
}

/// A cell: what is shown, what it is sorted by, how it looks, and the run that it opens.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    /// Shown.
    pub text: String,
    /// Sorted by this; by the text if absent.
    pub sort: Option<f64>,
    /// `good`, `bad`, or nothing.
    pub class: &'static str,
    /// The keys of the courses that it opens, one below the other.
    pub traces: Vec<String>,
}

impl Cell {
    /// Words.
    pub fn words(text: impl Into<String>) -> Self {
        Cell { text: text.into(), ..Cell::default() }
    }

    /// A count.
    pub fn count(value: u64) -> Self {
        Cell { text: value.to_string(), sort: Some(value as f64), ..Cell::default() }
    }

    /// A number with three digits; a dash if there is none.
    pub fn number(value: Option<f64>) -> Self {
        match value {
            Some(0.0) => Cell { text: "0".into(), sort: Some(0.0), ..Cell::default() },
            Some(value) => Cell { text: format!("{value:.2e}"), sort: Some(value), ..Cell::default() },
            None => Cell { text: "–".into(), sort: Some(f64::MAX), ..Cell::default() },
        }
    }

    /// Seconds.
    pub fn seconds(value: f64) -> Self {
        Cell { text: format!("{value:.3}"), sort: Some(value), ..Cell::default() }
    }

    /// A residual: good up to 1e-6, bad above 1e-3.
    pub fn residual(value: Option<f64>) -> Self {
        let class = match value {
            Some(value) if value <= 1e-6 => "good",
            Some(value) if value <= 1e-3 => "",
            _ => "bad",
        };
        Cell { class, ..Cell::number(value) }
    }

    /// The same, in this look.
    pub fn class(self, class: &'static str) -> Self {
        Cell { class, ..self }
    }

    /// The same, opening the courses of these runs, where they have one.
    pub fn opening<'a>(self, runs: impl IntoIterator<Item = &'a Record>) -> Self {
        let traced = runs.into_iter().filter(|record| !record.trace.is_empty());
        Cell { traces: traced.map(trace_key).collect(), ..self }
    }

    fn html(&self, numeric: bool) -> String {
        let class = [if numeric { "number" } else { "" }, self.class].join(" ");
        let sort = self.sort.map(|sort| format!(" data-sort=\"{sort:e}\"")).unwrap_or_default();
        let text = escaped(&self.text);
        let inside = match self.traces.as_slice() {
            [] => text,
            keys => format!("<a href=\"#trace={}\">{text}</a>", escaped(&keys.join("|"))),
        };
        format!("<td class=\"{}\"{sort}>{inside}</td>", class.trim())
    }
}

impl Table {
    /// For a terminal.
    pub fn text(&self) -> String {
        let length = |text: &str| text.chars().count();
        let widths = self.columns.iter().enumerate().map(|(k, column)| {
            let cells = self.rows.iter().filter_map(|row| row.get(k)).map(|cell| length(&cell.text));
            cells.max().unwrap_or(0).max(length(&column.title))
        });
        let widths: Vec<usize> = widths.collect();
        let line = |cells: Vec<&str>| {
            let aligned = cells.iter().zip(&widths).zip(&self.columns).map(|((text, &width), column)| match column.numeric {
                true => format!("{text:>width$}"),
                false => format!("{text:<width$}"),
            });
            format!("  {}\n", aligned.collect::<Vec<_>>().join("  "))
        };
        let header = line(self.columns.iter().map(|column| column.title.as_str()).collect());
        let rows = self.rows.iter().map(|row| line(row.iter().map(|cell| cell.text.as_str()).collect()));
        std::iter::once(header).chain(rows).collect()
    }

    pub(super) fn html(&self) -> String {
        let mut out = String::from("<div class=\"table\">");
        if self.filter {
            out.push_str(
                "<label>filter <input type=\"search\" placeholder=\"a name, a verdict, or -word to leave out\"></label>\
                 <span class=\"shown\"></span>",
            );
        }
        // Writing into a string cannot fail.
        let _ = writeln!(out, "<table><caption>{}</caption><thead><tr>", escaped(&self.caption));
        for column in &self.columns {
            let class = if column.numeric { "number" } else { "" };
            let _ = write!(out, "<th class=\"{class}\" tabindex=\"0\">{}</th>", escaped(&column.title));
        }
        out.push_str("</tr></thead>\n<tbody>\n");
        for row in &self.rows {
            out.push_str("<tr>");
            for (column, cell) in self.columns.iter().zip(row) {
                out.push_str(&cell.html(column.numeric));
            }
            out.push_str("</tr>\n");
        }
        out.push_str("</tbody></table></div>\n");
        out
    }
}
