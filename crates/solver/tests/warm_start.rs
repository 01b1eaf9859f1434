//! A run that begins with the point and the multipliers of another.

use std::ops::ControlFlow;

use tangor_problem::{Differentiated, Exact, Formulas, Meta, Number};
use tangor_solver::{Point, Report, Row, Settings, Solver};

/// Minimises `100 (x0 + x1)` on the circle of radius 0.01: the multiplier is large.
struct Circle;

impl Formulas for Circle {
    fn objective<D: Number>(&self, x: &[D]) -> D {
        (x[0] + x[1]) * 100.0
    }
    fn constraints<D: Number>(&self, x: &[D], c: &mut [D]) {
        c[0] = x[0].square() + x[1].square();
    }
}

fn solver(start: [f64; 2]) -> Solver<Exact<Differentiated<Circle>>> {
    let meta = Meta::new("circle", start.to_vec()).equalities(&[1e-4]);
    Solver::new(Differentiated::forward(meta, Circle), Settings::default()).unwrap()
}

fn run(mut solver: Solver<Exact<Differentiated<Circle>>>) -> (Report, f64) {
    let mut first = None;
    let report = solver.run(&mut |row: &Row, _: &[f64]| {
        first.get_or_insert(row.rho);
        ControlFlow::Continue(())
    });
    (report, first.unwrap())
}

#[test]
fn multipliers_of_the_start_are_taken_up() {
    let (solved, _) = run(solver([1.0, 0.5]));
    assert_eq!(solved.point, Point::EpsKkt);
    let near = [solved.x[0] * 1.01, solved.x[1] * 0.99];
    let mut warm = solver(near);
    assert!(warm.begin_with(&solved.row_multipliers));
    let (again, rho) = run(warm);
    assert_eq!(again.point, Point::EpsKkt);
    assert!((again.objective - solved.objective).abs() < 1e-6 * solved.objective.abs());
    let (_, cold) = run(solver(near));
    assert!(rho > cold, "{rho} is not above {cold}");
    assert!(again.iterations < solved.iterations, "{} and {}", again.iterations, solved.iterations);
}

#[test]
fn multipliers_that_do_not_fit_are_left_alone() {
    for wrong in [&[][..], &[1.0, 2.0], &[f64::NAN]] {
        let mut fresh = solver([1.0, 0.5]);
        assert!(!fresh.begin_with(wrong));
        let (report, _) = run(fresh);
        assert_eq!(report.x, run(solver([1.0, 0.5])).0.x);
    }
}
