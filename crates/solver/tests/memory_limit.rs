//! How much more a run holds at a time than the least limit on memory that lets it begin: what is compared with the limit is what it needs at least.

use std::alloc::System;
use std::ops::ControlFlow;

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use tangor_problem::{ClosureProblem, Meta};
use tangor_solver::{MetricKind, Row, Settings, Solver};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn held() -> isize {
    let stats = ALLOCATOR.stats();
    stats.bytes_allocated as isize - stats.bytes_deallocated as isize
}

/// What SECURITY.md says.
const MOST: f64 = 4.0;

/// Sums of squares, with rows `x_i + x_i+1 = 1` for the first few, equalities or not.
fn problem(n: usize, m: usize, equal: bool, dense: bool) -> ClosureProblem {
    let meta = Meta::new("squares", vec![0.5; n]);
    let meta = if equal { meta.equalities(&vec![1.0; m]) } else { meta.at_least(&vec![1.0; m]) };
    let places: Vec<(usize, usize)> = (0..m).flat_map(|i| [(i, i), (i, i + 1)]).collect();
    let meta = if dense || m == 0 { meta } else { meta.sparse(places) };
    let builder = ClosureProblem::builder(meta)
        .objective(|x| x.iter().enumerate().map(|(i, x)| (1.0 + (i % 7) as f64) * (x - 2.0).powi(4)).sum::<f64>())
        .gradient(|x, g| {
            g.iter_mut().zip(x).enumerate().for_each(|(i, (g, x))| *g = 4.0 * (1.0 + (i % 7) as f64) * (x - 2.0).powi(3));
        });
    let builder = match m {
        0 => builder,
        _ => builder.constraints(move |x, c| (0..m).for_each(|i| c[i] = x[i] + x[i + 1])).jacobian(
            move |_, values| match dense {
                false => values.fill(1.0),
                true => (0..m).for_each(|i| (values[i * n + i], values[i * n + i + 1]) = (1.0, 1.0)),
            },
        ),
    };
    builder.build().unwrap()
}

/// The least limit in bytes that lets the run begin, and the most that it holds after an iteration, beside the problem.
fn measured(build: impl Fn() -> ClosureProblem, kind: MetricKind) -> (f64, f64) {
    let mut settings = Settings::default();
    settings.metric.kind = kind;
    settings.limits.iterations = 15;
    settings.tolerance.stationarity = 1e-14;
    let starts = |bytes: f64| {
        let mut settings = settings.clone();
        settings.limits.memory = Some(bytes as u64);
        Solver::new(build(), settings).is_ok()
    };
    let (mut low, mut high) = (1e3f64, 1e11f64);
    while high / low > 1.02 {
        let middle = (low * high).sqrt();
        if starts(middle) { high = middle } else { low = middle }
    }
    let problem = build();
    let before = held();
    settings.limits.memory = Some(high as u64);
    let mut solver = Solver::new(problem, settings).unwrap();
    let mut most = held() - before;
    let mut observer = |_: &Row, _: &[f64]| {
        most = most.max(held() - before);
        ControlFlow::<()>::Continue(())
    };
    let _report = solver.run(&mut observer);
    (high, most.max(held() - before) as f64)
}

#[test]
fn a_run_holds_at_most_four_times_its_least_limit() {
    println!("{:<44}{:>10}{:>10}{:>8}", "", "limit MB", "held MB", "ratio");
    let mut wrong = Vec::new();
    for kind in [MetricKind::QuasiNewton, MetricKind::Identity, MetricKind::Spectral, MetricKind::LimitedMemory] {
        for (n, m, equal, dense) in [
            (20_000, 0, true, false),
            (2_000, 1_000, true, false),
            (2_000, 1_000, false, false),
            (1_000, 300, true, true),
            (1_000, 300, false, true),
            (300, 100, false, true),
        ] {
            let (limit, held) = measured(|| problem(n, m, equal, dense), kind);
            let ratio = held / limit;
            let name = format!("{kind:?}, n = {n}, m = {m}, {}", if dense { "dense" } else { "sparse" });
            println!("{name:<44}{:>10.2}{:>10.2}{ratio:>8.2}", limit / 1e6, held / 1e6);
            if ratio > MOST {
                wrong.push(name);
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}
