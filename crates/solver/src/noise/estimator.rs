//! The estimates of gradient, constraints and Jacobian, in one pass over the samples where they can share it.

use serde::{Deserialize, Serialize};
use tangor_problem::{Access, Accesses, Counted, Draw, Failure, Function, Meta, Outputs, SampledProblem, Wanted};

use crate::form::quantity::Quantity;
use crate::noise::estimate::{Estimate, halves};
use crate::noise::random::Stream;
use crate::noise::schedule::Situation;
use crate::{Estimator, Sampling, Schedule};

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
    /// Whether the draws of the last attempt are taken again, at another trial point. New ones would keep only those that passed a
    /// test: a bias.
    pub again: bool,
}

impl Learning {
    /// Before the first step.
    pub const START: Learning = Learning {
        iteration: 0,
        objective: 1.0,
        constraints: 1.0,
        slope: 1.0,
        moved: 0.0,
        probe: false,
        compare: false,
        again: false,
    };

    /// The least that a step takes: of batches that are there already, at one more point.
    pub const AGAIN: Learning = Learning { again: true, ..Learning::START };
}

/// The estimates of all three functions, in the user's form.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Estimates {
    #[serde(skip)]
    schedule: Schedule,
    pub gradient: Estimate,
    pub constraints: Estimate,
    pub jacobian: Estimate,
    /// Where they were last taken.
    #[serde(skip)]
    before: Vec<f64>,
    #[serde(skip)]
    started: bool,
    #[serde(skip)]
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

    /// Whether other estimates are of the same functions.
    pub fn fit(&self, saved: &Estimates) -> bool {
        Quantity::ALL.into_iter().all(|quantity| self.get(quantity).fits(saved.get(quantity)))
    }

    /// Goes on from others that fit.
    pub fn take_up(&mut self, saved: Estimates) {
        self.gradient.take_up(saved.gradient);
        self.constraints.take_up(saved.constraints);
        self.jacobian.take_up(saved.jacobian);
    }

    pub fn of(&mut self, quantity: Quantity) -> &mut Estimate {
        match quantity {
            Quantity::Gradient => &mut self.gradient,
            Quantity::Constraints => &mut self.constraints,
            Quantity::Jacobian => &mut self.jacobian,
        }
    }

    pub fn get(&self, quantity: Quantity) -> &Estimate {
        match quantity {
            Quantity::Gradient => &self.gradient,
            Quantity::Constraints => &self.constraints,
            Quantity::Jacobian => &self.jacobian,
        }
    }

    /// The estimates at `x`, in one pass over the samples where all functions use the same.
    pub fn refresh(
        &mut self,
        problem: &mut Counted<impl SampledProblem>,
        x: &[f64],
        learning: Learning,
    ) -> Result<(), (Function, Failure)> {
        let needed = Quantity::ALL.map(|quantity| quantity.is_needed(problem.meta()));
        let quantities = || Quantity::ALL.into_iter().zip(needed).filter(|(_, needed)| *needed).map(|(quantity, _)| quantity);
        if !learning.again {
            let end_wanted = || problem.is_end_wanted();
            quantities().try_for_each(|quantity| {
                self.prepare(quantity, learning, end_wanted).map_err(|failure| (quantity.function(), failure))
            })?;
        }
        if needed == [true; 3] && self.share_draws() {
            self.evaluate_together(problem, x)?;
        } else {
            let before = std::mem::take(&mut self.before);
            let done = quantities().try_for_each(|quantity| {
                let evaluate = |x: &[f64], draws: &[Draw], out: &mut [f64]| quantity.evaluate(problem, x, draws, out);
                self.of(quantity).evaluate(evaluate, (x, &before)).map_err(|failure| (quantity.function(), failure))
            });
            self.before = before;
            done?;
        }
        let (schedule, started) = (self.schedule.clone(), self.started);
        for quantity in quantities() {
            self.of(quantity).combine(&schedule, started, learning.moved);
        }
        Ok(())
    }

    /// What the schedules look at, for one function.
    fn situation(&self, quantity: Quantity, learning: Learning) -> Situation {
        let (schedule, rows) = (&self.schedule, self.rows);
        let (sigma, lipschitz) = match quantity {
            Quantity::Gradient => (schedule.sigma_f, learning.objective),
            Quantity::Constraints => (schedule.sigma_v, learning.slope),
            Quantity::Jacobian => (schedule.sigma_c * rows.sqrt(), learning.constraints * rows.sqrt()),
        };
        let Learning { iteration, moved, .. } = learning;
        Situation { iteration, sigma, lipschitz, moved, is_value: quantity == Quantity::Constraints }
    }

    fn prepare(&mut self, quantity: Quantity, learning: Learning, end_wanted: impl Fn() -> bool) -> Result<(), Failure> {
        let (now, started, points) = (self.situation(quantity, learning), self.started, (learning.probe, learning.compare));
        let Estimates { schedule, gradient, constraints, jacobian, .. } = self;
        match quantity {
            Quantity::Gradient => gradient.prepare(schedule, &now, started, points, None, end_wanted),
            Quantity::Constraints => constraints.prepare(schedule, &now, started, points, Some(gradient), end_wanted),
            Quantity::Jacobian => jacobian.prepare(schedule, &now, started, points, Some(gradient), end_wanted),
        }
    }

    /// The samples of each function that [`Estimates::refresh`] is about to take.
    pub fn samples(&self, meta: &Meta, learning: Learning) -> [u64; 3] {
        let Learning { probe, compare, again, .. } = learning;
        Quantity::ALL.map(|quantity| {
            let estimate = self.get(quantity);
            let now = self.situation(quantity, learning);
            let samples = estimate.samples(&self.schedule, &now, self.started, (probe, compare, again));
            if quantity.is_needed(meta) { samples } else { 0 }
        })
    }

    /// How often the functions are evaluated at most by [`Estimates::refresh`], each in up to two halves at up to two points.
    pub fn most_evaluations(&self, meta: &Meta, learning: Learning) -> u64 {
        let of = |quantity: Quantity| {
            let estimate = self.get(quantity);
            let points = if learning.again && estimate.known { 1 } else { 2 };
            let halves = if learning.probe || (learning.again && estimate.half < estimate.draws.len()) { 2 } else { 1 };
            if estimate.access.is_sampled() { points * halves } else { 1 }
        };
        Quantity::ALL.into_iter().filter(|quantity| quantity.is_needed(meta)).map(of).sum()
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
        let mut evaluate = |x: &[f64], draws: &[Draw], gradient: &mut [f64], constraints: &mut [f64], jacobian: &mut [f64]| {
            let mut out = Outputs::new(gradient, constraints, jacobian);
            let done = problem.evaluate(x, draws, Wanted::SAMPLED, &mut out);
            done.map_err(|failed| (failed.function, failed.failure))
        };
        if g.twice && !g.known {
            for (k, draws) in halves(&g.draws, g.half) {
                evaluate(before, draws, &mut g.there[k], &mut c.there[k], &mut j.there[k])?;
            }
        }
        [&mut *g, c, j].into_iter().for_each(Estimate::keep_there);
        for (k, draws) in halves(&g.draws, g.half) {
            evaluate(x, draws, &mut g.here[k], &mut c.here[k], &mut j.here[k])?;
        }
        Ok(())
    }

    /// How many draws the estimates are effective: the least of the sampled ones.
    pub fn effective_samples(&self) -> f64 {
        let all = [&self.gradient, &self.constraints, &self.jacobian];
        let sampled = all.into_iter().filter(|estimate| estimate.access.is_sampled() && !estimate.values.is_empty());
        sampled.map(|estimate| estimate.effective.draws()).fold(f64::INFINITY, f64::min)
    }

    /// The samples of a function in the next iteration, if its batch is as large as the last one; two halves have at least two.
    pub fn next_samples(&self, quantity: Quantity) -> u64 {
        let estimate = self.get(quantity);
        let points = if estimate.settings.estimator == Estimator::Momentum { 2.0 } else { 1.0 };
        if estimate.access.is_sampled() { (points * estimate.effective.batch().max(2.0)) as u64 } else { 0 }
    }

    /// All three were refreshed at `x`.
    pub fn finish(&mut self, x: &[f64]) {
        for quantity in Quantity::ALL {
            let estimate = self.of(quantity);
            std::mem::swap(&mut estimate.values, &mut estimate.next);
            estimate.effective = estimate.next_effective;
        }
        self.resume_at(x);
    }

    /// The next estimates are first ones: they owe nothing to those before.
    pub fn begin_anew(&mut self) {
        self.started = false;
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
    use crate::{Batch, Estimation, Momentum};
    use tangor_problem::{Evaluation, Noise, Noisy, Problem};

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
        let noisy = Noisy::new(Bowl(Meta::new("bowl", vec![1.0; 4])), Noise::level(level)).expect("a valid level");
        let mut problem = Counted::new(noisy);
        let sampling = Sampling { gradient: estimation, ..Sampling::default() };
        let mut estimates = Estimates::new(problem.meta(), problem.accesses(), &sampling);
        let (mut mean, mut square, mut count) = (0.0, 0.0, 0.0);
        for iteration in 0..20_000 {
            let x = [(iteration as f64 * 0.01).sin(), 1.0, 0.0, (iteration as f64 * 0.003).cos()];
            let learning = Learning {
                iteration,
                objective: 1.0,
                constraints: 1.0,
                slope: 1.0,
                moved: 0.01,
                probe: false,
                compare: false,
                again: false,
            };
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
    fn the_samples_of_a_judgement_join_with_the_weight_of_their_draws() {
        let noisy = Noisy::new(Bowl(Meta::new("bowl", vec![1.0; 4])), Noise::level(0.1)).expect("a valid level");
        let mut problem = Counted::new(noisy);
        let sampling = Sampling::default();
        let mut estimates = Estimates::new(problem.meta(), problem.accesses(), &sampling);
        estimates.refresh(&mut problem, &[1.0; 4], Learning::START).expect("defined");
        estimates.finish(&[1.0; 4]);
        // The first batch has 16 draws: 48 others make three quarters.
        let before = estimates.gradient.values().to_vec();
        assert!(estimates.gradient.weighs_draws());
        estimates.gradient.join(&[2.0; 4], 48);
        for (after, before) in estimates.gradient.values().iter().zip(before) {
            assert!((after - (0.25 * before + 1.5)).abs() < 1e-15);
        }
        assert_eq!(estimates.gradient.effective.draws(), 64.0);
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
