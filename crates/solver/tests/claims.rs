//! What a run claims is true: of infeasible problems, of saddles of the violation, of rows in any unit.

#[path = "support/by_formula.rs"]
mod by_formula;
#[path = "support/referee.rs"]
mod referee;

use by_formula::{honest, objective};
use tangor_problem::{ClosureProblem, Meta, Noise, Noisy};
use tangor_solver::{Event, Point, Settings, Silent, Solver, Stop, solve, solve_sampled};

/// Only a constraint, given with its gradient.
fn constraint(
    meta: Meta,
    c: impl FnMut(&[f64]) -> f64 + Send + Clone + 'static,
    gradient: impl FnMut(&[f64], &mut [f64]) + Send + Clone + 'static,
) -> impl Fn() -> ClosureProblem {
    move || {
        let (mut c, mut gradient) = (c.clone(), gradient.clone());
        let builder = ClosureProblem::builder(meta.clone()).constraints(move |x, out| out[0] = c(x));
        builder.jacobian(move |x, values| gradient(x, values)).build().unwrap()
    }
}

#[test]
fn a_saddle_of_the_violation_is_left() {
    let meta = Meta::new("saddle", vec![0.0, 0.0]).no_objective().equalities(&[1.0]);
    let report = honest(constraint(meta, |x| x[0] * x[1], |x, g| g.copy_from_slice(&[x[1], x[0]])));
    assert_eq!(report.point, Point::EpsKkt, "{}", report.message);
    assert!((report.x[0] * report.x[1] - 1.0).abs() < 1e-6);
    assert!(
        report.unusual.iter().any(|(event, _)| *event == Event::Elsewhere),
        "the record says how it was left: {:?}",
        report.unusual
    );
}

#[test]
fn nothing_is_called_infeasible_while_other_starts_are_left() {
    let meta = Meta::new("saddle", vec![0.0, 0.0]).no_objective().equalities(&[1.0]);
    let saddle = constraint(meta, |x| x[0] * x[1], |x, g| g.copy_from_slice(&[x[1], x[0]]));
    for iterations in 1..6 {
        let mut settings = Settings::default();
        settings.limits.iterations = iterations;
        let report = solve(saddle(), settings).unwrap();
        let is_claimed = report.point == Point::EpsInfeasibleStationary;
        assert!(!is_claimed, "after {iterations} iterations: {}", report.message);
    }
    // Without other starts it is the end, and the message says what was found.
    let mut settings = Settings::default();
    settings.limits.escapes = 0;
    let report = solve(saddle(), settings).unwrap();
    assert_eq!(report.point, Point::EpsInfeasibleStationary);
    assert!(report.message.contains("Stopped because the violation is stationary within its tolerance"), "{}", report.message);
}

/// Of the starts that are tried the seventh is that of the run, bit for bit, and until the constraints hold the objective has no say in its steps.
#[test]
fn one_other_start_is_that_of_the_run_and_repairs_alone() {
    // x^2 + y^2 = -1, and an objective that would move y: from y = 0 no repair does.
    let build = || {
        ClosureProblem::builder(Meta::new("no root", vec![3.0, 0.0]).equalities(&[-1.0]))
            .objective(|x| x[1])
            .gradient(|_, g| g.copy_from_slice(&[0.0, 1.0]))
            .constraints(|x, c| c[0] = x[0] * x[0] + x[1] * x[1])
            .jacobian(|x, values| values.copy_from_slice(&[2.0 * x[0], 2.0 * x[1]]))
            .build()
            .unwrap()
    };
    let mut starts: Vec<Vec<Vec<f64>>> = vec![Vec::new()];
    let mut watch = |row: &tangor_solver::Row, x: &[f64]| {
        starts.last_mut().unwrap().push(x.to_vec());
        if row.unusual.contains(Event::Elsewhere) {
            starts.push(Vec::new());
        }
        std::ops::ControlFlow::Continue(())
    };
    let report = Solver::new(build(), Settings::default()).unwrap().run(&mut watch);
    assert_eq!(report.point, Point::EpsInfeasibleStationary, "{}", report.message);
    let seventh = &starts[7];
    assert_eq!(seventh[0], [3.0, 0.0]);
    assert!(seventh.len() > 1 && seventh.iter().all(|x| x[1] == 0.0), "{seventh:?}");
    assert!(starts[0].iter().any(|x| x[1] != 0.0), "otherwise the objective has its say");
}

#[test]
fn a_saddle_of_the_violation_is_left_under_noise() {
    // Values are noisy, the gradient of `xy` at the start is exactly zero: noise alone does not lead away.
    let noisy = |right: f64, square: f64| {
        let meta = Meta::new("noisy saddle", vec![0.0, 0.0]).no_objective().equalities(&[right]);
        let c = move |x: &[f64]| x[0] * x[1] + square * (x[0] * x[0] + x[1] * x[1]);
        let gradient = move |x: &[f64], g: &mut [f64]| {
            g.copy_from_slice(&[x[1] + 2.0 * square * x[0], x[0] + 2.0 * square * x[1]]);
        };
        Noisy::new(constraint(meta, c, gradient)(), Noise { constraints: 1e-3, ..Noise::default() }).unwrap()
    };
    let mut settings = Settings::default();
    for tolerance in ["stationarity", "feasibility", "complementarity", "infeasible"] {
        settings.set(&format!("tolerance.{tolerance}"), "1e-2").unwrap();
    }
    let report = solve_sampled(noisy(1.0, 0.0), settings.clone()).unwrap();
    assert_eq!((report.stop, report.point), (Stop::Tolerance, Point::EpsKkt), "{}", report.message);
    assert!((report.x[0] * report.x[1] - 1.0).abs() < 1e-2, "{:?}", report.x);
    assert!(report.unusual.iter().any(|(event, _)| *event == Event::Elsewhere), "{:?}", report.unusual);
    // `x^2 + xy + y^2 = -1` has no solution: eight other starts in vain, and the claim is made.
    let report = solve_sampled(noisy(-1.0, 1.0), settings).unwrap();
    assert_eq!((report.stop, report.point), (Stop::Tolerance, Point::EpsInfeasibleStationary), "{}", report.message);
    assert!(report.unusual.contains(&(Event::Elsewhere, 8)), "{:?}", report.unusual);
    assert!((report.feasibility - 1.0).abs() < 1e-2 && report.x.iter().all(|x| x.abs() < 1e-1), "{:?}", report.x);
}

#[test]
fn the_unit_of_a_row_does_not_make_it_infeasible() {
    for scale in [1e-7, 1e7] {
        let meta = Meta::new("unit", vec![0.0]).no_objective().equalities(&[1.0]);
        let report = honest(constraint(meta, move |x| scale * x[0], move |_, g| g[0] = scale));
        assert_eq!(report.point, Point::EpsKkt, "{scale}: {}", report.message);
    }
}

/// Squares of these units are nothing, or beyond all numbers.
#[test]
fn no_unit_that_a_number_can_have_makes_a_row_infeasible() {
    for unit in [1e-300, 1e-200, 1e-160, 1e-20, 1e20, 1e160, 1e200, 1e300] {
        let meta = |start: f64| Meta::new("unit", vec![start]).no_objective().equalities(&[1.0]);
        let line = honest(constraint(meta(0.0), move |x| unit * x[0], move |_, g| g[0] = unit));
        let root = unit.sqrt();
        let square = move |x: &[f64]| (root * x[0]).powi(2);
        let square = honest(constraint(meta(1.0), square, move |x, g| g[0] = 2.0 * root * (root * x[0])));
        for report in [line, square] {
            assert_ne!(report.point, Point::EpsInfeasibleStationary, "{unit:e}: {} {:?}", report.message, report.x);
        }
    }
    let mixed = || {
        ClosureProblem::builder(Meta::new("mixed", vec![0.0; 2]).no_objective().equalities(&[1.0, 1.0]))
            .constraints(|x, c| c.copy_from_slice(&[1e-150 * x[0], 1e150 * x[1]]))
            .jacobian(|_, values| values.copy_from_slice(&[1e-150, 0.0, 0.0, 1e150]))
            .build()
            .unwrap()
    };
    let report = honest(mixed);
    assert_ne!(report.point, Point::EpsInfeasibleStationary, "{} {:?}", report.message, report.x);
}

#[test]
fn a_start_far_away_does_not_make_a_row_infeasible() {
    let meta = Meta::new("far", vec![3e15, 1.0]).no_objective().equalities(&[1.0]);
    let report = honest(constraint(meta, |x| x[0] + x[1], |_, g| g.fill(1.0)));
    assert_ne!(report.point, Point::EpsInfeasibleStationary, "{}", report.message);
}

/// `min (x - 0.7)^2` with `x >= -1`, `x / 2 >= -0.4` and `-1 <= -x - x^2 <= 1`, from far away: the violation falls by a factor of four in each
/// step, so that rows are half as steep each time, and the distance to the bound is nothing beside their slopes.
#[test]
fn a_start_far_away_scales_nothing_down_for_ever() {
    // The nearest point to (2, 0) on x0^2 + x1^2 = 2, from derivatives of 6e9 on: rows and objective are scaled by 1e-8 there.
    let build = || {
        ClosureProblem::builder(Meta::new("far", vec![3e9, 1.0]).equalities(&[2.0]))
            .objective(|x| (x[0] - 2.0).powi(2) + x[1] * x[1])
            .gradient(|x, g| g.copy_from_slice(&[2.0 * (x[0] - 2.0), 2.0 * x[1]]))
            .constraints(|x, c| c[0] = x[0] * x[0] + x[1] * x[1])
            .jacobian(|x, values| values.copy_from_slice(&[2.0 * x[0], 2.0 * x[1]]))
            .build()
            .unwrap()
    };
    let report = honest(build);
    assert_eq!(report.point, Point::EpsKkt, "{}", report.message);
    assert!((report.x[0] - 2f64.sqrt()).abs() < 1e-6, "{:?}", report.x);
    assert!(report.unusual.iter().any(|(event, _)| *event == Event::Rescaled), "{:?}", report.unusual);
    // A run that goes on from the middle has the same bits.
    let run = |pause: u64| {
        let mut solver = Solver::new(build(), Settings::default()).unwrap();
        (0..pause).for_each(|_| assert_eq!(solver.advance(&mut Silent), None));
        Solver::resume(build(), solver.checkpoint()).unwrap().run(&mut Silent)
    };
    for pause in 0..report.iterations {
        let again = run(pause);
        assert_eq!((&again.x, again.iterations, again.objective), (&report.x, report.iterations, report.objective), "{pause}");
    }
}

#[test]
fn a_bound_far_away_holds_nothing() {
    for start in [1e9, 1e10, 1e12] {
        let build = || {
            let meta = Meta::new("far bound", vec![start])
                .bounds(&[-1.0], &[f64::INFINITY])
                .rows(&[-0.4, -1.0], &[f64::INFINITY, 1.0]);
            ClosureProblem::builder(meta)
                .objective(|x| (x[0] - 0.7).powi(2))
                .gradient(|x, g| g[0] = 2.0 * (x[0] - 0.7))
                .constraints(|x, c| c.copy_from_slice(&[0.5 * x[0], -x[0] - x[0] * x[0]]))
                .jacobian(|x, values| values.copy_from_slice(&[0.5, -1.0 - 2.0 * x[0]]))
                .build()
                .unwrap()
        };
        let report = honest(build);
        assert_ne!(report.point, Point::EpsInfeasibleStationary, "{start}: {} {:?}", report.message, report.x);
        assert!(report.x[0].abs() < 1.0, "{start}: {:?}", report.x);
    }
}

/// A bound within rounding holds as one that is met exactly: `x + y >= 3` in a box, from its inside.
#[test]
fn a_corner_that_is_all_but_reached_is_one() {
    for upper in [[1.0, 1.0], [0.1 + 0.2, 1e6 / 3.0], [1e-9, 1.0 / 3.0]] {
        let build = || {
            let meta = Meta::new("corner", vec![0.0; 2]).bounds(&[-1.0; 2], &upper).at_least(&[3.0 * (upper[0] + upper[1])]);
            ClosureProblem::builder(meta)
                .objective(|x| x[0] * x[0])
                .gradient(|x, g| g.copy_from_slice(&[2.0 * x[0], 0.0]))
                .constraints(|x, c| c[0] = x[0] + x[1])
                .jacobian(|_, values| values.fill(1.0))
                .build()
                .unwrap()
        };
        let report = honest(build);
        assert_eq!(report.point, Point::EpsInfeasibleStationary, "{upper:?}: {} {:?}", report.message, report.x);
    }
}

#[test]
fn what_is_infeasible_is_still_called_so() {
    for start in [0.0, 1e-9, 1.0, -30.0] {
        let meta = Meta::new("no root", vec![start]).no_objective().equalities(&[-1.0]);
        let report = honest(constraint(meta, |x| x[0] * x[0], |x, g| g[0] = 2.0 * x[0]));
        assert_eq!(
            (report.stop, report.point),
            (Stop::Tolerance, Point::EpsInfeasibleStationary),
            "{start}: {}",
            report.message
        );
        assert!(report.x[0].abs() < 1e-5 && (report.feasibility - 1.0).abs() < 1e-9);
        assert!(report.unusual.contains(&(Event::Elsewhere, 8)), "it tried eight other starts");
    }
}

#[test]
fn a_squared_equality_is_left_with_a_multiplier() {
    // min x + y subject to (x^2 + y^2 - 1)^2 = 0: on the circle the gradient of the row is zero, just beside it a multiplier exists.
    let circle = |x: &[f64]| x[0] * x[0] + x[1] * x[1] - 1.0;
    let build = || {
        ClosureProblem::builder(Meta::new("squared", vec![1.0, 2.0]).equalities(&[0.0]))
            .objective(|x| x[0] + x[1])
            .gradient(|_, g| g.fill(1.0))
            .constraints(move |x, c| c[0] = circle(x).powi(2))
            .jacobian(move |x, values| (0..2).for_each(|i| values[i] = 4.0 * circle(x) * x[i]))
            .build()
            .unwrap()
    };
    let report = honest(build);
    assert_eq!(report.point, Point::EpsKkt, "{}", report.message);
    // Within the tolerance of 1e-6 the circle is off by up to 1e-3.
    assert!((report.objective + 2f64.sqrt()).abs() < 1e-3, "{}", report.objective);
    assert!(report.unusual.iter().any(|(event, _)| *event == Event::AtRest), "{:?}", report.unusual);
}

#[test]
fn the_least_violation_is_judged_in_the_units_of_the_user() {
    // e^x = 0 with a gradient of 4e4 at the start, which scales the row down, and x = 2: least where e^2x + x - 2 = 0.
    let build = || {
        ClosureProblem::builder(Meta::new("units", vec![10.6]).no_objective().equalities(&[0.0, 2.0]))
            .constraints(|x, c| c.copy_from_slice(&[x[0].exp(), x[0]]))
            .jacobian(|x, values| values.copy_from_slice(&[x[0].exp(), 1.0]))
            .build()
            .unwrap()
    };
    let report = honest(build);
    assert_eq!(report.point, Point::EpsInfeasibleStationary, "{}", report.message);
    let x = report.x[0];
    assert!(((2.0 * x).exp() + x - 2.0).abs() < 1e-5, "{x}");
    assert!(report.unusual.iter().any(|(event, _)| *event == Event::Rescaled), "{:?}", report.unusual);
}

/// `min x` with `x + y = 1` and `k (x + y) = 2 k`: far away along `x + y` rounding hides that both cannot hold.
#[test]
fn rows_that_contradict_each_other_are_called_infeasible_and_nothing_else() {
    for k in [1.0, 1e2, 1e3, 1e4, 1e5, 1e6, 1e8] {
        let build = || {
            let meta = Meta::new("contradiction", vec![0.0, 0.0]).equalities(&[1.0, 2.0 * k]);
            ClosureProblem::builder(meta)
                .objective(|x| x[0])
                .gradient(|_, g| g.copy_from_slice(&[1.0, 0.0]))
                .constraints(move |x, c| c.copy_from_slice(&[x[0] + x[1], k * (x[0] + x[1])]))
                .jacobian(move |_, values| values.copy_from_slice(&[1.0, 1.0, k, k]))
                .build()
                .unwrap()
        };
        let report = honest(build);
        // Its last starts run away along `x + y`, and are given up where rounding hides the violation.
        // From ten thousand on values do not tell any more whether the slope of the violation, which is `k` times as steep, has become small:
        // there it is the share that could be removed.
        assert_eq!(report.point, Point::EpsInfeasibleStationary, "k = {k}: {}", report.message);
        assert!((report.feasibility - 1.0 / (1.0 + 1.0 / (k * k)).sqrt()).abs() < 1e-6, "k = {k}: {}", report.feasibility);
        assert!(report.iterations < 300, "k = {k}: {} iterations", report.iterations);
    }
}

#[test]
fn the_reported_point_has_the_reported_values() {
    let root = objective(Meta::new("root", vec![1.0]), |x| x[0].sqrt(), |x, g| g[0] = 0.5 / x[0].sqrt());
    let kink = objective(Meta::new("kink", vec![1.0]), |x| x[0].abs(), |x, g| g[0] = x[0].signum());
    let valley = objective(
        Meta::new("valley", vec![1.0, 2.0]),
        |x| (x[0] - x[1]).abs() + 1e-3 * x[0] * x[0],
        |x, g| {
            let sign = (x[0] - x[1]).signum();
            g.copy_from_slice(&[sign + 2e-3 * x[0], -sign]);
        },
    );
    for build in [&root as &dyn Fn() -> ClosureProblem, &kink, &valley] {
        let report = honest(build);
        assert!(report.x.iter().all(|x| x.is_finite()) && report.objective.is_finite(), "{}", report.problem);
    }
    assert!(honest(&root).x[0] >= 0.0);
}

/// Derivatives that are all zero say that nothing can be mended, wherever one starts; values say that it can.
#[test]
fn values_contradict_derivatives_that_are_none() {
    let wrong = |row: fn(&[f64]) -> f64, meta: Meta| honest(constraint(meta, row, |_, g| g.fill(0.0)));
    let free = |n: usize| Meta::new("no slope", vec![0.0; n]).no_objective().equalities(&[1.0]);
    let at_bounds = free(3).bounds(&[0.0; 3], &[9.0; 3]);
    for (report, what) in [
        (wrong(|x| x[0], free(1)), "one variable"),
        (wrong(|x| x.iter().sum(), free(5)), "five variables"),
        (wrong(|x| x.iter().sum(), at_bounds), "at their bounds"),
    ] {
        assert_eq!((report.stop, report.point), (Stop::EvaluationFailed, Point::Nothing), "{what}: {}", report.message);
        assert!(report.message.contains("contradict their derivatives"), "{what}: {}", report.message);
    }
    // Right derivatives that vanish at the least violation, smooth or with a kink, and those of a saddle, are not contradicted.
    for (start, target) in [(0.0, -1.0), (3.0, -2.0)] {
        let meta = || Meta::new("no root", vec![start; 2]).no_objective().equalities(&[target]);
        let square =
            honest(constraint(meta(), |x| x[0] * x[0] + x[1] * x[1], |x, g| g.copy_from_slice(&[2.0 * x[0], 2.0 * x[1]])));
        let sign = |x: f64| if x == 0.0 { 0.0 } else { x.signum() };
        let kink =
            honest(constraint(meta(), |x| x[0].abs() + x[1].abs(), move |x, g| g.copy_from_slice(&[sign(x[0]), sign(x[1])])));
        assert_eq!(square.point, Point::EpsInfeasibleStationary, "{}", square.message);
        assert_ne!(kink.stop, Stop::EvaluationFailed, "{}", kink.message);
    }
    let mut settings = Settings::default();
    settings.limits.escapes = 0;
    let saddle = constraint(
        Meta::new("saddle", vec![0.0, 0.0]).no_objective().equalities(&[1.0]),
        |x| x[0] * x[1],
        |x, g| g.copy_from_slice(&[x[1], x[0]]),
    );
    assert_eq!(solve(saddle(), settings).unwrap().point, Point::EpsInfeasibleStationary, "stationary to first order it is");
}

/// A function that gives another value at every call is told from one that does not.
#[test]
fn values_that_cannot_be_repeated_are_named() {
    let build = |step: f64| {
        let mut calls = 0.0;
        let value = move |x: &[f64]| {
            calls += step;
            x[0] * x[0] + calls
        };
        let meta = Meta::new("counting", vec![1.0]);
        ClosureProblem::builder(meta).objective(value).gradient(|x, g| g[0] = 2.0 * x[0]).build().unwrap()
    };
    let report = solve(build(-1e-3), Settings::default()).unwrap();
    assert_eq!(report.confirmed, Some(false));
    assert!(report.unusual.contains(&(Event::Unrepeatable, 1)), "{:?}", report.unusual);
    let report = solve(build(0.0), Settings::default()).unwrap();
    assert_eq!((report.confirmed, report.point), (Some(true), Point::EpsKkt));
}

/// `1 / y >= 0.8` from `y = 1`, where it holds, and an objective that leads across the pole: there the violation has no slope far out. Who has been at
/// a feasible point does not call anything infeasible.
#[test]
fn a_run_that_has_seen_a_feasible_point_calls_nothing_infeasible() {
    let build = || {
        ClosureProblem::builder(Meta::new("pole", vec![2.5, 0.98, 2.5]).at_least(&[0.80641487]))
            .objective(|x| 0.265 * (x[0] + 1.3).powi(2) + 0.33 * (x[1] + 0.4).powi(2) + 0.62 * (x[2] - 1.3).powi(2))
            .gradient(|x, g| g.copy_from_slice(&[0.53 * (x[0] + 1.3), 0.66 * (x[1] + 0.4), 1.24 * (x[2] - 1.3)]))
            .constraints(|x, c| c[0] = 1.0 / x[1])
            .jacobian(|x, j| j.copy_from_slice(&[0.0, -1.0 / (x[1] * x[1]), 0.0]))
            .build()
            .unwrap()
    };
    let report = honest(build);
    assert_ne!(report.point, Point::EpsInfeasibleStationary, "{}", report.message);
    assert!(report.feasibility <= 1e-6 && report.x[1] > 0.0, "{}: {:?}", report.message, report.x);
}

/// `k (x + y) >= k`, `k (x - y) >= k`, `k x <= k / 2`: twice the last one contradicts the sum of the others, in whatever unit.
#[test]
fn linear_rows_that_contradict_each_other_in_small_units_get_their_verdict() {
    for k in [1e-9, 1e-7, 1e-5, 1e-3, 1.0] {
        let unit = 1.0 / k;
        let build = move || {
            let meta = Meta::new("triple", vec![0.3 * unit, -0.2 * unit]);
            ClosureProblem::builder(meta.rows(&[1.0, 1.0, f64::NEG_INFINITY], &[f64::INFINITY, f64::INFINITY, 0.5]))
                .objective(move |x| (k * x[0] + 1.0).powi(2) + (k * x[1] - 2.0).powi(2))
                .gradient(move |x, g| g.copy_from_slice(&[2.0 * k * (k * x[0] + 1.0), 2.0 * k * (k * x[1] - 2.0)]))
                .constraints(move |x, c| c.copy_from_slice(&[k * (x[0] + x[1]), k * (x[0] - x[1]), k * x[0]]))
                .jacobian(move |_, j| j.copy_from_slice(&[k, k, k, -k, k, 0.0]))
                .build()
                .unwrap()
        };
        let report = honest(build);
        assert_eq!(report.point, Point::EpsInfeasibleStationary, "k = {k:e}: {}", report.message);
        // The least violation: x + y = x - y = 1 - v and x = 1/2 + 2 v give v = 1/6, and the three are off by v, v and 2 v.
        assert!((report.feasibility - 1.0 / 6f64.sqrt()).abs() < 1e-4, "k = {k:e}: {}", report.feasibility);
    }
}

/// `s log(1 + (x / u)^2) <= -0.3 s` has its least violation at 0. When the metric is forgotten there, the curvature of the row is not.
#[test]
fn a_least_violation_in_small_units_gets_its_verdict() {
    for (u, s) in [(1.5e-3, 73.0), (1.4e-6, 1.1e-3), (1.0, 1.0), (3e-4, 2e3)] {
        let build = move || {
            ClosureProblem::builder(Meta::new("log", vec![1.9 * u, 1.3 * u]).at_most(&[-0.3 * s]))
                .objective(move |x| 0.5 * (x[0] / u + 0.9).powi(2) + 0.5 * (x[1] / u - 1.7).powi(2))
                .gradient(move |x, g| g.copy_from_slice(&[(x[0] / u + 0.9) / u, (x[1] / u - 1.7) / u]))
                .constraints(move |x, c| c[0] = s * (x[0] / u).powi(2).ln_1p())
                .jacobian(move |x, j| j.copy_from_slice(&[2.0 * s * x[0] / (u * u) / (1.0 + (x[0] / u).powi(2)), 0.0]))
                .build()
                .unwrap()
        };
        let report = honest(build);
        assert_eq!(report.point, Point::EpsInfeasibleStationary, "u = {u:e}: {}", report.message);
        assert!((report.feasibility / (0.3 * s) - 1.0).abs() < 1e-6, "u = {u:e}: {}", report.feasibility);
    }
}

/// `-x y` with `x = 3 y` falls without bound, and rounding of the row is 1e18 where it is below -1e20 for sure: the words say so.
#[test]
fn a_point_far_away_is_feasible_up_to_rounding() {
    let build = || {
        ClosureProblem::builder(
            Meta::new("ray", vec![4.1, 1.3]).bounds(&[0.0, f64::NEG_INFINITY], &[f64::INFINITY; 2]).equalities(&[0.0]),
        )
        .objective(|x| -7.3 * (x[0] / 5.214) * x[1])
        .gradient(|x, g| g.copy_from_slice(&[-7.3 / 5.214 * x[1], -7.3 / 5.214 * x[0]]))
        .constraints(|x, c| c[0] = x[0] / 5.214 - x[1])
        .jacobian(|_, j| j.copy_from_slice(&[1.0 / 5.214, -1.0]))
        .build()
        .unwrap()
    };
    let mut report = solve(build(), Settings::default()).unwrap();
    assert_eq!(report.point, Point::Unbounded, "{}", report.message);
    for (feasibility, words) in [(1e18, "feasible up to rounding, and"), (0.0, "the point is feasible, and")] {
        report.feasibility = feasibility;
        assert!(report.sentence(&tangor_problem::Problem::meta(&build()).clone(), false).contains(words), "{}", report.message);
    }
}
