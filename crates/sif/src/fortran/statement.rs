//! The statements of an external function that do something.

use super::assemble::Assembler;
use super::control::Block;
use super::expression::{Argument, Expression, expression, reference};
use super::machine::Code;
use super::text::{Fault, Parsed, Place, Text};
use super::typing::{Emitter, convert, emit, emit_number, place_of};
use super::unit::{Dimension, Labelled};
use tangor_expression::Binary;

impl Assembler<'_> {
    /// Assembles one statement.
    pub fn statement(&mut self, statement: Labelled) -> Parsed<()> {
        self.next_statement();
        let start = statement.text.start();
        if let Some(label) = statement.label {
            let here = self.here();
            if self.scope.labels.insert(label, here).is_some() {
                return Err(Fault::new(start, format!("label {label} stands twice")));
            }
        }
        self.executable(statement.text)?;
        while let (Some(Block::Do { label: Some(end), .. }), Some(label)) = (self.scope.blocks.last(), statement.label) {
            if *end != label {
                break;
            }
            self.end_do(start)?;
        }
        Ok(())
    }

    /// What remains to do after the last statement of a unit.
    pub fn end_unit(&mut self, place: Place) -> Parsed<()> {
        if let Some(block) = self.scope.blocks.last() {
            let what = if matches!(block, Block::If { .. }) { "an IF" } else { "a DO" };
            return Err(Fault::new(place, format!("{what} construct of the subprogram has no end")));
        }
        self.push(Code::Return);
        for (at, label, place) in std::mem::take(&mut self.scope.jumps) {
            let Some(&to) = self.scope.labels.get(&label) else {
                return Err(Fault::new(place, format!("no statement has the label {label}")));
            };
            self.patch(at, to);
        }
        Ok(())
    }

    pub fn executable(&mut self, mut text: Text) -> Parsed<()> {
        let place = text.place();
        if is_assignment(&mut text) {
            let target = reference(&mut text)?;
            text.expect('=')?;
            let value = expression(&mut text)?;
            text.expect_end()?;
            return self.assignment(&target, &value);
        }
        if text.eat_word("IF(") {
            return self.if_statement(text);
        }
        if text.eat_word("ELSE") {
            return self.else_statement(text, place);
        }
        if text.eat_word("ENDIF") {
            return self.end_if(place);
        }
        if text.eat_word("ENDDO") {
            return self.end_do(place);
        }
        if text.eat_word("GOTO") {
            return self.goto(text);
        }
        if text.eat_word("CALL") {
            let (name, arguments) = match reference(&mut text)? {
                Expression::Name(name) => (name, Vec::new()),
                Expression::Apply(name, arguments) => (name, arguments),
                _ => return Err(text.expected("the name of a subroutine")),
            };
            text.expect_end()?;
            return self.call(&name, &arguments).map(|_| ());
        }
        if text.eat_word("DO") {
            return self.do_statement(text, place);
        }
        // Output changes no value, and STOP gives the evaluation up.
        const SILENT: [&str; 5] = ["CONTINUE", "FORMAT(", "WRITE(", "PRINT", "SAVE"];
        if text.at_end() || SILENT.iter().any(|word| text.eat_word(word)) {
            return Ok(());
        }
        if text.eat_word("RETURN") {
            self.push(Code::Return);
            return Ok(());
        }
        if text.eat_word("STOP") {
            self.push(Code::Stop(place.line as u32));
            return Ok(());
        }
        if text.eat_word("CYCLE") {
            return self.leave(false, place);
        }
        if text.eat_word("EXIT") {
            return self.leave(true, place);
        }
        Err(Fault::new(place, "this Fortran statement is not supported"))
    }

    /// Assigns a value to a variable, to an element, or element by element to an array.
    pub fn assignment(&mut self, target: &Expression, value: &Expression) -> Parsed<()> {
        let place = place_of(target);
        let Some(sections) = self.sections(target) else {
            let value = emit(self, value)?;
            let (address, kind) = self.target(target)?;
            let converted = convert(self, value, kind, place)?;
            self.store(address, converted);
            return Ok(());
        };
        if mentions(value, target) {
            return Err(Fault::new(place, "an array assignment whose right side uses the same array is not supported"));
        }
        // One loop for each section, over the counters 0, 1, ... from which every section of the statement takes its element.
        let mut loops = Vec::new();
        for (low, high) in sections {
            let counter = self.allocate(1, place)?;
            let limit = self.allocate(1, place)?;
            let low = emit_number(self, &low)?;
            let high = emit_number(self, &high)?;
            let span = self.binary(Binary::Subtract, high, low);
            self.push(Code::Copy(limit, span));
            let zero = self.constant(0.0);
            self.push(Code::Copy(counter, zero));
            let top = self.here();
            let inside = self.binary(Binary::LessEqual, counter, limit);
            let exit = self.jump_unless(inside);
            loops.push((counter, top, exit));
            self.scope.counters.push(counter);
        }
        let result = emit(self, value)?;
        let (address, kind) = self.target(target)?;
        let converted = convert(self, result, kind, place)?;
        self.store(address, converted);
        self.scope.counters.clear();
        for (counter, top, exit) in loops.into_iter().rev() {
            let one = self.constant(1.0);
            self.push(Code::Binary(Binary::Add, counter, counter, one));
            self.push(Code::Jump(top));
            let here = self.here();
            self.patch(exit, here);
        }
        Ok(())
    }

    // The bounds of the sections of a target; nothing when it is one element.
    fn sections(&self, target: &Expression) -> Option<Vec<(Expression, Expression)>> {
        let (name, arguments) = match target {
            Expression::Name(name) => (name, None),
            Expression::Apply(name, arguments) => (name, Some(arguments)),
            _ => return None,
        };
        let dimensions = &self.scope.variables.get(&name.text)?.dimensions;
        let bounds = |(k, Dimension { low, high }): (usize, &Dimension)| {
            let high = high.clone().unwrap_or_else(|| low.clone());
            match arguments.map(|arguments| arguments.get(k)) {
                Some(Some(Argument::Value(_)) | None) => None,
                Some(Some(Argument::Section(from, to))) => {
                    Some((from.clone().unwrap_or_else(|| low.clone()), to.clone().unwrap_or(high)))
                }
                None => Some((low.clone(), high)),
            }
        };
        let sections: Vec<_> = dimensions.iter().enumerate().filter_map(bounds).collect();
        (!sections.is_empty()).then_some(sections)
    }
}

/// True when the text is an assignment: a name, perhaps parentheses, and `=`. A DO statement looks the same but for its comma.
pub(super) fn is_assignment(text: &mut Text) -> bool {
    let mark = text.mark();
    let found = text.name().is_ok_and(|name| {
        skip_parentheses(text);
        text.eat('=') && text.peek() != Some('=') && !(name.text.starts_with("DO") && comma_follows(text))
    });
    text.rewind(mark);
    found
}

fn skip_parentheses(text: &mut Text) {
    let mut depth = 0usize;
    while let Some(letter) = text.peek() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 => return,
            _ => {}
        }
        text.eat(letter);
        if depth == 0 {
            return;
        }
    }
}

fn comma_follows(text: &mut Text) -> bool {
    while let Some(letter) = text.peek() {
        match letter {
            ',' => return true,
            '(' => skip_parentheses(text),
            _ => {
                text.eat(letter);
            }
        }
    }
    false
}

// True when the expression uses the array that is assigned to.
fn mentions(expression: &Expression, target: &Expression) -> bool {
    let (Expression::Name(array) | Expression::Apply(array, _)) = target else { return false };
    match expression {
        Expression::Name(name) => name.text == array.text,
        Expression::Apply(name, arguments) => {
            let inside = |argument: &Argument| match argument {
                Argument::Value(value) => mentions(value, target),
                Argument::Section(from, to) => from.iter().chain(to).any(|bound| mentions(bound, target)),
            };
            name.text == array.text || arguments.iter().any(inside)
        }
        Expression::Negative(inner) | Expression::Not(inner) => mentions(inner, target),
        Expression::Binary(_, _, left, right) => mentions(left, target) || mentions(right, target),
        _ => false,
    }
}
