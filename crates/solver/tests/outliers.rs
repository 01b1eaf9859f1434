//! Noise with outliers, above the size of a dense metric: a small network with kinks and dropout, in which now and then the noise of a
//! difference is many times its mean. A limited memory that learnt from such a difference that a step is flat would make multipliers of hundreds.

use std::ops::ControlFlow;

use tangor_problem::{Access, Accesses, Draw, Evaluation, Meta, SampledProblem, Stream};
use tangor_solver::{Batch, Row, Settings, Solver};

const ROWS: usize = 4000;
const INPUTS: usize = 20;
const UNITS: usize = 16;
/// Weights into the units, their offsets, weights out of them, and one offset more: 353.
const INNER: usize = INPUTS * UNITS;
const WEIGHTS: usize = INNER + 2 * UNITS + 1;
/// The share of the units that a draw leaves.
const KEPT: f64 = 0.9;
const EPOCHS: u64 = 3;

/// Whether a sum of inputs is positive, told by a network whose mean output may differ by at most 0.02 between two groups, and from the truth.
struct Dropout {
    meta: Meta,
    rows: Vec<Sample>,
    /// The shares of the first group, and of what is positive.
    shares: [f64; 2],
}

#[derive(Clone)]
struct Sample {
    x: [f64; INPUTS],
    group: f64,
    positive: f64,
}

/// What a row makes of the units, with some of them left out.
struct Pass {
    units: [f64; UNITS],
    slopes: [f64; UNITS],
    logit: f64,
}

impl Dropout {
    fn new(seed: u64) -> Self {
        let mut random = Stream::new(Draw(seed), 0);
        let sample = |random: &mut Stream| {
            let group = f64::from(u8::from(random.uniform() < 0.4));
            let mut x = [(); INPUTS].map(|()| random.normal());
            x[0] += group;
            let positive = f64::from(u8::from(x.iter().sum::<f64>() + 0.5 * random.normal() > 0.0));
            Sample { x, group, positive }
        };
        let rows: Vec<Sample> = (0..ROWS).map(|_| sample(&mut random)).collect();
        let size = |k: usize| if k < INNER + UNITS { INPUTS as f64 } else { UNITS as f64 }.sqrt();
        let start = (0..WEIGHTS).map(|k| (2.0 * random.uniform() - 1.0) / size(k)).collect();
        let share = |of: fn(&Sample) -> f64| rows.iter().map(of).sum::<f64>() / ROWS as f64;
        let shares = [share(|row| row.group), share(|row| row.positive)];
        Dropout { meta: Meta::new("dropout", start).rows(&[-0.02; 2], &[0.02; 2]), rows, shares }
    }

    /// The row of a draw, and what is left of the network; the objective and the constraints leave out units of their own.
    fn pass(&self, w: &[f64], draw: Draw, purpose: u64) -> (&Sample, Pass) {
        let mut random = Stream::new(draw, purpose);
        let row = &self.rows[(Stream::new(draw, 3).uniform() * ROWS as f64) as usize];
        let mut pass = Pass { units: [0.0; UNITS], slopes: [0.0; UNITS], logit: w[WEIGHTS - 1] };
        for (k, into) in w[..INNER].chunks(INPUTS).enumerate() {
            let sum = w[INNER + k] + into.iter().zip(&row.x).map(|(w, x)| w * x).sum::<f64>();
            if random.uniform() < KEPT && sum > 0.0 {
                (pass.units[k], pass.slopes[k]) = (sum / KEPT, w[INNER + UNITS + k] / KEPT);
                pass.logit += pass.units[k] * w[INNER + UNITS + k];
            }
        }
        (row, pass)
    }

    /// The weights of a row in both constraints.
    fn weights(&self, row: &Sample) -> [f64; 2] {
        [row.group / self.shares[0] - (1.0 - row.group) / (1.0 - self.shares[0]), 1.0]
    }

    fn loss(&self, w: &[f64]) -> f64 {
        let draws = (0..5 * ROWS as u64).map(Draw);
        let loss = draws.map(|draw| {
            let (row, pass) = self.pass(w, draw, 1);
            pass.logit.max(0.0) + (-pass.logit.abs()).exp().ln_1p() - row.positive * pass.logit
        });
        loss.sum::<f64>() / (5 * ROWS) as f64
    }
}

fn sigmoid(z: f64) -> f64 {
    1.0 / (1.0 + (-z).exp())
}

/// Adds `slope` times the gradient of the logit.
fn add(row: &Sample, pass: &Pass, slope: f64, out: &mut [f64]) {
    for k in 0..UNITS {
        let inner = slope * pass.slopes[k];
        out[k * INPUTS..][..INPUTS].iter_mut().zip(&row.x).for_each(|(out, x)| *out += inner * x);
        out[INNER + k] += inner;
        out[INNER + UNITS + k] += slope * pass.units[k];
    }
    out[WEIGHTS - 1] += slope;
}

impl SampledProblem for Dropout {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn accesses(&self) -> Accesses {
        Accesses::all(Access::Endless)
    }

    fn gradient(&mut self, x: &[f64], draws: &[Draw], g: &mut [f64]) -> Evaluation {
        g.fill(0.0);
        for &draw in draws {
            let (row, pass) = self.pass(x, draw, 1);
            add(row, &pass, (sigmoid(pass.logit) - row.positive) / draws.len() as f64, g);
        }
        Ok(())
    }

    fn constraints(&mut self, x: &[f64], draws: &[Draw], c: &mut [f64]) -> Evaluation {
        c.copy_from_slice(&[0.0, -self.shares[1]]);
        for &draw in draws {
            let (row, pass) = self.pass(x, draw, 2);
            let p = sigmoid(pass.logit) / draws.len() as f64;
            c.iter_mut().zip(self.weights(row)).for_each(|(c, weight)| *c += weight * p);
        }
        Ok(())
    }

    fn jacobian(&mut self, x: &[f64], draws: &[Draw], values: &mut [f64]) -> Evaluation {
        values.fill(0.0);
        for &draw in draws {
            let (row, pass) = self.pass(x, draw, 2);
            let p = sigmoid(pass.logit);
            for (values, weight) in values.chunks_mut(WEIGHTS).zip(self.weights(row)) {
                add(row, &pass, weight * p * (1.0 - p) / draws.len() as f64, values);
            }
        }
        Ok(())
    }
}

#[test]
fn outliers_of_noise_do_not_flatten_the_metric() {
    for seed in 0..8 {
        let referee = Dropout::new(seed);
        let mut settings = Settings::default();
        assert!(WEIGHTS > settings.metric.largest_dense, "the metric has a limited memory");
        let (sampling, limits) = (&mut settings.sampling, &mut settings.limits);
        sampling.seed = seed;
        for estimation in [&mut sampling.gradient, &mut sampling.constraints, &mut sampling.jacobian] {
            estimation.batch = Batch::Constant { size: 64 };
        }
        limits.iterations = u64::MAX;
        limits.gradient_samples = Some(2 * EPOCHS * ROWS as u64);
        let mut largest = 0.0_f64;
        let mut observe = |row: &Row, _: &[f64]| {
            largest = largest.max(row.rho);
            ControlFlow::Continue(())
        };
        let report = Solver::sampled(Dropout::new(seed), settings).expect("valid").run(&mut observe);
        let (start, end) = (referee.loss(&referee.meta.x0), referee.loss(&report.x));
        let multiplier = report.row_multipliers.iter().fold(0.0_f64, |most, y| most.max(y.abs()));
        println!("seed {seed}: loss {start:.3} to {end:.3}, multipliers {multiplier:.2}, merit parameter {largest:.1}");
        // Multipliers are 2 at most, and the merit parameter is to be twice what they need.
        assert!(multiplier < 3.0 && largest < 10.0, "seed {seed}: {multiplier}, {largest}");
        assert!(end < 0.5 * start, "seed {seed}: {start} to {end}");
    }
}
