//! What a run can have counted: numbers in a file may be anybody's.

use tangor_problem::{Counts, Samples};

use crate::Event;
use crate::run::state::Progress;

/// No run counts farther: at a million in a second that takes thirty years.
pub const MOST_COUNTED: u64 = 1_000_000_000_000_000;

/// No run takes longer: three hundred years.
pub const MOST_SECONDS: f64 = 1e10;

/// All evaluations, samples, and iterations that do nothing but forget: no iteration is without one of them.
pub fn work_of(counts: &Counts, samples: &Samples, forgotten: u64) -> u64 {
    counts.total().saturating_add(samples.total()).saturating_add(forgotten)
}

/// The first number that no run has, by its field, and why.
pub(super) fn impossible(
    seconds: f64,
    (counts, samples): (&Counts, &Samples),
    progress: &Progress,
) -> Option<(String, String)> {
    let counted = [
        ("counts.objective", counts.objective),
        ("counts.gradient", counts.gradient),
        ("counts.constraints", counts.constraints),
        ("counts.jacobian", counts.jacobian),
        ("counts.hessian", counts.hessian),
        ("samples.gradient", samples.gradient),
        ("samples.constraints", samples.constraints),
        ("samples.jacobian", samples.jacobian),
        ("state.progress.iteration", progress.iteration),
    ];
    if let Some((field, count)) = counted.into_iter().find(|(_, count)| *count > MOST_COUNTED) {
        return Some((field.to_string(), format!("no run counts to {count}")));
    }
    if !(0.0..=MOST_SECONDS).contains(&seconds) {
        return Some(("seconds".to_string(), format!("no run takes {seconds} s")));
    }
    let at_least_zero = [
        ("looked_at", progress.looked_at),
        ("followed_at", progress.followed_at),
        ("largest_objective", progress.largest_objective),
    ];
    if let Some((field, size)) = at_least_zero.into_iter().find(|(_, size)| size.is_nan() || *size < 0.0) {
        return Some((format!("state.progress.{field}"), format!("{size} is no size")));
    }
    let iteration = progress.iteration;
    if let Some(k) = progress.events.iter().position(|count| *count > iteration + 1) {
        let why = format!("an event happened in {} iterations, and there were {iteration}", progress.events[k]);
        return Some((format!("state.progress.events[{k}]"), why));
    }
    let forgotten = Event::ALL.iter().position(|event| *event == Event::Forgotten).map_or(0, |k| progress.events[k]);
    let work = work_of(counts, samples, forgotten);
    (iteration > work).then(|| {
        let why = format!(
            "{iteration} iterations take more than {work} evaluations, samples and the like, which is what its counts say"
        );
        ("state.progress.iteration".to_string(), why)
    })
}
