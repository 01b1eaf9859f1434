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

/// The operands in which an instruction can be differentiated, each with its first derivative.
pub(super) fn arcs(instruction: &Instruction, result: u32) -> impl Iterator<Item = (u32, Factor)> {
    use Factor::{Computed, Fixed, Register};
    let none = (0, Fixed(0.0));
    let (count, arcs) = match *instruction {
        Instruction::Constant(_) => (0, [none, none]),
        Instruction::Add(a, b) => (2, [(a, Fixed(1.0)), (b, Fixed(1.0))]),
        Instruction::Subtract(a, b) => (2, [(a, Fixed(1.0)), (b, Fixed(-1.0))]),
        Instruction::Multiply(a, b) => (2, [(a, Register(b)), (b, Register(a))]),
        Instruction::Divide(a, b) | Instruction::Select(_, a, b) => (2, [(a, Computed(0)), (b, Computed(1))]),
        Instruction::Shift(_, a) => (1, [(a, Fixed(1.0)), none]),
        Instruction::Scale(by, a) => (1, [(a, Fixed(by)), none]),
        Instruction::Negative(a) => (1, [(a, Fixed(-1.0)), none]),
        Instruction::Square(a) => (1, [(a, Computed(0)), none]),
        Instruction::Unary(operation, a) => match operation {
            Unary::Not | Unary::Truncate | Unary::Round | Unary::Floor | Unary::Ceiling => (0, [none, none]),
            Unary::Exponential => (1, [(a, Register(result)), none]),
            _ => (1, [(a, Computed(0)), none]),
        },
        Instruction::Binary(operation, a, b) => match operation {
            Binary::IntegerDivide | Binary::Less | Binary::LessEqual | Binary::Equal => (0, [none, none]),
            Binary::NotEqual | Binary::And | Binary::Or => (0, [none, none]),
            Binary::IntegerPower | Binary::Sign => (1, [(a, Computed(0)), none]),
            _ => (2, [(a, Computed(0)), (b, Computed(1))]),
        },
    };
    arcs.into_iter().take(count)
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
