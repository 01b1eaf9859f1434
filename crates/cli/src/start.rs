//! Another start for a problem.

use tangor_problem::{
    Accesses, Draw, Evaluation, FunctionFailure, Meta, Outputs, Problem, SampledProblem, SecondOrder, Wanted,
};

/// The problem with this point as its start.
pub fn started_at(problem: Box<dyn SampledProblem + Send>, x0: Vec<f64>) -> Box<dyn SampledProblem + Send> {
    let meta = Meta { x0, ..problem.meta().clone() };
    Box::new(Started { meta, problem })
}

/// A problem whose start alone is another one.
struct Started {
    meta: Meta,
    problem: Box<dyn SampledProblem + Send>,
}

impl SampledProblem for Started {
    fn meta(&self) -> &Meta {
        &self.meta
    }
    fn accesses(&self) -> Accesses {
        self.problem.accesses()
    }
    fn exact_rows(&self) -> &[bool] {
        self.problem.exact_rows()
    }
    fn held(&self) -> u64 {
        self.problem.held()
    }
    fn gradient(&mut self, x: &[f64], draws: &[Draw], g: &mut [f64]) -> Evaluation {
        self.problem.gradient(x, draws, g)
    }
    fn constraints(&mut self, x: &[f64], draws: &[Draw], c: &mut [f64]) -> Evaluation {
        self.problem.constraints(x, draws, c)
    }
    fn jacobian(&mut self, x: &[f64], draws: &[Draw], values: &mut [f64]) -> Evaluation {
        self.problem.jacobian(x, draws, values)
    }
    fn evaluate(&mut self, x: &[f64], draws: &[Draw], wanted: Wanted, out: &mut Outputs<'_>) -> Result<(), FunctionFailure> {
        self.problem.evaluate(x, draws, wanted, out)
    }
    fn objective(&mut self, x: &[f64], draws: &[Draw]) -> Option<Evaluation<f64>> {
        self.problem.objective(x, draws)
    }
    fn exact(&mut self) -> Option<&mut dyn Problem> {
        self.problem.exact()
    }
    fn second_order(&mut self) -> Option<&mut dyn SecondOrder> {
        self.problem.second_order()
    }
}
