//! A picture of a run: residuals, merit parameter and stepsize against iterations, on logarithmic scales.

mod axis;
mod figure;
mod history;

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use tangor_solver::{Report, Row};

use crate::error::Error;
use crate::files;
use history::History;

/// Collects a run and draws it at its end.
pub struct Plot {
    path: PathBuf,
    file: File,
    history: History,
}

impl Plot {
    /// Makes sure that the picture can be written.
    pub fn create(path: &Path) -> Result<Self, Error> {
        if files::extension(path) != "svg" {
            return Err(Error::Extension { path: path.to_owned(), expected: ".svg" });
        }
        Ok(Plot { path: path.to_owned(), file: files::open(path)?, history: History::default() })
    }

    /// Remembers a row.
    pub fn row(&mut self, row: &Row) {
        self.history.push(*row);
    }

    /// Draws the picture.
    pub fn finish(mut self, report: &Report) -> Result<(), Error> {
        let picture = figure::draw(&self.history.rows(), report);
        let written = self.file.set_len(0).and_then(|()| self.file.write_all(picture.as_bytes()));
        written.map_err(|cause| Error::Unwritable { path: self.path, cause })
    }
}
