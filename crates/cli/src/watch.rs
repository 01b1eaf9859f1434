use std::ops::ControlFlow;

use tangor_solver::{Observer, Report, Row};

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
    /// What went wrong.
    pub failure: Option<Error>,
}

impl Watch {
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

    /// Completes table, trace and picture.
    pub fn finish(&mut self, report: &Report) -> Result<(), Error> {
        if let Some(progress) = &mut self.progress {
            progress.finish();
        }
        if let Some(trace) = &mut self.trace {
            trace.flush()?;
        }
        if let Some(plot) = self.plot.take() {
            plot.finish(report)?;
        }
        self.table.finish(&mut self.listener)?;
        self.failure.take().map_or(Ok(()), Err)
    }
}

impl Observer for Watch {
    fn observe(&mut self, row: &Row, _x: &[f64]) -> ControlFlow<()> {
        self.failure = self.show(row).err();
        if self.failure.is_some() || self.listener.is_gone() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
