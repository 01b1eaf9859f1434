//! A problem that tells of its calls. What is asked for in one pass is one call.

use tangor_problem::{Accesses, Draw, Evaluation, FunctionFailure, Meta, Outputs, Problem, SampledProblem, Wanted};

/// Who looks on at each pass: which functions are asked for, over which draws.
pub trait Watcher: Send {
    fn watch<T>(&mut self, wanted: Wanted, draws: &[Draw], evaluate: impl FnOnce() -> T) -> T;
}

pub struct Watched<P, W>(pub P, pub W);

const OBJECTIVE: Wanted = Wanted { objective: true, ..Wanted::NOTHING };
const GRADIENT: Wanted = Wanted { gradient: true, ..Wanted::NOTHING };
const CONSTRAINTS: Wanted = Wanted { constraints: true, ..Wanted::NOTHING };
const JACOBIAN: Wanted = Wanted { jacobian: true, ..Wanted::NOTHING };

impl<P: Problem, W: Watcher> Problem for Watched<P, W> {
    fn meta(&self) -> &Meta {
        self.0.meta()
    }
    fn objective(&mut self, x: &[f64]) -> Evaluation<f64> {
        self.1.watch(OBJECTIVE, &[], || self.0.objective(x))
    }
    fn gradient(&mut self, x: &[f64], g: &mut [f64]) -> Evaluation {
        self.1.watch(GRADIENT, &[], || self.0.gradient(x, g))
    }
    fn constraints(&mut self, x: &[f64], c: &mut [f64]) -> Evaluation {
        self.1.watch(CONSTRAINTS, &[], || self.0.constraints(x, c))
    }
    fn jacobian(&mut self, x: &[f64], values: &mut [f64]) -> Evaluation {
        self.1.watch(JACOBIAN, &[], || self.0.jacobian(x, values))
    }
    fn evaluate(&mut self, x: &[f64], wanted: Wanted, out: &mut Outputs<'_>) -> Result<(), FunctionFailure> {
        let wanted = wanted.of(self.0.meta());
        self.1.watch(wanted, &[], || self.0.evaluate(x, wanted, out))
    }
}

impl<S: SampledProblem, W: Watcher> SampledProblem for Watched<S, W> {
    fn meta(&self) -> &Meta {
        self.0.meta()
    }
    fn accesses(&self) -> Accesses {
        self.0.accesses()
    }
    fn gradient(&mut self, x: &[f64], draws: &[Draw], g: &mut [f64]) -> Evaluation {
        self.1.watch(GRADIENT, draws, || self.0.gradient(x, draws, g))
    }
    fn constraints(&mut self, x: &[f64], draws: &[Draw], c: &mut [f64]) -> Evaluation {
        self.1.watch(CONSTRAINTS, draws, || self.0.constraints(x, draws, c))
    }
    fn jacobian(&mut self, x: &[f64], draws: &[Draw], values: &mut [f64]) -> Evaluation {
        self.1.watch(JACOBIAN, draws, || self.0.jacobian(x, draws, values))
    }
    fn evaluate(&mut self, x: &[f64], draws: &[Draw], wanted: Wanted, out: &mut Outputs<'_>) -> Result<(), FunctionFailure> {
        let wanted = wanted.of(self.0.meta());
        self.1.watch(wanted, draws, || self.0.evaluate(x, draws, wanted, out))
    }
    fn objective(&mut self, x: &[f64], draws: &[Draw]) -> Option<Evaluation<f64>> {
        self.1.watch(OBJECTIVE, draws, || self.0.objective(x, draws))
    }
}
