use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::{Ending, Error};
use crate::group::Group;
use crate::pipes::Pipes;
use crate::settings::ProcessSettings;

/// How many lines of standard error are kept.
const KEPT_LINES: usize = 10;

/// A longer line of standard error is broken into several.
const LONGEST_LINE: u64 = 2000;

/// How long the last lines of standard error may take after the end of a process.
const PATIENCE: Duration = Duration::from_millis(300);

/// A running process. It is gone when this is dropped, with all that it started in its group.
pub struct Worker {
    child: Child,
    group: Group,
    ending: Option<Ending>,
    last_lines: Arc<Mutex<VecDeque<String>>>,
    stderr_closed: Receiver<()>,
}

impl Worker {
    /// Starts a program; the command is split into words as a shell does, but no shell runs: nothing in it is expanded.
    pub fn start(command: &str, settings: &ProcessSettings) -> Result<(Worker, Pipes), Error> {
        let words = shlex::split(command).filter(|words| words.first().is_some_and(|program| !program.is_empty()));
        let words = words.ok_or_else(|| Error::Command(command.to_string()))?;
        let failed = |cause: String| Error::Start { command: command.to_string(), cause };
        let mut program = Command::new(&words[0]);
        program.args(&words[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(folder) = &settings.folder {
            program.current_dir(folder);
        }
        let mut group = Group::new();
        let mut child = group.spawn(&mut program).map_err(|error| failed(error.to_string()))?;
        let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (done, stderr_closed) = channel();
        let mut worker = Worker { child, group, ending: None, last_lines: Arc::default(), stderr_closed };
        let (Some(input), Some(output), Some(errors)) = streams else {
            worker.end(Duration::ZERO);
            return Err(failed("it has no standard streams".to_string()));
        };
        let (kept, pass) = (worker.last_lines.clone(), settings.pass_stderr);
        let listener = move || {
            follow(errors, &kept, pass);
            // Nobody may be waiting any more, and that is fine.
            let _ = done.send(());
        };
        let threads = thread::Builder::new().spawn(listener);
        let threads = threads.and_then(|_| Pipes::new(input, output, settings.patience.clone()));
        Ok((worker, threads.map_err(|error| failed(error.to_string()))?))
    }

    /// Waits this long for the process to end by itself, then kills it; what it started is killed in any case.
    pub fn end(&mut self, grace: Duration) -> Ending {
        if let Some(ending) = self.ending {
            return ending;
        }
        let ending = self.wait(grace).unwrap_or(Ending::Stopped);
        self.group.kill();
        // One that left its group is reached by its own number. A process that was killed is collected, so that no zombie stays.
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.ending = Some(ending);
        ending
    }

    /// Whether the process has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)))
    }

    // By looking again and again: a library that is part of other programs does not take a signal handler for itself.
    fn wait(&mut self, grace: Duration) -> Option<Ending> {
        let start = Instant::now();
        let mut pause = Duration::from_micros(100);
        loop {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Some(Ending::Ended(status));
            }
            if start.elapsed() >= grace {
                return None;
            }
            thread::sleep(pause);
            pause = (2 * pause).min(Duration::from_millis(10));
        }
    }

    /// The last lines that the process wrote to its standard error; all of them when it has ended.
    pub fn last_lines(&self) -> Vec<String> {
        if self.ending.is_some() {
            let _ = self.stderr_closed.recv_timeout(PATIENCE);
        }
        self.last_lines.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.end(Duration::ZERO);
    }
}

/// Reads standard error to its end.
fn follow(errors: ChildStderr, kept: &Mutex<VecDeque<String>>, pass: bool) {
    let mut errors = BufReader::new(errors);
    let mut line = Vec::new();
    while matches!(errors.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line), Ok(count) if count > 0) {
        if pass {
            // Without a standard error of one's own there is nothing to be done.
            let _ = std::io::stderr().write_all(&line);
        }
        let text = String::from_utf8_lossy(&line).trim_end().to_string();
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() == KEPT_LINES {
            kept.pop_front();
        }
        kept.push_back(text);
        line.clear();
    }
}
