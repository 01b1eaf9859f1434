use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use tangor_problem::SampledProblem;
use tangor_solver::{Observer, Report, Row, Solver, TrueResiduals};

use crate::error::Error;
use crate::exit;
use crate::plot::Plot;
use crate::progress::Progress;
use crate::screen::Listener;
use crate::style::BAD;
use crate::table::Table;
use crate::trace::Trace;

/// All who watch a run. A screen that fails ends it; a file that fails does not, and is named at the end.
pub struct Watch {
    /// The screen.
    pub listener: Listener,
    /// The iteration table.
    pub table: Table,
    /// A bar instead of the table.
    pub progress: Option<Progress>,
    /// The trace file.
    pub trace: Option<Trace>,
    /// The picture.
    pub plot: Option<Plot>,
    /// The true residuals of the next row, when it is worth them.
    pub truth: Option<TrueResiduals>,
    /// Why the screen failed.
    failure: Option<Error>,
    /// The files that could not be written, or not all of it.
    unwritten: Vec<(PathBuf, Error)>,
}

impl Watch {
    /// A table on the screen, or a bar, and the files of a run.
    pub fn new(
        listener: Listener,
        table: Table,
        progress: Option<Progress>,
        (trace, plot): (Option<Trace>, Option<Plot>),
    ) -> Self {
        Watch { listener, table, progress, trace, plot, truth: None, failure: None, unwritten: Vec::new() }
    }

    /// Before an iteration: true residuals are only found for rows that get a line.
    pub fn prepare<S: SampledProblem>(&mut self, solver: &mut Solver<S>) {
        self.truth = if self.table.expects_line() { solver.true_residuals() } else { None };
    }

    fn show(&mut self, row: &Row) -> Result<(), Error> {
        if let Some(progress) = &mut self.progress {
            progress.row(row);
        }
        if let Some(plot) = &mut self.plot {
            plot.row(row);
        }
        if let Some(trace) = &mut self.trace {
            trace.row(row);
        }
        self.table.row(&mut self.listener, row)?;
        Ok(())
    }

    /// Completes table, trace and picture of a run that has ended.
    pub fn finish<S: SampledProblem>(&mut self, solver: &mut Solver<S>, report: &Report) -> Result<(), Error> {
        if let Some(progress) = &mut self.progress {
            progress.finish();
        }
        let trace = self.trace.take().and_then(Trace::finish);
        let plot = self.plot.take().and_then(|plot| plot.finish(report));
        self.unwritten.extend(trace.into_iter().chain(plot));
        let truth = if self.table.is_unfinished() { solver.true_residuals() } else { None };
        self.table.finish(&mut self.listener, truth)?;
        self.failure.take().map_or(Ok(()), Err)
    }

    /// Keeps a file in mind that could not be written.
    pub fn regret(&mut self, path: PathBuf, cause: Error) {
        self.unwritten.push((path, cause));
    }

    /// Whether a file was written whole, as far as is known.
    pub fn has_written(&self, path: &Path) -> bool {
        self.unwritten.iter().all(|(unwritten, _)| unwritten != path)
    }

    /// Names the files that could not be written, when the result has been told. The exit code of the command is then another one.
    pub fn exit_code(&self, code: u8) -> u8 {
        for (_, error) in &self.unwritten {
            // Without a standard error the exit code has to do.
            let _ = writeln!(anstream::stderr(), "{BAD}error:{BAD:#} {error}; the result above is whole");
        }
        if self.unwritten.is_empty() { code } else { exit::INPUT }
    }
}

impl Observer for Watch {
    fn observe(&mut self, row: &Row, _x: &[f64]) -> ControlFlow<()> {
        // A noisy run never evaluates its objective: what is not known is left blank.
        let objective = if row.samples.total() > 0 { f64::NAN } else { row.objective };
        let row = Row { objective, true_residuals: row.true_residuals.or(self.truth), ..*row };
        self.failure = self.show(&row).err();
        if self.failure.is_some() || self.listener.is_gone() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
