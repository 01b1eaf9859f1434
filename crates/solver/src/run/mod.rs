//! What surrounds the iterations: clock, best point, observer, checkpoint, report.

pub(crate) mod best;
pub(crate) mod checkpoint;
pub(crate) mod clock;
mod confirmation;
mod curve;
pub(crate) mod descent;
pub(crate) mod display;
mod divergence;
pub(crate) mod escape;
mod evaluations;
pub(crate) mod field;
mod finding;
mod flat;
mod idle;
mod keeping;
mod level;
pub(crate) mod memory;
pub(crate) mod names;
pub(crate) mod number;
pub(crate) mod observer;
pub(crate) mod plausible;
mod probing;
mod reach;
pub(crate) mod report;
mod rescaling;
pub(crate) mod result;
mod start;
pub(crate) mod state;
pub(crate) mod status;
mod stopping;
mod survey;
mod warm_start;
pub(crate) mod whole_file;

use crate::{EvaluationFailure, Stop, TrueResiduals, Verdict};

/// What was found, and why the run ended.
pub struct Outcome {
    pub best: best::Best,
    /// None while the run goes on.
    pub stop: Option<Stop>,
    /// What fresh samples said in this iteration, if they were asked.
    pub judged: Option<TrueResiduals>,
    /// Whether they called the point a stationary one of the violation, and another start may lead out of it.
    pub stuck: bool,
    /// The latest evaluation that failed.
    pub failure: Option<EvaluationFailure>,
    /// Whether the functions gave the same values when they were evaluated once more at the best point.
    pub confirmed: Option<bool>,
    /// How far an objective was followed that improves without bound.
    pub followed: Option<descent::Followed>,
}

impl Outcome {
    /// The run ends, for this reason.
    pub fn end(&mut self, stop: Stop) {
        self.stop = Some(stop);
    }

    /// Fresh samples said this of the point in this iteration; `stuck`: it is a stationary one of the violation, and another start may lead out of it.
    pub fn hear(&mut self, verdict: &Verdict, stuck: bool) {
        self.judged = Some(verdict.values().into());
        self.stuck = stuck;
    }

    /// A function failed: what the report tells if nothing else comes after it.
    pub fn remember_failure(&mut self, failure: EvaluationFailure) {
        self.failure = Some(failure);
    }
}
