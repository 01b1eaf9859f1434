//! `tangor fit` and `tangor predict`.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::{code, refusal, run, run_json, stdout};

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
    let (gap, alarms) = (attained[0]["value"].as_f64().unwrap(), attained[1]["value"].as_f64().unwrap());
    assert_eq!(attained[0]["name"], "rate gap of sex, m - f");
    assert!(gap.abs() <= 0.01 + 1e-6 && alarms <= 0.3 + 1e-6, "{gap} {alarms}");
    assert_eq!(all["test"]["rows"], 600);
    assert!(all["test"]["accuracy"].as_f64().unwrap() > 0.7);
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
    for expected in
        ["generated: 1000 rows, 11 weights", "+-0.02", "<= 1", "rate gap of group, b - a", "0.0200 +- 0.0", "accuracy"]
    {
        assert!(told.contains(expected), "{expected:?} is missing in\n{told}");
    }
}

#[test]
fn wrong_arguments_and_files_are_refused() {
    let folder = TempDir::new().expect("a folder can be made");
    let file = people(&folder, "a.csv", 0);
    let cases: [(&[&str], &str); 5] = [
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
