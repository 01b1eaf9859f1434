//! A picture of a run: residuals, objective, merit parameter and stepsize against iterations.

use std::path::{Path, PathBuf};

use tangor_bench::Course;
use tangor_figure::{Dot, Line, LineFigure, LinePanel, Scale};
use tangor_problem::count_of;
use tangor_solver::{Report, Row, TrueResiduals};

use crate::error::Error;
use crate::{duration, files, headline, number, plain, verdict};

/// More points than this nobody sees in a picture.
const MOST_POINTS: usize = 4096;

/// Collects a run and draws it at its end.
pub struct Plot {
    path: PathBuf,
    rows: Course<Row>,
}

impl Plot {
    /// Makes sure that the picture can be written.
    pub fn create(path: &Path) -> Result<Self, Error> {
        if files::extension(path) != "svg" {
            return Err(Error::Extension { path: path.to_owned(), expected: ".svg" });
        }
        files::check(path)?;
        Ok(Plot { path: path.to_owned(), rows: Course::new(MOST_POINTS) })
    }

    /// Remembers a row.
    pub fn row(&mut self, row: &Row) {
        self.rows.push(*row);
    }

    /// Draws the picture, and gives the reason if it could not be written.
    pub fn finish(self, report: &Report) -> Option<(PathBuf, Error)> {
        files::write(&self.path, figure(&self.rows.points(), report).draw().as_bytes()).err().map(|error| (self.path, error))
    }
}

fn figure(rows: &[Row], report: &Report) -> LineFigure {
    let noisy = report.samples.total() > 0;
    let line = |label: &str, color: usize, value: fn(&Row) -> f64| Line {
        label: label.into(),
        color,
        values: rows.iter().map(value).collect(),
    };
    let dots_label = if rows.iter().any(|row| row.true_residuals.is_some()) { "true or judged" } else { "judged" };
    let panel = |title: &str, height: f64, lines: Vec<Line>| LinePanel {
        title: title.into(),
        height,
        scale: Scale::Logarithmic,
        lines,
        dots: Vec::new(),
        dots_label: dots_label.into(),
        tolerances: Vec::new(),
    };
    let tolerance = &report.settings.tolerance;
    let residuals = LinePanel {
        tolerances: vec![tolerance.stationarity, tolerance.feasibility, tolerance.complementarity],
        dots: judged(rows, report),
        ..panel(
            if noisy { "Residuals, estimated" } else { "Residuals" },
            330.0,
            vec![
                line("stationarity", 0, |row| row.stationarity),
                line("feasibility", 1, |row| row.feasibility),
                line("complementarity", 2, |row| row.complementarity),
            ],
        )
    };
    let mut panels = vec![residuals];
    if rows.iter().any(|row| row.objective.is_finite()) {
        panels.push(LinePanel { scale: Scale::Linear, ..panel("Objective", 160.0, vec![line("f", 5, |row| row.objective)]) });
    }
    panels.push(panel("Merit parameter", 130.0, vec![line("rho", 4, |row| row.rho)]));
    panels.push(panel("Stepsize", 130.0, vec![line("eta", 3, |row| row.eta)]));
    let (iterations, time) = (count_of(report.iterations, "iteration"), duration::readable(report.seconds));
    let objective = match report.verdict.as_ref().and_then(|verdict| verdict.objective) {
        Some(judged) => format!("; objective {}", verdict::with_error(judged)),
        None if report.objective.is_finite() => format!("; objective {}", number::readable(report.objective)),
        None => String::new(),
    };
    LineFigure {
        title: format!("{}: {}", plain::name(&report.problem), headline::of(report)),
        subtitle: format!("{} after {iterations} and {time}{objective}", report.stop),
        axis: "iteration".into(),
        iterations: rows.iter().map(|row| row.iteration).collect(),
        panels,
    }
}

/// What is known better than by the estimates of the run: residuals of the exact functions, and those of fresh samples.
fn judged(rows: &[Row], report: &Report) -> Vec<Dot> {
    let dots = |iteration: u64, known: TrueResiduals| {
        let values = [known.stationarity, known.feasibility, known.complementarity];
        values.into_iter().enumerate().map(move |(color, value)| Dot { iteration, value, color })
    };
    let along =
        rows.iter().flat_map(|row| [row.true_residuals, row.judged].into_iter().flatten().map(|known| (row.iteration, known)));
    // The rows of a long run are thinned out: the judgement of the result is there in any case.
    let last = report.verdict.iter().map(|verdict| {
        let (stationarity, feasibility) = (verdict.stationarity.value, verdict.feasibility.value);
        (verdict.iteration, TrueResiduals { stationarity, feasibility, complementarity: verdict.complementarity.value })
    });
    along.chain(last).flat_map(|(iteration, known)| dots(iteration, known)).collect()
}
