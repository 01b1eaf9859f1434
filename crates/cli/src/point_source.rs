//! Points that a user gives in a file.

use std::path::{Path, PathBuf};

use clap::Args;
use serde::Deserialize;
use tangor_problem::{MemoryLimit, Meta, count_of};

use crate::error::Error;

/// A bare list of numbers, or a result of `tangor solve --json`.
#[derive(Deserialize)]
#[serde(untagged)]
enum Form {
    List(Vec<f64>),
    Report {
        x: Vec<f64>,
        #[serde(default)]
        row_multipliers: Option<Vec<f64>>,
    },
}

/// Where functions are looked at.
#[derive(Debug, Args)]
pub struct PointArguments {
    /// Where: a file with a JSON list of numbers, or a result of `tangor solve --json`; the start if none is given
    #[arg(long, value_name = "POINT.json")]
    at: Option<PathBuf>,
}

impl PointArguments {
    /// The point of the file, or else the start that is given.
    pub fn or(&self, meta: &Meta, start: impl FnOnce() -> Vec<f64>) -> Result<Vec<f64>, Error> {
        self.at.as_deref().map_or_else(|| Ok(start()), |path| read(path, meta, MemoryLimit::of_this_machine()))
    }
}

/// A point, and what is known of the multipliers there.
pub struct Start {
    /// The point.
    pub x: Vec<f64>,
    /// One for each constraint, if the file has them.
    pub row_multipliers: Option<Vec<f64>>,
}

/// Reads the point of a file and makes sure that it fits the problem.
pub fn read(path: &Path, meta: &Meta, memory: MemoryLimit) -> Result<Vec<f64>, Error> {
    Ok(read_start(path, meta, memory)?.x)
}

/// The same with its multipliers.
pub fn read_start(path: &Path, meta: &Meta, memory: MemoryLimit) -> Result<Start, Error> {
    let text = memory.read_text(path).map_err(|cause| Error::Unreadable { path: path.to_owned(), cause })?;
    let wrong = |message: String| Error::Point { path: path.to_owned(), message };
    let form: Form = serde_json::from_str(&text)
        .map_err(|_| wrong("it must be a JSON list of numbers, or a result of `tangor solve --json`".to_string()))?;
    let start = match form {
        Form::List(x) => Start { x, row_multipliers: None },
        Form::Report { x, row_multipliers } => Start { x, row_multipliers },
    };
    let (found, n) = (start.x.len(), meta.n());
    if found != n {
        return Err(wrong(format!("it has {}, but {} has {}", count_of(found, "number"), meta.name, count_of(n, "variable"))));
    }
    match start.row_multipliers.as_ref().is_some_and(|y| y.len() != meta.m()) {
        true => {
            Err(wrong(format!("its multipliers are not those of the {} of {}", count_of(meta.m(), "constraint"), meta.name)))
        }
        false => Ok(start),
    }
}

/// A point with its multipliers: a result of `tangor solve --json`.
pub fn read_result(path: &Path, meta: &Meta, memory: MemoryLimit) -> Result<(Vec<f64>, Vec<f64>), Error> {
    let Start { x, row_multipliers } = read_start(path, meta, memory)?;
    let missing = || Error::Point {
        path: path.to_owned(),
        message: "it has no multipliers, as a result of `tangor solve --json` has; --at begins at a point alone".to_string(),
    };
    Ok((x, row_multipliers.ok_or_else(missing)?))
}

/// The start of a problem, projected into its bounds.
pub fn start(meta: &Meta) -> Vec<f64> {
    let bounds = meta.x_lower.iter().zip(&meta.x_upper);
    meta.x0.iter().zip(bounds).map(|(x, (lower, upper))| x.max(*lower).min(*upper)).collect()
}
