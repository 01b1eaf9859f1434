//! Reads SIF files, the format of the CUTEst problems, without a Fortran compiler.
//!
//! ```text
//! minimise    sum_{i in N} s_i g_i(alpha_i(x)) + 1/2 x'Hx
//! subject to  cl_i <= s_i g_i(alpha_i(x)) <= cu_i,   xl <= x <= xu
//! with        alpha_i(x) = sum_j w_ij f_j(x) + a_i'x - b_i
//! ```
//!
//! ```
//! use tangor_problem::Problem;
//!
//! let text = "\
//! NAME          TINY
//! VARIABLES
//!     X
//! GROUPS
//!  N  OBJ       X         2.0
//! CONSTANTS
//!     TINY      OBJ       1.0
//! ENDATA
//! ";
//! let mut problem = tangor_sif::parse(text, "TINY.SIF", &tangor_sif::Options::default()).unwrap();
//! assert_eq!(problem.objective(&[3.0]).unwrap(), 5.0);
//! ```

mod card;
mod check;
mod decode;
mod error;
mod evaluate;
mod fortran;
mod group_table;
mod hessian;
mod info;
mod loops;
mod model;
mod names;
mod options;
mod parameters;
mod problem;
mod sections;
mod source;

use std::mem::take;
use std::path::{Path, PathBuf};

pub use check::{Difference, check};
pub use error::SifError;
pub use fortran::Derivatives;
pub use hessian::WithHessian;
pub use info::{Info, Parameter, ParameterKind};
pub use model::VariableKind;
pub use options::{Limits, Options};
pub use problem::SifProblem;

use fortran::{compile_elements, compile_groups};
use group_table::Functions;
use source::Line;
use tangor_problem::{MemoryLimit, TooLarge};

/// The tables from which functions are evaluated are made beside what is decoded: together they take so many times its memory, and somewhat
/// more where elements are most of it.
const WITH_TABLES: u128 = 4;

/// Reads a file.
pub fn read(path: impl AsRef<Path>, options: &Options) -> Result<SifProblem, SifError> {
    let path = path.as_ref();
    let file = path.display().to_string();
    parse(&load_within(path, options.reading.memory)?, &file, options)
}

/// The text of a file; bytes that are not UTF-8 can only stand in comments and are replaced.
pub fn load(path: impl AsRef<Path>) -> Result<String, SifError> {
    load_within(path.as_ref(), MemoryLimit::of_this_machine())
}

fn load_within(path: &Path, memory: MemoryLimit) -> Result<String, SifError> {
    match memory.read(path) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(cause) => Err(SifError {
            file: path.display().to_string(),
            line: 0,
            column: 0,
            message: format!("the file could not be read: {cause}"),
        }),
    }
}

/// Reads the text of a file; `file` is what errors call it.
pub fn parse(text: &str, file: &str, options: &Options) -> Result<SifProblem, SifError> {
    let lines = source::lines(text);
    let parts = source::parts(&lines).map_err(|complaint| complaint.in_file(file))?;
    let parameters = info::parameters(parts.data);
    let (mut model, unknown) = decode::decode(parts.data, options).map_err(|complaint| complaint.in_file(file))?;
    if let Some(unknown) = unknown {
        return Err(unknown_parameter(file, &parameters, &unknown));
    }
    let needed = WITH_TABLES * model.bytes() as u128;
    let too_large =
        |too_large: TooLarge| SifError { file: file.to_string(), line: 0, column: 0, message: too_large.to_string() };
    options.reading.memory.check(needed, || "what the file describes".to_string()).map_err(too_large)?;
    let info = Info::new(&model, &lines, parameters);
    model.drop_unused_types();
    let compile = |part: &[Line], types: &model::Types, compile: Compile| match types.list.is_empty() {
        true => Ok(Vec::new()),
        false => compile(file, part, parts.rest, &types.list, options.derivatives),
    };
    let element_types = compile(parts.elements, &model.element_types, compile_elements)?;
    let group_types = compile(parts.groups, &model.group_types, compile_groups)?;
    let (element_names, group_names) = (take(&mut model.element_names), take(&mut model.group_names));
    let functions = Functions { element_types, group_types, element_names, group_names };
    Ok(SifProblem::new(model, functions, info, options.limits))
}

type Compile = fn(&str, &[Line], &[Line], &[fortran::TypeDeclaration], Derivatives) -> Result<Vec<fortran::Compiled>, SifError>;

/// A parameter was to be replaced that no `IE` or `RE` card outside loops sets.
fn unknown_parameter(file: &str, known: &[Parameter], unknown: &str) -> SifError {
    let marked: Vec<&Parameter> = known.iter().filter(|parameter| parameter.marked).collect();
    let listed: Vec<&str> = match marked.is_empty() {
        true => known.iter().map(|parameter| parameter.name.as_str()).collect(),
        false => marked.iter().map(|parameter| parameter.name.as_str()).collect(),
    };
    let list = if listed.is_empty() { "none".to_string() } else { listed.join(", ") };
    let message = format!("there is no parameter '{unknown}' to replace; the file offers: {list}");
    SifError { file: file.to_string(), line: 0, column: 0, message }
}

/// Looks for a problem in a folder, which is usually the one that the variable `MASTSIF` names: `NAME.SIF`, in any case.
pub fn find(name: &str, folder: impl AsRef<Path>) -> Option<PathBuf> {
    let wanted = format!("{name}.SIF");
    let exact = folder.as_ref().join(&wanted);
    if exact.is_file() {
        return Some(exact);
    }
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    let mut matching = entries.filter(|entry| entry.file_name().to_string_lossy().eq_ignore_ascii_case(&wanted));
    matching.next().map(|entry| entry.path())
}
