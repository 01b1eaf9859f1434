//! Mutated files are read and evaluated without a panic, without hanging and within the limits.
//!
//! Seeded, and bounded in time: a few seconds each run. `TANGOR_FUZZ_SECONDS` and `TANGOR_FUZZ_SEED` change both.

mod common;
#[path = "../../fuzz/src/driver.rs"]
mod driver;

use common::Collection;
use driver::{Random, try_many, without_harm};
use tangor_problem::{Problem, SecondOrder};
use tangor_sif::{Derivatives, Limits, Options, SifProblem, parse};

/// A file that has something of everything, for when there is no collection.
const EVERYTHING: &str = include_str!("everything.SIF");

#[test]
fn mutated_files_never_panic_and_never_hang() {
    assert!(exercise(EVERYTHING, true) && exercise(EVERYTHING, false), "the text that is mutated is a good one");
    let mut texts = vec![EVERYTHING.to_string()];
    if let Some(collection) = Collection::find() {
        let read = |path| String::from_utf8_lossy(&std::fs::read(path).expect("a file can be read")).into_owned();
        texts.extend(collection.files().into_iter().map(read).filter(|text| text.len() < 40_000));
    }
    try_many("sif", 5.0, 1.0, |seed, random| {
        let text = mutate(&texts, random);
        without_harm(|| exercise(&text, seed % 2 == 0), || format!("TANGOR_FUZZ_SEED={seed}\n{text}"))
    });
}

fn mutate(texts: &[String], random: &mut Random) -> String {
    if random.below(50) == 0 {
        let noise: Vec<u8> = (0..random.below(2000)).map(|_| random.number() as u8).collect();
        return String::from_utf8_lossy(&noise).into_owned();
    }
    let mut lines: Vec<Vec<u8>> = pick(texts, random).lines().map(|line| line.as_bytes().to_vec()).collect();
    for _ in 0..1 + random.below(4) {
        let at = random.below(lines.len());
        match random.below(9) {
            0 => drop(lines.remove(at)),
            1 => lines.insert(at, lines[at].clone()),
            2 => {
                let other = random.below(lines.len());
                lines.swap(at, other);
            }
            3 => lines.truncate(at.max(1)),
            4 => {
                let line = pick(texts, random).lines().nth(at).unwrap_or(" ND").as_bytes().to_vec();
                lines.insert(at, line);
            }
            5 => {
                let half = lines[at].len() / 2;
                lines[at].truncate(half);
            }
            6 => replace_number(&mut lines[at], random),
            7 => lines[at].insert(0, b' '),
            _ => scribble(&mut lines[at], random),
        }
        if lines.is_empty() {
            lines.push(Vec::new());
        }
    }
    String::from_utf8_lossy(&lines.join(&b'\n')).into_owned()
}

fn pick<'a>(texts: &'a [String], random: &mut Random) -> &'a str {
    &texts[random.below(texts.len())]
}

fn scribble(line: &mut Vec<u8>, random: &mut Random) {
    const LIKELY: &[u8] = b"()+-*/.,0123456789XZDEINR$' ;_\xff\0";
    for _ in 0..1 + random.below(3) {
        let at = random.below(line.len() + 1);
        let byte = LIKELY[random.below(LIKELY.len())];
        match line.get_mut(at) {
            Some(place) => *place = byte,
            None => line.push(byte),
        }
    }
}

fn replace_number(line: &mut Vec<u8>, random: &mut Random) {
    const NUMBERS: [&str; 8] = ["0", "-1", "1000000000", "1.0D+300", "-9E15", "2147483648", "1.5", "999999999999"];
    let number = NUMBERS[random.below(NUMBERS.len())];
    if line.len() > 24 {
        line.truncate(24);
        line.extend_from_slice(number.as_bytes());
    }
}

/// Reads a text and evaluates everything at the start; true when it could be read.
fn exercise(text: &str, coded: bool) -> bool {
    let limits = Limits { cards: 100_000, items: 100_000, hessian: 100_000 };
    let derivatives = if coded { Derivatives::Coded } else { Derivatives::Automatic };
    let options = Options { limits, derivatives, ..Options::default() };
    match parse(text, "FUZZ.SIF", &options) {
        Ok(problem) => {
            evaluate(problem);
            true
        }
        Err(error) => {
            assert!(!error.message.is_empty() && error.line <= text.lines().count() + 1, "{error}");
            false
        }
    }
}

/// Values that do not exist are fine; only panics are not.
fn evaluate(problem: SifProblem) {
    let mut problem = problem;
    let meta = problem.meta().clone();
    let x = meta.x0.clone();
    let (mut g, mut c, mut values) = (vec![0.0; meta.n()], vec![0.0; meta.m()], vec![0.0; meta.jacobian_len()]);
    let _ = problem.objective(&x);
    let _ = problem.gradient(&x, &mut g);
    let _ = problem.constraints(&x, &mut c);
    let _ = problem.jacobian(&x, &mut values);
    if let Ok(mut second) = problem.with_hessian() {
        let mut hessian = vec![0.0; second.hessian_pattern().len(meta.n(), meta.n())];
        let _ = second.hessian(&x, 1.0, &vec![1.0; meta.m()], &mut hessian);
    }
}
