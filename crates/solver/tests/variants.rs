//! Every normal step with every metric, with found and with given Lipschitz constants, where the theory promises convergence.

#[path = "support/referee.rs"]
mod referee;

use tangor_problem::{ClosureProblem, Meta};
use tangor_solver::{Error, Lipschitz, Mapping, MetricKind, NormalVariant, Point, Report, Row, Settings, Solver, solve};

const METRICS: [MetricKind; 4] =
    [MetricKind::Identity, MetricKind::Spectral, MetricKind::LimitedMemory, MetricKind::QuasiNewton];

/// Minimise `1/2 |x - (2, 1)|^2` on the circle around the origin through (1, 1): `L_f = 1`, `L_c = 2`.
fn circle() -> ClosureProblem {
    quadratic(Meta::new("circle", vec![1.0, -1.5]).equalities(&[2.0]))
}

/// The same in a disc and a box; the bound on the first variable holds at the solution (1, 1).
fn disc() -> ClosureProblem {
    quadratic(Meta::new("disc", vec![-0.5, 2.0]).bounds(&[-1.0, -1.0], &[1.0, 3.0]).at_most(&[2.0]))
}

fn quadratic(meta: Meta) -> ClosureProblem {
    ClosureProblem::builder(meta)
        .objective(|x| 0.5 * ((x[0] - 2.0).powi(2) + (x[1] - 1.0).powi(2)))
        .gradient(|x, g| g.copy_from_slice(&[x[0] - 2.0, x[1] - 1.0]))
        .constraints(|x, c| c[0] = x[0] * x[0] + x[1] * x[1])
        .jacobian(|x, values| values.copy_from_slice(&[2.0 * x[0], 2.0 * x[1]]))
        .build()
        .unwrap()
}

/// Minimise `1/2 |x|^2` on a plane, with its row twice: the Jacobian loses rank everywhere. `L_f = 1`, `L_c = 0`.
fn plane() -> ClosureProblem {
    ClosureProblem::builder(Meta::new("plane", vec![3.0, -1.0, 0.5]).equalities(&[3.0, 6.0]))
        .objective(|x| 0.5 * x.iter().map(|x| x * x).sum::<f64>())
        .gradient(|x, g| g.copy_from_slice(x))
        .constraints(|x, c| c.copy_from_slice(&[x.iter().sum::<f64>(), 2.0 * x.iter().sum::<f64>()]))
        .jacobian(|_, values| values.copy_from_slice(&[1.0, 1.0, 1.0, 2.0, 2.0, 2.0]))
        .build()
        .unwrap()
}

/// A problem, its solution, and its Lipschitz constants.
type Case = (fn() -> ClosureProblem, &'static [f64], (f64, f64));

const CIRCLE: Case = (circle, &[1.264911064067352, 0.632455532033676], (1.0, 2.0));
const DISC: Case = (disc, &[1.0, 1.0], (1.0, 2.0));
const PLANE: Case = (plane, &[1.0, 1.0, 1.0], (1.0, 0.0));

fn settings(variant: NormalVariant, metric: MetricKind, given: Option<(f64, f64)>) -> Settings {
    let mut settings = Settings::default();
    settings.normal.variant = variant;
    settings.metric.kind = metric;
    settings.limits.iterations = 20_000;
    if let Some((objective, constraints)) = given {
        settings.stepsize.lipschitz = Lipschitz::Given { objective, constraints };
    }
    settings
}

fn check(case: &Case, settings: &Settings, report: &Report) {
    let (build, x, _) = case;
    let what =
        format!("{} with {:?}, {:?}, {:?}", report.problem, settings.normal, settings.metric.kind, settings.stepsize.lipschitz);
    let found = referee::assert_honest(&mut build(), report);
    let iterations = report.iterations;
    assert_eq!(report.point, Point::EpsKkt, "{what}: {} after {iterations} iterations, {found:?}", report.message);
    let distance = report.x.iter().zip(*x).map(|(found, wanted)| (found - wanted).powi(2)).sum::<f64>().sqrt();
    assert!(distance < 1e-5, "{what}: {:?}", report.x);
}

#[test]
fn every_normal_step_with_every_metric() {
    let variants =
        [NormalVariant::Majorised, NormalVariant::Bounded, NormalVariant::BoundedOneNorm, NormalVariant::Regularised];
    for case in [CIRCLE, DISC, PLANE] {
        for variant in variants {
            for metric in METRICS {
                for given in [None, Some(case.2).filter(|_| metric != MetricKind::LimitedMemory)] {
                    let settings = settings(variant, metric, given);
                    check(&case, &settings, &solve(case.0(), settings.clone()).unwrap());
                }
            }
        }
    }
}

#[test]
fn every_mapping_with_every_metric() {
    // alpha must be less than 1 / |J J^T| for the first; J J^T is 4 |x|^2 on the circle, and 15 on the plane.
    let mappings = [
        Mapping::AugmentedLagrangian { alpha: 0.05 },
        Mapping::Sqp { alpha: 1.0 },
        Mapping::Hybrid { alpha1: 0.02, alpha2: 0.5 },
        Mapping::Regularised,
        Mapping::Own,
    ];
    for case in [CIRCLE, PLANE] {
        for mapping in mappings {
            for metric in METRICS {
                for given in [None, Some(case.2).filter(|_| metric != MetricKind::LimitedMemory)] {
                    let mut settings = settings(NormalVariant::Mapping, metric, given);
                    settings.normal.mapping = mapping;
                    let mut solver = Solver::with_mapping(case.0(), settings.clone(), gentle).unwrap();
                    let report = solver.run(&mut |_: &Row, _: &[f64]| std::ops::ControlFlow::Continue(()));
                    check(&case, &settings, &report);
                }
            }
        }
    }
}

/// `A = I / trace(J J^T)`
fn gentle(gram: &[f64], h: &[f64], a: &mut [f64]) {
    let m = h.len();
    let trace: f64 = (0..m).map(|i| gram[i * m + i]).sum();
    a.fill(0.0);
    (0..m).for_each(|i| a[i * m + i] = 1.0 / trace);
}

#[test]
fn the_theory_needs_no_merit_test() {
    let report = solve(circle(), settings(NormalVariant::Bounded, MetricKind::Identity, Some((1.0, 2.0)))).unwrap();
    assert_eq!(report.evaluations.objective, report.iterations + 1, "one value per iteration, and that at the start");
    assert!(report.unusual.iter().all(|(event, _)| *event == tangor_solver::Event::RankDeficient), "{:?}", report.unusual);
}

#[test]
fn mappings_refuse_what_they_cannot_do() {
    let mut settings = settings(NormalVariant::Mapping, MetricKind::Identity, None);
    let error = solve(disc(), settings.clone()).unwrap_err();
    assert!(matches!(error, Error::NotOnlyEqualities { .. }));
    assert!(error.to_string().contains("but problem disc has bounds or inequalities"), "{error}");
    settings.normal.mapping = Mapping::Own;
    assert!(matches!(solve(circle(), settings).unwrap_err(), Error::NoOwnMapping));
}
