//! One line per iteration into a file, as JSON or CSV. The file always ends in a whole line, so that an interrupted run leaves
//! something to work with.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tangor_solver::Row;

use crate::error::Error;
use crate::files;

/// Lines are kept back at most this long,
const AGE: Duration = Duration::from_millis(100);
/// or until there are this many bytes of them.
const BYTES: usize = 1 << 16;

const CSV_HEADER: &str = "iteration,objective,stationarity,feasibility,complementarity,normal,tangent,rho,eta,theta,\
    lipschitz_objective,lipschitz_constraints,metric,kernel_iterations,objective_evaluations,gradient_evaluations,\
    constraints_evaluations,jacobian_evaluations,gradient_samples,constraints_samples,jacobian_samples,true_stationarity,\
    true_feasibility,true_complementarity,seconds,unusual\n";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    JsonLines,
    Csv,
}

/// Writes rows into a file.
pub struct Trace {
    path: PathBuf,
    file: File,
    format: Format,
    buffer: Vec<u8>,
    written: Instant,
}

impl Trace {
    /// Starts a trace; the one of a resumed run is added to what the file holds.
    pub fn create(path: &Path, append: bool) -> Result<Self, Error> {
        let format = match files::extension(path).as_str() {
            "jsonl" | "ndjson" | "json" => Format::JsonLines,
            "csv" => Format::Csv,
            _ => return Err(Error::Extension { path: path.to_owned(), expected: ".jsonl, .json or .csv" }),
        };
        let unwritable = |cause| Error::Unwritable { path: path.to_owned(), cause };
        let options = OpenOptions::new().create(true).append(append).write(true).truncate(!append).open(path);
        let file = options.map_err(unwritable)?;
        let is_empty = file.metadata().map_err(unwritable)?.len() == 0;
        let mut buffer = Vec::with_capacity(BYTES);
        if format == Format::Csv && is_empty {
            buffer.extend_from_slice(CSV_HEADER.as_bytes());
        }
        Ok(Trace { path: path.to_owned(), file, format, buffer, written: Instant::now() })
    }

    /// Adds a row.
    pub fn row(&mut self, row: &Row) -> Result<(), Error> {
        let added = match self.format {
            Format::JsonLines => json_line(&mut self.buffer, row),
            Format::Csv => csv_line(&mut self.buffer, row),
        };
        added.map_err(|cause| self.unwritable(cause))?;
        if self.buffer.len() >= BYTES || self.written.elapsed() >= AGE {
            self.flush()?;
        }
        Ok(())
    }

    /// Writes all that was kept back.
    pub fn flush(&mut self) -> Result<(), Error> {
        self.file.write_all(&self.buffer).map_err(|cause| self.unwritable(cause))?;
        self.buffer.clear();
        self.written = Instant::now();
        Ok(())
    }

    fn unwritable(&self, cause: io::Error) -> Error {
        Error::Unwritable { path: self.path.clone(), cause }
    }
}

fn json_line(out: &mut Vec<u8>, row: &Row) -> io::Result<()> {
    serde_json::to_writer(&mut *out, row)?;
    out.push(b'\n');
    Ok(())
}

fn csv_line(out: &mut Vec<u8>, row: &Row) -> io::Result<()> {
    write!(out, "{}", row.iteration)?;
    let reals = [
        row.objective,
        row.stationarity,
        row.feasibility,
        row.complementarity,
        row.normal,
        row.tangent,
        row.rho,
        row.eta,
        row.theta,
        row.lipschitz_objective,
        row.lipschitz_constraints,
        row.metric,
    ];
    for real in reals {
        write!(out, ",{real:e}")?;
    }
    let (counts, samples) = (&row.evaluations, &row.samples);
    write!(out, ",{},{},{}", row.kernel_iterations, counts.objective, counts.gradient)?;
    write!(out, ",{},{}", counts.constraints, counts.jacobian)?;
    write!(out, ",{},{},{}", samples.gradient, samples.constraints, samples.jacobian)?;
    match &row.true_residuals {
        Some(exact) => write!(out, ",{:e},{:e},{:e}", exact.stationarity, exact.feasibility, exact.complementarity)?,
        None => write!(out, ",,,")?,
    }
    write!(out, ",{},", row.seconds)?;
    for (k, event) in row.unusual.iter().enumerate() {
        let separator = if k == 0 { "" } else { "; " };
        write!(out, "{separator}{event}")?;
    }
    out.push(b'\n');
    Ok(())
}
