//! A maximisation is stated, and reported, in the user's own sign; and a solver may move to another thread.

use std::ops::ControlFlow;

use tangor_problem::{ClosureProblem, Exact, Meta, Noise, Noisy, Problem, SampledProblem};
use tangor_solver::{Point, Report, Row, Settings, Solver, solve};

#[path = "support/referee.rs"]
mod referee;

/// `x0 x1 - 1`, times a sign, where `x0 + x1 <= 4` and `0 <= x <= 3`.
fn product(sign: f64, meta: Meta) -> ClosureProblem {
    ClosureProblem::builder(meta.bounds(&[0.0; 2], &[3.0; 2]).at_most(&[4.0]))
        .objective(move |x| sign * (x[0] * x[1] - 1.0))
        .gradient(move |x, g| g.copy_from_slice(&[sign * x[1], sign * x[0]]))
        .constraints(|x, c| c[0] = x[0] + x[1])
        .jacobian(|_, values| values.fill(1.0))
        .build()
        .unwrap()
}

fn largest() -> ClosureProblem {
    product(1.0, Meta::new("product", vec![1.0, 0.5]).maximise())
}

#[test]
fn values_and_multipliers_have_the_users_sign() {
    let report = solve(largest(), Settings::default()).unwrap();
    assert_eq!(report.point, Point::EpsKkt, "{}", report.message);
    assert!((report.objective - 3.0).abs() < 1e-5, "{}", report.objective);
    // grad f = (2, 2), so y = -2: one more on the right would add 2 to the value.
    assert!((report.row_multipliers[0] + 2.0).abs() < 1e-4, "{:?}", report.row_multipliers);
    referee::assert_honest(&mut largest(), &report);

    let mirrored = solve(product(-1.0, Meta::new("product", vec![1.0, 0.5])), Settings::default()).unwrap();
    let turned = |values: &[f64]| values.iter().map(|value| -value).collect::<Vec<_>>();
    assert_eq!((mirrored.iterations, mirrored.objective), (report.iterations, -report.objective));
    assert_eq!((&mirrored.x, turned(&mirrored.row_multipliers)), (&report.x, report.row_multipliers));
    assert_eq!(turned(&mirrored.bound_multipliers), report.bound_multipliers);
}

#[test]
fn the_multiplier_of_an_active_bound_is_the_slope() {
    let line = || {
        let meta = Meta::new("line", vec![1.0, 2.0]).bounds(&[0.0, 2.0], &[3.0, 2.0]).maximise();
        ClosureProblem::builder(meta)
            .objective(|x| 7.0 * x[0] + x[1])
            .gradient(|_, g| g.copy_from_slice(&[7.0, 1.0]))
            .build()
            .unwrap()
    };
    let report = solve(line(), Settings::default()).unwrap();
    assert_eq!((report.x.as_slice(), report.objective), (&[3.0, 2.0][..], 23.0));
    assert_eq!(report.bound_multipliers, [7.0, 1.0], "the second variable is fixed");
    referee::assert_honest(&mut line(), &report);
}

fn run_noisily() -> Report {
    let mut settings = Settings::default();
    settings.limits.iterations = 300;
    let problem = Noisy::new(largest(), Noise::level(1e-2)).unwrap();
    Solver::sampled(problem, settings).unwrap().run(&mut |_: &Row, _: &[f64]| ControlFlow::Continue(()))
}

#[test]
fn a_noisy_run_maximises_too() {
    let report = run_noisily();
    assert!((report.objective - 3.0).abs() < 0.05, "{}", report.objective);
    assert!((report.row_multipliers[0] + 2.0).abs() < 0.1, "{:?}", report.row_multipliers);
}

#[test]
fn a_solver_may_move_to_another_thread() {
    fn is_send<T: Send>() {}
    is_send::<Solver<Exact<Box<dyn Problem>>>>();
    is_send::<Solver<Box<dyn SampledProblem>>>();
    let mut solver = Solver::new(largest(), Settings::default()).unwrap();
    let run = move || solver.run(&mut |_: &Row, _: &[f64]| ControlFlow::Continue(()));
    assert_eq!(std::thread::spawn(run).join().unwrap().point, Point::EpsKkt);
}
