//! The result of a run, for Python.

use numpy::PyArray1;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Serialize;
use serde_json::json;
use tangor_problem::{Counts, Meta, Samples};
use tangor_solver::{EvaluationFailure, Event, Report, Verdict, WorstRow};

/// What is small and nested. As JSON it is written at once, without a tree of values before.
#[derive(Serialize)]
struct Rest<'a> {
    worst_rows: &'a [WorstRow],
    evaluations: Counts,
    samples: Samples,
    verdict: Option<Verdict>,
    unusual: &'a [(Event, u64)],
    failure: &'a Option<EvaluationFailure>,
    tangor: &'a str,
}

/// Numbers and arrays as they are; what is small and nested as JSON under `rest`.
pub fn dictionary<'py>(py: Python<'py>, report: &Report, meta: &Meta) -> PyResult<Bound<'py, PyDict>> {
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
    result.set_item("constr_violation", violation(&report.constraints, meta))?;
    let rest = Rest {
        worst_rows: &report.worst_rows,
        evaluations: report.evaluations,
        samples: report.samples,
        verdict: report.verdict,
        unusual: &report.unusual,
        failure: &report.failure,
        tangor: &report.tangor,
    };
    result.set_item("rest", text(&rest)?)?;
    // Apart, since they are long and few look at them.
    result.set_item("settings_json", text(&report.settings)?)?;
    Ok(result)
}

fn text(value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

/// The largest violation of a constraint; NaN where one has no value.
fn violation(c: &[f64], meta: &Meta) -> f64 {
    let each = meta.violations(c).map(f64::abs);
    each.fold(0.0, |worst: f64, one| if worst.is_nan() || one <= worst { worst } else { one })
}
