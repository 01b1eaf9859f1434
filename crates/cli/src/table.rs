//! The iteration table: aligned, a line every so often, the header again from time to time.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use anstyle::Style;
use tangor_problem::count_of;
use tangor_solver::{Row, Tolerance, TrueResiduals};

use crate::number::scientific;
use crate::style::{DIM, GOOD, TITLE, UNUSUAL};
use crate::width;

/// Lines between two headers.
const HEADER_EVERY: u64 = 25;
/// In a slow run a line comes at least this often.
const PATIENCE: Duration = Duration::from_secs(2);

/// How much of the iterations is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Nothing.
    Quiet,
    /// The main columns, a line every so often.
    Normal,
    /// All columns, every iteration.
    Verbose,
}

/// What is known of the functions of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Functions {
    /// Their values.
    Exact,
    /// Samples; and with `truth` the residuals of exact functions as well.
    Sampled {
        /// Whether there are exact functions to compare with.
        truth: bool,
    },
}

/// Prints rows as they come.
pub struct Table {
    detail: Detail,
    tolerance: Tolerance,
    columns: Vec<Column>,
    /// How many columns the screen has no room for; then it has none for remarks, either, which the summary tells, too.
    missing: usize,
    lines: u64,
    last_line: Instant,
    /// The newest row, when it was not worth a line yet.
    waiting: Option<Row>,
    /// The number of the next row; none before the first.
    next: Option<u64>,
    /// Whether the next row gets a line.
    due: bool,
}

struct Column {
    title: &'static str,
    width: usize,
    cell: fn(&Row, &Tolerance) -> (String, Style),
}

impl Table {
    /// An empty table; that of a noisy run tells true residuals beside the estimated ones, where there are any.
    pub fn new(detail: Detail, tolerance: Tolerance, functions: Functions) -> Self {
        let mut columns = match functions {
            Functions::Exact => main_columns(),
            Functions::Sampled { truth } => noisy_columns(truth),
        };
        if detail == Detail::Verbose {
            columns.extend(further_columns());
        }
        let all = columns.len();
        if let Some(width) = width::of_screen() {
            make_fit(&mut columns, width);
        }
        Table {
            detail,
            tolerance,
            missing: all - columns.len(),
            columns,
            lines: 0,
            last_line: Instant::now(),
            waiting: None,
            next: None,
            due: false,
        }
    }

    /// Decides whether the next row gets a line.
    pub fn expects_line(&mut self) -> bool {
        self.due = match self.detail {
            Detail::Quiet => false,
            Detail::Verbose => true,
            Detail::Normal => self.next.is_none_or(is_round) || self.last_line.elapsed() >= PATIENCE,
        };
        self.due
    }

    /// Takes a row and prints it if it was decided so.
    pub fn row(&mut self, out: &mut dyn Write, row: &Row) -> io::Result<()> {
        self.next = Some(row.iteration + 1);
        if self.due {
            return self.line(out, row);
        }
        self.waiting = (self.detail != Detail::Quiet).then_some(*row);
        Ok(())
    }

    /// Whether the last row will still get a line.
    pub fn is_unfinished(&self) -> bool {
        self.waiting.is_some()
    }

    /// Prints the last row if it was not yet.
    pub fn finish(&mut self, out: &mut dyn Write, truth: Option<TrueResiduals>) -> io::Result<()> {
        match self.waiting.take() {
            Some(row) => self.line(out, &Row { true_residuals: row.true_residuals.or(truth), ..row }),
            None => Ok(()),
        }
    }

    fn line(&mut self, out: &mut dyn Write, row: &Row) -> io::Result<()> {
        if self.lines.is_multiple_of(HEADER_EVERY) {
            self.header(out)?;
        }
        for (k, column) in self.columns.iter().enumerate() {
            let (text, style) = (column.cell)(row, &self.tolerance);
            write!(out, "{}{style}{text:>width$}{style:#}", gap(k), width = column.width)?;
        }
        match row.unusual.is_empty() || self.missing > 0 {
            true => writeln!(out)?,
            false => writeln!(out, "  {UNUSUAL}{}{UNUSUAL:#}", row.unusual)?,
        }
        self.lines += 1;
        self.last_line = Instant::now();
        self.waiting = None;
        Ok(())
    }

    fn header(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.lines > 0 {
            writeln!(out)?;
        } else if self.detail == Detail::Verbose && self.missing > 0 {
            // Who asked for all columns is told where the others are.
            let told = format!("{} do not fit the screen; --trace FILE writes all", count_of(self.missing, "column"));
            writeln!(out, "{DIM}{}{DIM:#}", width::wrapped(&told, 0))?;
        }
        for (k, column) in self.columns.iter().enumerate() {
            write!(out, "{}{TITLE}{:>width$}{TITLE:#}", gap(k), column.title, width = column.width)?;
        }
        writeln!(out)
    }
}

/// What stands before a column.
fn gap(k: usize) -> &'static str {
    if k == 0 { "" } else { " " }
}

/// Leaves out what matters least until the rest is not wider than the screen: the last columns, and in a noisy table the true residuals.
fn make_fit(columns: &mut Vec<Column>, screen: usize) {
    let width = |columns: &[Column]| columns.iter().map(|column| column.width + 1).sum::<usize>();
    while width(columns) > screen && columns.len() > 4 {
        let less = columns.iter().rposition(|column| !column.title.starts_with("true") && column.title != "samples");
        let k = less.filter(|&k| k > 3).or_else(|| columns.iter().rposition(|column| column.title != "samples"));
        columns.remove(k.unwrap_or(columns.len() - 1));
    }
}

/// 0 to 10, then tens to 100, then hundreds, and so on: about ten lines for each power of ten.
fn is_round(iteration: u64) -> bool {
    iteration.checked_ilog10().is_none_or(|digits| iteration.is_multiple_of(10u64.pow(digits)))
}

fn plain(text: String) -> (String, Style) {
    (text, Style::new())
}

fn residual(value: f64, tolerance: f64) -> (String, Style) {
    (scientific(value, 2), if value <= tolerance { GOOD } else { Style::new() })
}

/// From the last row no step is taken.
fn stepsize(eta: f64) -> String {
    if eta == 0.0 { "-".to_string() } else { scientific(eta, 2) }
}

/// A residual that not every row has.
fn true_residual(row: &Row, value: fn(&TrueResiduals) -> f64, tolerance: f64) -> (String, Style) {
    row.true_residuals.as_ref().map_or_else(|| plain("-".to_string()), |truth| residual(value(truth), tolerance))
}

fn iteration() -> Column {
    Column { title: "iter", width: 7, cell: |row, _| plain(row.iteration.to_string()) }
}

fn residuals() -> [Column; 3] {
    [
        Column { title: "stationary", width: 10, cell: |row, eps| residual(row.stationarity, eps.stationarity) },
        Column { title: "feasible", width: 9, cell: |row, eps| residual(row.feasibility, eps.feasibility) },
        Column { title: "complem.", width: 9, cell: |row, eps| residual(row.complementarity, eps.complementarity) },
    ]
}

fn parameters() -> [Column; 2] {
    [
        Column { title: "rho", width: 9, cell: |row, _| plain(scientific(row.rho, 2)) },
        Column { title: "eta", width: 9, cell: |row, _| plain(stepsize(row.eta)) },
    ]
}

fn main_columns() -> Vec<Column> {
    let objective = Column { title: "objective", width: 16, cell: |row, _| plain(scientific(row.objective, 8)) };
    [iteration(), objective].into_iter().chain(residuals()).chain(parameters()).collect()
}

/// A noisy run never evaluates its objective.
fn noisy_columns(has_truth: bool) -> Vec<Column> {
    let truth = [
        Column { title: "true stat", width: 10, cell: |row, eps| true_residual(row, |r| r.stationarity, eps.stationarity) },
        Column { title: "true feas", width: 9, cell: |row, eps| true_residual(row, |r| r.feasibility, eps.feasibility) },
        Column {
            title: "true comp",
            width: 9,
            cell: |row, eps| true_residual(row, |r| r.complementarity, eps.complementarity),
        },
    ];
    let samples = Column { title: "samples", width: 9, cell: |row, _| plain(row.samples.total().to_string()) };
    let truth = truth.into_iter().filter(|_| has_truth);
    [iteration()].into_iter().chain(residuals()).chain(truth).chain([samples]).chain(parameters()).collect()
}

fn further_columns() -> Vec<Column> {
    vec![
        Column { title: "|normal|", width: 9, cell: |row, _| plain(scientific(row.normal, 2)) },
        Column { title: "|tangent|", width: 9, cell: |row, _| plain(scientific(row.tangent, 2)) },
        Column { title: "theta", width: 9, cell: |row, _| plain(scientific(row.theta, 2)) },
        Column { title: "L_f", width: 9, cell: |row, _| plain(scientific(row.lipschitz_objective, 2)) },
        Column { title: "L_c", width: 9, cell: |row, _| plain(scientific(row.lipschitz_constraints, 2)) },
        Column { title: "metric", width: 9, cell: |row, _| plain(scientific(row.metric, 2)) },
        Column { title: "kernel", width: 6, cell: |row, _| plain(row.kernel_iterations.to_string()) },
        Column { title: "f", width: 6, cell: |row, _| plain(row.evaluations.objective.to_string()) },
        Column { title: "grad", width: 6, cell: |row, _| plain(row.evaluations.gradient.to_string()) },
        Column { title: "c", width: 6, cell: |row, _| plain(row.evaluations.constraints.to_string()) },
        Column { title: "Jac", width: 6, cell: |row, _| plain(row.evaluations.jacobian.to_string()) },
        Column { title: "seconds", width: 9, cell: |row, _| plain(format!("{:.3}", row.seconds)) },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_fit_narrow_screens() {
        let titles = |mut columns: Vec<Column>, screen| {
            make_fit(&mut columns, screen);
            assert!(columns.iter().map(|column| column.width + 1).sum::<usize>() <= screen);
            columns.iter().map(|column| column.title).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(titles(main_columns(), 80), "iter objective stationary feasible complem. rho eta");
        assert_eq!(titles(main_columns(), 60), "iter objective stationary feasible complem.");
        let all = || main_columns().into_iter().chain(further_columns()).collect();
        assert_eq!(titles(all(), 100), "iter objective stationary feasible complem. rho eta |normal| |tangent|");
        assert_eq!(titles(all(), 60), titles(main_columns(), 60));
        assert_eq!(titles(noisy_columns(true), 80), "iter stationary feasible complem. true stat true feas true comp samples");
        assert_eq!(titles(noisy_columns(true), 60), "iter stationary feasible complem. true stat samples");
        assert_eq!(titles(noisy_columns(false), 80), "iter stationary feasible complem. samples rho eta");
        assert_eq!(titles(noisy_columns(false), 60), "iter stationary feasible complem. samples rho");
    }

    #[test]
    fn lines_get_rarer() {
        let shown: Vec<u64> = (0..=2000).filter(|&iteration| is_round(iteration)).collect();
        assert_eq!(shown[..13], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 30]);
        assert_eq!(shown.len(), 10 + 9 + 9 + 2);
    }
}
