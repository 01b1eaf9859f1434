//! A mark in the environment of a process, which all that it starts inherit: they are found by it wherever they have gone.

use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// The variable that holds the mark.
const VARIABLE: &str = "TANGOR_ORACLE_OF";

/// Processes that start others while they are looked for are looked for again, so many times.
const ROUNDS: usize = 10;

/// A mark that no other process on this machine has.
pub struct Mark(String);

impl Mark {
    pub fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let nanoseconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
        Mark(format!("{}-{nanoseconds}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)))
    }

    /// As it is in an environment.
    pub fn text(&self) -> String {
        format!("{VARIABLE}={}", self.0)
    }

    /// Marks a program that is about to be started.
    pub fn put(&self, program: &mut Command) {
        program.env(VARIABLE, &self.0);
    }

    /// Kills all that have the mark. One that took it off its environment is not found, nor is any where the system does not show them.
    pub fn kill_all(&self) {
        let text = self.text();
        for _ in 0..ROUNDS {
            let mut found = false;
            for pid in marked(text.as_bytes()) {
                found |= rustix::process::kill_process(pid, rustix::process::Signal::KILL).is_ok();
            }
            if !found {
                return;
            }
        }
    }
}

/// The processes that have a text as an entry of their environment. Those of other users cannot be read, and are not ours.
fn marked(text: &[u8]) -> impl Iterator<Item = rustix::process::Pid> + '_ {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    processes.filter_map(move |process| {
        let pid = rustix::process::Pid::from_raw(process.file_name().to_str()?.parse().ok()?)?;
        let environment = std::fs::read(process.path().join("environ")).ok()?;
        environment.split(|byte| *byte == 0).any(|entry| entry == text).then_some(pid)
    })
}
