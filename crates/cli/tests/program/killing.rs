//! Runs that are killed without warning: the saved state is whole, and the run goes on from it bit for bit.

use std::path::Path;
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::{run_json, tangor};

/// Kills per test; there are four.
const KILLS: u64 = 25;

/// How long each run lives after it has begun to save its state, in milliseconds: never the same twice in a row.
fn life(k: u64) -> Duration {
    Duration::from_millis((7 * k * k + 3 * k) % 23)
}

/// What is the same in any two runs of the same kind.
fn comparable(mut outcome: Value) -> Value {
    for report in ["report", "judged"] {
        if outcome.get(report).is_some() {
            outcome[report]["seconds"] = Value::Null;
        }
    }
    outcome["seconds"] = Value::Null;
    outcome
}

/// The iteration of a state, which must be whole.
fn iteration(state: &Path) -> u64 {
    let text = std::fs::read(state).expect("there is a state");
    let state: Value = serde_json::from_slice(&text).unwrap_or_else(|error| panic!("the state is not whole: {error}"));
    state["state"]["progress"]["iteration"].as_u64().expect("a state has an iteration")
}

/// Starts the program, kills it after a while, and says whether it was still at work.
fn kill_after(arguments: &[&str], life: Duration, state: &Path) -> bool {
    let before = std::fs::metadata(state).and_then(|data| data.modified()).ok();
    let mut child = tangor(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the program can be started");
    let (started, saves) = (Instant::now(), || std::fs::metadata(state).and_then(|data| data.modified()).ok() != before);
    while !saves() && started.elapsed().as_secs() < 30 {
        sleep(Duration::from_millis(1));
    }
    sleep(life);
    child.kill().expect("the program can be killed");
    child.wait().expect("the program ends").code().is_none()
}

fn killed_runs_go_on(start: &[&str], go_on: &[&str]) {
    let folder = tempfile::tempdir().expect("a folder");
    let state = folder.path().join("state");
    let path = state.to_str().expect("a path");
    let trace = folder.path().join("trace.csv");
    let trace_path = trace.to_str().expect("a path");
    let saving = ["--checkpoint", path, "--checkpoint-every", "1ms", "--json", "--trace", trace_path];
    let (mut kills, mut reached) = (0, 0);
    for k in 0..KILLS {
        let arguments = if k == 0 {
            [start, &["--max-iterations", "1000000000"], &saving].concat()
        } else {
            [go_on, &["--resume", path], &saving].concat()
        };
        kills += u64::from(kill_after(&arguments, life(k), &state));
        let here = iteration(&state);
        assert!(here >= reached, "the state went back from iteration {reached} to {here}");
        reached = here;
    }
    assert!(kills == KILLS && reached > 0, "{kills} kills, iteration {reached}");
    // However fast the machine is, the run ends a little later than it was killed last.
    let end = (reached + 200).to_string();
    let limit = ["--max-iterations", end.as_str(), "--json"];
    let (whole, whole_code) = run_json(&[start, &limit].concat());
    let (resumed, resumed_code) = run_json(&[go_on, &["--resume", path], &saving[..4], &limit, &saving[5..]].concat());
    assert_eq!(resumed_code, whole_code);
    // The trace, continued after every kill, has neither gaps nor repeats; nothing half written is left.
    let rows = std::fs::read_to_string(&trace).expect("a trace");
    let numbers: Vec<u64> = rows.lines().skip(1).filter_map(|row| row.split(',').next()?.parse().ok()).collect();
    assert!(numbers.iter().copied().eq(0..numbers.len() as u64), "the trace has gaps or repeats");
    assert!(numbers.len() as u64 > reached + 200);
    assert!(!folder.path().join("state.part").exists());
    assert!(comparable(resumed) == comparable(whole), "the run that was killed {kills} times has another result");
}

/// A run that ends only when it is told to.
const STUBBORN: [&str; 4] = ["--tolerance", "1e-300", "--set", "sampling.judge.patience=1000000"];

#[test]
fn a_noisy_run_survives_being_killed() {
    let start = ["solve", "HS71", "--noise", "1e-2"];
    killed_runs_go_on(&[&start[..], &STUBBORN].concat(), &["solve", "HS71"]);
}

#[test]
fn a_fit_survives_being_killed() {
    let data = ["fit", "--rows", "3000", "--max-rate-gap", "group=0.02", "--batch", "300"];
    let start = [&data[..], &["--seed", "5"]].concat();
    killed_runs_go_on(&[&start[..], &STUBBORN].concat(), &["fit"]);
}

/// An exact run that no tolerance ends, and no step that is too small.
const EXACT: [&str; 6] = ["--tolerance", "1e-300", "--set", "stepsize.smallest=1e-300", "--set", "metric.kind=identity"];

#[test]
fn an_exact_run_survives_being_killed() {
    killed_runs_go_on(&[&["solve", "HS71"], &EXACT[..]].concat(), &["solve", "HS71"]);
}

/// With other starts, whose number and place are part of the state: the violation of this one is stationary wherever it goes.
#[test]
fn an_exact_run_that_looks_for_a_way_out_survives_being_killed() {
    let starts = ["--set", "limits.escapes=100000000"];
    killed_runs_go_on(&[&["solve", "CIRCLELINE"], &EXACT[..], &starts].concat(), &["solve", "CIRCLELINE"]);
}
