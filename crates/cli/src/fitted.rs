//! What a person wants to know of a fitted model.

use std::io::{self, Write};

use tangor_learn::{Attained, Evaluation, Model};
use tangor_solver::Report;

use crate::duration;
use crate::number::{counted, scientific};
use crate::style::{BAD, DIM, GOOD, TITLE};

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
        for (name, value) in [("stationarity", judged.stationarity), ("violation", judged.feasibility)] {
            writeln!(out, "  {name:<18} {}", scientific(value, 2))?;
        }
        writeln!(out)?;
        self.table(out)?;
        let samples = &self.report.samples;
        let used = [
            counted(samples.gradient, "row gradient"),
            counted(samples.constraints, "row constraint value"),
            counted(samples.jacobian, "row Jacobian"),
        ];
        let iterations = counted(self.report.iterations, "iteration");
        writeln!(out, "\n  {iterations} in {}: {}", duration::readable(self.report.seconds), used.join(", "))
    }

    fn table(&self, out: &mut dyn Write) -> io::Result<()> {
        let training = &self.model.training;
        let names = training.constraints.iter().map(|attained| attained.name.chars().count());
        let width = names.max().unwrap_or(0).max(10);
        let test = if self.test.is_some() { "test" } else { "" };
        writeln!(out, "  {TITLE}{:<width$} {:>10} {:>20} {test:>20}{TITLE:#}", "", "bound", "training")?;
        for (k, attained) in training.constraints.iter().enumerate() {
            let other = self.test.and_then(|test| test.constraints.get(k)).map(value_and_margin).unwrap_or_default();
            let style = if attained.violation() <= self.report.settings.tolerance.feasibility { GOOD } else { BAD };
            let (bound, value) = (bound(attained), value_and_margin(attained));
            writeln!(out, "  {:<width$} {bound:>10} {style}{value:>20}{style:#} {other:>20}", attained.name)?;
        }
        let others = self.test.map_or([None; 2], |test| [Some(test.loss), Some(test.accuracy)]);
        let rows = [("mean loss", training.loss), ("accuracy", training.accuracy)];
        for ((name, value), other) in rows.into_iter().zip(others) {
            let other = other.map(|other| format!("{other:.4}")).unwrap_or_default();
            writeln!(out, "  {name:<width$} {:>10} {:>20} {other:>20}", "", format!("{value:.4}"))?;
        }
        match training.constraints.iter().any(|attained| attained.margin > 0.0) {
            true => writeln!(out, "  {DIM}+- is the margin of 95% confidence for other rows of the same kind{DIM:#}"),
            false => Ok(()),
        }
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
