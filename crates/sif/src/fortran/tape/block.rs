//! Several elements of one type at once: an instruction works on a block of numbers, so that its overhead is shared among them
//! and the processor's vector instructions come to use. The numbers are those of one element after the other.

use std::array::from_fn;

use super::{Instruction, Level, NONE, Tape};
use crate::fortran::{Compiled, Program};

/// One register of every element of a block.
type Register = [f64; Compiled::BLOCK];

impl Compiled {
    /// How many elements a block has.
    pub(crate) const BLOCK: usize = 8;

    /// How many registers a block needs; none when elements of this type are evaluated one at a time only.
    pub(crate) fn block_registers(&self) -> Option<usize> {
        match &self.program {
            Program::Tape(tape) => Some(tape.len()),
            Program::External(_) => None,
        }
    }

    /// Computes the values of a block, and the gradients if wanted. The first registers hold the variables, then come the
    /// parameters. The result tells where value and derivatives are.
    pub(crate) fn evaluate_block(&self, gradient: bool, registers: &mut [Register]) -> Option<BlockResults<'_>> {
        let Program::Tape(tape) = &self.program else { return None };
        tape.evaluate_block(if gradient { Level::Gradient } else { Level::Value }, registers);
        Some(BlockResults { value: tape.value, gradient: &tape.gradient })
    }
}

/// Which registers hold the results of a block.
pub(crate) struct BlockResults<'a> {
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
        let read = |&register| if register == NONE { &[0.0; Compiled::BLOCK] } else { &registers[register as usize] };
        self.gradient.iter().map(read)
    }
}

impl Tape {
    fn evaluate_block(&self, level: Level, registers: &mut [Register]) {
        for (next, instruction) in (self.inputs..).zip(&self.instructions[..self.lengths[level as usize]]) {
            let at = |register: u32| &registers[register as usize];
            registers[next] = match *instruction {
                Instruction::Constant(value) => [value; Compiled::BLOCK],
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
    }
}

#[inline]
fn both(a: &Register, b: &Register, operation: impl Fn(f64, f64) -> f64) -> Register {
    from_fn(|k| operation(a[k], b[k]))
}
