//! The estimate of one function: exact, mini-batch or recursive momentum.

use serde::{Deserialize, Serialize};
use tangor_problem::{Access, Draw, Evaluation, Failure};

use crate::noise::effective_samples::EffectiveSamples;
use crate::noise::random::Stream;
use crate::noise::schedule::Situation;
use crate::{Estimation, Estimator, Momentum, Schedule};

/// The estimate of one function. Serialised is what the next one goes on from: the stream, the values and what they are worth.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Estimate {
    #[serde(skip)]
    pub settings: Estimation,
    #[serde(skip, default = "exact")]
    pub access: Access,
    stream: Stream,
    #[serde(skip)]
    pub draws: Vec<Draw>,
    /// The stream as it was before these draws.
    #[serde(skip)]
    drawn_from: Stream,
    /// Where the second half of the draws begins; at their end when they are taken at once.
    #[serde(skip)]
    pub half: usize,
    /// Whether they are taken at the previous point, too.
    #[serde(skip)]
    pub twice: bool,
    pub values: Vec<f64>,
    /// The estimate at the trial point; it becomes `values` when all three functions have one.
    #[serde(skip)]
    pub next: Vec<f64>,
    /// Both halves of the batch at this point.
    #[serde(skip)]
    pub here: [Vec<f64>; 2],
    /// At the previous point, both halves; once they are `known` there, their average and the difference between them.
    #[serde(skip)]
    pub there: [Vec<f64>; 2],
    /// Whether the batch was evaluated at the previous point: one that is taken again at another trial point need not be.
    #[serde(skip)]
    pub known: bool,
    /// The same samples, here less there; when `compared`.
    #[serde(skip)]
    pub difference: Vec<f64>,
    #[serde(skip)]
    pub compared: bool,
    pub effective: EffectiveSamples,
    #[serde(skip)]
    pub next_effective: EffectiveSamples,
    /// The momentum of the last batch; 1 for a batch alone.
    #[serde(skip)]
    pub a: f64,
}

/// The access of an estimate from a file, which the one that takes it up knows.
fn exact() -> Access {
    Access::Exact
}

/// Both parts of a batch, the second only if it is not empty.
pub fn halves(draws: &[Draw], half: usize) -> impl Iterator<Item = (usize, &[Draw])> {
    let (first, second) = draws.split_at(half);
    [first, second].into_iter().enumerate().filter(|(k, draws)| *k == 0 || !draws.is_empty())
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
            known: false,
            difference: spare(),
            compared: false,
            effective: EffectiveSamples::default(),
            next_effective: EffectiveSamples::default(),
            a: 1.0,
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

    /// Whether another one has as many values.
    pub fn fits(&self, saved: &Estimate) -> bool {
        saved.values.len() == self.values.len()
    }

    /// Goes on from another one that fits.
    pub fn take_up(&mut self, saved: Estimate) {
        (self.stream, self.values, self.effective) = (saved.stream, saved.values, saved.effective);
    }

    /// The mean square of the noise in `difference`, for a point that `moved`.
    pub fn noise_of_difference(&self, moved: f64) -> f64 {
        if self.access.is_sampled() { self.next_effective.noise_of_difference() * moved * moved } else { 0.0 }
    }

    /// The mean square of the noise that a move of 1 adds to the estimate.
    pub fn noise_of_a_move(&self) -> f64 {
        if self.access.is_sampled() { self.effective.noise_of_difference() } else { 0.0 }
    }

    /// The mean square error of the estimate; 0 for an exact function.
    pub fn error(&self) -> f64 {
        if self.access.is_sampled() { self.effective.error() } else { 0.0 }
    }

    /// How far a point may move without the estimate getting worse; without bound for mini-batches, which never are better.
    pub fn reach(&self) -> f64 {
        let lasting = self.access.is_sampled() && self.settings.estimator == Estimator::Momentum;
        if lasting { self.effective.reach() } else { f64::INFINITY }
    }

    /// The size of the next batch, and whether it is taken at the previous point, too.
    fn plan(&self, schedule: &Schedule, now: &Situation, started: bool, (probe, compare): (bool, bool)) -> (usize, bool) {
        if !self.access.is_sampled() {
            return (0, false);
        }
        let size = self.settings.size(schedule, now);
        let twice = started && (probe || compare || self.settings.estimator == Estimator::Momentum);
        (if started && probe { size.max(2) } else { size }, twice)
    }

    /// The samples that the next batch takes at all its points; those that the last one takes at another trial point if it is taken again.
    pub fn samples(
        &self,
        schedule: &Schedule,
        now: &Situation,
        started: bool,
        (probe, compare, again): (bool, bool, bool),
    ) -> u64 {
        let (size, twice) = match again {
            true if self.access.is_sampled() => (self.draws.len(), self.twice && !self.known),
            true => (0, false),
            false => self.plan(schedule, now, started, (probe, compare)),
        };
        size as u64 * if twice { 2 } else { 1 }
    }

    /// Draws the batch, unless somebody wants the end before it is long enough; another estimate may have drawn the same.
    pub fn prepare(
        &mut self,
        schedule: &Schedule,
        now: &Situation,
        started: bool,
        (probe, compare): (bool, bool),
        other: Option<&Estimate>,
        end_wanted: impl Fn() -> bool,
    ) -> Result<(), Failure> {
        let (size, twice) = self.plan(schedule, now, started, (probe, compare));
        self.drawn_from = self.stream;
        match other.filter(|other| (other.drawn_from, other.access, other.draws.len()) == (self.stream, self.access, size)) {
            // The same stream gives the same draws: there is no need to find them again.
            Some(other) => {
                self.draws.clone_from(&other.draws);
                self.stream = other.stream;
            }
            None => self.stream.draw((self.access, size), &mut self.draws, end_wanted)?,
        }
        self.known = false;
        self.half = if started && probe && self.access.is_sampled() { self.draws.len() / 2 } else { self.draws.len() };
        self.twice = twice;
        Ok(())
    }

    /// The batch at the point `before`, unless that is known, and at `x`.
    pub fn evaluate(
        &mut self,
        mut evaluate: impl FnMut(&[f64], &[Draw], &mut [f64]) -> Evaluation,
        (x, before): (&[f64], &[f64]),
    ) -> Evaluation {
        if self.twice && !self.known {
            for (k, draws) in halves(&self.draws, self.half) {
                evaluate(before, draws, &mut self.there[k])?;
            }
        }
        self.keep_there();
        for (k, draws) in halves(&self.draws, self.half) {
            evaluate(x, draws, &mut self.here[k])?;
        }
        Ok(())
    }

    /// After the first evaluation at the previous point: the average of both halves, and their difference.
    pub fn keep_there(&mut self) {
        let second = self.draws.len() - self.half;
        if self.twice && !self.known && second > 0 {
            let share = second as f64 / self.draws.len() as f64;
            let [mean, other] = &mut self.there;
            for (mean, other) in mean.iter_mut().zip(other) {
                *other -= *mean;
                *mean += share * *other;
            }
        }
        self.known = true;
    }

    /// Goes on from the whole population's average, whose error is none.
    pub fn take_exact(&mut self, values: &[f64]) {
        self.values.copy_from_slice(values);
        self.effective.make_exact();
    }

    /// Whether draws are weighed by what the estimate is effective: then others at the same point can join it.
    pub fn weighs_draws(&self) -> bool {
        self.settings.estimator == Estimator::Momentum && self.settings.momentum == Momentum::Adaptive
    }

    /// The average over so many other draws, at the point of the estimate, joins it.
    pub fn join(&mut self, average: &[f64], draws: usize) {
        let share = self.effective.join(draws);
        for (value, average) in self.values.iter_mut().zip(average) {
            *value += share * (average - *value);
        }
    }

    /// The estimate from the batch.
    pub fn combine(&mut self, schedule: &Schedule, started: bool, moved: f64) {
        self.next_effective = self.effective;
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
            self.next_effective.start(self.draws.len());
            self.a = 1.0;
            return;
        }
        let a = self.settings.a(schedule).unwrap_or_else(|| self.next_effective.momentum(self.draws.len()));
        for (i, next) in self.next.iter_mut().enumerate() {
            *next += (1.0 - a) * (self.values[i] - self.there[0][i]);
        }
        self.a = a;
        self.next_effective.advance(a, self.draws.len(), moved);
    }

    /// By how much the second half of the last batch is off the first, at the trial point and in what changed from the point before; none
    /// where it was not taken in halves.
    pub fn halves_off(&self) -> Option<([usize; 2], impl Iterator<Item = (f64, f64)> + '_)> {
        let sizes = [self.half, self.draws.len() - self.half];
        let rest = sizes[0] as f64 / self.draws.len() as f64;
        let off = move |((mean, second), there): ((&f64, &f64), &f64)| {
            let here = (second - mean) / rest;
            (here, here - there)
        };
        (sizes[1] > 0).then(|| (sizes, self.here[0].iter().zip(&self.here[1]).zip(&self.there[1]).map(off)))
    }

    /// Learns from both halves, and puts their average where the first half was.
    fn compare_halves(&mut self, sizes: [usize; 2], moved: f64) {
        let ([here, other_here], off_there) = (&mut self.here, &self.there[1]);
        let share = sizes[1] as f64 / (sizes[0] + sizes[1]) as f64;
        let (mut difference, mut drift) = (0.0, 0.0);
        for i in 0..here.len() {
            let off = other_here[i] - here[i];
            difference += off * off;
            drift += (off - off_there[i]).powi(2);
            here[i] += share * off;
        }
        self.next_effective.compare(sizes, difference, drift, moved);
    }
}
