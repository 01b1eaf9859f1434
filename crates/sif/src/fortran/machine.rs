//! The machine that runs what a tape cannot: loops, jumps, arrays and external functions.

use tangor_problem::Failure;

use tangor_expression::tower::Shape;
use tangor_expression::{Binary, Unary};

/// One instruction. Numbers are cells of the memory unless they say otherwise.
#[derive(Clone, Copy, Debug)]
pub(super) enum Code {
    Unary(Unary, u32, u32),
    Binary(Binary, u32, u32, u32),
    /// Target, condition, value when it is not 0, value when it is.
    Select(u32, u32, u32, u32),
    Copy(u32, u32),
    /// Target, and the cell that has the address.
    Load(u32, u32),
    /// The cell that has the address, and the value.
    Store(u32, u32),
    /// Target, the cell that has the index, and the window of the array.
    LoadElement(u32, u32, u32),
    /// The cell that has the index, the window of the array, and the value.
    StoreElement(u32, u32, u32),
    /// Target of the address, the cell that has the index, and the window of the array.
    Locate(u32, u32, u32),
    /// An index counted from 0, the size that it must stay below, and the line of the file.
    Bound(u32, u32, u32),
    /// Go on at an instruction.
    Jump(u32),
    /// Go on at an instruction when the condition is 0.
    JumpUnless(u32, u32),
    /// Call a subprogram, by its number.
    Call(u32),
    Return,
    /// A STOP statement, at a line of the file.
    Stop(u32),
}

impl Code {
    /// The cell that the instruction computes a value for.
    pub fn target(&mut self) -> Option<&mut u32> {
        match self {
            Code::Unary(_, to, _)
            | Code::Binary(_, to, ..)
            | Code::Select(to, ..)
            | Code::Copy(to, _)
            | Code::Load(to, _)
            | Code::LoadElement(to, ..) => Some(to),
            _ => None,
        }
    }
}

/// Where the elements of an array lie: the indices from `start` up to `end`, from the cell on whose number `base` holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    pub base: u32,
    pub start: f64,
    pub end: f64,
    /// The line of the file that uses the element.
    pub line: usize,
}

impl Window {
    fn cell(&self, memory: &[f64], index: u32, cells: usize) -> Result<usize, Failure> {
        let index = memory[index as usize];
        let cell = memory[self.base as usize] + (index - self.start);
        if index >= self.start && index < self.end && cell < cells as f64 {
            return Ok(cell as usize);
        }
        Err(outside(self.line))
    }
}

/// Calls nested more deeply than this are recursion, which Fortran 77 does not have.
pub(super) const DEEPEST_CALL: usize = 32;
/// An evaluation that takes more instructions than this is given up; with derivatives, which take longer, sooner.
const MOST_INSTRUCTIONS: usize = 20_000_000;

/// A program of the machine.
#[derive(Debug)]
pub(super) struct Machine {
    pub code: Vec<Code>,
    /// Where each subprogram begins.
    pub entries: Vec<u32>,
    /// What the memory holds before a run.
    pub image: Vec<f64>,
    pub windows: Vec<Window>,
    /// The first cells, which keep what the last run left there.
    pub kept: usize,
    /// The cells of the variables, then of the parameters.
    pub inputs: Vec<u32>,
}

impl Machine {
    /// Runs the program from its beginning.
    pub fn run(&self, shape: Shape, variables: &[f64], parameters: &[f64], memory: &mut [f64]) -> Result<(), Failure> {
        memory[self.kept..shape.cells].copy_from_slice(&self.image[self.kept..]);
        for cell in self.kept..shape.cells {
            shape.forget(memory, cell);
        }
        for (&cell, &value) in self.inputs.iter().zip(variables.iter().chain(parameters)) {
            memory[cell as usize] = value;
        }
        for (index, &cell) in self.inputs[..variables.len()].iter().enumerate() {
            shape.seed(memory, cell as usize, index);
        }
        if shape.order == 0 { self.execute::<true>(shape, memory) } else { self.execute::<false>(shape, memory) }
    }

    // PLAIN: there are no derivatives, and no time is spent on them.
    fn execute<const PLAIN: bool>(&self, shape: Shape, memory: &mut [f64]) -> Result<(), Failure> {
        let copy = |memory: &mut [f64], to: usize, from: usize| {
            if PLAIN { memory[to] = memory[from] } else { shape.copy(memory, to, from) }
        };
        let mut callers = [0usize; DEEPEST_CALL];
        let (mut depth, mut at) = (0, 0);
        for _ in 0..MOST_INSTRUCTIONS / (1 + shape.stride() / 8) {
            let Some(&code) = self.code.get(at) else { return Ok(()) };
            at += 1;
            match code {
                Code::Unary(operation, to, a) if PLAIN => memory[to as usize] = operation.apply(memory[a as usize]),
                Code::Binary(operation, to, a, b) if PLAIN => {
                    memory[to as usize] = operation.apply(memory[a as usize], memory[b as usize]);
                }
                Code::Unary(operation, to, a) => shape.unary(memory, operation, to as usize, a as usize),
                Code::Binary(operation, to, a, b) => shape.binary(memory, operation, to as usize, a as usize, b as usize),
                Code::Select(to, condition, a, b) => {
                    let chosen = if memory[condition as usize] != 0.0 { a } else { b };
                    copy(memory, to as usize, chosen as usize);
                }
                Code::Copy(to, from) => copy(memory, to as usize, from as usize),
                Code::Load(to, address) => {
                    let from = resolve(memory[address as usize], shape.cells)?;
                    copy(memory, to as usize, from);
                }
                Code::Store(address, from) => {
                    let to = resolve(memory[address as usize], shape.cells)?;
                    copy(memory, to, from as usize);
                }
                Code::LoadElement(to, index, window) => {
                    let from = self.windows[window as usize].cell(memory, index, shape.cells)?;
                    copy(memory, to as usize, from);
                }
                Code::StoreElement(index, window, from) => {
                    let to = self.windows[window as usize].cell(memory, index, shape.cells)?;
                    copy(memory, to, from as usize);
                }
                Code::Locate(to, index, window) => {
                    memory[to as usize] = self.windows[window as usize].cell(memory, index, shape.cells)? as f64;
                    shape.forget(memory, to as usize);
                }
                Code::Bound(index, size, line) => {
                    if !(0.0..memory[size as usize]).contains(&memory[index as usize]) {
                        return Err(outside(line as usize));
                    }
                }
                Code::Jump(to) => at = to as usize,
                Code::JumpUnless(condition, to) => {
                    if memory[condition as usize] == 0.0 {
                        at = to as usize;
                    }
                }
                Code::Call(subprogram) => {
                    // The assembler refuses recursion, so that the depth is bounded.
                    if let Some(caller) = callers.get_mut(depth) {
                        *caller = at;
                    }
                    depth += 1;
                    at = self.entries[subprogram as usize] as usize;
                }
                Code::Return => {
                    if depth == 0 {
                        return Ok(());
                    }
                    depth -= 1;
                    at = callers[depth];
                }
                Code::Stop(line) => return Err(Failure::undefined(format!("line {line}: the external function stopped"))),
            }
        }
        Err(Failure::undefined("an external function did not come to an end"))
    }
}

fn outside(line: usize) -> Failure {
    Failure::undefined(format!("line {line}: an index lies outside of its array"))
}

fn resolve(address: f64, cells: usize) -> Result<usize, Failure> {
    if address >= 0.0 && address < cells as f64 {
        return Ok(address as usize);
    }
    Err(Failure::undefined("an index lies outside of every array"))
}
