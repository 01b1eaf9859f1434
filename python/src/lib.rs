//! The Python package `tangor`, as far as it is Rust: problems with Python's functions, runs, files. The Python layer beside it
//! (`tangor/*.py`) reads what people write and makes what they see.

mod call;
mod check;
mod cycles;
mod definition;
mod depth;
mod differences;
mod estimate;
mod files;
mod functions;
mod memory;
mod model;
mod parked;
mod passes;
mod report;
mod row;
mod run;
mod sampled;
mod settings;
mod shared;
mod sparse;
mod torch;
mod values;
mod vectors;

use pyo3::prelude::*;

/// What the package `tangor` is built on; use that.
#[pymodule(gil_used = true)]
mod _tangor {
    use numpy::{PyArray1, PyArrayMethods};
    use pyo3::prelude::*;

    /// NumPy's functions are looked up when they are first needed, and a Ctrl-C in the middle of that would be a panic: it is done here.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.py().check_signals()?;
        let _ = PyArray1::<f64>::zeros(module.py(), 0, false).readonly();
        Ok(())
    }

    #[pymodule_export]
    use crate::check::{check, judge, pilot};
    #[pymodule_export]
    use crate::files::{collection_names, collection_problem, read_nl, read_sif, weighted_squares};
    #[pymodule_export]
    use crate::model::Model;
    #[pymodule_export]
    use crate::row::PyRow;
    #[pymodule_export]
    use crate::run::Run;
    #[pymodule_export]
    use crate::settings::{complete_settings, preset_settings, settings_schema};
    #[pymodule_export]
    use crate::shared::Undefined;
    #[pymodule_export]
    use crate::torch::solve_from_products;
    #[pymodule_export]
    use crate::vectors::{add_squares, combine_rows, row_products, rows_along, take_row_in};
}
