//! A report and an observer for people who do not want to write their own.

use std::fmt;
use std::ops::ControlFlow;

use tangor_problem::count_of;

use crate::{Observer, Report, Row};

/// An observer that does nothing: the run goes to its end.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    fn observe(&mut self, _row: &Row, _x: &[f64]) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// How many variables and constraints are shown; the rest is in the fields.
const MOST_SHOWN: usize = 10;

/// What was found: residuals, variables and constraints by name, the work.
impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "{}: {}", self.problem, self.message)?;
        match self.verdict.as_ref().and_then(|verdict| verdict.objective) {
            Some(judged) => writeln!(out, "  objective        {} +- {:.1e}", judged.value, judged.error)?,
            None if self.objective.is_nan() => writeln!(out, "  objective        unknown")?,
            None => writeln!(out, "  objective        {}", self.objective)?,
        }
        let residuals =
            [("stationarity", self.stationarity), ("feasibility", self.feasibility), ("complementarity", self.complementarity)];
        for (name, value) in residuals {
            writeln!(out, "  {name:<16} {value:.3e}")?;
        }
        self.list_variables(out)?;
        self.list_constraints(out)?;
        for row in &self.worst_rows {
            writeln!(out, "  violated         {} = {}, beyond {} by {:.3e}", row.name, row.value, row.bound, row.violation)?;
        }
        let (samples, counts) = (self.samples.total(), self.evaluations.total());
        write!(out, "  work             {}, {}", count_of(self.iterations, "iteration"), count_of(counts, "evaluation"))?;
        if samples > 0 {
            write!(out, ", {}", count_of(samples, "sample"))?;
        }
        write!(out, ", {:.3} s", self.seconds)
    }
}

impl Report {
    /// All when they are few, otherwise the largest.
    fn list_variables(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tolerance = self.settings.tolerance.complementarity;
        let remark = |i: usize| match self.bound_multipliers.get(i) {
            Some(mu) if *mu > tolerance => "  at lower bound",
            Some(mu) if *mu < -tolerance => "  at upper bound",
            _ => "",
        };
        let line = |i: usize| (self.names.variable(i), format!("{}{}", self.x[i], remark(i)));
        list(out, "variables", &self.x, "largest", line)
    }

    /// All when they are few, otherwise those with the largest multipliers.
    fn list_constraints(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.constraints.is_empty() {
            return Ok(());
        }
        let line = |i: usize| {
            let value = self.constraints.get(i).copied().unwrap_or(f64::NAN);
            (self.names.constraint(i), format!("{value}, multiplier {}", self.row_multipliers[i]))
        };
        list(out, "constraints", &self.row_multipliers, "largest multipliers", line)
    }
}

/// The lines of those whose values are the largest, with their names in a column.
fn list<N: fmt::Display>(
    out: &mut fmt::Formatter<'_>,
    title: &str,
    values: &[f64],
    what: &str,
    line: impl Fn(usize) -> (N, String),
) -> fmt::Result {
    let shown = largest(values, MOST_SHOWN);
    match shown.len() == values.len() {
        true => writeln!(out, "  {title}")?,
        false => writeln!(out, "  {title}: the {} {what} of {}", shown.len(), values.len())?,
    }
    let lines: Vec<(String, String)> = shown.into_iter().map(line).map(|(name, text)| (name.to_string(), text)).collect();
    let width = lines.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    lines.iter().try_for_each(|(name, text)| writeln!(out, "    {name:<width$}  {text}"))
}

/// The indices of so many of the largest entries, in their order; what is not a number comes first, for it is what one looks for. Of up to
/// twice as many all are shown: to leave out a few would spare nobody.
pub fn largest(values: &[f64], most: usize) -> Vec<usize> {
    let mut indices: Vec<usize> = (0..values.len()).collect();
    if values.len() > 2 * most {
        indices.sort_by(|&a, &b| values[b].abs().total_cmp(&values[a].abs()));
        indices.truncate(most);
        indices.sort_unstable();
    }
    indices
}

#[cfg(test)]
mod tests {
    use tangor_problem::{ClosureProblem, Meta};

    use super::*;
    use crate::{Settings, solve};

    #[test]
    fn a_report_can_be_read() {
        let square = ClosureProblem::builder(Meta::new("square", vec![3.0]).at_most(&[-1.0]))
            .objective(|x| x[0])
            .gradient(|_, g| g[0] = 1.0)
            .constraints(|x, c| c[0] = x[0] * x[0])
            .jacobian(|x, values| values[0] = 2.0 * x[0])
            .build()
            .unwrap();
        let report = solve(square, Settings::default()).unwrap();
        let text = report.to_string();
        assert!(text.starts_with("square: Stopped because "), "{text}");
        assert!(text.contains("  violated         c[0] = "), "{text}");
        assert!(text.contains(&format!("{} iterations", report.iterations)), "{text}");
    }

    #[test]
    fn variables_and_constraints_are_shown_by_name() {
        let meta = Meta::new("corner", vec![2.0, 3.0]).bounds(&[1.0, -9.0], &[9.0, 9.0]).at_least(&[5.0]);
        let corner = ClosureProblem::builder(meta.name_variables(["width", "height"]).name_rows(["area"]))
            .objective(|x| 4.0 * x[0] + x[1])
            .gradient(|_, g| g.copy_from_slice(&[4.0, 1.0]))
            .constraints(|x, c| c[0] = x[0] + x[1])
            .jacobian(|_, values| values.fill(1.0))
            .build()
            .unwrap();
        let report = solve(corner, Settings::default()).unwrap();
        let text = report.to_string();
        assert!(text.contains("  variables\n    width   1  at lower bound\n    height  4\n"), "{text}");
        assert!(text.contains("  constraints\n    area  5, multiplier -1\n"), "{text}");
        let again: Report = serde_json::from_str(&serde_json::to_string(&report).unwrap()).unwrap();
        assert_eq!(again.names, report.names);
    }

    #[test]
    fn of_many_the_largest_are_shown() {
        let values: Vec<f64> = (0..30).map(|i| if i % 3 == 0 { -100.0 - i as f64 } else { i as f64 }).collect();
        assert_eq!(largest(&values, MOST_SHOWN), (0..30).step_by(3).collect::<Vec<_>>());
        assert_eq!(largest(&values[..20], MOST_SHOWN), (0..20).collect::<Vec<_>>());
    }
}
