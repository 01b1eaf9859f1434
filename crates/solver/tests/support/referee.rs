//! Measures what a report claims from scratch: nothing here comes from the solver but the point and its multipliers.

use tangor_problem::{INFINITE, Problem};
use tangor_solver::{Point, Report};

/// The residuals of a point, in the user's variables, rows and signs.
#[derive(Debug)]
pub struct Recomputed {
    pub objective: f64,
    pub stationarity: f64,
    pub feasibility: f64,
    pub complementarity: f64,
    pub infeasible: f64,
    /// Bounds on the rounding errors of stationarity, feasibility and complementarity, and of the slope of the violation: relative to the terms
    /// of the sums that they are.
    pub rounding: [f64; 4],
}

/// What sums of a few terms may differ by, relative to the sizes of these, when they are taken in another order.
const ROUNDING: f64 = 1e-14;

impl Recomputed {
    /// Whether this is a KKT point within the tolerance.
    pub fn is_kkt(&self, tolerance: f64) -> bool {
        let residuals = [self.stationarity, self.feasibility, self.complementarity];
        residuals.iter().zip(self.rounding).all(|(residual, rounding)| *residual <= tolerance + rounding)
    }
}

/// Recomputes the residuals from the functions. Panics where a multiplier has no bound that could hold it.
pub fn recompute(problem: &mut dyn Problem, report: &Report) -> Recomputed {
    let meta = problem.meta().clone();
    let (n, m) = (meta.n(), meta.m());
    let (x, y, mu) = (&report.x, &report.row_multipliers, &report.bound_multipliers);
    assert_eq!((x.len(), y.len(), mu.len(), report.constraints.len()), (n, m, n, m), "lengths");
    let (mut objective, mut gradient, mut c) = (0.0, vec![0.0; n], vec![0.0; m]);
    let mut jacobian = vec![vec![0.0; n]; m];
    if meta.has_objective {
        objective = problem.objective(x).expect("the objective has a value at the solution");
        problem.gradient(x, &mut gradient).expect("the gradient has a value at the solution");
    }
    if m > 0 {
        let mut values = vec![0.0; meta.jacobian_len()];
        problem.constraints(x, &mut c).expect("the constraints have values at the solution");
        problem.jacobian(x, &mut values).expect("the Jacobian has values at the solution");
        for (k, value) in values.iter().enumerate() {
            let (row, column) = meta.jacobian.place(k, n);
            jacobian[row][column] += value;
        }
    }
    let transposed = |v: &[f64], i: usize| (0..m).map(|row| jacobian[row][i] * v[row]).sum::<f64>();
    let violation: Vec<f64> = (0..m).map(|row| c[row] - c[row].clamp(meta.c_lower[row], meta.c_upper[row])).collect();

    let lagrangian: Vec<f64> = (0..n).map(|i| gradient[i] + transposed(y, i) - mu[i]).collect();
    // Who maximises reads multipliers of the opposite sign.
    let sign = if meta.maximise { -1.0 } else { 1.0 };
    let rows = (0..m).map(|row| held(-sign * y[row], c[row], meta.c_lower[row], meta.c_upper[row]));
    let variables = (0..n).map(|i| held(sign * mu[i], x[i], meta.x_lower[i], meta.x_upper[i]));
    let repaired = (0..n).map(|i| x[i] - (x[i] - transposed(&violation, i)).clamp(meta.x_lower[i], meta.x_upper[i]));
    let norms = |values: &[f64]| norm(values.iter().copied());
    let in_jacobian = norm(jacobian.iter().flatten().copied());
    let terms = [
        norms(&gradient) + in_jacobian * norms(y) + norms(mu),
        norms(&c),
        norms(y) * norms(&c) + norms(mu) * norms(x),
        norms(x) + in_jacobian * norms(&violation),
    ];
    Recomputed {
        objective,
        stationarity: norm(lagrangian.iter().copied()),
        feasibility: norm(violation.iter().copied()),
        complementarity: rows.chain(variables).sum(),
        infeasible: norm(repaired),
        rounding: terms.map(|terms| ROUNDING * terms),
    }
}

/// Recomputes what the report says, and fails when it flatters itself or leaves the bounds.
pub fn assert_honest(problem: &mut dyn Problem, report: &Report) -> Recomputed {
    let found = recompute(problem, report);
    let meta = problem.meta();
    let name = &meta.name;
    for (i, x) in report.x.iter().enumerate() {
        assert!((meta.x_lower[i]..=meta.x_upper[i]).contains(x), "{name}: x[{i}] = {x} is outside of its bounds");
    }
    let tolerance = &report.settings.tolerance;
    let loosest = tolerance.stationarity.max(tolerance.feasibility).max(tolerance.complementarity);
    assert!(report.point != Point::EpsKkt || found.is_kkt(loosest), "{name}: no KKT point, {found:?}");
    let mut pairs = vec![
        ("objective", report.objective, found.objective, 0.0),
        ("stationarity", report.stationarity, found.stationarity, found.rounding[0]),
        ("feasibility", report.feasibility, found.feasibility, found.rounding[1]),
        ("complementarity", report.complementarity, found.complementarity, found.rounding[2]),
    ];
    if found.feasibility > tolerance.feasibility + found.rounding[1] {
        pairs.push(("infeasible stationarity", report.infeasible_stationarity, found.infeasible, found.rounding[3]));
    }
    for (what, reported, recomputed, rounding) in pairs {
        let close = reported == recomputed || (reported - recomputed).abs() <= rounding + 1e-10 * recomputed.abs();
        assert!(close, "{name}: {what} is reported as {reported:e}, but is {recomputed:e}");
    }
    found
}

/// `|multiplier|` times the distance to the bound that holds `value`: the lower one for a positive multiplier. An equality holds
/// either way.
fn held(multiplier: f64, value: f64, lower: f64, upper: f64) -> f64 {
    if multiplier == 0.0 || lower == upper {
        return 0.0;
    }
    let bound = if multiplier > 0.0 { lower } else { upper };
    assert!(bound.abs() < INFINITE, "the multiplier {multiplier} has no bound that could hold it");
    multiplier.abs() * (value - bound).abs()
}

fn norm(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().fold(0.0, f64::hypot)
}
