//! How the judgements of a noisy run stand: when the latest one was, and how many have brought nothing new.

use serde::{Deserialize, Serialize};

use crate::noise::random::Stream;

/// Estimates gain accuracy where they are worth so many times as many samples as at the judgement before.
const GROWTH: f64 = 1.1;

/// What is known of the judgements so far.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Judgements {
    /// The iteration of the latest one.
    at: Option<u64>,
    /// The iteration of the latest one whose time had come; exact passes have no such time.
    pub due: u64,
    /// How many there were that a risk was taken in.
    pub looks: u64,
    /// How many there were of the whole population.
    pub exact: u64,
    /// Judgements in a row that were no better than the best.
    pub stale: u64,
    /// How many samples the estimates were worth at the latest one.
    effective: f64,
    /// Where its samples come from: one stream for each of gradient, constraints and Jacobian.
    pub streams: [Stream; 3],
}

impl Judgements {
    pub fn new(seed: u64, replacement: bool) -> Self {
        // The estimates draw from the streams 0, 1 and 2.
        let streams = [3, 4, 5].map(|k| Stream::new(seed, k, replacement));
        Judgements { at: None, due: 0, looks: 0, exact: 0, stale: 0, effective: 0.0, streams }
    }

    /// The first number that no run with so many iterations and samples has, by its field, and why: a judgement takes a sample at least.
    pub fn impossible(&self, iteration: u64, samples: u64) -> Option<(&'static str, String)> {
        let places = [("at", self.at.unwrap_or(0)), ("due", self.due)].into_iter();
        let late =
            places.filter(|(_, at)| *at > iteration).map(|(field, at)| (field, format!("{at} is after iteration {iteration}")));
        let counts = [("looks", self.looks), ("exact", self.exact), ("stale", self.stale)].into_iter();
        let many = counts.filter(|(_, count)| *count > samples).map(|(field, count)| {
            (field, format!("{count} judgements take more than {samples} samples, which is what its counts say"))
        });
        late.chain(many).next()
    }

    /// Whether the point of this iteration was judged.
    pub fn were_at(&self, iteration: u64) -> bool {
        self.at == Some(iteration)
    }

    /// One begins, whose time had come if it is `due`.
    pub fn begin(&mut self, iteration: u64, due: bool) {
        self.at = Some(iteration);
        if due {
            self.due = iteration;
        }
    }

    /// All samples of one are taken: of the whole population, or of some of it, which is a risk.
    pub fn count(&mut self, exact: bool) {
        if exact {
            self.exact += 1;
        } else {
            self.looks += 1;
        }
    }

    /// One was better than all before, or was due and was not.
    pub fn compare(&mut self, better: bool, due: bool) {
        if better {
            self.stale = 0;
        } else if due {
            self.stale += 1;
        }
    }

    /// The run starts elsewhere: that those before were no better says nothing of what comes.
    pub fn start_anew(&mut self) {
        self.stale = 0;
    }

    /// Whether the estimates, which are worth so many samples now, still gain accuracy.
    pub fn see_growth(&mut self, effective: f64) -> bool {
        effective > GROWTH * std::mem::replace(&mut self.effective, effective)
    }
}
