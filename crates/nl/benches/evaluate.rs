//! How long reading and evaluating take: `cargo bench -p tangor-nl`.
//!
//! The first table is reading, of the models beside the repository (`../shared/nl`) and of a large one that is made here; the second is
//! evaluation of the largest models; the third compares the same functions from a file and as straight-line compiled code. With
//! `-- --asl PROGRAM`, which `asl.c` beside this file says how to make, a fourth sets AMPL's own library beside the largest models.

#[path = "../tests/common/mod.rs"]
mod common;
mod texts;

use std::time::Duration;

use common::binary::binary;
use common::{folders, models};
use tangor_nl::{NlProblem, Options, parse};
use tangor_problem::{Problem, SecondOrder};
use tangor_timing::{best, both, compare, points, separately};
use texts::{collocation, shape};

fn main() {
    // `cargo test --benches` runs benchmarks too, with this argument absent.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let files: Vec<(String, Vec<u8>)> = folders().map_or_else(Vec::new, |(folder, _)| {
        let named = |path: std::path::PathBuf| {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            (name, std::fs::read(&path).expect("a file can be read"))
        };
        models(&folder).into_iter().map(named).collect()
    });
    let library = std::env::args().skip_while(|argument| argument != "--asl").nth(1);
    if let Some(program) = library {
        return beside(&files, &program);
    }
    reading(&files);
    evaluation(&files);
    shapes();
}

/// The same evaluations by AMPL's library, model by model in turn, so that both meet the same load of the machine.
fn beside(files: &[(String, Vec<u8>)], program: &str) {
    let Some((folder, _)) = folders() else { return };
    let mut problems: Vec<(&str, NlProblem)> =
        files.iter().filter_map(|(name, file)| Some((name.as_str(), parse(file, name, &Options::default()).ok()?))).collect();
    problems.sort_by_key(|(_, problem)| std::cmp::Reverse(problem.info().operations + problem.meta().jacobian_len()));
    problems.truncate(24);
    println!("{:<12} {:>10} {:>9} {:>10} {:>10} {:>7}", "f, g, c, J", "operations", "nonzeros", "us", "AMPL us", "ratio");
    let mut ratios = Vec::new();
    for (name, problem) in &mut problems {
        let library = |_| {
            let answer = std::process::Command::new(program).arg(folder.join(format!("{name}.nl"))).output();
            let answer = String::from_utf8_lossy(&answer.expect("the program can be started").stdout).into_owned();
            answer.split_whitespace().last().and_then(|time| time.parse::<f64>().ok()).expect("a time")
        };
        let (mut ours, mut theirs) = (f64::INFINITY, f64::INFINITY);
        for turn in 0..3 {
            ours = ours.min(separately(problem).as_secs_f64() * 1e6);
            theirs = theirs.min(library(turn));
        }
        let (operations, nonzeros) = (problem.info().operations, problem.meta().jacobian_len());
        println!("{name:<12} {operations:>10} {nonzeros:>9} {ours:>10.1} {theirs:>10.1} {:>7.2}", ours / theirs);
        ratios.push(ours / theirs);
    }
    let worst = ratios.iter().copied().fold(0.0, f64::max);
    let median = tangor_figure::median(ratios).unwrap_or(f64::NAN);
    println!("ratio: median {median:.2}, worst {worst:.2}");
}

fn reading(files: &[(String, Vec<u8>)]) {
    println!("{:<34} {:>10} {:>10} {:>10}", "reading", "MB", "ms", "MB/s");
    let line = |name: &str, bytes: usize, time: Duration| {
        let (megabytes, seconds) = (bytes as f64 / 1e6, time.as_secs_f64());
        println!("{name:<34} {megabytes:>10.2} {:>10.2} {:>10.1}", seconds * 1e3, megabytes / seconds);
    };
    for (name, letter) in [("text models", b'g'), ("binary models", b'b')] {
        let chosen: Vec<&Vec<u8>> = files.iter().map(|(_, file)| file).filter(|file| file[0] == letter).collect();
        if chosen.is_empty() {
            continue;
        }
        let time = best(|_| chosen.iter().filter(|file| parse(file, "model", &Options::default()).is_ok()).count() > 0);
        line(name, chosen.iter().map(|file| file.len()).sum(), time);
    }
    let text = collocation(20_000);
    line("collocation, text", text.len(), best(|_| parse(text.as_bytes(), "text", &Options::default()).is_ok()));
    let bytes = binary(&text, false);
    line("collocation, binary", bytes.len(), best(|_| parse(&bytes, "binary", &Options::default()).is_ok()));
}

fn evaluation(files: &[(String, Vec<u8>)]) {
    let mut problems: Vec<(&str, NlProblem)> = files
        .iter()
        .filter_map(|(name, file)| Some((name.as_str(), parse(file, name, &Options::default()).ok()?.with_hessian().ok()?)))
        .collect();
    problems.sort_by_key(|(_, problem)| std::cmp::Reverse(problem.info().operations + problem.meta().jacobian_len()));
    problems.truncate(12);
    let large = parse(collocation(20_000).as_bytes(), "collocation", &Options::default()).expect("it is a good file");
    problems.push(("collocation", large.with_hessian().expect("it is small enough")));
    println!(
        "\n{:<12} {:>7} {:>7} {:>10} {:>9} {:>12} {:>11} {:>11} {:>11} {:>9}",
        "f, g, c, J", "n", "m", "operations", "nonzeros", "us", "ns/nonzero", "ns/op", "Hessian us", "one pass"
    );
    let mut ratios = Vec::new();
    for (name, problem) in &mut problems {
        let (time, pass) = both(problem);
        let time = time.as_secs_f64() * 1e9;
        let ratio = pass.as_secs_f64() * 1e9 / time;
        ratios.push(ratio);
        let second = hessian(problem).as_secs_f64() * 1e6;
        let (meta, operations) = (problem.meta(), problem.info().operations);
        let nonzeros = meta.jacobian_len() + meta.n();
        println!(
            "{name:<12} {:>7} {:>7} {operations:>10} {nonzeros:>9} {:>12.1} {:>11.2} {:>11.2} {second:>11.1} {ratio:>9.2}",
            meta.n(),
            meta.m(),
            time / 1e3,
            time / nonzeros as f64,
            time / operations.max(1) as f64
        );
    }
    println!("one pass over the separate calls: median {:.2}", tangor_figure::median(ratios).unwrap_or(f64::NAN));
}

fn hessian(problem: &mut NlProblem) -> Duration {
    let meta = problem.meta();
    let y = vec![1.0; meta.m()];
    let mut values = vec![0.0; problem.hessian_pattern().len(meta.n(), meta.n())];
    let points = points(problem);
    best(|run| problem.hessian(&points[run % 2], 1.0, &y, &mut values).is_ok())
}

fn shapes() {
    println!("\n{:<34} {:>12} {:>14} {:>7}", "shape, 8000 rows", "file ns/row", "compiled", "ratio");
    let read = |formula: &str| parse(shape(formula).as_bytes(), "shape", &Options::default()).expect("it is a good file");
    compare("product: u v", &mut read("o2 U V"), |u, v| u * v, |u, v| (v, u));
    let slopes = |u: f64, v: f64| (u.exp() * v.sin(), u.exp() * v.cos());
    compare("transcendental: exp(u) sin(v)", &mut read("o2 o44 U o41 V"), |u, v| u.exp() * v.sin(), slopes);
}
