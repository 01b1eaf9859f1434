//! The loop allocates nothing after its first iteration, so memory does not grow with iterations, however many there are.
//!
//! Not counted: what the user's functions allocate, and iterations in which a function had no value (its message is kept) or Clarabel
//! was asked, both of which the row tells. In noisy runs judgements are counted, too. A batch that is larger than all before needs
//! memory for its draws: constant sizes, as here, need it only once.

#[path = "support/watched.rs"]
mod watched;

use std::alloc::System;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use tangor_collection::entries;
use tangor_problem::{Distribution, Draw, Evaluation, FiniteSum, Meta, Noise, Noisy, Problem, SampledProblem, Wanted};
use tangor_solver::{
    Batch, Estimator, Event, Factorisation, Mapping, MetricKind, NormalVariant, Row, Settings, Solver, Unusual,
};
use watched::{Watched, Watcher};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

static IN_FUNCTIONS: AtomicUsize = AtomicUsize::new(0);

fn allocations() -> usize {
    let stats = ALLOCATOR.stats();
    stats.allocations + stats.reallocations
}

fn live_bytes() -> isize {
    let stats = ALLOCATOR.stats();
    stats.bytes_allocated as isize - stats.bytes_deallocated as isize
}

/// Knows what a problem itself allocates.
struct Allocations;

impl Watcher for Allocations {
    fn watch<T>(&mut self, _: Wanted, _: &[Draw], evaluate: impl FnOnce() -> T) -> T {
        let before = allocations();
        let value = evaluate();
        IN_FUNCTIONS.fetch_add(allocations() - before, Ordering::Relaxed);
        value
    }
}

fn worst_iteration<P: Problem>(problem: P, settings: &Settings) -> (usize, u64) {
    worst_iteration_of(Solver::new(Watched(problem, Allocations), settings.clone()).unwrap())
}

/// The most that an ordinary iteration after the first allocates, and how many such iterations there were.
fn worst_iteration_of<S: SampledProblem>(mut solver: Solver<S>) -> (usize, u64) {
    let (mut worst, mut counted) = (0, 0);
    let mut stop = None;
    let mut first = true;
    while stop.is_none() {
        let mut unusual = Unusual::default();
        let mut observer = |row: &Row, _: &[f64]| {
            unusual = row.unusual;
            ControlFlow::Continue(())
        };
        let (all, in_functions) = (allocations(), IN_FUNCTIONS.load(Ordering::Relaxed));
        stop = solver.advance(&mut observer);
        let own = (allocations() - all) - (IN_FUNCTIONS.load(Ordering::Relaxed) - in_functions);
        // The iteration in which the run ends takes no step: it recomputes the result, which is no part of the loop. So does one whose end is not
        // confirmed, after which the run starts elsewhere.
        let exempt = [Event::Fallback, Event::Inexact, Event::Cone, Event::Undefined, Event::Elsewhere];
        let exempt = exempt.into_iter().any(|event| unusual.contains(event));
        if !first && !exempt && stop.is_none() {
            worst = worst.max(own);
            counted += 1;
        }
        first = false;
    }
    (worst, counted)
}

fn settings(metric: MetricKind, factorisation: Factorisation) -> Settings {
    let mut settings = Settings::default();
    settings.metric.kind = metric;
    settings.kernel.factorisation = factorisation;
    settings.limits.iterations = 200;
    settings
}

fn the_collection_allocates_nothing() {
    let kinds = [
        settings(MetricKind::QuasiNewton, Factorisation::Automatic),
        settings(MetricKind::Spectral, Factorisation::Automatic),
        settings(MetricKind::LimitedMemory, Factorisation::Automatic),
        settings(MetricKind::Identity, Factorisation::Sparse),
        settings(MetricKind::Spectral, Factorisation::Primal),
    ];
    let largest = |settings: &Settings| match settings.kernel.factorisation {
        Factorisation::Primal => 1000,
        _ => usize::MAX,
    };
    let iterations = kinds.iter().map(|settings| watch_the_collection(settings, largest(settings))).sum::<u64>();
    assert!(iterations > 2000, "only {iterations} iterations were watched");
}

/// Watches the embedded problems with so many variables at most; how many iterations these were.
fn watch_the_collection(settings: &Settings, largest: usize) -> u64 {
    let mut iterations = 0;
    for entry in entries() {
        let problem = (entry.build)();
        if problem.meta().n() > largest {
            continue;
        }
        let (worst, counted) = worst_iteration(problem, settings);
        let (metric, variant) = (settings.metric.kind, settings.normal.variant);
        assert_eq!(worst, 0, "{} with {metric:?}, {:?}, {variant:?}", entry.name, settings.kernel.factorisation);
        iterations += counted;
    }
    iterations
}

/// The paper's normal steps: the dense matrices of a null-space part that is bounded, or has a price, are there from the start.
fn the_normal_steps_of_the_paper_allocate_nothing() {
    for variant in [NormalVariant::Bounded, NormalVariant::Regularised] {
        let mut settings = settings(MetricKind::QuasiNewton, Factorisation::Automatic);
        settings.normal.variant = variant;
        // Beyond that a cone program takes the place of the matrices.
        let iterations = watch_the_collection(&settings, 150);
        assert!(iterations > 500, "{variant:?}: only {iterations} iterations were watched");
    }
}

/// Minimise `sum_i (x_i - i)^4` on a sphere: slow enough to run long.
struct Quartic(Meta);

impl Problem for Quartic {
    fn meta(&self) -> &Meta {
        &self.0
    }
    fn objective(&mut self, x: &[f64]) -> Evaluation<f64> {
        Ok(x.iter().enumerate().map(|(i, x)| (x - i as f64).powi(4)).sum())
    }
    fn gradient(&mut self, x: &[f64], g: &mut [f64]) -> Evaluation {
        g.iter_mut().zip(x).enumerate().for_each(|(i, (g, x))| *g = 4.0 * (x - i as f64).powi(3));
        Ok(())
    }
    fn constraints(&mut self, x: &[f64], c: &mut [f64]) -> Evaluation {
        c[0] = x.iter().map(|x| x * x).sum();
        Ok(())
    }
    fn jacobian(&mut self, x: &[f64], values: &mut [f64]) -> Evaluation {
        values.iter_mut().zip(x).for_each(|(value, x)| *value = 2.0 * x);
        Ok(())
    }
}

fn quartic() -> Quartic {
    Quartic(Meta::new("quartic", vec![0.5; 20]).equalities(&[100.0]))
}

fn mappings_allocate_nothing() {
    let mappings = [Mapping::Sqp { alpha: 1.0 }, Mapping::AugmentedLagrangian { alpha: 0.01 }, Mapping::Regularised];
    for mapping in mappings {
        let mut settings = settings(MetricKind::Spectral, Factorisation::Automatic);
        settings.normal.variant = NormalVariant::Mapping;
        settings.normal.mapping = mapping;
        let (worst, counted) = worst_iteration(quartic(), &settings);
        assert_eq!(worst, 0, "{mapping:?}");
        assert!(counted > 5, "{mapping:?}: only {counted} iterations");
    }
}

/// Momentum or mini-batches, with judgements, probes and averages, for so many iterations.
fn noisy_settings(estimator: Estimator, iterations: u64) -> Settings {
    let mut settings = settings(MetricKind::QuasiNewton, Factorisation::Automatic);
    settings.limits.iterations = iterations;
    let sampling = &mut settings.sampling;
    (sampling.average, sampling.judge.every, sampling.judge.samples) = (20, 50, 200);
    for function in [&mut sampling.gradient, &mut sampling.constraints, &mut sampling.jacobian] {
        function.estimator = estimator;
        function.batch = Batch::Constant { size: if estimator == Estimator::Minibatch { 5 } else { 1 } };
    }
    settings
}

/// The noise is made here, so that its own allocations are counted: those of the exact functions are not.
fn noise_allocates_nothing() {
    let forms = [
        (Estimator::Momentum, Noise::level(1e-2), MetricKind::QuasiNewton),
        // What runs above the largest dense metric have.
        (Estimator::Momentum, Noise::level(1e-2), MetricKind::LimitedMemory),
        (Estimator::Minibatch, Noise::level(1e-2), MetricKind::QuasiNewton),
        (
            Estimator::Momentum,
            Noise::level(1e-3).multiplicative().distribution(Distribution::HeavyTailed),
            MetricKind::QuasiNewton,
        ),
        // Semi-stochastic: exact constraints.
        (Estimator::Momentum, Noise { gradient: 1e-2, ..Noise::default() }, MetricKind::QuasiNewton),
    ];
    for (estimator, noise, metric) in forms {
        let (mut iterations, mut judged) = (0, 0);
        for entry in entries() {
            let problem = Noisy::new(Watched((entry.build)(), Allocations), noise).unwrap();
            if problem.meta().n() > 100 {
                continue;
            }
            let mut settings = noisy_settings(estimator, 120);
            settings.metric.kind = metric;
            let (worst, counted) = worst_iteration_of(Solver::sampled(problem, settings).unwrap());
            assert_eq!(worst, 0, "{} with {estimator:?}, {metric:?} and {noise:?}", entry.name);
            iterations += counted;
            judged += u64::from(counted > 100);
        }
        assert!(iterations > 5000, "only {iterations} iterations were watched");
        assert!(judged > 30, "only {judged} runs were watched beyond their judgements");
    }
}

/// Minimise the mean of `|x - row|^2 / 2` where the mean of `x^T row` is 1: all three functions share their draws.
fn sums_allocate_nothing() {
    const WIDTH: usize = 4;
    let data = |row: usize, i: usize| ((row * WIDTH + i) as f64).sin() + i as f64;
    for (estimator, shared_draws) in [(Estimator::Momentum, true), (Estimator::Minibatch, true), (Estimator::Momentum, false)] {
        let sum = FiniteSum::new(Meta::new("sum", vec![0.0; WIDTH]).equalities(&[1.0]), 5000)
            .term_objective(move |row, x| 0.5 * x.iter().enumerate().map(|(i, x)| (x - data(row, i)).powi(2)).sum::<f64>())
            .term_gradient(move |row, x, g| g.iter_mut().zip(x).enumerate().for_each(|(i, (g, x))| *g += x - data(row, i)))
            .term_constraints(move |row, x, c| c[0] += x.iter().enumerate().map(|(i, x)| x * data(row, i)).sum::<f64>())
            .term_jacobian(move |row, _, values| values.iter_mut().enumerate().for_each(|(i, value)| *value += data(row, i)));
        let mut settings = noisy_settings(estimator, 400);
        settings.sampling.shared_draws = shared_draws;
        let (worst, counted) = worst_iteration_of(Solver::sampled(Watched(sum.sampled(), Allocations), settings).unwrap());
        assert_eq!(worst, 0, "{estimator:?}, shared draws: {shared_draws}");
        assert!(counted > 300, "only {counted} iterations");
    }
}

/// Live bytes after each of so many iterations, at most.
fn most_live_bytes(iterations: u64) -> (isize, u64) {
    let before = live_bytes();
    let mut settings = settings(MetricKind::Identity, Factorisation::Automatic);
    settings.limits.iterations = iterations;
    settings.tolerance.stationarity = 1e-300;
    let (mut most, mut rows) = (0, 0);
    let mut observer = |_: &Row, _: &[f64]| {
        most = most.max(live_bytes() - before);
        rows += 1;
        ControlFlow::Continue(())
    };
    let mut solver = Solver::new(quartic(), settings).unwrap();
    while solver.advance(&mut observer).is_none() {}
    (most, rows)
}

fn memory_does_not_grow() {
    let (short, short_rows) = most_live_bytes(100);
    let (long, long_rows) = most_live_bytes(1000);
    assert!(long_rows >= 9 * short_rows, "{long_rows} rows after {short_rows}");
    assert_eq!(short, long, "ten times as many iterations need more memory");
}

/// No test harness: its own thread allocates when it likes to, and would be counted.
fn main() {
    let parts: [(&str, fn()); 6] = [
        ("the_collection_allocates_nothing", the_collection_allocates_nothing),
        ("the_normal_steps_of_the_paper_allocate_nothing", the_normal_steps_of_the_paper_allocate_nothing),
        ("mappings_allocate_nothing", mappings_allocate_nothing),
        ("noise_allocates_nothing", noise_allocates_nothing),
        ("sums_allocate_nothing", sums_allocate_nothing),
        ("memory_does_not_grow", memory_does_not_grow),
    ];
    for (name, part) in parts {
        part();
        println!("test {name} ... ok");
    }
}
