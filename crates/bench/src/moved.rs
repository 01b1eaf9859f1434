//! Starts that are moved a little at random. A single run may hang on rounding; over many of them a problem is solved with a share of the seeds.

use std::sync::Arc;

use tangor_problem::{Draw, Evaluation, FunctionFailure, Meta, Outputs, Pattern, Problem, SecondOrder, Stream, Wanted};

/// What the random numbers are for; samples have other purposes.
const PURPOSE: u64 = 0x4d4f_5645;

/// The problem from `x0_i + size max(1, |x0_i|) u_i`, with `u_i` uniform in (-1, 1): the seed says which. Solvers put it between the bounds, as they
/// do with every start.
pub fn moved(mut problem: Box<dyn Problem>, size: f64, seed: u64) -> Box<dyn Problem> {
    if size == 0.0 {
        return problem;
    }
    let mut stream = Stream::new(Draw(seed), PURPOSE);
    let mut meta = problem.meta().clone();
    for x in &mut meta.x0 {
        *x += size * x.abs().max(1.0) * (2.0 * stream.uniform() - 1.0);
    }
    let hessian = problem.second_order().map(|second| second.hessian_pattern().clone());
    Box::new(Moved { meta, hessian, problem })
}

/// A problem whose start alone is another one.
struct Moved {
    meta: Meta,
    /// The pattern of its Hessian, if it has one.
    hessian: Option<Pattern>,
    problem: Box<dyn Problem>,
}

impl Problem for Moved {
    fn meta(&self) -> &Meta {
        &self.meta
    }
    fn objective(&mut self, x: &[f64]) -> Evaluation<f64> {
        self.problem.objective(x)
    }
    fn gradient(&mut self, x: &[f64], g: &mut [f64]) -> Evaluation {
        self.problem.gradient(x, g)
    }
    fn constraints(&mut self, x: &[f64], c: &mut [f64]) -> Evaluation {
        self.problem.constraints(x, c)
    }
    fn jacobian(&mut self, x: &[f64], values: &mut [f64]) -> Evaluation {
        self.problem.jacobian(x, values)
    }
    fn evaluate(&mut self, x: &[f64], wanted: Wanted, out: &mut Outputs<'_>) -> Result<(), FunctionFailure> {
        self.problem.evaluate(x, wanted, out)
    }
    fn second_order(&mut self) -> Option<&mut dyn SecondOrder> {
        if self.hessian.is_some() { Some(self) } else { None }
    }
    fn place(&mut self, x: &mut Arc<Vec<f64>>, write: &mut dyn FnMut(&mut [f64])) {
        self.problem.place(x, write);
    }
}

impl SecondOrder for Moved {
    fn hessian_pattern(&self) -> &Pattern {
        // It is lent only where there is one.
        self.hessian.as_ref().unwrap_or(&Pattern::Dense)
    }
    fn hessian(&mut self, x: &[f64], sigma: f64, y: &[f64], values: &mut [f64]) -> Evaluation {
        match self.problem.second_order() {
            Some(second) => second.hessian(x, sigma, y, values),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hs71() -> Box<dyn Problem> {
        crate::sets::members("HS71", &tangor_open::Finder::default()).unwrap().remove(0).source.problem().unwrap()
    }

    #[test]
    fn a_seed_moves_every_variable_by_at_most_the_size() {
        let first = hs71().meta().x0.clone();
        let start = |seed| moved(hs71(), 1e-3, seed).meta().x0.clone();
        assert_eq!(first, [1.0, 5.0, 5.0, 1.0]);
        assert_eq!(start(4), start(4));
        assert_ne!(start(4), start(5));
        let moves: Vec<f64> =
            (0..200).flat_map(|seed| start(seed).into_iter().zip([1.0, 5.0, 5.0, 1.0]).map(|(x, x0)| (x - x0) / x0)).collect();
        // Uniform between -1e-3 and 1e-3: the mean of 800 is within four of its standard errors, 1e-3 / sqrt(3 * 800).
        assert!(moves.iter().all(|by| by.abs() <= 1e-3 && *by != 0.0) && moves.iter().any(|by| by.abs() > 0.99e-3));
        assert!((moves.iter().sum::<f64>() / 800.0).abs() < 4e-3 / 2400f64.sqrt());
        assert_eq!(moved(hs71(), 0.0, 4).meta().x0, first);
    }

    #[test]
    fn nothing_but_the_start_is_moved() {
        let (mut plain, mut other) = (hs71(), moved(hs71(), 0.1, 3));
        let meta = Meta { x0: plain.meta().x0.clone(), ..other.meta().clone() };
        assert_eq!(&meta, plain.meta());
        let x = [1.5, 4.0, 3.0, 2.0];
        assert_eq!(plain.objective(&x).unwrap(), other.objective(&x).unwrap());
        let entries = plain.second_order().map(|second| second.hessian_pattern().len(4, 4));
        assert_eq!(entries, other.second_order().map(|second| second.hessian_pattern().len(4, 4)));
        let Some(entries) = entries else { return };
        let (mut a, mut b) = (vec![0.0; entries], vec![1.0; entries]);
        plain.second_order().unwrap().hessian(&x, 1.0, &[2.0, 3.0], &mut a).unwrap();
        other.second_order().unwrap().hessian(&x, 1.0, &[2.0, 3.0], &mut b).unwrap();
        assert_eq!(a, b);
        assert!(other.second_order().unwrap().meta().x0 != plain.meta().x0);
    }
}
