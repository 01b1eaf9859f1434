use std::fs;

use serde_json::Value;

use crate::{code, refusal, run, run_json, stdout};

/// A noisy run that its limit ends.
const CUT_SHORT: [&str; 8] = ["solve", "HS71", "--noise", "1e-2", "--tolerance", "1e-7", "--seed", "7"];

fn with<'a>(arguments: &[&'a str], further: &[&'a str]) -> Vec<&'a str> {
    [arguments, further].concat()
}

#[test]
fn a_noisy_run_tells_true_residuals_and_its_confidence() {
    let output = run(&["solve", "HS71", "--noise", "1e-2", "--estimator", "momentum", "--seed", "7", "--tolerance", "1e-2"]);
    assert_eq!(code(&output), 0);
    let text = stdout(&output);
    for expected in [
        "HS71: 4 variables, 2 constraints, additive gaussian noise 1e-2",
        "true stat true feas true comp   samples",
        "Solved: a KKT point within the tolerances.",
        "fresh samples, with 95% confidence in each bound (if batches of samples are nearly Gaussian and no event rarer \
         than 1 in 6667 samples matters): all three residuals are within their tolerances.",
        "objective        17.01",
        "of Jacobians; seed 7",
    ] {
        assert!(text.contains(expected), "{expected:?} is missing from\n{text}");
    }
    let rows = text.lines().filter(|line| line.split_whitespace().next().is_some_and(|word| word.parse::<u64>().is_ok()));
    for row in rows.filter(|row| row.split_whitespace().count() == 10) {
        assert!(row.split_whitespace().skip(4).take(3).all(|cell| cell.parse::<f64>().is_ok()), "no true residuals in {row}");
    }
}

/// What samples say of a point that is not within its tolerances has a condition, too, and the message names the same one as the screen: that no rarer
/// event matters where samples tell of those that do, and otherwise that one may be missing.
#[test]
fn the_message_has_the_condition_that_the_screen_shows() {
    for (samples, start) in [("30000", "if batches of samples"), ("1000", "unless an event rarer")] {
        let judge = format!("sampling.judge.samples={samples}");
        let arguments = ["--max-iterations", "5", "--set", &judge];
        let text = stdout(&run(&with(&CUT_SHORT, &arguments)));
        let (report, _) = run_json(&with(&CUT_SHORT, &with(&arguments, &["--json"])));
        let message = report["message"].as_str().expect("a message");
        assert!(message.contains("above") || message.contains("neither feasible nor stationary"), "{message}");
        let condition = &message[message.find(start).unwrap_or_else(|| panic!("no condition: {message}"))..];
        assert!(condition.contains("event rarer than 1 in "), "{message}");
        assert!(text.contains(condition.trim_end_matches('.')), "{message}\n{text}");
    }
}

#[test]
fn short_ways_are_settings() {
    let arguments =
        ["--estimator", "minibatch", "--batch", "3", "--momentum", "0.5", "--samples", "900", "--confidence", "0.9"];
    let (report, exit) = run_json(&with(&CUT_SHORT, &with(&arguments, &["--json"])));
    let settings = &report["settings"];
    for function in ["gradient", "constraints", "jacobian"] {
        let estimation = &settings["sampling"][function];
        assert_eq!(estimation["estimator"], "minibatch");
        assert_eq!(estimation["batch"]["constant"]["size"], 3);
        assert_eq!(estimation["momentum"]["constant"]["a"], 0.5);
    }
    assert_eq!((&settings["sampling"]["seed"], &settings["limits"]["samples"]), (&Value::from(7), &Value::from(900)));
    assert_eq!(report["verdict"]["confidence"], 0.9);
    assert_eq!((&report["stop"], exit), (&Value::from("samples"), 3));
}

#[test]
fn each_function_has_a_level_of_its_own() {
    let (report, _) = run_json(&["solve", "HS71", "--noise-jacobian", "1e-3", "--tolerance", "1e-2", "--json"]);
    assert_eq!((report["samples"]["gradient"].as_u64(), report["samples"]["constraints"].as_u64()), (Some(0), Some(0)));
    assert!(report["samples"]["jacobian"].as_u64() > Some(0));
    let arguments = ["--noise", "1e-3", "--noise-constraints", "0", "--noise-distribution", "heavy-tailed"];
    let (report, _) = run_json(&with(&["solve", "HS71", "--json", "--noise-form", "multiplicative"], &arguments));
    let noise = &report["source"]["noise"];
    assert_eq!((&noise["distribution"], &noise["form"]), (&Value::from("heavy_tailed"), &Value::from("multiplicative")));
    assert_eq!((noise["gradient"].as_f64(), noise["constraints"].as_f64()), (Some(1e-3), Some(0.0)));
    assert_eq!(report["samples"]["constraints"], 0);
}

/// The report without what differs between any two runs.
fn comparable(mut report: Value) -> Value {
    report["seconds"] = Value::Null;
    report["settings"]["limits"] = Value::Null;
    report
}

#[test]
fn a_seed_is_a_run() {
    let solve = |seed| run_json(&["solve", "HS71", "--noise", "1e-2", "--tolerance", "1e-2", "--json", "--seed", seed]).0;
    assert_eq!(comparable(solve("7")), comparable(solve("7")));
    assert_ne!(solve("7")["x"], solve("8")["x"]);
}

#[test]
fn looking_closer_changes_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("trace.csv");
    let trace = path.to_str().expect("a path");
    let rows = |detail: &str| {
        run(&with(&CUT_SHORT, &["--max-iterations", "150", "--trace", trace, detail]));
        let text = fs::read_to_string(trace).expect("a trace");
        // Neither true residuals nor times.
        let cells = |line: &str| line.split(',').take(21).collect::<Vec<_>>().join(",");
        text.lines().map(cells).collect::<Vec<_>>()
    };
    let (quiet, verbose) = (rows("--quiet"), rows("--verbose"));
    assert_eq!(quiet.len(), 152);
    assert_eq!(quiet, verbose);
}

#[test]
fn a_resumed_noisy_run_equals_an_uninterrupted_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let state = folder.path().join("state");
    let state = state.to_str().expect("a path");
    let (whole, _) = run_json(&with(&CUT_SHORT, &["--max-iterations", "250", "--json"]));
    // Judged before its time because it ends, at the very time, and just before.
    for iterations in ["130", "200", "99"] {
        run(&with(&CUT_SHORT, &["--max-iterations", iterations, "--checkpoint", state, "--quiet"]));
        let (resumed, _) = run_json(&["solve", "HS71", "--resume", state, "--max-iterations", "250", "--json"]);
        assert_eq!(comparable(resumed), comparable(whole.clone()), "after {iterations}");
    }
    let message = refusal(&["solve", "HS71", "--resume", state, "--noise", "1"]);
    assert!(message.contains("the noise cannot be changed in a resumed run"), "{message}");
    let message = refusal(&["solve", "HS71", "--resume", state, "--seed", "8"]);
    assert!(message.contains("the setting sampling.seed cannot be changed in a resumed run"), "{message}");
}

#[test]
fn nonsense_is_refused() {
    for (arguments, expected) in [
        (&["--noise=-1"][..], "the noise level of the gradient is -1, but must be a finite number that is not negative"),
        (&["--noise", "inf"], "the noise level of the gradient is inf"),
        (&["--noise-form", "additive"], "the noise has no level: give one with --noise"),
        (&["--noise", "1", "--momentum", "7"], "setting sampling.gradient.momentum is 7, but must be between 0 and 1"),
        (&["--noise", "1", "--batch", "0"], "setting sampling.gradient.batch is 0, but must be of at least 1 sample"),
        (&["--noise", "1", "--confidence", "1"], "setting sampling.judge.confidence is 1, but must be between 0.5 and 1"),
        (&["--noise", "1", "--estimator", "magic"], "possible values: minibatch, momentum"),
    ] {
        let message = refusal(&with(&["solve", "HS71"], arguments));
        assert!(message.contains(expected), "{arguments:?}: {message}");
    }
}

#[test]
fn an_objective_that_nobody_evaluates_is_left_blank() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["trace.csv", "trace.jsonl"] {
        let trace = folder.path().join(name);
        let trace = trace.to_str().expect("a path");
        run(&["solve", "HS71", "--noise", "1e-2", "--quiet", "--max-iterations", "5", "--trace", trace]);
        let rows = std::fs::read_to_string(trace).expect("a trace");
        let second = rows.lines().nth(1).expect("a row");
        let blank =
            if name.ends_with("csv") { second.split(',').nth(1) == Some("") } else { second.contains("\"objective\":null") };
        assert!(blank, "{second}");
    }
}

#[test]
fn a_picture_of_a_noisy_run_says_what_is_estimated_and_marks_what_is_judged() {
    let folder = tempfile::tempdir().expect("a folder");
    let picture = folder.path().join("run.svg");
    let path = picture.to_str().expect("the path is UTF-8");
    run(&["solve", "HS71", "--noise", "1e-2", "--tolerance", "1e-2", "--quiet", "--plot", path]);
    let svg = std::fs::read_to_string(&picture).expect("there is a picture");
    assert!(svg.contains(">Residuals, estimated<") && svg.contains(">judged<"));
    assert!(svg.matches("<circle").count() >= 4 && !svg.contains(">Objective<"));
}
