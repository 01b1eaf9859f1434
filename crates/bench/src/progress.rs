//! What everything that makes many runs shares: a bar, and locks that outlive a panic.

use std::sync::{Mutex, MutexGuard};

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
