use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::{code, interrupt, refusal, run, run_json, stderr, stdout, tangor};

/// A report without what differs between any two runs.
fn comparable(mut report: Value) -> Value {
    report["seconds"] = Value::Null;
    report["settings"]["limits"] = Value::Null;
    report
}

#[test]
fn a_resumed_run_equals_an_uninterrupted_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let state = folder.path().join("state");
    let state = state.to_str().expect("a path");
    for name in ["HS71", "HS6", "MARATOS"] {
        let (whole, whole_code) = run_json(&["solve", name, "--json"]);
        assert_eq!(code(&run(&["solve", name, "--quiet", "--max-iterations", "2", "--checkpoint", state])), 3, "{name}");
        let (resumed, resumed_code) = run_json(&["solve", name, "--json", "--resume", state, "--max-iterations", "3000"]);
        assert_eq!(resumed_code, whole_code);
        assert_eq!(comparable(resumed), comparable(whole), "{name}");
    }
}

#[test]
fn a_resumed_trace_is_continued() {
    let folder = tempfile::tempdir().expect("a folder");
    let (state, trace) = (folder.path().join("state"), folder.path().join("trace.csv"));
    let (state, trace) = (state.to_str().expect("a path"), trace.to_str().expect("a path"));
    run(&["solve", "HS71", "--quiet", "--max-iterations", "3", "--checkpoint", state, "--trace", trace]);
    run(&["solve", "HS71", "--quiet", "--max-iterations", "5", "--resume", state, "--trace", trace]);
    let rows = fs::read_to_string(trace).expect("a trace");
    let iterations: Vec<&str> = rows.lines().filter_map(|line| line.split(',').next()).collect();
    assert_eq!(iterations, ["iteration", "0", "1", "2", "3", "4", "5"]);
}

#[test]
fn a_state_belongs_to_its_problem_and_its_settings() {
    let folder = tempfile::tempdir().expect("a folder");
    let state = folder.path().join("state");
    let state = state.to_str().expect("a path");
    run(&["solve", "HS71", "--quiet", "--max-iterations", "3", "--checkpoint", state]);
    let message = refusal(&["solve", "HS6", "--resume", state]);
    assert!(message.contains("HS71") && message.contains("HS6"), "{message}");
    let message = refusal(&["solve", "HS71", "--resume", state, "--set", "scaling=none"]);
    assert!(message.contains("the setting scaling cannot be changed in a resumed run"), "{message}");
    // What is said again is no change.
    let again = ["--resume", state, "--set", "merit.margin=2", "--quiet", "--max-iterations", "4"];
    let output = run(&[&["solve", "HS71"][..], &again].concat());
    assert_ne!(code(&output), 1, "{}", stderr(&output));
    fs::write(state, "{\"version\": 1").expect("a broken file");
    let message = refusal(&["solve", "HS71", "--resume", state]);
    assert!(message.contains(state), "{message}");
    let message = refusal(&["solve", "HS71", "--resume", "no/such/state"]);
    assert!(message.contains("no/such/state"), "{message}");
}

/// Settings under which no run ends by itself for a long while.
const ENDLESS: [&str; 10] = [
    "solve",
    "HS71",
    "--tolerance",
    "1e-300",
    "--set",
    "stepsize.smallest=1e-300",
    "--set",
    "limits.iterations=1000000000",
    "--set",
    "metric.kind=identity",
];

#[cfg(unix)]
#[test]
fn an_interrupt_ends_the_run_in_order() {
    let folder = tempfile::tempdir().expect("a folder");
    let (state, trace) = (folder.path().join("state"), folder.path().join("trace.jsonl"));
    let (state, trace) = (state.to_str().expect("a path"), trace.to_str().expect("a path"));
    let mut arguments = ENDLESS.to_vec();
    arguments.extend(["--json", "--trace", trace, "--checkpoint", state, "--time-limit", "60s"]);
    let child = tangor(&arguments).stdout(Stdio::piped()).spawn().expect("the program can be started");
    // The trace fills as soon as the run is on its way.
    let started = std::time::Instant::now();
    while fs::metadata(trace).map_or(0, |data| data.len()) == 0 && started.elapsed().as_secs() < 30 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    interrupt(&child);
    let output = child.wait_with_output().expect("the program ends");
    let report: Value = serde_json::from_slice(&output.stdout).expect("a whole report");
    assert_eq!(report["stop"], "user");
    assert_eq!(code(&output), 4);
    let rows = fs::read_to_string(trace).expect("a trace");
    assert!(rows.ends_with("}\n"));
    assert_eq!(rows.lines().count() as u64, report["iterations"].as_u64().expect("a count") + 1);
    let (resumed, _) = run_json(&["solve", "HS71", "--json", "--resume", state, "--tolerance", "1e-6"]);
    assert_eq!(resumed["problem"], "HS71");
}

/// A run that is interrupted at its beginning, and again after each of these many milliseconds: what it printed, and how it ended.
#[cfg(unix)]
fn interrupted_again(arguments: &[&str], later: &[u64]) -> (String, i32) {
    use std::io::BufRead;
    let mut child = tangor(arguments).stdout(Stdio::piped()).spawn().expect("the program can be started");
    let mut out = std::io::BufReader::new(child.stdout.take().expect("a pipe"));
    let mut text = String::new();
    out.read_line(&mut text).expect("a first line");
    interrupt(&child);
    for milliseconds in later {
        std::thread::sleep(std::time::Duration::from_millis(*milliseconds));
        interrupt(&child);
    }
    out.read_to_string(&mut text).expect("the rest");
    (text, child.wait().expect("the program ends").code().unwrap_or(-1))
}

/// A terminal and a program that hands signals on make two of one.
#[cfg(unix)]
#[test]
fn a_signal_that_comes_twice_at_once_ends_the_run_in_order() {
    let arguments = [&ENDLESS[..], &["--verbose", "--time-limit", "60s"]].concat();
    for later in [&[0][..], &[1], &[0, 0, 2]] {
        let (text, exit) = interrupted_again(&arguments, later);
        assert_eq!(exit, 4, "{later:?}");
        assert!(text.contains("interrupted"), "{later:?}: {}", text.lines().rev().take(20).collect::<Vec<_>>().join("\n"));
    }
}

/// A run whose output nobody reads does not come to its end: a second signal does not wait for it, unless it belongs to the first.
#[cfg(unix)]
#[test]
fn a_later_signal_ends_the_program_at_once() {
    let wait = |milliseconds| std::thread::sleep(std::time::Duration::from_millis(milliseconds));
    let arguments = [&ENDLESS[..], &["--verbose", "--time-limit", "60s"]].concat();
    let mut child = tangor(&arguments).stdout(Stdio::piped()).spawn().expect("the program can be started");
    let mut out = child.stdout.take().expect("a pipe");
    out.read_exact(&mut [0; 64]).expect("it has begun");
    wait(300);
    interrupt(&child);
    interrupt(&child);
    wait(400);
    assert_eq!(child.try_wait().expect("a child"), None, "it waits for its reader");
    // The termination signal counts as Ctrl-C does.
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().expect("kill").success());
    assert_eq!(child.wait().expect("the program ends").code(), Some(130));
    drop(out);
    // What that code means is told to who asks.
    let help = crate::stdout(&run(&["solve", "--help"]));
    assert!(help.contains("130  a second Ctrl-C or termination signal"), "{help}");
}

#[test]
fn a_closed_pipe_ends_the_run_without_a_word() {
    let mut arguments = ENDLESS.to_vec();
    arguments.extend(["--verbose", "--time-limit", "60s"]);
    let mut child =
        tangor(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program can be started");
    let mut beginning = [0; 64];
    child.stdout.take().expect("a pipe").read_exact(&mut beginning).expect("some output");
    let output = child.wait_with_output().expect("the program ends");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(code(&output), 4);
}

#[test]
fn lists_may_be_cut_off() {
    for arguments in [&["list"][..], &["options"], &["man"], &["completions", "bash"], &["list", "--json"]] {
        let mut child =
            tangor(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program can be started");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("the program ends");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments:?}");
        assert_eq!(code(&output), 0, "{arguments:?}");
    }
}

#[test]
fn a_run_that_ends_in_its_first_batch_says_so() {
    let huge = ["--set", "sampling.gradient.first_batch=60000000", "--time-limit", "100ms", "--quiet"];
    let output = run(&[&["solve", "HS71", "--noise", "1e-2"][..], &huge].concat());
    let text = stdout(&output);
    assert_eq!(code(&output), 3, "{text}");
    assert!(text.contains("Not solved: there was no time to evaluate the functions at any point."), "{text}");
    assert!(!text.contains("active") && !text.contains("variables\n"), "nothing is known of the start: {text}");
}

/// One batch that would take several seconds, at the start or in a judgement, ends with the time and with Ctrl-C.
#[cfg(unix)]
#[test]
fn a_huge_batch_ends_with_the_time_and_with_an_interrupt() {
    let noisy = ["solve", "HS71", "--noise", "1e-2", "--json", "--memory-limit", "8GB"];
    // Also where 100 million samples are drawn in one.
    let size = 300_000_000;
    for path in ["sampling.gradient.first_batch", "sampling.judge.samples"] {
        let setting = &["--set", &format!("{path}={size}")];
        let started = std::time::Instant::now();
        let (report, exit) = run_json(&[&noisy[..], setting, &["--time-limit", "1s"]].concat());
        assert_eq!((report["stop"].as_str(), exit), (Some("wall_time"), 3), "{setting:?}");
        assert!(report["failure"].is_null(), "{}", report["failure"]);
        // What was broken off is not counted.
        assert!(report["samples"]["gradient"].as_u64() < Some(size), "{}", report["samples"]);
        assert!(started.elapsed().as_secs() < 20, "{setting:?}: {:?}", started.elapsed());

        let child = tangor(&[&noisy[..], setting, &["--time-limit", "60s"]].concat()).stdout(Stdio::piped()).spawn();
        let child = child.expect("the program can be started");
        std::thread::sleep(std::time::Duration::from_millis(1500));
        let asked = std::time::Instant::now();
        interrupt(&child);
        let output = child.wait_with_output().expect("the program ends");
        assert!(asked.elapsed().as_secs() < 20, "{setting:?}: {:?}", asked.elapsed());
        assert_eq!(code(&output), 4, "{setting:?}");
    }
}
