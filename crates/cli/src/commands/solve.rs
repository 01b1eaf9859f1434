use std::io::Write;

use clap::Args;
use tangor_problem::{Meta, Noise};
use tangor_solver::{Checkpoint, Settings};

use crate::error::Error;
use crate::noise_source::{NoiseArguments, described, disturbed};
use crate::problem_source::{Opened, ProblemArguments};
use crate::progress::Progress;
use crate::record::{self, RecordArguments};
use crate::sampling_source::SamplingArguments;
use crate::screen::{Color, Listener};
use crate::settings_source::SettingsArguments;
use crate::source::{Outcome, Source};
use crate::style::TITLE;
use crate::summary::Summary;
use crate::table::{Detail, Table};
use crate::watch::Watch;
use crate::{exit, interrupt, number};

const EXAMPLES: &str = "\
Examples:
  tangor solve HS71
  tangor solve HS71 --tolerance 1e-8 --time-limit 10s
  tangor solve CHAIN.SIF --param N=100            a file, with another value for one of its parameters
  tangor solve --oracle \"python3 model.py\"        a program in any language evaluates the functions
  tangor solve HS71 --set normal.variant=bounded --set metric.kind=identity
  tangor solve HS71 --noise 1e-2 --estimator momentum --seed 7 --tolerance 1e-2
  tangor solve HS71 --noise 1e-3 --noise-constraints 0 --batch 4 --samples 100000
  tangor solve HS71 --quiet --trace hs71.csv --plot hs71.svg
  tangor solve HS71 --checkpoint hs71.state       Ctrl-C ends the run in order, and then
  tangor solve HS71 --resume hs71.state           goes on as if nothing had happened";

/// Solve a problem
///
/// Ctrl-C ends the run in order: the best point found so far is reported and all files are complete. A second Ctrl-C ends it at
/// once.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{}", exit::HELP))]
pub struct Solve {
    #[command(flatten)]
    problem: ProblemArguments,

    /// No iteration table, only the summary
    #[arg(short, long, help_heading = "Output", conflicts_with = "verbose")]
    quiet: bool,

    /// Every iteration with all columns
    #[arg(short, long, help_heading = "Output")]
    verbose: bool,

    /// Print the whole result as JSON and nothing else
    #[arg(long, help_heading = "Output", conflicts_with = "verbose")]
    json: bool,

    /// When to use colours
    #[arg(long, value_enum, default_value_t, help_heading = "Output")]
    color: Color,

    #[command(flatten)]
    record: RecordArguments,

    #[command(flatten)]
    noise: NoiseArguments,

    #[command(flatten)]
    sampling: SamplingArguments,

    #[command(flatten)]
    settings: SettingsArguments,
}

impl Solve {
    /// Solves the problem and tells about it.
    pub fn run(mut self) -> Result<u8, Error> {
        // Short ways are settings like others; what --set says comes after them.
        self.settings.assignments.splice(0..0, self.sampling.assignments());
        let Opened { problem, entry, .. } = self.problem.open()?;
        let meta = problem.meta().clone();
        let saved = self.record.saved()?;
        let source = Source { problem: self.problem.clone(), noise: self.noise(saved.as_ref())? };
        let problem = disturbed(problem, source.noise)?;
        let settings = record::settings(&self.settings, saved.as_ref(), Settings::default())?;
        let mut solver = record::start(problem, saved, settings.clone())?;
        solver.interrupt(interrupt::flag()?);
        let mut watch = self.watch(&settings, &source)?;
        // A first state, before any iteration, shows at once whether the file can be written.
        self.record.save(&solver, &source)?;
        if !self.json {
            self.title(&mut watch.listener, &meta, &source)?;
        }
        self.record.advance_to_the_end(&mut solver, &mut watch, &source)?;
        let report = solver.report();
        watch.finish(&mut solver, &report)?;
        if self.json {
            let outcome = Outcome { report: &report, source: &source };
            writeln!(watch.listener, "{}", serde_json::to_string_pretty(&outcome)?)?;
        } else {
            let longest_list = if self.verbose { 100 } else { 10 };
            let known = entry.map(|entry| entry.known);
            Summary { meta: &meta, report: &report, known, longest_list }.print(&mut watch.listener)?;
            self.record.name_files(&mut watch.listener, &report, &format!("tangor solve {}", self.problem))?;
        }
        watch.listener.flush()?;
        Ok(exit::of(&report))
    }

    /// The noise that the arguments ask for, or that of the run that goes on.
    fn noise(&self, saved: Option<&Checkpoint>) -> Result<Option<Noise>, Error> {
        let asked = self.noise.noise()?;
        let Some(saved) = saved else { return Ok(asked) };
        // A state that another program wrote says nothing of noise.
        let source: Option<Source> = serde_json::from_value(saved.note.clone())
            .map_err(|cause| Error::Setting(format!("the saved state does not say where its problem comes from: {cause}")))?;
        let noise = source.and_then(|source| source.noise);
        match asked.is_some() && asked != noise {
            true => Err(Error::Setting("the noise cannot be changed in a resumed run".to_string())),
            false => Ok(noise),
        }
    }

    /// Opens all outputs, so that a wrong path is refused before the first iteration.
    fn watch(&self, settings: &Settings, source: &Source) -> Result<Watch, Error> {
        let (trace, plot) = self.record.open(&[])?;
        let silent = self.quiet || self.json;
        let detail = match (silent, self.verbose) {
            (true, _) => Detail::Quiet,
            (false, true) => Detail::Verbose,
            (false, false) => Detail::Normal,
        };
        Ok(Watch {
            listener: Listener::new(self.color.screen()),
            table: Table::new(detail, settings.tolerance.clone(), source.noise.is_some()),
            progress: silent.then(|| Progress::new(settings)),
            trace,
            plot,
            truth: None,
            failure: None,
        })
    }

    fn title(&self, out: &mut Listener, meta: &Meta, source: &Source) -> Result<(), Error> {
        let variables = number::counted(meta.n() as u64, "variable");
        let constraints = number::counted(meta.m() as u64, "constraint");
        let noise = source.noise.as_ref().map(|noise| format!(", {}", described(noise))).unwrap_or_default();
        let gap = if self.quiet { "" } else { "\n" };
        Ok(writeln!(out, "{TITLE}{}{TITLE:#}: {variables}, {constraints}{noise}{gap}", meta.name)?)
    }
}
