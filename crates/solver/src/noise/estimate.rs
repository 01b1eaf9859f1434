//! The estimate of one function: exact, mini-batch or recursive momentum.

use serde::{Deserialize, Serialize};
use tangor_problem::{Access, Draw, Evaluation};

use crate::noise::effective_samples::EffectiveSamples;
use crate::noise::random::Stream;
use crate::noise::schedule::Situation;
use crate::{Estimation, Estimator, Schedule};

/// The estimate of one function.
pub struct Estimate {
    pub settings: Estimation,
    pub access: Access,
    stream: Stream,
    pub draws: Vec<Draw>,
    /// The stream as it was before these draws.
    drawn_from: Stream,
    /// Where the second half of the draws begins; at their end when they are taken at once.
    pub half: usize,
    /// Whether they are taken at the previous point, too.
    pub twice: bool,
    pub values: Vec<f64>,
    /// The estimate at the trial point; it becomes `values` when all three functions have one.
    pub next: Vec<f64>,
    /// Both halves of the batch at this point, and at the previous one.
    pub here: [Vec<f64>; 2],
    pub there: [Vec<f64>; 2],
    /// The same samples, here less there; when `compared`.
    pub difference: Vec<f64>,
    pub compared: bool,
    pub worth: EffectiveSamples,
    pub next_worth: EffectiveSamples,
}

/// What a checkpoint keeps of an estimate.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SavedEstimate {
    stream: Stream,
    values: Vec<f64>,
    worth: EffectiveSamples,
}

impl Estimate {
    /// `spare`: whether estimates are compared with each other.
    pub fn new(length: usize, access: Access, settings: &Estimation, stream: Stream, spare: bool) -> Self {
        let spare = || vec![0.0; if spare { length } else { 0 }];
        Estimate {
            settings: settings.clone(),
            access,
            stream,
            draws: Vec::new(),
            drawn_from: stream,
            half: 0,
            twice: false,
            values: vec![0.0; length],
            next: spare(),
            here: [spare(), spare()],
            there: [spare(), spare()],
            difference: spare(),
            compared: false,
            worth: EffectiveSamples::default(),
            next_worth: EffectiveSamples::default(),
        }
    }

    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The estimate at the trial point.
    pub fn next(&self) -> &[f64] {
        &self.next
    }

    pub fn values_mut(&mut self) -> &mut [f64] {
        &mut self.values
    }

    pub fn save(&self) -> SavedEstimate {
        SavedEstimate { stream: self.stream, values: self.values.clone(), worth: self.worth }
    }

    /// False: what was saved does not fit.
    pub fn restore(&mut self, saved: &SavedEstimate) -> bool {
        if saved.values.len() != self.values.len() {
            return false;
        }
        self.stream = saved.stream;
        self.values.copy_from_slice(&saved.values);
        self.worth = saved.worth;
        true
    }

    /// The mean square of the noise in `difference`, for a point that `moved`.
    pub fn noise_of_difference(&self, moved: f64) -> f64 {
        if self.access.is_sampled() { self.next_worth.noise_of_difference() * moved * moved } else { 0.0 }
    }

    /// The mean square error of the estimate; 0 for an exact function.
    pub fn error(&self) -> f64 {
        if self.access.is_sampled() { self.worth.error() } else { 0.0 }
    }

    /// How far a point may move without the estimate getting worse; without bound for mini-batches, which never are better.
    pub fn reach(&self) -> f64 {
        let lasting = self.access.is_sampled() && self.settings.estimator == Estimator::Momentum;
        if lasting { self.worth.reach() } else { f64::INFINITY }
    }

    /// Draws the batch; another estimate may have drawn the same.
    pub fn prepare(
        &mut self,
        schedule: &Schedule,
        now: &Situation,
        started: bool,
        (probe, compare): (bool, bool),
        other: Option<&Estimate>,
    ) {
        let size = if self.access.is_sampled() { self.settings.size(schedule, now) } else { 0 };
        let halves = started && probe && self.access.is_sampled();
        let size = if halves { size.max(2) } else { size };
        self.drawn_from = self.stream;
        match other.filter(|other| (other.drawn_from, other.access, other.draws.len()) == (self.stream, self.access, size)) {
            // The same stream gives the same draws: there is no need to find them again.
            Some(other) => {
                self.draws.clone_from(&other.draws);
                self.stream = other.stream;
            }
            None => self.stream.draw(self.access, size, &mut self.draws),
        }
        self.half = if halves { self.draws.len() / 2 } else { self.draws.len() };
        self.twice =
            started && self.access.is_sampled() && (probe || compare || self.settings.estimator == Estimator::Momentum);
    }

    /// The batch at `x` and at the point `before`.
    pub fn evaluate(
        &mut self,
        mut evaluate: impl FnMut(&[f64], &[Draw], &mut [f64]) -> Evaluation,
        (x, before): (&[f64], &[f64]),
    ) -> Evaluation {
        let (first, second) = self.draws.split_at(self.half);
        evaluate(x, first, &mut self.here[0])?;
        if self.twice {
            evaluate(before, first, &mut self.there[0])?;
        }
        if !second.is_empty() {
            evaluate(x, second, &mut self.here[1])?;
            evaluate(before, second, &mut self.there[1])?;
        }
        Ok(())
    }

    /// The estimate from the batch.
    pub fn combine(&mut self, schedule: &Schedule, started: bool, moved: f64) {
        self.next_worth = self.worth;
        self.compared = started && (self.twice || self.access == Access::Exact);
        let (first, second) = (self.half, self.draws.len() - self.half);
        if second > 0 {
            self.compare_halves([first, second], moved);
        }
        if self.access == Access::Exact {
            self.there[0].copy_from_slice(&self.values);
        }
        if self.compared {
            for ((difference, here), there) in self.difference.iter_mut().zip(&self.here[0]).zip(&self.there[0]) {
                *difference = here - there;
            }
        }
        self.next.copy_from_slice(&self.here[0]);
        if !self.twice || self.settings.estimator != Estimator::Momentum {
            self.next_worth.start(self.draws.len());
            return;
        }
        let a = self.settings.a(schedule).unwrap_or_else(|| self.worth.momentum(self.draws.len()));
        for (i, next) in self.next.iter_mut().enumerate() {
            *next += (1.0 - a) * (self.values[i] - self.there[0][i]);
        }
        self.next_worth.advance(a, self.draws.len(), moved);
    }

    /// Learns from both halves, and puts their average where the first half was.
    fn compare_halves(&mut self, sizes: [usize; 2], moved: f64) {
        let ([here, other_here], [there, other_there]) = (&mut self.here, &mut self.there);
        let share = sizes[1] as f64 / (sizes[0] + sizes[1]) as f64;
        let (mut spread, mut drift) = (0.0, 0.0);
        for i in 0..here.len() {
            let (off, off_there) = (other_here[i] - here[i], other_there[i] - there[i]);
            spread += off * off;
            drift += (off - off_there).powi(2);
            here[i] += share * off;
            there[i] += share * off_there;
        }
        self.next_worth.compare(sizes, spread, drift, moved);
    }
}
