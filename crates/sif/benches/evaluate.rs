//! How long reading and evaluating take: `cargo bench -p tangor-sif`.
//!
//! The first table is the collection (the folder that `MASTSIF` names, or `../shared/cutest/sif`), the second compares the
//! same function from a SIF text and as straight-line compiled code.

#[path = "../tests/common/mod.rs"]
mod common;

use std::path::Path;
use std::time::{Duration, Instant};

use common::Collection;
use tangor_problem::Problem;
use tangor_sif::{Options, SifProblem};
use tangor_timing::{ROWS, both, compare};

fn main() {
    // `cargo test --benches` runs benchmarks too, with this argument absent.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    if let Some(collection) = Collection::find() {
        collection_tables(&collection);
    }
    println!("\n{:<34} {:>12} {:>14} {:>7}", "shape, 8000 rows, one thread", "SIF ns/row", "compiled", "ratio");
    compare_shapes();
}

/// Reads a file; its name, the problem and how long it took.
fn timed_read(path: &Path) -> Option<(String, SifProblem, Duration)> {
    let name = path.file_stem()?.to_string_lossy().into_owned();
    let clock = Instant::now();
    match tangor_sif::read(path, &Options::default()) {
        Ok(problem) => Some((name, problem, clock.elapsed())),
        Err(error) => {
            println!("{error}");
            None
        }
    }
}

fn collection_tables(collection: &Collection) {
    let mut problems: Vec<_> = collection.files().iter().filter_map(|path| timed_read(path)).collect();
    let total: Duration = problems.iter().map(|(.., time)| *time).sum();
    println!("{} files read in {:.3} s", problems.len(), total.as_secs_f64());
    problems.sort_by_key(|(.., time)| std::cmp::Reverse(*time));
    for (name, _, time) in problems.iter().take(5) {
        println!("  {name:<12} {:.3} s", time.as_secs_f64());
    }

    problems.sort_by_key(|(_, problem, _)| std::cmp::Reverse(problem.elements() + problem.meta().jacobian_len()));
    println!(
        "\n{:<12} {:>8} {:>8} {:>9} {:>9} {:>12} {:>11} {:>11} {:>9}",
        "f, g, c, J", "n", "m", "elements", "nonzeros", "us", "ns/element", "ns/nonzero", "one pass"
    );
    let mut ratios = Vec::new();
    for (name, problem, _) in problems.iter_mut().take(10) {
        let (time, pass) = both(problem);
        let time = time.as_secs_f64() * 1e9;
        let ratio = pass.as_secs_f64() * 1e9 / time;
        ratios.push(ratio);
        let (meta, elements) = (problem.meta(), problem.elements());
        let nonzeros = meta.jacobian_len();
        println!(
            "{name:<12} {:>8} {:>8} {elements:>9} {nonzeros:>9} {:>12.1} {:>11.1} {:>11.1} {ratio:>9.2}",
            meta.n(),
            meta.m(),
            time / 1e3,
            time / elements as f64,
            time / nonzeros as f64
        );
    }
    println!("one pass over the separate calls: median {:.2}", tangor_figure::median(ratios).unwrap_or(f64::NAN));
}

/// `c_i = f(x_i, x_{i+1}) + x_i` with the value and derivatives of `f` as a SIF text codes them.
fn text(value: &str, first: &str, second: &str) -> String {
    let n = ROWS + 1;
    format!(
        "\
NAME          SHAPE
 IE 1                   1
 IE M                   {ROWS}
 IE N                   {n}
VARIABLES
 DO I         1                        N
 X  X(I)
 ND
GROUPS
 DO I         1                        M
 XE C(I)      X(I)      1.0
 ND
START POINT
    SHAPE     'DEFAULT' 0.5
ELEMENT TYPE
 EV T         U                        V
ELEMENT USES
 T  'DEFAULT' T
 DO I         1                        M
 IA J         I         1
 ZV E(I)      U                        X(I)
 ZV E(I)      V                        X(J)
 ND
GROUP USES
 DO I         1                        M
 XE C(I)      E(I)
 ND
ENDATA
ELEMENTS      SHAPE
INDIVIDUALS
 T  T
 F                      {value}
 G  U                   {first}
 G  V                   {second}
ENDATA
"
    )
}

fn compare_shapes() {
    let read = |text: &str| tangor_sif::parse(text, "shape", &Options::default()).unwrap_or_else(|error| panic!("{error}"));
    let product = text("U * V", "V", "U");
    compare("product: u v", &mut read(&product), |u, v| u * v, |u, v| (v, u));
    let wave = text("EXP( U ) * SIN( V )", "EXP( U ) * SIN( V )", "EXP( U ) * COS( V )");
    let slopes = |u: f64, v: f64| (u.exp() * v.sin(), u.exp() * v.cos());
    compare("transcendental: exp(u) sin(v)", &mut read(&wave), |u, v| u.exp() * v.sin(), slopes);
}
