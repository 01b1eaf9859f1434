//! The result of a run, for Python.

use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::json;
use tangor_solver::Report;

/// Numbers and arrays as they are; what is small and nested as JSON under `rest`.
pub fn dictionary<'py>(py: Python<'py>, report: &Report) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    let name = |value: serde_json::Value| value.as_str().unwrap_or_default().to_string();
    result.set_item("problem", &report.problem)?;
    result.set_item("stop", name(json!(report.stop)))?;
    result.set_item("point", name(json!(report.point)))?;
    result.set_item("message", &report.message)?;
    result.set_item("fun", report.objective)?;
    for (key, values) in [
        ("x", &report.x),
        ("constr", &report.constraints),
        ("row_multipliers", &report.row_multipliers),
        ("bound_multipliers", &report.bound_multipliers),
    ] {
        result.set_item(key, PyArray1::from_slice(py, values))?;
    }
    result.set_item("average", report.average.as_ref().map(|average| PyArray1::from_slice(py, average)))?;
    result.set_item("stationarity", report.stationarity)?;
    result.set_item("feasibility", report.feasibility)?;
    result.set_item("complementarity", report.complementarity)?;
    result.set_item("infeasible_stationarity", report.infeasible_stationarity)?;
    result.set_item("nit", report.iterations)?;
    result.set_item("execution_time", report.seconds)?;
    result.set_item("rho", report.rho)?;
    let rest = json!({
        "worst_rows": report.worst_rows,
        "evaluations": report.evaluations,
        "samples": report.samples,
        "verdict": report.verdict,
        "unusual": report.unusual,
        "failure": report.failure,
        "settings": report.settings,
        "tangor": report.tangor,
    });
    result.set_item("rest", rest.to_string())?;
    Ok(result)
}
