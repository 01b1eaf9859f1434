//! What a run leaves behind besides its result: a trace, a picture, and a state to go on from.

use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use serde::Serialize;
use tangor_problem::{MemoryLimit, SampledProblem, Samples};
use tangor_solver::{Checkpoint, EndedBy, Report, Settings, Solver};

use crate::error::Error;
use crate::plot::Plot;
use crate::settings_source::SettingsArguments;
use crate::style::DIM;
use crate::trace::Trace;
use crate::watch::Watch;
use crate::{advice, duration, exit, files};

/// The arguments that name the files of a run.
#[derive(Debug, Args)]
pub struct RecordArguments {
    /// Write every iteration into a file: JSON lines (.jsonl, .json) or CSV (.csv)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub trace: Option<PathBuf>,

    /// Draw residuals, objective, merit parameter and stepsize against iterations
    #[arg(long, value_name = "FILE.svg", help_heading = "Output")]
    pub plot: Option<PathBuf>,

    /// Save the state of the run into a file, every so often and at the end
    #[arg(long, value_name = "FILE", help_heading = "Interrupting and going on")]
    pub checkpoint: Option<PathBuf>,

    /// How often the state is saved
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = duration::parse)]
    #[arg(help_heading = "Interrupting and going on", requires = "checkpoint")]
    pub checkpoint_every: Duration,

    /// Go on from a saved state, with its settings; limits and tolerances may be changed. A trace is continued
    #[arg(long, value_name = "FILE", help_heading = "Interrupting and going on", conflicts_with = "config")]
    pub resume: Option<PathBuf>,
}

impl RecordArguments {
    /// The state to go on from, if the run is to go on.
    pub fn saved(&self, memory: MemoryLimit) -> Result<Option<Checkpoint>, Error> {
        Ok(self.resume.as_deref().map(|path| Checkpoint::read_within(path, memory)).transpose()?)
    }

    /// Opens trace and picture, so that a wrong path is refused before the first iteration; `others` are further outputs and
    /// `inputs` are files that are read.
    pub fn open(
        &self,
        others: &[Option<&PathBuf>],
        inputs: &[Option<&PathBuf>],
        saved: Option<&Checkpoint>,
    ) -> Result<(Option<Trace>, Option<Plot>), Error> {
        let own = [&[self.trace.as_ref(), self.plot.as_ref()], others].concat();
        // A state may take the place of the one that the run goes on from, but nothing else may.
        files::none_is_read(&own, &[self.resume.as_ref()])?;
        let all = [&own[..], &[self.checkpoint.as_ref()]].concat();
        files::none_is_read(&all, inputs)?;
        files::all_different(&all)?;
        // A wrong path is refused before anything is computed; a disk that is full then may have room later.
        self.checkpoint.as_deref().map_or(Ok(()), files::check)?;
        let resumed_at = saved.map(Checkpoint::iteration);
        let trace = self.trace.as_deref().map(|path| Trace::create(path, resumed_at)).transpose()?;
        Ok((trace, self.plot.as_deref().map(Plot::create).transpose()?))
    }

    /// Carries the run to its end. The note is kept in every saved state. A state that cannot be saved costs a warning, not the run:
    /// it is tried again, and if the last one fails the exit code says so.
    pub fn advance_to_the_end<S: SampledProblem>(
        &self,
        solver: &mut Solver<S>,
        watch: &mut Watch,
        note: &impl Serialize,
    ) -> Result<(), Error> {
        let mut saved = Instant::now();
        // A first state, before any iteration: a run that is killed early can go on, too.
        let mut warned = self.save(solver, note).inspect_err(|lost| files::warn(&lost.0, &lost.1)).is_err();
        loop {
            watch.prepare(solver);
            let ended = solver.advance(watch).is_some();
            let due = self.checkpoint.is_some() && saved.elapsed() >= self.checkpoint_every;
            if !ended && !due {
                continue;
            }
            // The trace must reach the state, or a run that goes on from it after a kill would leave a gap.
            watch.trace.iter_mut().for_each(Trace::flush);
            match self.save(solver, note).map_err(|lost| *lost) {
                Ok(()) => warned = false,
                Err((path, error)) if ended => watch.regret(path, error),
                Err((path, error)) if !std::mem::replace(&mut warned, true) => files::warn(&path, &error),
                Err(_) => {}
            }
            if ended {
                return Ok(());
            }
            saved = Instant::now();
        }
    }

    /// Saves the state, if it is to be saved; otherwise gives the file and why it could not be written.
    pub fn save<S: SampledProblem>(&self, solver: &Solver<S>, note: &impl Serialize) -> Result<(), Box<(PathBuf, Error)>> {
        let Some(path) = &self.checkpoint else { return Ok(()) };
        let written = serde_json::to_value(note).map_err(Error::from).and_then(|note| {
            let mut checkpoint = solver.checkpoint();
            checkpoint.note = note;
            Ok(checkpoint.write(path)?)
        });
        written.map_err(|error| Box::new((path.clone(), error)))
    }

    /// Says where the files are that were written, and how a run that did not reach its goal goes on: by this command.
    pub fn name_files(&self, watch: &mut Watch, report: &Report, command: &str) -> Result<(), Error> {
        let [trace, plot, state] =
            [&self.trace, &self.plot, &self.checkpoint].map(|path| path.as_deref().filter(|path| watch.has_written(path)));
        let out = &mut watch.listener;
        for (what, path) in [("trace", trace), ("plot", plot), ("state", state)] {
            if let Some(path) = path {
                writeln!(out, "  {DIM}{what} in {}{DIM:#}", path.display())?;
            }
        }
        if let (Some(path), exit::LIMIT | exit::STOPPED) = (state, exit::of(report)) {
            // The state has its limits with it: a run that reached one would end at once.
            let limit = advice::larger_limit(report).map(|(_, argument)| format!(" {argument}")).unwrap_or_default();
            writeln!(out, "  to go on: {command} --resume {}{limit}", path.display())?;
        }
        Ok(())
    }
}

/// A new run, or one that goes on; with these settings, and with those who may end it.
pub fn start<S: SampledProblem>(
    problem: S,
    saved: Option<Checkpoint>,
    settings: Settings,
    ended_by: EndedBy,
) -> Result<Solver<S>, Error> {
    Ok(match saved {
        None => Solver::sampled_until(problem, settings, Samples::default(), ended_by)?,
        Some(mut checkpoint) => {
            checkpoint.settings = settings;
            Solver::resume_until(problem, checkpoint, ended_by)?
        }
    })
}

/// The settings of a new run with these defaults, or those of the run that goes on; arguments come on top.
pub fn settings(arguments: &SettingsArguments, saved: Option<&Checkpoint>, defaults: Settings) -> Result<Settings, Error> {
    match saved {
        None => arguments.over(defaults),
        Some(checkpoint) => arguments.resumed(checkpoint.settings.clone()),
    }
}
