//! With how many of its seeds a solver solves each problem, and how many problems in the mean.
//!
//! With `K` seeds, of which a share `p_i` solves problem `i`, the mean number of problems that are solved is `sum_i p_i`, and the square of its standard error
//! `sum_i p_i (1 - p_i) / (K - 1)`, for whether one problem is solved says nothing of another.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use crate::record::Record;

/// The residuals up to which problems count as solved.
const TOLERANCES: [f64; 3] = [1e-3, 1e-4, 1e-6];

/// The runs of one solver.
#[derive(Clone, Debug)]
pub struct Shares {
    /// What it is called.
    pub label: String,
    /// The worst residual of every run of every problem.
    runs: BTreeMap<String, Vec<f64>>,
}

/// A mean number of problems, with its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    /// The mean.
    pub mean: f64,
    /// Its standard error.
    pub error: f64,
}

impl Shares {
    /// The solvers among rows, in the order in which they come.
    pub fn of_records(records: &[Record]) -> Vec<Shares> {
        let mut shares: Vec<Shares> = Vec::new();
        for row in records {
            let k = shares.iter().position(|known| known.label == row.solver).unwrap_or_else(|| {
                shares.push(Shares { label: row.solver.clone(), runs: BTreeMap::new() });
                shares.len() - 1
            });
            let residual = row.residuals().map_or(f64::INFINITY, |residuals| residuals.worst());
            shares[k].runs.entry(row.problem.clone()).or_default().push(residual);
        }
        shares
    }

    /// How many problems are solved to within `eps` in the mean.
    pub fn solved(&self, eps: f64) -> Mean {
        let share = |runs: &Vec<f64>| solved(runs, eps) as f64 / runs.len() as f64;
        let square = |runs: &Vec<f64>| share(runs) * (1.0 - share(runs)) / (runs.len().max(2) - 1) as f64;
        // A sum of nothing is -0.
        let sum = |of: &dyn Fn(&Vec<f64>) -> f64| 0.0 + self.runs.values().map(of).sum::<f64>();
        Mean { mean: sum(&share), error: sum(&square).sqrt() }
    }

    /// The problems that are solved with some seeds and not with others: their names, and with how many of how many.
    pub fn partly_solved(&self, eps: f64) -> Vec<(&str, usize, usize)> {
        let counted = self.runs.iter().map(|(name, runs)| (name.as_str(), solved(runs, eps), runs.len()));
        counted.filter(|(_, solved, of)| *solved > 0 && solved < of).collect()
    }

    fn write(&self, out: &mut String) -> fmt::Result {
        let means = TOLERANCES.map(|eps| self.solved(eps)).map(|Mean { mean, error }| format!("{mean:.1} ± {error:.1}"));
        writeln!(out, "  {:10}  {:>13} {:>13} {:>13}", self.label, means[0], means[1], means[2])?;
        let [.., finest] = TOLERANCES;
        let partly: Vec<String> =
            self.partly_solved(finest).iter().map(|(name, solved, of)| format!("{name} {solved}/{of}")).collect();
        if !partly.is_empty() {
            writeln!(out, "  to {finest:e} with some seeds only: {}", partly.join(", "))?;
        }
        Ok(())
    }
}

fn solved(runs: &[f64], eps: f64) -> usize {
    runs.iter().filter(|residual| **residual <= eps).count()
}

/// The means of all solvers, and the problems that are solved with some seeds only; nothing where every problem has one run.
pub fn describe(records: &[Record]) -> String {
    let shares = Shares::of_records(records);
    let mut out = String::new();
    if shares.iter().all(|one| one.runs.values().all(|runs| runs.len() < 2)) {
        return out;
    }
    // Writing into a string cannot fail.
    let _ = writeln!(out, "problems solved in the mean of all seeds, and its standard error");
    let _ = writeln!(out, "  {:10}  {:>13} {:>13} {:>13}", "", "1e-3", "1e-4", "1e-6");
    shares.iter().for_each(|one| _ = one.write(&mut out));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Ending;
    use tangor_solver::Stop;

    fn row(problem: &str, seed: u64, residual: f64) -> Record {
        let mut row = Record::failed(problem, "tangor", seed, "", Ending::Stopped(Stop::Tolerance), String::new());
        (row.stationarity, row.feasibility) = (Some(residual), Some(0.0));
        (row.complementarity, row.infeasible_stationarity) = (Some(0.0), Some(0.0));
        row
    }

    #[test]
    fn a_mean_over_seeds_has_a_standard_error() {
        // Always, never, three of four and one of four: 1 + 0 + 3/4 + 1/4 = 2, and twice 3/16 over 3 is 1/8.
        let rows = [("A", [0.0; 4]), ("B", [1.0; 4]), ("C", [0.0, 0.0, 1.0, 0.0]), ("D", [1.0, 1e-5, 1e-7, 1.0])];
        let rows: Vec<Record> =
            rows.iter().flat_map(|(name, runs)| (0..4).map(|seed| row(name, seed as u64, runs[seed]))).collect();
        let shares = &Shares::of_records(&rows)[0];
        let Mean { mean, error } = shares.solved(1e-6);
        assert!(mean == 2.0 && (error - 0.125f64.sqrt()).abs() < 1e-15, "{mean} {error}");
        assert_eq!(shares.solved(1e-4).mean, 2.25);
        assert_eq!(shares.partly_solved(1e-6), [("C", 3, 4), ("D", 1, 4)]);
        let told = describe(&rows);
        assert!(told.contains("2.2 ± 0.4") && told.contains("2.0 ± 0.4") && told.contains("C 3/4, D 1/4"), "{told}");
        assert_eq!(describe(&rows[..1]), "");
    }
}
