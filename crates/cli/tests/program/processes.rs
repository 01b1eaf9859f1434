//! Programs that evaluate functions: none is started by a file, and none outlives the run that started it.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::{code, refusal, run, run_json, stderr, stdout, tangor};

/// A shell script as an oracle for `minimise (x - 3)^2`: it answers so many requests, then it does what it is told. It writes its number
/// and that of a child of its own into files, and that of another one which leaves its group and its parent, as daemons do.
fn oracle(folder: &Path, answers: u32, then: &str) -> String {
    let script = folder.join("oracle.sh");
    // Every answer is 0: at x0 = 3 that is the truth for value and gradient.
    let text = format!(
        r#"cd '{folder}'
sleep 600 & echo $! > child.pid
setsid sh -c 'echo $$ > daemon.pid; exec sleep 600' >/dev/null 2>&1 </dev/null &
while [ ! -s daemon.pid ]; do sleep 0.01; done
echo $$ > oracle.pid
read line
echo '{{"tangor":1,"name":"slow","n":1,"x0":[4],"objective":"value"}}'
k=0
while read line; do
  k=$((k + 1))
  if [ $k -gt {answers} ]; then {then}; fi
  echo "{{\"id\":$k,\"values\":[1]}}"
done
"#,
        folder = folder.display()
    );
    fs::write(&script, text).expect("a script");
    format!("sh '{}'", script.display())
}

fn pid(folder: &Path, name: &str) -> Option<String> {
    let text = fs::read_to_string(folder.join(name)).ok()?;
    text.ends_with('\n').then(|| text.trim().to_string())
}

/// Zombies, which nobody has collected yet, do not count.
fn is_alive(id: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.rsplit(") ").next().unwrap_or_default().starts_with('Z')
}

fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < Duration::from_secs(60), "in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn all_are_gone(folder: &Path) {
    for name in ["oracle.pid", "child.pid", "daemon.pid"] {
        let id = pid(folder, name).expect("a number");
        wait_until(&format!("{name} {id} is to be gone"), || !is_alive(&id));
    }
}

/// Starts a run whose oracle hangs after so many answers, and waits until it does.
fn hanging(folder: &Path, answers: u32, more: &[&str]) -> Child {
    let command = oracle(folder, answers, "touch hangs; sleep 600");
    let arguments = [&["solve", "--oracle", &command, "--json"], more].concat();
    let child = tangor(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program can be started");
    wait_until("the oracle hangs", || folder.join("hangs").exists());
    assert!(is_alive(&pid(folder, "child.pid").expect("a number")));
    child
}

fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().expect("kill").success());
}

fn ended(child: Child, within: Duration) -> Output {
    let begin = Instant::now();
    let output = child.wait_with_output().expect("the program ends");
    assert!(begin.elapsed() < within, "it took {:?}", begin.elapsed());
    output
}

#[test]
fn ctrl_c_and_the_time_limit_hold_while_an_oracle_hangs() {
    // Waiting for the oracle would take ten minutes.
    let soon = Duration::from_secs(60);
    for (answers, ways) in [(0, ["-INT", "-TERM"]), (3, ["-INT", "-TERM"])] {
        for way in ways {
            let folder = tempfile::tempdir().expect("a folder");
            let child = hanging(folder.path(), answers, &[]);
            signal(&child, way);
            let output = ended(child, soon);
            assert_eq!(code(&output), 4, "{way} after {answers}: {}", stderr(&output));
            let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a whole report");
            assert_eq!(report["stop"], "user");
            all_are_gone(folder.path());
        }
        let folder = tempfile::tempdir().expect("a folder");
        let output = ended(hanging(folder.path(), answers, &["--time-limit", "4s"]), soon);
        assert_eq!(code(&output), 3, "{}", stderr(&output));
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a whole report");
        assert_eq!(report["stop"], "wall_time");
        all_are_gone(folder.path());
    }
}

#[test]
fn the_limits_hold_before_an_oracle_has_introduced_itself() {
    let begin = Instant::now();
    let output = run(&["solve", "--oracle", "sleep 600", "--time-limit", "300ms"]);
    assert_eq!(code(&output), 3, "{}", stderr(&output));
    assert!(stderr(&output).contains("was busy with the greeting when the time limit of the run was reached"));
    assert!(begin.elapsed() < Duration::from_secs(60));

    let folder = tempfile::tempdir().expect("a folder");
    let command = format!("sh -c 'echo > {0}/started; sleep 600'", folder.path().display());
    let child =
        tangor(&["solve", "--oracle", &command]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a start");
    wait_until("the oracle starts", || folder.path().join("started").exists());
    signal(&child, "-INT");
    let output = ended(child, Duration::from_secs(60));
    assert_eq!(code(&output), 4, "{}", stderr(&output));
}

#[test]
fn a_run_that_is_killed_takes_its_oracle_along() {
    for way in ["-KILL", "-ABRT", "-SEGV"] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut child = hanging(folder.path(), 2, &[]);
        signal(&child, way);
        child.wait().expect("the program ends");
        all_are_gone(folder.path());
    }
    // A second Ctrl-C while the run still ends in order: here it waits for a command that reads its output.
    let folder = tempfile::tempdir().expect("a folder");
    let mut child = hanging(folder.path(), 2, &[]);
    signal(&child, "-STOP");
    signal(&child, "-INT");
    signal(&child, "-TERM");
    signal(&child, "-CONT");
    child.wait().expect("the program ends");
    all_are_gone(folder.path());
}

/// An oracle that never stops to start others, each of which leaves its group.
#[test]
fn a_run_that_is_killed_takes_along_what_is_just_being_started() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = folder.path().join("busy.sh");
    let text = format!(
        "cd '{}'\nwhile true; do setsid sh -c 'echo $$ >> pids; exec sleep 600' >/dev/null 2>&1 </dev/null & sleep 0.02; done\n",
        folder.path().display()
    );
    fs::write(&script, text).expect("a script");
    let command = format!("sh '{}'", script.display());
    let started = tangor(&["solve", "--oracle", &command, "--quiet"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let mut child = started.expect("the program can be started");
    let started = || fs::read_to_string(folder.path().join("pids")).unwrap_or_default();
    wait_until("some are started", || started().lines().count() > 20);
    signal(&child, "-KILL");
    child.wait().expect("the program ends");
    wait_until("all are gone", || !started().lines().any(is_alive));
    std::thread::sleep(Duration::from_millis(300));
    assert!(!started().lines().any(is_alive), "and none comes back");
}

#[test]
fn what_an_oracle_leaves_behind_is_stopped() {
    for then in ["exit 0", "exit 3", "kill -KILL $$"] {
        let folder = tempfile::tempdir().expect("a folder");
        let command = oracle(folder.path(), 2, then);
        let begin = Instant::now();
        let output = run(&["solve", "--oracle", &command, "--quiet"]);
        assert_eq!(code(&output), 5, "{then}: {}", stdout(&output));
        // Its child still holds the pipe for answers, but there is nobody left to answer.
        assert!(begin.elapsed() < Duration::from_secs(60), "it took {:?}", begin.elapsed());
        all_are_gone(folder.path());
    }
}

/// A result whose problem is evaluated by a command that leaves a mark.
fn strange_result(folder: &Path) -> (String, String, PathBuf) {
    let mark = folder.join("mark");
    let command = format!("touch {}", mark.display());
    let (mut result, _) = run_json(&["solve", "HS71", "--json"]);
    result["source"]["problem"] =
        json!({ "name": null, "parameters": [], "oracle": command, "oracle_time_limit": {"secs": 60, "nanos": 0} });
    let file = folder.join("result.json");
    fs::write(&file, result.to_string()).expect("a file");
    (file.to_str().expect("a path").to_string(), command, mark)
}

#[test]
fn a_result_starts_no_program_by_itself() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, command, mark) = strange_result(folder.path());
    let message = refusal(&["verify", &file]);
    assert!(message.contains("a file does not start a program by itself") && message.contains(&command), "{message}");
    assert!(message.contains("--allow-oracle") && !mark.exists());
    refusal(&["verify", &file, "--oracle", "true"]);
    assert!(!mark.exists(), "the command of the user runs, not that of the file");
    let message = refusal(&["verify", &file, "--allow-oracle"]);
    assert!(message.contains("ended without an answer to the greeting") && mark.exists(), "{message}");
    let (plain, _) = run_json(&["solve", "HS71", "--json"]);
    let file = folder.path().join("plain.json");
    fs::write(&file, plain.to_string()).expect("a file");
    let message = refusal(&["verify", file.to_str().expect("a path"), "--oracle", "true"]);
    assert!(message.contains("no program evaluates its problem"), "{message}");
}

#[test]
fn a_state_starts_no_program_by_itself() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_, command, mark) = strange_result(folder.path());
    let state = folder.path().join("state");
    let path = state.to_str().expect("a path");
    run(&["solve", "HS71", "--quiet", "--max-iterations", "3", "--checkpoint", path]);
    let mut saved: serde_json::Value = serde_json::from_slice(&fs::read(&state).expect("a state")).expect("JSON");
    saved["note"]["problem"]["oracle"] = json!(command);
    saved["note"]["problem"]["name"] = json!(null);
    fs::write(&state, saved.to_string()).expect("a file");
    assert_eq!(code(&run(&["solve", "HS71", "--quiet", "--max-iterations", "3000", "--resume", path])), 0);
    refusal(&["solve", "--resume", path]);
    refusal(&["fit", "--resume", path]);
    assert!(!mark.exists());
}

#[test]
fn an_oracle_that_was_solved_is_verified_when_it_may_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let small = r#"
import json, sys
sys.stdin.readline()
print(json.dumps({"tangor": 1, "name": "small", "n": 1, "x0": [0], "x_lower": [0], "objective": "value"}), flush=True)
for line in sys.stdin:
    question = json.loads(line)
    x = question["point"][0]
    value = (x - 3) ** 2 if question["evaluate"] == "objective" else 2 * (x - 3)
    print(json.dumps({"id": question["id"], "values": [value]}), flush=True)
"#;
    let script = folder.path().join("small.py");
    fs::write(&script, small).expect("a script");
    let command = format!("python3 '{}'", script.display());
    if Command::new("python3").arg("-V").output().is_err() {
        println!("skipped: python3 is not there");
        return;
    }
    let (result, exit) = run_json(&["solve", "--oracle", &command, "--json"]);
    assert_eq!(exit, 0);
    let file = folder.path().join("result.json");
    fs::write(&file, result.to_string()).expect("a file");
    let file = file.to_str().expect("a path");
    refusal(&["verify", file]);
    assert_eq!(code(&run(&["verify", file, "--allow-oracle"])), 0);
    assert_eq!(code(&run(&["verify", file, "--oracle", &command])), 0);
}
