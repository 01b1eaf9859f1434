//! The declarations of an external function.

use std::collections::HashMap;

use super::assemble::{Assembler, Storage, Variable, implicit_kind};
use super::expression::{Expression, expression};
use super::statement::is_assignment;
use super::text::{Fault, Name, Parsed, Text};
use super::typing::Kind;
use super::unit::{Dimension, Labelled, Subprogram, declarator, dimensions, kind_word};

/// What the declarations say, before anything has its storage.
#[derive(Default)]
struct Declarations {
    /// Names in the order in which they appear.
    names: Vec<Name>,
    kinds: HashMap<String, Kind>,
    dimensions: HashMap<String, Vec<Dimension>>,
    commons: Vec<(String, Vec<Name>)>,
    initial: Vec<(Name, Expression)>,
    data: Vec<Text>,
}

const IMPLICIT: [Kind; 26] = {
    let mut kinds = [Kind::Real; 26];
    let mut letter = 8;
    while letter < 14 {
        kinds[letter] = Kind::Integer;
        letter += 1;
    }
    kinds
};

/// The cells of the dummy arguments, and the cell and kind of the result of a function.
pub(super) type Interface = (Vec<u32>, Option<(u32, Kind)>);

impl Assembler<'_> {
    /// Assembles a subprogram into a new scope.
    pub fn subprogram(&mut self, subprogram: &Subprogram) -> Parsed<Interface> {
        self.scope.implicit = Some(IMPLICIT);
        let mut declarations = Declarations::default();
        if let Some((name, kind)) = &subprogram.result {
            declarations.names.push(name.clone());
            declarations.kinds.extend(kind.map(|kind| (name.text.clone(), kind)));
        }
        let mut statements = subprogram.statements.iter().cloned().peekable();
        while let Some(statement) = statements.peek() {
            self.next_statement();
            if !self.declaration(&mut declarations, statement)? {
                break;
            }
            statements.next();
        }
        let interface = self.settle(subprogram, declarations)?;
        for mut statement in statements {
            if statement.label.is_none() && !is_assignment(&mut statement.text) && statement.text.eat_word("DATA") {
                self.data(statement.text)?;
            } else {
                self.statement(statement)?;
            }
        }
        self.end_unit(subprogram.name.place)?;
        Ok(interface)
    }

    // False: the statement is not a declaration, and the declarations are over.
    fn declaration(&mut self, declarations: &mut Declarations, statement: &Labelled) -> Parsed<bool> {
        let mut text = statement.text.clone();
        if is_assignment(&mut text) {
            return Ok(false);
        }
        // What is kept between calls is set again before each evaluation.
        const SILENT: [&str; 6] = ["IMPLICITNONE", "SAVE", "INTRINSIC", "EXTERNAL", "INTENT(", "USE,INTRINSIC"];
        if SILENT.iter().any(|word| text.eat_word(word)) {
            return Ok(true);
        }
        if text.eat_word("IMPLICIT") {
            self.implicit(text)?;
        } else if text.eat_word("PARAMETER(") {
            self.parameters(declarations, text)?;
        } else if text.eat_word("DIMENSION") {
            declarations.entities(&mut text, None, &[])?;
        } else if text.eat_word("COMMON") {
            declarations.common(text)?;
        } else if text.eat_word("DATA") {
            declarations.data.push(text);
        } else if let Some(kind) = kind_word(&mut text)? {
            self.typed(declarations, text, kind)?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    // IMPLICIT DOUBLE PRECISION (A-H, O-Z)
    fn implicit(&mut self, mut text: Text) -> Parsed<()> {
        loop {
            // `REAL*8(A-H)` and `REAL(A-H)`: the parentheses after the word are the letters here.
            let words =
                [("DOUBLEPRECISION", Kind::Real), ("REAL", Kind::Real), ("INTEGER", Kind::Integer), ("LOGICAL", Kind::Logical)];
            let Some(&(_, kind)) = words.iter().find(|(word, _)| text.eat_word(word)) else {
                return Err(text.expected("a kind"));
            };
            if text.eat('*') {
                text.take_while(|letter| letter.is_ascii_digit());
            }
            text.expect('(')?;
            while !text.eat(')') {
                let letters = text.take_while(|letter| letter.is_ascii_alphabetic() || letter == '-');
                let bytes = letters.as_bytes();
                let (Some(&first), Some(&last)) = (bytes.first(), bytes.last()) else { return Err(text.expected("a letter")) };
                let kinds = self.scope.implicit.get_or_insert(IMPLICIT);
                for letter in first..=last {
                    if let Some(entry) = kinds.get_mut(usize::from(letter.wrapping_sub(b'A'))) {
                        *entry = kind;
                    }
                }
                text.eat(',');
            }
            if !text.eat(',') {
                return text.expect_end();
            }
        }
    }

    // REAL, DIMENSION(3), PARAMETER :: A, B(2) = ...
    fn typed(&mut self, declarations: &mut Declarations, mut text: Text, kind: Kind) -> Parsed<()> {
        let mut shape = Vec::new();
        let mut constant = false;
        while text.eat(',') {
            if text.eat_word("DIMENSION") {
                shape = dimensions(&mut text)?;
            } else if text.eat_word("PARAMETER") {
                constant = true;
            } else if text.eat_word("INTENT(") {
                text.take_while(|letter| letter != ')');
                text.expect(')')?;
            } else if !text.eat_word("SAVE") {
                return Err(text.expected("DIMENSION, PARAMETER, INTENT or SAVE"));
            }
        }
        text.eat_word("::");
        if !constant {
            return declarations.entities(&mut text, Some(kind), &shape);
        }
        loop {
            let name = text.name()?;
            declarations.kinds.insert(name.text.clone(), kind);
            text.expect('=')?;
            self.parameter(declarations, name, &mut text)?;
            if !text.eat(',') {
                return text.expect_end();
            }
        }
    }

    fn parameters(&mut self, declarations: &Declarations, mut text: Text) -> Parsed<()> {
        loop {
            let name = text.name()?;
            text.expect('=')?;
            self.parameter(declarations, name, &mut text)?;
            if text.eat(')') {
                return text.expect_end();
            }
            text.expect(',')?;
        }
    }

    fn parameter(&mut self, declarations: &Declarations, name: Name, text: &mut Text) -> Parsed<()> {
        let value = expression(text)?;
        let value = self.constant_value(&value, name.place)?;
        let kind = self.kind_of(declarations, &name.text);
        let value = if kind == Kind::Integer { value.trunc() } else { value };
        let variable = Variable { kind, storage: Storage::Constant(value), dimensions: Vec::new() };
        self.scope.variables.insert(name.text, variable);
        Ok(())
    }

    fn kind_of(&self, declarations: &Declarations, name: &str) -> Kind {
        let implicit = || implicit_kind(self.scope.implicit.as_ref().unwrap_or(&IMPLICIT), name);
        declarations.kinds.get(name).copied().unwrap_or_else(implicit)
    }

    // Gives every declared name its storage.
    fn settle(&mut self, subprogram: &Subprogram, declarations: Declarations) -> Parsed<Interface> {
        let mut pointers = Vec::with_capacity(subprogram.arguments.len());
        for name in &subprogram.arguments {
            let pointer = self.allocate(1, name.place)?;
            pointers.push(pointer);
            self.insert(&declarations, name, Storage::Pointer(pointer));
        }
        for (block, names) in &declarations.commons {
            self.common_block(&declarations, block, names)?;
        }
        for name in &declarations.names {
            if !self.scope.variables.contains_key(&name.text) {
                let shape = declarations.dimensions.get(&name.text).cloned().unwrap_or_default();
                let size = self.size(&shape, name.place)?;
                let unknown = || Fault::new(name.place, format!("the size of array {} is not known", name.text));
                let cell = self.allocate(size.ok_or_else(unknown)?, name.place)?;
                self.insert(&declarations, name, Storage::Cell(cell));
            }
        }
        for (name, value) in &declarations.initial {
            let value = self.constant_value(value, name.place)?;
            self.initialise(&Expression::Name(name.clone()), value)?;
        }
        for text in declarations.data {
            self.data(text)?;
        }
        let result = subprogram.result.as_ref().and_then(|(name, _)| self.scope.variables.get(&name.text));
        let result = result.and_then(|variable| match variable.storage {
            Storage::Cell(cell) => Some((cell, variable.kind)),
            _ => None,
        });
        Ok((pointers, result))
    }

    fn insert(&mut self, declarations: &Declarations, name: &Name, storage: Storage) {
        let kind = self.kind_of(declarations, &name.text);
        let dimensions = declarations.dimensions.get(&name.text).cloned().unwrap_or_default();
        self.scope.variables.insert(name.text.clone(), Variable { kind, storage, dimensions });
    }

    // The names of a block lie one after the other, in every subprogram from the same start.
    fn common_block(&mut self, declarations: &Declarations, block: &str, names: &[Name]) -> Parsed<()> {
        let mut offset = 0;
        let mut places = Vec::new();
        for name in names {
            let shape = declarations.dimensions.get(&name.text).cloned().unwrap_or_default();
            let unknown = || Fault::new(name.place, format!("the size of array {} is not known", name.text));
            let size = self.size(&shape, name.place)?.ok_or_else(unknown)?;
            places.push((name, offset));
            offset += size;
        }
        let Some(first) = names.first() else { return Ok(()) };
        let (start, length) = match self.commons.get(block) {
            Some(&known) => known,
            None => {
                let start = self.allocate(offset, first.place)?;
                self.commons.insert(block.to_string(), (start, offset));
                (start, offset)
            }
        };
        if offset > length {
            return Err(Fault::new(first.place, format!("common block {block} is longer here than where it was first used")));
        }
        for (name, offset) in places {
            self.insert(declarations, name, Storage::Cell(start + offset as u32));
        }
        Ok(())
    }
}

impl Declarations {
    // A list of names, with dimensions and perhaps initial values.
    fn entities(&mut self, text: &mut Text, kind: Option<Kind>, shape: &[Dimension]) -> Parsed<()> {
        loop {
            let (name, own) = declarator(text)?;
            if text.eat('*') {
                text.take_while(|letter| letter.is_ascii_digit());
            }
            if let Some(kind) = kind {
                self.kinds.insert(name.text.clone(), kind);
            }
            self.declare(&name, if own.is_empty() { shape.to_vec() } else { own });
            if text.eat('=') {
                self.initial.push((name, expression(text)?));
            }
            if !text.eat(',') {
                return text.expect_end();
            }
        }
    }

    fn declare(&mut self, name: &Name, dimensions: Vec<Dimension>) {
        if !dimensions.is_empty() {
            self.dimensions.insert(name.text.clone(), dimensions);
        }
        self.names.push(name.clone());
    }

    // COMMON /block/ a, b(3), /other/ c
    fn common(&mut self, mut text: Text) -> Parsed<()> {
        let mut block = String::new();
        while !text.at_end() {
            if text.eat('/') {
                block = text.take_while(|letter| letter != '/');
                text.expect('/')?;
            }
            let (name, dimensions) = declarator(&mut text)?;
            self.declare(&name, dimensions);
            match self.commons.iter_mut().find(|(known, _)| *known == block) {
                Some((_, names)) => names.push(name),
                None => self.commons.push((block.clone(), vec![name])),
            }
            text.eat(',');
        }
        Ok(())
    }
}
