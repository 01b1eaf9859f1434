//! Derivatives of Python's functions by differences: at which points they are called, and in which thread.
//!
//! Functions are called one after the other from the thread of the run. With the threads of the user's problem (`threads=`) several points
//! are handed over at once; the values, and so the slopes, are the same bits.

use numpy::{Complex64, PyArray1};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyList;
use tangor_problem::Meta;

use crate::call::Call;
use crate::definition::Estimation;
use crate::differences::{Scheme, Stencil};
use crate::parked;
use crate::shared::{Callee, Shared};

/// Groups of columns whose points are handed to the threads at once. More than there are threads, so that none waits long for another.
const GROUPS_AT_ONCE: usize = 64;

/// What a function gave becomes numbers.
pub type Take<'a> = dyn Fn(&Bound<'_, PyAny>, &mut [f64]) -> PyResult<()> + 'a;

/// A function whose slopes are wanted.
pub struct Probed<'a> {
    /// Sizes and bounds.
    pub meta: &'a Meta,
    /// The function.
    pub call: &'a Call,
    /// Whose calls they are.
    pub callee: Callee,
    /// How many values it has.
    pub rows: usize,
    /// What it gave as numbers.
    pub take: &'a Take<'a>,
    /// The run.
    pub shared: &'a Shared,
    /// Threads in which it may be called.
    pub threads: Option<&'a Py<PyAny>>,
}

/// Where variables of a group are looked at.
type Moved = Vec<(usize, Stencil)>;

impl Probed<'_> {
    /// Calls `put(column, row, slope)` for each column and row; columns of a group are moved together. `centre`: the values at `x`, if known.
    pub fn slopes(
        &self,
        py: Python<'_>,
        x: &[f64],
        estimation: &Estimation,
        mut centre: Option<Vec<f64>>,
        mut put: impl FnMut(usize, usize, f64),
    ) -> PyResult<()> {
        let meta = self.meta;
        let stencil = |i: usize| Stencil::new(estimation.scheme, x[i], (meta.x_lower[i], meta.x_upper[i]), estimation.step(i));
        let mut probe = x.to_vec();
        for groups in estimation.groups.chunks(if self.threads.is_some() { GROUPS_AT_ONCE } else { 1 }) {
            let moved: Vec<Moved> =
                groups.iter().map(|group| group.iter().filter_map(|&i| Some((i, stencil(i)?))).collect()).collect();
            let needs_centre = moved.iter().flatten().any(|(_, stencil)| stencil.weights[0] != 0.0);
            if needs_centre && centre.is_none() && estimation.scheme != Scheme::ComplexStep {
                let mut values = vec![0.0; self.rows];
                self.call_at(py, x, &mut values)?;
                centre = Some(values);
            }
            let values = match self.threads {
                Some(threads) => self.in_threads(py, threads, x, estimation.scheme, &moved)?,
                None => moved
                    .iter()
                    .map(|moved| self.in_turn(py, (x, &mut probe), estimation.scheme, moved))
                    .collect::<PyResult<_>>()?,
            };
            for ((group, moved), at) in groups.iter().zip(&moved).zip(&values) {
                for &column in group {
                    let known = moved.iter().find(|(i, _)| *i == column).map(|(_, stencil)| stencil.weights);
                    let [w, a, b] = known.unwrap_or_default();
                    for row in 0..self.rows {
                        // What has no weight may be undefined.
                        let part = |weight: f64, values: Option<&Vec<f64>>| {
                            if weight == 0.0 { 0.0 } else { values.map_or(0.0, |values| weight * values[row]) }
                        };
                        put(column, row, part(w, centre.as_ref()) + part(a, at.first()) + part(b, at.get(1)));
                    }
                }
            }
        }
        Ok(())
    }

    /// The values at the points of a group, one after the other; `probe` is equal to `x` before and after.
    fn in_turn(
        &self,
        py: Python<'_>,
        (x, probe): (&[f64], &mut [f64]),
        scheme: Scheme,
        moved: &Moved,
    ) -> PyResult<Vec<Vec<f64>>> {
        let mut all = Vec::with_capacity(2);
        if scheme == Scheme::ComplexStep {
            for point in points(py, x, scheme, moved) {
                self.shared.count(self.callee);
                let mut values = vec![0.0; self.rows];
                (self.take)(&imaginary(&self.call.at(&point)?)?, &mut values)?;
                all.push(values);
            }
            return Ok(all);
        }
        for side in 0..sides(scheme, moved) {
            moved.iter().for_each(|(i, stencil)| probe[*i] = stencil.points[side]);
            let mut values = vec![0.0; self.rows];
            let called = self.call_at(py, probe, &mut values);
            moved.iter().for_each(|(i, _)| probe[*i] = x[*i]);
            called?;
            all.push(values);
        }
        Ok(all)
    }

    fn call_at(&self, py: Python<'_>, x: &[f64], values: &mut [f64]) -> PyResult<()> {
        self.shared.count(self.callee);
        self.call.fill(py, &self.shared.lender, x, values, |result, values| (self.take)(result, values))
    }

    /// The values at the points of several groups, each point an array of its own.
    fn in_threads(
        &self,
        py: Python<'_>,
        threads: &Py<PyAny>,
        x: &[f64],
        scheme: Scheme,
        moved: &[Moved],
    ) -> PyResult<Vec<Vec<Vec<f64>>>> {
        let all: Vec<Bound<'_, PyAny>> = moved.iter().flat_map(|moved| points(py, x, scheme, moved)).collect();
        all.iter().for_each(|_| self.shared.count(self.callee));
        let results = self.call.in_threads(threads, &PyList::new(py, &all)?, self.rows)?;
        let mut results = results.try_iter()?;
        let mut next = || -> PyResult<Vec<f64>> {
            let result = results.next().ok_or_else(|| pyo3::exceptions::PyRuntimeError::new_err("a thread gave nothing"))??;
            let mut values = vec![0.0; self.rows];
            match scheme {
                Scheme::ComplexStep => (self.take)(&imaginary(&result)?, &mut values)?,
                _ => (self.take)(&result, &mut values)?,
            }
            Ok(values)
        };
        moved.iter().map(|moved| (0..sides(scheme, moved)).map(|_| next()).collect()).collect()
    }
}

/// How many points a group has: none if all of its variables are fixed.
fn sides(scheme: Scheme, moved: &Moved) -> usize {
    match (moved.is_empty(), scheme) {
        (true, _) => 0,
        (_, Scheme::ThreePoint) => 2,
        _ => 1,
    }
}

/// The points of a group as arrays of their own.
fn points<'py>(py: Python<'py>, x: &[f64], scheme: Scheme, moved: &Moved) -> Vec<Bound<'py, PyAny>> {
    let at_side = |side: usize| {
        if scheme == Scheme::ComplexStep {
            let mut point: Vec<Complex64> = x.iter().map(|&x| Complex64::new(x, 0.0)).collect();
            moved.iter().for_each(|(i, stencil)| point[*i].im = stencil.points[0]);
            return PyArray1::from_vec(py, point).into_any();
        }
        let mut point = x.to_vec();
        moved.iter().for_each(|(i, stencil)| point[*i] = stencil.points[side]);
        PyArray1::from_vec(py, point).into_any()
    };
    (0..sides(scheme, moved)).map(at_side).collect()
}

/// What is real there lost the step on its way, as through `float(...)`: it would look like a slope of zero.
fn imaginary<'py>(result: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let numpy = result.py().import("numpy")?.into_any();
    match parked::method(&numpy, "iscomplexobj", (result,))?.is_truthy()? {
        true => parked::method(&numpy, "imag", (result,)),
        false => Err(PyTypeError::new_err(
            "with differences \"cs\" functions are called at complex points and must give complex numbers there, but one gave real ones",
        )),
    }
}
