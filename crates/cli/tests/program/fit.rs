//! `tangor fit` and `tangor predict`.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::{code, refusal, run, run_json, stdout, tangor};

/// People of two sexes whose income depends on age and a little on sex; every seventh age is missing.
fn people(folder: &TempDir, name: &str, shift: usize) -> PathBuf {
    let mut text = "age,town,sex,rich\n".to_string();
    for i in (0..600).map(|i| i + shift) {
        let (age, sex) = (20 + i * 37 % 50, if i * 13 % 7 < 3 { "f" } else { "m" });
        let rich = age + (i * 29 % 31) + if sex == "m" { 8 } else { 0 } > 62;
        let age = if i % 7 == 0 { "?".to_string() } else { age.to_string() };
        text += &format!("{age},{},{sex},{}\n", ["Rome", "Oslo", "Bath"][i % 3], if rich { "yes" } else { "no" });
    }
    let path = folder.path().join(name);
    std::fs::write(&path, text).expect("the file can be written");
    path
}

fn of_probabilities(attained: &serde_json::Value, what: &str) -> f64 {
    attained["probabilities"][what].as_f64().unwrap()
}

fn text(path: &Path) -> &str {
    path.to_str().expect("the path is UTF-8")
}

#[test]
fn an_exact_fit_satisfies_its_constraints_and_predicts() {
    let folder = TempDir::new().expect("a folder can be made");
    let (train, test, model) = (people(&folder, "a.csv", 0), people(&folder, "b.csv", 601), folder.path().join("model.json"));
    let arguments =
        ["fit", text(&train), "--drop", "sex", "--max-rate-gap", "sex=0.01", "--max-false-positive", "0.3", "--exact"];
    let files = ["--test", text(&test), "--model", text(&model), "--json"];
    let (all, status) = run_json(&[&arguments[..], &files[..]].concat());
    assert_eq!(status, 0, "{}", all["report"]["message"]);
    let attained = &all["model"]["training"]["constraints"];
    let (gap, alarms) = (of_probabilities(&attained[0], "value"), of_probabilities(&attained[1], "value"));
    assert_eq!(attained[0]["name"], "rate gap of sex, m - f");
    // The multipliers are those of the weights: a fit that goes on from them changes neither.
    let multipliers = all["model"]["multipliers"].as_array().unwrap();
    assert!(multipliers.len() == 2 && multipliers.iter().any(|y| y.as_f64().unwrap().abs() > 1e-3), "{multipliers:?}");
    let (finer, _) = run_json(&[&arguments[..], &["--tolerance", "1e-9", "--json"]].concat());
    for (y, finer) in multipliers.iter().zip(finer["model"]["multipliers"].as_array().unwrap()) {
        let (y, finer) = (y.as_f64().unwrap(), finer.as_f64().unwrap());
        assert!((y - finer).abs() <= 1e-3 * finer.abs().max(1e-2), "{y} {finer}");
    }
    assert!(gap.abs() <= 0.01 + 1e-6 && alarms <= 0.3 + 1e-6, "{gap} {alarms}");
    assert_eq!(all["test"]["rows"], 600);
    assert!(all["test"]["overall"]["accuracy"].as_f64().unwrap() > 0.7);
    assert!(all["judged"]["stationarity"].as_f64().unwrap() <= 1e-6);

    let predicted = stdout(&run(&["predict", text(&model), text(&test)]));
    let lines: Vec<&str> = predicted.lines().collect();
    assert_eq!((lines.len(), lines[0]), (601, "probability,prediction"));
    let right = lines[1..].iter().filter(|line| {
        let (p, label) = line.split_once(',').expect("there are two columns");
        (p.parse::<f64>().expect("p is a number") > 0.5) == (label == "yes")
    });
    assert_eq!(right.count(), 600);
    let (evaluation, _) = run_json(&["predict", text(&model), text(&test), "--evaluate"]);
    assert_eq!(evaluation, all["test"]);
}

#[test]
fn a_fit_from_samples_comes_near_the_exact_one() {
    let arguments = ["fit", "--rows", "4000", "--columns", "5", "--max-rate-gap", "group=0.02", "--json"];
    let (exact, status) = run_json(&[&arguments[..], &["--exact"]].concat());
    assert_eq!(status, 0);
    let (sampled, _) = run_json(&[&arguments[..], &["--batch", "1000", "--seed", "0"]].concat());
    let objective = |all: &serde_json::Value| all["judged"]["objective"].as_f64().unwrap();
    assert!((objective(&sampled) - objective(&exact)).abs() < 5e-3, "{} {}", objective(&sampled), objective(&exact));
    assert!(sampled["judged"]["feasibility"].as_f64().unwrap() < 5e-3);
    assert!(sampled["report"]["samples"]["gradient"].as_u64().unwrap() > 0);
    let (again, _) = run_json(&[&arguments[..], &["--batch", "1000", "--seed", "0"]].concat());
    assert_eq!(sampled["report"]["x"], again["report"]["x"]);
}

#[test]
fn the_table_shows_bounds_values_and_margins() {
    let output = run(&["fit", "--rows", "1000", "--exact", "--max-rate-gap", "group=0.02", "--norm", "1", "--color", "never"]);
    assert_eq!(code(&output), 0);
    let told = stdout(&output);
    for expected in [
        "generated: 1000 rows, 11 weights",
        "positive: label = 1 in ",
        "norm: at most 1, multiplier ",
        "rate gap of group, b - a: within +-0.02, multiplier ",
        "probabilities   0.0200 +- 0.0",
        "holds",
        "beyond bound",
        "group, training    rows",
        "\n  b  ",
        "(intercept)",
        "accuracy",
        "AUC",
        "95%",
    ] {
        assert!(told.contains(expected), "{expected:?} is missing in\n{told}");
    }
}

#[test]
fn the_same_bits_with_1_2_and_8_threads() {
    // Batches this large are summed in parts.
    let data = ["fit", "--rows", "5000", "--max-rate-gap", "group=0.02", "--batch", "1500"];
    let arguments = [&data[..], &["--max-iterations", "150", "--tolerance", "1e-300", "--json"]].concat();
    let outcomes = ["1", "2", "8"].map(|threads| {
        let output = tangor(&arguments).env("RAYON_NUM_THREADS", threads).output().expect("the program can be started");
        let mut outcome: serde_json::Value = serde_json::from_slice(&output.stdout).expect("the output is JSON");
        outcome["report"]["seconds"] = serde_json::Value::Null;
        outcome["judged"]["seconds"] = serde_json::Value::Null;
        outcome
    });
    assert_eq!(outcomes[0]["report"]["iterations"], 150);
    assert!(outcomes[0] == outcomes[1] && outcomes[0] == outcomes[2]);
}

#[test]
fn short_ways_reach_the_settings_and_files_are_written() {
    let folder = TempDir::new().expect("a folder can be made");
    let (trace, plot) = (folder.path().join("t.csv"), folder.path().join("p.svg"));
    let arguments = ["fit", "--rows", "500", "--max-rate-gap", "group=0.02", "--max-iterations", "20", "--json"];
    let sampling = ["--estimator", "minibatch", "--momentum", "0.5", "--batch", "64", "--seed", "3", "--samples", "100000"];
    let files = ["--confidence", "0.99", "--trace", text(&trace), "--plot", text(&plot)];
    let (all, _) = run_json(&[&arguments[..], &sampling, &files].concat());
    let settings = &all["report"]["settings"];
    let gradient = &settings["sampling"]["gradient"];
    assert_eq!((&gradient["estimator"], &gradient["batch"]["constant"]["size"]), (&"minibatch".into(), &64.into()));
    assert_eq!((&gradient["momentum"]["constant"]["a"], &settings["sampling"]["seed"]), (&0.5.into(), &3.into()));
    assert_eq!(settings["limits"]["samples"], 100_000);
    // A margin of 99% is 2.575829 standard errors, one of 95% 1.959964, and a little more for few rows.
    let training = &all["model"]["training"];
    let margin = |all: &serde_json::Value| of_probabilities(&all["constraints"][0], "margin");
    assert_eq!(training["confidence"], 0.99);
    let (usual, _) = run_json(&[&arguments[..], &sampling].concat());
    let ratio = margin(training) / margin(&usual["model"]["training"]);
    assert!((ratio - 2.575829 / 1.959964).abs() < 5e-3, "{ratio}");
    let rows = std::fs::read_to_string(trace).expect("there is a trace");
    assert_eq!(rows.lines().count(), 22);
    assert!(std::fs::read_to_string(plot).expect("there is a picture").contains("</svg>"));
}

#[test]
fn a_resumed_fit_needs_nothing_but_its_state_and_its_data() {
    let folder = TempDir::new().expect("a folder can be made");
    let (file, state) = (people(&folder, "a.csv", 0), folder.path().join("state"));
    let goal = ["--drop", "sex", "--max-rate-gap", "sex=0.01", "--l2", "0.01", "--batch", "128", "--seed", "2"];
    let arguments = [&["fit", text(&file), "--tolerance", "1e-300"][..], &goal].concat();
    let (mut whole, _) = run_json(&[&arguments[..], &["--max-iterations", "90", "--json"]].concat());
    let first = run(&[&arguments[..], &["--max-iterations", "5", "--checkpoint", text(&state), "--color", "never"]].concat());
    let told = stdout(&first);
    assert!(told.contains(&format!("to go on: tangor fit --resume {}", text(&state))), "{told}");
    let (mut resumed, _) = run_json(&["fit", "--resume", text(&state), "--max-iterations", "90", "--json"]);
    for outcome in [&mut whole, &mut resumed] {
        outcome["report"]["seconds"] = serde_json::Value::Null;
        outcome["judged"]["seconds"] = serde_json::Value::Null;
    }
    assert_eq!(whole["report"]["iterations"], 90);
    assert!(resumed == whole);

    // The same data under another name will do, others will not; nor will the state of another kind of run.
    let (moved, other) = (people(&folder, "moved.csv", 0), people(&folder, "b.csv", 601));
    std::fs::remove_file(&file).expect("the file can be removed");
    let gone = refusal(&["fit", "--resume", text(&state)]);
    assert!(gone.contains("a.csv cannot be read"), "{gone}");
    assert!(refusal(&["fit", text(&other), "--resume", text(&state)]).contains("the data are not those"));
    assert!(refusal(&["solve", "HS71", "--resume", text(&state)]).contains("the saved state does not say"));
    let (after, _) = run_json(&["fit", text(&moved), "--resume", text(&state), "--max-iterations", "90", "--json"]);
    assert_eq!(after["report"]["x"], whole["report"]["x"]);
    run(&["solve", "HS71", "--max-iterations", "2", "--checkpoint", text(&state)]);
    assert!(refusal(&["fit", "--resume", text(&state)]).contains("not one of `tangor fit`"));
}

#[test]
fn a_wordy_fit_shows_every_iteration() {
    let told =
        stdout(&run(&["fit", "--rows", "500", "--batch", "128", "--max-iterations", "4", "--verbose", "--color", "never"]));
    let numbers: Vec<&str> = told.lines().skip(2).take(6).filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(numbers, ["iter", "0", "1", "2", "3", "4"]);
}

#[test]
fn wrong_arguments_and_files_are_refused() {
    let folder = TempDir::new().expect("a folder can be made");
    let file = people(&folder, "a.csv", 0);
    let cases: [(&[&str], &str); 7] = [
        (&["fit", "--test", text(&file)], "--test needs a FILE to fit"),
        (&["fit", "--confidence", "2"], "confidence"),
        (&["fit", "nowhere.csv"], "the file nowhere.csv cannot be read"),
        (&["fit", text(&file), "--drop", "shoe"], "it has no column \"shoe\"; its columns are age, town, sex, rich"),
        (&["fit", "--max-rate-gap", "group"], "an equals sign is missing; write for example sex=0.02"),
        (&["fit", "--max-rate-gap", "group=2"], "its bound is 2, but must be between 0 and 1"),
        (&["predict", text(&file), text(&file)], "it is not a model"),
    ];
    for (arguments, expected) in cases {
        let message = refusal(arguments);
        assert!(message.contains(expected), "{expected:?} is missing in {message}");
    }
}
