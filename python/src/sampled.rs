//! A problem whose functions are averages over draws, with Python's functions.

use std::sync::{Arc, Weak};

use numpy::PyArray1;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use tangor_problem::{Access, Accesses, Draw, Evaluation, Meta, Pattern, SampledProblem};

use crate::call::Call;
use crate::cycles::Holds;
use crate::definition::{meta, wanted};
use crate::functions::still_there;
use crate::shared::{Callee, Shared};
use crate::sparse::Rows;
use crate::values;

/// A noisy problem as Python states it.
pub struct SampledDefinition {
    /// Sizes, bounds, names, start and pattern.
    pub meta: Meta,
    accesses: Accesses,
    exact_rows: Vec<bool>,
    pattern: Option<Rows>,
    /// `evaluate(x, draws) -> (g, c, J)`, or with the objective first
    evaluate: Option<Call>,
    objective: Option<Call>,
    gradient: Option<Call>,
    constraints: Option<Call>,
    jacobian: Option<Call>,
}

impl SampledDefinition {
    /// Reads what the Python layer prepared.
    pub fn new(data: &Bound<'_, PyDict>) -> PyResult<Self> {
        let mut meta = meta(data)?;
        let pattern = match wanted(data, "pattern")?.extract::<Option<(Vec<usize>, Vec<usize>)>>()? {
            None => None,
            Some((start, columns)) => Some(Rows::new(meta.n(), start, columns)?),
        };
        if let Some(pattern) = &pattern {
            if pattern.m() != meta.m() {
                return Err(PyValueError::new_err("the rows of the constraints and those of their pattern disagree"));
            }
            let row = |i: usize| std::iter::repeat_n(i, pattern.start[i + 1] - pattern.start[i]);
            meta.jacobian =
                Pattern::Sparse { rows: (0..pattern.m()).flat_map(row).collect(), columns: pattern.columns.clone() };
        }
        meta.validate().map_err(|error| PyValueError::new_err(format!("{}: {error}", meta.name)))?;
        let call = |key: &str| -> PyResult<Option<Call>> {
            let given = wanted(data, key)?.extract::<Option<(Py<PyAny>, Py<PyTuple>, bool)>>()?;
            Ok(given.map(|given| Call::new(given, data.py())))
        };
        let access = |key: &str| -> PyResult<Access> {
            Ok(match wanted(data, key)?.extract::<Option<i64>>()? {
                None => Access::Endless,
                Some(members) if members > 0 => Access::Finite(members.unsigned_abs()),
                Some(_) => Access::Exact,
            })
        };
        Ok(SampledDefinition {
            accesses: Accesses {
                gradient: access("gradient_members")?,
                constraints: access("constraint_members")?,
                jacobian: access("jacobian_members")?,
            },
            exact_rows: wanted(data, "exact_rows")?.extract()?,
            meta,
            pattern,
            evaluate: call("evaluate")?,
            objective: call("objective")?,
            gradient: call("gradient")?,
            constraints: call("constraints")?,
            jacobian: call("jacobian")?,
        })
    }
}

impl Holds for SampledDefinition {
    fn show(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        let calls = [&self.evaluate, &self.objective, &self.gradient, &self.constraints, &self.jacobian];
        calls.into_iter().flatten().try_for_each(|call| call.show(visit))
    }
}

/// Calls the functions of a noisy problem.
pub struct SampledFunctions {
    meta: Arc<Meta>,
    /// As of exact functions, the model or the run keeps it.
    definition: Weak<SampledDefinition>,
    accesses: Accesses,
    exact_rows: Vec<bool>,
    shared: Arc<Shared>,
    last: Option<Last>,
    /// Whether the call for all gives the objective as well; nothing before the first.
    gives_objective: Option<bool>,
}

/// What one call for all gave.
struct Last {
    objective: Option<Py<PyAny>>,
    x: Vec<f64>,
    draws: Vec<u64>,
    parts: [Py<PyAny>; 3],
}

impl SampledFunctions {
    /// The functions of a definition, for one run.
    pub fn new(meta: Arc<Meta>, definition: &Arc<SampledDefinition>, shared: Arc<Shared>) -> Self {
        let (accesses, exact_rows) = (definition.accesses, definition.exact_rows.clone());
        SampledFunctions {
            meta,
            definition: Arc::downgrade(definition),
            accesses,
            exact_rows,
            shared,
            last: None,
            gives_objective: None,
        }
    }

    /// One of the three from its own function, or from the one for all, which is called once for the same point and draws.
    fn part<'py>(&mut self, py: Python<'py>, which: usize, x: &[f64], draws: &[Draw]) -> PyResult<Bound<'py, PyAny>> {
        let definition = still_there(&self.definition)?;
        let own = [&definition.gradient, &definition.constraints, &definition.jacobian][which];
        if let Some(call) = own {
            self.shared.count([Callee::Gradient, Callee::Constraints, Callee::Jacobian][which]);
            return self.shared.lender.show(py, x, |x| call.at_draws(x.as_any(), numbers(py, draws).as_any()));
        }
        Ok(self.all(py, x, draws)?.parts[which].bind(py).clone())
    }

    /// The objective from the function for all, if that gives one.
    fn objective_of_all(&mut self, x: &[f64], draws: &[Draw]) -> Option<Evaluation<f64>> {
        let found = self.shared.clone().attach(|py| {
            let objective = self.all(py, x, draws)?.objective.as_ref().map(|value| value.bind(py).clone());
            objective.map(|value| values::number(&value, "the objective")).transpose()
        });
        found.transpose()
    }

    /// What the function for all gives, which is called once for the same point and draws.
    fn all(&mut self, py: Python<'_>, x: &[f64], draws: &[Draw]) -> PyResult<&Last> {
        let definition = still_there(&self.definition)?;
        let evaluate = definition.evaluate.as_ref().ok_or_else(|| PyTypeError::new_err("a function is missing"))?;
        let known = self.last.as_ref().is_some_and(|last| {
            last.x == x && last.draws.len() == draws.len() && last.draws.iter().zip(draws).all(|(a, b)| *a == b.0)
        });
        if !known {
            self.shared.count(Callee::Everything);
            // Exact parts are asked for without draws, but the function gives all parts: it gets one.
            let some = if draws.is_empty() { &[Draw(0)] } else { draws };
            let result = self.shared.lender.show(py, x, |x| evaluate.at_draws(x.as_any(), numbers(py, some).as_any()))?;
            let tuple = result.cast::<PyTuple>().ok().filter(|tuple| (3..=4).contains(&tuple.len())).ok_or_else(|| {
                PyTypeError::new_err(
                    "evaluate(x, draws) must give a tuple: gradient, constraints and Jacobian, or the objective and these three",
                )
            })?;
            let first = tuple.len() - 3;
            let part = |k: usize| Ok::<_, PyErr>(tuple.get_item(first + k)?.unbind());
            let objective = if first == 1 { Some(tuple.get_item(0)?.unbind()) } else { None };
            self.gives_objective = Some(objective.is_some());
            let (parts, draws) = ([part(0)?, part(1)?, part(2)?], draws.iter().map(|draw| draw.0).collect());
            self.last = Some(Last { objective, x: x.to_vec(), draws, parts });
        }
        self.last.as_ref().ok_or_else(|| PyTypeError::new_err("a function is missing"))
    }
}

fn numbers<'py>(py: Python<'py>, draws: &[Draw]) -> Bound<'py, PyArray1<u64>> {
    PyArray1::from_iter(py, draws.iter().map(|draw| draw.0))
}

impl SampledProblem for SampledFunctions {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn accesses(&self) -> Accesses {
        self.accesses
    }

    fn exact_rows(&self) -> &[bool] {
        &self.exact_rows
    }

    fn gradient(&mut self, x: &[f64], draws: &[Draw], g: &mut [f64]) -> Evaluation {
        self.shared.clone().attach(|py| {
            let n = g.len();
            let why = || format!("there are {n} variables: give the average over the draws");
            values::vector(&self.part(py, 0, x, draws)?, g, "the gradient", &why)
        })
    }

    fn constraints(&mut self, x: &[f64], draws: &[Draw], c: &mut [f64]) -> Evaluation {
        self.shared.clone().attach(|py| {
            let result = self.part(py, 1, x, draws)?;
            let m = c.len();
            let why = || format!("there are {m} rows: give the average over the draws");
            values::vector(&result, c, "the constraints", &why)
        })
    }

    fn jacobian(&mut self, x: &[f64], draws: &[Draw], values: &mut [f64]) -> Evaluation {
        self.shared.clone().attach(|py| {
            let result = self.part(py, 2, x, draws)?;
            match &still_there(&self.definition)?.pattern {
                Some(pattern) => pattern.take(&result, values, "the Jacobian"),
                None => crate::values::matrix(&result, (self.meta.m(), x.len()), values, "the Jacobian"),
            }
        })
    }

    fn place(&mut self, x: &mut Arc<Vec<f64>>, write: &mut dyn FnMut(&mut [f64])) {
        self.shared.lender.place(x, write);
    }

    fn objective(&mut self, x: &[f64], draws: &[Draw]) -> Option<Evaluation<f64>> {
        let definition = self.definition.upgrade()?;
        let Some(call) = definition.objective.as_ref() else {
            let asked = self.gives_objective.unwrap_or(definition.evaluate.is_some());
            return asked.then(|| self.objective_of_all(x, draws)).flatten();
        };
        Some(self.shared.clone().attach(|py| {
            self.shared.count(Callee::Objective);
            let numbers = numbers(py, draws);
            self.shared.lender.show(py, x, |x| values::number(&call.at_draws(x.as_any(), numbers.as_any())?, "the objective"))
        }))
    }
}
