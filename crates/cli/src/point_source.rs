//! Points that a user gives in a file.

use std::path::Path;

use serde::Deserialize;
use tangor_problem::Meta;

use crate::error::Error;

/// A bare list of numbers, or a result of `tangor solve --json`.
#[derive(Deserialize)]
#[serde(untagged)]
enum Form {
    List(Vec<f64>),
    Report { x: Vec<f64> },
}

/// Reads the point of a file and makes sure that it fits the problem.
pub fn read(path: &Path, meta: &Meta) -> Result<Vec<f64>, Error> {
    let text = std::fs::read_to_string(path).map_err(|cause| Error::Unreadable { path: path.to_owned(), cause })?;
    let wrong = |message: String| Error::Point { path: path.to_owned(), message };
    let form: Form = serde_json::from_str(&text)
        .map_err(|_| wrong("it must be a JSON list of numbers, or a result of `tangor solve --json`".to_string()))?;
    let (Form::List(x) | Form::Report { x }) = form;
    if x.len() == meta.n() {
        Ok(x)
    } else {
        Err(wrong(format!("it has {} numbers, but {} has {} variables", x.len(), meta.name, meta.n())))
    }
}

/// The start of a problem, projected into its bounds.
pub fn start(meta: &Meta) -> Vec<f64> {
    let bounds = meta.x_lower.iter().zip(&meta.x_upper);
    meta.x0.iter().zip(bounds).map(|(x, (lower, upper))| x.max(*lower).min(*upper)).collect()
}
