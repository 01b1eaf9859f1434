//! The zoo: every way to misbehave that we could think of. Each ends in a sentence, soon, and leaves no process behind.

use std::time::{Duration, Instant};

use tangor_problem::{Failure, SampledProblem};
use tangor_process::{ProcessProblem, ProcessSettings};

/// What it does, how its numbers travel, and a part of what is said about it.
const ZOO: [(&str, &str, &str); 42] = [
    // At the start.
    ("crash at start", "text", "ended without an answer to the greeting; it ended with exit status: 3"),
    ("abort at start", "text", "ended without an answer to the greeting; it ended with signal: 6"),
    ("deaf", "text", "gave no answer to the greeting within"),
    ("refuse", "text", "cannot begin: there is no licence"),
    ("version", "text", "speaks version 2 of the protocol"),
    ("no version", "text", "missing field `tangor`"),
    ("long start", "text", "x0 has length 5, expected 4"),
    ("start beyond words", "text", "number out of range"),
    ("negative size", "text", "invalid value: integer `-4`"),
    ("size beyond all memory", "text", "x0 has length 4, expected 18446744073709551615"),
    ("crossed", "text", "are crossed"),
    ("empty", "text", "a finite population without members"),
    ("no draws at all", "text", "invalid value: integer `0`"),
    ("entries outside", "text", "introduced a problem that cannot be"),
    ("entries that do not match", "text", "introduced a problem that cannot be"),
    ("misspelt", "text", "unknown field `lower`"),
    ("garbage at start", "text", "cannot be understood"),
    ("status", "text", "it ended with exit status: 5"),
    ("unfinished", "text", "EOF while parsing"),
    ("deep at start", "text", "EOF while parsing a list"),
    ("twice", "text", "unknown field `tangor`"),
    ("closed at start", "text", "ended without an answer to the greeting"),
    // In answers.
    ("short", "text", "gave 3 values"),
    ("short", "binary", "gave 3 values"),
    ("long", "text", "gave 5 values"),
    ("garbage", "text", "cannot be understood"),
    ("bytes", "binary", "cannot be understood"),
    ("endless", "text", "a line of more than 1048832 bytes"),
    ("two things", "text", "exactly one of `values`, `undefined` and `error` is needed"),
    ("nothing", "text", "exactly one of `values`, `undefined` and `error` is needed"),
    ("deep", "text", "invalid type: sequence, expected a number"),
    ("other words", "text", "unknown field `result`"),
    ("name for a number", "text", "invalid type: string \"one\", expected a whole number"),
    ("wrong payload", "text", "invalid type: integer `4`, expected a sequence"),
    ("count beyond all memory", "binary", "gave 18446744073709551615 values"),
    ("truncated", "binary", "ended without an answer to request 1"),
    ("drip", "text", "gave no answer to request 1 (gradient of the objective) within"),
    ("hang", "text", "gave no answer to request 1 (gradient of the objective) within"),
    ("asleep", "text", "gave no answer to request 1 (gradient of the objective) within"),
    ("closed", "text", "ended without an answer to request 1 (gradient of the objective); it was still running"),
    ("orphans", "text", "ended without an answer to request 1 (gradient of the objective); it ended with exit status: 0"),
    ("twice each", "text", "answered request 1 when it was asked request 2"),
];

fn command(behaviour: &str, payload: &str) -> String {
    format!("'{}' '{behaviour}' {payload} 4 zoo", env!("CARGO_BIN_EXE_tangor-test-oracle"))
}

/// Asks until something is wrong, and says what.
fn misdeed(behaviour: &str, payload: &str) -> String {
    // Some say nothing, or nothing that introduces them, and are waited for; all others have long answered, on a slow machine, too.
    let time_limit = Duration::from_secs(4);
    let settings = ProcessSettings { time_limit, pass_stderr: false, ..ProcessSettings::default() };
    let mut problem = match ProcessProblem::start(&command(behaviour, payload), &settings) {
        Ok(problem) => problem,
        Err(error) => return error.to_string(),
    };
    let mut g = [0.0; 4];
    for _ in 0..4 {
        if let Err(failure) = problem.gradient(&[0.5; 4], &[], &mut g) {
            assert!(matches!(failure, Failure::Broken(_)), "{behaviour} is broken, not undefined");
            return failure.to_string();
        }
    }
    panic!("{behaviour} behaves");
}

/// The processes of the zoo that still run.
#[cfg(target_os = "linux")]
fn left_over(behaviour: &str) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").expect("processes").flatten();
    let lines = processes.filter_map(|process| {
        let line = std::fs::read(process.path().join("cmdline")).ok()?;
        let words: Vec<String> = line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect();
        let ours = words.first().is_some_and(|program| program == env!("CARGO_BIN_EXE_tangor-test-oracle"));
        (ours && words.contains(&"zoo".to_string()) && words.get(1).is_some_and(|word| word == behaviour))
            .then(|| words.join(" "))
    });
    lines.collect()
}

#[test]
fn every_animal_is_told_of_and_none_escapes() {
    for (behaviour, payload, expected) in ZOO {
        let begin = Instant::now();
        let told = misdeed(behaviour, payload);
        assert!(told.contains(expected), "{behaviour}: {expected:?} is missing from {told:?}");
        assert!(begin.elapsed() < Duration::from_secs(30), "{behaviour} took {:?}", begin.elapsed());
        #[cfg(target_os = "linux")]
        assert_eq!(left_over(behaviour), Vec::<String>::new(), "{behaviour}");
    }
}

/// Some only look dangerous.
#[test]
fn who_is_merely_odd_is_understood() {
    for behaviour in ["flood", "carriage returns", "spaces"] {
        let settings = ProcessSettings { pass_stderr: false, ..ProcessSettings::default() };
        let mut problem = ProcessProblem::start(&command(behaviour, "text"), &settings).expect(behaviour);
        let mut g = [0.0; 4];
        problem.gradient(&[0.5; 4], &[], &mut g).expect(behaviour);
        assert_eq!(g, [-1.0; 4], "{behaviour}");
    }
}
