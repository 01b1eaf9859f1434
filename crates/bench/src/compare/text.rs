//! The comparison in words and tables.

use std::fmt::{self, Write};

use super::{Comparison, Entry, Measure};
use crate::{Error, spreadsheet};
use tangor_figure::StepFigure;
use tangor_problem::count_of;

/// Where the shares of a profile are printed.
const MULTIPLES: [f64; 6] = [1.0, 2.0, 4.0, 10.0, 100.0, 1000.0];

impl Comparison {
    /// Counts, duels, wins and profiles.
    pub fn summary(&self) -> String {
        let mut out = String::new();
        // Writing into a string cannot fail.
        let _ = self.write_counts(&mut out);
        for second in 1..self.entrants.len() {
            let _ = self.write_duel(&mut out, 0, second);
        }
        for measure in Measure::ALL {
            if let Some(figure) = self.performance_profile(measure) {
                let _ = write_profile(&mut out, &figure, &MULTIPLES);
            }
        }
        if let Some(figure) = self.data_profile() {
            let _ = write_profile(&mut out, &figure, &MULTIPLES);
        }
        out
    }

    /// How many problems each solver solved.
    pub fn counts(&self) -> String {
        let mut out = String::new();
        let _ = self.write_counts(&mut out);
        out
    }

    fn width(&self) -> usize {
        self.entrants.iter().map(|entrant| entrant.label.chars().count()).max().unwrap_or(0).max(10)
    }

    fn write_counts(&self, out: &mut String) -> fmt::Result {
        let width = self.width();
        let common = if self.entrants.len() > 1 { " in common" } else { "" };
        writeln!(out, "{}{common}; all residuals at most", count_of(self.problems.len(), "problem"))?;
        writeln!(out, "  {:width$}  {:>6} {:>6} {:>6} {:>11} {:>8}", "", "1e-3", "1e-4", "1e-6", "infeasible", "refused")?;
        for (k, entrant) in self.entrants.iter().enumerate() {
            let [a, b, c] = [1e-3, 1e-4, 1e-6].map(|eps| self.solved_within(k, eps));
            let remark = if entrant.verified { "" } else { "   (by its own word)" };
            let (infeasible, refused) = (self.infeasible(k), self.refused(k));
            writeln!(out, "  {:width$}  {a:>6} {b:>6} {c:>6} {infeasible:>11} {refused:>8}{remark}", entrant.label)?;
        }
        Ok(())
    }

    fn write_duel(&self, out: &mut String, first: usize, second: usize) -> fmt::Result {
        let (a, b) = (&self.entrants[first].label, &self.entrants[second].label);
        let duel = self.duel(first, second);
        writeln!(out, "\n{a} against {b}, residuals at most {:e}", self.tolerance)?;
        let mut lines = vec![
            ("solved by both".to_string(), duel.both.len(), String::new()),
            (format!("only by {a}"), duel.first_only.len(), duel.first_only.join(" ")),
            (format!("only by {b}"), duel.second_only.len(), duel.second_only.join(" ")),
            ("by neither".to_string(), duel.neither.len(), duel.neither.join(" ")),
        ];
        if !duel.refused.is_empty() {
            lines.push(("refused by one".to_string(), duel.refused.len(), duel.refused.join(" ")));
        }
        let width = lines.iter().map(|(what, ..)| what.chars().count()).max().unwrap_or(0).max(18);
        for (what, count, names) in lines {
            writeln!(out, "{}", format!("  {what:width$} {count:3}  {names}").trim_end())?;
        }
        for measure in Measure::ALL {
            let wins = self.wins(first, second, measure);
            if wins != Default::default() {
                let name = measure.name();
                writeln!(out, "  fewer {name:12} {a} {}, {b} {}, equal {}", wins.first, wins.second, wins.ties)?;
            }
        }
        Ok(())
    }

    /// One line for each problem, or where that does not fit a screen of this width, one for each solver below it.
    pub fn side_by_side(&self, screen: Option<usize>) -> String {
        if screen.is_some_and(|screen| 12 + 46 * self.entrants.len() > screen) {
            return self.one_below_the_other();
        }
        let mut out = format!("{:12}", "problem");
        for entrant in &self.entrants {
            let _ = write!(out, "  {:>44}", entrant.label);
        }
        let _ = write!(out, "\n{:12}", "");
        for _ in &self.entrants {
            let _ = write!(out, "  {}", heading());
        }
        for problem in &self.problems {
            let _ = write!(out, "\n{problem:12}");
            for k in 0..self.entrants.len() {
                let _ = write!(out, "  {}", self.entry(k, problem).map(cells).unwrap_or_default());
            }
        }
        out.push('\n');
        out
    }

    fn one_below_the_other(&self) -> String {
        let width = self.width();
        let mut out = format!("  {:width$} {}\n", "", heading());
        for problem in &self.problems {
            let _ = writeln!(out, "{problem}");
            for (k, entrant) in self.entrants.iter().enumerate() {
                let _ = writeln!(out, "  {:width$} {}", entrant.label, self.entry(k, problem).map(cells).unwrap_or_default());
            }
        }
        out
    }

    /// The same as CSV.
    pub fn side_by_side_csv(&self) -> Result<String, Error> {
        let fields = ["residual", "solved", "infeasible", "objective", "iterations", "evaluations", "seconds"];
        let of_entrants = self.entrants.iter().flat_map(|entrant| fields.map(|field| format!("{} {field}", entrant.label)));
        let heading: Vec<String> = ["problem".to_string()].into_iter().chain(of_entrants).collect();
        let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
        let cells = |entry: &Entry| {
            let [solved, infeasible] = [entry.is_solved(self.tolerance), entry.infeasible].map(|flag| flag.to_string());
            let [objective, iterations] = [entry.objective, entry.iterations].map(number);
            let [evaluations, seconds] = [entry.evaluations, entry.seconds].map(number);
            [number(entry.residual), solved, infeasible, objective, iterations, evaluations, seconds]
        };
        let blank = || fields.map(|_| String::new());
        let row = |problem: &String| {
            let of = |k: usize| self.entry(k, problem).map_or_else(blank, cells);
            [problem.clone()].into_iter().chain((0..self.entrants.len()).flat_map(of)).collect()
        };
        spreadsheet::of_cells(&heading, self.problems.iter().map(row))
    }
}

/// What stands above [`cells`].
fn heading() -> String {
    format!("{:>10} {:>14} {:>8} {:>9}", "residual", "objective", "evals", "seconds")
}

fn cells(entry: &Entry) -> String {
    let or_dash = |value: Option<String>| value.unwrap_or_else(|| "-".to_string());
    let residual = match (entry.residual, entry.infeasible, entry.word) {
        _ if entry.refused => "refused".to_string(),
        (_, true, _) => "infeasible".to_string(),
        (Some(residual), ..) => format!("{residual:.2e}"),
        (None, _, true) => "solved".to_string(),
        (None, ..) => "unsolved".to_string(),
    };
    let objective = or_dash(entry.objective.map(|value| format!("{value:.6e}")));
    let evaluations = or_dash(entry.evaluations.map(|value| format!("{value:.0}")));
    let seconds = or_dash(entry.seconds.map(|value| format!("{value:.4}")));
    format!("{residual:>10} {objective:>14} {evaluations:>8} {seconds:>9}")
}

fn write_profile(out: &mut String, figure: &StepFigure, places: &[f64]) -> fmt::Result {
    writeln!(out, "\n{} ({})", figure.title, figure.x_label)?;
    let width = figure.curves.iter().map(|curve| curve.label.chars().count()).max().unwrap_or(0).max(10);
    write!(out, "  {:width$}", "")?;
    places.iter().try_for_each(|place| write!(out, " {place:>6}"))?;
    for curve in &figure.curves {
        write!(out, "\n  {:width$}", curve.label)?;
        places.iter().try_for_each(|place| write!(out, " {:>5.1}%", 100.0 * curve.share(*place)))?;
    }
    writeln!(out)
}
