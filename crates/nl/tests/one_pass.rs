//! All functions in one pass have the bits of the separate calls.

mod common;

use common::{folders, models};
use tangor_nl::{NlProblem, Options, parse, read};
use tangor_problem::{FunctionValues, Problem, Wanted, evaluate_separately};

/// Another point, at which nothing is known yet.
fn moved(problem: &NlProblem) -> Vec<f64> {
    problem.meta().x0.iter().map(|x| x + 1e-3).collect()
}

fn bits(values: &FunctionValues) -> Vec<u64> {
    let all = values.objective.iter().chain(&values.gradient).chain(&values.constraints).chain(&values.jacobian);
    all.map(|value| value.to_bits()).collect()
}

/// Compares a pass over what is wanted with the separate calls, in a problem that has seen nothing of them.
fn compare(name: &str, problem: impl Fn() -> NlProblem) {
    let (mut one, mut other) = (problem(), problem());
    let constraints = Wanted { constraints: true, jacobian: true, ..Wanted::NOTHING };
    for x in [one.meta().x0.clone(), moved(&one)] {
        for wanted in [Wanted::ALL, Wanted::VALUES, Wanted::DERIVATIVES, constraints] {
            let (mut together, mut apart) = (FunctionValues::new(one.meta()), FunctionValues::new(one.meta()));
            together.evaluate(&mut one, &x, wanted).unwrap();
            let mut out = apart.outputs();
            evaluate_separately(&mut other, &x, wanted, &mut out).unwrap();
            apart.objective = out.objective;
            assert_eq!(bits(&together), bits(&apart), "{name}, {wanted:?}");
        }
    }
}

#[test]
fn one_pass_has_the_bits_of_separate_calls() {
    let text = include_bytes!("everything.nl");
    compare("everything", || parse(text, "everything.nl", &Options::default()).unwrap());
    let Some((folder, _)) = folders() else { return };
    let mut compared = 0;
    for path in models(&folder).iter().filter(|path| read(path, &Options::default()).is_ok()) {
        compare(&path.display().to_string(), || read(path, &Options::default()).unwrap());
        compared += 1;
    }
    assert!(compared > 300, "only {compared} models");
}

#[test]
fn a_point_of_the_wrong_length_is_a_failure() {
    let mut problem = parse(include_bytes!("everything.nl"), "everything.nl", &Options::default()).unwrap();
    let mut values = FunctionValues::new(problem.meta());
    assert!(values.evaluate(&mut problem, &[1.0], Wanted::ALL).is_err());
}
