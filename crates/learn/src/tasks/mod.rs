//! Four learning tasks under constraints, small enough to be run in seconds and hard enough to tell methods apart.
//!
//! | task | weights | constraints | samples |
//! | --- | ---: | --- | --- |
//! | [`Logistic`] | 30 | 10 random rows and `|x|^2 = 1`, exact equalities | 569 members |
//! | [`Fair`], linear | 90 | four gaps of at most 0.02 between groups, as noisy as the loss | 32,561 members |
//! | [`Fair`], network | 2,913 | the same | 32,561 members |
//! | [`Heat`] | 501 | 14 boundary values of a physics-informed network, exact, with an ill-conditioned Jacobian | points of a square, without end |
//!
//! All backward passes are written by hand. The measure of each task says how good a point is on all the data.

mod adult;
mod breast_cancer;
mod fair;
mod heat;
mod logistic;
mod measure;
mod start;

use std::path::Path;

use tangor_problem::SampledProblem;

pub use adult::Adult;
pub use fair::{Fair, Hidden};
pub use heat::Heat;
pub use logistic::Logistic;
pub use measure::Measure;

use crate::Error;
use measure::Exactly;

/// One of the four tasks: what it is called, how many samples of a function a run has, and what tuned methods reached with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Logistic regression with eleven equalities.
    Logistic,
    /// Logistic regression on census data with four noisy inequalities.
    Fair,
    /// A network of 2,913 weights with the same inequalities.
    FairNetwork,
    /// A physics-informed network with 14 equalities.
    Heat,
}

/// A task that can be sampled and, on all its data, measured.
pub trait Learning: SampledProblem {
    /// Loss, violation and KKT residual of a point on all the data.
    fn measure(&mut self, x: &[f64]) -> Measure;
}

impl Task {
    /// All of them.
    pub const ALL: [Task; 4] = [Task::Logistic, Task::Fair, Task::FairNetwork, Task::Heat];

    /// Its name on the command line and in tables.
    pub fn name(self) -> &'static str {
        match self {
            Task::Logistic => "logistic",
            Task::Fair => "adult",
            Task::FairNetwork => "adult-network",
            Task::Heat => "heat-network",
        }
    }

    /// Samples of a function that a run may take; one that is taken at two points counts twice.
    pub fn samples(self) -> u64 {
        if self == Task::Logistic { 256_000 } else { 512_000 }
    }

    /// Whether the census data are needed.
    pub fn needs_adult(self) -> bool {
        matches!(self, Task::Fair | Task::FairNetwork)
    }

    /// The task from the start that a seed determines; `adult` is the folder of the census data.
    pub fn build(self, seed: u64, adult: &Path) -> Result<Box<dyn Learning>, Error> {
        Ok(match self {
            Task::Logistic => Box::new(Logistic::new(seed)?),
            Task::Fair => Box::new(Fair::linear(Adult::read(adult)?, seed)),
            Task::FairNetwork => Box::new(Fair::network(Adult::read(adult)?, seed)),
            Task::Heat => Box::new(Heat::new(seed)),
        })
    }
}

impl<T: SampledProblem + Exactly> Learning for T {
    fn measure(&mut self, x: &[f64]) -> Measure {
        let at = self.exactly(x);
        measure::measure(x, &at, self.meta())
    }
}

/// `log(1 + exp(z))` without overflow.
fn softplus(z: f64) -> f64 {
    z.max(0.0) + (-z.abs()).exp().ln_1p()
}

/// `1 / (1 + exp(-z))`
fn sigmoid(z: f64) -> f64 {
    let e = (-z.abs()).exp();
    if z >= 0.0 { 1.0 / (1.0 + e) } else { e / (1.0 + e) }
}
