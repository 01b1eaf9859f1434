//! Who has a high income, under gaps between men and women of at most 0.02: of mean probabilities over all, and over those whose income is
//! high. Each gap is an expectation `E[w p(x)]` with weights `w` from the groups' shares, as noisy as the loss, and bounded from both
//! sides by an inequality of its own.

use std::sync::Arc;

use tangor_problem::{
    Access, Accesses, Draw, Evaluation, Function, FunctionFailure, Members, Meta, Outputs, Reduction, SampledProblem, Wanted,
};

use super::measure::{At, Exactly};
use super::start::Starts;
use super::{Adult, sigmoid, softplus};

const LARGEST_GAP: f64 = 0.02;
const RIDGE: f64 = 1e-4;

/// The layer between features and prediction, if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hidden {
    /// A linear model.
    None,
    /// So many units with tanh.
    Units(usize),
}

/// The most hidden units: their values are kept on the stack.
const MOST_UNITS: usize = 64;

/// The task.
pub struct Fair {
    meta: Meta,
    data: Arc<Adult>,
    hidden: Hidden,
    /// Of both gaps, for each row.
    weights: Vec<[f64; 2]>,
    reduction: Reduction,
    /// Loss, both gaps, and the gradients of all three.
    sums: Vec<f64>,
}

impl Fair {
    /// A linear model from a small random start.
    pub fn linear(data: Arc<Adult>, seed: u64) -> Self {
        let start = Starts::new(seed).normal(data.columns()).into_iter().map(|x| 0.01 * x).collect();
        Fair::new("adult", data, Hidden::None, start)
    }

    /// A network with 32 hidden units.
    pub fn network(data: Arc<Adult>, seed: u64) -> Self {
        let (mut starts, units, columns) = (Starts::new(seed), 32, data.columns());
        let scaled = |values: Vec<f64>, size: usize| values.into_iter().map(move |x| x / (size as f64).sqrt());
        let inner = scaled(starts.normal(columns * units), columns);
        let start = inner.chain(scaled(starts.normal(units), units)).chain([0.0]).collect();
        Fair::new("adult-network", data, Hidden::Units(units), start)
    }

    fn new(name: &str, data: Arc<Adult>, hidden: Hidden, start: Vec<f64>) -> Self {
        let rows = data.rows() as f64;
        let share = |of: &dyn Fn(usize) -> f64| (0..data.rows()).map(of).sum::<f64>() / rows;
        let (s, y) = (|i: usize| data.male[i], |i: usize| data.income[i]);
        let [men, women] = [share(&s), share(&|i| 1.0 - s(i))];
        let [rich_men, rich_women] = [share(&|i| s(i) * y(i)), share(&|i| (1.0 - s(i)) * y(i))];
        let weights = (0..data.rows())
            .map(|i| [s(i) / men - (1.0 - s(i)) / women, y(i) * (s(i) / rich_men - (1.0 - s(i)) / rich_women)])
            .collect();
        let meta = Meta::new(name, start).at_most(&[LARGEST_GAP; 4]);
        let sums = vec![0.0; 3 * (meta.n() + 1)];
        Fair { meta, data, hidden, weights, reduction: Reduction::default(), sums }
    }

    /// Loss, gaps and their gradients, averaged, into `sums`.
    fn average(&mut self, x: &[f64], members: Members) -> Evaluation {
        members.check()?;
        let Fair { data, hidden, weights, reduction, sums, .. } = self;
        let n = x.len();
        reduction.sum(members.count(), sums, |terms, sums| {
            let (values, gradients) = sums.split_at_mut(3);
            for i in terms.map(|k| members.get(k)) {
                let mut units = [0.0; MOST_UNITS];
                let z = logit(data, *hidden, x, i, &mut units);
                let (p, y, w) = (sigmoid(z), data.income[i], weights[i]);
                values[0] += softplus(z) - y * z;
                values[1] += w[0] * p;
                values[2] += w[1] * p;
                let variance = p * (1.0 - p);
                for (gradient, slope) in gradients.chunks_mut(n).zip([p - y, w[0] * variance, w[1] * variance]) {
                    if slope != 0.0 {
                        add_gradient(data, *hidden, (x, i), &units, slope, gradient);
                    }
                }
            }
        });
        let weight = 1.0 / members.count() as f64;
        self.sums.iter_mut().for_each(|sum| *sum *= weight);
        self.sums[0] += 0.5 * RIDGE * x.iter().map(|x| x * x).sum::<f64>();
        self.sums[3..3 + n].iter_mut().zip(x).for_each(|(g, x)| *g += RIDGE * x);
        Ok(())
    }

    fn drawn<'a>(&self, draws: &'a [Draw]) -> Members<'a> {
        Members::Drawn { draws, population: self.data.rows() }
    }

    fn write_gradient(&self, g: &mut [f64]) {
        g.copy_from_slice(&self.sums[3..3 + g.len()]);
    }

    fn write_constraints(&self, c: &mut [f64]) {
        c.copy_from_slice(&[self.sums[1], self.sums[2], -self.sums[1], -self.sums[2]]);
    }

    fn write_jacobian(&self, values: &mut [f64]) {
        let gaps = &self.sums[3 + self.meta.n()..];
        let (above, below) = values.split_at_mut(gaps.len());
        above.copy_from_slice(gaps);
        below.iter_mut().zip(gaps).for_each(|(value, gap)| *value = -gap);
    }
}

/// The logit of a row, and the values of the hidden units.
fn logit(data: &Adult, hidden: Hidden, x: &[f64], i: usize, units: &mut [f64; MOST_UNITS]) -> f64 {
    let Hidden::Units(count) = hidden else { return data.row(i).map(|(column, a)| a * x[column]).sum() };
    let units = &mut units[..count];
    for (column, a) in data.row(i) {
        let weights = &x[column * count..(column + 1) * count];
        units.iter_mut().zip(weights).for_each(|(unit, weight)| *unit += a * weight);
    }
    let outer = &x[data.columns() * count..];
    let mut z = outer[count];
    for (unit, v) in units.iter_mut().zip(outer) {
        *unit = unit.tanh();
        z += *unit * v;
    }
    z
}

/// Adds `slope` times the gradient of the logit.
fn add_gradient(
    data: &Adult,
    hidden: Hidden,
    (x, i): (&[f64], usize),
    units: &[f64; MOST_UNITS],
    slope: f64,
    gradient: &mut [f64],
) {
    let Hidden::Units(count) = hidden else {
        return data.row(i).for_each(|(column, a)| gradient[column] += slope * a);
    };
    let start = data.columns() * count;
    let mut inner = [0.0; MOST_UNITS];
    for k in 0..count {
        inner[k] = slope * x[start + k] * (1.0 - units[k] * units[k]);
        gradient[start + k] += slope * units[k];
    }
    gradient[start + count] += slope;
    for (column, a) in data.row(i) {
        let weights = &mut gradient[column * count..(column + 1) * count];
        weights.iter_mut().zip(&inner).for_each(|(weight, inner)| *weight += a * inner);
    }
}

impl SampledProblem for Fair {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn accesses(&self) -> Accesses {
        Accesses::all(Access::Finite(self.data.rows() as u64))
    }

    fn gradient(&mut self, x: &[f64], draws: &[Draw], g: &mut [f64]) -> Evaluation {
        self.average(x, self.drawn(draws))?;
        self.write_gradient(g);
        Ok(())
    }

    fn constraints(&mut self, x: &[f64], draws: &[Draw], c: &mut [f64]) -> Evaluation {
        self.average(x, self.drawn(draws))?;
        self.write_constraints(c);
        Ok(())
    }

    fn jacobian(&mut self, x: &[f64], draws: &[Draw], values: &mut [f64]) -> Evaluation {
        self.average(x, self.drawn(draws))?;
        self.write_jacobian(values);
        Ok(())
    }

    /// One pass over the rows gives everything.
    fn evaluate(&mut self, x: &[f64], draws: &[Draw], wanted: Wanted, out: &mut Outputs<'_>) -> Result<(), FunctionFailure> {
        self.average(x, self.drawn(draws)).map_err(FunctionFailure::of(Function::Gradient))?;
        if wanted.gradient {
            self.write_gradient(out.gradient);
        }
        if wanted.constraints {
            self.write_constraints(out.constraints);
        }
        if wanted.jacobian {
            self.write_jacobian(out.jacobian);
        }
        if wanted.objective {
            out.objective = Some(self.sums[0]);
        }
        Ok(())
    }

    fn objective(&mut self, x: &[f64], draws: &[Draw]) -> Option<Evaluation<f64>> {
        Some(self.average(x, self.drawn(draws)).map(|()| self.sums[0]))
    }
}

impl Exactly for Fair {
    fn exactly(&mut self, x: &[f64]) -> At {
        let done = self.average(x, Members::All(self.data.rows()));
        let (mut g, mut c, mut jacobian) = (vec![0.0; x.len()], vec![0.0; 4], vec![0.0; 4 * x.len()]);
        self.write_gradient(&mut g);
        self.write_constraints(&mut c);
        self.write_jacobian(&mut jacobian);
        At { loss: if done.is_ok() { self.sums[0] } else { f64::NAN }, g, c, jacobian }
    }
}
