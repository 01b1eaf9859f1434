//! How much a run holds, beside the least limit on memory that lets it begin: what is compared with the limit is what is held.

use std::alloc::System;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicIsize, Ordering::Relaxed};
use std::time::Duration;

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use tangor_problem::{Evaluation, Meta, Noise, Noisy, Pattern, Problem, SampledProblem, SecondOrder};
use tangor_solver::{Error, MetricKind, Row, Settings, Solver, solve};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn held() -> isize {
    let stats = ALLOCATOR.stats();
    stats.bytes_allocated as isize - stats.bytes_deallocated as isize
}

/// What a run holds between two iterations, relative to the least limit, and the most within one. SECURITY.md says the same.
const LEAST: f64 = 0.9;
const MOST: f64 = 1.1;
const MOST_FOR_A_MOMENT: f64 = 1.5;

/// Products of matrices keep 4 MB in each thread that forms them, until it ends; long ones are formed aside, and one thread may not have ended yet when
/// the next begins.
const OF_THREADS: f64 = 8.4e6;

/// Where the least limit is looked for, relative to what is held.
const FAR: f64 = 2.0;

/// The shape of a problem.
#[derive(Clone, Copy)]
struct Shape {
    n: usize,
    m: usize,
    rows: Rows,
    /// Entries in a row; all if none is said.
    entries: Option<usize>,
    bounded: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Rows {
    Equal,
    AtLeast,
}

/// Sums of fourth powers, with rows `x_i + x_i+1 + ... = 1`.
struct Powers {
    meta: Meta,
    hessian: Pattern,
    shape: Shape,
}

impl Powers {
    fn new(shape: Shape) -> Self {
        let Shape { n, m, rows, entries, bounded } = shape;
        let meta = Meta::new("powers", vec![0.5; n]);
        let meta = if rows == Rows::Equal { meta.equalities(&vec![1.0; m]) } else { meta.at_least(&vec![1.0; m]) };
        let meta = if bounded { meta.bounds(&vec![0.0; n], &vec![1.0; n]) } else { meta };
        let meta = match entries {
            Some(entries) if m > 0 => meta.sparse((0..m).flat_map(|i| (0..entries).map(move |k| (i, (i + k) % n)))),
            _ => meta,
        };
        let hessian = Pattern::sparse((0..n).flat_map(|i| [(i, i)].into_iter().chain((i > 0).then_some((i, i.max(1) - 1)))));
        Powers { meta, hessian, shape }
    }
}

fn weight(i: usize) -> f64 {
    1.0 + (i % 7) as f64
}

impl Problem for Powers {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn objective(&mut self, x: &[f64]) -> Evaluation<f64> {
        Ok(x.iter().enumerate().map(|(i, x)| weight(i) * (x - 2.0).powi(4)).sum())
    }

    fn gradient(&mut self, x: &[f64], g: &mut [f64]) -> Evaluation {
        g.iter_mut().zip(x).enumerate().for_each(|(i, (g, x))| *g = 4.0 * weight(i) * (x - 2.0).powi(3));
        Ok(())
    }

    fn constraints(&mut self, x: &[f64], c: &mut [f64]) -> Evaluation {
        let entries = self.shape.entries.unwrap_or(2);
        c.iter_mut().enumerate().for_each(|(i, c)| *c = (0..entries).map(|k| x[(i + k) % x.len()]).sum());
        Ok(())
    }

    fn jacobian(&mut self, x: &[f64], values: &mut [f64]) -> Evaluation {
        match self.shape.entries {
            Some(_) => values.fill(1.0),
            None => {
                values.fill(0.0);
                values.chunks_exact_mut(x.len()).enumerate().for_each(|(i, row)| (row[i], row[i + 1]) = (1.0, 1.0));
            }
        }
        Ok(())
    }

    fn second_order(&mut self) -> Option<&mut dyn SecondOrder> {
        Some(self)
    }
}

impl SecondOrder for Powers {
    fn hessian_pattern(&self) -> &Pattern {
        &self.hessian
    }

    fn hessian(&mut self, x: &[f64], sigma: f64, _y: &[f64], values: &mut [f64]) -> Evaluation {
        for (k, value) in values.iter_mut().enumerate() {
            let (i, j) = self.hessian.place(k, x.len());
            *value = if i == j { 12.0 * sigma * weight(i) * (x[i] - 2.0).powi(2) } else { 0.0 };
        }
        Ok(())
    }
}

/// What a run needs and has, in bytes.
struct Measured {
    /// The least limit that lets it begin.
    limit: f64,
    /// What its report says that it held.
    told: f64,
    /// The most that it holds between two iterations, beside the problem, and ever, as often as somebody looked.
    held: f64,
    moment: f64,
}

/// Looks all the time how much is held while something is done.
fn watched<R>(work: impl FnOnce() -> R) -> (R, isize) {
    let (most, done) = (AtomicIsize::new(held()), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Relaxed) {
                most.fetch_max(held(), Relaxed);
                std::thread::sleep(Duration::from_micros(50));
            }
        });
        let result = work();
        done.store(true, Relaxed);
        (result, most.load(Relaxed))
    })
}

fn measured<S: SampledProblem>(
    shape: Shape,
    kind: MetricKind,
    start: impl Fn(Powers, Settings) -> Result<Solver<S>, Error>,
) -> Measured {
    let mut settings = Settings::default();
    settings.metric.kind = kind;
    settings.limits.iterations = 15;
    settings.tolerance.stationarity = 1e-14;
    let problem = Powers::new(shape);
    let before = held();
    let ((most, told), moment) = watched(|| {
        let mut solver = start(problem, settings.clone()).expect("it fits");
        let mut most = held() - before;
        let mut observer = |_: &Row, _: &[f64]| {
            most = most.max(held() - before);
            ControlFlow::<()>::Continue(())
        };
        let report = solver.run(&mut observer);
        (most.max(held() - before) as f64, report.memory.expect("counted") as f64)
    });
    let fits = |bytes: f64| {
        let mut settings = settings.clone();
        settings.limits.memory = Some(bytes as u64);
        start(Powers::new(shape), settings).is_ok()
    };
    let (mut low, mut high) = (most / FAR, most * FAR);
    assert!(!fits(low) && fits(high), "the least limit is not near the {most} bytes that are held");
    while high / low > 1.01 {
        let middle = (low * high).sqrt();
        if fits(middle) { high = middle } else { low = middle }
    }
    Measured { limit: high, told, held: most, moment: most.max((moment - before) as f64) }
}

fn noisy(problem: Powers, settings: Settings) -> Result<Solver<Noisy<Powers>>, Error> {
    Solver::sampled(Noisy::new(problem, Noise::level(1e-3)).expect("a level"), settings)
}

const fn shape(n: usize, m: usize, rows: Rows, entries: Option<usize>, bounded: bool) -> Shape {
    Shape { n, m, rows, entries, bounded }
}

const SHAPES: [Shape; 10] = {
    use Rows::{AtLeast, Equal};
    [
        shape(20_000, 0, Equal, None, false),
        shape(100_000, 0, Equal, None, true),
        shape(2_000, 1_000, Equal, Some(2), false),
        shape(2_000, 1_000, AtLeast, Some(2), true),
        shape(2_000, 5_000, AtLeast, Some(3), false),
        shape(100_000, 50_000, Equal, Some(2), false),
        shape(10_000, 5_000, AtLeast, Some(30), true),
        shape(1_000, 300, Equal, None, false),
        shape(1_000, 300, AtLeast, None, false),
        shape(300, 100, AtLeast, None, true),
    ]
};

#[test]
fn what_a_run_holds_is_what_its_limit_is_compared_with() {
    println!("{:<66}{:>10}{:>8}{:>8}{:>8}{:>8}", "", "limit MB", "told", "held MB", "ratio", "moment");
    // What products of matrices work in is kept by each thread from the first one on.
    solve(Powers::new(shape(500, 0, Rows::Equal, None, false)), Settings::default()).expect("it fits");
    let mut wrong = Vec::new();
    let kinds = [MetricKind::QuasiNewton, MetricKind::Identity, MetricKind::LimitedMemory, MetricKind::Exact];
    for (kind, is_noisy) in
        kinds.map(|kind| (kind, false)).into_iter().chain([(MetricKind::QuasiNewton, true), (MetricKind::Diagonal, true)])
    {
        for shape in SHAPES {
            let Measured { limit, told, held, moment } =
                if is_noisy { measured(shape, kind, noisy) } else { measured(shape, kind, Solver::new) };
            let aside = if kind == MetricKind::Exact && shape.entries.is_none() { OF_THREADS } else { 0.0 };
            let (ratio, moment) = (held / limit, moment / limit);
            let Shape { n, m, rows, entries, bounded } = shape;
            let noise = if is_noisy { "noisy" } else { "exact" };
            let name = format!(
                "{kind:?}, {noise}, n = {n}, m = {m} {rows:?}, {}{}",
                entries.map_or("dense".to_string(), |entries| format!("{entries} in a row")),
                if bounded { ", bounds" } else { "" }
            );
            println!("{name:<66}{:>10.2}{:>8.2}{:>8.2}{ratio:>8.2}{moment:>8.2}", limit / 1e6, told / 1e6, held / 1e6);
            // What subproblems take for a moment counts against the limit, and is not held.
            let is_told = LEAST * held <= told + aside && told <= 1.02 * limit;
            if !is_told || ratio < LEAST || held > MOST * limit + aside || moment > MOST_FOR_A_MOMENT {
                wrong.push(name);
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
