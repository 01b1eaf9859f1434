//! One function of the user.

use numpy::PyArray1;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::depth::deeper;
use crate::memory::Lender;
use crate::parked;

/// A function with the arguments that follow `x`.
pub struct Call {
    function: Py<PyAny>,
    args: Option<Py<PyTuple>>,
    /// Whether it takes the keyword `out` and writes into that array.
    out: bool,
}

impl Call {
    /// From Python's `(function, args, takes out)`.
    pub fn new((function, args, out): (Py<PyAny>, Py<PyTuple>, bool), py: Python<'_>) -> Self {
        let args = Some(args).filter(|args| !args.bind(py).is_empty());
        Call { function, args, out }
    }

    /// Shows Python's collector what it holds.
    pub fn show(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.function)?;
        visit.call(&self.args)
    }

    fn arguments<'py>(&self, py: Python<'py>, first: &[&Bound<'py, PyAny>]) -> PyResult<Bound<'py, PyTuple>> {
        let first = PyTuple::new(py, first)?;
        match &self.args {
            None => Ok(first),
            Some(args) => first.add(args.bind(py))?.cast_into().map_err(PyErr::from),
        }
    }

    /// The function at an array.
    pub fn at<'py>(&self, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        deeper(|| match &self.args {
            None => parked::call(self.function.bind(x.py()), (x,), None),
            Some(_) => parked::call(self.function.bind(x.py()), self.arguments(x.py(), &[x])?, None),
        })
    }

    /// The function at an array and at the draws.
    pub fn at_draws<'py>(&self, x: &Bound<'py, PyAny>, draws: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        deeper(|| match &self.args {
            None => parked::call(self.function.bind(x.py()), (x, draws), None),
            Some(_) => parked::call(self.function.bind(x.py()), self.arguments(x.py(), &[x, draws])?, None),
        })
    }

    /// The function at several points, in threads of `tangor._threads.Threads`: the sequence of what it gives.
    pub fn in_threads<'py>(
        &self,
        threads: &Py<PyAny>,
        points: &Bound<'py, PyList>,
        rows: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = points.py();
        let args = self.args.as_ref().map_or_else(|| PyTuple::empty(py), |args| args.bind(py).clone());
        parked::method(threads.bind(py), "at_points", (&self.function, args, points, self.out.then_some(rows)))
    }

    /// The function at `x`, whose values `take` puts into `values` unless the function wrote them there itself.
    pub fn fill<'py>(
        &self,
        py: Python<'py>,
        lender: &Lender,
        x: &[f64],
        values: &mut [f64],
        take: impl FnOnce(&Bound<'py, PyAny>, &mut [f64]) -> PyResult<()>,
    ) -> PyResult<()> {
        if !self.out {
            return lender.show(py, x, |x| take(&self.at(x.as_any())?, values));
        }
        // What it forgets to write is then no number, and not that of another point.
        values.fill(f64::NAN);
        let elsewhere = lender.show(py, x, |x| lender.lend(py, values, |out| self.write(x, out)))?;
        elsewhere.map_or(Ok(()), |result| take(&result, values))
    }

    /// None: the values are in `out`.
    fn write<'py>(
        &self,
        x: &Bound<'py, PyArray1<f64>>,
        out: &Bound<'py, PyArray1<f64>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let py = x.py();
        let keywords = PyDict::new(py);
        keywords.set_item("out", out)?;
        let result = deeper(|| parked::call(self.function.bind(py), self.arguments(py, &[x.as_any()])?, Some(&keywords)))?;
        Ok(Some(result).filter(|result| !result.is_none() && !result.is(out)))
    }
}
