//! The penalty that does best on rows that were left out.

use std::io::Write;
use std::sync::Arc;

use tangor_learn::{DataSet, Evaluation, Goal, Penalty};
use tangor_problem::count_of;
use tangor_solver::Settings;

use super::task::solved;
use crate::error::Error;
use crate::style::{DIM, TITLE};

/// The penalties that are tried, from the largest on: each starts from the weights of the one before.
const TRIED: [f64; 8] = [1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 0.0];

/// What a penalty came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Validated {
    /// The factor of `|x|^2 / 2`.
    pub l2: f64,
    /// The mean loss of rows that were left out.
    pub loss: f64,
    /// Its standard error over the parts.
    pub error: f64,
}

/// All penalties with the losses of rows that were left out, each part in turn.
pub fn validate(data: &DataSet, goal: &Goal, folds: usize, settings: &Settings) -> Result<Vec<Validated>, Error> {
    let of_row = data.folds(folds, settings.sampling.seed);
    let mut losses = vec![Vec::with_capacity(folds); TRIED.len()];
    for fold in 0..folds {
        let (left_out, kept): (Vec<usize>, Vec<usize>) = (0..data.rows()).partition(|&i| of_row[i] == fold);
        if left_out.is_empty() || kept.is_empty() {
            return Err(Error::Setting(format!("{} cannot be cut into {folds} parts", count_of(data.rows(), "row"))));
        }
        let (left_out, kept) = (data.subset(&left_out), Arc::new(data.subset(&kept)));
        let mut weights = vec![0.0; data.features.weights()];
        for (losses, l2) in losses.iter_mut().zip(TRIED) {
            let penalty = Penalty { l2, ..goal.penalty };
            weights = solved(&kept, &Goal { penalty, ..goal.clone() }, weights, settings)?.x;
            losses.push(Evaluation::new(&left_out, &weights, &[], 0.5, settings.sampling.judge.confidence)?.loss);
        }
    }
    Ok(losses.iter().zip(TRIED).map(|(losses, l2)| summary(l2, losses)).collect())
}

fn summary(l2: f64, losses: &[f64]) -> Validated {
    let count = losses.len() as f64;
    let loss = losses.iter().sum::<f64>() / count;
    let variance = losses.iter().map(|other| (other - loss).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
    Validated { l2, loss, error: (variance / count).sqrt() }
}

/// The best of them: of equal ones the largest.
pub fn best(all: &[Validated]) -> Option<Validated> {
    all.iter().copied().filter(|one| one.loss.is_finite()).min_by(|a, b| a.loss.total_cmp(&b.loss))
}

/// A penalty as a power of ten.
fn power(l2: f64) -> String {
    if l2 == 0.0 { "0".to_string() } else { format!("{l2:e}") }
}

/// Tells them as a table.
pub fn print(out: &mut dyn Write, all: &[Validated], folds: usize) -> Result<(), Error> {
    writeln!(out, "  {TITLE}     l2   loss of rows left out, in {folds} parts{TITLE:#}")?;
    let best = best(all);
    for one in all {
        let mark = if Some(*one) == best { "  best" } else { "" };
        writeln!(out, "  {:>7}   {:.5} {DIM}+- {:.5}{DIM:#}{mark}", power(one.l2), one.loss, one.error)?;
    }
    Ok(writeln!(out)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_loss_is_best_and_of_equal_ones_the_largest_penalty() {
        let one = summary(0.1, &[1.0, 3.0]);
        assert_eq!((one.loss, one.error), (2.0, 1.0));
        let all = [summary(1.0, &[f64::NAN]), summary(0.1, &[2.0]), summary(0.01, &[2.0]), summary(0.0, &[3.0])];
        assert_eq!(best(&all).unwrap().l2, 0.1);
    }
}
