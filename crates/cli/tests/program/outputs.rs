//! Files that cannot be written: the run goes on, its result is told, and nothing half done is left.
#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::{code, refusal, run, run_json, stderr, stdout};

fn text(path: &Path) -> &str {
    path.to_str().expect("a path")
}

/// Runs the program where no file can become longer than so many blocks of 512 bytes: what a full disk does to it.
fn on_a_small_disk(blocks: u32, arguments: &[&str]) -> Output {
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_tangor")]).args(arguments);
    command.output().expect("the program can be started")
}

/// A run of many iterations.
const LONG: [&str; 8] = ["solve", "HS71", "--noise", "1e-2", "--tolerance", "1e-9", "--max-iterations", "1500"];

#[test]
fn a_state_that_cannot_be_saved_costs_a_warning_and_not_the_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let state = folder.path().join("state");
    let (whole, exit) = run_json(&[&LONG[..], &["--json"]].concat());
    assert_eq!(exit, 3);
    // The first states are short; with the judge's averages they become longer than four blocks.
    fs::write(&state, "an older state").expect("a file");
    let saving = ["--json", "--checkpoint", text(&state), "--checkpoint-every", "1ms"];
    for blocks in [1, 4, 8] {
        let output = on_a_small_disk(blocks, &[&LONG[..], &saving].concat());
        let message = stderr(&output);
        assert_eq!(code(&output), 1, "{message}");
        let kept = fs::read(&state).expect("a state");
        assert_eq!(message.matches("warning: the file ").count(), 1, "{message}");
        assert!(message.contains("the run goes on and tries again") && message.contains("the result above is whole"));
        let found: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a whole result");
        assert_eq!((&found["x"], &found["iterations"]), (&whole["x"], &whole["iterations"]));
        // Not even the first state may fit: then what was there before stays.
        assert!(kept == b"an older state" || serde_json::from_slice::<serde_json::Value>(&kept).is_ok());
        assert!(!folder.path().join("state.part").exists());
    }
}

#[test]
fn a_trace_that_cannot_be_written_ends_in_a_whole_line() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["trace.csv", "trace.jsonl"] {
        let trace = folder.path().join(name);
        let output = on_a_small_disk(300, &[&LONG[..], &["--json", "--trace", text(&trace)]].concat());
        assert_eq!(code(&output), 1, "{}", stderr(&output));
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a whole result");
        assert_eq!(report["iterations"], 1500);
        assert_eq!(stderr(&output).matches("warning").count(), 1, "{}", stderr(&output));
        let written = fs::read_to_string(&trace).expect("a trace");
        assert!(written.ends_with('\n') && written.len() <= 300 * 1024, "{} bytes", written.len());
        let columns = |line: &str| line.split(',').count();
        assert!(
            name.ends_with("jsonl") || written.lines().all(|line| columns(line) == columns(written.lines().next().unwrap()))
        );
    }
    let plot = folder.path().join("plot.svg");
    let output = on_a_small_disk(1, &["solve", "HS71", "--json", "--plot", text(&plot)]);
    assert_eq!(code(&output), 1);
    serde_json::from_slice::<serde_json::Value>(&output.stdout).expect("a whole result");
}

/// All files of a folder with their contents, in order.
fn contents(folder: &Path) -> Vec<(std::ffi::OsString, Vec<u8>)> {
    let files = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry"));
    let mut all: Vec<_> = files.map(|file| (file.file_name(), fs::read(file.path()).unwrap_or_default())).collect();
    all.sort();
    all
}

#[test]
fn whatever_cannot_be_written_leaves_the_old_file_and_nothing_beside_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| text(&folder.path().join(name)).to_string();
    for name in ["model.json", "table.csv", "plot.svg", "state", "trace.csv", "rows.csv", "answer.sol"] {
        fs::write(file(name), "old").expect("an older file");
    }
    fs::write(file("answer.nl"), crate::ampl::HS71).expect("a model");
    let fit = ["fit", "--rows", "300", "--max-iterations", "50"];
    let before = contents(folder.path());
    for arguments in [
        [&fit[..], &["--model", &file("model.json")]].concat(),
        [&fit[..], &["--plot", &file("plot.svg")]].concat(),
        vec!["solve", "HS71", "--quiet", "--plot", &file("plot.svg")],
        vec!["solve", "HS71", "--quiet", "--checkpoint", &file("state")],
        vec![&file("answer.nl"), "-AMPL"],
    ] {
        let output = on_a_small_disk(0, &arguments);
        assert_ne!(code(&output), 0, "{arguments:?}");
        assert!(stderr(&output).contains("File too large"), "{arguments:?}: {}", stderr(&output));
        let after = contents(folder.path());
        for (old, new) in before.iter().zip(&after) {
            assert_eq!(old, new, "{arguments:?} left {:?}", new.0);
        }
        assert_eq!(before.len(), after.len(), "{arguments:?} left something: {:?}", after.last());
    }
    // A campaign keeps its rows in a journal beside its table, which is empty here.
    let old = b"problem,solver,seed,n\n".to_vec();
    fs::write(file("rows.csv"), &old).expect("an older table");
    let output = on_a_small_disk(0, &["bench", "run", "HS71", "--out", &file("rows.csv")]);
    assert!(code(&output) != 0 && stderr(&output).contains("File too large"), "{}", stderr(&output));
    assert_eq!((fs::read(file("rows.csv")).ok(), fs::read(file("rows.jsonl")).ok()), (Some(old), Some(Vec::new())));
}

#[test]
fn a_result_that_cannot_be_printed_is_an_error() {
    for arguments in [&["solve", "HS71", "--json"][..], &["solve", "HS71"], &["list"], &["fit", "--rows", "200", "--json"]] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
        let output = crate::tangor(arguments).stdout(full).output().expect("the program can be started");
        assert_eq!(code(&output), 1, "{arguments:?}");
        assert!(stderr(&output).contains("the output cannot be written: No space left"), "{}", stderr(&output));
    }
}

#[test]
fn links_are_replaced_and_never_followed() {
    let folder = tempfile::tempdir().expect("a folder");
    let precious = folder.path().join("precious");
    for (option, name) in [("--plot", "a.svg"), ("--checkpoint", "a.state")] {
        for begun in [true, false] {
            let link = folder.path().join(name);
            let _ = fs::remove_file(&link);
            let _ = fs::remove_file(&precious);
            if begun {
                fs::write(&precious, "precious").expect("a file");
            }
            std::os::unix::fs::symlink(&precious, &link).expect("a link");
            let output = run(&["solve", "HS71", "--quiet", option, text(&link)]);
            assert_eq!(code(&output), 0, "{}", stderr(&output));
            assert_eq!(fs::read(&precious).ok(), begun.then(|| b"precious".to_vec()), "{option} followed a link");
            assert!(fs::symlink_metadata(&link).expect("an output").is_file());
        }
    }
}

#[test]
fn a_pipe_or_a_device_is_written_to_and_never_replaced() {
    let output = run(&["fit", "--rows", "300", "--max-iterations", "50", "--model", "/dev/stdout"]);
    assert!(stdout(&output).contains("\"weights\"") || stdout(&output).starts_with('{'), "{}", stdout(&output));
    let before = fs::symlink_metadata("/dev/null").expect("Unix has it").file_type();
    run(&["fit", "--rows", "300", "--max-iterations", "50", "--model", "/dev/null"]);
    run(&["solve", "HS71", "--quiet", "--checkpoint", "/dev/null"]);
    assert_eq!(fs::symlink_metadata("/dev/null").expect("Unix has it").file_type(), before);
}

/// Nobody reads the pipe: whoever opened it to look whether it can be written would wait for ever.
#[test]
fn a_pipe_is_no_place_for_a_checkpoint() {
    let folder = tempfile::tempdir().expect("a folder");
    let pipe = folder.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("Unix has it");
    assert!(made.success());
    let output = run(&["solve", "HS71", "--quiet", "--checkpoint", text(&pipe)]);
    assert_eq!(code(&output), 1);
    assert!(
        stdout(&output).contains("Solved") && stderr(&output).contains("it is not an ordinary file"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_trace_is_continued_without_gaps_and_repeats() {
    let folder = tempfile::tempdir().expect("a folder");
    let state = folder.path().join("state");
    for name in ["trace.csv", "trace.jsonl"] {
        let trace = folder.path().join(name);
        let begin =
            ["solve", "HS71", "--quiet", "--max-iterations", "3", "--checkpoint", text(&state), "--trace", text(&trace)];
        run(&begin);
        let whole = fs::read_to_string(&trace).expect("a trace");
        // As a kill may leave it: rows beyond the state, and half a line.
        let last = whole.lines().last().expect("a row");
        let beyond = last.replacen('3', "4", 1);
        let go_on = ["solve", "HS71", "--quiet", "--max-iterations", "6", "--resume", text(&state), "--trace", text(&trace)];
        for torn in [whole.clone(), format!("{whole}{beyond}\n{}", &last[..last.len() / 2])] {
            fs::write(&trace, torn).expect("a trace");
            run(&go_on);
            let rows = fs::read_to_string(&trace).expect("a trace");
            let number = |line: &str| {
                let digits = line.trim_start_matches("{\"iteration\":");
                digits.split(',').next().and_then(|digits| digits.parse::<u64>().ok())
            };
            assert_eq!(rows.lines().filter_map(number).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 6], "{name}");
        }
        // A trace that stops short of the state would have a gap.
        let rows: Vec<&str> = whole.lines().collect();
        fs::write(&trace, format!("{}\n", rows[..rows.len() - 2].join("\n"))).expect("a trace");
        let message = refusal(&go_on);
        assert!(message.contains("ends with iteration 1, but the saved state is that before iteration 3"), "{message}");
        fs::write(&trace, "not a trace\n").expect("a file");
        assert!(refusal(&go_on).contains("name another file for it"));
        assert_eq!(fs::read_to_string(&trace).expect("a file"), "not a trace\n", "what is refused is not touched");
    }
}

#[test]
fn one_file_is_not_two_outputs_by_any_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let (one, other) = (folder.path().join("a.json"), folder.path().join("sub"));
    fs::create_dir(&other).expect("a folder");
    let detour = other.join("../a.json");
    let solve = |trace: &Path, state: &Path| refusal(&["solve", "HS71", "--trace", text(trace), "--checkpoint", text(state)]);
    assert!(solve(&one, &detour).contains("is named twice as an output"));
    fs::write(&one, "").expect("a file");
    for link in ["link.json", "hard.json"] {
        let link = folder.path().join(link);
        match link.ends_with("link.json") {
            true => std::os::unix::fs::symlink(&one, &link).expect("a link"),
            false => fs::hard_link(&one, &link).expect("a link"),
        }
        assert!(solve(&one, &link).contains("is named twice as an output"));
    }
    // Standard output is an output, too.
    let script = format!("\"$0\" solve HS71 --json --trace '{0}' > '{0}'", one.display());
    let output = Command::new("sh").args(["-c", &script, env!("CARGO_BIN_EXE_tangor")]).output().expect("a shell");
    assert!(stderr(&output).contains("is named twice as an output"), "{}", stderr(&output));
    // A link that leads to nothing yet leads to what will be there.
    let (state, link) = (folder.path().join("later.json"), folder.path().join("dangling.json"));
    std::os::unix::fs::symlink("later.json", &link).expect("a link");
    assert!(solve(&link, &state).contains("is named twice as an output"));
    // Neither may an input be overwritten.
    let start = folder.path().join("start.json");
    fs::write(&start, "[1, 5, 5, 1]").expect("a point");
    for option in ["--trace", "--checkpoint"] {
        let message = refusal(&["solve", "HS71", "--at", text(&start), option, text(&start)]);
        assert!(message.contains("is read and cannot be an output as well"), "{message}");
        let message = refusal(&["solve", "HS71", "--start-from", text(&start), option, text(&start)]);
        assert!(message.contains("start.json"), "{message}");
    }
    assert_eq!(fs::read_to_string(&start).expect("a point"), "[1, 5, 5, 1]");
    let config = folder.path().join("config.json");
    fs::write(&config, "").expect("settings");
    let message = refusal(&["fit", "--rows", "100", "--config", text(&config), "--model", text(&config)]);
    assert!(message.contains("is read and cannot be an output as well"), "{message}");
    let data = folder.path().join("data.csv");
    fs::write(&data, "x,y\n1,0\n2,1\n").expect("data");
    let message = refusal(&["fit", text(&data), "--trace", text(&data)]);
    assert!(message.contains("is read and cannot be an output as well"), "{message}");
    assert_eq!(fs::read_to_string(&data).expect("data"), "x,y\n1,0\n2,1\n");
    let state = folder.path().join("state.json");
    run(&["solve", "HS71", "--quiet", "--max-iterations", "3", "--checkpoint", text(&state)]);
    let message = refusal(&["solve", "HS71", "--resume", text(&state), "--trace", text(&state)]);
    assert!(message.contains("is read and cannot be an output as well"), "{message}");
    let again = other.join("../state.json");
    let go_on =
        ["solve", "HS71", "--quiet", "--max-iterations", "3000", "--resume", text(&state), "--checkpoint", text(&again)];
    assert_eq!(code(&run(&go_on)), 0);
}
