use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often somebody who waits looks whether the wait is to end.
pub(crate) const LOOK: Duration = Duration::from_millis(20);

/// What ends a wait for an answer before the answer's own time limit: a flag, or a moment. Clones share both, so that a limit can be set
/// when the process is running already.
///
/// A process that is still busy then is stopped, and the evaluation fails with [`Misdeed::Abandoned`](crate::Misdeed::Abandoned).
#[derive(Clone, Debug, Default)]
pub struct Patience {
    flag: Arc<AtomicBool>,
    until: Arc<Mutex<Option<Instant>>>,
}

impl Patience {
    /// Ends all waits when the flag becomes true.
    pub fn interrupted_by(flag: Arc<AtomicBool>) -> Self {
        Patience { flag, until: Arc::default() }
    }

    /// Ends all waits at this moment, or never.
    pub fn set_end(&self, end: Option<Instant>) {
        *self.until.lock().unwrap_or_else(PoisonError::into_inner) = end;
    }

    /// Why a wait has to end now, if it has to.
    pub fn is_over(&self) -> Option<Impatience> {
        let end = *self.until.lock().unwrap_or_else(PoisonError::into_inner);
        if self.flag.load(Ordering::Relaxed) {
            Some(Impatience::Interrupted)
        } else {
            end.is_some_and(|end| Instant::now() >= end).then_some(Impatience::OutOfTime)
        }
    }
}

impl PartialEq for Patience {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.flag, &other.flag) && Arc::ptr_eq(&self.until, &other.until)
    }
}

impl Eq for Patience {}

/// Why nobody waits any longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Impatience {
    /// The flag was raised.
    Interrupted,
    /// The moment came.
    OutOfTime,
}

impl fmt::Display for Impatience {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Impatience::Interrupted => "the user stopped the run",
            Impatience::OutOfTime => "the time limit of the run was reached",
        })
    }
}
