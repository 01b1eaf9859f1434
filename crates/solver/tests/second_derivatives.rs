//! The Hessian of the Lagrangian as the metric.

use std::ops::ControlFlow;

use tangor_collection::{What, entries};
use tangor_problem::{ClosureProblem, Differentiated, Exact, Formulas, Meta, Noise, Noisy, Number};
use tangor_solver::{Error, MetricKind, Point, Report, Row, Scaling, Settings, Solver, solve};

fn settings(kind: MetricKind) -> Settings {
    let mut settings = Settings::default();
    settings.metric.kind = kind;
    settings
}

fn run(entry: &tangor_collection::Entry, kind: MetricKind) -> Report {
    solve((entry.build)(), settings(kind)).expect("a valid problem")
}

fn median(values: Vec<u64>) -> f64 {
    tangor_figure::median(values.into_iter().map(|value| value as f64)).expect("there are values")
}

#[test]
fn second_derivatives_save_iterations() {
    let (mut learnt, mut given, mut missed) = (Vec::new(), Vec::new(), Vec::new());
    for entry in entries().iter().filter(|entry| entry.known.what == What::Solution) {
        let (one, other) = (run(entry, MetricKind::QuasiNewton), run(entry, MetricKind::Exact));
        if other.point != Point::EpsKkt && one.point == Point::EpsKkt {
            missed.push(entry.name);
        } else if one.point == Point::EpsKkt {
            learnt.push(one.iterations);
            given.push(other.iterations);
        }
        assert!(other.evaluations.hessian > 0 || !(entry.build)().meta().has_objective, "{}", entry.name);
    }
    let (all, one, other) = (learnt.len(), median(learnt), median(given));
    println!("{all} solved by both, median {one} iterations with first derivatives and {other} with second; missed {missed:?}");
    assert!(other < one, "{other} iterations with second derivatives, {one} without");
    assert!(missed.len() <= 3 && all >= 60, "{all} by both, missed {missed:?}");
}

#[test]
fn without_second_derivatives_it_is_refused() {
    let meta = Meta::new("bare", vec![1.0]);
    let bare = || {
        let builder = ClosureProblem::builder(meta.clone()).objective(|x| x[0] * x[0]);
        builder.gradient(|x, g| g[0] = 2.0 * x[0]).build().expect("complete")
    };
    let refused = |error: Option<Error>| matches!(error, Some(Error::NoSecondDerivatives { name }) if name == "bare");
    assert!(refused(Solver::new(bare(), settings(MetricKind::Exact)).err()));
    let noisy = Noisy::new(bare(), Noise::level(1e-3)).expect("a valid level");
    assert!(refused(Solver::sampled(noisy, settings(MetricKind::Exact)).err()));
    let noisy = Solver::sampled(Exact(bare()), settings(MetricKind::Exact));
    assert!(refused(noisy.err()));
}

/// `1/2 (1e7 x^2 + 1e-6 (y - 100)^2)`
struct Flat;

impl Formulas for Flat {
    fn objective<D: Number>(&self, x: &[D]) -> D {
        (x[0].square() * 1e7 + (x[1] - 100.0).square() * 1e-6) * 0.5
    }
}

#[test]
fn a_flat_direction_is_followed_to_its_end() {
    // One Newton step is all. What descends along y is 5e-3, and no more than that may be asked for.
    let flat = Differentiated::new(Meta::new("flat", vec![1.0, 0.0]), Flat);
    let report = solve(flat, Settings { scaling: Scaling::None, ..settings(MetricKind::Exact) }).expect("valid");
    assert_eq!(report.point, Point::EpsKkt);
    assert!(report.iterations <= 3 && (report.x[1] - 100.0).abs() < 1.0, "{} iterations, {:?}", report.iterations, report.x);
}

/// `1e6 (x^2 - 1)^2 + 1/2 (y - 50)^2`
struct Beside;

impl Formulas for Beside {
    fn objective<D: Number>(&self, x: &[D]) -> D {
        (x[0].square() - 1.0).square() * 1e6 + (x[1] - 50.0).square() * 0.5
    }
}

#[test]
fn negative_curvature_in_one_variable_does_not_hold_back_another() {
    // At x = 0.1 the curvature along x is -3.88e6; were so much added to that along y, too, the first step would have the length 1e-5 there.
    let beside = Differentiated::new(Meta::new("beside", vec![0.1, 0.0]), Beside);
    let mut solver = Solver::new(beside, Settings { scaling: Scaling::None, ..settings(MetricKind::Exact) }).expect("valid");
    let mut points = Vec::new();
    while points.len() < 2 {
        solver.advance(&mut |_: &Row, x: &[f64]| {
            points.push(x.to_vec());
            ControlFlow::Continue(())
        });
    }
    assert!(points[1][1] > 1.0, "{points:?}");
}
