//! Long work is done aside, in a thread of its own, so that nobody who wants the run to end has to wait for it.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use crate::run::clock::Clock;

/// Work of so many multiplications, some hundredths of a second, is waited for.
const BRIEF: usize = 100_000_000;

/// How often the clock is asked meanwhile.
const PAUSE: Duration = Duration::from_millis(20);

/// Something with which long work is done. It is gone once the end of the run did not wait for that: a thread has it until the work is done.
pub struct Aside<T>(Option<Box<T>>);

impl<T: Send + 'static> Aside<T> {
    pub fn new(own: T) -> Self {
        Aside(Some(Box::new(own)))
    }

    /// What it is, unless it is gone.
    pub fn get(&mut self) -> Option<&mut T> {
        self.0.as_deref_mut()
    }

    /// Does work of about so many multiplications. None: the run is to end, or it is gone.
    pub fn work<R: Send + 'static>(&mut self, multiplications: f64, clock: &Clock, work: fn(&mut T) -> R) -> Option<R> {
        // Nothing long is begun any more, and what it would be done with stays.
        if multiplications > BRIEF as f64 && clock.is_over() {
            return None;
        }
        let mut own = self.0.take()?;
        let (own, done) = unless_over(multiplications, clock, move || {
            let done = work(&mut own);
            (own, done)
        })?;
        self.0 = Some(own);
        Some(done)
    }
}

/// Does work of about so many multiplications with what is its own. None: the run is to end, and did not wait for it.
pub fn unless_over<R: Send + 'static, F>(multiplications: f64, clock: &Clock, work: F) -> Option<R>
where
    F: FnOnce() -> R + Send + 'static,
{
    if multiplications <= BRIEF as f64 {
        return Some(work());
    }
    if clock.is_over() {
        return None;
    }
    let ((lend, lent), (give, given)) = (channel::<F>(), channel());
    let begun = thread::Builder::new().name("long work".to_string()).spawn(move || {
        if let Ok(work) = lent.recv() {
            let _ = give.send(work());
        }
    });
    // Where no thread can be had, the work is done here.
    let Ok(thread) = begun else { return Some(work()) };
    let _ = lend.send(work);
    loop {
        match given.recv_timeout(PAUSE) {
            Ok(done) => return Some(done),
            Err(RecvTimeoutError::Timeout) if clock.is_over() => return None,
            Err(RecvTimeoutError::Timeout) => {}
            // It panicked, and so does whoever waits for it.
            Err(RecvTimeoutError::Disconnected) => match thread.join() {
                Err(panic) => std::panic::resume_unwind(panic),
                Ok(()) => return None,
            },
        }
    }
}

/// Work that is done here, in pieces: counts what was done since the last look at the clock.
#[derive(Default)]
pub struct Patience(usize);

impl Patience {
    /// After so many multiplications: whether to go on.
    pub fn goes_on(&mut self, multiplications: usize, clock: &Clock) -> bool {
        self.0 = self.0.saturating_add(multiplications);
        if self.0 < BRIEF {
            return true;
        }
        self.0 = 0;
        !clock.is_over()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    const LONG: f64 = 1e12;

    #[test]
    fn long_work_gives_back_what_it_had() {
        let clock = Clock::new(None, 0.0);
        let mut aside = Aside::new(vec![1, 2]);
        assert_eq!(aside.work(0.0, &clock, Vec::pop), Some(Some(2)));
        assert_eq!(aside.work(LONG, &clock, Vec::pop), Some(Some(1)));
        assert_eq!(aside.get(), Some(&mut vec![]));
    }

    #[test]
    fn the_end_of_a_run_does_not_wait() {
        let mut aside = Aside::new(());
        let (clock, begun) = (Clock::new(Some(0.1), 0.0), Instant::now());
        assert_eq!(aside.work(LONG, &clock, |()| thread::sleep(Duration::from_secs(20))), None);
        assert!(begun.elapsed() < Duration::from_secs(10));
        assert!(clock.is_over() && aside.get().is_none());
        assert_eq!(aside.work(0.0, &clock, |()| ()), None);
        // Nothing long is begun once it is over; what is brief still is.
        let mut late = Aside::new(7);
        assert_eq!(late.work(LONG, &clock, |own| *own), None);
        assert_eq!(late.work(1.0, &clock, |own| *own), Some(7));
    }
}
