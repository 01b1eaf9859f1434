use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::evaluation::evaluate_draws_separately;
use crate::{Evaluation, FunctionFailure, Meta, Outputs, Problem, SecondOrder, Wanted};

/// One sample: the same number is the same randomness at every `x`. For a finite population it is the index of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Draw(pub u64);

/// How a function can be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Exactly; draws are ignored and none need be given.
    Exact,
    /// As an average over draws from a population without end: any number is a draw.
    Endless,
    /// As an average over members of a population of this size; draws are `0..size`.
    Finite(u64),
}

impl Access {
    /// Whether draws matter.
    pub fn is_sampled(self) -> bool {
        self != Access::Exact
    }
}

/// How the three functions that the method needs can be had, each on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accesses {
    /// The gradient of the objective.
    pub gradient: Access,
    /// The values of the constraints.
    pub constraints: Access,
    /// The Jacobian of the constraints.
    pub jacobian: Access,
}

impl Accesses {
    /// The same for all three.
    pub fn all(access: Access) -> Self {
        Accesses { gradient: access, constraints: access, jacobian: access }
    }

    /// The draws 0, 1, ... that all populations have, at most so many.
    pub fn first_draws(&self, most: u64) -> Vec<Draw> {
        let members = [self.gradient, self.constraints, self.jacobian].map(|access| match access {
            Access::Finite(members) => members,
            Access::Exact | Access::Endless => most,
        });
        (0..members.into_iter().fold(most, u64::min)).map(Draw).collect()
    }

    /// Whether all three are exact.
    pub fn are_exact(&self) -> bool {
        *self == Accesses::all(Access::Exact)
    }
}

/// A problem whose functions are expectations, `f = E F(x, xi)` and `c = E C(x, zeta)`, of which only samples can be had.
///
/// Each function gives the average over a list of draws. A function whose [`Access`] is exact ignores the list. Values of the
/// objective are never needed by the method.
pub trait SampledProblem: Send {
    /// Sizes, bounds, names, start and pattern.
    fn meta(&self) -> &Meta;

    /// How each function can be had. It must not change during a run.
    fn accesses(&self) -> Accesses;

    /// Which rows of sampled constraints have no noise, row by row, as somebody who knows them says; empty where nobody does. Samples alone
    /// cannot tell such a row from one whose noise is a rare event.
    fn exact_rows(&self) -> &[bool] {
        &[]
    }

    /// Bytes that it holds in memory once it is evaluated, or more than that: what a run may allocate is what they leave.
    fn held(&self) -> u64 {
        self.meta().held
    }

    /// The average gradient of `F(x, xi)` over the draws, into `g` of length `n`.
    fn gradient(&mut self, x: &[f64], draws: &[Draw], g: &mut [f64]) -> Evaluation;

    /// The average of `C(x, zeta)` over the draws, into `c` of length `m`.
    fn constraints(&mut self, x: &[f64], draws: &[Draw], c: &mut [f64]) -> Evaluation;

    /// The average Jacobian of `C(x, zeta)` over the draws, in the order of [`Meta::jacobian`].
    fn jacobian(&mut self, x: &[f64], draws: &[Draw], values: &mut [f64]) -> Evaluation;

    /// The functions that are wanted, over the same draws at one point, with the same values as one after the other; a problem that
    /// reads each sample once for all of them is faster than that. What the problem does not have (no objective, no constraints)
    /// is left alone.
    ///
    /// A failure comes with the function that failed, a panic among them; the slices then hold anything.
    fn evaluate(&mut self, x: &[f64], draws: &[Draw], wanted: Wanted, out: &mut Outputs<'_>) -> Result<(), FunctionFailure> {
        evaluate_draws_separately(self, x, draws, wanted, out)
    }

    /// The average of `F(x, xi)` over the draws, when the problem can tell; it is only reported.
    fn objective(&mut self, _x: &[f64], _draws: &[Draw]) -> Option<Evaluation<f64>> {
        None
    }

    /// The problem without noise, when there is one: for true residuals beside the estimated ones.
    fn exact(&mut self) -> Option<&mut dyn Problem> {
        None
    }

    /// Second derivatives of the functions without noise, if there are any.
    fn second_order(&mut self) -> Option<&mut dyn SecondOrder> {
        self.exact().and_then(Problem::second_order)
    }

    /// As [`Problem::place`].
    fn place(&mut self, x: &mut Arc<Vec<f64>>, write: &mut dyn FnMut(&mut [f64])) {
        write(Arc::make_mut(x).as_mut_slice());
    }
}

impl<S: SampledProblem + ?Sized> SampledProblem for Box<S> {
    fn meta(&self) -> &Meta {
        (**self).meta()
    }
    fn accesses(&self) -> Accesses {
        (**self).accesses()
    }
    fn exact_rows(&self) -> &[bool] {
        (**self).exact_rows()
    }
    fn held(&self) -> u64 {
        (**self).held()
    }
    fn gradient(&mut self, x: &[f64], draws: &[Draw], g: &mut [f64]) -> Evaluation {
        (**self).gradient(x, draws, g)
    }
    fn constraints(&mut self, x: &[f64], draws: &[Draw], c: &mut [f64]) -> Evaluation {
        (**self).constraints(x, draws, c)
    }
    fn jacobian(&mut self, x: &[f64], draws: &[Draw], values: &mut [f64]) -> Evaluation {
        (**self).jacobian(x, draws, values)
    }
    fn evaluate(&mut self, x: &[f64], draws: &[Draw], wanted: Wanted, out: &mut Outputs<'_>) -> Result<(), FunctionFailure> {
        (**self).evaluate(x, draws, wanted, out)
    }
    fn objective(&mut self, x: &[f64], draws: &[Draw]) -> Option<Evaluation<f64>> {
        (**self).objective(x, draws)
    }
    fn exact(&mut self) -> Option<&mut dyn Problem> {
        (**self).exact()
    }
    fn second_order(&mut self) -> Option<&mut dyn SecondOrder> {
        (**self).second_order()
    }
    fn place(&mut self, x: &mut Arc<Vec<f64>>, write: &mut dyn FnMut(&mut [f64])) {
        (**self).place(x, write);
    }
}
