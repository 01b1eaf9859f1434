//! The Hessian of the Lagrangian as the metric.

use tangor_collection::{What, entries};
use tangor_problem::{ClosureProblem, Exact, Meta, Noise, Noisy};
use tangor_solver::{Error, MetricKind, Point, Report, Settings, Solver, solve};

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
