//! What the constraints of a fit came to, for people.

use std::io::{self, Write};

use anstyle::Style;
use tangor_learn::{Attained, Estimate, Evaluation, Outcome};

use crate::number::{scientific, short};
use crate::style::{BAD, DIM, GOOD, TITLE, UNUSUAL};
use crate::verdict::short_percent;
use crate::{plain, width};

/// Constraints that are shown; of more, those with the least room.
const SHOWN: usize = 12;

/// The constraints on training rows and perhaps on others.
pub struct Constraints<'a> {
    /// On the rows of the fit.
    pub training: &'a Evaluation,
    /// On other rows.
    pub test: Option<&'a Evaluation>,
    /// One for each constraint.
    pub multipliers: &'a [f64],
    /// What the constraints bound.
    pub outcome: Outcome,
    /// Up to which violation a constraint of the fit holds.
    pub tolerance: f64,
}

impl Constraints<'_> {
    /// A few lines for each.
    pub fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        let all = &self.training.constraints;
        if all.is_empty() {
            return Ok(());
        }
        writeln!(out, "  {TITLE}constraints{TITLE:#}")?;
        let mut shown: Vec<usize> = (0..all.len()).collect();
        shown.sort_by(|&a, &b| self.room(a).total_cmp(&self.room(b)));
        shown.truncate(SHOWN);
        shown.sort_unstable();
        for &k in &shown {
            let multiplier = told(self.multipliers.get(k).copied().unwrap_or(0.0));
            let heading = format!("{}: {}, multiplier {multiplier}", plain::name(&all[k].name), bound(&all[k]));
            writeln!(out, "  {}", width::wrapped(&heading, 3))?;
            self.lines(out, "training", &all[k], true)?;
            if let Some(other) = self.test.and_then(|test| test.constraints.get(k)) {
                self.lines(out, "test", other, false)?;
            }
        }
        if all.len() > shown.len() {
            writeln!(out, "  {DIM}and {} with more room; --json shows all{DIM:#}", all.len() - shown.len())?;
        }
        self.legend(out)
    }

    fn room(&self, k: usize) -> f64 {
        let attained = &self.training.constraints[k];
        attained.probabilities.map_or(f64::INFINITY, |estimate| attained.room(estimate.value))
    }

    fn lines(&self, out: &mut dyn Write, rows: &str, attained: &Attained, fitted: bool) -> io::Result<()> {
        let on_decisions = matches!(self.outcome, Outcome::Decisions { .. });
        let Some(probabilities) = attained.probabilities else {
            return writeln!(out, "    {rows:<9} {DIM}no such rows{DIM:#}");
        };
        let Some(decisions) = attained.decisions else {
            let (word, style) = self.word(attained, probabilities, fitted);
            return writeln!(out, "    {rows:<9} {:.4}  {style}{word}{style:#}", probabilities.value);
        };
        let kinds = [("probabilities", probabilities, !on_decisions), ("decisions", decisions, on_decisions)];
        for (k, (kind, estimate, bounded)) in kinds.into_iter().enumerate() {
            let rows = if k == 0 { rows } else { "" };
            let (word, style) = match bounded {
                true => self.word(attained, estimate, fitted),
                false if attained.violation(estimate.value) > 0.0 => ("beyond bound", UNUSUAL),
                false => ("", Style::new()),
            };
            let value = format!("{:7.4} +- {:.4}", estimate.value, estimate.margin);
            let line = format!("    {rows:<9} {kind:<14} {value}  {style}{word}{style:#}");
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }

    /// On the rows of the fit a bound holds or not, which is a violation only beyond the margin. On others it is met or violated where the
    /// margin leaves no doubt.
    fn word(&self, attained: &Attained, estimate: Estimate, fitted: bool) -> (&'static str, Style) {
        let (violation, room) = (attained.violation(estimate.value), attained.room(estimate.value));
        // Decisions are bounded by way of a curve: what they come to themselves is known afterwards.
        let tolerance = self.tolerance;
        match fitted {
            true if violation <= tolerance => ("holds", GOOD),
            true if violation <= estimate.margin => ("beyond bound", UNUSUAL),
            true => ("violated", BAD),
            false if room >= estimate.margin => ("met", GOOD),
            false if violation > estimate.margin => ("violated", BAD),
            false => ("unclear", UNUSUAL),
        }
    }

    fn legend(&self, out: &mut dyn Write) -> io::Result<()> {
        let confidence = short_percent(self.training.confidence);
        let legend = format!(
            "+- is the margin of {confidence}% confidence for other rows of the kind; holds: on these rows, up to {}; met, violated: \
             beyond the margin",
            short(self.tolerance)
        );
        let width = width::of_screen().map_or(LEGEND, |screen| screen.min(LEGEND));
        writeln!(out, "  {DIM}{}{DIM:#}\n", width::wrapped_to(&legend, 2, width))
    }
}

/// Wider than this no legend is read easily.
const LEGEND: usize = 70;

/// A multiplier with four digits after the point, where they tell anything.
fn told(multiplier: f64) -> String {
    match multiplier.abs() {
        // What is not worth a sign has none.
        size if size < NOTHING => "0".to_string(),
        size if (5e-4..1e6).contains(&size) => format!("{multiplier:.4}"),
        _ => scientific(multiplier, 1),
    }
}

/// A multiplier of this size changes no objective that anyone looks at.
const NOTHING: f64 = 1e-12;

fn bound(attained: &Attained) -> String {
    match (attained.lower, attained.upper) {
        (Some(_), Some(upper)) => format!("within +-{upper}"),
        (None, Some(upper)) => format!("at most {upper}"),
        (Some(lower), None) => format!("at least {lower}"),
        (None, None) => "unbounded".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multipliers_that_are_small_but_not_zero_are_told() {
        let cases =
            [(0.0, "0"), (-3e-17, "0"), (2.34e-5, "2.3e-05"), (-4e-4, "-4.0e-04"), (0.81114, "0.8111"), (2e7, "2.0e+07")];
        cases.into_iter().for_each(|(multiplier, expected)| assert_eq!(told(multiplier), expected));
    }

    #[test]
    fn met_is_said_only_where_the_margin_allows_it() {
        let attained =
            Attained { name: String::new(), lower: Some(-0.1), upper: Some(0.1), probabilities: None, decisions: None };
        let overall = tangor_learn::Quality {
            rows: 0,
            observed: 0.0,
            predicted: 0.0,
            selected: 0.0,
            accuracy: 0.0,
            recall: None,
            false_positive: None,
            precision: None,
            auc: None,
            calibration_error: 0.0,
        };
        let training = Evaluation {
            rows: 0,
            loss: 0.0,
            threshold: 0.5,
            confidence: 0.95,
            overall,
            groups: Vec::new(),
            constraints: Vec::new(),
        };
        let outcome = Outcome::Probabilities;
        let all = Constraints { training: &training, test: None, multipliers: &[], outcome, tolerance: 0.01 };
        let word = |value, fitted| all.word(&attained, Estimate { value, margin: 0.03 }, fitted).0;
        assert_eq!(
            [-0.1, 0.0, 0.109, -0.12, 0.14].map(|value| word(value, true)),
            ["holds", "holds", "holds", "beyond bound", "violated"]
        );
        assert_eq!(
            [0.0, 0.069, 0.08, 0.1, -0.12, 0.14].map(|value| word(value, false)),
            ["met", "met", "unclear", "unclear", "unclear", "violated"]
        );
    }
}
