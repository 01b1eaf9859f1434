//! What everything that makes many runs shares: a bar, several runs at a time, and locks that outlive a panic.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::thread;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar on standard error, on a terminal only.
pub fn bar(shown: bool, length: usize) -> ProgressBar {
    let target = if shown { ProgressDrawTarget::stderr_with_hz(5) } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(Some(length as u64), target);
    // A template that indicatif does not understand would only cost its looks.
    match ProgressStyle::with_template("{elapsed} {bar:16} {pos} of {len} runs, about {eta} left  {wide_msg}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// How many runs there are at a time, whether a bar is shown, and what ends them early.
#[derive(Clone, Copy)]
pub struct Crew<'a> {
    pub jobs: usize,
    pub shown: bool,
    pub interrupt: &'a AtomicBool,
}

impl Crew<'_> {
    /// Makes all runs of a list, in its order; the results in the same order, none for what was not done because of an interrupt. The first
    /// failure is the end of it.
    pub fn make<T: Sync, R: Send, E: Send>(
        self,
        list: &[T],
        name: impl Fn(&T) -> &'static str + Sync,
        run: impl Fn(&T) -> Result<R, E> + Sync,
    ) -> Result<Vec<Option<R>>, E> {
        let bar = bar(self.shown, list.len());
        let results = Mutex::new(list.iter().map(|_| None).collect::<Vec<_>>());
        let (next, failure) = (AtomicUsize::new(0), Mutex::new(None));
        let work = || {
            loop {
                let place = next.fetch_add(1, Ordering::Relaxed);
                let Some(member) = list.get(place) else { return };
                if self.interrupt.load(Ordering::Relaxed) {
                    return;
                }
                match run(member) {
                    Ok(result) => lock(&results)[place] = Some(result),
                    Err(error) => {
                        lock(&failure).get_or_insert(error);
                        next.store(list.len(), Ordering::Relaxed);
                    }
                }
                bar.set_message(name(member));
                bar.inc(1);
            }
        };
        thread::scope(|scope| (0..self.jobs.max(1)).for_each(|_| drop(scope.spawn(work))));
        bar.finish_and_clear();
        let failed = lock(&failure).take();
        failed.map_or_else(|| Ok(std::mem::take(&mut *lock(&results))), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_their_places_and_a_failure_is_the_end() {
        let interrupt = AtomicBool::new(false);
        let crew = Crew { jobs: 2, shown: false, interrupt: &interrupt };
        let squares = crew.make(&[1, 2, 3, 4], |_| "square", |number| Ok::<_, String>(number * number));
        assert_eq!(squares, Ok(vec![Some(1), Some(4), Some(9), Some(16)]));
        let refused =
            crew.make(&[1, 2, 3], |_| "square", |number| if *number < 2 { Ok(()) } else { Err(format!("not {number}")) });
        assert!(refused.is_err_and(|error| error.starts_with("not ")));
        interrupt.store(true, Ordering::Relaxed);
        assert_eq!(crew.make(&[1, 2], |_| "square", |number| Ok::<_, String>(*number)), Ok(vec![None, None]));
    }
}
