//! Wall time and the user's interrupt, asked wherever the solver could spend long.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// When the run began, when it must end, and whether somebody asked for its end.
#[derive(Clone, Debug)]
pub struct Clock {
    start: Instant,
    /// Seconds spent before this process resumed the run.
    before: f64,
    limit: Option<Duration>,
    interrupt: Option<Arc<AtomicBool>>,
}

impl Clock {
    /// Starts now, with so many seconds used up already.
    pub fn new(limit: Option<f64>, before: f64) -> Self {
        // A limit beyond what a duration can hold is no limit.
        let limit = limit.and_then(|seconds| Duration::try_from_secs_f64((seconds - before).max(0.0)).ok());
        Clock { start: Instant::now(), before, limit, interrupt: None }
    }

    /// Ends the run when the flag becomes true.
    pub fn watch(&mut self, flag: Arc<AtomicBool>) {
        self.interrupt = Some(flag);
    }

    /// Seconds since the run began.
    pub fn seconds(&self) -> f64 {
        self.before + self.start.elapsed().as_secs_f64()
    }

    /// Whether the time is used up.
    pub fn is_late(&self) -> bool {
        self.limit.is_some_and(|limit| self.start.elapsed() >= limit)
    }

    /// Whether the user asked for the end.
    pub fn is_interrupted(&self) -> bool {
        self.interrupt.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// Either of the two.
    pub fn is_over(&self) -> bool {
        self.is_interrupted() || self.is_late()
    }
}
