//! The one place where problems are opened: by the name of an embedded one, or by a file's extension.

use std::path::Path;

use tangor_collection::{Entry, find};
use tangor_problem::Problem;

use crate::error::Error;

/// A problem that is ready to be solved.
pub struct Opened {
    /// The problem.
    pub problem: Box<dyn Problem + Send>,
    /// What is known of it, when it is an embedded one.
    pub entry: Option<&'static Entry>,
}

/// Opens the problem that a user named.
pub fn open(name: &str) -> Result<Opened, Error> {
    match find(name) {
        Ok(entry) => Ok(Opened { problem: (entry.build)(), entry: Some(entry) }),
        Err(_) if looks_like_a_file(name) => Err(Error::NoReader(name.to_owned())),
        Err(unknown) => Err(unknown.into()),
    }
}

fn looks_like_a_file(name: &str) -> bool {
    let path = Path::new(name);
    path.extension().is_some() || path.components().count() > 1 || path.is_file()
}
