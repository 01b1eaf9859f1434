//! Settings, by the same path as everywhere: nested and checked, with unknown names refused.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use schemars::schema_for;
use tangor_solver::Settings;

/// Settings from JSON; what is not named keeps its default.
pub fn read(json: &str) -> PyResult<Settings> {
    let settings: Settings = serde_json::from_str(json).map_err(|error| {
        // The place in the JSON text means nothing to who wrote keywords.
        let message = error.to_string();
        let message = message.split(" at line ").next().unwrap_or_default();
        PyValueError::new_err(format!("the settings are wrong: {message}"))
    })?;
    settings.validate().map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(settings)
}

/// Checks settings given as JSON, and gives all of them, defaults filled in.
#[pyfunction]
pub fn complete_settings(json: &str) -> PyResult<String> {
    Ok(serde_json::json!(read(json)?).to_string())
}

/// The JSON schema of all settings, with a description of each.
#[pyfunction]
pub fn settings_schema() -> String {
    serde_json::json!(schema_for!(Settings)).to_string()
}
