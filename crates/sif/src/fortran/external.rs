//! A type that runs on the machine.

use std::collections::HashSet;

use tangor_problem::Failure;

use super::assemble::{Address, Assembler, Storage, Variable};
use super::expression::{Argument, Expression};
use super::machine::{Code, Machine};
use super::part::{Entry, Individual, Part, Step};
use super::range::Range;
use super::text::{Fault, Parsed, Place};
use super::typing::{Emitter, Kind, emit_condition, emit_number, place_of};
use super::unit::Subprogram;
use super::{Derivatives, TypeDeclaration};
use tangor_expression::Level;
use tangor_expression::tower::Shape;
use tangor_expression::{Binary, Unary};

/// More scratch than this is refused.
const MOST_SCRATCH: usize = 1 << 24;

/// The program of a type, and where it leaves its results.
///
/// The scratch holds a mark of the last run's layout, then the memory of the machine. Its first cells are the temporaries:
/// their values outlive the evaluation, as they do in compiled Fortran.
#[derive(Debug)]
pub(super) struct External {
    machine: Machine,
    range: Range,
    value: u32,
    gradient: Option<Vec<Option<u32>>>,
    hessian: Option<Vec<Option<u32>>>,
    /// True when the type may read a temporary that it has not set: its value is what the last element left there.
    pub carries: bool,
}

impl External {
    pub fn new(
        part: &Part,
        individual: &Individual,
        declaration: &TypeDeclaration,
        range: Range,
        subprograms: &[Subprogram],
        derivatives: Derivatives,
    ) -> Parsed<Self> {
        let mut assembler = Assembler::new(subprograms);
        let kept = declare_temporaries(&mut assembler, part)?;
        let inputs = declare_inputs(&mut assembler, declaration, &range, individual.place)?;
        for step in &part.globals {
            assign(&mut assembler, step)?;
        }
        let results = entries(&mut assembler, individual, &range, derivatives)?;
        assembler.end_unit(individual.place)?;
        let (code, entries) = link(assembler.scope.code, assembler.finished);
        let machine = Machine { code, entries, image: assembler.image, windows: assembler.windows, kept, inputs };
        let Results { value, gradient, hessian } = results;
        let message = || format!("type {} has no F card, which gives its value", individual.name);
        let value = value.ok_or_else(|| Fault::new(individual.place, message()))?;
        let carries = carries_state(part, individual, declaration);
        let external = External { machine, range, value, gradient, hessian, carries };
        if external.shape(Level::Gradient).size() > MOST_SCRATCH {
            let message = format!("type {} has too many variables and arrays for its derivatives", individual.name);
            return Err(Fault::new(individual.place, message));
        }
        Ok(external)
    }

    pub fn scratch_len(&self) -> usize {
        let levels = [Level::Gradient, Level::Hessian];
        let lengths = levels.map(|level| self.shape(level).size()).into_iter().filter(|&length| length <= MOST_SCRATCH);
        1 + lengths.max().unwrap_or(0)
    }

    /// False when the second derivatives would be too large.
    pub fn has_hessian(&self) -> bool {
        self.shape(Level::Hessian).size() <= MOST_SCRATCH
    }

    /// Evaluates; the lengths have been checked, and unwanted slices are empty.
    pub fn evaluate(
        &self,
        level: Level,
        variables: &[f64],
        parameters: &[f64],
        scratch: &mut [f64],
        gradient: &mut [f64],
        hessian: &mut [f64],
    ) -> Result<f64, Failure> {
        let shape = self.shape(level);
        let Some((mark, memory)) = scratch.split_first_mut() else { return Err(Failure::broken("there is no scratch")) };
        let layout = (1 + shape.cells * 4096 + shape.stride()) as f64;
        if *mark != layout {
            *mark = layout;
            (0..self.machine.kept).for_each(|cell| shape.forget(memory, cell));
        }
        self.machine.run(shape, variables, parameters, memory)?;
        if level >= Level::Gradient {
            self.read_gradient(shape, memory, gradient);
        }
        if level == Level::Hessian {
            self.read_hessian(shape, memory, hessian);
        }
        Ok(memory[self.value as usize])
    }

    // Derivatives that the cards give need no differentiation.
    fn shape(&self, level: Level) -> Shape {
        let order = match level {
            Level::Hessian if self.hessian.is_none() => 2,
            Level::Gradient | Level::Hessian if self.gradient.is_none() => 1,
            _ => 0,
        };
        Shape { cells: self.machine.image.len(), count: self.range.columns, order }
    }

    fn read_gradient(&self, shape: Shape, memory: &[f64], gradient: &mut [f64]) {
        gradient.fill(0.0);
        match &self.gradient {
            None => {
                if let Some(slopes) = shape.gradient(memory, self.value as usize) {
                    gradient.copy_from_slice(slopes);
                }
            }
            Some(coded) if self.range.is_identity() => {
                gradient.iter_mut().zip(coded).for_each(|(entry, cell)| *entry = read(memory, *cell));
            }
            Some(coded) => {
                for (row, cell) in self.range.rows.iter().zip(coded) {
                    row.iter().for_each(|&(column, coefficient)| gradient[column] += coefficient * read(memory, *cell));
                }
            }
        }
    }

    fn read_hessian(&self, shape: Shape, memory: &[f64], hessian: &mut [f64]) {
        hessian.fill(0.0);
        match &self.hessian {
            None => {
                if let Some(curvatures) = shape.hessian(memory, self.value as usize) {
                    hessian.copy_from_slice(curvatures);
                }
            }
            Some(coded) if self.range.is_identity() => {
                hessian.iter_mut().zip(coded).for_each(|(entry, cell)| *entry = read(memory, *cell));
            }
            Some(coded) => {
                self.range
                    .each_coefficient(|entry, place, coefficient| hessian[place] += coefficient * read(memory, coded[entry]));
            }
        }
    }
}

fn read(memory: &[f64], cell: Option<u32>) -> f64 {
    cell.map_or(0.0, |cell| memory[cell as usize])
}

#[derive(Default)]
struct Results {
    value: Option<u32>,
    gradient: Option<Vec<Option<u32>>>,
    hessian: Option<Vec<Option<u32>>>,
}

// The temporaries come first, so that they have the same cells in every type.
fn declare_temporaries(assembler: &mut Assembler, part: &Part) -> Parsed<usize> {
    // The sizes are worked out elsewhere: constants must not stand among the temporaries.
    let mut aside = Assembler::new(&[]);
    for temporary in &part.temporaries {
        let place = temporary.name.place;
        let unknown = || Fault::new(place, format!("the size of array {} is not known", temporary.name.text));
        let size = aside.size(&temporary.dimensions, place)?.ok_or_else(unknown)?;
        let storage = Storage::Cell(assembler.allocate(size, place)?);
        let variable = Variable { kind: temporary.kind, storage, dimensions: temporary.dimensions.clone() };
        assembler.scope.variables.insert(temporary.name.text.clone(), variable);
    }
    Ok(assembler.image.len())
}

// Variables and parameters, and the internal variables as combinations of the others.
fn declare_inputs(assembler: &mut Assembler, declaration: &TypeDeclaration, range: &Range, place: Place) -> Parsed<Vec<u32>> {
    let mut inputs = Vec::new();
    let declare = |assembler: &mut Assembler, name: &String| {
        let cell = assembler.allocate(1, place)?;
        let variable = Variable { kind: Kind::Real, storage: Storage::Cell(cell), dimensions: Vec::new() };
        assembler.scope.variables.insert(name.to_ascii_uppercase(), variable);
        Ok(cell)
    };
    for name in declaration.variables.iter().chain(&declaration.parameters) {
        inputs.push(declare(assembler, name)?);
    }
    for (row, name) in range.rows.iter().zip(&declaration.internals) {
        let target = declare(assembler, name)?;
        assembler.next_statement();
        let mut sum = assembler.constant(0.0);
        for &(column, coefficient) in row {
            let factor = assembler.constant(coefficient);
            let term = assembler.binary(Binary::Multiply, factor, inputs[column]);
            sum = assembler.binary(Binary::Add, sum, term);
        }
        assembler.store(Address::Cell(target), sum);
    }
    Ok(inputs)
}

fn assign(assembler: &mut Assembler, step: &Step) -> Parsed<()> {
    assembler.next_statement();
    let Some((condition, sense)) = &step.guard else { return assembler.assignment(&step.target, &step.value) };
    let mut condition = emit_condition(assembler, condition)?;
    if !sense {
        condition = assembler.unary(Unary::Not, condition);
    }
    let skip = assembler.jump_unless(condition);
    assembler.assignment(&step.target, &step.value)?;
    let here = assembler.here();
    assembler.patch(skip, here);
    Ok(())
}

fn entries(assembler: &mut Assembler, individual: &Individual, range: &Range, derivatives: Derivatives) -> Parsed<Results> {
    let mut results = Results::default();
    let count = range.names.len();
    let coded = derivatives == Derivatives::Coded;
    for entry in &individual.entries {
        assembler.next_statement();
        match entry {
            Entry::Assign(step) => assign(assembler, step)?,
            Entry::Value(expression) => results.value = Some(keep(assembler, expression, individual.place)?),
            Entry::Gradient(name, expression) if coded => {
                let at = range.index(name.as_ref(), place_of(expression))?;
                let cell = keep(assembler, expression, individual.place)?;
                results.gradient.get_or_insert_with(|| vec![None; count])[at] = Some(cell);
            }
            Entry::Hessian(names, expression) if coded => {
                let at = range.pair(names.as_ref(), place_of(expression))?;
                let cell = keep(assembler, expression, individual.place)?;
                results.hessian.get_or_insert_with(|| vec![None; count * (count + 1) / 2])[at] = Some(cell);
            }
            Entry::Gradient(..) | Entry::Hessian(..) => {}
        }
    }
    Ok(results)
}

fn keep(assembler: &mut Assembler, expression: &Expression, place: Place) -> Parsed<u32> {
    let value = emit_number(assembler, expression)?;
    let cell = assembler.allocate(1, place)?;
    assembler.push(Code::Copy(cell, value));
    Ok(cell)
}

// Puts the code of the type and of the subprograms one after the other.
fn link(main: Vec<Code>, finished: Vec<Vec<Code>>) -> (Vec<Code>, Vec<u32>) {
    let mut code = main;
    let mut entries = Vec::with_capacity(finished.len());
    for subprogram in finished {
        let start = code.len() as u32;
        entries.push(start);
        code.extend(subprogram.into_iter().map(|code| match code {
            Code::Jump(to) => Code::Jump(to + start),
            Code::JumpUnless(condition, to) => Code::JumpUnless(condition, to + start),
            other => other,
        }));
    }
    (code, entries)
}

// Follows the cards and looks for temporaries that are used, or handed to a function, before they surely have a value.
fn carries_state(part: &Part, individual: &Individual, declaration: &TypeDeclaration) -> bool {
    let inputs = declaration.variables.iter().chain(&declaration.parameters).chain(&declaration.internals);
    let mut set: HashSet<String> = inputs.map(|name| name.to_ascii_uppercase()).collect();
    let functions: HashSet<&str> = part.functions.iter().map(|function| function.text.as_str()).collect();
    let temporaries = part.temporaries.iter().map(|temporary| temporary.name.text.as_str());
    let temporaries: HashSet<&str> = temporaries.filter(|name| !functions.contains(name)).collect();
    let unset = |set: &HashSet<String>, expression: &Expression| {
        names(expression).into_iter().any(|name| temporaries.contains(name) && !set.contains(name))
    };
    let mut carries = false;
    let step = |set: &mut HashSet<String>, step: &Step| {
        let guard = step.guard.iter().map(|(condition, _)| condition);
        let reads = guard.chain([&step.value]).any(|expression| unset(set, expression));
        if let (Expression::Name(name), None) = (&step.target, &step.guard) {
            set.insert(name.text.clone());
        }
        reads
    };
    for assignment in &part.globals {
        carries |= step(&mut set, assignment);
    }
    for entry in &individual.entries {
        carries |= match entry {
            Entry::Assign(assignment) => step(&mut set, assignment),
            Entry::Value(expression) | Entry::Gradient(_, expression) | Entry::Hessian(_, expression) => {
                unset(&set, expression)
            }
        };
    }
    carries
}

fn names(expression: &Expression) -> Vec<&str> {
    let mut found = Vec::new();
    let mut stack = vec![expression];
    while let Some(expression) = stack.pop() {
        match expression {
            Expression::Name(name) => found.push(name.text.as_str()),
            Expression::Apply(name, arguments) => {
                found.push(name.text.as_str());
                for argument in arguments {
                    match argument {
                        Argument::Value(value) => stack.push(value),
                        Argument::Section(from, to) => stack.extend(from.iter().chain(to)),
                    }
                }
            }
            Expression::Negative(inner) | Expression::Not(inner) => stack.push(inner),
            Expression::Binary(_, _, left, right) => stack.extend([&**left, &**right]),
            Expression::Real(..) | Expression::Integer(..) | Expression::Logical(..) => {}
        }
    }
    found
}
