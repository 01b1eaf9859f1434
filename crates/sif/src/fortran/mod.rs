//! The Fortran of the function parts: the element and group functions of a SIF file, compiled once and evaluated often.
//!
//! A type whose cards are straight-line arithmetic becomes a tape, a register program in which the value, the gradient and the
//! Hessian share their work. A type that uses arrays or external functions runs on a small machine instead.
//!
//! Every real literal is a double: `0.1` means the double nearest to 0.1.

mod derive;
mod expression;
mod graph;
mod intrinsic;
mod operation;
mod part;
mod range;
mod symbolic;
mod tape;
mod text;
mod typing;

use std::collections::HashSet;

use tangor_problem::Failure;

use self::part::Part;
use self::range::Range;
use self::tape::{Level, Tape};
use self::text::{Fault, Place};
use crate::{Line, SifError};

/// The declaration of an element or group type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeDeclaration {
    /// Its name.
    pub name: String,
    /// The line that declares it first.
    pub line: usize,
    /// The elemental variables, or the one variable of a group.
    pub variables: Vec<String>,
    /// The internal variables; may be empty.
    pub internals: Vec<String>,
    /// The parameters.
    pub parameters: Vec<String>,
}

/// Where derivatives come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Derivatives {
    /// From the file where it codes them, else by differentiation.
    #[default]
    Coded,
    /// Always by differentiation.
    Automatic,
}

/// The function of one type, ready for evaluation.
#[derive(Debug)]
pub struct Compiled {
    name: String,
    variables: usize,
    parameters: usize,
    program: Program,
}

#[derive(Debug)]
enum Program {
    Tape(Tape),
}

/// Compiles the functions of the element types.
///
/// `lines` are those after the `ELEMENTS` header up to its `ENDATA`, `rest` those after the last `ENDATA` of the file, where
/// the external functions stand. There is one result for each declaration, in the same order.
pub fn compile_elements(
    file: &str,
    lines: &[Line],
    rest: &[Line],
    types: &[TypeDeclaration],
    derivatives: Derivatives,
) -> Result<Vec<Compiled>, SifError> {
    compile(file, lines, rest, types, derivatives, "element")
}

/// Compiles the functions of the group types, from the lines after the `GROUPS` header; else as [`compile_elements`].
pub fn compile_groups(
    file: &str,
    lines: &[Line],
    rest: &[Line],
    types: &[TypeDeclaration],
    derivatives: Derivatives,
) -> Result<Vec<Compiled>, SifError> {
    compile(file, lines, rest, types, derivatives, "group")
}

fn compile(
    file: &str,
    lines: &[Line],
    _rest: &[Line],
    types: &[TypeDeclaration],
    derivatives: Derivatives,
    what: &str,
) -> Result<Vec<Compiled>, SifError> {
    let named = |fault: Fault| SifError {
        file: file.to_string(),
        line: fault.place.line,
        column: fault.place.column,
        message: fault.message,
    };
    let part = part::read(lines).map_err(named)?;
    types.iter().map(|declaration| compile_type(&part, declaration, derivatives, what).map_err(named)).collect()
}

fn compile_type(part: &Part, declaration: &TypeDeclaration, derivatives: Derivatives, what: &str) -> Result<Compiled, Fault> {
    let Some(individual) = part.individuals.iter().find(|individual| individual.name == declaration.name) else {
        let message = format!("{what} type {} is declared, but no T card of the INDIVIDUALS names it", declaration.name);
        return Err(Fault::new(Place { line: declaration.line, column: 1 }, message));
    };
    let range = Range::new(individual, declaration)?;
    let others = HashSet::new();
    let Some(tape) = symbolic::tape(part, individual, declaration, &range, &others, derivatives)? else {
        return Err(Fault::new(individual.place, "external functions are not supported yet"));
    };
    Ok(Compiled {
        name: declaration.name.clone(),
        variables: declaration.variables.len(),
        parameters: declaration.parameters.len(),
        program: Program::Tape(tape),
    })
}

impl Compiled {
    /// How many numbers the scratch of an evaluation has.
    pub fn scratch_len(&self) -> usize {
        match &self.program {
            Program::Tape(tape) => tape.len(),
        }
    }

    /// The value at the elemental variables (not the internal ones).
    pub fn value(&self, variables: &[f64], parameters: &[f64], scratch: &mut [f64]) -> Result<f64, Failure> {
        self.check(variables, parameters, scratch)?;
        match &self.program {
            Program::Tape(tape) => Ok(tape.run(Level::Value, variables, parameters, scratch)),
        }
    }

    /// The value, and the gradient with respect to the elemental variables.
    pub fn gradient(
        &self,
        variables: &[f64],
        parameters: &[f64],
        scratch: &mut [f64],
        gradient: &mut [f64],
    ) -> Result<f64, Failure> {
        self.check(variables, parameters, scratch)?;
        match &self.program {
            Program::Tape(tape) => {
                let value = tape.run(Level::Gradient, variables, parameters, scratch);
                tape.gradient(scratch, gradient);
                Ok(value)
            }
        }
    }

    /// The value, the gradient and the Hessian (packed lower triangle) with respect to the elemental variables.
    pub fn hessian(
        &self,
        variables: &[f64],
        parameters: &[f64],
        scratch: &mut [f64],
        gradient: &mut [f64],
        hessian: &mut [f64],
    ) -> Result<f64, Failure> {
        self.check(variables, parameters, scratch)?;
        match &self.program {
            Program::Tape(tape) => {
                let value = tape.run(Level::Hessian, variables, parameters, scratch);
                tape.gradient(scratch, gradient);
                tape.hessian(scratch, hessian);
                Ok(value)
            }
        }
    }

    fn check(&self, variables: &[f64], parameters: &[f64], scratch: &[f64]) -> Result<(), Failure> {
        let lengths = [
            ("variables", variables.len(), self.variables),
            ("parameters", parameters.len(), self.parameters),
            ("numbers of scratch", scratch.len().min(self.scratch_len()), self.scratch_len()),
        ];
        match lengths.into_iter().find(|(_, given, wanted)| given != wanted) {
            Some((what, given, wanted)) => {
                Err(Failure::broken(format!("type {} was given {given} {what}, but needs {wanted}", self.name)))
            }
            None => Ok(()),
        }
    }
}
