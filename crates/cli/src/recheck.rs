//! Residuals of a report, computed again from the problem's functions and the report's own point and multipliers.

use tangor_problem::{Evaluation, FunctionValues, KktPoint, KktResiduals, Problem, Wanted};
use tangor_solver::Report;

/// What the functions say.
pub struct Recomputed {
    /// `f(x)`; 0 when there is no objective.
    pub objective: f64,
    /// `c(x)`
    pub constraints: Vec<f64>,
    /// The residuals.
    pub residuals: KktResiduals,
}

/// Evaluates all functions at the point of the report.
pub fn recompute(problem: &mut dyn Problem, report: &Report) -> Evaluation<Recomputed> {
    let mut values = FunctionValues::new(problem.meta());
    values.evaluate(problem, &report.x, Wanted::ALL).map_err(|failed| failed.failure)?;
    let at = KktPoint {
        x: &report.x,
        gradient: &values.gradient,
        constraints: &values.constraints,
        jacobian: &values.jacobian,
        row_multipliers: &report.row_multipliers,
        bound_multipliers: &report.bound_multipliers,
    };
    let residuals = KktResiduals::new(problem.meta(), at)?;
    Ok(Recomputed { objective: values.objective.unwrap_or(0.0), constraints: values.constraints, residuals })
}
