//! What decides which statement comes next: IF, GO TO and DO.

use super::assemble::Assembler;
use super::expression::{Expression, expression};
use super::machine::Code;
use super::text::{Fault, Parsed, Place, Text};
use super::typing::{Emitter, emit_condition, emit_number};
use tangor_expression::{Binary, Unary};

/// A construct that is open.
pub(super) enum Block {
    If {
        /// The jump over the present branch, to the next one.
        next: Option<usize>,
        /// The jumps from the ends of the branches to the end of the construct.
        ends: Vec<usize>,
    },
    Do {
        /// The label of its last statement, in the old form.
        label: Option<u32>,
        /// Where each turn begins.
        top: u32,
        /// The variable and the cells of its step and of the turns that are left; nothing in a DO WHILE.
        count: Option<(Expression, u32, u32)>,
        exits: Vec<usize>,
        cycles: Vec<usize>,
    },
}

/// Nothing is patched yet.
const LATER: u32 = u32::MAX;

impl Assembler<'_> {
    pub fn if_statement(&mut self, mut text: Text) -> Parsed<()> {
        let place = text.place();
        let condition = expression(&mut text)?;
        text.expect(')')?;
        let mark = text.mark();
        if text.eat_word("THEN") && text.at_end() {
            let condition = emit_condition(self, &condition)?;
            let next = Some(self.jump_unless(condition));
            self.scope.blocks.push(Block::If { next, ends: Vec::new() });
            return Ok(());
        }
        text.rewind(mark);
        if text.peek().is_some_and(|letter| letter.is_ascii_digit()) {
            return self.arithmetic_if(&condition, text);
        }
        let condition = emit_condition(self, &condition)?;
        let skip = self.jump_unless(condition);
        let blocks = self.scope.blocks.len();
        self.executable(text)?;
        if self.scope.blocks.len() != blocks {
            return Err(Fault::new(place, "a construct cannot be the statement of an IF"));
        }
        let here = self.here();
        self.patch(skip, here);
        Ok(())
    }

    // IF (e) negative, zero, positive
    fn arithmetic_if(&mut self, value: &Expression, mut text: Text) -> Parsed<()> {
        let place = text.place();
        let value = emit_number(self, value)?;
        let labels = labels(&mut text)?;
        text.expect_end()?;
        let [negative, zero, positive] = labels[..] else {
            return Err(Fault::new(place, "expected three labels, for a negative, a zero and a positive value"));
        };
        let nought = self.constant(0.0);
        let not_below = self.binary(Binary::LessEqual, nought, value);
        let skip = self.jump_unless(not_below);
        let above = self.binary(Binary::Less, nought, value);
        let equal = self.jump_unless(above);
        self.jump_to(positive, place);
        let here = self.here();
        self.patch(equal, here);
        self.jump_to(zero, place);
        let here = self.here();
        self.patch(skip, here);
        self.jump_to(negative, place);
        Ok(())
    }

    pub fn else_statement(&mut self, mut text: Text, place: Place) -> Parsed<()> {
        let condition = if text.eat_word("IF(") {
            let condition = expression(&mut text)?;
            text.expect(')')?;
            if !text.eat_word("THEN") {
                return Err(text.expected("THEN"));
            }
            Some(condition)
        } else {
            None
        };
        text.expect_end()?;
        let Some(Block::If { next: Some(next), mut ends }) = self.scope.blocks.pop() else {
            return Err(Fault::new(place, "an ELSE without its IF"));
        };
        ends.push(self.here() as usize);
        self.push(Code::Jump(LATER));
        let here = self.here();
        self.patch(next, here);
        let next = match condition {
            Some(condition) => {
                let condition = emit_condition(self, &condition)?;
                Some(self.jump_unless(condition))
            }
            None => None,
        };
        self.scope.blocks.push(Block::If { next, ends });
        Ok(())
    }

    pub fn end_if(&mut self, place: Place) -> Parsed<()> {
        let Some(Block::If { next, ends }) = self.scope.blocks.pop() else {
            return Err(Fault::new(place, "an ENDIF without its IF"));
        };
        let here = self.here();
        for at in ends.into_iter().chain(next) {
            self.patch(at, here);
        }
        Ok(())
    }

    pub fn goto(&mut self, mut text: Text) -> Parsed<()> {
        let place = text.place();
        if !text.eat('(') {
            let [label] = labels(&mut text)?[..] else { return Err(text.expected("one label")) };
            text.expect_end()?;
            self.jump_to(label, place);
            return Ok(());
        }
        // GO TO (first, second, ...), index
        let labels = labels(&mut text)?;
        text.expect(')')?;
        text.eat(',');
        let index = expression(&mut text)?;
        text.expect_end()?;
        let index = emit_number(self, &index)?;
        for (k, label) in labels.into_iter().enumerate() {
            let number = self.constant((k + 1) as f64);
            let chosen = self.binary(Binary::Equal, index, number);
            let skip = self.jump_unless(chosen);
            self.jump_to(label, place);
            let here = self.here();
            self.patch(skip, here);
        }
        Ok(())
    }

    pub fn do_statement(&mut self, mut text: Text, place: Place) -> Parsed<()> {
        let digits = text.take_while(|letter| letter.is_ascii_digit());
        let label = if digits.is_empty() { None } else { digits.parse().ok() };
        text.eat(',');
        let (exits, cycles) = (Vec::new(), Vec::new());
        if text.at_end() {
            let top = self.here();
            self.scope.blocks.push(Block::Do { label, top, count: None, exits, cycles });
            return Ok(());
        }
        if text.eat_word("WHILE(") {
            let condition = expression(&mut text)?;
            text.expect(')')?;
            text.expect_end()?;
            let top = self.here();
            let condition = emit_condition(self, &condition)?;
            let exits = vec![self.jump_unless(condition)];
            self.scope.blocks.push(Block::Do { label, top, count: None, exits, cycles });
            return Ok(());
        }
        let variable = Expression::Name(text.name()?);
        text.expect('=')?;
        let first = expression(&mut text)?;
        text.expect(',')?;
        let last = expression(&mut text)?;
        let by = if text.eat(',') { expression(&mut text)? } else { Expression::one(place) };
        text.expect_end()?;
        let (step, left) = (self.allocate(1, place)?, self.allocate(1, place)?);
        self.start_count(&variable, [&first, &last, &by], step, left)?;
        let top = self.here();
        let zero = self.constant(0.0);
        let turn = self.binary(Binary::Less, zero, left);
        let exits = vec![self.jump_unless(turn)];
        self.scope.blocks.push(Block::Do { label, top, count: Some((variable, step, left)), exits, cycles });
        Ok(())
    }

    // The number of turns is known before the first: (last - first + step) / step.
    fn start_count(&mut self, variable: &Expression, bounds: [&Expression; 3], step: u32, left: u32) -> Parsed<()> {
        let [first, last, by] = bounds;
        let first = emit_number(self, first)?;
        let last = emit_number(self, last)?;
        let by = emit_number(self, by)?;
        self.push(Code::Copy(step, by));
        let span = self.binary(Binary::Subtract, last, first);
        let span = self.binary(Binary::Add, span, step);
        let turns = self.binary(Binary::Divide, span, step);
        let turns = self.unary(Unary::Truncate, turns);
        self.push(Code::Copy(left, turns));
        let (address, _) = self.target(variable)?;
        self.store(address, first);
        Ok(())
    }

    pub fn end_do(&mut self, place: Place) -> Parsed<()> {
        let Some(Block::Do { top, count, exits, cycles, .. }) = self.scope.blocks.pop() else {
            return Err(Fault::new(place, "the end of a DO without its beginning"));
        };
        let here = self.here();
        for at in cycles {
            self.patch(at, here);
        }
        self.next_statement();
        if let Some((variable, step, left)) = count {
            let old = emit_number(self, &variable)?;
            let new = self.binary(Binary::Add, old, step);
            let (address, _) = self.target(&variable)?;
            self.store(address, new);
            let one = self.constant(1.0);
            self.push(Code::Binary(Binary::Subtract, left, left, one));
        }
        self.push(Code::Jump(top));
        let here = self.here();
        for at in exits {
            self.patch(at, here);
        }
        Ok(())
    }

    /// CYCLE, or EXIT when `exit`: it leaves the present turn or the whole of the innermost DO.
    pub fn leave(&mut self, exit: bool, place: Place) -> Parsed<()> {
        let at = self.scope.code.len();
        for block in self.scope.blocks.iter_mut().rev() {
            if let Block::Do { exits, cycles, .. } = block {
                if exit {
                    exits.push(at)
                } else {
                    cycles.push(at)
                }
                self.push(Code::Jump(LATER));
                return Ok(());
            }
        }
        Err(Fault::new(place, "a CYCLE or EXIT outside of every DO"))
    }

    /// A jump whose target is patched later.
    pub fn jump_unless(&mut self, condition: u32) -> usize {
        self.push(Code::JumpUnless(condition, LATER));
        self.scope.code.len() - 1
    }

    fn jump_to(&mut self, label: u32, place: Place) {
        self.scope.jumps.push((self.scope.code.len(), label, place));
        self.push(Code::Jump(LATER));
    }

    pub fn patch(&mut self, at: usize, to: u32) {
        if let Some(Code::Jump(target) | Code::JumpUnless(_, target)) = self.scope.code.get_mut(at) {
            *target = to;
        }
    }
}

// Labels with commas between them.
fn labels(text: &mut Text) -> Parsed<Vec<u32>> {
    let mut labels = Vec::new();
    loop {
        let digits = text.take_while(|letter| letter.is_ascii_digit());
        labels.push(digits.parse().map_err(|_| text.expected("a label"))?);
        if !text.eat(',') {
            return Ok(labels);
        }
    }
}
