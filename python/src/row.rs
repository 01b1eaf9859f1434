//! One iteration for Python, and the trace of a run.

use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tangor_solver::{Row, TrueResiduals};

/// The most rows of a trace; a longer run keeps every second, fourth, ... one.
const LONGEST_TRACE: usize = 20_000;

/// One iteration, as it is seen by a callback.
#[pyclass(frozen, name = "Row", module = "tangor._tangor")]
pub struct PyRow {
    row: Row,
    x: Py<PyArray1<f64>>,
}

impl PyRow {
    /// With the point of the iteration.
    pub fn new(py: Python<'_>, row: Row, x: &[f64]) -> Self {
        PyRow { row, x: PyArray1::from_slice(py, x).unbind() }
    }
}

#[pymethods]
impl PyRow {
    /// The point of this iteration.
    #[getter]
    fn x(&self, py: Python<'_>) -> Py<PyArray1<f64>> {
        self.x.clone_ref(py)
    }
    /// Counted from 0.
    #[getter]
    fn iteration(&self) -> u64 {
        self.row.iteration
    }
    /// The same as `iteration`, by SciPy's name.
    #[getter]
    fn nit(&self) -> u64 {
        self.row.iteration
    }
    /// The objective; NaN in a noisy run, which never evaluates it.
    #[getter]
    fn fun(&self) -> f64 {
        self.row.objective
    }
    /// `|g + J^T y - mu|`
    #[getter]
    fn stationarity(&self) -> f64 {
        self.row.stationarity
    }
    /// The violation of the constraints, 2-norm.
    #[getter]
    fn feasibility(&self) -> f64 {
        self.row.feasibility
    }
    /// The sum of |multiplier| times distance to the bound.
    #[getter]
    fn complementarity(&self) -> f64 {
        self.row.complementarity
    }
    /// Length of the normal step.
    #[getter]
    fn normal(&self) -> f64 {
        self.row.normal
    }
    /// Length of the tangent step.
    #[getter]
    fn tangent(&self) -> f64 {
        self.row.tangent
    }
    /// Merit parameter.
    #[getter]
    fn rho(&self) -> f64 {
        self.row.rho
    }
    /// Stepsize; 0 in the last row.
    #[getter]
    fn eta(&self) -> f64 {
        self.row.eta
    }
    /// Share of the residual that the linearised constraints can remove.
    #[getter]
    fn theta(&self) -> f64 {
        self.row.theta
    }
    /// Samples of all functions so far.
    #[getter]
    fn samples(&self) -> u64 {
        self.row.samples.total()
    }
    /// Evaluations of all functions so far.
    #[getter]
    fn evaluations(&self) -> u64 {
        self.row.evaluations.total()
    }
    /// Wall time since the start.
    #[getter]
    fn seconds(&self) -> f64 {
        self.row.seconds
    }
    /// What was unusual, such as "shortened".
    #[getter]
    fn unusual(&self) -> Vec<String> {
        self.row.unusual.iter().map(|event| event.to_string()).collect()
    }
    fn __repr__(&self) -> String {
        let Row { iteration, objective, stationarity, feasibility, complementarity, .. } = self.row;
        format!(
            "Row(iteration={iteration}, fun={objective:.6e}, stationarity={stationarity:.1e}, feasibility={feasibility:.1e}, \
             complementarity={complementarity:.1e})"
        )
    }
}

/// The rows of a run, thinned out where they are many; of two variables also the points.
#[derive(Default)]
pub struct Trace {
    rows: Vec<Row>,
    path: Vec<f64>,
    stride: u64,
    seen: u64,
}

impl Trace {
    /// Keeps a row.
    pub fn add(&mut self, row: &Row, x: &[f64]) {
        let stride = self.stride.max(1);
        // Judgements are rare, and all of them are kept until the rows are thinned out.
        if self.seen.is_multiple_of(stride) || row.judged.is_some() {
            self.rows.push(*row);
            if x.len() == 2 {
                self.path.extend_from_slice(x);
            }
        }
        self.seen += 1;
        if self.rows.len() > LONGEST_TRACE {
            self.stride = 2 * stride;
            let mut index = 0..;
            self.rows.retain(|_| index.next().is_some_and(|k: usize| k.is_multiple_of(2)));
            let mut index = 0..;
            self.path.retain(|_| index.next().is_some_and(|k: usize| (k / 2).is_multiple_of(2)));
        }
    }

    /// Columns by their names.
    pub fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let columns = PyDict::new(py);
        let real = |of: fn(&Row) -> f64| PyArray1::from_iter(py, self.rows.iter().map(of));
        let whole = |of: fn(&Row) -> u64| PyArray1::from_iter(py, self.rows.iter().map(of));
        columns.set_item("iteration", whole(|row| row.iteration))?;
        columns.set_item("fun", real(|row| row.objective))?;
        columns.set_item("stationarity", real(|row| row.stationarity))?;
        columns.set_item("feasibility", real(|row| row.feasibility))?;
        columns.set_item("complementarity", real(|row| row.complementarity))?;
        columns.set_item("normal", real(|row| row.normal))?;
        columns.set_item("tangent", real(|row| row.tangent))?;
        columns.set_item("rho", real(|row| row.rho))?;
        columns.set_item("eta", real(|row| row.eta))?;
        columns.set_item("theta", real(|row| row.theta))?;
        columns.set_item("kernel_iterations", whole(|row| u64::from(row.kernel_iterations)))?;
        columns.set_item("evaluations", whole(|row| row.evaluations.total()))?;
        columns.set_item("samples", whole(|row| row.samples.total()))?;
        columns.set_item("seconds", real(|row| row.seconds))?;
        columns.set_item("unusual", self.rows.iter().map(|row| row.unusual.to_string()).collect::<Vec<_>>())?;
        // Of a noisy run: what fresh samples said, where they were asked.
        if self.rows.iter().any(|row| row.judged.is_some()) {
            let judged = |of: fn(&TrueResiduals) -> f64| {
                PyArray1::from_iter(py, self.rows.iter().map(move |row| row.judged.as_ref().map_or(f64::NAN, of)))
            };
            columns.set_item("judged_stationarity", judged(|residuals| residuals.stationarity))?;
            columns.set_item("judged_feasibility", judged(|residuals| residuals.feasibility))?;
            columns.set_item("judged_complementarity", judged(|residuals| residuals.complementarity))?;
        }
        if !self.path.is_empty() {
            columns.set_item("x0", PyArray1::from_iter(py, self.path.iter().step_by(2).copied()))?;
            columns.set_item("x1", PyArray1::from_iter(py, self.path.iter().skip(1).step_by(2).copied()))?;
        }
        Ok(columns)
    }
}
