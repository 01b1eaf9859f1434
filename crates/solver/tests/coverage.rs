//! How often a confidence statement is false, in a run that looks again and again and ends as soon as one look is good.
//!
//! The hardest truth for an upper bound is one just above the tolerance: whatever a run then claims to hold does not. Of many runs with other
//! seeds, 5 % may claim it at 95 % confidence; far fewer would mean that the bounds are wider than they need to be.

use std::thread;

use tangor_problem::{ClosureProblem, Meta, Noise, Noisy};
use tangor_solver::{MetricKind, Point, Settings, Stop, solve_sampled};

/// Runs of each kind: a share of 5 % is then known to 0.35 %.
const RUNS: u64 = 4000;

/// What is true, just above the tolerance of 1.
const TRUTH: f64 = 1.0 + 1e-9;

/// The function whose noise is looked at.
#[derive(Clone, Copy, Debug)]
enum Noisily {
    Constraint,
    Gradient,
    Everything,
}

/// A constraint that is violated, or a gradient that is not zero, by [`TRUTH`] wherever one is.
fn problem(kind: Noisily) -> Noisy<ClosureProblem> {
    let steep = if matches!(kind, Noisily::Constraint) { 0.0 } else { TRUTH };
    let violated = if matches!(kind, Noisily::Gradient) { 0.0 } else { TRUTH };
    // The bounds are far from anything that the run does, and none at infinity: nothing is unbounded.
    let meta = Meta::new("nowhere", vec![0.0]).bounds(&[-1e6], &[1e6]).equalities(&[0.0]);
    let problem = ClosureProblem::builder(meta)
        .objective(move |x| steep * x[0])
        .gradient(move |_, g| g[0] = steep)
        .constraints(move |_, c| c[0] = violated)
        .jacobian(|_, values| values[0] = 0.0)
        .build()
        .expect("all functions are there");
    let (gradient, constraints) = match kind {
        Noisily::Constraint => (0.0, 1.0),
        Noisily::Gradient => (1.0, 0.0),
        Noisily::Everything => (1.0, 1.0),
    };
    Noisy::new(problem, Noise { gradient, constraints, ..Noise::default() }).expect("valid levels")
}

fn settings(seed: u64, iterations: u64) -> Settings {
    let mut settings = Settings::default();
    settings.limits.iterations = iterations;
    // Steps of about 1: the bounds stay out of reach, at which a multiplier would make the claim true.
    settings.metric.kind = MetricKind::Identity;
    settings.sampling.seed = seed;
    settings.sampling.judge.every = 4;
    settings.sampling.judge.samples = 100;
    // A second look, at as many samples as tell of rare events, would make false claims rarer than each bound says.
    settings.sampling.judge.rarest = 1.0;
    settings.sampling.judge.patience = 0;
    settings.tolerance.stationarity = 1.0;
    settings.tolerance.feasibility = 1.0;
    settings.tolerance.complementarity = 1e9;
    settings
}

/// Whether a run claims that its point holds.
fn claims(problem: Noisy<ClosureProblem>, settings: Settings) -> bool {
    let report = solve_sampled(problem, settings).expect("valid");
    let (tolerance, rarest) = (&report.settings.tolerance, report.settings.sampling.judge.rarest);
    let claims = report.verdict.is_some_and(|verdict| verdict.holds(tolerance, rarest));
    assert!(claims || report.stop != Stop::Tolerance || report.point != Point::EpsKkt);
    claims
}

/// The share of runs that claim what is false.
fn false_claims(kind: Noisily, iterations: u64) -> f64 {
    let half = |first: u64| (first..RUNS).step_by(2).filter(|&seed| claims(problem(kind), settings(seed, iterations))).count();
    let halves = thread::scope(|scope| {
        let (even, odd) = (scope.spawn(|| half(0)), scope.spawn(|| half(1)));
        [even, odd].map(|half| half.join().expect("no panic"))
    });
    halves.iter().sum::<usize>() as f64 / RUNS as f64
}

/// `min -x` where the row `c <= 0` is `-TRUTH` and says that it grows with `x`: stationarity needs a multiplier of 1, less what its tolerance
/// allows, and complementarity is then above its own wherever one is.
fn held_at_a_distance() -> Noisy<ClosureProblem> {
    let meta = Meta::new("at a distance", vec![0.0]).bounds(&[-1e6], &[1e6]).at_most(&[0.0]);
    let problem = ClosureProblem::builder(meta)
        .objective(|x| -x[0])
        .gradient(|_, g| g[0] = -1.0)
        .constraints(|_, c| c[0] = -(1.0 + 2.0 * STATIONARY))
        .jacobian(|_, values| values[0] = 1.0)
        .build()
        .expect("all functions are there");
    Noisy::new(problem, Noise { constraints: 1.0, ..Noise::default() }).expect("valid levels")
}

/// The tolerance of stationarity beside complementarity.
const STATIONARY: f64 = 1e-4;

#[test]
fn complementarity_under_repeated_looks_is_true_as_often_as_it_says() {
    for iterations in [3, 30, 300] {
        let claims = (0..RUNS).filter(|&seed| {
            let mut settings = settings(seed, iterations);
            (settings.tolerance.stationarity, settings.tolerance.complementarity) = (STATIONARY, 1.0);
            claims(held_at_a_distance(), settings)
        });
        let coverage = 100.0 * (1.0 - claims.count() as f64 / RUNS as f64);
        println!("complementarity, {iterations} iterations: {coverage:.2} % of {RUNS} runs claim nothing false");
        assert!((93.0..=97.0).contains(&coverage), "{iterations} iterations: {coverage} %");
    }
}

#[test]
fn statements_under_repeated_looks_are_true_as_often_as_they_say() {
    // One look at the end, a few, many.
    for iterations in [3, 30, 300] {
        for kind in [Noisily::Constraint, Noisily::Gradient] {
            let coverage = 100.0 * (1.0 - false_claims(kind, iterations));
            println!("{kind:?}, {iterations} iterations: {coverage:.2} % of {RUNS} runs claim nothing false");
            assert!((93.0..=97.0).contains(&coverage), "{kind:?}, {iterations} iterations: {coverage} %");
        }
        // Where both bounds must be wrong for a false claim, hardly one is.
        let coverage = 100.0 * (1.0 - false_claims(Noisily::Everything, iterations));
        println!("everything, {iterations} iterations: {coverage:.2} %");
        assert!(coverage >= 93.0, "{coverage} %");
    }
}
