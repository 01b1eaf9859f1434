//! Tables for a terminal.

use super::{Column, Table};

/// Between two columns, and before the first.
const GAP: usize = 2;

impl Table {
    /// Lines for a screen of this width; lines of any length where there is none. Where a row does not fit, headings take several
    /// lines; where that is not enough, each row becomes a list of its values.
    pub fn text(&self, screen: Option<usize>) -> String {
        let screen = screen.unwrap_or(usize::MAX);
        let titles: Vec<String> = self.columns.iter().map(Column::full_title).collect();
        let fits = |widths: &[usize]| widths.iter().map(|width| width + GAP).sum::<usize>() <= screen;
        let whole = self.widths(&titles, length);
        if fits(&whole) {
            return self.lines(&titles, &whole);
        }
        let narrow = self.widths(&titles, |title| title.split(' ').map(length).max().unwrap_or(0));
        if fits(&narrow) { self.lines(&titles, &narrow) } else { self.lists(&titles) }
    }

    fn widths(&self, titles: &[String], of_title: impl Fn(&str) -> usize) -> Vec<usize> {
        let of_cells = |k: usize| self.rows.iter().filter_map(|row| row.get(k)).map(|cell| length(&cell.text)).max();
        titles.iter().enumerate().map(|(k, title)| of_cells(k).unwrap_or(0).max(of_title(title))).collect()
    }

    fn lines(&self, titles: &[String], widths: &[usize]) -> String {
        let line = |cells: Vec<&str>| {
            let aligned = cells.iter().zip(widths).zip(&self.columns).map(|((text, &width), column)| match column.numeric {
                true => format!("{text:>width$}"),
                false => format!("{text:<width$}"),
            });
            let line = format!("  {}", aligned.collect::<Vec<_>>().join("  "));
            format!("{}\n", line.trim_end())
        };
        let headings: Vec<Vec<String>> = titles.iter().zip(widths).map(|(title, &width)| broken(title, width)).collect();
        let height = headings.iter().map(Vec::len).max().unwrap_or(0);
        // Headings stand on the rows: the shorter ones begin lower.
        let part = |heading: &[String], level: usize| {
            (level + heading.len()).checked_sub(height).and_then(|k| heading.get(k)).cloned().unwrap_or_default()
        };
        let mut out = String::new();
        for level in 0..height {
            let parts: Vec<String> = headings.iter().map(|heading| part(heading, level)).collect();
            out += &line(parts.iter().map(String::as_str).collect());
        }
        self.rows.iter().for_each(|row| out += &line(row.iter().map(|cell| cell.text.as_str()).collect()));
        out
    }

    fn lists(&self, titles: &[String]) -> String {
        let width = titles.iter().skip(1).map(|title| length(title)).max().unwrap_or(0);
        let mut out = String::new();
        for row in &self.rows {
            out += &format!("  {}\n", row.first().map_or("", |cell| &cell.text));
            for (title, cell) in titles.iter().zip(row).skip(1) {
                out += &format!("    {title:<width$}  {}\n", cell.text);
            }
        }
        out
    }
}

fn length(text: &str) -> usize {
    text.chars().count()
}

/// Words in lines of at most this width.
fn broken(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.len() - 1;
        match lines[last].is_empty() {
            true => lines[last] = word.to_string(),
            false if length(&lines[last]) + 1 + length(word) <= width => lines[last] += &format!(" {word}"),
            false => lines.push(word.to_string()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use crate::report::{Cell, Column, Table};

    #[test]
    fn a_narrow_screen_breaks_headings_and_then_rows() {
        let columns = vec![Column::words("name"), Column::numbers("at most 1"), Column::numbers("b").of("both")];
        let table = Table { columns, rows: vec![vec![Cell::words("x"), Cell::count(1), Cell::count(20)]], ..Table::default() };
        let whole = "  name  at most 1  both: b\n  x             1       20\n";
        assert_eq!([table.text(None), table.text(Some(26))], [whole, whole]);
        let broken = "          at\n        most  both:\n  name     1      b\n  x        1     20\n";
        assert_eq!(table.text(Some(19)), broken);
        assert_eq!(table.text(Some(18)), "  x\n    at most 1  1\n    both: b    20\n");
    }
}
