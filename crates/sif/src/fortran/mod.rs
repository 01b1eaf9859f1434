//! The Fortran of the function parts: the element and group functions of a SIF file, compiled once and evaluated often.
//!
//! A type whose cards are straight-line arithmetic becomes a tape, a register program in which the value, the gradient and the
//! Hessian share their work. A type that uses arrays or external functions runs on a small machine instead.
//!
//! Every real literal is a double: `0.1` means the double nearest to 0.1.

mod array;
mod assemble;
mod block;
mod card;
mod control;
mod data;
mod declare;
mod expression;
mod external;
mod intrinsic;
mod machine;
mod part;
mod range;
mod statement;
mod symbolic;
#[cfg(test)]
mod tests;
mod text;
mod typing;
mod unit;

use std::collections::HashSet;

use tangor_problem::Failure;

use self::external::External;
use self::part::Part;
use self::range::Range;
use self::text::{Fault, Place};
use self::unit::Subprogram;
use crate::{Line, SifError};
use tangor_expression::{Level, Tape};

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
    /// How long the scratch must be.
    scratch: usize,
}

#[derive(Debug)]
enum Program {
    Tape(Tape),
    External(Box<External>),
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
    rest: &[Line],
    types: &[TypeDeclaration],
    derivatives: Derivatives,
    what: &str,
) -> Result<Vec<Compiled>, SifError> {
    compile_part(lines, rest, types, derivatives, what).map_err(|fault| SifError {
        file: file.to_string(),
        line: fault.place.line,
        column: fault.place.column,
        message: fault.message,
    })
}

/// More types times temporaries and globals than this are refused.
const MOST_WORK: usize = 20_000_000;

fn compile_part(
    lines: &[Line],
    rest: &[Line],
    types: &[TypeDeclaration],
    derivatives: Derivatives,
    what: &str,
) -> Result<Vec<Compiled>, Fault> {
    let part = part::read(lines)?;
    // Files without external functions may have anything after their last ENDATA.
    let subprograms = match unit::subprograms(rest) {
        Err(_) if part.functions.is_empty() => Vec::new(),
        found => found?,
    };
    // Every type goes through all temporaries and globals.
    if types.len().saturating_mul(part.temporaries.len() + part.globals.len()) > MOST_WORK {
        let message = format!("there are too many {what} types, temporaries and globals");
        return Err(Fault::new(Place { line: lines.first().map_or(1, |line| line.number), column: 1 }, message));
    }
    let others = others(&part, &subprograms);
    let mut compiler = Compiler { part, subprograms, others, derivatives, what, shared: false };
    let mut compiled = compiler.compile_all(types)?;
    if compiled.iter().any(Compiled::carries_state) {
        compiler.shared = true;
        compiled = compiler.compile_all(types)?;
    }
    Ok(compiled)
}

struct Compiler<'a> {
    part: Part,
    subprograms: Vec<Subprogram>,
    /// The names that a tape cannot deal with: arrays and external functions.
    others: HashSet<String>,
    derivatives: Derivatives,
    what: &'a str,
    /// One type reads what others leave behind: all keep their temporaries in the same place then, which a tape has not.
    shared: bool,
}

impl Compiler<'_> {
    fn compile_all(&self, types: &[TypeDeclaration]) -> Result<Vec<Compiled>, Fault> {
        types.iter().map(|declaration| self.compile(declaration)).collect()
    }

    fn compile(&self, declaration: &TypeDeclaration) -> Result<Compiled, Fault> {
        let Some(&index) = self.part.index.get(&declaration.name) else {
            let message =
                format!("{} type {} is declared, but no T card of the INDIVIDUALS names it", self.what, declaration.name);
            return Err(Fault::new(Place { line: declaration.line, column: 1 }, message));
        };
        let individual = &self.part.individuals[index];
        let range = Range::new(individual, declaration)?;
        let tape = match self.shared {
            true => None,
            false => symbolic::tape(&self.part, individual, declaration, &range, &self.others, self.derivatives)?,
        };
        let (scratch, program) = match tape {
            Some(tape) => (tape.len(), Program::Tape(tape)),
            None => {
                let (part, subprograms) = (&self.part, &self.subprograms);
                let external = External::new(part, individual, declaration, range, subprograms, self.derivatives)?;
                (external.scratch_len(), Program::External(Box::new(external)))
            }
        };
        let (variables, parameters) = (declaration.variables.len(), declaration.parameters.len());
        Ok(Compiled { name: declaration.name.clone(), variables, parameters, program, scratch })
    }
}

fn others(part: &Part, subprograms: &[Subprogram]) -> HashSet<String> {
    let arrays = part.temporaries.iter().filter(|temporary| !temporary.dimensions.is_empty());
    let functions = part.functions.iter().filter(|name| !intrinsic::exists(&name.text));
    let names = arrays.map(|array| &array.name).chain(functions).chain(subprograms.iter().map(|subprogram| &subprogram.name));
    names.map(|name| name.text.clone()).collect()
}

impl Compiled {
    /// True when the type may read what an evaluation of another element left behind.
    ///
    /// Then all elements of the part must be evaluated in the order of the file, with one scratch and at one level (all values, or all
    /// gradients), as compiled Fortran would. Other types may be evaluated in any order and in parallel.
    pub fn carries_state(&self) -> bool {
        matches!(&self.program, Program::External(external) if external.carries)
    }

    /// How many numbers the scratch of an evaluation has. It may be longer, and elements may share it, but not with groups.
    pub fn scratch_len(&self) -> usize {
        self.scratch
    }

    /// The value at the elemental variables (not the internal ones).
    pub fn value(&self, variables: &[f64], parameters: &[f64], scratch: &mut [f64]) -> Result<f64, Failure> {
        self.evaluate(Level::Value, variables, parameters, scratch, &mut [], &mut [])
    }

    /// The value, and the gradient with respect to the elemental variables.
    pub fn gradient(
        &self,
        variables: &[f64],
        parameters: &[f64],
        scratch: &mut [f64],
        gradient: &mut [f64],
    ) -> Result<f64, Failure> {
        self.evaluate(Level::Gradient, variables, parameters, scratch, gradient, &mut [])
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
        let possible = match &self.program {
            Program::Tape(tape) => tape.has_hessian(),
            Program::External(external) => external.has_hessian(),
        };
        if !possible {
            return Err(Failure::broken(format!("type {} has too many variables for its second derivatives", self.name)));
        }
        self.evaluate(Level::Hessian, variables, parameters, scratch, gradient, hessian)
    }

    fn evaluate(
        &self,
        level: Level,
        variables: &[f64],
        parameters: &[f64],
        scratch: &mut [f64],
        gradient: &mut [f64],
        hessian: &mut [f64],
    ) -> Result<f64, Failure> {
        let slopes = if level >= Level::Gradient { self.variables } else { 0 };
        let curvatures = if level == Level::Hessian { self.variables * (self.variables + 1) / 2 } else { 0 };
        let fits = variables.len() == self.variables
            && parameters.len() == self.parameters
            && scratch.len() >= self.scratch
            && gradient.len() == slopes
            && hessian.len() == curvatures;
        if !fits {
            return Err(self.misfit([
                ("variables", variables.len(), self.variables),
                ("parameters", parameters.len(), self.parameters),
                ("numbers of scratch", scratch.len().min(self.scratch), self.scratch),
                ("entries of the gradient", gradient.len(), slopes),
                ("entries of the Hessian", hessian.len(), curvatures),
            ]));
        }
        match &self.program {
            Program::External(external) => external.evaluate(level, variables, parameters, scratch, gradient, hessian),
            Program::Tape(tape) => Ok(tape.evaluate(level, variables, parameters, scratch, gradient, hessian)),
        }
    }

    #[cold]
    fn misfit(&self, lengths: [(&str, usize, usize); 5]) -> Failure {
        let wrong = lengths.iter().filter(|(_, given, wanted)| given != wanted);
        let wrong: Vec<_> = wrong.map(|(what, given, wanted)| format!("{given} {what} instead of {wanted}")).collect();
        Failure::broken(format!("type {} was given {}", self.name, wrong.join(", ")))
    }
}
