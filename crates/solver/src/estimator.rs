//! Estimates of gradient, constraints and Jacobian: exact, mini-batch or recursive momentum, each on its own.

use serde::{Deserialize, Serialize};
use tangor_problem::{Access, Accesses, Draw, Evaluation, Function, Meta, SampledProblem};

use crate::random::Stream;
use crate::schedule::Situation;
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
    /// Whether mini-batches are evaluated at the previous point too.
    pub probe: bool,
}

/// The estimate of one function.
pub struct Estimate {
    settings: Estimation,
    access: Access,
    stream: Stream,
    draws: Vec<Draw>,
    values: Vec<f64>,
    /// The estimate at the trial point; it becomes `values` when all three functions have one.
    next: Vec<f64>,
    /// The batch at this point, and at the previous one.
    here: Vec<f64>,
    there: Vec<f64>,
    /// The same samples, here less there; when `compared`.
    pub difference: Vec<f64>,
    pub compared: bool,
}

/// What a checkpoint keeps of an estimate.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SavedEstimate {
    stream: Stream,
    values: Vec<f64>,
}

impl Estimate {
    fn new(length: usize, access: Access, settings: &Estimation, stream: Stream) -> Self {
        // A deterministic run compares nothing: the derivatives of both iterates are at hand.
        let spare = if access.is_sampled() { length } else { 0 };
        Estimate {
            settings: settings.clone(),
            access,
            stream,
            draws: Vec::new(),
            values: vec![0.0; length],
            next: vec![0.0; spare],
            here: vec![0.0; spare],
            there: vec![0.0; spare],
            difference: vec![0.0; spare],
            compared: false,
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
        SavedEstimate { stream: self.stream, values: self.values.clone() }
    }

    /// False: what was saved does not fit.
    pub fn restore(&mut self, saved: &SavedEstimate) -> bool {
        if saved.values.len() != self.values.len() {
            return false;
        }
        self.stream = saved.stream;
        self.values.copy_from_slice(&saved.values);
        true
    }

    /// The estimate at `x`, the one at `before` being at hand (unless this is the start).
    fn refresh(
        &mut self,
        mut evaluate: impl FnMut(&[f64], &[Draw], &mut [f64]) -> Evaluation,
        (x, before): (&[f64], Option<&[f64]>),
        (schedule, now): (&Schedule, Situation),
        probe: bool,
    ) -> Evaluation {
        self.compared = false;
        if self.access == Access::Exact {
            evaluate(x, &[], &mut self.next)?;
            self.here.copy_from_slice(&self.next);
            self.there.copy_from_slice(&self.values);
            self.compare(before.is_some());
            return Ok(());
        }
        self.stream.draw(self.access, self.settings.size(schedule, &now), &mut self.draws);
        evaluate(x, &self.draws, &mut self.here)?;
        let momentum = self.settings.estimator == Estimator::Momentum;
        let Some(before) = before.filter(|_| momentum || probe) else {
            self.next.copy_from_slice(&self.here);
            return Ok(());
        };
        evaluate(before, &self.draws, &mut self.there)?;
        let keep = if momentum { 1.0 - self.settings.a(schedule) } else { 0.0 };
        for (i, next) in self.next.iter_mut().enumerate() {
            *next = self.here[i] + keep * (self.values[i] - self.there[i]);
        }
        self.compare(true);
        Ok(())
    }

    fn compare(&mut self, known: bool) {
        self.compared = known;
        if known {
            for ((difference, here), there) in self.difference.iter_mut().zip(&self.here).zip(&self.there) {
                *difference = here - there;
            }
        }
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
        let stream = |number| Stream::new(sampling.seed, number);
        // When nothing is sampled, nothing is compared; when one function is, all three are.
        let mut estimates = Estimates {
            schedule: sampling.schedule.clone(),
            gradient: Estimate::new(meta.n(), accesses.gradient, &sampling.gradient, stream(0)),
            constraints: Estimate::new(meta.m(), accesses.constraints, &sampling.constraints, stream(1)),
            jacobian: Estimate::new(meta.jacobian_len(), accesses.jacobian, &sampling.jacobian, stream(2)),
            before: meta.x0.clone(),
            started: false,
            rows: meta.m() as f64,
        };
        if !accesses.are_exact() {
            for source in Source::ALL {
                let estimate = estimates.of(source);
                let length = estimate.values.len();
                for spare in [&mut estimate.next, &mut estimate.here, &mut estimate.there, &mut estimate.difference] {
                    spare.resize(length, 0.0);
                }
            }
        }
        estimates
    }

    pub fn of(&mut self, source: Source) -> &mut Estimate {
        match source {
            Source::Gradient => &mut self.gradient,
            Source::Constraints => &mut self.constraints,
            Source::Jacobian => &mut self.jacobian,
        }
    }

    /// The estimate of one function at `x`.
    pub fn refresh(&mut self, source: Source, problem: &mut impl SampledProblem, x: &[f64], learning: Learning) -> Evaluation {
        let (schedule, rows) = (self.schedule.clone(), self.rows);
        let (sigma, lipschitz) = match source {
            Source::Gradient => (schedule.sigma_f, learning.objective),
            Source::Constraints => (schedule.sigma_v, learning.slope),
            Source::Jacobian => (schedule.sigma_c * rows.sqrt(), learning.constraints * rows.sqrt()),
        };
        let Learning { iteration, moved, probe, .. } = learning;
        let now = Situation { iteration, sigma, lipschitz, moved, is_value: source == Source::Constraints };
        let started = self.started;
        let before = std::mem::take(&mut self.before);
        let points = (x, started.then_some(&before[..]));
        let evaluate = |x: &[f64], draws: &[Draw], out: &mut [f64]| source.evaluate(problem, x, draws, out);
        let done = self.of(source).refresh(evaluate, points, (&schedule, now), probe);
        self.before = before;
        done
    }

    /// All three were refreshed at `x`.
    pub fn finish(&mut self, x: &[f64]) {
        for source in Source::ALL {
            let estimate = self.of(source);
            std::mem::swap(&mut estimate.values, &mut estimate.next);
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
            let learning = Learning { iteration, objective: 1.0, constraints: 1.0, slope: 1.0, moved: 0.01, probe: false };
            estimates.refresh(Source::Gradient, &mut problem, &x, learning).expect("defined");
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
