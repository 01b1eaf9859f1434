//! A problem whose functions are Python's.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use numpy::{PyArray1, PyArrayMethods, PyUntypedArray};
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use tangor_problem::{Evaluation, Meta, Problem, count_of};

use crate::call::Call;
use crate::definition::{Block, Definition, Kind, Slope};
use crate::estimate::{Probed, Take};
use crate::shared::{Callee, Shared};
use crate::values;

const OBJECTIVE: &str = "the objective";
const GRADIENT: &str = "the gradient of the objective";

/// Calls the functions of a definition.
pub struct Functions {
    meta: Arc<Meta>,
    /// The model or the run keeps it: the memory of a run, which may outlive both in arrays that were kept, must not.
    definition: Weak<Definition>,
    shared: Arc<Shared>,
    last: Last,
    first: First,
}

/// What functions gave at the start when the problem was read for this run, so that they are not called there again.
#[derive(Default, FromPyObject)]
#[pyo3(from_item_all)]
pub struct First {
    x: Option<Py<PyArray1<f64>>>,
    /// What the function for all gave.
    evaluate: Option<Py<PyAny>>,
    /// The constraints of blocks, by their numbers.
    values: HashMap<usize, Py<PyAny>>,
    /// Their Jacobians.
    slopes: HashMap<usize, Py<PyAny>>,
}

impl First {
    /// Each of them is used once, and nowhere else.
    fn take<T>(&mut self, py: Python<'_>, x: &[f64], take: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let here = self.x.as_ref()?.bind(py);
        // SAFETY: the array is the Python layer's own, and nobody writes to it.
        let same = unsafe { here.as_slice() }.is_ok_and(|here| here == x);
        if same { take(self) } else { None }
    }
}

/// What is known at the last point.
#[derive(Default)]
struct Last {
    x: Vec<f64>,
    objective: Option<f64>,
    gradient: Option<Py<PyAny>>,
    constraints: Option<Py<PyAny>>,
    jacobian: Option<Py<PyAny>>,
}

impl Functions {
    /// The functions of a definition, for one run.
    pub fn new(meta: Arc<Meta>, definition: &Arc<Definition>, shared: Arc<Shared>, first: First) -> Self {
        Functions { meta, definition: Arc::downgrade(definition), shared, last: Last::default(), first }
    }

    /// Forgets what is known of another point.
    fn look_at(&mut self, x: &[f64]) {
        if self.last.x != x {
            let mut kept = std::mem::take(&mut self.last.x);
            kept.clear();
            kept.extend_from_slice(x);
            self.last = Last { x: kept, ..Last::default() };
        }
    }

    /// Calls the function for all, once for each point.
    fn evaluate_all(&mut self, py: Python<'_>, x: &[f64]) -> PyResult<()> {
        let definition = still_there(&self.definition)?;
        let Some(evaluate) = &definition.evaluate else { return Ok(()) };
        self.look_at(x);
        if self.last.objective.is_some() {
            return Ok(());
        }
        self.shared.count(Callee::Everything);
        let result = match self.first.take(py, x, |first| first.evaluate.take()) {
            Some(known) => known.into_bound(py),
            None => self.shared.lender.show(py, x, |x| evaluate.at(x.as_any()))?,
        };
        let four = result.cast::<PyTuple>().ok().filter(|tuple| tuple.len() == 4).ok_or_else(|| {
            PyTypeError::new_err("evaluate(x) must give a tuple of four: objective, gradient, constraints and Jacobian")
        })?;
        let part = |k: usize| four.get_item(k).map(Bound::unbind).map(Some);
        self.last.objective = match self.meta.has_objective {
            true => Some(values::number(&four.get_item(0)?, OBJECTIVE)?),
            false => Some(0.0),
        };
        (self.last.gradient, self.last.constraints, self.last.jacobian) = (part(1)?, part(2)?, part(3)?);
        Ok(())
    }

    fn value(&mut self, py: Python<'_>, x: &[f64]) -> PyResult<f64> {
        let definition = still_there(&self.definition)?;
        let Some(objective) = &definition.objective else {
            self.evaluate_all(py, x)?;
            return Ok(self.last.objective.unwrap_or(0.0));
        };
        self.shared.count(Callee::Objective);
        let together = matches!(objective.slope, Slope::Together);
        if !together {
            let value = self.shared.lender.show(py, x, |x| values::number(&objective.value.at(x.as_any())?, OBJECTIVE))?;
            if matches!(&objective.slope, Slope::Estimated(_)) {
                self.look_at(x);
                self.last.objective = Some(value);
            }
            return Ok(value);
        }
        self.look_at(x);
        let result = self.shared.lender.show(py, x, |x| objective.value.at(x.as_any()))?;
        // SciPy takes a list, too.
        let pair = result.cast::<PyTuple>().cloned().or_else(|_| result.cast::<PyList>().map(|list| list.to_tuple()));
        let pair = pair.ok().filter(|pair| pair.len() == 2);
        let pair =
            pair.ok_or_else(|| PyTypeError::new_err("with jac=True the objective must give a pair: value and gradient"))?;
        let value = values::number(&pair.get_item(0)?, OBJECTIVE)?;
        self.last.gradient = Some(pair.get_item(1)?.unbind());
        self.last.objective = Some(value);
        Ok(value)
    }

    fn slope(&mut self, py: Python<'_>, x: &[f64], g: &mut [f64]) -> PyResult<()> {
        let definition = still_there(&self.definition)?;
        let n = g.len();
        let why = || if n == 1 { "there is 1 variable".to_string() } else { format!("there are {n} variables") };
        match definition.objective.as_ref().map(|objective| (&objective.value, &objective.slope)) {
            Some((_, Slope::Given(call))) => {
                self.shared.count(Callee::Gradient);
                call.fill(py, &self.shared.lender, x, g, |result, g| values::vector(result, g, GRADIENT, &why))
            }
            Some((value, Slope::Estimated(estimation))) => {
                self.look_at(x);
                let known = self.last.objective;
                let take = |result: &Bound<'_, PyAny>, out: &mut [f64]| {
                    out[0] = values::number(result, OBJECTIVE)?;
                    Ok(())
                };
                let probed = self.probed(&definition, value, Callee::Objective, 1, &take);
                probed.slopes(py, x, estimation, known.map(|known| vec![known]), |column, _, slope| g[column] = slope)
            }
            _ => {
                self.look_at(x);
                if self.last.gradient.is_none() {
                    self.value(py, x)?;
                }
                match &self.last.gradient {
                    Some(gradient) => values::vector(gradient.bind(py), g, GRADIENT, &why),
                    None => Err(PyTypeError::new_err(format!("{GRADIENT} is missing"))),
                }
            }
        }
    }

    /// A function whose slopes are estimated.
    fn probed<'a>(
        &'a self,
        definition: &'a Definition,
        call: &'a Call,
        callee: Callee,
        rows: usize,
        take: &'a Take<'a>,
    ) -> Probed<'a> {
        Probed { meta: &self.meta, call, callee, rows, take, shared: &self.shared, threads: definition.threads.as_ref() }
    }

    fn rows(&mut self, py: Python<'_>, x: &[f64], c: &mut [f64]) -> PyResult<()> {
        let definition = still_there(&self.definition)?;
        for (number, block) in definition.blocks.iter().enumerate() {
            let out = &mut c[block.rows.clone()];
            match &block.kind {
                Kind::Linear(matrix) => multiply(block, matrix, x, out),
                Kind::Nonlinear { value, .. } => {
                    self.shared.count(Callee::Constraints);
                    match self.first.take(py, x, |first| first.values.remove(&number)) {
                        Some(known) => take_rows(block, known.bind(py), out)?,
                        None => value.fill(py, &self.shared.lender, x, out, |result, out| take_rows(block, result, out))?,
                    }
                }
                Kind::Fused => {
                    self.evaluate_all(py, x)?;
                    let known = self.last.constraints.as_ref().map(|known| take_rows(block, known.bind(py), out));
                    known.unwrap_or_else(|| Err(PyTypeError::new_err("the constraints are missing")))?;
                }
            }
        }
        Ok(())
    }

    fn row_slopes(&mut self, py: Python<'_>, x: &[f64], all: &mut [f64]) -> PyResult<()> {
        let definition = still_there(&self.definition)?;
        for (number, block) in definition.blocks.iter().enumerate() {
            let out = &mut all[block.entries.clone()];
            let what = &block.jacobian_label;
            match &block.kind {
                Kind::Linear(matrix) => out.copy_from_slice(matrix),
                Kind::Nonlinear { slope: Slope::Given(call), .. } => {
                    self.shared.count(Callee::Jacobian);
                    let take = |result: &Bound<'_, PyAny>, out: &mut [f64]| take_jacobian(block, x.len(), result, out, what);
                    match self.first.take(py, x, |first| first.slopes.remove(&number)) {
                        Some(known) => take(known.bind(py), out)?,
                        None => call.fill(py, &self.shared.lender, x, out, take)?,
                    }
                }
                Kind::Nonlinear { value, slope: Slope::Estimated(estimation) } => {
                    out.fill(0.0);
                    let n = x.len();
                    let take = |result: &Bound<'_, PyAny>, out: &mut [f64]| take_rows(block, result, out);
                    let probed = self.probed(&definition, value, Callee::Constraints, block.rows.len(), &take);
                    probed.slopes(py, x, estimation, None, |column, row, slope| match &block.pattern {
                        None => out[row * n + column] = slope,
                        Some(pattern) => {
                            let columns = &pattern.columns[pattern.start[row]..pattern.start[row + 1]];
                            if let Ok(place) = columns.binary_search(&column) {
                                out[pattern.start[row] + place] = slope;
                            }
                        }
                    })?;
                }
                Kind::Nonlinear { slope: Slope::Together, .. } => {
                    return Err(PyTypeError::new_err("a constraint cannot give value and Jacobian together"));
                }
                Kind::Fused => {
                    self.evaluate_all(py, x)?;
                    match &self.last.jacobian {
                        Some(known) => take_jacobian(block, x.len(), known.bind(py), out, what)?,
                        None => return Err(PyTypeError::new_err(format!("{what} is missing"))),
                    }
                }
            }
        }
        Ok(())
    }
}

/// The definition of a problem, as long as somebody has use for it.
pub fn still_there<T>(definition: &Weak<T>) -> PyResult<Arc<T>> {
    definition.upgrade().ok_or_else(|| PyRuntimeError::new_err("this solver was closed"))
}

fn take_rows(block: &Block, result: &Bound<'_, PyAny>, out: &mut [f64]) -> PyResult<()> {
    if out.len() == 1 && !result.is_instance_of::<PyUntypedArray>() && !result.hasattr("__len__")? {
        out[0] = values::number(result, &block.label)?;
        return Ok(());
    }
    let count = out.len();
    values::vector(result, out, &block.label, &|| format!("has {}", count_of(count, "row")))
}

fn take_jacobian(block: &Block, n: usize, result: &Bound<'_, PyAny>, out: &mut [f64], what: &str) -> PyResult<()> {
    match &block.pattern {
        Some(pattern) => pattern.take(result, out, what),
        None => values::matrix(result, (block.rows.len(), n), out, what),
    }
}

/// `A x`
fn multiply(block: &Block, matrix: &[f64], x: &[f64], c: &mut [f64]) {
    match &block.pattern {
        None => {
            for (c, row) in c.iter_mut().zip(matrix.chunks_exact(x.len())) {
                *c = row.iter().zip(x).map(|(a, x)| a * x).sum();
            }
        }
        Some(pattern) => {
            for (row, c) in c.iter_mut().enumerate() {
                let entries = pattern.start[row]..pattern.start[row + 1];
                *c = entries.map(|k| matrix[k] * x[pattern.columns[k]]).sum();
            }
        }
    }
}

impl Problem for Functions {
    fn meta(&self) -> &Meta {
        &self.meta
    }
    fn objective(&mut self, x: &[f64]) -> Evaluation<f64> {
        self.shared.clone().attach(|py| self.value(py, x))
    }
    fn gradient(&mut self, x: &[f64], g: &mut [f64]) -> Evaluation {
        self.shared.clone().attach(|py| self.slope(py, x, g))
    }
    fn constraints(&mut self, x: &[f64], c: &mut [f64]) -> Evaluation {
        self.shared.clone().attach(|py| self.rows(py, x, c))
    }
    fn jacobian(&mut self, x: &[f64], values: &mut [f64]) -> Evaluation {
        self.shared.clone().attach(|py| self.row_slopes(py, x, values))
    }
    fn place(&mut self, x: &mut Arc<Vec<f64>>, write: &mut dyn FnMut(&mut [f64])) {
        self.shared.lender.place(x, write);
    }
}

/// For evaluations that somebody asks for from Python: the exception itself, or a NaN's cause as one.
pub fn raised(shared: &Shared, failure: tangor_problem::Failure) -> PyErr {
    shared.take_error().unwrap_or_else(|| match shared.is_interrupted() {
        true => PyKeyboardInterrupt::new_err(()),
        false => PyValueError::new_err(failure.to_string()),
    })
}
