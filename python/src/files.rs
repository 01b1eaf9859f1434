//! Problems that are Rust's own: the collection and SIF files.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tangor_collection::{entries, find};
use tangor_problem::{ClosureProblem, Meta, Problem};

use crate::model::Model;

/// The names of the embedded problems.
#[pyfunction]
pub fn collection_names() -> Vec<&'static str> {
    entries().iter().map(|entry| entry.name).collect()
}

/// An embedded problem and what is known of it.
#[pyfunction]
pub fn collection_problem<'py>(py: Python<'py>, name: &str) -> PyResult<(Model, Bound<'py, PyDict>)> {
    let entry = find(name).map_err(|unknown| PyKeyError::new_err(unknown.to_string()))?;
    let known = PyDict::new(py);
    known.set_item("title", entry.title)?;
    known.set_item("source", entry.source)?;
    known.set_item("kind", entry.kind.to_string())?;
    known.set_item("fun", entry.known.objective)?;
    known.set_item("x", numpy::PyArray1::from_vec(py, (entry.known.x)()))?;
    known.set_item("what", serde_json::json!(entry.known.what).as_str())?;
    known.set_item("note", entry.known.note)?;
    Ok((Model::native((entry.build)()), known))
}

/// The problem of a SIF file, with parameters of the file replaced.
#[pyfunction]
pub fn read_sif(py: Python<'_>, path: PathBuf, parameters: BTreeMap<String, f64>) -> PyResult<Model> {
    let options = tangor_sif::Options { parameters, ..tangor_sif::Options::default() };
    let read = py.detach(|| tangor_sif::read(&path, &options));
    let problem = read.map_err(|error| PyValueError::new_err(error.to_string()))?;
    // The structure of second derivatives takes time and memory: only who asks for them waits for it.
    let again = move || {
        let problem = tangor_sif::read(&path, &options).and_then(tangor_sif::SifProblem::with_hessian).ok()?;
        Some(Box::new(problem) as Box<dyn Problem + Send>)
    };
    Ok(Model::with_second(Box::new(problem), again))
}

/// The problem of a .nl file; integer variables are refused unless they may be treated as real ones.
#[pyfunction]
pub fn read_nl(py: Python<'_>, path: PathBuf, relax_integers: bool) -> PyResult<Model> {
    let options = tangor_nl::Options { relax_integers, ..tangor_nl::Options::default() };
    let problem = py.detach(|| tangor_nl::read(&path, &options)).map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(Model::native(Box::new(problem)))
}

/// `minimise 1/2 sum_i w_i x_i^2 subject to sum_i x_i = 1` with `w_i = 1 + i / n`, all in Rust: the yardstick of `benchmarks/overhead.py`.
#[pyfunction]
pub fn weighted_squares(n: usize) -> PyResult<Model> {
    let weight = move |i: usize| 1.0 + i as f64 / n as f64;
    let problem = ClosureProblem::builder(Meta::new("weighted squares", vec![1.0; n]).equalities(&[1.0]))
        .objective(move |x| 0.5 * x.iter().enumerate().map(|(i, x)| weight(i) * x * x).sum::<f64>())
        .gradient(move |x, g| g.iter_mut().enumerate().for_each(|(i, g)| *g = weight(i) * x[i]))
        .constraints(|x, c| c[0] = x.iter().sum())
        .jacobian(|_, values| values.fill(1.0))
        .build();
    Ok(Model::native(Box::new(problem.map_err(|error| PyValueError::new_err(error.to_string()))?)))
}
