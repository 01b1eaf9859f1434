//! The program as a user meets it: through its arguments, its output and its exit code.

mod ampl;
mod bench;
mod documents;
mod files;
mod fit;
mod fit_data;
mod interrupting;
mod killing;
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

use std::process::{Command, Output, Stdio};

/// The program, with nothing from outside that would change what it prints.
fn tangor(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tangor"));
    command.args(arguments).stdin(Stdio::null()).env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE").env_remove("MASTSIF");
    command
}

/// Runs it to its end.
fn run(arguments: &[&str]) -> Output {
    tangor(arguments).output().expect("the program can be started")
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
