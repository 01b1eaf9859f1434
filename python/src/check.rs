//! Whether derivatives are right, and what fresh samples say of a point.

use numpy::PyReadonlyArray1;
use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use serde_json::{Value, json};
use tangor_problem::{AtDraws, Comparison, Draw, Problem, Unsteady, check_derivatives};
use tangor_solver::{Candidate, Error, judge_before, judge_point};

use crate::functions::raised;
use crate::model::Model;
use crate::settings;
use crate::shared::Shared;
use crate::values;

/// Compares derivatives with differences at a point; of a noisy problem with these draws. JSON.
#[pyfunction]
pub fn check(py: Python<'_>, model: &Bound<'_, Model>, x: PyReadonlyArray1<'_, f64>, draws: Vec<u64>) -> PyResult<String> {
    let shared = Shared::of_question();
    let x = x.as_slice()?;
    values::check_room(model.get().meta().jacobian_len(), "the Jacobian")?;
    let mut problem: Box<dyn Problem + Send> = match model.get().exact(&shared) {
        Some(problem) => problem,
        None => {
            let draws = draws.into_iter().map(Draw).collect();
            Box::new(AtDraws::new(model.get().build(&shared), draws))
        }
    };
    let found = py.detach(|| check_derivatives(&mut *problem, x)).map_err(|failure| raised(&shared, failure))?;
    py.check_signals()?;
    if shared.is_interrupted() {
        // Where a function has no value is nothing that a check fails by.
        return Err(PyKeyboardInterrupt::new_err(()));
    }
    let all = |comparisons: &[Comparison]| comparisons.iter().map(comparison).collect::<Vec<_>>();
    Ok(json!({
        "right": found.is_right(),
        "compared": found.compared,
        "undecided": found.undecided,
        "worst": found.worst.as_ref().map(comparison),
        "wrong": all(&found.wrong),
        "undeclared": all(&found.undeclared),
        "unsteady": found.unsteady.iter().map(unsteady).collect::<Vec<_>>(),
        "objective": problem.meta().has_objective,
    })
    .to_string())
}

fn comparison(comparison: &Comparison) -> Value {
    json!({
        "function": comparison.function.to_string(),
        "row": comparison.row.as_ref().map(|row| row.1.clone()),
        "column": comparison.column.1,
        "given": comparison.given,
        "estimated": comparison.estimated,
        "excess": comparison.excess(),
        "sentence": comparison.to_string(),
    })
}

fn unsteady(found: &Unsteady) -> Value {
    json!({ "row": found.row.as_ref().map(|row| row.1.clone()), "values": found.values, "sentence": found.to_string() })
}

/// Judges a point with its multipliers on fresh samples. JSON.
#[pyfunction]
pub fn judge(
    py: Python<'_>,
    model: &Bound<'_, Model>,
    x: PyReadonlyArray1<'_, f64>,
    rows: PyReadonlyArray1<'_, f64>,
    bounds: PyReadonlyArray1<'_, f64>,
    settings_json: &str,
) -> PyResult<String> {
    let settings = settings::read(settings_json)?;
    let shared = Shared::of_question();
    let problem = model.get().build(&shared);
    let candidate = Candidate { x: x.as_slice()?, row_multipliers: rows.as_slice()?, bound_multipliers: bounds.as_slice()? };
    let judged = py.detach(|| judge_point(problem, candidate, &settings.sampling));
    Ok(json!(unless_raised(py, &shared, judged)?).to_string())
}

/// Judges the start before a run, without multipliers, to learn of the noise: the verdict as JSON, or none where a function has no value
/// there, and the samples of gradient, constraints and Jacobian that it took.
#[pyfunction]
pub fn pilot(
    py: Python<'_>,
    model: &Bound<'_, Model>,
    x: PyReadonlyArray1<'_, f64>,
    settings_json: &str,
) -> PyResult<(Option<String>, (u64, u64, u64))> {
    let settings = settings::read(settings_json)?;
    let shared = Shared::of_question();
    let problem = model.get().build(&shared);
    let (n, m) = (problem.meta().n(), problem.meta().m());
    let candidate = Candidate { x: x.as_slice()?, row_multipliers: &vec![0.0; m], bound_multipliers: &vec![0.0; n] };
    let judged = py.detach(|| judge_before(problem, candidate, &settings.sampling));
    // A function without a value ends the run at its start, where it is told as in an exact run.
    let judged = match judged {
        Err(Error::Point { .. }) => Ok(None),
        judged => judged.map(Some),
    };
    Ok(match unless_raised(py, &shared, judged)? {
        Some((verdict, samples)) => {
            (Some(json!(verdict).to_string()), (samples.gradient, samples.constraints, samples.jacobian))
        }
        None => (None, (0, 0, 0)),
    })
}

/// What came out, or what a function raised, or that Ctrl-C was pressed meanwhile.
fn unless_raised<T>(py: Python<'_>, shared: &Shared, judged: Result<T, Error>) -> PyResult<T> {
    py.check_signals()?;
    match (shared.take_error(), judged) {
        (Some(error), _) => Err(error),
        _ if shared.is_interrupted() => Err(PyKeyboardInterrupt::new_err(())),
        (None, judged) => judged.map_err(|error| PyValueError::new_err(error.to_string())),
    }
}
