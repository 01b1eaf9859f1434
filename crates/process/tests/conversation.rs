//! Real processes that behave, asked a few times, often, and for much.

use std::time::{Duration, Instant};

use tangor_problem::{Access, Draw, FunctionFailure, Outputs, Problem, SampledProblem, Wanted};
use tangor_process::{ProcessProblem, ProcessSettings};

fn start(behaviour: &str, payload: &str, n: usize) -> ProcessProblem {
    let oracle = env!("CARGO_BIN_EXE_tangor-test-oracle");
    let settings = ProcessSettings { pass_stderr: false, ..ProcessSettings::default() };
    ProcessProblem::start(&format!("'{oracle}' '{behaviour}' {payload} {n}"), &settings).expect("a process")
}

#[test]
fn an_exact_process_is_a_plain_problem() {
    for payload in ["text", "binary"] {
        let mut problem = start("good", payload, 4).into_exact().expect("exact functions");
        let meta = problem.meta();
        assert_eq!((meta.name.as_str(), meta.n(), meta.m()), ("halves", 4, 1));
        assert_eq!((meta.c_lower[0], meta.c_upper[0], meta.row_name(0)), (2.0, 2.0, "sum".to_string()));
        assert_eq!((meta.x_lower[3], meta.x_upper[3]), (-10.0, f64::INFINITY));
        // A number without a short decimal form must come through whole.
        let x = [0.1 + 0.2, -1.0 / 3.0, 2.0, 1e-300];
        let (mut g, mut c, mut row) = ([0.0; 4], [0.0], [0.0; 4]);
        problem.gradient(&x, &mut g).expect("a gradient");
        problem.constraints(&x, &mut c).expect("constraints");
        problem.jacobian(&x, &mut row).expect("a Jacobian");
        assert_eq!(g, x.map(|x| 2.0 * (x - 1.0)));
        assert_eq!(c[0], x.iter().sum::<f64>());
        assert_eq!(row, [1.0; 4]);
        assert_eq!(problem.objective(&x).expect("a value"), x.iter().map(|x| (x - 1.0).powi(2)).sum::<f64>());
    }
}

#[test]
fn draws_reach_a_sampled_process() {
    for payload in ["text", "binary"] {
        let mut problem = start("sampled", payload, 4);
        assert_eq!(problem.accesses().gradient, Access::Finite(14));
        assert_eq!(problem.accesses().constraints, Access::Exact);
        assert!(problem.exact().is_none());
        let mut g = [0.0; 4];
        problem.gradient(&[1.0; 4], &[Draw(0), Draw(8)], &mut g).expect("a gradient");
        assert_eq!(g, [-2.5; 4]);
        let every: Vec<Draw> = (0..14).map(Draw).collect();
        problem.gradient(&[1.0; 4], &every, &mut g).expect("a gradient");
        assert_eq!(g, [0.0; 4]);
        assert_eq!(problem.objective(&[1.0; 4], &every).expect("values").expect("a value"), 0.0);
        let error = problem.into_exact().err().map(|error| error.to_string()).unwrap_or_default();
        assert!(
            error.ends_with("gives only samples of the gradient of the objective: it is not a deterministic problem"),
            "{error}"
        );
    }
    let mut problem = start("valueless", "text", 4);
    assert!(problem.objective(&[1.0; 4], &[]).is_none());
    let error = problem.into_exact().err().map(|error| error.to_string()).unwrap_or_default();
    assert!(error.ends_with("gives no values of the objective, which a deterministic problem needs"), "{error}");
    assert!(start("good", "text", 4).exact().is_some());
}

/// Gradient, constraints and Jacobian.
type Three = ([f64; 4], [f64; 1], [f64; 4]);

/// All three at the same draws.
fn three(problem: &mut ProcessProblem, x: &[f64; 4], draws: &[Draw]) -> Result<Three, FunctionFailure> {
    let (mut g, mut c, mut row) = ([0.0; 4], [0.0], [0.0; 4]);
    problem.evaluate(x, draws, Wanted::SAMPLED, &mut Outputs::new(&mut g, &mut c, &mut row))?;
    Ok((g, c, row))
}

#[test]
fn one_question_gets_all_functions_where_the_process_takes_it() {
    let draws = [Draw(0), Draw(8)];
    for payload in ["text", "binary"] {
        let mut together = start("together", payload, 4);
        let found = three(&mut together, &[1.0, 2.0, 3.0, 4.0], &draws).expect("values");
        assert_eq!(found, ([-2.5, -0.5, 1.5, 3.5], [10.0], [1.0; 4]));
        // One after the other the values are the same.
        assert_eq!(three(&mut start("sampled", payload, 4), &[1.0, 2.0, 3.0, 4.0], &draws).expect("values"), found);
        let told = three(&mut together, &[-1.0; 4], &draws).expect_err("no values").failure.to_string();
        assert_eq!(told, "question 2: gradient constraints jacobian");
        let mut exact = start("together", payload, 4);
        let outside =
            exact.evaluate(&[1.0; 4], &[Draw(14)], Wanted::SAMPLED, &mut Outputs::default()).expect_err("no such draw");
        assert!(outside.to_string().contains("draw 14 is not in a population of 14"), "{outside}");
    }
}

#[test]
fn no_question_has_more_draws_than_the_process_takes() {
    let draws: Vec<Draw> = (0..7).map(Draw).collect();
    let mut problem = start("few draws", "binary", 4);
    let (g, c, row) = three(&mut problem, &[1.0; 4], &draws).expect("values");
    assert!(g.iter().all(|g| g.abs() < 1e-15), "the average of -3, ..., 3 is 0: {g:?}");
    assert_eq!((c, row), ([4.0], [1.0; 4]));
    // Three questions for the gradient, and one each for the others, which are exact.
    let told = problem.constraints(&[-1.0; 4], &[], &mut [0.0]).expect_err("no value").to_string();
    assert_eq!(told, "question 6: constraints");
    let few = three(&mut problem, &[-1.0; 4], &draws[..2]).expect_err("no value").failure.to_string();
    assert_eq!(few, "question 7: gradient constraints jacobian");
}

#[test]
fn ten_thousand_questions_are_answered() {
    for payload in ["text", "binary"] {
        let mut problem = start("good", payload, 4);
        let begin = Instant::now();
        let mut g = [0.0; 4];
        for k in 0..10_000 {
            let x = f64::from(k);
            problem.gradient(&[x; 4], &[], &mut g).expect("a gradient");
            assert_eq!(g, [2.0 * (x - 1.0); 4]);
        }
        println!("{payload}: {:.0} answers per second", 1e4 / begin.elapsed().as_secs_f64());
    }
}

#[test]
fn a_hundred_thousand_variables_are_no_obstacle() {
    let n = 100_000;
    for payload in ["text", "binary"] {
        let mut problem = start("good", payload, n);
        let x: Vec<f64> = (0..n).map(|i| 1.0 / (1.0 + i as f64)).collect();
        let mut g = vec![0.0; n];
        let begin = Instant::now();
        for _ in 0..10 {
            problem.gradient(&x, &[], &mut g).expect("a gradient");
        }
        assert!(g.iter().zip(&x).all(|(g, x)| *g == 2.0 * (x - 1.0)));
        println!("{payload}: {:.1} ms per gradient of {n} variables", 100.0 * begin.elapsed().as_secs_f64());
    }
}

/// Whether a process with this number exists. One that nobody collected counts only if it is ours to collect.
#[cfg(target_os = "linux")]
fn exists(id: &str, own: bool) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    let state = stat.rsplit(") ").next().unwrap_or_default();
    !stat.is_empty() && (own || !state.starts_with('Z'))
}

#[cfg(target_os = "linux")]
#[test]
fn no_process_outlives_its_problem() {
    let mut talkative = start("talkative", "text", 4);
    let mut stubborn = start("stubborn", "text", 4);
    let number = |problem: &mut ProcessProblem| {
        problem.objective(&[0.5; 4], &[]).expect("values").expect("a value");
        let id = problem.constraints(&[-1.0; 4], &[], &mut [0.0]).expect_err("its number").to_string();
        assert!(exists(&id, true), "{id}");
        id
    };
    let (first, second) = (number(&mut talkative), number(&mut stubborn));
    let begin = Instant::now();
    drop(talkative);
    assert!(!exists(&first, true));
    assert!(begin.elapsed() < Duration::from_secs(2), "the end of its standard input is enough for a process that behaves");
    drop(stubborn);
    assert!(!exists(&second, true));
}

#[cfg(target_os = "linux")]
#[test]
fn what_a_process_started_is_stopped_with_it() {
    let oracle = env!("CARGO_BIN_EXE_tangor-test-oracle");
    let time_limit = Duration::from_secs(2);
    let settings = ProcessSettings { time_limit, pass_stderr: false, ..ProcessSettings::default() };
    let mut problem = ProcessProblem::start(&format!("'{oracle}' grandchild text 4"), &settings).expect("a process");
    let failure = problem.gradient(&[0.5; 4], &[], &mut [0.0; 4]).expect_err("silence").to_string();
    let id = failure.rsplit("\n  grandchild ").next().unwrap_or_default();
    assert!(id.parse::<u32>().is_ok(), "{failure}");
    let begin = Instant::now();
    while exists(id, false) {
        assert!(begin.elapsed() < Duration::from_secs(60), "the grandchild {id} is still there");
        std::thread::sleep(Duration::from_millis(10));
    }
}
