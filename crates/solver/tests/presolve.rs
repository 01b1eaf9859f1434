//! Runs with and without presolve: the same points, multipliers for the user's own rows, the same bits when resumed.

use tangor_problem::{ClosureProblem, KktPoint, KktResiduals, Meta, Problem};
use tangor_solver::{Point, Report, Settings, Silent, Solver, solve};

/// `min sum (x_i - 3)^2 (i + 1)` with linear rows `A x`.
fn problem(meta: Meta, a: &'static [&'static [f64]]) -> impl Problem + use<> {
    let meta = Meta { linear_rows: vec![true; a.len()], ..meta };
    ClosureProblem::builder(meta)
        .objective(|x| x.iter().enumerate().map(|(i, x)| (i + 1) as f64 * (x - 3.0) * (x - 3.0)).sum::<f64>())
        .gradient(|x, g| g.iter_mut().zip(x).enumerate().for_each(|(i, (g, x))| *g = 2.0 * (i + 1) as f64 * (x - 3.0)))
        .constraints(move |x, c| {
            c.iter_mut().zip(a).for_each(|(c, row)| *c = row.iter().zip(x).map(|(a, x)| a * x).sum());
        })
        .jacobian(move |_, values| values.copy_from_slice(&a.concat()))
        .build()
        .unwrap()
}

fn settings(presolve: bool) -> Settings {
    Settings { presolve, ..Settings::default() }
}

/// Singletons, one of them after another fixed its variable; a multiple; an equality that follows from others.
const ROWS: &[&[f64]] = &[
    &[0.0, 0.0, 2.0, 0.0, 0.0],
    &[0.0, 0.0, 1.0, 1.0, 0.0],
    &[1.0, 1.0, 0.0, 0.0, 0.0],
    &[-3.0, -3.0, 0.0, 0.0, 0.0],
    &[1.0, 0.0, 0.0, 0.0, 1.0],
    &[2.0, 1.0, 0.0, 0.0, 1.0],
];

fn mixed() -> Meta {
    Meta::new("mixed", vec![0.0; 5])
        .equalities(&[2.0])
        .at_most(&[2.5])
        .equalities(&[1.0])
        .equalities(&[-3.0])
        .equalities(&[2.0, 3.0])
}

#[test]
fn the_users_rows_get_their_multipliers_back() {
    let run = |presolve: bool| solve(problem(mixed(), ROWS), settings(presolve)).unwrap();
    let (with, without) = (run(true), run(false));
    assert_eq!((with.point, without.point), (Point::EpsKkt, Point::EpsKkt), "{}", with.message);
    with.x.iter().zip(&without.x).for_each(|(a, b)| assert!((a - b).abs() < 1e-5, "{:?} {:?}", with.x, without.x));
    // x2 = 1 and x3 <= 1.5 by rows: neither is a bound of the user's, and neither gets a multiplier.
    assert_eq!(with.bound_multipliers, [0.0; 5]);
    // 2 * 4 (1.5 - 3) + y1 = 0 and 2 * 3 (1 - 3) + 2 y0 + y1 = 0
    assert!(
        (with.row_multipliers[1] - 12.0).abs() < 1e-6 && with.row_multipliers[0].abs() < 1e-6,
        "{:?}",
        with.row_multipliers
    );
    assert_eq!((with.presolved.rows, with.presolved.bounds, with.presolved.contradictions.len()), (4, 2, 0));
    assert_eq!(without.presolved, Default::default());
    check(&with);
}

/// The residuals of a report are those of its point and multipliers in the user's form.
fn check(report: &Report) {
    let meta = mixed();
    let gradient: Vec<f64> = report.x.iter().enumerate().map(|(i, x)| 2.0 * (i + 1) as f64 * (x - 3.0)).collect();
    let point = KktPoint {
        x: &report.x,
        gradient: &gradient,
        constraints: &report.constraints,
        jacobian: &ROWS.concat(),
        row_multipliers: &report.row_multipliers,
        bound_multipliers: &report.bound_multipliers,
    };
    let found = KktResiduals::new(&meta, point).unwrap();
    assert!(found.stationarity <= 1e-6 && found.feasibility <= 1e-6 && found.complementarity <= 1e-6, "{found:?}");
}

#[test]
fn a_resumed_run_has_the_same_bits() {
    let whole = solve(problem(mixed(), ROWS), settings(true)).unwrap();
    assert!(whole.iterations >= 2, "{} iterations", whole.iterations);
    let mut first = Solver::new(problem(mixed(), ROWS), settings(true)).unwrap();
    first.advance(&mut Silent);
    let resumed = Solver::resume(problem(mixed(), ROWS), first.checkpoint()).unwrap().run(&mut Silent);
    let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&whole.x), bits(&resumed.x));
    assert_eq!(bits(&whole.row_multipliers), bits(&resumed.row_multipliers));
    assert_eq!(whole.evaluations, resumed.evaluations);
}

#[test]
fn rows_that_no_point_satisfies_are_named() {
    // x0 <= 1, but 2 x0 >= 4: the violation is least at x0 = 1.
    let meta = Meta::new("crossed", vec![0.0, 0.0]).bounds(&[-9.0, -9.0], &[1.0, 9.0]).at_least(&[4.0]).name_rows(["promise"]);
    let report = solve(problem(meta, &[&[2.0, 0.0]]), settings(true)).unwrap();
    assert_eq!(report.point, Point::EpsInfeasibleStationary);
    assert_eq!(report.presolved.contradictions, ["promise"]);
    assert_eq!(report.worst_rows[0].name, "promise");
    assert!((report.x[0] - 1.0).abs() < 1e-9, "{:?}", report.x);
    assert!(report.message.contains("no point satisfies constraint promise"), "{}", report.message);
}
