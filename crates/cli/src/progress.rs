use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tangor_solver::{Row, Settings};

use crate::number::scientific;

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

fn bar(limit: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(limit), ProgressDrawTarget::stderr_with_hz(5));
    // A template that indicatif does not understand would only cost its looks.
    match ProgressStyle::with_template("{elapsed} {bar:16} {pos} of at most {len} iterations  {wide_msg}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
