//! The models and values of AMPL's library beside the repository, when they are there.

#![allow(dead_code)]

pub mod binary;

use std::path::{Path, PathBuf};

use serde_json::Value;

/// The folder of the models and the folder of the reference values; nothing, with a line that says so, when they are not there.
pub fn folders() -> Option<(PathBuf, PathBuf)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/nl");
    if !folder.is_dir() {
        println!("skipped: there is no folder ../shared/nl beside the repository");
        return None;
    }
    Some((folder.join("models"), folder.join("reference")))
}

/// The models, in the order of their names.
pub fn models(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder can be listed");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry can be read").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "nl"));
    paths.sort();
    paths
}

/// The reference values of a model.
pub fn reference(folder: &Path, model: &Path) -> Value {
    let path = folder.join(model.file_name().expect("a model is a file")).with_extension("json");
    serde_json::from_slice(&std::fs::read(path).expect("every model has its values")).expect("reference values are JSON")
}

/// A number, or `"inf"`, `"-inf"`, `"nan"`.
pub fn number(value: &Value) -> f64 {
    match value.as_str() {
        Some("inf") => f64::INFINITY,
        Some("-inf") => f64::NEG_INFINITY,
        Some(_) => f64::NAN,
        None => value.as_f64().unwrap_or(f64::NAN),
    }
}

/// A list of numbers.
pub fn numbers(value: &Value) -> Option<Vec<f64>> {
    Some(value.as_array()?.iter().map(number).collect())
}
