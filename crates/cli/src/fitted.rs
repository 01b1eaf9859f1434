//! What a person wants to know of a fitted model.

use std::io::{self, Write};

use anstyle::Style;
use tangor_learn::{Attained, Evaluation, Model};
use tangor_solver::{Point, Report, Stop};

use crate::duration;
use crate::number::{counted, scientific, short};
use crate::style::{BAD, DIM, GOOD, TITLE, UNUSUAL};
use crate::verdict::short_percent;

/// A model and how it came about.
pub struct Fitted<'a> {
    /// The model.
    pub model: &'a Model,
    /// The run.
    pub report: &'a Report,
    /// The point judged exactly, on all rows.
    pub judged: &'a Report,
    /// How the model does on other rows.
    pub test: Option<&'a Evaluation>,
}

impl Fitted<'_> {
    /// Tells it.
    pub fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        let judged = self.judged;
        writeln!(out, "The run ended because {}; on all rows the weights are {}.\n", self.report.stop, judged.point)?;
        writeln!(out, "  {:<18} {:.6}", "objective", judged.objective)?;
        let tolerance = &self.report.settings.tolerance;
        let residuals = [
            ("stationarity", judged.stationarity, tolerance.stationarity),
            ("violation", judged.feasibility, tolerance.feasibility),
            ("complementarity", judged.complementarity, tolerance.complementarity),
        ];
        for (name, value, tolerance) in residuals {
            let (word, style) = if value <= tolerance { ("within", GOOD) } else { ("above", UNUSUAL) };
            writeln!(out, "  {name:<18} {:<12}{style}{word} {}{style:#}", scientific(value, 2), short(tolerance))?;
        }
        writeln!(out)?;
        self.table(out)?;
        self.effort(out)
    }

    fn effort(&self, out: &mut dyn Write) -> io::Result<()> {
        let (report, samples) = (self.report, &self.report.samples);
        let used = match samples.total() {
            0 => format!("all {} in each", counted(self.model.training.rows, "row")),
            _ => [
                counted(samples.gradient, "row gradient"),
                counted(samples.constraints, "row constraint value"),
                counted(samples.jacobian, "row Jacobian"),
            ]
            .join(", "),
        };
        let (iterations, seed) = (counted(report.iterations, "iteration"), report.settings.sampling.seed);
        writeln!(out, "\n  {iterations} in {}: {used}; seed {seed}", duration::readable(report.seconds))?;
        match samples.total() > 0 && self.report.stop == Stop::NoiseFloor && self.judged.point != Point::EpsKkt {
            true => writeln!(out, "  to come nearer: a larger --batch, or all rows in every iteration with --exact"),
            false => Ok(()),
        }
    }

    fn table(&self, out: &mut dyn Write) -> io::Result<()> {
        let training = &self.model.training;
        let names = training.constraints.iter().map(|attained| attained.name.chars().count());
        let width = names.max().unwrap_or(0).max(10);
        let heading = |evaluation: &Evaluation, what: &str| format!("{what} ({})", counted(evaluation.rows, "row"));
        let test = self.test.map(|test| heading(test, "test")).unwrap_or_default();
        let title = format!("{:<width$} {:>8}   {:<31} {test}", "", "bound", heading(training, "training"));
        writeln!(out, "  {TITLE}{}{TITLE:#}", title.trim_end())?;
        let tolerance = self.report.settings.tolerance.feasibility;
        for (k, attained) in training.constraints.iter().enumerate() {
            write!(out, "  {:<width$} {:>8}   ", attained.name, bound(attained))?;
            // The constraint is about these rows: no margin excuses a violation.
            let (word, style) = standing(attained, tolerance, 0.0);
            let value = value_and_margin(attained);
            match self.test.and_then(|test| test.constraints.get(k)) {
                None => writeln!(out, "{value:<20}{style}{word}{style:#}")?,
                Some(other) => {
                    write!(out, "{value:<20}{style}{word:<11}{style:#} ")?;
                    let (word, style) = standing(other, tolerance, other.margin);
                    writeln!(out, "{:<20}{style}{word}{style:#}", value_and_margin(other))?;
                }
            }
        }
        let others = self.test.map_or([None; 2], |test| [Some(test.loss), Some(test.accuracy)]);
        let rows = [("mean loss", training.loss), ("accuracy", training.accuracy)];
        for ((name, value), other) in rows.into_iter().zip(others) {
            let other = other.map(|other| format!("{other:.4}")).unwrap_or_default();
            let line = format!("{name:<width$} {:>8}   {:<31} {other}", "", format!("{value:.4}"));
            writeln!(out, "  {}", line.trim_end())?;
        }
        match training.constraints.iter().any(|attained| attained.margin > 0.0) {
            true => {
                let (confidence, tolerance) = (short_percent(training.confidence), short(tolerance));
                writeln!(
                    out,
                    "  {DIM}+- is the margin of {confidence}% confidence for other rows of the same kind; met is up to {tolerance}{DIM:#}"
                )
            }
            false => Ok(()),
        }
    }
}

/// Whether a constraint holds on the rows of an evaluation, up to the tolerance; a violation within the margin may be chance.
fn standing(attained: &Attained, tolerance: f64, margin: f64) -> (&'static str, Style) {
    let violation = attained.violation();
    match attained.value {
        None => ("", DIM),
        Some(_) if violation <= tolerance => ("met", GOOD),
        Some(_) if violation <= margin => ("unclear", UNUSUAL),
        Some(_) => ("violated", BAD),
    }
}

fn bound(attained: &Attained) -> String {
    if attained.lower.is_some() { format!("+-{}", attained.upper) } else { format!("<= {}", attained.upper) }
}

fn value_and_margin(attained: &Attained) -> String {
    match (attained.value, attained.margin) {
        (None, _) => "no such rows".to_string(),
        (Some(value), 0.0) => format!("{value:.4}"),
        (Some(value), margin) => format!("{value:.4} +- {margin:.4}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_violation_within_the_margin_may_be_chance() {
        let attained =
            |value| Attained { name: String::new(), lower: Some(-0.1), upper: 0.1, value, margin: 0.03, decisions: None };
        let word = |value, margin| standing(&attained(value), 0.01, margin).0;
        assert_eq!(
            [-0.1, 0.0, 0.109, -0.12, 0.14].map(|value| word(Some(value), 0.03)),
            ["met", "met", "met", "unclear", "violated"]
        );
        assert_eq!([word(Some(0.12), 0.0), word(None, 0.03)], ["violated", ""]);
        assert_eq!(value_and_margin(&attained(Some(0.12))), "0.1200 +- 0.0300");
    }
}
