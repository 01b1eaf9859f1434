//! The three functions that the method needs of a problem.

use tangor_problem::{Access, Accesses, Draw, Evaluation, Function, Meta, SampledProblem, Samples};

/// One of the three functions that the method needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    Gradient,
    Constraints,
    Jacobian,
}

impl Source {
    pub const ALL: [Source; 3] = [Source::Gradient, Source::Constraints, Source::Jacobian];

    pub fn function(self) -> Function {
        match self {
            Source::Gradient => Function::Gradient,
            Source::Constraints => Function::Constraints,
            Source::Jacobian => Function::Jacobian,
        }
    }

    pub fn access(self, accesses: Accesses) -> Access {
        match self {
            Source::Gradient => accesses.gradient,
            Source::Constraints => accesses.constraints,
            Source::Jacobian => accesses.jacobian,
        }
    }

    pub fn samples(self, samples: Samples) -> u64 {
        match self {
            Source::Gradient => samples.gradient,
            Source::Constraints => samples.constraints,
            Source::Jacobian => samples.jacobian,
        }
    }

    pub fn is_needed(self, meta: &Meta) -> bool {
        match self {
            Source::Gradient => meta.has_objective,
            Source::Constraints | Source::Jacobian => meta.m() > 0,
        }
    }

    pub fn evaluate(self, problem: &mut impl SampledProblem, x: &[f64], draws: &[Draw], out: &mut [f64]) -> Evaluation {
        match self {
            Source::Gradient => problem.gradient(x, draws, out),
            Source::Constraints => problem.constraints(x, draws, out),
            Source::Jacobian => problem.jacobian(x, draws, out),
        }
    }
}
