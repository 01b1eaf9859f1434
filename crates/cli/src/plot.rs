//! A picture of a run: residuals, merit parameter and stepsize against iterations, on logarithmic scales.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use tangor_bench::Course;
use tangor_figure::{Line, LineFigure, LinePanel};
use tangor_solver::{Report, Row};

use crate::error::Error;
use crate::{duration, files, number, plain};

/// More points than this nobody sees in a picture.
const MOST_POINTS: usize = 4096;

/// Collects a run and draws it at its end.
pub struct Plot {
    path: PathBuf,
    file: File,
    rows: Course<Row>,
}

impl Plot {
    /// Makes sure that the picture can be written.
    pub fn create(path: &Path) -> Result<Self, Error> {
        if files::extension(path) != "svg" {
            return Err(Error::Extension { path: path.to_owned(), expected: ".svg" });
        }
        Ok(Plot { path: path.to_owned(), file: files::open(path)?, rows: Course::new(MOST_POINTS) })
    }

    /// Remembers a row.
    pub fn row(&mut self, row: &Row) {
        self.rows.push(*row);
    }

    /// Draws the picture.
    pub fn finish(mut self, report: &Report) -> Result<(), Error> {
        let picture = figure(&self.rows.points(), report).draw();
        let written = self.file.set_len(0).and_then(|()| self.file.write_all(picture.as_bytes()));
        written.map_err(|cause| Error::Unwritable { path: self.path, cause })
    }
}

fn figure(rows: &[Row], report: &Report) -> LineFigure {
    let line = |label: &str, color: usize, value: fn(&Row) -> f64| Line {
        label: label.into(),
        color,
        values: rows.iter().map(value).collect(),
    };
    let panel = |title: &str, height: f64, lines: Vec<Line>, tolerances: Vec<f64>| LinePanel {
        title: title.into(),
        height,
        lines,
        tolerances,
    };
    let residuals = vec![
        line("stationarity", 0, |row| row.stationarity),
        line("feasibility", 1, |row| row.feasibility),
        line("complementarity", 2, |row| row.complementarity),
    ];
    let tolerance = &report.settings.tolerance;
    let tolerances = vec![tolerance.stationarity, tolerance.feasibility, tolerance.complementarity];
    let (iterations, time) = (number::counted(report.iterations, "iteration"), duration::readable(report.seconds));
    LineFigure {
        title: format!("{}: {}", plain::name(&report.problem), report.point),
        subtitle: format!("{} after {iterations} and {time}; objective {}", report.stop, number::readable(report.objective)),
        axis: "iteration".into(),
        iterations: rows.iter().map(|row| row.iteration).collect(),
        panels: vec![
            panel("Residuals", 330.0, residuals, tolerances),
            panel("Merit parameter", 130.0, vec![line("rho", 4, |row| row.rho)], Vec::new()),
            panel("Stepsize", 130.0, vec![line("eta", 3, |row| row.eta)], Vec::new()),
        ],
    }
}
