//! A run in a process of its own: whatever it does, the others go on.
//!
//! The task goes to the child's standard input as a line of JSON, the row comes back on its standard output. The parent keeps the
//! input open: when it closes, the parent is gone, and the child ends too.

use std::io::{self, BufRead, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use wait_timeout::ChildExt;

use crate::Error;
use crate::record::{Ending, Record};
use crate::task::Task;

/// How the program that carries out single runs is started; it must call [`serve`].
#[derive(Clone, Debug)]
pub struct Program {
    /// The executable.
    pub path: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// How much longer than the task's limit it may take, for starting and for reading the problem.
    pub grace: Duration,
}

/// The child's side: reads a task, runs it, writes its row.
pub fn serve() -> io::Result<()> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    let task: Task = serde_json::from_str(&line)?;
    thread::spawn(|| {
        // Nothing more is sent: the end of the input means that the parent has died.
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        std::process::exit(1);
    });
    let mut record = task.perform();
    record.memory = peak_memory();
    let row = serde_json::to_string(&record)?;
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{row}")?;
    stdout.flush()
}

/// The largest resident memory of this process so far, in megabytes.
fn peak_memory() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes / 1024.0)
}

/// The parent's side: a process that dies or hangs gives a row that says so.
pub fn run(program: &Program, task: &Task, interrupt: &AtomicBool) -> Result<Record, Error> {
    let started = Instant::now();
    let unstartable = |cause| Error::Program { program: program.path.clone(), cause };
    let mut command = Command::new(&program.path);
    command.args(&program.arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(unstartable)?;
    let line = serde_json::to_string(task).map_err(|cause| Error::Encoding(cause.to_string()))?;
    // A child that dies before it has read its task leaves a broken pipe; its exit tells more.
    let mut input = child.stdin.take();
    if let Some(input) = &mut input {
        let _ = writeln!(input, "{line}");
    }
    let output = collect(child.stdout.take());
    let errors = collect(child.stderr.take());
    let limit = Duration::try_from_secs_f64(task.time_limit).unwrap_or(Duration::MAX).saturating_add(program.grace);
    let Some(status) = wait(&mut child, started + limit_of(limit), interrupt).map_err(unstartable)? else {
        return Ok(timed(task.failed(Ending::Hung, hung(limit)), started));
    };
    // The pipes close with the child; a moment is enough, and nobody else can hold them up for ever.
    let patience = Duration::from_secs(1);
    let (output, errors) =
        (output.recv_timeout(patience).unwrap_or_default(), errors.recv_timeout(patience).unwrap_or_default());
    let row = output.lines().next_back().and_then(|row| serde_json::from_str(row).ok());
    Ok(row.unwrap_or_else(|| timed(task.failed(Ending::Crashed, crashed(status, &errors)), started)))
}

/// How often it is looked whether somebody wants the end.
const LOOK: Duration = Duration::from_millis(50);

/// A month is no limit for those who set one that the system's clocks cannot hold.
fn limit_of(limit: Duration) -> Duration {
    limit.min(Duration::from_secs(30 * 24 * 3600))
}

/// Waits for the end of the child, and ends it at this moment, or when somebody wants the end. `None`: it had to be ended.
fn wait(child: &mut Child, until: Instant, interrupt: &AtomicBool) -> io::Result<Option<ExitStatus>> {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if let Some(status) = child.wait_timeout(left.min(LOOK))? {
            return Ok(Some(status));
        }
        if left.is_zero() || interrupt.load(Ordering::Relaxed) {
            break;
        }
    }
    child.kill()?;
    child.wait()?;
    Ok(None)
}

/// Reads on another thread, so that a child that writes much is never stopped by a full pipe.
fn collect(source: Option<impl Read + Send + 'static>) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut source) = source {
            let _ = source.read_to_end(&mut bytes);
        }
        let _ = sender.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    receiver
}

fn timed(mut record: Record, started: Instant) -> Record {
    record.seconds = started.elapsed().as_secs_f64();
    record
}

fn hung(limit: Duration) -> String {
    format!("The process did not end by itself and was ended after {:.1} s.", limit.as_secs_f64())
}

fn crashed(status: ExitStatus, errors: &str) -> String {
    const LONGEST: usize = 300;
    let last: String = errors.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("").chars().take(LONGEST).collect();
    let words = if last.is_empty() { String::new() } else { format!(" Its last words: {last}") };
    format!("The process died ({status}).{words}")
}
