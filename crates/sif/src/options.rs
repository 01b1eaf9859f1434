use std::collections::BTreeMap;

use tangor_problem::ReadingLimits;

use crate::fortran::Derivatives;

/// How to read a file.
#[derive(Clone, Debug)]
pub struct Options {
    /// Values that replace those of the file, by the name of the parameter.
    pub parameters: BTreeMap<String, f64>,
    /// Where derivatives come from: as the file codes them, or always by differentiation.
    pub derivatives: Derivatives,
    /// What is refused as too large.
    pub limits: Limits,
    /// What ends the reading: the memory that it takes, or somebody's wish.
    pub reading: ReadingLimits,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            parameters: BTreeMap::new(),
            derivatives: Derivatives::Coded,
            limits: Limits::default(),
            reading: ReadingLimits::default(),
        }
    }
}

impl Options {
    /// Replaces the value of a parameter.
    pub fn parameter(mut self, name: impl Into<String>, value: f64) -> Self {
        self.parameters.insert(name.into(), value);
        self
    }

    /// Says where derivatives come from.
    pub fn derivatives(mut self, derivatives: Derivatives) -> Self {
        self.derivatives = derivatives;
        self
    }
}

/// What is refused as too large, so that no file takes unbounded time or memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Cards that are carried out, those inside loops as often as the loop runs.
    pub cards: u64,
    /// Things that are kept: variables, groups, elements, coefficients and parameters together.
    pub items: u64,
    /// Entries of the Hessian of the Lagrangian before equal places are merged.
    pub hessian: u64,
}

impl Default for Limits {
    /// Less than a minute and a few gigabytes.
    fn default() -> Self {
        Limits { cards: 100_000_000, items: 20_000_000, hessian: 100_000_000 }
    }
}
