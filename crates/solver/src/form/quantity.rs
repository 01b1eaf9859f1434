//! The three functions that the method needs of a problem.

use tangor_problem::{Access, Accesses, Draw, Evaluation, Function, Meta, SampledProblem, Samples, Wanted};

/// One of the three functions that the method needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    Gradient,
    Constraints,
    Jacobian,
}

impl Quantity {
    pub const ALL: [Quantity; 3] = [Quantity::Gradient, Quantity::Constraints, Quantity::Jacobian];

    pub fn function(self) -> Function {
        match self {
            Quantity::Gradient => Function::Gradient,
            Quantity::Constraints => Function::Constraints,
            Quantity::Jacobian => Function::Jacobian,
        }
    }

    pub fn access(self, accesses: Accesses) -> Access {
        match self {
            Quantity::Gradient => accesses.gradient,
            Quantity::Constraints => accesses.constraints,
            Quantity::Jacobian => accesses.jacobian,
        }
    }

    pub fn samples(self, samples: Samples) -> u64 {
        match self {
            Quantity::Gradient => samples.gradient,
            Quantity::Constraints => samples.constraints,
            Quantity::Jacobian => samples.jacobian,
        }
    }

    pub fn is_needed(self, meta: &Meta) -> bool {
        match self {
            Quantity::Gradient => meta.has_objective,
            Quantity::Constraints | Quantity::Jacobian => meta.m() > 0,
        }
    }

    pub fn is_wanted(self, wanted: Wanted) -> bool {
        match self {
            Quantity::Gradient => wanted.gradient,
            Quantity::Constraints => wanted.constraints,
            Quantity::Jacobian => wanted.jacobian,
        }
    }

    /// This function besides others.
    pub fn and(self, wanted: Wanted) -> Wanted {
        match self {
            Quantity::Gradient => Wanted { gradient: true, ..wanted },
            Quantity::Constraints => Wanted { constraints: true, ..wanted },
            Quantity::Jacobian => Wanted { jacobian: true, ..wanted },
        }
    }

    pub fn evaluate(self, problem: &mut impl SampledProblem, x: &[f64], draws: &[Draw], out: &mut [f64]) -> Evaluation {
        match self {
            Quantity::Gradient => problem.gradient(x, draws, out),
            Quantity::Constraints => problem.constraints(x, draws, out),
            Quantity::Jacobian => problem.jacobian(x, draws, out),
        }
    }
}
