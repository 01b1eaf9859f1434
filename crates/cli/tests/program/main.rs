//! The program as a user meets it: through its arguments, its output and its exit code.

mod advice;
mod ampl;
mod bench;
mod documents;
mod files;
mod fit;
mod fit_data;
mod idle;
mod interrupting;
mod killing;
mod narrow;
mod noise;
mod oracle;
mod outputs;
mod problems;
mod processes;
mod settings;
mod sizes;
mod solve;
mod starts;
mod verify;

use std::process::{Child, Command, Output, Stdio};

/// The program, with nothing from outside that would change what it prints.
fn tangor(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tangor"));
    command.args(arguments).stdin(Stdio::null());
    for name in ["NO_COLOR", "CLICOLOR_FORCE", "COLUMNS", "MASTSIF"] {
        command.env_remove(name);
    }
    command
}

/// Runs it to its end.
fn run(arguments: &[&str]) -> Output {
    tangor(arguments).output().expect("the program can be started")
}

/// Interrupts a program as soon as it listens: before that, an interrupt would end it without a word.
#[cfg(unix)]
fn interrupt(child: &Child) {
    let listens = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        // Signals are counted from 1, and the interrupt is the second.
        caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 2 != 0)
    };
    let started = std::time::Instant::now();
    // Where there is no such file, a second has to be enough.
    let most = if cfg!(target_os = "linux") { 60 } else { 1 };
    while !listens() && started.elapsed().as_secs() < most {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill").success());
}

fn code(output: &Output) -> i32 {
    output.status.code().expect("the program was not killed")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("the output is UTF-8")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("the messages are UTF-8")
}

/// Runs it and reads the JSON that it prints.
fn run_json(arguments: &[&str]) -> (serde_json::Value, i32) {
    let output = run(arguments);
    let value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", stderr(&output)));
    (value, code(&output))
}

/// Runs it, expects it to refuse, and gives the message.
fn refusal(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert_eq!(code(&output), 1, "{arguments:?} was not refused: {}", stdout(&output));
    assert_eq!(stdout(&output), "", "a refusal prints nothing but its message");
    stderr(&output)
}
