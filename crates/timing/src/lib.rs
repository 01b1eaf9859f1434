//! How the benchmarks of readers take time: the best of many evaluations of a problem, and the same functions as straight-line compiled code beside
//! those from a file.

use std::hint::black_box;
use std::time::{Duration, Instant};

use tangor_problem::{FunctionValues, Problem, Wanted};

/// Rows of a problem that is compared with compiled code: few enough for one thread.
pub const ROWS: usize = 8_000;

/// The best time of many runs; each is told its number, and says whether it could be done.
pub fn best(mut run: impl FnMut(usize) -> bool) -> Duration {
    let clock = Instant::now();
    let mut best = Duration::MAX;
    let mut runs = 0;
    while runs < 5 || (runs < 1000 && clock.elapsed() < Duration::from_millis(300)) {
        let start = Instant::now();
        assert!(run(runs), "it can be done");
        best = best.min(start.elapsed());
        runs += 1;
    }
    best
}

/// Two points to be taken in turn: at the same point as before, nothing would be computed again.
pub fn points(problem: &impl Problem) -> [Vec<f64>; 2] {
    let x = problem.meta().x0.clone();
    let moved = x.iter().map(|x| x + 1e-3).collect();
    [x, moved]
}

/// The best of many evaluations of objective, gradient, constraints and Jacobian, one after the other.
pub fn separately(problem: &mut impl Problem) -> Duration {
    let FunctionValues { mut gradient, mut constraints, mut jacobian, .. } = FunctionValues::new(problem.meta());
    let points = points(problem);
    best(|run| {
        let x = &points[run % 2];
        let f = problem.objective(x);
        let results =
            [problem.gradient(x, &mut gradient), problem.constraints(x, &mut constraints), problem.jacobian(x, &mut jacobian)];
        black_box((f, results)).0.is_ok()
    })
}

/// The same in one pass.
pub fn together(problem: &mut impl Problem) -> Duration {
    let mut values = FunctionValues::new(problem.meta());
    let points = points(problem);
    best(|run| values.evaluate(problem, &points[run % 2], Wanted::ALL).is_ok())
}

/// The time of the separate calls and that of one pass, in turn, so that both meet the same load of the machine.
pub fn both(problem: &mut impl Problem) -> (Duration, Duration) {
    let (mut apart, mut at_once) = (Duration::MAX, Duration::MAX);
    for _ in 0..3 {
        apart = apart.min(separately(problem));
        at_once = at_once.min(together(problem));
    }
    (apart, at_once)
}

/// Prints the time of one evaluation of all rows `f(x_i, x_{i+1}) + x_i` and of their Jacobian, from a file and compiled.
pub fn compare(name: &str, problem: &mut impl Problem, value: fn(f64, f64) -> f64, slopes: impl Fn(f64, f64) -> (f64, f64)) {
    let file = separately(problem);
    let points = points(problem);
    let (mut c, mut values) = (vec![0.0; ROWS], vec![0.0; 2 * ROWS]);
    let compiled = best(|run| {
        let x = black_box(&points[run % 2]);
        for i in 0..ROWS {
            c[i] = value(x[i], x[i + 1]) + x[i];
        }
        for i in 0..ROWS {
            let (first, second) = slopes(x[i], x[i + 1]);
            (values[2 * i], values[2 * i + 1]) = (first + 1.0, second);
        }
        black_box((&c, &values)).0.len() == ROWS
    });
    let per_row = |time: Duration| time.as_secs_f64() * 1e9 / ROWS as f64;
    println!("{name:<34} {:>12.2} {:>14.2} {:>7.1}", per_row(file), per_row(compiled), per_row(file) / per_row(compiled));
}
