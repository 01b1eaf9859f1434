//! How good a point is, computed from the problem's functions alone: no solver is asked, nothing is scaled.

use tangor_problem::{Failure, FunctionValues, KktPoint, KktResiduals, Problem, Wanted};
use tangor_solver::{Point, Tolerance};

/// A point with its multipliers.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// The variables.
    pub x: &'a [f64],
    /// Multipliers of the constraints.
    pub y: &'a [f64],
    /// Multipliers of the bounds.
    pub mu: &'a [f64],
}

/// Objective and residuals of a point.
#[derive(Clone, Debug, PartialEq)]
pub struct Recomputed {
    /// `f(x)`, 0 when there is no objective.
    pub objective: f64,
    /// `c(x)`
    pub constraints: Vec<f64>,
    /// The residuals.
    pub residuals: KktResiduals,
}

/// Evaluates the functions at the point and computes its residuals.
pub fn recompute(problem: &mut dyn Problem, candidate: Candidate) -> Result<Recomputed, Failure> {
    let (found, expected) = (candidate.x.len(), problem.meta().n());
    if found != expected {
        return Err(Failure::undefined(format!("the point has length {found}, expected {expected}")));
    }
    let mut values = FunctionValues::new(problem.meta());
    values.evaluate(problem, candidate.x, Wanted::ALL).map_err(|failed| failed.failure)?;
    let at = KktPoint {
        x: candidate.x,
        gradient: &values.gradient,
        constraints: &values.constraints,
        jacobian: &values.jacobian,
        row_multipliers: candidate.y,
        bound_multipliers: candidate.mu,
    };
    let residuals = KktResiduals::new(problem.meta(), at).map_err(|error| Failure::undefined(error.to_string()))?;
    Ok(Recomputed { objective: values.objective.unwrap_or(0.0), constraints: values.constraints, residuals })
}

/// What a point with these residuals is. An infeasible stationary point must be flat relative to a violation below 1, so that a slow approach to a
/// feasible point does not pass for one.
pub fn classify(residuals: &KktResiduals, tolerance: &Tolerance) -> Point {
    let feasible = residuals.feasibility <= tolerance.feasibility;
    if feasible && residuals.stationarity <= tolerance.stationarity && residuals.complementarity <= tolerance.complementarity {
        Point::EpsKkt
    } else if feasible {
        Point::Feasible
    } else if residuals.infeasible_stationarity <= tolerance.infeasible * residuals.feasibility.min(1.0) {
        Point::EpsInfeasibleStationary
    } else {
        Point::Nothing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tangor_problem::{Differentiated, Formulas, Meta, Number};

    /// minimise x0^2 + x1 subject to x0 x1 >= 2, 1 <= x0 <= 3, x1 fixed or not
    struct Product;

    impl Formulas for Product {
        fn objective<D: Number>(&self, x: &[D]) -> D {
            x[0].square() + x[1]
        }
        fn constraints<D: Number>(&self, x: &[D], c: &mut [D]) {
            c[0] = x[0] * x[1];
        }
    }

    const FREE: f64 = f64::INFINITY;

    fn measured(x1: [f64; 2], x: [f64; 2], y: f64, mu: [f64; 2]) -> KktResiduals {
        let meta = Meta::new("product", vec![1.0, 1.0]).bounds(&[1.0, x1[0]], &[3.0, x1[1]]).at_least(&[2.0]);
        let mut problem = Differentiated::new(meta, Product);
        let recomputed = recompute(&mut problem, Candidate { x: &x, y: &[y], mu: &mu }).unwrap();
        assert_eq!(recomputed.objective, x[0] * x[0] + x[1]);
        recomputed.residuals
    }

    #[test]
    fn residuals_by_hand() {
        // g = (4, 1), J = (5, 2), y = -1/2: g + J^T y - mu = (4 - 2.5 - 1, 1 - 1) = (0.5, 0);
        // complementarity: 1/2 |10 - 2| for the row and 1 |2 - 1| for the bound.
        let residuals = measured([-FREE, FREE], [2.0, 5.0], -0.5, [1.0, 0.0]);
        assert_eq!((residuals.stationarity, residuals.feasibility, residuals.complementarity), (0.5, 0.0, 5.0));
        assert_eq!(residuals.infeasible_stationarity, 0.0);
    }

    #[test]
    fn multipliers_of_bounds_that_do_not_exist_are_refused() {
        // y > 0 would need an upper bound, mu[1] a bound of x1: both count as zero, and g = (4, 1) is left.
        let residuals = measured([-FREE, FREE], [2.0, 5.0], 3.0, [0.0, 7.0]);
        assert_eq!((residuals.stationarity, residuals.complementarity), (17f64.sqrt(), 0.0));
    }

    #[test]
    fn a_fixed_variable_takes_any_multiplier() {
        let residuals = measured([5.0, 5.0], [2.0, 5.0], 0.0, [0.0, 99.0]);
        assert_eq!((residuals.stationarity, residuals.complementarity), (4.0, 0.0));
    }

    #[test]
    fn violation_and_its_slope_by_hand() {
        // c = 0.5 is short of 2 by 1.5 and x0 = 0.5 of 1 by 0.5; J = (1, 0.5), v = -1.5: the slope is (-1.5, -0.75).
        let residuals = measured([-FREE, FREE], [0.5, 1.0], 0.0, [0.0, 0.0]);
        assert_eq!(residuals.feasibility, 2.5f64.sqrt());
        assert_eq!(residuals.infeasible_stationarity, (1.5f64 * 1.5 + 0.75 * 0.75).sqrt());
        assert_eq!(classify(&residuals, &Tolerance::default()), Point::Nothing);
        // x at its upper bounds wants to go further up and cannot: infeasible and stationary.
        let stuck = measured([-1.0, 0.5], [3.0, 0.5], 0.0, [0.0, 0.0]);
        assert_eq!((stuck.feasibility, stuck.infeasible_stationarity), (0.5, 0.0));
        assert_eq!(classify(&stuck, &Tolerance::default()), Point::EpsInfeasibleStationary);
    }

    #[test]
    fn not_a_number_is_never_good() {
        let residuals = measured([-FREE, FREE], [2.0, 5.0], f64::NAN, [0.0, 0.0]);
        assert_eq!(residuals.worst(), f64::INFINITY);
        assert_eq!(classify(&residuals, &Tolerance::default()), Point::Feasible);
    }
}
