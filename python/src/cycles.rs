//! Cycles of references through a problem, as of an object whose methods are the functions of a problem that it keeps. Python's collector
//! finds such a cycle only where it sees what Rust holds.

use std::sync::Arc;

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;

/// What holds Python's objects.
pub trait Holds: Send + Sync {
    /// Shows them all.
    fn show(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError>;
}

/// Shows the collector what a definition holds, once, however many models and runs share the definition: they hold this instead. Nothing has to
/// be cleared here, since every cycle goes on through functions and objects of Python, which can be.
#[pyclass(frozen, module = "tangor._tangor")]
pub struct Root(Arc<dyn Holds>);

impl Root {
    /// Of a definition.
    pub fn of(py: Python<'_>, definition: Arc<dyn Holds>) -> PyResult<Py<Self>> {
        Py::new(py, Root(definition))
    }
}

#[pymethods]
impl Root {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.0.show(&visit)
    }
}
