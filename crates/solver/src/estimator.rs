//! Estimates of gradient, constraints and Jacobian: exact, mini-batch or recursive momentum, each on its own.

use serde::{Deserialize, Serialize};
use tangor_problem::{Access, Accesses, Draw, Evaluation, Failure, Function, Meta, SampledProblem, Samples};

use crate::random::Stream;
use crate::schedule::Situation;
use crate::worth::Worth;
use crate::{Estimation, Estimator, Sampling, Schedule};

/// One of the three functions that the method needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    Gradient,
    Constraints,
    Jacobian,
}

impl Source {
    pub const ALL: [Source; 3] = [Source::Gradient, Source::Constraints, Source::Jacobian];

    pub fn function(self) -> Function {
        match self {
            Source::Gradient => Function::Gradient,
            Source::Constraints => Function::Constraints,
            Source::Jacobian => Function::Jacobian,
        }
    }

    pub fn access(self, accesses: Accesses) -> Access {
        match self {
            Source::Gradient => accesses.gradient,
            Source::Constraints => accesses.constraints,
            Source::Jacobian => accesses.jacobian,
        }
    }

    pub fn samples(self, samples: Samples) -> u64 {
        match self {
            Source::Gradient => samples.gradient,
            Source::Constraints => samples.constraints,
            Source::Jacobian => samples.jacobian,
        }
    }

    pub fn is_needed(self, meta: &Meta) -> bool {
        match self {
            Source::Gradient => meta.has_objective,
            Source::Constraints | Source::Jacobian => meta.m() > 0,
        }
    }

    pub fn evaluate(self, problem: &mut impl SampledProblem, x: &[f64], draws: &[Draw], out: &mut [f64]) -> Evaluation {
        match self {
            Source::Gradient => problem.gradient(x, draws, out),
            Source::Constraints => problem.constraints(x, draws, out),
            Source::Jacobian => problem.jacobian(x, draws, out),
        }
    }
}

/// What the schedules need to know of the run.
#[derive(Clone, Copy, Debug)]
pub struct Learning {
    pub iteration: u64,
    /// `L_f` and `L_c`
    pub objective: f64,
    pub constraints: f64,
    /// A bound on the Jacobian
    pub slope: f64,
    /// `|x_k - x_{k-1}|`
    pub moved: f64,
    /// Whether batches are taken in halves, at the previous point too.
    pub probe: bool,
    /// Whether they are taken at the previous point, whatever the estimator.
    pub compare: bool,
}

/// The estimate of one function.
pub struct Estimate {
    settings: Estimation,
    access: Access,
    stream: Stream,
    draws: Vec<Draw>,
    /// Where the second half of the draws begins; at their end when they are taken at once.
    half: usize,
    /// Whether they are taken at the previous point, too.
    twice: bool,
    values: Vec<f64>,
    /// The estimate at the trial point; it becomes `values` when all three functions have one.
    next: Vec<f64>,
    /// Both halves of the batch at this point, and at the previous one.
    here: [Vec<f64>; 2],
    there: [Vec<f64>; 2],
    /// The same samples, here less there; when `compared`.
    pub difference: Vec<f64>,
    pub compared: bool,
    worth: Worth,
    next_worth: Worth,
}

/// What a checkpoint keeps of an estimate.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SavedEstimate {
    stream: Stream,
    values: Vec<f64>,
    worth: Worth,
}

impl Estimate {
    /// `spare`: whether estimates are compared with each other.
    fn new(length: usize, access: Access, settings: &Estimation, stream: Stream, spare: bool) -> Self {
        let spare = || vec![0.0; if spare { length } else { 0 }];
        Estimate {
            settings: settings.clone(),
            access,
            stream,
            draws: Vec::new(),
            half: 0,
            twice: false,
            values: vec![0.0; length],
            next: spare(),
            here: [spare(), spare()],
            there: [spare(), spare()],
            difference: spare(),
            compared: false,
            worth: Worth::default(),
            next_worth: Worth::default(),
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

    /// Draws the batch.
    fn prepare(&mut self, schedule: &Schedule, now: &Situation, started: bool, (probe, compare): (bool, bool)) {
        let size = if self.access.is_sampled() { self.settings.size(schedule, now) } else { 0 };
        let halves = started && probe && self.access.is_sampled();
        self.stream.draw(self.access, if halves { size.max(2) } else { size }, &mut self.draws);
        self.half = if halves { self.draws.len() / 2 } else { self.draws.len() };
        self.twice =
            started && self.access.is_sampled() && (probe || compare || self.settings.estimator == Estimator::Momentum);
    }

    /// The batch at `x` and at the point `before`.
    fn evaluate(
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
    fn combine(&mut self, schedule: &Schedule, started: bool, moved: f64) {
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

/// The estimates of all three functions, in the user's form.
pub struct Estimates {
    schedule: Schedule,
    pub gradient: Estimate,
    pub constraints: Estimate,
    pub jacobian: Estimate,
    /// Where they were last taken.
    before: Vec<f64>,
    started: bool,
    rows: f64,
}

impl Estimates {
    pub fn new(meta: &Meta, accesses: Accesses, sampling: &Sampling) -> Self {
        // When nothing is sampled, nothing is compared; when one function is, all three are.
        let spare = !accesses.are_exact();
        let estimate = |length, access, settings, number| {
            let shared = sampling.shared_draws && matches!(access, Access::Finite(_));
            let stream = Stream::new(sampling.seed, if shared { 0 } else { number }, sampling.replacement);
            Estimate::new(length, access, settings, stream, spare)
        };
        Estimates {
            schedule: sampling.schedule.clone(),
            gradient: estimate(meta.n(), accesses.gradient, &sampling.gradient, 0),
            constraints: estimate(meta.m(), accesses.constraints, &sampling.constraints, 1),
            jacobian: estimate(meta.jacobian_len(), accesses.jacobian, &sampling.jacobian, 2),
            before: meta.x0.clone(),
            started: false,
            rows: meta.m() as f64,
        }
    }

    pub fn of(&mut self, source: Source) -> &mut Estimate {
        match source {
            Source::Gradient => &mut self.gradient,
            Source::Constraints => &mut self.constraints,
            Source::Jacobian => &mut self.jacobian,
        }
    }

    /// The estimates at `x`, in one pass over the samples where all functions use the same.
    pub fn refresh(
        &mut self,
        problem: &mut impl SampledProblem,
        x: &[f64],
        learning: Learning,
    ) -> Result<(), (Function, Failure)> {
        let needed = Source::ALL.map(|source| source.is_needed(problem.meta()));
        let sources = || Source::ALL.into_iter().zip(needed).filter(|(_, needed)| *needed).map(|(source, _)| source);
        for source in sources() {
            self.prepare(source, learning);
        }
        if needed == [true; 3] && self.share_draws() {
            self.evaluate_together(problem, x)?;
        } else {
            let before = std::mem::take(&mut self.before);
            let done = sources().try_for_each(|source| {
                let evaluate = |x: &[f64], draws: &[Draw], out: &mut [f64]| source.evaluate(problem, x, draws, out);
                self.of(source).evaluate(evaluate, (x, &before)).map_err(|failure| (source.function(), failure))
            });
            self.before = before;
            done?;
        }
        let (schedule, started) = (self.schedule.clone(), self.started);
        for source in sources() {
            self.of(source).combine(&schedule, started, learning.moved);
        }
        Ok(())
    }

    fn prepare(&mut self, source: Source, learning: Learning) {
        let (schedule, rows, started) = (self.schedule.clone(), self.rows, self.started);
        let (sigma, lipschitz) = match source {
            Source::Gradient => (schedule.sigma_f, learning.objective),
            Source::Constraints => (schedule.sigma_v, learning.slope),
            Source::Jacobian => (schedule.sigma_c * rows.sqrt(), learning.constraints * rows.sqrt()),
        };
        let Learning { iteration, moved, probe, compare, .. } = learning;
        let now = Situation { iteration, sigma, lipschitz, moved, is_value: source == Source::Constraints };
        self.of(source).prepare(&schedule, &now, started, (probe, compare));
    }

    /// Whether all three functions are about to be taken over the same draws at the same points.
    fn share_draws(&self) -> bool {
        let plan = |estimate: &Estimate| (estimate.access, estimate.half, estimate.twice);
        let first = &self.gradient;
        let equal = |other: &Estimate| plan(other) == plan(first) && other.draws == first.draws;
        first.access.is_sampled() && equal(&self.constraints) && equal(&self.jacobian)
    }

    fn evaluate_together(&mut self, problem: &mut impl SampledProblem, x: &[f64]) -> Result<(), (Function, Failure)> {
        let Estimates { gradient: g, constraints: c, jacobian: j, before, .. } = self;
        let halves = g.draws.split_at(g.half);
        for (k, draws) in [halves.0, halves.1].into_iter().enumerate().filter(|(_, draws)| !draws.is_empty()) {
            problem.all(x, draws, &mut g.here[k], &mut c.here[k], &mut j.here[k])?;
            if g.twice {
                problem.all(before, draws, &mut g.there[k], &mut c.there[k], &mut j.there[k])?;
            }
        }
        Ok(())
    }

    /// How many draws the estimates are worth: the least of the sampled ones.
    pub fn worth(&self) -> f64 {
        let all = [&self.gradient, &self.constraints, &self.jacobian];
        let sampled = all.into_iter().filter(|estimate| estimate.access.is_sampled() && !estimate.values.is_empty());
        sampled.map(|estimate| estimate.worth.draws()).fold(f64::INFINITY, f64::min)
    }

    /// The samples of the next iteration, if its batches are as large as the last ones.
    pub fn next_samples(&self) -> u64 {
        let all = [&self.gradient, &self.constraints, &self.jacobian];
        let samples = |estimate: &Estimate| match estimate.settings.estimator {
            Estimator::Momentum => 2.0 * estimate.worth.batch(),
            Estimator::Minibatch => estimate.worth.batch(),
        };
        all.into_iter().filter(|estimate| estimate.access.is_sampled()).map(samples).sum::<f64>() as u64
    }

    /// All three were refreshed at `x`.
    pub fn finish(&mut self, x: &[f64]) {
        for source in Source::ALL {
            let estimate = self.of(source);
            std::mem::swap(&mut estimate.values, &mut estimate.next);
            estimate.worth = estimate.next_worth;
        }
        self.resume_at(x);
    }

    /// Goes on from estimates that were taken at `x`.
    pub fn resume_at(&mut self, x: &[f64]) {
        self.before.copy_from_slice(x);
        self.started = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Batch, Momentum};
    use tangor_problem::{Noise, Noisy, Problem};

    /// `f = 1/2 |x|^2`: the gradient is `x`.
    struct Bowl(Meta);

    impl Problem for Bowl {
        fn meta(&self) -> &Meta {
            &self.0
        }
        fn objective(&mut self, x: &[f64]) -> Evaluation<f64> {
            Ok(0.5 * x.iter().map(|x| x * x).sum::<f64>())
        }
        fn gradient(&mut self, x: &[f64], g: &mut [f64]) -> Evaluation {
            g.copy_from_slice(x);
            Ok(())
        }
        fn constraints(&mut self, _x: &[f64], _c: &mut [f64]) -> Evaluation {
            Ok(())
        }
        fn jacobian(&mut self, _x: &[f64], _values: &mut [f64]) -> Evaluation {
            Ok(())
        }
    }

    /// Mean and mean square of the error of the estimate, over moving points after a while.
    fn errors(estimation: Estimation, level: f64) -> (f64, f64) {
        let mut problem = Noisy::new(Bowl(Meta::new("bowl", vec![1.0; 4])), Noise::level(level)).expect("a valid level");
        let sampling = Sampling { gradient: estimation, ..Sampling::default() };
        let mut estimates = Estimates::new(problem.meta(), problem.accesses(), &sampling);
        let (mut mean, mut square, mut count) = (0.0, 0.0, 0.0);
        for iteration in 0..20_000 {
            let x = [(iteration as f64 * 0.01).sin(), 1.0, 0.0, (iteration as f64 * 0.003).cos()];
            let learning =
                Learning { iteration, objective: 1.0, constraints: 1.0, slope: 1.0, moved: 0.01, probe: false, compare: false };
            estimates.refresh(&mut problem, &x, learning).expect("defined");
            estimates.finish(&x);
            if iteration > 500 {
                let error: Vec<f64> = estimates.gradient.values().iter().zip(x).map(|(g, x)| g - x).collect();
                mean += error.iter().sum::<f64>();
                square += error.iter().map(|error| error * error).sum::<f64>();
                count += 1.0;
            }
        }
        (mean / count / 4.0, square / count)
    }

    fn minibatch(size: usize) -> Estimation {
        Estimation { estimator: Estimator::Minibatch, batch: Batch::Constant { size }, ..Estimation::default() }
    }

    #[test]
    fn minibatches_are_unbiased_and_their_error_falls_as_one_over_the_root_of_their_size() {
        let (mean, one) = errors(minibatch(1), 0.1);
        let (_, sixteen) = errors(minibatch(16), 0.1);
        assert!(mean.abs() < 4.0 * 0.05 / (4.0f64 * 19_500.0).sqrt(), "the mean error is {mean}");
        let ratio = (one / sixteen).sqrt();
        assert!((ratio - 4.0).abs() < 0.1, "sixteen times the samples gave {ratio} times the accuracy, expected 4");
    }

    #[test]
    fn momentum_reaches_the_variance_that_its_recursion_predicts() {
        // With additive noise, error_k = (1 - a) error_{k-1} + a noise_k: the variance tends to a / (2 - a) of that of a sample.
        let (_, sample) = errors(minibatch(1), 0.1);
        for a in [0.5, 0.1, 0.02] {
            let momentum = Estimation { momentum: Momentum::Constant { a }, ..Estimation::default() };
            let (_, square) = errors(momentum, 0.1);
            let predicted = a / (2.0 - a) * sample;
            assert!((square / predicted - 1.0).abs() < 0.2, "a = {a}: {square}, predicted {predicted}");
        }
    }
}
