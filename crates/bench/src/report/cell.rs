//! Tables that a reader can sort and filter.

use std::fmt::Write;

use super::trace_key;
use crate::record::Record;
use tangor_figure::escaped;

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
    /// Neighbours with the same group stand under one heading; may be empty.
    pub group: String,
}

impl Column {
    /// A column of words.
    pub fn words(title: &str) -> Self {
        Column { title: title.to_string(), numeric: false, group: String::new() }
    }

    /// A column of numbers.
    pub fn numbers(title: &str) -> Self {
        Column { title: title.to_string(), numeric: true, group: String::new() }
    }

    /// The same, in a group.
    pub fn of(self, group: &str) -> Self {
        Column { group: group.to_string(), ..self }
    }

    /// The heading where there is only one line for it.
    pub(super) fn full_title(&self) -> String {
        if self.group.is_empty() { self.title.clone() } else { format!("{}: {}", self.group, self.title) }
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
        Cell { text: format!("{value:.4}"), sort: Some(value), ..Cell::default() }
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

    fn html(&self, column: &str) -> String {
        let class = [column, self.class].join(" ");
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
    /// The look of a column: of numbers, and with a line before it where a group begins.
    fn class_of(&self, k: usize) -> &'static str {
        let column = &self.columns[k];
        let first = !column.group.is_empty() && (k == 0 || self.columns[k - 1].group != column.group);
        match (column.numeric, first) {
            (true, true) => "number first",
            (true, false) => "number",
            (false, true) => "first",
            (false, false) => "",
        }
    }

    pub(super) fn html(&self) -> String {
        let mut out = String::from("<div class=\"table\">");
        if self.filter {
            out.push_str(
                "<div class=\"filters\"><label>filter <input type=\"search\" title=\"Shows the rows that have a cell which begins with \
                 each of these words; -word: which have none; &quot;in quotes&quot;: the whole cell\" placeholder=\"hs -&quot;not solved&quot;\">\
                 </label><span class=\"shown\"></span></div>",
            );
        }
        // Writing into a string cannot fail. The caption stands above the box, where scrolling does not move it.
        let _ = writeln!(
            out,
            "<div class=\"caption\">{0}</div><div class=\"scroll\"><table aria-label=\"{0}\"><thead>",
            escaped(&self.caption)
        );
        if self.columns.iter().any(|column| !column.group.is_empty()) {
            out.push_str("<tr class=\"groups\">");
            for group in self.columns.chunk_by(|a, b| a.group == b.group && !a.group.is_empty()) {
                let class = if group[0].group.is_empty() { "" } else { "group" };
                let _ = write!(out, "<th class=\"{class}\" colspan=\"{}\">{}</th>", group.len(), escaped(&group[0].group));
            }
            out.push_str("</tr>\n");
        }
        out.push_str("<tr>");
        for (k, column) in self.columns.iter().enumerate() {
            let _ = write!(out, "<th class=\"{}\" tabindex=\"0\">{}</th>", self.class_of(k), escaped(&column.title));
        }
        out.push_str("</tr></thead>\n<tbody>\n");
        for row in &self.rows {
            out.push_str("<tr>");
            for (k, cell) in row.iter().enumerate().take(self.columns.len()) {
                out.push_str(&cell.html(self.class_of(k)));
            }
            out.push_str("</tr>\n");
        }
        out.push_str("</tbody></table></div></div>\n");
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_span_their_columns_and_lead_their_titles() {
        let columns = vec![Column::words("name"), Column::numbers("a").of("both"), Column::numbers("b").of("both")];
        let row = vec![Cell::words("x"), Cell::count(1), Cell::seconds(0.5)];
        let table = Table { columns, rows: vec![row], ..Table::default() };
        let html = table.html();
        assert!(html.contains("<th class=\"\" colspan=\"1\"></th><th class=\"group\" colspan=\"2\">both</th>"), "{html}");
        assert!(
            html.contains("<th class=\"number first\" tabindex=\"0\">a</th><th class=\"number\" tabindex=\"0\">b</th>"),
            "{html}"
        );
        assert!(
            html.contains("<td class=\"\">x</td><td class=\"number first\" data-sort=\"1e0\">1</td><td class=\"number\""),
            "{html}"
        );
        assert_eq!(table.text(None), "  name  both: a  both: b\n  x           1   0.5000\n");
        let plain = Table { columns: vec![Column::words("name")], ..Table::default() };
        assert!(!plain.html().contains("colspan"));
    }
}
