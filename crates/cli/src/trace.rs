//! One line per iteration into a file, as JSON or CSV. The file always ends in a whole line, so that an interrupted run leaves
//! something to work with; a run that goes on continues it without gaps and repeats.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
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
    true_feasibility,true_complementarity,judged_stationarity,judged_feasibility,judged_complementarity,seconds,unusual\n";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    JsonLines,
    Csv,
}

/// Bytes that are kept in memory while the file takes none: a disk may be full for a while.
const MOST_KEPT: usize = 1 << 24;

/// What lines go to.
trait Target: Write {
    /// Takes away all but so many bytes, and goes on after them. A pipe cannot be cut and has nothing to be cut.
    fn cut(&mut self, length: u64) -> io::Result<()>;
}

impl Target for File {
    fn cut(&mut self, length: u64) -> io::Result<()> {
        if !self.metadata()?.is_file() {
            return Ok(());
        }
        self.set_len(length)?;
        self.seek(SeekFrom::Start(length)).map(|_| ())
    }
}

/// Writes rows into a file. A failure does not end the run: the lines are kept for a while and tried again.
pub struct Trace {
    path: PathBuf,
    file: Box<dyn Target>,
    format: Format,
    buffer: Vec<u8>,
    written: Instant,
    /// How long the file is: whole lines, all of which were written.
    length: u64,
    failure: Option<io::Error>,
    /// Lines were thrown away, and later ones would leave a gap.
    ended: bool,
}

impl Trace {
    /// Starts a trace. That of a run that goes on at an iteration continues the file, of which later rows are taken away.
    pub fn create(path: &Path, resumed_at: Option<u64>) -> Result<Self, Error> {
        let format = match files::extension(path).as_str() {
            "jsonl" | "ndjson" | "json" => Format::JsonLines,
            "csv" => Format::Csv,
            _ => return Err(Error::Extension { path: path.to_owned(), expected: ".jsonl, .json or .csv" }),
        };
        let unwritable = |cause| Error::Unwritable { path: path.to_owned(), cause };
        let file = OpenOptions::new().create(true).read(true).write(true).truncate(false).open(path).map_err(unwritable)?;
        let length = match resumed_at {
            Some(iteration) => kept(&file, format, iteration).map_err(unwritable)?,
            None => Ok(0),
        };
        let length = length.map_err(|message| Error::Trace { path: path.to_owned(), message })?;
        let mut trace = Trace::over(path, Box::new(file), format, length);
        trace.cut().map_err(unwritable)?;
        Ok(trace)
    }

    /// A trace of which so many bytes are there already.
    fn over(path: &Path, file: Box<dyn Target>, format: Format, length: u64) -> Self {
        let mut buffer = Vec::with_capacity(BYTES);
        if format == Format::Csv && length == 0 {
            buffer.extend_from_slice(CSV_HEADER.as_bytes());
        }
        Trace { path: path.to_owned(), file, format, buffer, written: Instant::now(), length, failure: None, ended: false }
    }

    /// Adds a row.
    pub fn row(&mut self, row: &Row) {
        if self.ended {
            return;
        }
        let before = self.buffer.len();
        let added = match self.format {
            Format::JsonLines => json_line(&mut self.buffer, row),
            Format::Csv => csv_line(&mut self.buffer, row),
        };
        if let Err(cause) = added {
            self.buffer.truncate(before);
            self.failure = Some(cause);
            self.ended = true;
        }
        if self.buffer.len() >= BYTES || self.written.elapsed() >= AGE {
            self.flush();
        }
    }

    /// Writes all that was kept back. The first failure is told at once, for there may be time to do something about it.
    pub fn flush(&mut self) {
        self.written = Instant::now();
        let written = self.cut().and_then(|()| self.file.write_all(&self.buffer));
        let Err(cause) = written else {
            self.length += self.buffer.len() as u64;
            self.buffer.clear();
            if !self.ended {
                self.failure = None;
            }
            return;
        };
        // Whole lines or nothing; what cannot be cut now is cut before the next attempt.
        let _ = self.cut();
        if self.failure.is_none() {
            files::warn(&self.path, &cause);
        }
        self.failure = Some(cause);
        self.ended |= self.buffer.len() >= MOST_KEPT;
        if self.ended {
            self.buffer.clear();
        }
    }

    /// Writes the rest, and gives the reason if not all lines could be written.
    pub fn finish(mut self) -> Option<(PathBuf, Error)> {
        self.flush();
        let path = self.path;
        self.failure.map(|cause| (path.clone(), Error::Unwritable { path, cause }))
    }

    /// Takes away what does not belong to whole lines.
    fn cut(&mut self) -> io::Result<()> {
        self.file.cut(self.length)
    }
}

/// The length of the beginning of a trace that belongs to a run before an iteration: whole lines, up to the iteration just before. An
/// empty file is a beginning, too; an inner error is a sentence on what is missing.
fn kept(file: &File, format: Format, iteration: u64) -> io::Result<Result<u64, String>> {
    if !file.metadata()?.is_file() {
        return Ok(Ok(0));
    }
    let mut lines = BufReader::new(file);
    let (mut line, mut length, mut last, mut first) = (Vec::new(), 0, None, true);
    loop {
        line.clear();
        let count = lines.read_until(b'\n', &mut line)?;
        if count == 0 || line.last() != Some(&b'\n') {
            break;
        }
        let header = format == Format::Csv && std::mem::take(&mut first);
        if header && line != CSV_HEADER.as_bytes() {
            return Ok(Err("has other columns than those of this program".to_string()));
        }
        match number(format, &line) {
            _ if header => {}
            Some(row) if row < iteration => last = Some(row),
            Some(_) => break,
            None => return Ok(Err("has a line that is not one of a trace".to_string())),
        }
        length += count as u64;
    }
    match last {
        Some(last) if last + 1 < iteration => {
            Ok(Err(format!("ends with iteration {last}, but the saved state is that before iteration {iteration}")))
        }
        _ => Ok(Ok(length)),
    }
}

/// The iteration of a line.
fn number(format: Format, line: &[u8]) -> Option<u64> {
    #[derive(serde::Deserialize)]
    struct Numbered {
        iteration: u64,
    }
    match format {
        Format::JsonLines => serde_json::from_slice::<Numbered>(line).ok().map(|row| row.iteration),
        Format::Csv => std::str::from_utf8(line).ok()?.split(',').next()?.parse().ok(),
    }
}

fn json_line(out: &mut Vec<u8>, row: &Row) -> io::Result<()> {
    serde_json::to_writer(&mut *out, row)?;
    out.push(b'\n');
    Ok(())
}

fn csv_line(out: &mut Vec<u8>, row: &Row) -> io::Result<()> {
    let mut line = csv::Writer::from_writer(out);
    line.write_field(row.iteration.to_string())?;
    // What is not known is blank.
    let real = |value: f64| if value.is_nan() { String::new() } else { format!("{value:e}") };
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
    reals.into_iter().try_for_each(|value| line.write_field(real(value)))?;
    let (counts, samples) = (&row.evaluations, &row.samples);
    let counts = [counts.objective, counts.gradient, counts.constraints, counts.jacobian];
    let counts = counts.into_iter().chain([samples.gradient, samples.constraints, samples.jacobian]);
    line.write_field(row.kernel_iterations.to_string())?;
    counts.into_iter().try_for_each(|count| line.write_field(count.to_string()))?;
    for known in [row.true_residuals, row.judged] {
        let values = known.map(|known| [known.stationarity, known.feasibility, known.complementarity]);
        values.unwrap_or([f64::NAN; 3]).into_iter().try_for_each(|value| line.write_field(real(value)))?;
    }
    line.write_field(row.seconds.to_string())?;
    line.write_field(row.unusual.iter().map(|event| event.to_string()).collect::<Vec<_>>().join("; "))?;
    line.write_record(None::<&[u8]>)?;
    line.flush()
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use tangor_collection::find;
    use tangor_solver::{Settings, Solver};

    use super::*;

    /// A disk on which every n-th call fails, a write after half of its bytes.
    struct Failing {
        bytes: Arc<Mutex<Vec<u8>>>,
        calls: usize,
        every: usize,
    }

    impl Failing {
        fn fails(&mut self) -> bool {
            self.calls += 1;
            self.calls.is_multiple_of(self.every)
        }
    }

    fn disk_full() -> io::Error {
        io::Error::new(io::ErrorKind::StorageFull, "no space left")
    }

    impl Write for Failing {
        fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
            let fails = self.fails();
            let some = if fails { buffer.len() / 2 } else { buffer.len().min(1000) };
            self.bytes.lock().unwrap().extend_from_slice(&buffer[..some]);
            if fails { Err(disk_full()) } else { Ok(some) }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Target for Failing {
        fn cut(&mut self, length: u64) -> io::Result<()> {
            if self.fails() {
                return Err(disk_full());
            }
            self.bytes.lock().unwrap().truncate(length as usize);
            Ok(())
        }
    }

    fn rows() -> Vec<Row> {
        let (mut rows, entry) = (Vec::new(), find("HS71").unwrap());
        Solver::new((entry.build)(), Settings::default()).unwrap().run(&mut |row: &Row, _: &[f64]| {
            rows.push(*row);
            std::ops::ControlFlow::Continue(())
        });
        rows
    }

    #[test]
    fn on_a_disk_where_every_nth_call_fails_lines_have_neither_gaps_nor_repeats() {
        let rows = rows();
        for format in [Format::Csv, Format::JsonLines] {
            let mut all_written = 0;
            for every in 1..=12 {
                let bytes = Arc::new(Mutex::new(Vec::new()));
                let file = Box::new(Failing { bytes: bytes.clone(), calls: 0, every });
                let mut trace = Trace::over(Path::new("trace"), file, format, 0);
                for row in &rows {
                    trace.row(row);
                    trace.flush();
                }
                let told = trace.finish();
                let text = String::from_utf8(bytes.lock().unwrap().clone()).unwrap();
                let lines = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
                let numbers: Vec<u64> = lines.filter_map(|line| number(format, line.as_bytes())).collect();
                assert!(numbers.iter().copied().eq(0..numbers.len() as u64), "every {every}-th call fails: {numbers:?}");
                let is_whole = numbers.len() == rows.len() && text.ends_with('\n');
                assert!(is_whole || told.is_some(), "every {every}-th call fails, and nobody is told");
                all_written += usize::from(told.is_none());
            }
            assert!(all_written > 0, "some of these disks can be written to");
        }
    }
}
