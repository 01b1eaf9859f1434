use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use tangor_open::disturbed;
use tangor_problem::{Meta, Noise, count_of};
use tangor_solver::{Checkpoint, MetricKind, Names, Report, Settings};

use crate::error::Error;
use crate::noise_source::{NoiseArguments, described};
use crate::problem_source::{Opened, Opening, ProblemArguments};
use crate::progress::Progress;
use crate::provenance::{Outcome, Provenance};
use crate::record::{self, RecordArguments};
use crate::sampling_source::SamplingArguments;
use crate::screen::{Color, Listener};
use crate::settings_source::SettingsArguments;
use crate::solution::Shown;
use crate::start::started_at;
use crate::style::{DIM, TITLE};
use crate::summary::Summary;
use crate::table::{Detail, Functions, Table};
use crate::watch::Watch;
use crate::{exit, interrupt, plain, point_source, starts, width};

const EXAMPLES: &str = "\
Examples:
  tangor solve HS71
  tangor solve HS71 --tolerance 1e-8 --time-limit 10s
  tangor solve HAGER1.SIF --param N=100           a file, and a value for one of its parameters
  tangor solve --oracle \"python3 model.py\"        a program in any language evaluates the functions
  tangor solve HS71 --set normal.variant=bounded --set metric.kind=identity
  tangor solve HS71 --noise 1e-2 --estimator momentum --seed 7 --tolerance 1e-2
  tangor solve HS71 --noise 1e-3 --noise-constraints 0 --batch 4 --tolerance 1e-3
  tangor solve HS71 --at point.json --show x      from another start, all variables in the end
  tangor solve HS71 --starts 20                   from twenty starts: the distinct KKT points
  tangor solve HS71 --start-from result.json      with the point and the multipliers of a result
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

    /// Print these values as well: x (all variables), c (all constraints), or names, which may end in *
    #[arg(long, value_name = "NAME", help_heading = "Output", value_delimiter = ',')]
    show: Vec<String>,

    /// Begin at a point: a JSON list of numbers, or a result of `tangor solve --json`
    #[arg(long, value_name = "POINT.json", conflicts_with = "resume")]
    at: Option<PathBuf>,

    /// Begin with the point and the multipliers of a result of `tangor solve --json`
    #[arg(long, value_name = "RESULT.json", conflicts_with_all = ["resume", "at"])]
    start_from: Option<PathBuf>,

    /// Solve from so many starts at once: the problem's own, and random ones (--seed) within the bounds or around it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    #[arg(conflicts_with_all = ["resume", "checkpoint", "trace", "plot", "verbose", "start_from"])]
    starts: Option<u32>,

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
        let set = self.settings.assignments.iter().any(|(path, _)| path.starts_with("sampling.") && path != "sampling.seed");
        // Short ways are settings like others; what --set says comes after them.
        self.settings.assignments.splice(0..0, self.sampling.assignments());
        let saved = self.record.saved(self.settings.memory())?;
        let settings = record::settings(&self.settings, saved.as_ref(), Settings::default())?;
        let source = Provenance { problem: self.problem.clone(), noise: self.noise(saved.as_ref())? };
        let ending = interrupt::Ending::new(&settings, saved.as_ref())?;
        if let Some(starts) = self.starts {
            return self.run_starts(starts, &settings, &source, &ending, set);
        }
        let Opened { problem, entry, nl, multipliers: guess, .. } = self.problem.open_with(&opening(&settings, &ending))?;
        let names = Names::all(problem.meta());
        let meta = plain::meta(problem.meta());
        let shown = Shown::new(&self.show, &meta)?;
        let (problem, multipliers) = match (&self.at, &self.start_from) {
            (Some(path), _) => (started_at(problem, point_source::read(path, &meta, self.settings.memory())?), None),
            (None, Some(path)) => {
                let (x, multipliers) = point_source::read_result(path, &meta, self.settings.memory())?;
                (started_at(problem, x), Some(multipliers))
            }
            // A run that goes on has multipliers of its own.
            (None, None) => (problem, guess.filter(|_| saved.is_none())),
        };
        self.sampling.idle(source.noise.is_none() && problem.accesses().are_exact(), &meta.name, set).tell();
        let problem = disturbed(problem, source.noise)?;
        let truth = source.noise.is_some();
        let functions = if problem.accesses().are_exact() { Functions::Exact } else { Functions::Sampled { truth } };
        let mut watch = self.watch(&settings, functions, saved.as_ref())?;
        let mut solver = record::start(problem, saved, settings.clone(), ending.by())?;
        if multipliers.is_some_and(|multipliers| !solver.begin_with(&multipliers)) {
            return Err(Error::Setting("the multipliers in the result are not all numbers".to_string()));
        }
        if !self.json {
            let warnings = nl.map_or_else(Vec::new, |nl| nl.warnings);
            self.title(&mut watch.listener, &meta, &source, &warnings)?;
        }
        self.record.advance_to_the_end(&mut solver, &mut watch, &source)?;
        let mut report = solver.report();
        report.names = names;
        watch.finish(&mut solver, &report)?;
        if self.json {
            let outcome = Outcome { report: &report, source: &source, starts: None };
            writeln!(watch.listener, "{}", plain::json(&outcome)?)?;
        } else {
            let longest_list = if self.verbose { 100 } else { 10 };
            let known = entry.map(|entry| entry.known);
            let report = plain::report(&report);
            Summary { meta: &meta, report: &report, known, longest_list, shown: &shown, spelt: |advice| advice }
                .print(&mut watch.listener)?;
            self.record.name_files(&mut watch, &report, &format!("tangor solve {}", self.problem))?;
        }
        watch.listener.flush()?;
        self.sampling.idle_after(functions == Functions::Exact, &report).tell();
        Ok(watch.exit_code(exit::of(&report)))
    }

    /// Solves from several starts and tells of all, of the best one as of a single run.
    fn run_starts(
        &self,
        count: u32,
        settings: &Settings,
        source: &Provenance,
        ending: &interrupt::Ending,
        set: bool,
    ) -> Result<u8, Error> {
        let first = self.problem.open_with(&opening(settings, ending))?;
        let meta = first.problem.meta().clone();
        self.sampling.idle(source.noise.is_none() && first.problem.accesses().are_exact(), &meta.name, set).tell();
        let shown = Shown::new(&self.show, &plain::meta(&meta))?;
        let x0 = self.at.as_deref().map(|path| point_source::read(path, &meta, self.settings.memory())).transpose()?;
        let starts = starts::points(&meta, x0, count, settings.sampling.seed);
        drop(first.problem);
        let runs = starts::solve(&starts, settings, ending, || {
            let problem = self.problem.open_with(&opening(settings, ending))?.problem;
            Ok(disturbed(problem, source.noise)?)
        })?;
        let best = starts::best(&meta, &runs);
        let mut out = Listener::new(self.color.screen());
        if self.json {
            let starts = Some(runs.iter().map(starts::Told::of).collect());
            let report = Report { names: Names::all(&meta), ..best.report.clone() };
            let outcome = Outcome { report: &report, source, starts };
            writeln!(out, "{}", plain::json(&outcome)?)?;
        } else {
            let (meta, report) = (plain::meta(&meta), plain::report(&best.report));
            let warnings = first.nl.map_or_else(Vec::new, |nl| nl.warnings);
            self.title(&mut out, &meta, source, &warnings)?;
            starts::print(&mut out, &meta, &runs)?;
            let known = first.entry.map(|entry| entry.known);
            Summary { meta: &meta, report: &report, known, longest_list: 10, shown: &shown, spelt: |advice| advice }
                .print(&mut out)?;
        }
        out.flush()?;
        Ok(exit::of(&best.report))
    }

    /// The noise that the arguments ask for, or that of the run that goes on.
    fn noise(&self, saved: Option<&Checkpoint>) -> Result<Option<Noise>, Error> {
        let asked = self.noise.noise()?;
        let Some(saved) = saved else { return Ok(asked) };
        // A state that another program wrote says nothing of noise.
        let source: Option<Provenance> = serde_json::from_value(saved.note.clone())
            .map_err(|cause| Error::Setting(format!("the saved state does not say where its problem comes from: {cause}")))?;
        let noise = source.and_then(|source| source.noise);
        match asked.is_some() && asked != noise {
            true => Err(Error::Setting("the noise cannot be changed in a resumed run".to_string())),
            false => Ok(noise),
        }
    }

    /// Opens all outputs, so that a wrong path is refused before the first iteration.
    fn watch(&self, settings: &Settings, functions: Functions, saved: Option<&Checkpoint>) -> Result<Watch, Error> {
        let problem = self.problem.path();
        let read = [self.settings.config.as_ref(), problem.as_ref(), self.at.as_ref(), self.start_from.as_ref()];
        let files = self.record.open(&[], &read, saved)?;
        let silent = self.quiet || self.json;
        let detail = match (silent, self.verbose) {
            (true, _) => Detail::Quiet,
            (false, true) => Detail::Verbose,
            (false, false) => Detail::Normal,
        };
        let table = Table::new(detail, settings.tolerance.clone(), functions);
        let progress = silent.then(|| Progress::new(settings));
        Ok(Watch::new(Listener::new(self.color.screen()), table, progress, files))
    }

    /// What is solved, and what is to be said of its functions.
    fn title(&self, out: &mut Listener, meta: &Meta, source: &Provenance, warnings: &[String]) -> Result<(), Error> {
        let variables = count_of(meta.n(), "variable");
        let constraints = count_of(meta.m(), "constraint");
        let noise = source.noise.as_ref().map(|noise| format!(", {}", described(noise))).unwrap_or_default();
        let sizes = format!(": {variables}, {constraints}{noise}");
        writeln!(out, "{TITLE}{}{TITLE:#}{}", meta.name, width::wrapped_after(&meta.name, &sizes, 2))?;
        if let Some(choice) = self.problem.choice() {
            writeln!(out, "  {DIM}{}{DIM:#}", width::wrapped(&plain::name(&choice), 2))?;
        }
        warnings.iter().try_for_each(|warning| writeln!(out, "warning: {}", plain::name(warning)))?;
        if !self.quiet || self.starts.is_some() {
            writeln!(out)?;
        }
        Ok(())
    }
}

/// How the problem of a run with these settings is opened.
fn opening(settings: &Settings, ending: &interrupt::Ending) -> Opening {
    let hessian = settings.metric.kind == MetricKind::Exact;
    Opening { patience: ending.patience.clone(), hessian, memory: settings.limits.memory }
}
