//! Residuals of a report, computed again from the problem's functions and the report's own point and multipliers.

use tangor_problem::{Evaluation, INFINITE, Meta, Problem};
use tangor_solver::Report;

/// What the functions say.
pub struct Recomputed {
    /// `f(x)`; 0 when there is no objective.
    pub objective: f64,
    /// `c(x)`
    pub constraints: Vec<f64>,
    /// `|g + J^T y - mu|`
    pub stationarity: f64,
    /// The violation of the constraints.
    pub feasibility: f64,
    /// The sum of |multiplier| times distance.
    pub complementarity: f64,
    /// How large the terms are of which the stationarity is the rest: its rounding error is relative to this.
    pub terms: f64,
}

/// Evaluates all functions at the point of the report, whose vectors must have the lengths of the problem.
pub fn recompute(problem: &mut dyn Problem, report: &Report) -> Evaluation<Recomputed> {
    let meta = problem.meta().clone();
    let x = &report.x;
    let (mut objective, mut lagrangian, mut constraints) = (0.0, vec![0.0; meta.n()], vec![0.0; meta.m()]);
    if meta.has_objective {
        objective = problem.objective(x)?;
        problem.gradient(x, &mut lagrangian)?;
    }
    let mut terms: Vec<f64> = lagrangian.iter().zip(&report.bound_multipliers).map(|(g, mu)| g.abs() + mu.abs()).collect();
    if meta.m() > 0 {
        problem.constraints(x, &mut constraints)?;
        let mut entries = vec![0.0; meta.jacobian_len()];
        problem.jacobian(x, &mut entries)?;
        for (k, entry) in entries.iter().enumerate() {
            let (row, column) = meta.jacobian.place(k, meta.n());
            let term = entry * report.row_multipliers[row];
            lagrangian[column] += term;
            terms[column] += term.abs();
        }
    }
    lagrangian.iter_mut().zip(&report.bound_multipliers).for_each(|(sum, mu)| *sum -= mu);
    Ok(Recomputed {
        objective,
        stationarity: norm(&lagrangian),
        feasibility: violation(&meta.c_lower, &meta.c_upper, &constraints),
        complementarity: complementarity(&meta, report, &constraints),
        terms: norm(&terms),
        constraints,
    })
}

fn norm(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum::<f64>().sqrt()
}

fn violation(lower: &[f64], upper: &[f64], values: &[f64]) -> f64 {
    let outside = |((value, lower), upper): ((&f64, &f64), &f64)| value - value.max(*lower).min(*upper);
    norm(&values.iter().zip(lower).zip(upper).map(outside).collect::<Vec<_>>())
}

/// Over inequalities and over variables that are not fixed. A multiplier of a row is `<= 0` at its lower bound, one of a variable is
/// `>= 0` there.
fn complementarity(meta: &Meta, report: &Report, constraints: &[f64]) -> f64 {
    let product = |multiplier: f64, value: f64, lower: f64, upper: f64, at_lower: bool| {
        let bound = if at_lower { lower } else { upper };
        match multiplier == 0.0 || lower == upper {
            true => 0.0,
            // Nothing can push from a bound that is not there.
            false if bound.abs() >= INFINITE => f64::INFINITY,
            false => multiplier.abs() * (value - bound).abs(),
        }
    };
    let rows = report.row_multipliers.iter().enumerate();
    let rows = rows.map(|(i, &y)| product(y, constraints[i], meta.c_lower[i], meta.c_upper[i], y < 0.0));
    let variables = report.bound_multipliers.iter().enumerate();
    let variables = variables.map(|(i, &mu)| product(mu, report.x[i], meta.x_lower[i], meta.x_upper[i], mu > 0.0));
    rows.chain(variables).sum()
}
