//! Unbounded problems are named, wherever a run begins, and bounded ones are not called so.

#[path = "support/by_formula.rs"]
mod by_formula;
#[path = "support/referee.rs"]
mod referee;

use by_formula::{honest, objective};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;
use tangor_problem::{ClosureProblem, Failure, Meta};
use tangor_solver::{Limits, Point, Settings, Silent, Solver, Stop};

#[test]
fn unbounded_problems_are_named() {
    let line = objective(Meta::new("line", vec![0.0]), |x| x[0], |_, g| g[0] = 1.0);
    let saddle = objective(
        Meta::new("saddle", vec![0.1, 0.1]),
        |x| x[1] * x[1] - x[0] * x[0],
        |x, g| g.copy_from_slice(&[-2.0 * x[0], 2.0 * x[1]]),
    );
    let logarithm = objective(Meta::new("logarithm", vec![1.0]), |x| -x[0].ln(), |x, g| g[0] = -1.0 / x[0]);
    let cube = objective(Meta::new("cube", vec![-1.0]), |x| x[0].powi(3), |x, g| g[0] = 3.0 * x[0] * x[0]);
    let ray = objective(Meta::new("ray", vec![1.0]).maximise(), |x| x[0], |_, g| g[0] = 1.0);
    let hill = objective(Meta::new("hill", vec![1.0]).maximise(), |x| x[0].powi(3), |x, g| g[0] = 3.0 * x[0] * x[0]);
    // Its slope is within the tolerance before it is far away by any other measure.
    let root = objective(
        Meta::new("tenth root", vec![4.0]).bounds(&[1e-3], &[f64::INFINITY]),
        |x| -x[0].powf(0.1),
        |x, g| g[0] = -0.1 * x[0].powf(-0.9),
    );
    for build in [&line as &dyn Fn() -> ClosureProblem, &saddle, &logarithm, &cube, &ray, &hill, &root] {
        let report = honest(build);
        assert_eq!(
            (report.stop, report.point),
            (Stop::Unbounded, Point::Unbounded),
            "{}: {} {:?} {:?}",
            report.problem,
            report.message,
            report.x,
            report.objective
        );
    }
}

/// Slopes that are nothing in numbers, or within the tolerance, are no minimum where values farther away go on falling.
#[test]
fn flat_places_of_unbounded_problems_are_no_kkt_points() {
    let exponential: (Formula, Slope) = (|x| -x[0].exp(), |x, g| g[0] = -x[0].exp());
    let cases: [(&str, &[f64], (Formula, Slope)); 11] = [
        ("exp from -800", &[-800.0], exponential),
        ("exp from -40", &[-40.0], exponential),
        ("1e-7 x", &[3.0], (|x| -1e-7 * x[0], |_, g| g[0] = -1e-7)),
        ("1e-310 x", &[0.0, 1.0], (|x| x[1] * x[1] - 1e-310 * x[0], |x, g| g.copy_from_slice(&[-1e-310, 2.0 * x[1]]))),
        (
            "1e-350 x^3",
            &[1.0, 2.0],
            (
                |x| x[1] * x[1] - 1e-50 * (1e-100 * x[0]).powi(3),
                |x, g| g.copy_from_slice(&[-3e-150 * (1e-100 * x[0]).powi(2), 2.0 * x[1]]),
            ),
        ),
        (
            "x exp(-y^2)",
            &[5.0, 3.0],
            (
                |x| x[0] * (-x[1] * x[1]).exp(),
                |x, g| {
                    let e = (-x[1] * x[1]).exp();
                    g.copy_from_slice(&[e, -2.0 * x[0] * x[1] * e]);
                },
            ),
        ),
        (
            "x^3 exp(-y)",
            &[1.0, 1.0],
            (
                |x| x[0].powi(3) * (-x[1]).exp(),
                |x, g| {
                    let e = (-x[1]).exp();
                    g.copy_from_slice(&[3.0 * x[0] * x[0] * e, -x[0].powi(3) * e]);
                },
            ),
        ),
        ("log log x", &[3.0], (|x| -x[0].ln().ln(), |x, g| g[0] = -1.0 / (x[0] * x[0].ln()))),
        ("log x", &[1e8], (|x| -x[0].ln(), |x, g| g[0] = -1.0 / x[0])),
        ("root", &[1e14], (|x| -x[0].sqrt(), |x, g| g[0] = -0.5 / x[0].sqrt())),
        ("under 1e12", &[0.0], (|x| 1e12 - 1e-8 * x[0], |_, g| g[0] = -1e-8)),
    ];
    for (name, start, (f, g)) in cases {
        let report = honest(objective(Meta::new(name, start.to_vec()), f, g));
        assert_eq!(report.point, Point::Unbounded, "{name}: {} {:?} {:e}", report.message, report.x, report.objective);
    }
}

/// `phi(sum x_i) + sum (a_i x_i - a_i+1 x_i+1)^2` where `phi` is flat: level along `x_i = 1 / a_i` alone, in no single variable.
fn coupled(a: &'static [f64], t: f64, phi: fn(f64) -> f64, slope: fn(f64) -> f64) -> impl Fn() -> ClosureProblem {
    let sum = |x: &[f64]| x.iter().sum::<f64>();
    let off = |x: &[f64], i: usize| a[i] * x[i] - a[i + 1] * x[i + 1];
    move || {
        let start: Vec<f64> = a.iter().map(|a| t / a).collect();
        ClosureProblem::builder(Meta::new("coupled", start))
            .objective(move |x| phi(sum(x)) + (1..a.len()).map(|i| off(x, i - 1).powi(2)).sum::<f64>())
            .gradient(move |x, g| {
                g.fill(slope(sum(x)));
                for i in 1..a.len() {
                    g[i - 1] += 2.0 * a[i - 1] * off(x, i - 1);
                    g[i] -= 2.0 * a[i] * off(x, i - 1);
                }
            })
            .build()
            .unwrap()
    }
}

/// Whether an exponential is 0 in numbers, or next to nothing, does not hang on how variables are coupled.
#[test]
fn flat_places_of_coupled_variables_are_no_kkt_points() {
    for a in [&[1.0, 1.0][..], &[1.0, 0.3, 2.7], &[0.7, 1.9, -3.1, 0.2], &[1.0, 2.0, 0.6, 1.3, 0.8, 1.7, 1.1]] {
        for t in [-1000.0, -20.0] {
            let report = honest(coupled(a, t, |s| -s.exp(), |s| -s.exp()));
            assert_eq!(report.point, Point::Unbounded, "{a:?} from {t}: {} {:?}", report.message, report.x);
        }
        for (phi, slope) in [
            ((|s| s.exp()) as fn(f64) -> f64, (|s| s.exp()) as fn(f64) -> f64),
            (|s| s.tanh(), |s| 1.0 / s.cosh().powi(2)),
            (|s| 1.0 / (1.0 + s * s), |s| -2.0 * s / (1.0 + s * s).powi(2)),
            (|s| (s.exp() - 1e9).powi(2), |s| 2.0 * (s.exp() - 1e9) * s.exp()),
        ] {
            let report = honest(coupled(a, -1000.0, phi, slope));
            assert_ne!(report.point, Point::Unbounded, "{a:?}: {} {:?}", report.message, report.x);
        }
    }
}

/// With a row that leaves a line, `x + y = 0`, or a half-plane, `x + y <= 1`.
#[test]
fn flat_places_along_rows_are_no_kkt_points_either() {
    let build = |lower: f64, upper: f64, steep: f64| {
        move || {
            ClosureProblem::builder(Meta::new("along a row", vec![-50.0, 50.0]).rows(&[lower], &[upper]))
                .objective(move |x| -steep * (x[0] - x[1]))
                .gradient(move |_, g| g.copy_from_slice(&[-steep, steep]))
                .constraints(|x, c| c[0] = x[0] + x[1])
                .jacobian(|_, values| values.fill(1.0))
                .build()
                .unwrap()
        }
    };
    for (lower, upper) in [(0.0, 0.0), (f64::NEG_INFINITY, 1.0)] {
        for steep in [1.0, 1e-8, 1e-100] {
            let report = honest(build(lower, upper, steep));
            assert_eq!(report.point, Point::Unbounded, "{upper} {steep:e}: {} {:?}", report.message, report.x);
        }
    }
}

/// Flat, and yet bounded: by a rise far away, by a limit, by a bound, or because nothing depends on the variable; rounding is no fall.
#[test]
fn flat_places_of_bounded_problems_are_kkt_points() {
    let cases: [(&str, f64, (Formula, Slope)); 10] = [
        (
            "limit at 1e200",
            0.0,
            (|x| -x[0] / (1e200 + x[0].abs()), |x, g| g[0] = -1.0 / (1e200 + x[0].abs()) * (1e200 / (1e200 + x[0].abs()))),
        ),
        ("rise at 1e290", 1e8, (|x| 1e-290 * x[0] - x[0].ln(), |x, g| g[0] = 1e-290 - 1.0 / x[0])),
        ("far parabola", 0.0, (|x| 1e-20 * (x[0] - 1e10).powi(2), |x, g| g[0] = 2e-20 * (x[0] - 1e10))),
        ("farther parabola", 0.0, (|x| (1e-100 * x[0] - 1.0).powi(2), |x, g| g[0] = 2e-100 * (1e-100 * x[0] - 1.0))),
        ("limit", 40.0, (|x| (-x[0]).exp(), |x, g| g[0] = -(-x[0]).exp())),
        ("underflow", 800.0, (|x| (-x[0]).exp(), |x, g| g[0] = -(-x[0]).exp())),
        ("arc", 1e5, (|x| -x[0].atan(), |x, g| g[0] = -1.0 / (1.0 + x[0] * x[0]))),
        ("slow limit", 1e9, (|x| 1.0 / x[0].ln(), |x, g| g[0] = -1.0 / (x[0] * x[0].ln().powi(2)))),
        ("constant", 1.0, (|_| 3.0, |_, g| g[0] = 0.0)),
        ("rounding", 1.0, (|x| (x[0] + 1.0).powi(2) - x[0] * x[0] - 2.0 * x[0], |_, g| g[0] = 0.0)),
    ];
    for (name, start, (f, g)) in cases {
        let report = honest(objective(Meta::new(name, vec![start]), f, g));
        assert_eq!(report.point, Point::EpsKkt, "{name}: {} {:?}", report.message, report.x);
        let counts = report.evaluations;
        assert!(counts.objective <= 200, "{name}: {counts:?}");
    }
    let bounded = Meta::new("bounded", vec![0.0]).bounds(&[f64::NEG_INFINITY], &[1e19]);
    let report = honest(objective(bounded, |x| -1e-8 * x[0], |_, g| g[0] = -1e-8));
    assert_eq!(report.point, Point::EpsKkt, "{}", report.message);
    // A minimum with curvature costs one look at derivatives beside it.
    let report = honest(objective(Meta::new("bowl", vec![3.0]), |x| x[0] * x[0], |x, g| g[0] = 2.0 * x[0]));
    assert_eq!((report.point, report.evaluations.gradient - report.evaluations.objective), (Point::EpsKkt, 1));
}

/// A simulator that is broken outside of its region is asked there once, after the point was confirmed, and the claim is what it was.
#[test]
fn a_look_far_away_does_a_claim_no_harm() {
    for (limit, reach) in [(None, 100.0), (None, 1.001), (Some(40), 100.0), (Some(20), f64::INFINITY)] {
        let (ventures, failures) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (seen, failed) = (ventures.clone(), failures.clone());
        let value = move |x: &[f64]| {
            if failed.load(Ordering::Relaxed) > 0 || x[0].abs() > reach {
                assert!(seen.load(Ordering::Relaxed), "{x:?}");
                failed.fetch_add(1, Ordering::Relaxed);
                return Err(Failure::broken("the simulator is gone"));
            }
            Ok((x[1] - 1.0).powi(2) + (x[0] - 2.0).max(0.0).powi(2))
        };
        let meta = Meta::new("flat below 2", vec![1.0, 3.0]);
        let problem = ClosureProblem::builder(meta).objective(value).gradient(|x, g| {
            g.copy_from_slice(&[2.0 * (x[0] - 2.0).max(0.0), 2.0 * (x[1] - 1.0)]);
        });
        let settings = Settings { limits: Limits { evaluations: limit, ..Limits::default() }, ..Settings::default() };
        let mut solver = Solver::new(problem.build().unwrap(), settings).unwrap();
        solver.show_ventures(ventures.clone());
        let report = solver.run(&mut Silent);
        assert_eq!((report.stop, report.point), (Stop::Tolerance, Point::EpsKkt), "{}", report.message);
        assert!(report.failure.is_none() && solver.confirmed_gradient().is_some());
        let failures = failures.load(Ordering::Relaxed);
        assert!(failures <= 1 && (limit.is_some() || failures == 1), "{limit:?} {reach}: asked {failures} times");
        assert!(report.evaluations.total() <= limit.unwrap_or(150) && !ventures.load(Ordering::Relaxed));
    }
}

/// Where every variable has two bounds nothing is far away, and no look is taken.
#[test]
fn a_box_costs_no_look() {
    let meta = Meta::new("box", vec![0.5, 0.5]).bounds(&[0.0, 0.0], &[1.0, 1.0]);
    let report = honest(objective(meta, |x| (x[1] - 0.5).powi(2), |x, g| g.copy_from_slice(&[0.0, 2.0 * (x[1] - 0.5)])));
    assert_eq!((report.point, report.evaluations.objective, report.evaluations.gradient), (Point::EpsKkt, 1, 1));
}

#[test]
fn bounded_problems_are_not_called_unbounded() {
    let flat = objective(Meta::new("flat", vec![0.0]), |x| (-x[0]).exp(), |x, g| g[0] = -(-x[0]).exp());
    let inverse = objective(
        Meta::new("inverse", vec![1.0]).bounds(&[1e-3], &[f64::INFINITY]),
        |x| 1.0 / x[0],
        |x, g| g[0] = -1.0 / (x[0] * x[0]),
    );
    let far = objective(Meta::new("far", vec![0.0]), |x| (x[0] - 1e9).powi(2), |x, g| g[0] = 2.0 * (x[0] - 1e9));
    // Minima and limits where slopes are as small as far away, a hundred thousand times the start from it.
    let distant =
        objective(Meta::new("distant", vec![1.0]), |x| 1e-9 * (x[0] - 1e5).powi(2), |x, g| g[0] = 2e-9 * (x[0] - 1e5));
    let arc = objective(Meta::new("arc", vec![1.0]), |x| -1e4 * x[0].atan(), |x, g| g[0] = -1e4 / (1.0 + x[0] * x[0]));
    for build in [&flat as &dyn Fn() -> ClosureProblem, &inverse, &far, &distant, &arc] {
        let report = honest(build);
        assert_ne!(report.point, Point::Unbounded, "{}: {}", report.problem, report.message);
    }
}

type Formula = fn(&[f64]) -> f64;
type Slope = fn(&[f64], &mut [f64]);

/// An objective on a curve in the plane, `c(x, y) = bound`, from (1, 1).
fn on_a_curve(name: &str, bound: f64, (f, g): (Formula, Slope), (c, j): (Formula, Slope)) -> impl Fn() -> ClosureProblem {
    let meta = Meta::new(name, vec![1.0, 1.0]).equalities(&[bound]);
    move || {
        let builder = ClosureProblem::builder(meta.clone()).objective(f).gradient(g);
        builder.constraints(move |x, out| out[0] = c(x)).jacobian(j).build().unwrap()
    }
}

const HYPERBOLA: (Formula, Slope) = (|x| x[0] * x[1], |x, j| j.copy_from_slice(&[x[1], x[0]]));
const PARABOLA: (Formula, Slope) = (|x| x[1] - x[0] * x[0], |x, j| j.copy_from_slice(&[-2.0 * x[0], 1.0]));
const LEFT: (Formula, Slope) = (|x| -x[0], |_, g| g.copy_from_slice(&[-1.0, 0.0]));
const DOWN: (Formula, Slope) = (|x| -x[1], |_, g| g.copy_from_slice(&[0.0, -1.0]));
const UP: (Formula, Slope) = (|x| x[1], |_, g| g.copy_from_slice(&[0.0, 1.0]));

/// No ray stays on a hyperbola or a parabola.
#[test]
fn what_falls_without_bound_along_a_curve_is_named() {
    let hyperbola = on_a_curve("hyperbola", 1.0, LEFT, HYPERBOLA);
    let other = on_a_curve("other arm", 1.0, DOWN, HYPERBOLA);
    let parabola = on_a_curve("parabola", 0.0, DOWN, PARABOLA);
    for build in [&hyperbola as &dyn Fn() -> ClosureProblem, &other, &parabola] {
        let report = honest(build);
        assert_eq!((report.stop, report.point), (Stop::Unbounded, Point::Unbounded), "{}: {}", report.problem, report.message);
        assert!(report.feasibility <= 1e-6 && report.objective < -1e5, "{}: {}", report.problem, report.feasibility);
        // How far was looked is told: to the bottom.
        let followed = report.followed.expect("it was followed");
        assert!(followed.objective <= -1e20 && followed.largest >= 1e20, "{}: {followed:?}", report.problem);
        assert!(report.message.contains("it was followed to -"), "{}", report.message);
    }
}

/// `a x^2 - x` on a hyperbola, and the same of `y` on a parabola, have minima at `1 / 2 a`, far beyond twenty doublings of the distance.
#[test]
fn a_minimum_far_away_along_a_curve_is_one() {
    let near: (Formula, Slope) = (|x| x[0] * (1e-13 * x[0] - 1.0), |x, g| g.copy_from_slice(&[2e-13 * x[0] - 1.0, 0.0]));
    let far: (Formula, Slope) = (|x| x[0] * (1e-17 * x[0] - 1.0), |x, g| g.copy_from_slice(&[2e-17 * x[0] - 1.0, 0.0]));
    let up: (Formula, Slope) = (|x| x[1] * (1e-16 * x[1] - 1.0), |x, g| g.copy_from_slice(&[0.0, 2e-16 * x[1] - 1.0]));
    let hyperbola = on_a_curve("hyperbola", 1.0, near, HYPERBOLA);
    let farther = on_a_curve("farther", 1.0, far, HYPERBOLA);
    let parabola = on_a_curve("parabola", 0.0, up, PARABOLA);
    for build in [&hyperbola as &dyn Fn() -> ClosureProblem, &farther, &parabola] {
        let report = honest(build);
        assert_ne!(report.point, Point::Unbounded, "{}: {}", report.problem, report.message);
        assert_eq!(report.followed, None);
    }
}

#[test]
fn what_has_an_infimum_along_a_curve_is_not_called_unbounded() {
    let inverse = on_a_curve("inverse", 1.0, UP, HYPERBOLA);
    let far_away: (Formula, Slope) = (|x| x[0] * (5e-8 * x[0] - 1.0), |x, g| g.copy_from_slice(&[1e-7 * x[0] - 1.0, 0.0]));
    let far = on_a_curve("far", 1.0, far_away, HYPERBOLA);
    let arc: (Formula, Slope) = (|x| x[1] - x[0].atan(), |x, j| j.copy_from_slice(&[-1.0 / (1.0 + x[0] * x[0]), 1.0]));
    let limit = on_a_curve("limit", 0.0, DOWN, arc);
    for build in [&inverse as &dyn Fn() -> ClosureProblem, &far, &limit] {
        let report = honest(build);
        assert_ne!(report.point, Point::Unbounded, "{}: {}", report.problem, report.message);
    }
    // `x y = 1` and `y >= 1e-5`: x is at most 100,000, and a little farther within the tolerance.
    let report = honest(|| {
        let meta = Meta::new("arm", vec![1.0, 1.0]).equalities(&[1.0]).at_least(&[1e-5]);
        let builder = ClosureProblem::builder(meta).objective(LEFT.0).gradient(LEFT.1);
        builder
            .constraints(|x, c| c.copy_from_slice(&[x[0] * x[1], x[1]]))
            .jacobian(|x, j| j.copy_from_slice(&[x[1], x[0], 0.0, 1.0]))
            .build()
            .unwrap()
    });
    assert_ne!(report.point, Point::Unbounded, "{}", report.message);
}

/// How many times as long as half of the iterations the longest one takes: that which looks far away.
fn longest_iteration(problem: ClosureProblem) -> f64 {
    let mut solver = Solver::new(problem, Settings::default()).unwrap();
    let mut seconds = Vec::new();
    let mut is_over = false;
    while !is_over {
        let begun = Instant::now();
        is_over = solver.advance(&mut Silent).is_some();
        seconds.push(begun.elapsed().as_secs_f64());
    }
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() - 1] / seconds[seconds.len() / 2]
}

/// A look far away evaluates functions at some dozens of points; it takes no time that grows with the square of the number of variables, as that of a thousand
/// iterations would be with so many of them.
#[test]
fn a_look_far_away_is_linear_in_the_variables() {
    let n = 100_000;
    let flat = ClosureProblem::builder(Meta::new("flat", vec![1.0; n])).objective(|x| x[0].powi(4)).gradient(|x, g| {
        g.fill(0.0);
        g[0] = 4.0 * x[0].powi(3);
    });
    let hyperbola = ClosureProblem::builder(Meta::new("hyperbola", vec![1.0; n]).equalities(&[1.0]))
        .objective(|x| -x[0])
        .gradient(|_, g| {
            g.fill(0.0);
            g[0] = -1.0;
        })
        .constraints(|x, c| c[0] = x[0] * x[1])
        .jacobian(|x, values| {
            values.fill(0.0);
            values[..2].copy_from_slice(&[x[1], x[0]]);
        });
    for problem in [flat, hyperbola] {
        let longest = longest_iteration(problem.build().unwrap());
        assert!(longest < 20.0, "{longest} times as long as others");
    }
}
