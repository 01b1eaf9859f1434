//! One HTML file with everything in it: figures, sortable tables, and the course of every run. It needs no network.

mod cell;
mod text;

use std::fmt::Write;

pub use cell::{Cell, Column, Table};

use crate::record::{Record, TracePoint};
use tangor_figure::escaped;

const STYLE: &str = include_str!("report.css");
const SCRIPT: &str = include_str!("report.js");

/// A report.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Its title.
    pub title: String,
    /// How it was made: commands, machine, settings.
    pub origin: Vec<String>,
    /// Its sections.
    pub sections: Vec<Section>,
    /// The courses that cells refer to, by key.
    traces: Vec<(String, Vec<TracePoint>)>,
}

/// A part of a report.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// Its title.
    pub title: String,
    /// What it shows, in plain sentences.
    pub paragraphs: Vec<String>,
    /// Pictures: a file name without extension, and SVG.
    pub figures: Vec<(String, String)>,
    /// Tables.
    pub tables: Vec<Table>,
}

impl Report {
    /// An empty report.
    pub fn new(title: impl Into<String>) -> Self {
        Report { title: title.into(), ..Report::default() }
    }

    /// Keeps the courses of these runs, so that cells can show them.
    pub fn keep_traces(&mut self, records: &[Record]) {
        for record in records.iter().filter(|record| !record.trace.is_empty()) {
            let key = trace_key(record);
            if !self.traces.iter().any(|(known, _)| *known == key) {
                self.traces.push((key, record.trace.clone()));
            }
        }
    }

    /// The whole document.
    pub fn html(&self) -> String {
        let mut body = String::new();
        // Writing into a string cannot fail.
        let _ = self.write_body(&mut body);
        let traces: Vec<(&str, Vec<_>)> =
            self.traces.iter().map(|(key, trace)| (key.as_str(), trace.iter().map(shortened).collect())).collect();
        // A key may contain anything: inside of a script only "</" is dangerous.
        let traces = serde_json::to_string(&traces).unwrap_or_else(|_| "[]".into()).replace("</", "<\\/");
        format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
             content=\"width=device-width\"><title>{}</title>\n<style>{STYLE}</style></head>\n<body>\n{body}\
             <dialog id=\"trace\"><button id=\"close\" aria-label=\"close\">&times;</button><div id=\"picture\"></div></dialog>\n\
             <script>const traces = new Map({traces});\n{SCRIPT}</script>\n</body></html>\n",
            escaped(&self.title)
        )
    }

    fn write_body(&self, out: &mut String) -> std::fmt::Result {
        writeln!(out, "<header><h1>{}</h1>", escaped(&self.title))?;
        self.origin.iter().try_for_each(|line| writeln!(out, "<p class=\"origin\">{}</p>", escaped(line)))?;
        writeln!(out, "<nav>")?;
        for (k, section) in self.sections.iter().enumerate() {
            writeln!(out, "<a href=\"#section{k}\">{}</a>", escaped(&section.title))?;
        }
        writeln!(out, "</nav></header>")?;
        for (k, section) in self.sections.iter().enumerate() {
            writeln!(out, "<section id=\"section{k}\"><h2>{}</h2>", escaped(&section.title))?;
            section.paragraphs.iter().try_for_each(|text| writeln!(out, "<p>{}</p>", escaped(text)))?;
            section.figures.iter().try_for_each(|(_, svg)| writeln!(out, "<figure>{svg}</figure>"))?;
            section.tables.iter().try_for_each(|table| out.write_str(&table.html()))?;
            writeln!(out, "</section>")?;
        }
        Ok(())
    }
}

/// Two digits of the logarithm are all that a small picture shows.
fn shortened(point: &TracePoint) -> (u64, [Option<f32>; 3]) {
    let log = |value: Option<f32>| value.map(|value| (value.max(1e-17).log10() * 100.0).round() / 100.0);
    (point.0, [log(point.1), log(point.2), log(point.3)])
}

/// What a cell refers to a run by.
pub fn trace_key(record: &Record) -> String {
    match record.seed {
        0 => format!("{} · {}", record.problem, record.solver),
        seed => format!("{} · {} · seed {seed}", record.problem, record.solver),
    }
}

#[cfg(test)]
mod tests {
    use tangor_solver::Stop;

    use super::*;
    use crate::record::Ending;

    #[test]
    fn nothing_in_the_data_can_break_the_page() {
        let mut record = Record::failed("</script>&", "tangor", 0, "", Ending::Stopped(Stop::Tolerance), String::new());
        record.trace = vec![(0, Some(1e-3), Some(0.0), None)];
        let mut report = Report::new("a & b");
        report.keep_traces(&[record.clone(), record]);
        let html = report.html();
        assert!(html.contains("<title>a &amp; b</title>"));
        assert_eq!(html.matches("</script>").count(), 1);
        assert!(html.contains(r#"[["<\/script>& · tangor",[[0,[-3.0,-17.0,null]]]]]"#), "{html}");
        for outside in ["http://", "https://", "src="] {
            let allowed = html.replace("http://www.w3.org/2000/svg", "");
            assert!(!allowed.contains(outside), "the page asks the network for something: {outside}");
        }
    }
}
