use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tangor_problem::{Problem, ReadingLimits};

use crate::{About, Error, FileKind, Opened};

/// Values for the parameters of a file.
pub type Parameters = BTreeMap<String, f64>;

/// Where a problem comes from; it can be sent to another process and opened there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A problem of the embedded collection.
    Embedded(String),
    /// A file.
    File {
        /// What kind of file.
        kind: FileKind,
        /// Where it is.
        path: PathBuf,
        /// Values for its parameters.
        #[serde(default)]
        parameters: Parameters,
    },
}

impl Source {
    /// A file of a known kind.
    pub fn file(path: PathBuf, parameters: Parameters) -> Result<Self, Error> {
        match FileKind::of(&path) {
            Some(kind) => Ok(Source::File { kind, path, parameters }),
            None => Err(Error::NoReader(path)),
        }
    }

    /// What results call the problem.
    pub fn name(&self) -> String {
        match self {
            Source::Embedded(name) => name.clone(),
            Source::File { path, parameters, .. } => {
                let stem = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
                parameters.iter().fold(stem, |name, (parameter, value)| format!("{name}:{parameter}={value}"))
            }
        }
    }

    /// Opens the problem.
    pub fn open(&self) -> Result<Opened, Error> {
        self.open_within(&ReadingLimits::default())
    }

    /// Opens the problem, if these limits allow it.
    pub fn open_within(&self, reading: &ReadingLimits) -> Result<Opened, Error> {
        match self {
            Source::Embedded(name) => match tangor_collection::find(name) {
                Ok(entry) => Ok(Opened { problem: (entry.build)(), about: About::Embedded(entry) }),
                Err(unknown) => Err(Error::Unknown { unknown, elsewhere: "it is not a file".into() }),
            },
            Source::File { kind, path, parameters } => kind.read(path, parameters, reading),
        }
    }

    /// Opens the problem for its functions alone.
    pub fn problem(&self) -> Result<Box<dyn Problem>, Error> {
        Ok(self.open()?.problem)
    }

    /// Opens the problem for its functions with second derivatives: [`Problem::second_order`] lends them.
    pub fn with_hessian(&self) -> Result<Box<dyn Problem>, Error> {
        self.with_hessian_within(&ReadingLimits::default())
    }

    /// The same, if these limits allow it.
    pub fn with_hessian_within(&self, reading: &ReadingLimits) -> Result<Box<dyn Problem>, Error> {
        let mut problem = match self {
            Source::Embedded(_) => self.problem()?,
            Source::File { kind, path, parameters } => kind.read_with_hessian(path, parameters, reading)?,
        };
        if problem.second_order().is_none() {
            return Err(Error::NoHessian(self.to_string()));
        }
        Ok(problem)
    }
}

/// As a sentence says it: "the embedded problem HS71".
impl fmt::Display for Source {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Embedded(name) => write!(out, "the embedded problem {name}"),
            Source::File { kind, path, parameters } => {
                write!(out, "the {} {}", kind.name(), path.display())?;
                let mut list = parameters.iter().enumerate();
                list.try_for_each(|(i, (name, value))| write!(out, "{}{name} = {value}", if i == 0 { " with " } else { ", " }))
            }
        }
    }
}
