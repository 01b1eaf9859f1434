//! One tape at several points at once: an instruction works on a block of numbers, so that its overhead is shared among them
//! and the processor's vector instructions come to use. The numbers are those of one point after the other.

use std::array::from_fn;

use super::{Level, Tape};
use crate::instruction::{Instruction, NONE};

/// How many points a block has.
pub const BLOCK: usize = 8;

/// One register of every point of a block.
pub type Register = [f64; BLOCK];

/// Which registers hold the results of a block.
#[derive(Debug)]
pub struct BlockResults<'a> {
    value: u32,
    gradient: &'a [u32],
}

impl BlockResults<'_> {
    /// The values.
    pub fn values<'a>(&self, registers: &'a [Register]) -> &'a Register {
        &registers[self.value as usize]
    }

    /// The derivatives by each variable in turn.
    pub fn derivatives<'a>(&self, registers: &'a [Register]) -> impl Iterator<Item = &'a Register> {
        let read = |&register| if register == NONE { &[0.0; BLOCK] } else { &registers[register as usize] };
        self.gradient.iter().map(read)
    }
}

impl Tape {
    /// Computes the results up to a level (not the Hessian) at the points of a block. The first registers hold the inputs; the
    /// result tells where value and gradient are.
    pub fn evaluate_block(&self, level: Level, registers: &mut [Register]) -> BlockResults<'_> {
        for (next, instruction) in (self.inputs..).zip(&self.instructions[..self.lengths[level as usize]]) {
            let at = |register: u32| &registers[register as usize];
            registers[next] = match *instruction {
                Instruction::Constant(value) => [value; BLOCK],
                Instruction::Add(a, b) => both(at(a), at(b), |a, b| a + b),
                Instruction::Subtract(a, b) => both(at(a), at(b), |a, b| a - b),
                Instruction::Multiply(a, b) => both(at(a), at(b), |a, b| a * b),
                Instruction::Divide(a, b) => both(at(a), at(b), |a, b| a / b),
                Instruction::Shift(by, a) => at(a).map(|a| by + a),
                Instruction::Scale(by, a) => at(a).map(|a| by * a),
                Instruction::Negative(a) => at(a).map(|a| -a),
                Instruction::Square(a) => at(a).map(|a| a * a),
                Instruction::Unary(operation, a) => at(a).map(|a| operation.apply(a)),
                Instruction::Binary(operation, a, b) => both(at(a), at(b), |a, b| operation.apply(a, b)),
                Instruction::Select(condition, a, b) => {
                    let (condition, a, b) = (at(condition), at(a), at(b));
                    from_fn(|k| if condition[k] != 0.0 { a[k] } else { b[k] })
                }
            };
        }
        BlockResults { value: self.value, gradient: &self.gradient }
    }
}

#[inline]
fn both(a: &Register, b: &Register, operation: impl Fn(f64, f64) -> f64) -> Register {
    from_fn(|k| operation(a[k], b[k]))
}
