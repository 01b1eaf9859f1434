use std::path::Path;

use tangor_problem::{
    Evaluation, FunctionFailure, Meta, Outputs, Pattern, Problem, ReadingLimits, SecondOrder, Wanted, evaluate_separately,
};

use crate::error::{Complaint, NlError};
use crate::functions::Compiled;
use crate::header::Header;
use crate::info::Info;
use crate::model::{Model, Suffix};
use crate::names::Names;
use crate::segments::read_model;

/// How a file is read.
#[derive(Clone, Debug)]
pub struct Options {
    /// Which objective counts, from 1 on as AMPL counts them; 0: none, only the constraints are to be satisfied.
    pub objective: usize,
    /// True: integer variables are treated as real ones. Otherwise a file that has some is refused.
    pub relax_integers: bool,
    /// What ends the reading: the memory that it takes, or somebody's wish.
    pub reading: ReadingLimits,
}

impl Default for Options {
    fn default() -> Self {
        Options { objective: 1, relax_integers: false, reading: ReadingLimits::default() }
    }
}

/// The problem of a `.nl` file.
#[derive(Debug)]
pub struct NlProblem {
    meta: Meta,
    info: Info,
    functions: Compiled,
    multipliers: Vec<f64>,
    suffixes: Vec<Suffix>,
}

/// Reads a file, and the names of variables and rows from the files beside it with the extensions `.col` and `.row`.
///
/// A path without an extension is taken to mean the file with the extension `.nl`, as AMPL names its files.
pub fn read(path: impl AsRef<Path>, options: &Options) -> Result<NlProblem, NlError> {
    let mut path = path.as_ref().to_owned();
    if path.extension().is_none() && !path.is_file() {
        path.set_extension("nl");
    }
    let file = path.display().to_string();
    let bytes = options.reading.memory.read(&path).map_err(|cause| {
        Complaint::whole(format!("the file cannot be read: {cause}")).in_file(&file, &[], true, String::new())
    })?;
    let names = Names::beside(&path);
    build(&bytes, &file, names, options)
}

/// Reads the content of a file; the name of the file is for messages.
pub fn parse(bytes: &[u8], file: &str, options: &Options) -> Result<NlProblem, NlError> {
    build(bytes, file, Names::default(), options)
}

fn build(bytes: &[u8], file: &str, names: Names, options: &Options) -> Result<NlProblem, NlError> {
    let model = read_model(bytes, file, &options.reading)?;
    let names = names.of_model(model.header.variables, model.header.constraints);
    let refuse = |complaint: Complaint| complaint.in_file(file, bytes, !model.header.binary, String::new());
    check_integers(&model, &names, options).map_err(refuse)?;
    let objective = choose(&model, options).map_err(refuse)?;
    let (functions, pattern) = Compiled::new(&model, objective).map_err(refuse)?;
    let info = Info::new(&model, &names, &functions, objective);
    let meta = meta(&model, file, names, objective, pattern, &functions);
    let Model { y: multipliers, suffixes, .. } = model;
    Ok(NlProblem { meta, info, functions, multipliers, suffixes })
}

fn check_integers(model: &Model, names: &Names, options: &Options) -> Result<(), Complaint> {
    let mut integers = model.header.integer_variables();
    match integers.next() {
        Some(first) if !options.relax_integers => {
            let name = names.variable(first).map_or_else(|| format!("x[{first}]"), str::to_string);
            let count = 1 + integers.count();
            Err(Complaint::whole(match count {
                1 => format!("variable {name} must be an integer, and Tangor solves problems in real numbers"),
                _ => format!("{count} variables must be integers, {name} first, and Tangor solves problems in real numbers"),
            }))
        }
        _ => Ok(()),
    }
}

fn choose(model: &Model, options: &Options) -> Result<Option<usize>, Complaint> {
    match (options.objective, model.objectives.len()) {
        (0, _) | (1, 0) => Ok(None),
        (number, count) if number <= count => Ok(Some(number - 1)),
        (number, 0) => Err(Complaint::whole(format!("objective {number} was asked for, but there is none"))),
        (number, count) => Err(Complaint::whole(format!("objective {number} was asked for, but the last one is {count}"))),
    }
}

/// Bytes that formulas, bounds and linear parts take, for each operation, variable or row, and entry of the Jacobian; second derivatives, which few
/// runs ask for, are left out.
const OF_AN_OPERATION: usize = 80;
const OF_A_VARIABLE_OR_ROW: usize = 64;
const OF_AN_ENTRY: usize = 48;

fn meta(model: &Model, file: &str, names: Names, objective: Option<usize>, jacobian: Pattern, functions: &Compiled) -> Meta {
    let stem = || Path::new(file).file_stem().map_or_else(|| file.to_string(), |stem| stem.to_string_lossy().into_owned());
    let name = if model.header.name.is_empty() { stem() } else { model.header.name.clone() };
    let mut linear_rows = vec![true; model.constraints.len()];
    for &row in &functions.nonlinear {
        linear_rows[row as usize] = false;
    }
    let held = OF_AN_OPERATION * functions.operations()
        + OF_A_VARIABLE_OR_ROW * (model.x_lower.len() + model.c_lower.len())
        + OF_AN_ENTRY * jacobian.len(model.c_lower.len(), model.x_lower.len());
    Meta {
        x_lower: model.x_lower.clone(),
        x_upper: model.x_upper.clone(),
        c_lower: model.c_lower.clone(),
        c_upper: model.c_upper.clone(),
        jacobian,
        held: held as u64,
        has_objective: objective.is_some(),
        maximise: objective.is_some_and(|k| model.objectives[k].maximise),
        variable_names: names.variables,
        row_names: names.rows,
        linear_rows,
        ..Meta::new(name, model.x.clone())
    }
}

impl NlProblem {
    /// What the file says of itself.
    pub fn info(&self) -> &Info {
        &self.info
    }

    /// The first ten lines of the file.
    pub fn header(&self) -> &Header {
        &self.info.header
    }

    /// The suffixes that the file brings.
    pub fn suffixes(&self) -> &[Suffix] {
        &self.suffixes
    }

    /// The multipliers of the rows that the file gives to begin with, in AMPL's sign: the slope of the optimal value by the
    /// right-hand side. Empty when the file has none.
    pub fn multipliers(&self) -> &[f64] {
        &self.multipliers
    }

    /// The same in Tangor's sign, in which `grad f + J'y - mu = 0` at a solution. Nothing when the file has none, or some that are
    /// not numbers.
    pub fn start_multipliers(&self) -> Option<Vec<f64>> {
        let usable = !self.multipliers.is_empty() && self.multipliers.iter().all(|y| y.is_finite());
        usable.then(|| self.multipliers.iter().map(|y| -y).collect())
    }

    /// For each entry of the gradient of the objective, the sum of the sizes of the terms that it is a sum of: its rounding error is
    /// relative to this.
    pub fn gradient_sizes(&mut self, x: &[f64], sizes: &mut [f64]) {
        self.functions.gradient_sizes(x, sizes);
    }

    /// The problem with second derivatives; refused when they would take too much memory.
    pub fn with_hessian(mut self) -> Result<Self, NlError> {
        if self.functions.prepare_hessian() {
            return Ok(self);
        }
        let complaint = Complaint::whole("the second derivatives of this problem would take too much memory");
        Err(complaint.in_file(&self.meta.name, &[], true, String::new()))
    }
}

impl Problem for NlProblem {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn objective(&mut self, x: &[f64]) -> Evaluation<f64> {
        let mut out = Outputs::default();
        self.functions.evaluate(x, Wanted { objective: true, ..Wanted::NOTHING }, &mut out);
        Ok(out.objective.unwrap_or(0.0))
    }

    fn gradient(&mut self, x: &[f64], g: &mut [f64]) -> Evaluation {
        let mut out = Outputs { gradient: g, ..Outputs::default() };
        self.functions.evaluate(x, Wanted { gradient: true, ..Wanted::NOTHING }, &mut out);
        Ok(())
    }

    fn constraints(&mut self, x: &[f64], c: &mut [f64]) -> Evaluation {
        let mut out = Outputs { constraints: c, ..Outputs::default() };
        self.functions.evaluate(x, Wanted { constraints: true, ..Wanted::NOTHING }, &mut out);
        Ok(())
    }

    fn jacobian(&mut self, x: &[f64], values: &mut [f64]) -> Evaluation {
        let mut out = Outputs { jacobian: values, ..Outputs::default() };
        self.functions.evaluate(x, Wanted { jacobian: true, ..Wanted::NOTHING }, &mut out);
        Ok(())
    }

    fn evaluate(&mut self, x: &[f64], wanted: Wanted, out: &mut Outputs<'_>) -> Result<(), FunctionFailure> {
        if x.len() != self.meta.n() {
            // One after the other they say what is wrong.
            return evaluate_separately(self, x, wanted, out);
        }
        self.functions.evaluate(x, wanted.of(&self.meta), out);
        Ok(())
    }

    fn second_order(&mut self) -> Option<&mut dyn SecondOrder> {
        if self.functions.prepare_hessian() { Some(self) } else { None }
    }
}

impl SecondOrder for NlProblem {
    /// Empty before [`NlProblem::with_hessian`] or [`Problem::second_order`].
    fn hessian_pattern(&self) -> &Pattern {
        const EMPTY: &Pattern = &Pattern::Sparse { rows: Vec::new(), columns: Vec::new() };
        self.functions.hessian_pattern().unwrap_or(EMPTY)
    }

    fn hessian(&mut self, x: &[f64], sigma: f64, y: &[f64], values: &mut [f64]) -> Evaluation {
        self.functions.hessian(x, sigma, y, values);
        Ok(())
    }
}
