//! What an instruction passes on to its operands in a reverse sweep, and how it bends.

use crate::instruction::Instruction;
use crate::operation::{Binary, Unary};
use crate::partials::{partials, slopes};

/// Where the factor of an arc comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Factor {
    /// The same at every point.
    Fixed(f64),
    /// A register has it already.
    Register(u32),
    /// It is computed, and is the one with this number of its instruction.
    Computed(u32),
}

/// The operands in which an instruction can be differentiated, and how many there are.
#[inline]
pub(super) fn operands(instruction: &Instruction) -> ([u32; 2], usize) {
    match *instruction {
        Instruction::Constant(_) => ([0, 0], 0),
        Instruction::Add(a, b) | Instruction::Subtract(a, b) | Instruction::Multiply(a, b) => ([a, b], 2),
        Instruction::Divide(a, b) | Instruction::Select(_, a, b) => ([a, b], 2),
        Instruction::Shift(_, a) | Instruction::Scale(_, a) | Instruction::Negative(a) | Instruction::Square(a) => ([a, 0], 1),
        Instruction::Unary(operation, a) => match operation {
            Unary::Not | Unary::Truncate | Unary::Round | Unary::Floor | Unary::Ceiling => ([0, 0], 0),
            _ => ([a, 0], 1),
        },
        Instruction::Binary(operation, a, b) => match operation {
            Binary::IntegerDivide | Binary::Less | Binary::LessEqual | Binary::Equal => ([0, 0], 0),
            Binary::NotEqual | Binary::And | Binary::Or => ([0, 0], 0),
            Binary::IntegerPower | Binary::Sign => ([a, 0], 1),
            _ => ([a, b], 2),
        },
    }
}

/// The operands in which an instruction can be differentiated, each with its first derivative.
#[inline]
pub(super) fn arcs(instruction: &Instruction, result: u32) -> impl Iterator<Item = (u32, Factor)> {
    use Factor::{Computed, Fixed, Register};
    let factors = match *instruction {
        Instruction::Add(..) | Instruction::Shift(..) => [Fixed(1.0), Fixed(1.0)],
        Instruction::Subtract(..) => [Fixed(1.0), Fixed(-1.0)],
        Instruction::Multiply(a, b) => [Register(b), Register(a)],
        Instruction::Scale(by, _) => [Fixed(by), Fixed(0.0)],
        Instruction::Negative(_) => [Fixed(-1.0), Fixed(0.0)],
        Instruction::Unary(Unary::Exponential, _) => [Register(result), Fixed(0.0)],
        _ => [Computed(0), Computed(1)],
    };
    let (operands, count) = operands(instruction);
    operands.into_iter().zip(factors).take(count)
}

/// The second derivatives that are not zero everywhere, by the numbers of their two arcs.
pub(super) fn bends(instruction: &Instruction, result: u32) -> impl Iterator<Item = (usize, usize, Factor)> {
    use Factor::{Computed, Fixed, Register};
    let none = (0, 0, Fixed(0.0));
    let (count, bends) = match *instruction {
        Instruction::Multiply(..) => (1, [(1, 0, Fixed(1.0)), none, none]),
        Instruction::Divide(..) => (2, [(1, 0, Computed(1)), (1, 1, Computed(2)), none]),
        Instruction::Square(_) => (1, [(0, 0, Fixed(2.0)), none, none]),
        Instruction::Unary(operation, _) => match operation {
            Unary::Not | Unary::Truncate | Unary::Round | Unary::Floor | Unary::Ceiling => (0, [none; 3]),
            Unary::Negative | Unary::Absolute => (0, [none; 3]),
            Unary::Exponential => (1, [(0, 0, Register(result)), none, none]),
            _ => (1, [(0, 0, Computed(0)), none, none]),
        },
        Instruction::Binary(Binary::Power | Binary::ArcTangent2, ..) => {
            (3, [(0, 0, Computed(0)), (1, 0, Computed(1)), (1, 1, Computed(2))])
        }
        Instruction::Binary(Binary::IntegerPower, ..) => (1, [(0, 0, Computed(0)), none, none]),
        _ => (0, [none; 3]),
    };
    bends.into_iter().take(count)
}

/// The computed first derivatives of an instruction. `depends` tells which operands depend on the variables.
#[inline]
pub(super) fn first(instruction: &Instruction, result: f64, at: impl Fn(u32) -> f64, depends: [bool; 2]) -> [f64; 2] {
    match *instruction {
        Instruction::Divide(_, b) => [1.0 / at(b), -result / at(b)],
        Instruction::Square(a) => [2.0 * at(a), 0.0],
        Instruction::Unary(operation, a) => [slopes(operation, at(a), result).0, 0.0],
        Instruction::Binary(operation, a, b) => {
            let [fx, fy, ..] = partials(operation, at(a), at(b), result, depends);
            [fx, fy]
        }
        Instruction::Select(condition, ..) => {
            if at(condition) != 0.0 {
                [1.0, 0.0]
            } else {
                [0.0, 1.0]
            }
        }
        _ => [0.0; 2],
    }
}

/// The computed second derivatives of an instruction: twice in the first operand, in both, twice in the second.
#[inline]
pub(super) fn second(instruction: &Instruction, result: f64, at: impl Fn(u32) -> f64, depends: [bool; 2]) -> [f64; 3] {
    match *instruction {
        Instruction::Unary(operation, a) => [slopes(operation, at(a), result).1, 0.0, 0.0],
        Instruction::Divide(a, b) => {
            let [.., fxx, fxy, fyy] = partials(Binary::Divide, at(a), at(b), result, depends);
            [fxx, fxy, fyy]
        }
        Instruction::Binary(operation, a, b) => {
            let [.., fxx, fxy, fyy] = partials(operation, at(a), at(b), result, depends);
            [fxx, fxy, fyy]
        }
        _ => [0.0; 3],
    }
}
