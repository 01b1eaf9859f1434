use tangor_problem::{
    Accesses, Draw, Evaluation, Function, FunctionFailure, Meta, Outputs, Problem, SampledProblem, Wanted,
    evaluate_draws_separately, evaluate_separately,
};

use crate::error::Error;
use crate::introduction::Objective;
use crate::oracle::Oracle;
use crate::settings::ProcessSettings;

/// A problem whose functions a process evaluates, each exactly or over draws.
///
/// The process is stopped when this is dropped: its standard input is closed, and if that does not end it soon, it is killed.
pub struct ProcessProblem {
    // Kept in this form, so that an exact process can lend itself as a plain problem.
    inner: ExactProcess,
}

impl ProcessProblem {
    /// Starts a process and lets it introduce its problem.
    ///
    /// The command is split into words as a shell does (quotes and backslashes), but no shell runs: `$`, `*`, `|`, `>` and `;` mean
    /// themselves. Who wants a shell writes `sh -c '...'`.
    pub fn start(command: &str, settings: &ProcessSettings) -> Result<Self, Error> {
        Ok(ProcessProblem { inner: ExactProcess { oracle: Oracle::start(command, settings)? } })
    }

    /// The command that was run.
    pub fn command(&self) -> &str {
        &self.inner.oracle.command
    }

    /// The process as a deterministic problem, when all its functions are exact and it gives values of its objective.
    pub fn into_exact(self) -> Result<ExactProcess, Error> {
        match self.obstacle() {
            None => Ok(self.inner),
            Some(error) => Err(error),
        }
    }

    /// Why this is not a deterministic problem.
    fn obstacle(&self) -> Option<Error> {
        let oracle = &self.inner.oracle;
        let command = oracle.command.clone();
        let functions = [Function::Gradient, Function::Constraints, Function::Jacobian];
        match functions.into_iter().find(|&function| oracle.access(function).is_sampled()) {
            Some(function) => Some(Error::Sampled { command, function }),
            None if oracle.introduction.objective == Objective::Gradient => Some(Error::NoValues { command }),
            None => None,
        }
    }
}

impl SampledProblem for ProcessProblem {
    fn meta(&self) -> &Meta {
        self.inner.meta()
    }

    fn accesses(&self) -> Accesses {
        self.inner.oracle.introduction.accesses
    }

    fn exact_rows(&self) -> &[bool] {
        &self.inner.oracle.introduction.exact_rows
    }

    fn gradient(&mut self, x: &[f64], draws: &[Draw], g: &mut [f64]) -> Evaluation {
        self.inner.oracle.evaluate(Function::Gradient, x, draws, g)
    }

    fn constraints(&mut self, x: &[f64], draws: &[Draw], c: &mut [f64]) -> Evaluation {
        self.inner.oracle.evaluate(Function::Constraints, x, draws, c)
    }

    fn jacobian(&mut self, x: &[f64], draws: &[Draw], values: &mut [f64]) -> Evaluation {
        self.inner.oracle.evaluate(Function::Jacobian, x, draws, values)
    }

    fn evaluate(&mut self, x: &[f64], draws: &[Draw], wanted: Wanted, out: &mut Outputs<'_>) -> Result<(), FunctionFailure> {
        let oracle = &mut self.inner.oracle;
        let mut asked = wanted.of(&oracle.introduction.meta);
        asked.objective &= oracle.introduction.objective == Objective::Value;
        match oracle.answers_together(asked, draws) {
            true => oracle.evaluate_together(asked, x, draws, out),
            false => evaluate_draws_separately(self, x, draws, wanted, out),
        }
    }

    fn objective(&mut self, x: &[f64], draws: &[Draw]) -> Option<Evaluation<f64>> {
        let given = self.inner.oracle.introduction.objective == Objective::Value;
        given.then(|| self.inner.oracle.objective(x, draws))
    }

    fn exact(&mut self) -> Option<&mut dyn Problem> {
        match self.obstacle() {
            None => Some(&mut self.inner),
            Some(_) => None,
        }
    }
}

/// A process that gives all functions exactly: a plain problem. [`ProcessProblem::into_exact`] makes it.
pub struct ExactProcess {
    oracle: Oracle,
}

impl Problem for ExactProcess {
    fn meta(&self) -> &Meta {
        &self.oracle.introduction.meta
    }

    fn objective(&mut self, x: &[f64]) -> Evaluation<f64> {
        self.oracle.objective(x, &[])
    }

    fn gradient(&mut self, x: &[f64], g: &mut [f64]) -> Evaluation {
        self.oracle.evaluate(Function::Gradient, x, &[], g)
    }

    fn constraints(&mut self, x: &[f64], c: &mut [f64]) -> Evaluation {
        self.oracle.evaluate(Function::Constraints, x, &[], c)
    }

    fn jacobian(&mut self, x: &[f64], values: &mut [f64]) -> Evaluation {
        self.oracle.evaluate(Function::Jacobian, x, &[], values)
    }

    fn evaluate(&mut self, x: &[f64], wanted: Wanted, out: &mut Outputs<'_>) -> Result<(), FunctionFailure> {
        let asked = wanted.of(self.meta());
        match self.oracle.answers_together(asked, &[]) {
            true => self.oracle.evaluate_together(asked, x, &[], out),
            false => evaluate_separately(self, x, wanted, out),
        }
    }
}
