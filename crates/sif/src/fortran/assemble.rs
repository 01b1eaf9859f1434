//! From Fortran to the instructions of the machine: storage, arrays, calls and expressions.

use std::collections::HashMap;

use super::control::Block;
use super::expression::{Argument, Expression};
use super::machine::{Code, DEEPEST_CALL, Window};
use tangor_expression::{Binary, Unary};

use super::symbolic::unknown;
use super::text::{Fault, Name, Parsed, Place};
use super::typing::{Emitter, Kind, Value, emit, place_of};
use super::unit::{Dimension, Subprogram};

/// More cells than this are refused.
const MOST_CELLS: usize = 1_000_000;

/// Where a variable is kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Storage {
    Cell(u32),
    /// A dummy argument: the cell has its address.
    Pointer(u32),
    /// A PARAMETER.
    Constant(f64),
}

#[derive(Clone, Debug)]
pub(super) struct Variable {
    pub kind: Kind,
    pub storage: Storage,
    /// Empty for a scalar.
    pub dimensions: Vec<Dimension>,
}

/// Where a value is read or written.
#[derive(Clone, Copy)]
pub(super) enum Address {
    Cell(u32),
    /// The cell has the address.
    Computed(u32),
    /// The index in the cell, of an array with this number among the windows.
    Window(u32, u32),
}

/// A subprogram that can be called.
#[derive(Clone, Debug)]
pub(super) struct Linked {
    number: u32,
    pub pointers: Vec<u32>,
    pub result: Option<(u32, Kind)>,
}

/// What belongs to the unit that is being assembled.
#[derive(Default)]
pub(super) struct Scope {
    pub code: Vec<Code>,
    pub variables: HashMap<String, Variable>,
    /// Kinds of undeclared names, by first letter; nothing when such names are refused.
    pub implicit: Option<[Kind; 26]>,
    pub labels: HashMap<u32, u32>,
    /// Jumps to labels, by their place in the code.
    pub jumps: Vec<(usize, u32, Place)>,
    pub blocks: Vec<Block>,
    registers: Vec<u32>,
    used: usize,
    /// The counters of the array assignment that is being assembled, one for each section of its target.
    pub counters: Vec<u32>,
}

pub(super) struct Assembler<'a> {
    subprograms: &'a [Subprogram],
    pub scope: Scope,
    pub image: Vec<f64>,
    constants: HashMap<u64, u32>,
    known: HashMap<u32, f64>,
    /// Subprograms by name: nothing while they are being assembled.
    linked: HashMap<String, Option<Linked>>,
    /// The code of each subprogram, by number.
    pub finished: Vec<Vec<Code>>,
    pub commons: HashMap<String, (u32, usize)>,
    pub windows: Vec<Window>,
}

impl<'a> Assembler<'a> {
    pub fn new(subprograms: &'a [Subprogram]) -> Self {
        Assembler {
            subprograms,
            scope: Scope::default(),
            image: Vec::new(),
            constants: HashMap::new(),
            known: HashMap::new(),
            linked: HashMap::new(),
            finished: Vec::new(),
            commons: HashMap::new(),
            windows: Vec::new(),
        }
    }

    pub fn push(&mut self, code: Code) {
        self.scope.code.push(code);
    }

    /// The number of the next instruction of the unit.
    pub fn here(&self) -> u32 {
        self.scope.code.len() as u32
    }

    /// New cells, which hold 0 before a run.
    pub fn allocate(&mut self, count: usize, place: Place) -> Parsed<u32> {
        let start = self.image.len();
        if start.saturating_add(count) > MOST_CELLS {
            return Err(Fault::new(place, format!("the arrays of the function need more than {MOST_CELLS} numbers")));
        }
        self.image.resize(start + count, 0.0);
        Ok(start as u32)
    }

    /// The registers of the last statement are free again.
    pub fn next_statement(&mut self) {
        self.scope.used = 0;
    }

    pub fn register(&mut self) -> u32 {
        let scope = &mut self.scope;
        if scope.used == scope.registers.len() {
            scope.registers.push(self.image.len() as u32);
            self.image.push(0.0);
        }
        scope.used += 1;
        scope.registers[scope.used - 1]
    }

    /// True for a register of the present statement.
    pub fn is_register(&self, cell: u32) -> bool {
        self.scope.registers[..self.scope.used].contains(&cell)
    }

    /// The value of an expression that must be constant.
    pub fn constant_value(&mut self, expression: &Expression, place: Place) -> Parsed<f64> {
        let value = emit(self, expression)?;
        self.known(value.handle).ok_or_else(|| Fault::new(place, "expected an expression of constants"))
    }

    /// The address and the kind of a variable or an element that is assigned to.
    pub fn target(&mut self, target: &Expression) -> Parsed<(Address, Kind)> {
        let (name, arguments) = match target {
            Expression::Name(name) => (name, None),
            Expression::Apply(name, arguments) => (name, Some(arguments.as_slice())),
            _ => return Err(Fault::new(place_of(target), "expected a variable to assign to")),
        };
        let variable = self.declared(name, true)?;
        let address = match variable.storage {
            _ if !variable.dimensions.is_empty() => self.element(name, &variable, arguments)?,
            _ if arguments.is_some() => {
                let message = format!("{} is not an array (statement functions are not supported)", name.text);
                return Err(Fault::new(name.place, message));
            }
            Storage::Cell(cell) => Address::Cell(cell),
            Storage::Pointer(pointer) => Address::Computed(pointer),
            Storage::Constant(_) => {
                return Err(Fault::new(name.place, format!("{} is a PARAMETER and cannot be assigned to", name.text)));
            }
        };
        Ok((address, variable.kind))
    }

    /// The variable of this name; a new one when undeclared names are allowed, or when the name is assigned to.
    pub fn declared(&mut self, name: &Name, assigned: bool) -> Parsed<Variable> {
        if let Some(variable) = self.scope.variables.get(&name.text) {
            return Ok(variable.clone());
        }
        let kind = match &self.scope.implicit {
            Some(kinds) => implicit_kind(kinds, &name.text),
            None if assigned => Kind::implicit(&name.text),
            None => return Err(unknown(name)),
        };
        let storage = Storage::Cell(self.allocate(1, name.place)?);
        let variable = Variable { kind, storage, dimensions: Vec::new() };
        self.scope.variables.insert(name.text.clone(), variable.clone());
        Ok(variable)
    }

    /// True when a subprogram of this name is there.
    pub fn has_subprogram(&self, name: &str) -> bool {
        self.subprograms.iter().any(|subprogram| subprogram.name.text == name)
    }

    /// Calls a subprogram.
    pub fn call(&mut self, name: &Name, arguments: &[Argument]) -> Parsed<Linked> {
        let linked = self.link(name)?;
        if linked.pointers.len() != arguments.len() {
            let (wanted, given) = (linked.pointers.len(), arguments.len());
            return Err(Fault::new(name.place, format!("{} takes {wanted} arguments, but has {given}", name.text)));
        }
        let mut addresses = Vec::with_capacity(arguments.len());
        for argument in arguments {
            addresses.push(self.argument(name, argument)?);
        }
        for (&pointer, address) in linked.pointers.iter().zip(addresses) {
            self.push(Code::Copy(pointer, address));
        }
        self.push(Code::Call(linked.number));
        Ok(linked)
    }

    // The cell that has the address of an argument.
    fn argument(&mut self, function: &Name, argument: &Argument) -> Parsed<u32> {
        let Argument::Value(expression) = argument else {
            let message = format!("a section of an array as an argument of {} is not supported", function.text);
            return Err(Fault::new(function.place, message));
        };
        let variable = match expression {
            Expression::Name(name) => self.declared(name, false).map(|variable| (name, variable, None)).ok(),
            Expression::Apply(name, indices) => {
                let variable = self.scope.variables.get(&name.text).filter(|variable| !variable.dimensions.is_empty());
                variable.cloned().map(|variable| (name, variable, Some(indices.as_slice())))
            }
            _ => None,
        };
        match variable {
            Some((name, variable, Some(indices))) => {
                let address = self.element(name, &variable, Some(indices))?;
                Ok(self.reference(address))
            }
            Some((_, Variable { storage: Storage::Cell(cell), .. }, None)) => Ok(self.constant(f64::from(cell))),
            Some((_, Variable { storage: Storage::Pointer(pointer), .. }, None)) => Ok(pointer),
            _ => {
                // A copy: the subprogram may write to its argument.
                let value = emit(self, expression)?;
                let copy = self.register();
                self.push(Code::Copy(copy, value.handle));
                Ok(self.constant(f64::from(copy)))
            }
        }
    }

    // Assembles a subprogram when it is first called.
    fn link(&mut self, name: &Name) -> Parsed<Linked> {
        match self.linked.get(&name.text) {
            Some(Some(linked)) => return Ok(linked.clone()),
            Some(None) => return Err(Fault::new(name.place, format!("{} calls itself, which is not supported", name.text))),
            None => {}
        }
        let subprograms = self.subprograms;
        let Some(subprogram) = subprograms.iter().find(|subprogram| subprogram.name.text == name.text) else {
            return Err(Fault::new(name.place, format!("the file has no subprogram {}", name.text)));
        };
        if self.linked.values().filter(|linked| linked.is_none()).count() >= DEEPEST_CALL {
            return Err(Fault::new(name.place, format!("calls are nested more than {DEEPEST_CALL} levels deep")));
        }
        self.linked.insert(name.text.clone(), None);
        let caller = std::mem::take(&mut self.scope);
        let (pointers, result) = self.subprogram(subprogram)?;
        let callee = std::mem::replace(&mut self.scope, caller);
        let linked = Linked { number: self.finished.len() as u32, pointers, result };
        self.finished.push(callee.code);
        self.linked.insert(name.text.clone(), Some(linked.clone()));
        Ok(linked)
    }
}

/// The kind of an undeclared name.
pub(super) fn implicit_kind(kinds: &[Kind; 26], name: &str) -> Kind {
    let letter = name.bytes().next().unwrap_or(b'A').saturating_sub(b'A');
    kinds.get(usize::from(letter)).copied().unwrap_or(Kind::Real)
}

impl Emitter for Assembler<'_> {
    fn constant(&mut self, value: f64) -> u32 {
        let (image, known) = (&mut self.image, &mut self.known);
        *self.constants.entry(value.to_bits()).or_insert_with(|| {
            let cell = image.len() as u32;
            image.push(value);
            known.insert(cell, value);
            cell
        })
    }

    fn known(&self, handle: u32) -> Option<f64> {
        self.known.get(&handle).copied()
    }

    fn unary(&mut self, operation: Unary, a: u32) -> u32 {
        if let Some(a) = self.known(a) {
            return self.constant(operation.apply(a));
        }
        let to = self.register();
        self.push(Code::Unary(operation, to, a));
        to
    }

    fn binary(&mut self, operation: Binary, a: u32, b: u32) -> u32 {
        match (operation, self.known(a), self.known(b)) {
            (_, Some(a), Some(b)) => return self.constant(operation.apply(a, b)),
            (Binary::Multiply, Some(1.0), _) | (Binary::Add, Some(0.0), _) => return b,
            (Binary::Multiply, _, Some(1.0)) | (Binary::Add | Binary::Subtract, _, Some(0.0)) => return a,
            _ => {}
        }
        let to = self.register();
        self.push(Code::Binary(operation, to, a, b));
        to
    }

    fn select(&mut self, condition: u32, a: u32, b: u32) -> u32 {
        let to = self.register();
        self.push(Code::Select(to, condition, a, b));
        to
    }

    fn variable(&mut self, name: &Name) -> Parsed<Value> {
        let variable = self.declared(name, false)?;
        let handle = match variable.storage {
            Storage::Constant(value) => self.constant(value),
            _ if !variable.dimensions.is_empty() => {
                let address = self.element(name, &variable, None)?;
                self.load(address)
            }
            Storage::Cell(cell) => cell,
            Storage::Pointer(pointer) => self.load(Address::Computed(pointer)),
        };
        Ok(Value { handle, kind: variable.kind })
    }

    fn apply(&mut self, name: &Name, arguments: &[Argument]) -> Parsed<Option<Value>> {
        let array = self.scope.variables.get(&name.text).filter(|variable| !variable.dimensions.is_empty()).cloned();
        if let Some(variable) = array {
            let address = self.element(name, &variable, Some(arguments))?;
            return Ok(Some(Value { handle: self.load(address), kind: variable.kind }));
        }
        if !self.has_subprogram(&name.text) {
            return Ok(None);
        }
        let Some((result, kind)) = self.call(name, arguments)?.result else {
            return Err(Fault::new(name.place, format!("{} is a subroutine and has no value", name.text)));
        };
        let handle = self.register();
        self.push(Code::Copy(handle, result));
        Ok(Some(Value { handle, kind }))
    }
}
