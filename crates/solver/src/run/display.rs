//! A report and an observer for people who do not want to write their own.

use std::fmt;
use std::ops::ControlFlow;

use crate::{Observer, Report, Row};

/// An observer that does nothing: the run goes to its end.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    fn observe(&mut self, _row: &Row, _x: &[f64]) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// What was found, in a few lines; the rest is in the fields.
impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "{}: {}", self.problem, self.message)?;
        writeln!(out, "  objective        {}", self.objective)?;
        let residuals =
            [("stationarity", self.stationarity), ("feasibility", self.feasibility), ("complementarity", self.complementarity)];
        for (name, value) in residuals {
            writeln!(out, "  {name:<16} {value:.3e}")?;
        }
        for row in &self.worst_rows {
            writeln!(out, "  violated         {} = {}, beyond {} by {:.3e}", row.name, row.value, row.bound, row.violation)?;
        }
        let (samples, counts) = (self.samples.total(), self.evaluations.total());
        write!(out, "  work             {} iterations, {counts} evaluations", self.iterations)?;
        if samples > 0 {
            write!(out, ", {samples} samples")?;
        }
        write!(out, ", {:.3} s", self.seconds)
    }
}

#[cfg(test)]
mod tests {
    use tangor_problem::{ClosureProblem, Meta};

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
}
