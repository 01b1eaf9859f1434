use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tangor_solver::{Row, Settings};

use crate::number::scientific;
use crate::plain;

/// A run this short needs no bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// A bar on standard error for runs that are silent and long; on a terminal only.
pub struct Progress {
    started: Instant,
    limit: u64,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Nothing is shown yet.
    pub fn new(settings: &Settings) -> Self {
        Progress { started: Instant::now(), limit: settings.limits.iterations, bar: None }
    }

    /// Moves the bar.
    pub fn row(&mut self, row: &Row) {
        if self.bar.is_none() && self.started.elapsed() < PATIENCE {
            return;
        }
        let limit = self.limit;
        let bar = self.bar.get_or_insert_with(|| bar(limit));
        bar.set_position(row.iteration);
        bar.set_message(format!(
            "stationarity {}  feasibility {}  complementarity {}",
            scientific(row.stationarity, 1),
            scientific(row.feasibility, 1),
            scientific(row.complementarity, 1)
        ));
    }

    /// Takes the bar away.
    pub fn finish(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

/// A bar on standard error while a long file is read, as often as it is; on a terminal only.
pub struct FileBar {
    started: Instant,
    name: String,
    bar: Mutex<Option<ProgressBar>>,
}

impl FileBar {
    /// Nothing is shown yet.
    pub fn new(file: &Path) -> Self {
        let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        FileBar { started: Instant::now(), name: plain::name(&name).into_owned(), bar: Mutex::new(None) }
    }

    /// Moves the bar to so many bytes of all.
    pub fn set(&self, read: u64, length: u64) {
        // A thread that panicked while it held the bar left nothing worse than a bar.
        let mut bar = self.bar.lock().unwrap_or_else(|held| held.into_inner());
        if bar.is_none() && self.started.elapsed() < PATIENCE {
            return;
        }
        let bar = bar.get_or_insert_with(|| styled(length, "{elapsed} {bar:16} {bytes} of {total_bytes} of {wide_msg}"));
        bar.set_message(self.name.clone());
        bar.set_position(read);
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        if let Some(bar) = self.bar.lock().unwrap_or_else(|held| held.into_inner()).take() {
            bar.finish_and_clear();
        }
    }
}

fn bar(limit: u64) -> ProgressBar {
    styled(limit, "{elapsed} {bar:16} {pos} of at most {len} iterations  {wide_msg}")
}

fn styled(limit: u64, template: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(limit), ProgressDrawTarget::stderr_with_hz(5));
    // A template that indicatif does not understand would only cost its looks.
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
