//! Logistic regression with equalities: `A x = b` with ten random rows, and `|x|^2 = 1` (a test of Berahas, Curtis and others).

use tangor_problem::{Access, Accesses, Draw, Evaluation, Members, Meta, Reduction, SampledProblem};

use super::breast_cancer::{BreastCancer, FEATURES, numbers};
use super::measure::{At, Exactly};
use super::start::Starts;
use super::{sigmoid, softplus};
use crate::Error;

const ROWS: &str = include_str!("../../data/logistic_rows.csv");

/// The task.
pub struct Logistic {
    meta: Meta,
    data: BreastCancer,
    /// `A`, row by row.
    a: Vec<f64>,
    reduction: Reduction,
}

impl Logistic {
    /// From a random start of norm 1.
    pub fn new(seed: u64) -> Result<Self, Error> {
        let (mut a, mut b) = (Vec::new(), Vec::new());
        for (line, text) in ROWS.lines().enumerate() {
            let row = numbers(text, FEATURES + 1, "logistic_rows.csv", line)?;
            a.extend_from_slice(&row[..FEATURES]);
            b.push(row[FEATURES]);
        }
        b.push(1.0);
        let mut start = Starts::new(seed).normal(FEATURES);
        let norm = start.iter().map(|x| x * x).sum::<f64>().sqrt();
        start.iter_mut().for_each(|x| *x /= norm);
        let meta = Meta::new("logistic", start).equalities(&b);
        Ok(Logistic { meta, data: BreastCancer::read()?, a, reduction: Reduction::default() })
    }

    fn average(&mut self, x: &[f64], members: Members, g: &mut [f64]) -> Evaluation<f64> {
        members.check()?;
        let data = &self.data;
        let mut sums = [0.0; FEATURES + 1];
        self.reduction.sum(members.count(), &mut sums, |terms, sums| {
            for i in terms.map(|k| members.get(k)) {
                let (row, y) = (&data.features[i * FEATURES..(i + 1) * FEATURES], data.labels[i]);
                let z = -y * row.iter().zip(x).map(|(a, x)| a * x).sum::<f64>();
                let slope = -y * sigmoid(z);
                sums.iter_mut().zip(row).for_each(|(sum, a)| *sum += slope * a);
                sums[FEATURES] += softplus(z);
            }
        });
        let weight = 1.0 / members.count() as f64;
        g.iter_mut().zip(sums).for_each(|(g, sum)| *g = weight * sum);
        Ok(weight * sums[FEATURES])
    }
}

impl SampledProblem for Logistic {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn accesses(&self) -> Accesses {
        Accesses { gradient: Access::Finite(self.data.labels.len() as u64), ..Accesses::all(Access::Exact) }
    }

    fn gradient(&mut self, x: &[f64], draws: &[Draw], g: &mut [f64]) -> Evaluation {
        let population = self.data.labels.len();
        self.average(x, Members::Drawn { draws, population }, g).map(|_| ())
    }

    fn constraints(&mut self, x: &[f64], _draws: &[Draw], c: &mut [f64]) -> Evaluation {
        let (square, rows) = c.split_last_mut().ok_or_else(|| tangor_problem::Failure::broken("there are no constraints"))?;
        for (c, row) in rows.iter_mut().zip(self.a.chunks(FEATURES)) {
            *c = row.iter().zip(x).map(|(a, x)| a * x).sum();
        }
        *square = x.iter().map(|x| x * x).sum();
        Ok(())
    }

    fn jacobian(&mut self, x: &[f64], _draws: &[Draw], values: &mut [f64]) -> Evaluation {
        let (rows, square) = values.split_at_mut(self.a.len());
        rows.copy_from_slice(&self.a);
        square.iter_mut().zip(x).for_each(|(value, x)| *value = 2.0 * x);
        Ok(())
    }

    fn objective(&mut self, x: &[f64], draws: &[Draw]) -> Option<Evaluation<f64>> {
        let population = self.data.labels.len();
        Some(self.average(x, Members::Drawn { draws, population }, &mut [0.0; FEATURES]))
    }
}

impl Exactly for Logistic {
    fn exactly(&mut self, x: &[f64]) -> At {
        let (mut g, mut c) = (vec![0.0; FEATURES], vec![0.0; self.meta.m()]);
        let mut jacobian = vec![0.0; c.len() * FEATURES];
        let loss = self.average(x, Members::All(self.data.labels.len()), &mut g).unwrap_or(f64::NAN);
        // These two cannot fail: there are eleven rows.
        let _ = self.constraints(x, &[], &mut c);
        let _ = self.jacobian(x, &[], &mut jacobian);
        At { loss, g, c, jacobian }
    }
}
