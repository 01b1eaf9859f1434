use std::io::{IsTerminal, Write, stderr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tangor_process::Patience;
use tangor_solver::{Checkpoint, EndedBy, Settings};

use crate::error::Error;

/// What a shell reports for a process that Ctrl-C ended; the same for a second termination signal, since a handler is not told which one came.
const KILLED: i32 = 130;

/// A terminal tells all of its processes of a Ctrl-C, and a program among them that started this one may tell it once more: what comes so soon
/// after the first signal is the same wish. Nobody presses two keys on purpose faster.
const SAME: Duration = Duration::from_millis(300);

/// A flag that the first Ctrl-C (or termination signal) sets, so that the run ends in order; a later one ends the process at once.
pub fn flag() -> Result<Arc<AtomicBool>, Error> {
    flag_with("The run ends after this iteration; Ctrl-C again ends it at once.")
}

/// The same where there is no run: for those who wait for a program that evaluates functions.
pub fn patience() -> Result<Patience, Error> {
    Ok(Patience::interrupted_by(flag_with("The oracle is stopped.")?))
}

fn flag_with(message: &'static str) -> Result<Arc<AtomicBool>, Error> {
    let flag = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&flag);
    let mut first: Option<Instant> = None;
    ctrlc::set_handler(move || {
        match first {
            Some(first) if first.elapsed() >= SAME => std::process::exit(KILLED),
            Some(_) => return,
            None => first = Some(Instant::now()),
        }
        seen.store(true, Ordering::SeqCst);
        if stderr().is_terminal() {
            let _ = writeln!(stderr(), "\n{message}");
        }
    })?;
    Ok(flag)
}

/// Where files have a limit of size (`ulimit -f`), the system ends who writes beyond it, unless a signal is caught: then writing fails like
/// that of any other file which cannot be written. Caught rather than ignored, so that programs that are started are as usual.
pub fn survive_large_files() {
    #[cfg(unix)]
    // Without it only such a limit is deadly.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
}

/// How much later than the solver a program that evaluates functions is out of time: when it is, the solver must be, too.
const LATER: Duration = Duration::from_millis(30);

/// What ends a run from outside, Ctrl-C and the time limit, for those who wait for a program that evaluates functions.
#[derive(Clone)]
pub struct Ending {
    /// Raised by Ctrl-C.
    pub flag: Arc<AtomicBool>,
    /// The same with the time limit.
    pub patience: Patience,
    began: Instant,
}

impl Ending {
    /// For a run with these settings, or one that goes on and has used up a part of its time. Its time runs from now.
    pub fn new(settings: &Settings, saved: Option<&Checkpoint>) -> Result<Self, Error> {
        let before = saved.map_or(0.0, Checkpoint::seconds);
        // A limit beyond what a duration can hold is no limit.
        Ending::within(settings.limits.seconds.and_then(|limit| Duration::try_from_secs_f64((limit - before).max(0.0)).ok()))
    }

    /// With so much time, from now on.
    pub fn within(left: Option<Duration>) -> Result<Self, Error> {
        let (flag, began) = (flag()?, Instant::now());
        let patience = Patience::interrupted_by(Arc::clone(&flag));
        patience.set_end(left.and_then(|left| began.checked_add(left.checked_add(LATER)?)));
        Ok(Ending { flag, patience, began })
    }

    /// Whether somebody has stopped the run, or its time is over.
    pub fn is_over(&self) -> bool {
        self.patience.is_over().is_some()
    }

    /// For the solver, which keeps the time itself.
    pub fn by(&self) -> EndedBy {
        EndedBy { flag: Some(Arc::clone(&self.flag)), agreement: None, since: Some(self.began) }
    }
}
