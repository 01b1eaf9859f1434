//! All functions in one pass have the bits of the separate calls.

mod common;

use common::Collection;
use tangor_problem::{FunctionValues, Problem, Wanted, evaluate_separately};
use tangor_sif::{Options, SifProblem, parse, read};

fn bits(values: &FunctionValues) -> Vec<u64> {
    let all = values.objective.iter().chain(&values.gradient).chain(&values.constraints).chain(&values.jacobian);
    all.map(|value| value.to_bits()).collect()
}

/// Compares a pass with the separate calls, at the start and at another point; failures must name the same function.
fn compare(name: &str, problem: &mut SifProblem) {
    let start = problem.meta().x0.clone();
    for x in [start.clone(), start.iter().map(|x| x + 1e-3).collect()] {
        let (mut together, mut apart) = (FunctionValues::new(problem.meta()), FunctionValues::new(problem.meta()));
        let done = together.evaluate(problem, &x, Wanted::ALL);
        let mut out = apart.outputs();
        let expected = evaluate_separately(problem, &x, Wanted::ALL, &mut out);
        apart.objective = out.objective;
        match (done, expected) {
            (Ok(()), Ok(())) => assert_eq!(bits(&together), bits(&apart), "{name}"),
            (Err(one), Err(other)) => assert_eq!(one.to_string(), other.to_string(), "{name}"),
            (one, other) => panic!("{name}: {one:?} in one pass, {other:?} one after the other"),
        }
    }
}

#[test]
fn one_pass_has_the_bits_of_separate_calls() {
    let text = include_str!("everything.SIF");
    compare("everything", &mut parse(text, "everything.SIF", &Options::default()).unwrap());
    for collection in Collection::all() {
        for path in collection.files() {
            // The largest take long, and have nothing that others have not.
            if std::fs::metadata(&path).is_ok_and(|file| file.len() < 200_000)
                && let Ok(mut problem) = read(&path, &Options::default())
            {
                compare(&path.display().to_string(), &mut problem);
            }
        }
    }
}

#[test]
fn a_point_of_the_wrong_length_is_a_failure() {
    let mut problem = parse(include_str!("everything.SIF"), "everything.SIF", &Options::default()).unwrap();
    let mut values = FunctionValues::new(problem.meta());
    assert!(values.evaluate(&mut problem, &[1.0], Wanted::ALL).is_err());
}
