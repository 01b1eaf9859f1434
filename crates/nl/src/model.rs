//! The content of a file, as it stands there.

use std::ops::Range;

use crate::header::Header;
use crate::opcode::Opcode;

/// A formula in prefix form is a list of these.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Token {
    Number(f64),
    /// A variable, or a defined one when the index is not below the number of variables.
    Variable(u32),
    /// An operation on so many operands, which follow.
    Apply(Opcode, u32),
    /// A piecewise-linear function, by the index of its table; its operand follows.
    Piecewise(u32),
}

/// A formula: its place among the tokens of the model. An empty one is zero.
pub(crate) type Formula = Range<usize>;

/// A piecewise-linear function that is zero at zero.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pieces {
    /// One more than breakpoints.
    pub slopes: Vec<f64>,
    pub breakpoints: Vec<f64>,
}

/// A sum of variables with coefficients, and of a formula.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Function {
    pub linear: Vec<(u32, f64)>,
    pub formula: Formula,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Objective {
    pub maximise: bool,
    pub function: Function,
}

/// What a suffix belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Variables.
    Variables,
    /// Constraints.
    Constraints,
    /// Objectives.
    Objectives,
    /// The problem as a whole.
    Problem,
}

/// Values that a modelling language gives or wants, by name.
#[derive(Clone, Debug, PartialEq)]
pub struct Suffix {
    /// What it belongs to.
    pub target: Target,
    /// Its name.
    pub name: String,
    /// False: its values are integers.
    pub real: bool,
    /// The index of a variable, constraint or objective with its value; all others are 0.
    pub values: Vec<(usize, f64)>,
}

/// The content of a file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Model {
    pub header: Header,
    pub tokens: Vec<Token>,
    pub pieces: Vec<Pieces>,
    pub constraints: Vec<Function>,
    pub objectives: Vec<Objective>,
    /// The defined variables, in the order of their indices.
    pub definitions: Vec<Function>,
    /// Their indices in the order of the file, in which each comes after those that it uses.
    pub definition_order: Vec<u32>,
    pub x_lower: Vec<f64>,
    pub x_upper: Vec<f64>,
    pub c_lower: Vec<f64>,
    pub c_upper: Vec<f64>,
    /// The initial guess; 0 where the file has none.
    pub x: Vec<f64>,
    /// The initial guess of the multipliers, in AMPL's sign; empty when the file has none.
    pub y: Vec<f64>,
    pub suffixes: Vec<Suffix>,
}
