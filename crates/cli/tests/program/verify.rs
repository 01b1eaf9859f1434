use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::problems::line_file;
use crate::{code, refusal, run, run_json, stdout};

const EXACT: [&str; 3] = ["solve", "HS71", "--json"];
const NOISY: [&str; 9] = ["solve", "HS71", "--json", "--noise", "1e-2", "--tolerance", "1e-2", "--seed", "7"];

/// Writes a result and gives the arguments that verify it.
fn written(folder: &Path, result: &Value) -> String {
    let file = folder.join("result.json");
    fs::write(&file, result.to_string()).expect("a file");
    file.to_str().expect("a path").to_string()
}

#[test]
fn good_results_hold() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, level) in
        [("HS71", "0"), ("HS8", "1e-3"), ("HS30", "1e-3"), ("HS27", "1e-3"), ("WACHBIEG", "1e-3"), ("HS4", "1e-3")]
    {
        let (result, exit) = run_json(&["solve", name, "--noise", level, "--tolerance", "1e-2", "--json"]);
        assert_eq!(exit, 0, "{name}");
        let output = run(&["verify", &written(folder.path(), &result), "--seed", "3"]);
        assert_eq!(code(&output), 0, "{name}: {}", stdout(&output));
    }
    let (result, _) = run_json(&EXACT);
    let output = run(&["verify", &written(folder.path(), &result)]);
    assert_eq!(code(&output), 0);
    let text = stdout(&output);
    assert!(text.contains("HS71: the functions are exact") && text.contains("Holds: the point is a KKT point"), "{text}");
}

#[test]
fn a_result_that_claims_no_kkt_point_is_not_called_false() {
    let folder = tempfile::tempdir().expect("a folder");
    let (result, exit) = run_json(&["solve", "CIRCLELINE", "--json"]);
    assert_eq!(exit, 2);
    let output = run(&["verify", &written(folder.path(), &result)]);
    let text = stdout(&output);
    assert_eq!(code(&output), 2, "{text}");
    assert!(text.contains("No KKT point, as the result says itself; its numbers agree with those computed again:"), "{text}");
    assert!(
        text.contains("that its point is a stationary point of the violation") && !text.contains("Does not hold"),
        "{text}"
    );
    // Where its numbers are others, it is false.
    let mut forged = result;
    forged["feasibility"] = json!(0.5);
    let text = stdout(&run(&["verify", &written(folder.path(), &forged)]));
    assert!(text.contains("Does not hold") && text.contains("the result says that its feasibility is 5.0"), "{text}");
}

#[test]
fn a_file_is_opened_again_with_its_parameters() {
    let (folder, file) = line_file();
    let (result, exit) = run_json(&["solve", file.to_str().expect("a path"), "--param", "N=2", "--json"]);
    assert_eq!((exit, result["source"]["problem"]["parameters"][0][1].as_f64()), (0, Some(2.0)));
    let output = run(&["verify", &written(folder.path(), &result)]);
    assert_eq!(code(&output), 0, "{}", stdout(&output));
    let mut forged = result;
    forged["source"]["problem"]["parameters"] = json!([]);
    assert_eq!(code(&run(&["verify", &written(folder.path(), &forged)])), 2, "another parameter is another problem");
}

/// A change to a result, and a part of what is said about it.
type Forgery = (fn(&mut Value), &'static str);

fn all_are_caught(arguments: &[&str], forgeries: &[Forgery]) {
    let folder = tempfile::tempdir().expect("a folder");
    let (good, _) = run_json(arguments);
    for (forge, expected) in forgeries {
        let mut result = good.clone();
        forge(&mut result);
        let output = run(&["verify", &written(folder.path(), &result)]);
        assert_eq!(code(&output), 2, "{expected}: {}", stdout(&output));
        assert!(stdout(&output).contains(expected), "{expected:?} is missing from\n{}", stdout(&output));
    }
}

#[test]
fn forged_exact_results_are_caught() {
    all_are_caught(
        &EXACT,
        &[
            (|result| result["x"][1] = json!(4.8), "its feasibility is "),
            (
                |result| result["stationarity"] = json!(9e-7),
                "the result says that its stationarity is 9.000000e-07, but it is ",
            ),
            (
                |result| result["objective"] = json!(16.0),
                "the result says that its objective is 1.600000e+01, but it is 1.7014",
            ),
            (|result| result["constraints"][0] = json!(26.0), "the result says that its constraint product is 2.600000e+01"),
            (|result| result["row_multipliers"][0] = json!(0.0), "its stationarity is "),
            (|result| result["bound_multipliers"][1] = json!(1.0), "its stationarity is "),
            (
                |result| result["infeasible_stationarity"] = json!(0.5),
                "its slope of the violation (infeasible_stationarity) is 5",
            ),
            (|result| result["message"] = json!("A global minimum."), "its message is not what its other fields say: Stopped"),
            (|result| result["names"]["variables"] = json!(["x2", "x1", "x3", "x4"]), "its names of variables or constraints"),
            (|result| result["average"] = json!([1.0, 1.0, 1.0, 1.0]), "it has an average of iterates"),
            (|result| result["seconds"] = json!(-1.0), "a residual or its time is negative"),
            (|result| result["unusual"] = json!([["at_rest", 1_000_000]]), "an event happened in no iteration, or in more"),
            (|result| result["samples"]["gradient"] = json!(7), "it has samples, but its functions are exact"),
            (|result| result["confirmed"] = json!(false), "it says that its values could not be repeated"),
            (|result| result["rho"] = json!(-1.0), "its merit parameter rho is no positive number"),
            (|result| result["evaluations"]["objective"] = json!(0), "it says that its objective was never evaluated"),
            (|result| result["iterations"] = json!(1_000_000_000), "it has 1000000000 iterations, but fewer evaluations"),
            (|result| result["evaluated"] = json!(false), "it says that its functions were never evaluated"),
            (|result| result["settings"]["stepsize"]["tau"] = json!(7.0), "no run has its settings: "),
            (
                |result| {
                    (result["stop"], result["message"]) = (json!("samples"), json!(""));
                    result["tangor"] = json!("0.0.9");
                },
                "the limit on samples was reached, but its settings have no such limit",
            ),
            (|result| result["evaluations"]["gradient"] = json!(u64::MAX), "no run counts to 18446744073709551615"),
            (|result| result["settings"]["limits"]["evaluations"] = json!(3), "which is beyond its limit"),
            (|result| result["followed"] = json!({"objective": -1e20, "largest": 1e20}), "how far the objective was followed"),
            (
                |result| result["feasibility"] = json!(5e-9),
                "the result says that its feasibility is 5.000000e-09, but its own constraints and multipliers make it",
            ),
            (|result| result["version"] = json!(0), "its form has the version 0, but this program writes and reads 1"),
            (
                |result| result["point"] = json!("nothing"),
                "the result itself says that its point is neither feasible nor stationary",
            ),
        ],
    );
}

#[test]
fn forged_noisy_results_are_caught() {
    all_are_caught(
        &NOISY,
        &[
            (|result| result["x"][1] = json!(4.8), "its feasibility is at least "),
            (
                |result| result["feasibility"] = json!(0.0),
                "the result says that its feasibility is 0.000000e+00, but its verdict says ",
            ),
            (|result| result["row_multipliers"][0] = json!(-0.6), "the result says that its stationarity is at most "),
            (|result| result["verdict"] = Value::Null, "the result has no verdict on its point"),
            (
                |result| result["objective"] = json!(16.0),
                "the result says that its objective is 1.600000e+01, but its verdict says 1.7",
            ),
            (
                |result| (result["objective"], result["verdict"]["objective"]["value"]) = (json!(16.0), json!(16.0)),
                "the result says that its objective is 1.600000e+01, but fresh samples say 1.7",
            ),
            (|result| result["constraints"][0] = json!(26.0), "the result says that its constraint product is 2.600000e+01"),
            (|result| result["verdict"]["bounds_unknown"] = json!(true), "what its verdict certifies does not follow from its"),
            (|result| result["message"] = json!("A global minimum."), "its message is not what its other fields say: Stopped"),
            (|result| result["infeasible_stationarity"] = json!(0.5), "its slope of the violation is 5.000000e-01, but its"),
            (|result| result["verdict"]["feasibility"]["lower"] = json!(1.0), "is not between its own bounds"),
            (
                |result| result["verdict"]["relative_infeasible"] = json!(-5),
                "a relative slope of the violation that is no number",
            ),
            (|result| result["verdict"]["certified"] = json!(1e-9), "what its verdict certifies does not follow from its"),
            (|result| result["verdict"]["noise"] = json!(0.0), "what its verdict certifies does not follow from its"),
            (|result| result["verdict"]["confidence"] = json!(0.9999), "a confidence of 99.99%, but its settings ask for 95%"),
            (|result| result["verdict"]["samples"] = json!(1u64 << 20), "more samples or iterations than the whole run"),
            (|result| result["verdict"]["rarest"] = json!(1e-6), "no event rarer than 1 in 1000000 samples is missing"),
            (|result| result["verdict"]["few_events"] = json!(true), "its verdict does not say that its point is a KKT point"),
            (|result| result["verdict"]["rarest"] = json!(1e-2), "its verdict does not say that its point is a KKT point"),
            (|result| result["verdict"]["rarest"] = Value::Null, "its message is not what its other fields say: Stopped"),
            (
                |result| {
                    let message = result["message"].as_str().expect("a message").to_string();
                    let condition = message.find(" and no event").expect("its condition");
                    result["message"] = json!(format!("{}.", &message[..condition]));
                    result["verdict"]["rarest"] = Value::Null;
                },
                "its verdict does not say which events may be missing",
            ),
            (
                |result| result["verdict"]["objective"]["error"] = json!(1e3),
                "its objective is off by at most 1.0e+03; by fresh",
            ),
            (
                |result| {
                    let value = result["constraints"][1].as_f64().expect("a number");
                    result["constraints"][1] = json!(value + 1e-4);
                },
                "but its own constraints and multipliers make it",
            ),
            (|result| result["evaluations"]["gradient"] = json!(0), "it says that its gradient was never evaluated"),
            (|result| result["samples"]["gradient"] = json!(u64::MAX), "no run counts to 18446744073709551615"),
            (|result| result["settings"]["limits"]["samples"] = json!(100), "which is beyond its limit"),
            (|result| result["confirmed"] = json!(true), "which a run with noise does not ask"),
            (|result| result["verdict"]["iteration"] = json!(0), "on a point of another iteration than the last"),
            (|result| result["version"] = json!(7), "its form has the version 7, but this program writes and reads 1"),
        ],
    );
}

/// A forger who claims few samples, and that no rare event matters, does not decide how many are looked at.
#[test]
fn rare_events_are_looked_for_whatever_the_result_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let few = ["--set", "sampling.judge.rarest=1", "--set", "sampling.judge.samples=200"];
    let (result, exit) = run_json(&[&NOISY[..], &few].concat());
    assert_eq!(exit, 0);
    let file = written(folder.path(), &result);
    let output = run(&["verify", &file]);
    assert!(code(&output) == 0 && stdout(&output).contains("rarer than 1 in 66"), "{}", stdout(&output));
    let output = run(&["verify", &file, "--samples", "2000"]);
    assert_eq!(code(&output), 3, "{}", stdout(&output));
    assert!(stdout(&output).contains("may be missing among them, and those from 1 in 6667 on matter"), "{}", stdout(&output));
    assert_eq!(code(&run(&["verify", &file, "--samples", "2000", "--rarest", "1"])), 0);
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let (result, _) = run_json(&NOISY);
    let file = written(folder.path(), &result);
    let child = crate::tangor(&["verify", &file, "--samples", "1000000000"]).stdout(std::process::Stdio::piped()).spawn();
    let child = child.expect("the program can be started");
    std::thread::sleep(std::time::Duration::from_millis(700));
    crate::interrupt(&child);
    let output = child.wait_with_output().expect("the program ends");
    assert_eq!((code(&output), stdout(&output).as_str()), (4, "Interrupted before anything could be told of HS71.\n"));
}

#[test]
fn a_time_limit_ends_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let (result, _) = run_json(&NOISY);
    let file = written(folder.path(), &result);
    let began = std::time::Instant::now();
    let output = run(&["verify", &file, "--samples", "1000000000", "--time-limit", "1s"]);
    assert_eq!((code(&output), stdout(&output).as_str()), (3, "Out of time before anything could be told of HS71.\n"));
    assert!(began.elapsed() < std::time::Duration::from_secs(30), "{:?}", began.elapsed());
    assert_eq!(code(&run(&["verify", &file, "--time-limit", "1h"])), 0);
}

#[test]
fn what_is_no_result_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let (good, _) = run_json(&EXACT);
    let changes: [Forgery; 6] = [
        (|result| result["x"] = json!([1.0, 2.0, 3.0]), "x has 3 numbers, but HS71 has 4 variables"),
        (|result| result["row_multipliers"] = json!([]), "row_multipliers has 0 numbers, but HS71 has 2 constraints"),
        (|result| result["x"][0] = Value::Null, "entry 0 of x, counted from 0, is not a number"),
        (|result| result["x"][0] = json!(0.5), "variable x1 is 0.5, outside of its bounds"),
        (|result| result["source"] = Value::Null, "it does not say where its problem comes from"),
        (|result| result["source"]["problem"]["name"] = json!("HS6"), "it is a result of HS71, but its source gives HS6"),
    ];
    for (change, expected) in changes {
        let mut result = good.clone();
        change(&mut result);
        let output = run(&["verify", &written(folder.path(), &result)]);
        let message = String::from_utf8_lossy(&output.stderr).to_string();
        assert_eq!(code(&output), 1, "{expected}");
        assert!(message.contains("cannot be checked: ") && message.contains(expected), "{message}");
    }
    for (count, expected) in
        [(json!(-1), "evaluations.gradient: invalid value"), (json!(0.5), "evaluations.gradient: invalid type")]
    {
        let mut result = good.clone();
        result["evaluations"]["gradient"] = count;
        let message = refusal(&["verify", &written(folder.path(), &result)]);
        assert!(message.contains(expected), "{message}");
    }
    let message = refusal(&["verify", &written(folder.path(), &json!([1, 2]))]);
    assert!(message.contains("it is not what `tangor solve --json` prints"), "{message}");
    assert!(refusal(&["verify", "no/such/result.json"]).contains("the file no/such/result.json cannot be read"));
}

#[test]
fn more_samples_and_another_confidence_may_be_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let (result, _) = run_json(&NOISY);
    let file = written(folder.path(), &result);
    let text = stdout(&run(&["verify", &file, "--samples", "50000", "--confidence", "0.999"]));
    assert!(text.contains("Judged on 150000 fresh samples, with 99.9% confidence"), "{text}");
    // With this confidence fewer may miss an event that matters: there is no bound.
    let text = stdout(&run(&["verify", &file, "--samples", "40000", "--confidence", "0.999"]));
    assert!(text.contains("no bound") && !text.contains("at most") && text.contains("Cannot tell"), "{text}");
    assert!(refusal(&["verify", &file, "--confidence", "2"]).contains("must be between 0.5 and 1"));
}

/// The counts of exit codes of `verify` over results of runs with other seeds.
fn answers(arguments: &[&str], more: &[&str], seeds: std::ops::Range<u32>) -> [usize; 4] {
    let folder = tempfile::tempdir().expect("a folder");
    let mut counts = [0; 4];
    for seed in seeds {
        let seed = seed.to_string();
        let (result, exit) = run_json(&[arguments, &["--json", "--seed", &seed]].concat());
        if exit == 0 {
            let output = run(&[&["verify", &written(folder.path(), &result)], more].concat());
            counts[code(&output) as usize] += 1;
        }
    }
    counts
}

#[test]
fn a_true_claim_is_never_said_not_to_hold() {
    // With few samples a judgement is often lucky: fresh ones cannot tell, and must not say that the claim is wrong.
    let few = ["--set", "sampling.judge.samples=200"];
    for problem in [
        ["solve", "HS71", "--noise", "2e-2", "--tolerance", "1e-2"],
        ["solve", "HS8", "--noise", "2e-3", "--tolerance", "1e-3"],
    ] {
        let counts = answers(&[&problem[..], &few].concat(), &[], 0..12);
        assert_eq!([counts[1], counts[2]], [0, 0], "{problem:?}: {counts:?}");
        assert!(counts[0] >= 6, "{problem:?}: {counts:?}");
        let counts = answers(&[&problem[..], &few].concat(), &["--samples", "40"], 0..6);
        assert_eq!([counts[1], counts[2]], [0, 0], "{problem:?}, few samples: {counts:?}");
        assert!(counts[3] > 0, "{problem:?}: 40 samples cannot tell: {counts:?}");
    }
}

/// Bounds with 95% confidence are wrong in one of twenty honest results, and many numbers are compared: of 300 such answers about ten were wrong.
#[test]
fn chance_contradicts_no_true_claim() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut wrong = Vec::new();
    for problem in ["HS6", "MARATOS", "HS28"] {
        for seed in 0..10 {
            let seed = seed.to_string();
            let noisy = ["--noise", "1e-3", "--tolerance", "1e-2", "--seed", &seed, "--json"];
            let (result, exit) = run_json(&[&["solve", problem], &noisy[..]].concat());
            assert_eq!(exit, 0, "{problem}, seed {seed}");
            let file = written(folder.path(), &result);
            for other in 0..10 {
                let other = format!("{seed}{other}1");
                let output = run(&["verify", &file, "--samples", "100", "--seed", &other]);
                // So few cannot tell of rare events: that is all.
                if code(&output) != 3 {
                    wrong.push(format!("{problem}, seeds {seed} and {other}: {}", stdout(&output)));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of 300: {}", wrong.len(), wrong[0]);
}

#[test]
fn what_cannot_be_told_names_how_many_samples_would_tell() {
    let folder = tempfile::tempdir().expect("a folder");
    let (result, _) = run_json(&["solve", "HS71", "--json", "--noise", "3e-2", "--tolerance", "1e-2", "--seed", "7"]);
    let file = written(folder.path(), &result);
    let output = run(&["verify", &file, "--samples", "40"]);
    let text = stdout(&output);
    assert_eq!(code(&output), 3, "{text}");
    assert!(text.contains("Cannot tell with 40 samples of each function (it needs about --samples "), "{text}");
    let needed = text.split("--samples ").nth(1).and_then(|rest| rest.split(')').next()).expect("a number").to_string();
    // As many as it asks for, and some to spare: the estimate rests on 40 samples.
    let more = (3 * needed.parse::<u64>().expect("a number")).max(20_000).to_string();
    let output = run(&["verify", &file, "--samples", &more]);
    assert_eq!(code(&output), 0, "{}", stdout(&output));
}

#[test]
fn what_a_run_could_not_tell_fresh_samples_may() {
    let folder = tempfile::tempdir().expect("a folder");
    let (result, exit) = run_json(&["solve", "HS39", "--json", "--noise", "1e-1", "--tolerance", "5e-3", "--seed", "1"]);
    assert_eq!((exit, &result["point"]), (3, &json!("nothing")));
    let output = run(&["verify", &written(folder.path(), &result), "--samples", "40000"]);
    let text = stdout(&output);
    assert_eq!(code(&output), 0, "{text}");
    assert!(text.contains("Holds: the point is a KKT point within the tolerances. The run could not tell"), "{text}");
    // On few samples neither can it be told now, nor was it said then.
    let output = run(&["verify", &written(folder.path(), &result), "--samples", "400"]);
    assert_eq!(code(&output), 3, "{}", stdout(&output));
    assert!(!stdout(&output).contains("Does not hold"), "{}", stdout(&output));
}
