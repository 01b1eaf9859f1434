//! Sizes that nobody has the memory or the stack for, and names that a terminal must not obey.

use std::fs;

use serde_json::{Value, json};

use crate::{code, refusal, run, run_json, stderr, stdout};

/// An oracle that introduces itself with this and says no more.
fn introduced(folder: &std::path::Path, introduction: &Value) -> String {
    let file = folder.join("introduction.json");
    fs::write(&file, format!("{introduction}\n")).expect("a file");
    format!(
        "sh -c 'read line; cat {}; while read line; do echo \"{{\\\"id\\\":1,\\\"error\\\":\\\"no\\\"}}\"; done'",
        file.display()
    )
}

#[test]
fn samples_beyond_all_memory_are_refused() {
    let noisy = ["solve", "HS71", "--noise", "1e-2", "--tolerance", "1e-2"];
    let set = |assignment: &str| refusal(&[&noisy[..], &["--set", assignment]].concat());
    let message = set("sampling.judge.samples=1000000000000");
    assert!(message.contains("sampling.judge.samples=1000000000000 would need 8.0 TB, more than the limit of "), "{message}");
    assert!(set("sampling.judge.samples=9000000000000000000").contains("must be between 1 and 1e12"));
    assert!(set("sampling.judge.batches=9000000000000000000").contains("must be between 20 and 1e6"));
    let message = refusal(&[&noisy[..], &["--set", "sampling.judge.samples=1000000000", "--memory-limit", "100MB"]].concat());
    assert!(
        message.contains("would need 8.0 GB, more than the limit of 100 MB on memory (--memory-limit, limits.memory)"),
        "{message}"
    );
    assert!(refusal(&["solve", "HS71", "--memory-limit", "much"]).contains("write for example 500MB or 4GB"));

    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("result.json");
    let path = file.to_str().expect("a path");
    let (good, _) = run_json(&[&noisy[..], &["--json"]].concat());
    let mut result = good.clone();
    fs::write(&file, result.to_string()).expect("a file");
    let message = refusal(&["verify", path, "--samples", "100000000000000"]);
    assert!(message.contains("100000000000000 fresh samples in 20 batches would need 40.0 TB"), "{message}");
    result["verdict"]["samples"] = json!(u64::MAX);
    fs::write(&file, result.to_string()).expect("a file");
    assert!(refusal(&["verify", path]).contains("(--memory-limit, limits.memory)"));
    result = good;
    result["settings"]["sampling"]["judge"]["batches"] = json!(u64::MAX >> 2);
    fs::write(&file, result.to_string()).expect("a file");
    let output = run(&["verify", path]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stdout(&output).contains("no run has its settings") && stdout(&output).contains("must be between 20 and 1e6"));
}

#[test]
fn a_state_asks_for_no_more_than_there_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let state = folder.path().join("state");
    let path = state.to_str().expect("a path");
    run(&["solve", "HS71", "--noise", "1e-2", "--quiet", "--max-iterations", "3", "--checkpoint", path]);
    let saved: Value = serde_json::from_slice(&fs::read(&state).expect("a state")).expect("JSON");
    for (place, value, expected) in [
        ("/settings/sampling/judge/samples", json!(1_000_000_000_000u64), "would need 8.0 TB"),
        ("/settings/sampling/judge/samples", json!(u64::MAX), "between 1 and 1e12"),
        ("/n", json!(1u64 << 60), "state: n: it is of a problem with 1152921504606846976 variables"),
        (
            "/noisy/progress/judgements/looks",
            json!(1_000_000_000_000_000_000u64),
            "state: noisy.progress.judgements.looks: 1000000000000000000 judgements take more than",
        ),
        ("/noisy/progress/judgements/looks", json!(-1), "state: noisy.progress.judgements.looks: invalid value"),
        ("/noisy/progress/judgements/due", json!(1000), "state: noisy.progress.judgements.due: 1000 is after iteration 3"),
        (
            "/settings/sampling/gradient/batch",
            json!({"constant": {"size": 1u64 << 50}}),
            "a batch of 18014398509481984 samples",
        ),
    ] {
        let mut forged = saved.clone();
        *forged.pointer_mut(place).expect(place) = value;
        fs::write(&state, forged.to_string()).expect("a file");
        let message = refusal(&["solve", "HS71", "--resume", path]);
        assert!(message.contains(expected), "{place}: {message}");
    }
}

#[cfg(unix)]
#[test]
fn an_oracle_with_a_jacobian_beyond_all_memory_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let size = 300_000;
    let introduction = json!({
        "tangor": 1, "name": "wide", "n": size, "m": size, "x0": vec![0; size], "c_lower": vec![0; size], "c_upper": vec![0; size],
        "objective": "value"
    });
    let command = introduced(folder.path(), &introduction);
    for command in [["solve", "--oracle", &command], ["eval", "--oracle", &command], ["check", "--oracle", &command]] {
        let message = refusal(&command);
        assert!(
            message.contains("the Jacobian of wide with 90000000000 entries would need 720 GB, more than the limit"),
            "{message}"
        );
    }
}

#[test]
fn settings_of_any_depth_do_not_cost_the_stack() {
    // As long as an argument can be: 128 KiB.
    let deep = format!("{}rho0=1", "merit.".repeat(20_000));
    let message = refusal(&["solve", "HS71", "--set", &deep]);
    assert!(message.contains("there is no setting merit.merit.") && message.len() < 300, "{message}");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("settings.toml");
    let path = file.to_str().expect("a path");
    let texts = [
        format!("{}rho0 = 1\n", "merit.".repeat(60_000)),
        format!("[{}a]\nb = 1\n", "merit.".repeat(60_000)),
        format!("merit = {}1{}\n", "[".repeat(60_000), "]".repeat(60_000)),
        format!("merit = {}1{}\n", "{a = ".repeat(60_000), "}".repeat(60_000)),
    ];
    for text in texts {
        fs::write(&file, &text).expect("a file");
        let message = refusal(&["solve", "HS71", "--config", path]);
        assert!(message.contains("cannot be used"), "{}", &message[..message.len().min(300)]);
    }
    for (open, close) in [("[", "]"), ("{a = ", "}")] {
        let value = format!("{}1{}", open.repeat(20_000), close.repeat(20_000));
        refusal(&["solve", "HS71", "--set", &format!("merit.rho0={value}")]);
    }
}

#[cfg(unix)]
#[test]
fn names_do_not_steer_the_terminal() {
    let folder = tempfile::tempdir().expect("a folder");
    let bad = "\u{1b}[2J\u{1b}]0;title\u{7}\rx\n";
    let introduction = json!({
        "tangor": 1, "name": bad, "n": 1, "m": 1, "x0": [0], "c_lower": [0], "c_upper": [0], "objective": "value",
        "variable_names": [bad], "row_names": [bad]
    });
    let command = introduced(folder.path(), &introduction);
    let plot = folder.path().join("plot.svg");
    let plot = plot.to_str().expect("a path");
    for arguments in [
        &["solve", "--oracle", &command, "--color", "never", "--plot", plot][..],
        &["info", "--oracle", &command, "--color", "never"],
        &["eval", "--oracle", &command, "--color", "never"],
        &["check", "--oracle", &command, "--color", "never"],
    ] {
        let output = run(arguments);
        let told = format!("{}{}", stdout(&output), stderr(&output));
        assert!(told.contains("\\u{1b}[2J\\u{1b}]0;title\\u{7}\\rx\\n"), "{arguments:?}: {told:?}");
        assert!(!told.contains(['\u{1b}', '\u{7}', '\r']), "{arguments:?}: {told:?}");
    }
    assert!(!fs::read_to_string(plot).expect("a picture").contains(['\u{1b}', '\u{7}']));
    // A message of several lines keeps them.
    let output = run(&["solve", "--oracle", "sh -c 'printf \"one\\n\\033[31mtwo\\n\" >&2; exit 1'"]);
    assert_eq!(code(&output), 1);
    assert!(stderr(&output).ends_with("\n  one\n  \\u{1b}[31mtwo\n"), "{:?}", stderr(&output));
}

#[test]
fn data_beyond_all_memory_are_refused() {
    let message = refusal(&["fit", "--rows", "1000000000000"]);
    assert!(message.contains("data of 1000000000000 rows and 10 columns would need 48.0 TB, more than the limit"), "{message}");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("data.libsvm");
    fs::write(&file, "+1 4000000000:1\n-1 1:1\n").expect("a file");
    let message = refusal(&["fit", file.to_str().expect("a path")]);
    assert!(message.contains("a weight for each of 4000000000 features") && message.contains("would need 512 GB"), "{message}");
    // Features that do not fit go to a file; labels, groups and weights do not: 16 bytes for each of 20,000 rows.
    let table = folder.path().join("data.csv");
    fs::write(&table, "a,b,label\n".to_string() + &"1,2.5,0\n3,1,1\n".repeat(10_000)).expect("a file");
    let message = refusal(&["fit", table.to_str().expect("a path"), "--memory-limit", "300kB"]);
    assert!(
        message.contains("of the 20000 rows of ") && message.contains("data.csv would need 320 kB, more than"),
        "{message}"
    );
}

/// A device without an end in the place of every file that is read, with little memory: each is refused, none ends the program.
#[test]
#[cfg(target_os = "linux")]
fn what_has_no_end_is_read_no_further_than_memory_goes() {
    let folder = tempfile::tempdir().expect("a folder");
    let endless = |ending: &str| {
        let path = folder.path().join(format!("endless.{ending}"));
        std::os::unix::fs::symlink("/dev/zero", &path).expect("a link");
        path.to_str().expect("a path").to_string()
    };
    let (table, rows) = (endless("csv"), endless("libsvm"));
    let vast = |name: &str| {
        let path = folder.path().join(name);
        fs::File::create(&path).and_then(|file| file.set_len(1 << 40)).expect("a file with nothing in it");
        path.to_str().expect("a path").to_string()
    };
    let (nl, sif) = (vast("vast.nl"), vast("VAST.SIF"));
    let zero = "/dev/zero";
    for arguments in [
        &["verify", zero][..],
        &["verify", &nl, zero],
        &["solve", "HS71", "--resume", zero],
        &["solve", "HS71", "--at", zero],
        &["solve", "HS71", "--start-from", zero],
        &["solve", "HS71", "--config", zero],
        &["solve", &nl],
        &["solve", &sif],
        &["predict", zero, &table],
        &["bench", "compare", zero],
        &["fit", &table, "--label", "y"],
        &["fit", &rows],
    ] {
        let script = ["-c", "ulimit -v 2000000; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_tangor")];
        let output = std::process::Command::new("sh").args(script).args(arguments).output().expect("it runs");
        let message = stderr(&output);
        assert_eq!(code(&output), 1, "{arguments:?}: {message}");
        assert!(message.contains("memory") && !message.contains("out of memory"), "{arguments:?}: {message}");
    }
}

/// A few lines of loops describe a hundred million variables: neither memory nor time is spent beyond what is given.
#[test]
fn a_short_file_without_end_keeps_to_the_limits() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("ENDLESS.SIF");
    let range = "                        N\n";
    let text = format!(
        "NAME          ENDLESS\n IE 1                   1\n IE N                   9999\nVARIABLES\n DO I         1{range} DO J         \
         1{range} X  X(I,J)\n ND\nENDATA\n"
    );
    fs::write(&file, text).expect("a file");
    let path = file.to_str().expect("a path");
    let message = refusal(&["solve", path, "--memory-limit", "20MB"]);
    assert!(message.contains("ENDLESS.SIF:7:1: what the file describes up to here would need 20."), "{message}");
    let late = run(&["solve", path, "--time-limit", "100ms"]);
    assert_eq!(late.status.code(), Some(3));
    let message = String::from_utf8_lossy(&late.stderr).into_owned();
    assert!(message.ends_with("reading was broken off here: the time limit of the run was reached\n"), "{message}");
}

/// The addresses that a process may use are not all left for a problem, and what is made of a file takes more than the file describes.
#[cfg(target_os = "linux")]
#[test]
fn a_dense_file_within_a_small_address_space_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("DENSE.SIF");
    let range = "                        N\n";
    let text = format!(
        "NAME          DENSE\n IE 1                   1\n IE N                   1500\nVARIABLES\n DO I         1{range} X  X(I)\n ND\n\
         GROUPS\n DO I         1{range} DO J         1{range} XE G(I)      X(J)      1.0\n ND\nENDATA\n"
    );
    fs::write(&file, text).expect("a file");
    for kibibytes in [120_000, 200_000, 300_000, 400_000] {
        let script = format!("ulimit -v {kibibytes}; exec \"$0\" solve \"$1\"");
        let arguments = ["-c", &script, env!("CARGO_BIN_EXE_tangor"), file.to_str().expect("a path")];
        let output = std::process::Command::new("sh").args(arguments).output().expect("it runs");
        let message = stderr(&output);
        assert_eq!(code(&output), 1, "{kibibytes} KiB: {message}");
        assert!(message.contains(" on memory (--memory-limit, limits.memory)"), "{kibibytes} KiB: {message}");
    }
}
