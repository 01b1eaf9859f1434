use std::sync::Arc;

use crate::{Access, Accesses, Draw, Evaluation, FunctionFailure, Meta, Outputs, Problem, SampledProblem, Wanted};

/// A deterministic problem, seen as a sampled one whose functions are all exact.
#[derive(Clone, Debug)]
pub struct Exact<P>(pub P);

impl<P: Problem> SampledProblem for Exact<P> {
    fn meta(&self) -> &Meta {
        self.0.meta()
    }
    fn accesses(&self) -> Accesses {
        Accesses::all(Access::Exact)
    }
    fn gradient(&mut self, x: &[f64], _draws: &[Draw], g: &mut [f64]) -> Evaluation {
        self.0.gradient(x, g)
    }
    fn constraints(&mut self, x: &[f64], _draws: &[Draw], c: &mut [f64]) -> Evaluation {
        self.0.constraints(x, c)
    }
    fn jacobian(&mut self, x: &[f64], _draws: &[Draw], values: &mut [f64]) -> Evaluation {
        self.0.jacobian(x, values)
    }
    fn evaluate(&mut self, x: &[f64], _draws: &[Draw], wanted: Wanted, out: &mut Outputs<'_>) -> Result<(), FunctionFailure> {
        self.0.evaluate(x, wanted, out)
    }
    fn objective(&mut self, x: &[f64], _draws: &[Draw]) -> Option<Evaluation<f64>> {
        Some(self.0.objective(x))
    }
    fn exact(&mut self) -> Option<&mut dyn Problem> {
        Some(&mut self.0)
    }
    fn place(&mut self, x: &mut Arc<Vec<f64>>, write: &mut dyn FnMut(&mut [f64])) {
        self.0.place(x, write);
    }
}
