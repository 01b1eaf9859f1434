//! Several elements of one type at once.

use tangor_expression::{BLOCK, BlockResults, Level, Register};

use super::{Compiled, Program};

impl Compiled {
    /// How many elements a block has.
    pub(crate) const BLOCK: usize = BLOCK;

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
        Some(tape.evaluate_block(if gradient { Level::Gradient } else { Level::Value }, registers))
    }
}
