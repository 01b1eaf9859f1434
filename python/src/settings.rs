//! Settings, by the same path as everywhere: nested and checked, with unknown names refused.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use schemars::schema_for;
use serde_json::Value;
use tangor_solver::Settings;

/// Settings from JSON; what is not named keeps its default.
pub fn read(json: &str) -> PyResult<Settings> {
    if json == "{}" {
        return Ok(Settings::default());
    }
    let settings: Settings = serde_json::from_str(json).map_err(|error| {
        // The place in the JSON text means nothing to who wrote keywords.
        let message = error.to_string();
        let message = message.split(" at line ").next().unwrap_or_default();
        PyValueError::new_err(format!("the settings are wrong: {message}"))
    })?;
    settings.validate().map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(settings)
}

/// The settings of a run that goes on, of which some are changed by JSON. What shapes the state of a run can no longer be changed.
pub fn changed(settings: &Settings, json: &str) -> PyResult<Settings> {
    let wrong = |error: serde_json::Error| PyValueError::new_err(format!("the settings are wrong: {error}"));
    let mut all = serde_json::json!(settings);
    put(&mut all, serde_json::from_str(json).map_err(wrong)?);
    let changed = read(&all.to_string())?;
    let rest = Settings { limits: settings.limits.clone(), tolerance: settings.tolerance.clone(), ..changed.clone() };
    match difference(&serde_json::json!(settings), &serde_json::json!(rest)) {
        None => Ok(changed),
        Some(path) => Err(PyValueError::new_err(format!(
            "the setting {path} cannot be changed in a resumed run: only limits and tolerances can"
        ))),
    }
}

/// The path of a setting that differs.
fn difference(old: &Value, new: &Value) -> Option<String> {
    match (old, new) {
        _ if old == new => None,
        (Value::Object(old), Value::Object(new)) if old.keys().eq(new.keys()) => {
            let found = old.iter().find_map(|(name, value)| Some((name, difference(value, &new[name])?)));
            found.map(|(name, rest)| if rest.is_empty() { name.clone() } else { format!("{name}.{rest}") })
        }
        _ => Some(String::new()),
    }
}

/// Group by group. A choice with data, whose name the old one lacks, replaces it; so does a misspelt name, which is then refused.
fn put(all: &mut Value, new: Value) {
    match (all, new) {
        (Value::Object(all), Value::Object(new)) if new.keys().all(|name| all.contains_key(name)) => {
            new.into_iter().for_each(|(name, value)| put(&mut all[&name], value));
        }
        (all, new) => *all = new,
    }
}

/// Checks settings given as JSON, and gives all of them, defaults filled in.
#[pyfunction]
pub fn complete_settings(json: &str) -> PyResult<String> {
    Ok(serde_json::json!(read(json)?).to_string())
}

/// All settings of a preset.
#[pyfunction]
pub fn preset_settings(name: &str) -> PyResult<String> {
    let settings = Settings::default().preset(name).map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(serde_json::json!(settings).to_string())
}

/// The JSON schema of all settings, with a description of each.
#[pyfunction]
pub fn settings_schema() -> String {
    serde_json::json!(schema_for!(Settings)).to_string()
}
