use std::ops::ControlFlow;

use tangor_problem::SampledProblem;
use tangor_solver::{Observer, Report, Row, Solver, TrueResiduals};

use crate::error::Error;
use crate::plot::Plot;
use crate::progress::Progress;
use crate::screen::Listener;
use crate::table::Table;
use crate::trace::Trace;

/// All who watch a run. The first that fails ends it, and the failure is kept for the caller.
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
    /// What went wrong.
    pub failure: Option<Error>,
}

impl Watch {
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
            trace.row(row)?;
        }
        self.table.row(&mut self.listener, row)?;
        Ok(())
    }

    /// Completes table, trace and picture of a run that has ended.
    pub fn finish<S: SampledProblem>(&mut self, solver: &mut Solver<S>, report: &Report) -> Result<(), Error> {
        if let Some(progress) = &mut self.progress {
            progress.finish();
        }
        if let Some(trace) = &mut self.trace {
            trace.flush()?;
        }
        if let Some(plot) = self.plot.take() {
            plot.finish(report)?;
        }
        let truth = if self.table.is_unfinished() { solver.true_residuals() } else { None };
        self.table.finish(&mut self.listener, truth)?;
        self.failure.take().map_or(Ok(()), Err)
    }
}

impl Observer for Watch {
    fn observe(&mut self, row: &Row, _x: &[f64]) -> ControlFlow<()> {
        let row = Row { true_residuals: row.true_residuals.or(self.truth), ..*row };
        self.failure = self.show(&row).err();
        if self.failure.is_some() || self.listener.is_gone() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
