//! Rows on disk: JSON lines that only grow, each flushed when its run has ended, so that a kill loses nothing; and CSV.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use tangor_solver::write_whole_file;

use crate::Error;
use crate::record::Record;
use crate::spreadsheet;
use crate::task::Task;

/// The rows of finished runs.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// The rows, in the order in which their runs ended.
    pub records: Vec<Record>,
}

impl Journal {
    /// Opens a journal, or makes one. A last line that a kill cut short is dropped, and its run will be done again.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let mut file = opened.map_err(|cause| Error::unwritable(path, cause))?;
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(|cause| Error::unreadable(path, cause))?;
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        let mut records = Vec::new();
        for (number, line) in text[..whole].lines().enumerate() {
            let record = serde_json::from_str(line)
                .map_err(|cause| Error::table(path, format!("line {} is not a row: {cause}", number + 1)))?;
            records.push(record);
        }
        let end = whole as u64;
        let cut = file.set_len(end).and_then(|()| file.seek(SeekFrom::Start(end)));
        cut.map_err(|cause| Error::unwritable(path, cause))?;
        Ok(Journal { path: path.to_owned(), file, records })
    }

    /// Forgets all rows.
    pub fn clear(&mut self) -> Result<(), Error> {
        self.records.clear();
        let cleared = self.file.set_len(0).and_then(|()| self.file.rewind());
        cleared.map_err(|cause| Error::unwritable(&self.path, cause))
    }

    /// Adds a row.
    pub fn push(&mut self, record: Record) -> Result<(), Error> {
        let mut line = serde_json::to_string(&record).map_err(|cause| Error::Encoding(cause.to_string()))?;
        line.push('\n');
        // One write for the whole line: a kill leaves it complete or cut, never mixed with another.
        let written = self.file.write_all(line.as_bytes()).and_then(|()| self.file.flush());
        written.map_err(|cause| Error::unwritable(&self.path, cause))?;
        self.records.push(record);
        Ok(())
    }

    /// The tasks that have no row yet. Rows of the same solver that were made with another setup are refused.
    pub fn missing(&self, tasks: Vec<Task>) -> Result<Vec<Task>, Error> {
        let done: HashSet<(&str, &str, u64)> =
            self.records.iter().map(|row| (row.problem.as_str(), row.solver.as_str(), row.seed)).collect();
        for task in &tasks {
            let label = task.contender.label.as_str();
            if self.records.iter().any(|row| row.solver == label && row.setup != task.setup()) {
                return Err(Error::OtherSetup { path: self.path.clone(), solver: label.to_string() });
            }
        }
        let is_missing = |task: &Task| !done.contains(&(&*task.member.name, &*task.contender.label, task.seed));
        Ok(tasks.into_iter().filter(is_missing).collect())
    }

    /// The rows of these tasks, in their order.
    pub fn rows_of(&self, tasks: &[Task]) -> Vec<Record> {
        let is_row_of = |row: &&Record, task: &Task| {
            row.problem == task.member.name && row.solver == task.contender.label && row.seed == task.seed
        };
        tasks.iter().filter_map(|task| self.records.iter().find(|row| is_row_of(row, task)).cloned()).collect()
    }
}

/// How every table of runs begins.
const BEGINNING: &[u8] = b"problem,solver,seed,";

/// Refuses a file that is there already and no table of runs: it would be lost.
pub fn refuse_foreign(path: &Path) -> Result<(), Error> {
    let Ok(file) = File::open(path) else { return Ok(()) };
    let mut first = Vec::new();
    file.take(BEGINNING.len() as u64).read_to_end(&mut first).map_err(|cause| Error::unreadable(path, cause))?;
    match first.is_empty() || first == BEGINNING {
        true => Ok(()),
        false => Err(Error::table(path, "it exists and is no table of runs; name another file".to_string())),
    }
}

/// Writes the rows of runs as CSV, without their traces.
pub fn write_csv(path: &Path, records: &[Record]) -> Result<(), Error> {
    let rows: Vec<Record> = records.iter().map(|record| Record { trace: Vec::new(), ..record.clone() }).collect();
    write_rows(path, &rows)
}

/// Writes rows of any kind as CSV.
pub fn write_rows(path: &Path, rows: &[impl Serialize]) -> Result<(), Error> {
    write_whole_file(path, spreadsheet::of_rows(rows)?.as_bytes()).map_err(|cause| Error::unwritable(path, cause))
}
