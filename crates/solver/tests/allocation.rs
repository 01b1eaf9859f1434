//! The loop allocates nothing after its first iteration, so memory does not grow with iterations, however many there are.
//!
//! Not counted: what the user's functions allocate, and iterations in which a function had no value (its message is kept) or Clarabel
//! was asked, both of which the row tells.

use std::alloc::System;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use tangor_collection::entries;
use tangor_problem::{Evaluation, Meta, Problem};
use tangor_solver::{Event, Factorisation, Mapping, MetricKind, NormalVariant, Row, Settings, Solver, Unusual};

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

/// A problem whose own allocations are known.
struct Watched<P>(P);

impl<P> Watched<P> {
    fn watch<T>(&mut self, evaluate: impl FnOnce(&mut P) -> T) -> T {
        let before = allocations();
        let value = evaluate(&mut self.0);
        IN_FUNCTIONS.fetch_add(allocations() - before, Ordering::Relaxed);
        value
    }
}

impl<P: Problem> Problem for Watched<P> {
    fn meta(&self) -> &Meta {
        self.0.meta()
    }
    fn objective(&mut self, x: &[f64]) -> Evaluation<f64> {
        self.watch(|problem| problem.objective(x))
    }
    fn gradient(&mut self, x: &[f64], g: &mut [f64]) -> Evaluation {
        self.watch(|problem| problem.gradient(x, g))
    }
    fn constraints(&mut self, x: &[f64], c: &mut [f64]) -> Evaluation {
        self.watch(|problem| problem.constraints(x, c))
    }
    fn jacobian(&mut self, x: &[f64], values: &mut [f64]) -> Evaluation {
        self.watch(|problem| problem.jacobian(x, values))
    }
}

/// The most that an ordinary iteration after the first allocates, and how many such iterations there were.
fn worst_iteration<P: Problem>(problem: P, settings: &Settings) -> (usize, u64) {
    let mut solver = Solver::new(Watched(problem), settings.clone()).unwrap();
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
        let exempt = [Event::Fallback, Event::Cone, Event::Undefined].into_iter().any(|event| unusual.contains(event));
        if !first && !exempt {
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
        settings(MetricKind::Identity, Factorisation::Sparse),
        settings(MetricKind::Spectral, Factorisation::Primal),
    ];
    let mut iterations = 0;
    for settings in kinds {
        for entry in entries() {
            let problem = (entry.build)();
            if settings.kernel.factorisation == Factorisation::Primal && problem.meta().n() > 1000 {
                continue;
            }
            let (worst, counted) = worst_iteration(problem, &settings);
            assert_eq!(worst, 0, "{} with {:?}, {:?}", entry.name, settings.metric.kind, settings.kernel.factorisation);
            iterations += counted;
        }
    }
    assert!(iterations > 2000, "only {iterations} iterations were watched");
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

/// One test: what another thread allocates would be counted, too.
#[test]
fn the_loop_allocates_nothing() {
    the_collection_allocates_nothing();
    mappings_allocate_nothing();
    memory_does_not_grow();
}
