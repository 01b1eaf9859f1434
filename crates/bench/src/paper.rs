//! The published results: names, sizes and residuals of the two tables of the paper's Section 5.

use std::sync::LazyLock;

use serde::Deserialize;

/// A row of one of the paper's tables.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct PaperRow {
    /// The problem, as the paper calls it.
    pub problem: String,
    /// What to open, with its parameters: the paper's DEGENQP is another file's problem.
    pub source: String,
    /// Variables, slacks counted.
    pub dim: usize,
    /// Constraints, a range counted twice.
    pub constraints: usize,
    /// The stationarity error that the paper reports.
    pub stationarity: f64,
    /// The feasibility error that the paper reports.
    pub feasibility: f64,
    /// The complementary slackness error that the paper reports; its first table has none.
    #[serde(default)]
    pub complementarity: Option<f64>,
}

impl PaperRow {
    /// The largest of the residuals.
    pub fn worst(&self) -> f64 {
        self.stationarity.max(self.feasibility).max(self.complementarity.unwrap_or(0.0))
    }
}

/// The 136 problems with equality constraints.
pub fn equality() -> &'static [PaperRow] {
    static ROWS: LazyLock<Vec<PaperRow>> = LazyLock::new(|| read(include_str!("../data/paper_equality.csv")));
    &ROWS
}

/// The 170 problems with inequality constraints.
pub fn inequality() -> &'static [PaperRow] {
    static ROWS: LazyLock<Vec<PaperRow>> = LazyLock::new(|| read(include_str!("../data/paper_inequality.csv")));
    &ROWS
}

/// The paper's row for a problem.
pub fn find(problem: &str) -> Option<&'static PaperRow> {
    equality().iter().chain(inequality()).find(|row| row.problem == problem)
}

// The tables are part of the program: a row that does not parse is left out, and the test counts them.
fn read(text: &str) -> Vec<PaperRow> {
    csv::Reader::from_reader(text.as_bytes()).deserialize().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_complete() {
        assert_eq!((equality().len(), inequality().len()), (136, 170));
        let hs99 = find("HS99").unwrap();
        assert_eq!((hs99.dim, hs99.constraints, hs99.stationarity, hs99.feasibility), (7, 2, 90.9, 4.73));
        assert!(equality().iter().all(|row| row.complementarity.is_none()));
        assert!(inequality().iter().all(|row| row.complementarity.is_some()));
    }

    #[test]
    fn the_paper_solves_as_many_as_its_tables_show() {
        let solved = |rows: &[PaperRow], eps: f64| rows.iter().filter(|row| row.worst() <= eps).count();
        assert_eq!([1e-3, 1e-4, 1e-6].map(|eps| solved(equality(), eps)), [102, 101, 0]);
        assert_eq!([1e-3, 1e-4, 1e-6].map(|eps| solved(inequality(), eps)), [95, 72, 1]);
    }
}
