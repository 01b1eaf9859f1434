use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::{code, interrupt, refusal, run, run_json, stderr, stdout, tangor};

/// The command of a Python example, if Python is there.
pub fn example(file: &str) -> Option<String> {
    let has = Command::new("python3")
        .arg("-V")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !has {
        println!("skipped: python3 is not there");
        return None;
    }
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/python").join(file);
    Some(format!("python3 -B '{}'", path.display()))
}

#[test]
fn an_exact_oracle_is_solved_evaluated_and_checked() {
    let Some(command) = example("hs71.py") else { return };
    let (report, exit) = run_json(&["solve", "--oracle", &command, "--json"]);
    assert_eq!(exit, 0);
    let objective = report["objective"].as_f64().expect("a value");
    assert!((objective - 17.014_017_3).abs() < 1e-4, "{objective}");
    let (values, exit) = run_json(&["eval", "--oracle", &command, "--json"]);
    assert_eq!((exit, values["f"].as_f64()), (0, Some(16.0)));
    let check = run(&["check", "--oracle", &command]);
    assert_eq!(code(&check), 0, "{}", stderr(&check));
    assert!(stdout(&check).starts_with("HS71: right"));
}

#[test]
fn a_noisy_oracle_is_solved() {
    let Some(command) = example("newsvendor.py") else { return };
    let limits = ["--set", "limits.iterations=200", "--set", "sampling.judge.samples=400"];
    let (report, exit) = run_json(&[&["solve", "--oracle", &command, "--json"], &limits[..]].concat());
    assert!(exit == 0 || exit == 3, "{report}");
    let x: Vec<f64> = serde_json::from_value(report["x"].clone()).expect("a point");
    let spent: f64 = x.iter().zip([1.0, 2.0, 3.0]).map(|(order, price)| order * price).sum();
    assert!(spent <= 60.1 && x.iter().all(|order| (0.0..=30.0).contains(order)), "{x:?}");
    assert!(x[0] > 6.0, "more is ordered than at the start: {x:?}");
    // The command of the page beside it: certified, and the answer printed with its names.
    let noise = ["--tolerance", "0.5", "--batch", "8", "--set", "sampling.judge.samples=40000"];
    let folder = tempfile::tempdir().expect("a folder");
    let picture = folder.path().join("run.svg");
    let solved = run(&[&["solve", "--oracle", &command, "--plot", picture.to_str().expect("UTF-8")], &noise[..]].concat());
    let text = stdout(&solved);
    assert_eq!(code(&solved), 0, "{text}");
    assert!(["apples", "pears", "plums"].iter().all(|name| text.contains(name)), "{text}");
    // What nobody evaluated is not in the table; the objective of the result has an error bar; the budget of 60 is not spent.
    let header = text.lines().find(|line| line.contains("stationary")).expect("a table");
    assert!(!header.contains("objective") && !text.contains("NaN"), "{text}");
    let objective = text.lines().find_map(|line| line.strip_prefix("  objective ")).expect("an objective").trim();
    assert!(objective.contains(" +- ") && text.contains("of gradients (and of the objective among them)"), "{text}");
    let drawn = std::fs::read_to_string(&picture).expect("a picture");
    assert!(drawn.contains(&format!("objective {objective}")), "{objective}");
    assert!(text.contains("leftover  at upper bound") && !text.contains("budget"), "{text}");
}

#[test]
fn a_noisy_oracle_is_evaluated_and_checked_at_fixed_draws() {
    let Some(command) = example("newsvendor.py") else { return };
    let eval = |more: &[&str]| run_json(&[&["eval", "--oracle", &command, "--json"], more].concat()).0;
    assert_eq!(eval(&[])["draws"], json!([0, 1, 2, 3, 4, 5, 6, 7]));
    let f = |draws: &str| eval(&["--draws", draws])["f"].as_f64().expect("a value");
    assert!((f("3,9") - 0.5 * (f("3") + f("9"))).abs() < 1e-12 && f("3") != f("9"));

    let checked = run(&["check", "--oracle", &command, "--draws", "3,9"]);
    assert_eq!(code(&checked), 0, "{}", stderr(&checked));
    let shown = stdout(&checked);
    assert!(shown.starts_with("newsvendor: right\nAverages over the draws 3, 9.\n"), "{shown}");
    let one = stdout(&run(&["check", "--oracle", &command, "--draws", "7"]));
    assert!(one.starts_with("newsvendor: right\nValues at the draw 7.\n"), "{one}");
    let message = refusal(&["check", "HS71", "--draws", "1"]);
    assert!(message.contains("HS71 has no noise: leave --draws out"), "{message}");
}

#[cfg(unix)]
#[test]
fn an_oracle_that_fails_is_told_of() {
    let message = refusal(&["solve", "--oracle", "sh -c 'echo the model is missing >&2; exit 7'"]);
    assert!(message.contains("ended without an answer to the greeting; it ended with exit status: 7"), "{message}");
    assert!(message.contains("\n  the model is missing"), "{message}");
    let message = refusal(&["solve", "--oracle", "sleep 100", "--oracle-time-limit", "200ms"]);
    assert!(message.contains("the oracle `sleep 100` gave no answer to the greeting within 200ms"), "{message}");

    let message = refusal(&["solve", "--oracle", "echo 1"]);
    assert!(message.contains("expected a JSON object with the field `tangor`"), "{message}");

    // It introduces itself, gives one value, and dies.
    let introduction = r#"{"tangor":1,"name":"brief","n":1,"x0":[2],"objective":"value"}"#;
    let program = format!("read line; echo '{introduction}'; read line; echo '{{\"id\":1,\"values\":[4]}}'; read line; exit 9");
    let command = format!("sh -c \"{}\"", program.replace('\\', "\\\\").replace('"', "\\\""));
    let output = run(&["solve", "--oracle", &command]);
    assert_eq!(code(&output), 5, "{}", stderr(&output));
    let told = stdout(&output);
    assert!(
        told.contains("ended without an answer to request 2 (gradient of the objective); it ended with exit status: 9"),
        "{told}"
    );
}

/// An oracle that hangs, at its greeting or later, is stopped, and the exit code says who ended it.
#[cfg(unix)]
#[test]
fn an_interrupt_ends_the_wait_for_an_oracle() {
    let folder = tempfile::tempdir().expect("a folder");
    let asked = folder.path().join("asked");
    let introduction = r#"{"tangor":1,"name":"brief","n":1,"x0":[2],"objective":"value"}"#;
    let later = format!("read line; echo '{introduction}'; read line; touch '{}'; sleep 100", asked.display());
    let later = format!("sh -c \"{}\"", later.replace('"', "\\\""));
    let at_once = ["info", "eval", "check"].map(|command| (command, "sleep 100", "the greeting"));
    for (command, oracle, question) in
        at_once.into_iter().chain(["eval", "check"].map(|command| (command, &*later, "request 1")))
    {
        let arguments = [command, "--oracle", oracle];
        let child =
            tangor(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program can be started");
        let started = std::time::Instant::now();
        while question == "request 1" && !asked.exists() && started.elapsed().as_secs() < 60 {
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        interrupt(&child);
        let output = child.wait_with_output().expect("the program ends");
        let _ = std::fs::remove_file(&asked);
        let told = stderr(&output);
        assert_eq!(code(&output), 4, "{command}: {told}");
        assert!(told.contains(&format!("was busy with {question}")) && told.contains("the user stopped the run"), "{told}");
    }
}

#[test]
fn a_problem_comes_from_one_place() {
    let message = refusal(&["solve", "HS71", "--oracle", "python3 model.py"]);
    assert!(message.contains("cannot be used with"), "{message}");
    let message = refusal(&["solve"]);
    assert!(message.contains("no PROBLEM is given") && message.contains("--oracle"), "{message}");
    let message = refusal(&["solve", "HS71", "--oracle-time-limit", "1s"]);
    assert!(message.contains("'[PROBLEM]' cannot be used with '--oracle-time-limit <DURATION>'"), "{message}");
}
