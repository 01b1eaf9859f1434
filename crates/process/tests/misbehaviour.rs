//! Real processes that crash, hang and lie: what each did is told in a sentence, and none is left over.

use std::time::{Duration, Instant};

use tangor_problem::{Draw, Failure, SampledProblem};
use tangor_process::{Error, ProcessProblem, ProcessSettings};

const ORACLE: &str = env!("CARGO_BIN_EXE_tangor-test-oracle");

fn command(behaviour: &str, payload: &str, n: usize) -> String {
    format!("'{ORACLE}' '{behaviour}' {payload} {n}")
}

fn start(behaviour: &str, payload: &str, n: usize, time_limit: Duration) -> Result<ProcessProblem, Error> {
    let settings = ProcessSettings { time_limit, pass_stderr: false, ..ProcessSettings::default() };
    ProcessProblem::start(&command(behaviour, payload, n), &settings)
}

const LONG: Duration = Duration::from_secs(60);
const STOPPED: &str = "; it was still running and has been stopped";

/// A message without the command, which is another one on each machine.
fn told(error: impl ToString, behaviour: &str, payload: &str) -> String {
    let message = error.to_string();
    let start = format!("the oracle `{}` ", command(behaviour, payload, 4));
    message.strip_prefix(&start).map(String::from).unwrap_or(message)
}

#[test]
fn who_introduces_itself_badly_is_refused() {
    let cases = [
        (
            "crash at start",
            "ended without an answer to the greeting; it ended with exit status: 3; the last that it wrote to its standard error:\n  \
             the model file is missing"
                .to_string(),
        ),
        ("refuse", "cannot begin: there is no licence for the simulator; it was still running and has been stopped".to_string()),
        ("version", format!("speaks version 2 of the protocol, but this program speaks version 1{STOPPED}")),
        ("long start", format!("introduced a problem that cannot be: x0 has length 5, expected 4{STOPPED}")),
        (
            "crossed",
            format!(
                "introduced a problem that cannot be: the bounds of constraint sum are crossed: lower 1000 is above upper 2{STOPPED}"
            ),
        ),
        ("empty", format!("introduced a finite population without members{STOPPED}")),
        (
            "garbage at start",
            format!(
                "answered the greeting with a line that cannot be understood (it is not JSON): \"Welcome to the simulator!\"{STOPPED}"
            ),
        ),
        (
            "status",
            "answered the greeting with a line that cannot be understood (it is not JSON): \"Welcome to the simulator!\"; it ended \
             with exit status: 5"
                .to_string(),
        ),
    ];
    for (behaviour, expected) in cases {
        // What may still introduce itself is waited for.
        let limit = if behaviour == "garbage at start" { Duration::from_secs(2) } else { LONG };
        let error = start(behaviour, "text", 4, limit).err().expect(behaviour);
        assert_eq!(told(error, behaviour, "text"), expected);
    }
    let error = start("misspelt", "text", 4, LONG).err().map(|error| error.to_string()).unwrap_or_default();
    assert!(error.contains("unknown field `lower`, expected one of `tangor`, `payload`"), "{error}");
    let error = start("unfinished", "text", 4, LONG).err().map(|error| error.to_string()).unwrap_or_default();
    assert!(error.contains("EOF while parsing") && error.ends_with("it ended with exit status: 0"), "{error}");
}

#[test]
fn who_answers_badly_is_stopped() {
    let request = "request 1 (gradient of the objective)";
    let misunderstood = format!("answered {request} with a line that cannot be understood");
    let cases = [
        ("short", "text", format!("gave 3 values for {request}, where 4 belong{STOPPED}")),
        ("short", "binary", format!("gave 3 values for {request}, where 4 belong{STOPPED}")),
        ("long", "binary", format!("gave 5 values for {request}, where 4 belong{STOPPED}")),
        ("garbage", "text", format!("{misunderstood} (it is not JSON): \"energy = 3.14\"{STOPPED}")),
        ("garbage", "binary", format!("{misunderstood} (it is not JSON): \"energy = 3.14\"{STOPPED}")),
        ("bytes", "text", format!("{misunderstood} (it is not JSON): \"\u{fffd}\u{fffd}\\0\"{STOPPED}")),
        ("endless", "text", format!("answered {request} with a line of more than 1048832 bytes{STOPPED}")),
        ("truncated", "binary", format!("ended without an answer to {request}; it ended with exit status: 0")),
    ];
    for (behaviour, payload, expected) in cases {
        let mut problem = start(behaviour, payload, 4, LONG).expect(behaviour);
        let mut g = [0.0; 4];
        let failure = problem.gradient(&[0.5; 4], &[], &mut g).expect_err(behaviour);
        assert!(failure.is_broken());
        assert_eq!(told(failure, behaviour, payload), expected);
        // It is not asked again: the same failure comes back, for another function as well.
        let again = problem.constraints(&[0.5; 4], &[], &mut [0.0]).expect_err(behaviour);
        assert_eq!(told(again, behaviour, payload), expected);
    }
    let mut problem = start("two things", "text", 4, LONG).expect("a start");
    let failure = problem.gradient(&[0.5; 4], &[], &mut [0.0; 4]).expect_err("two answers").to_string();
    assert!(failure.contains("exactly one of `values`, `undefined` and `error` is needed"), "{failure}");
}

#[test]
fn a_value_that_is_no_number_is_undefined_and_the_conversation_goes_on() {
    for (behaviour, payload, expected) in [
        ("nan", "binary", "it is NaN at variable x[2]"),
        ("nan", "text", "it is NaN at variable x[2]"),
        ("infinite", "binary", "it is -inf at variable x[0]"),
    ] {
        let mut problem = start(behaviour, payload, 4, LONG).expect(behaviour);
        for _ in 0..2 {
            let failure = problem.gradient(&[0.5; 4], &[], &mut [0.0; 4]).expect_err(behaviour);
            assert!(!failure.is_broken() && failure.to_string() == expected, "{failure}");
        }
    }
}

#[test]
fn a_crash_and_a_mix_up_in_the_middle_of_a_run_are_told() {
    let mut problem = start("crash later", "binary", 4, LONG).expect("a start");
    let mut g = [0.0; 4];
    for _ in 0..2 {
        problem.gradient(&[0.5; 4], &[], &mut g).expect("two good answers");
        assert_eq!(g, [-1.0; 4]);
    }
    let failure = problem.constraints(&[0.5; 4], &[], &mut [0.0]).expect_err("a crash");
    assert_eq!(
        told(failure, "crash later", "binary"),
        "ended without an answer to request 3 (constraints); it ended with exit status: 3; the last that it wrote to its standard \
         error:\n  division by zero in line 17"
    );

    let mut problem = start("chatty", "text", 4, LONG).expect("a start");
    problem.gradient(&[0.5; 4], &[], &mut g).expect("a good answer");
    let failure = problem.jacobian(&[0.5; 4], &[], &mut g).expect_err("an old answer");
    let expected = format!("answered request 1 when it was asked request 2 (Jacobian of the constraints){STOPPED}");
    assert_eq!(told(failure, "chatty", "text"), expected);
}

#[test]
fn an_error_is_broken_and_undefined_is_not() {
    let mut g = [0.0; 4];
    let mut problem = start("error", "text", 4, LONG).expect("a start");
    let failure = problem.gradient(&[0.5; 4], &[], &mut g).expect_err("an error");
    assert!(failure.is_broken());
    assert_eq!(told(failure, "error", "text"), "reports an error for request 1 (gradient of the objective): the mesh is gone");
    problem.gradient(&[0.5; 4], &[], &mut g).expect("it stayed in the conversation");

    for payload in ["text", "binary"] {
        let mut problem = start("undefined", payload, 4, LONG).expect("a start");
        let failure = problem.gradient(&[-0.5; 4], &[], &mut g).expect_err("no value");
        assert!(matches!(failure, Failure::Undefined(_)));
        assert_eq!(failure.to_string(), "the simulation does not converge");
        problem.gradient(&[0.5; 4], &[], &mut g).expect("a value");
        let failure = problem.gradient(&[0.5, f64::NAN, 0.0, 0.0], &[], &mut g).expect_err("no point");
        assert!(matches!(failure, Failure::Undefined(reason) if reason == "variable x[1] is NaN"));
    }
}

#[test]
fn who_hangs_is_stopped_in_time() {
    let limit = Duration::from_secs(2);
    let begin = Instant::now();
    let error = start("deaf", "text", 4, limit).err().expect("silence");
    assert_eq!(told(error, "deaf", "text"), format!("gave no answer to the greeting within 2s{STOPPED}"));

    let mut problem = start("hang", "binary", 4, limit).expect("a start");
    let failure = problem.gradient(&[0.5; 4], &[], &mut [0.0; 4]).expect_err("silence");
    assert!(failure.is_broken());
    let expected = format!("gave no answer to request 1 (gradient of the objective) within 2s{STOPPED}");
    assert_eq!(told(failure, "hang", "binary"), expected);

    // A question that does not fit into a pipe, to a process that does not read: writing blocks.
    let n = 100_000;
    let mut problem = start("deaf later", "binary", n, Duration::from_secs(5)).expect("a start");
    let failure = problem.gradient(&vec![0.5; n], &[], &mut vec![0.0; n]).expect_err("silence").to_string();
    assert!(failure.contains("gave no answer to request 1 (gradient of the objective) within 5s"), "{failure}");
    assert!(begin.elapsed() < Duration::from_secs(60));
}

#[test]
fn commands_that_cannot_be_run_are_told() {
    let settings = ProcessSettings::default();
    let start =
        |command: &str| ProcessProblem::start(command, &settings).err().map(|error| error.to_string()).unwrap_or_default();
    assert_eq!(start(" "), "the command \" \" names no program: it is empty, or a quote in it is not closed");
    assert_eq!(start("python3 'a"), "the command \"python3 'a\" names no program: it is empty, or a quote in it is not closed");
    assert_eq!(start("''"), "the command \"''\" names no program: it is empty, or a quote in it is not closed");
    let missing = start("no-such-program-anywhere --flag");
    assert!(missing.starts_with("the oracle `no-such-program-anywhere --flag` cannot be started: "), "{missing}");
}

#[test]
fn questions_that_make_no_sense_are_not_asked() {
    let mut problem = start("sampled", "text", 4, LONG).expect("a start");
    let told = |failure: Failure| {
        assert!(failure.is_broken());
        failure.to_string().split_once("` ").map(|(_, rest)| rest.to_string()).unwrap_or_default()
    };
    let mut g = [0.0; 4];
    let none = told(problem.gradient(&[0.5; 4], &[], &mut g).expect_err("no draws"));
    assert_eq!(none, "was not asked for the gradient of the objective: it is sampled, and no draws were given");
    let outside = told(problem.gradient(&[0.5; 4], &[Draw(3), Draw(14)], &mut g).expect_err("outside"));
    assert_eq!(outside, "was not asked for the gradient of the objective: draw 14 is not in a population of 14");
    let short = told(problem.gradient(&[0.5; 3], &[Draw(3)], &mut g).expect_err("a short point"));
    assert_eq!(short, "was not asked for the gradient of the objective: the point has 3 variables, but the problem has 4");
    let room = told(problem.constraints(&[0.5; 4], &[], &mut [0.0; 2]).expect_err("too much room"));
    assert_eq!(room, "was not asked for the constraints: there is room for 2 values, but the answer has 1");
}
