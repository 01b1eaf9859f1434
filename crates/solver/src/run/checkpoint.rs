//! A run on disk: everything that the next iteration depends on, so that a resumed run equals an uninterrupted one bit for bit.

#[cfg(feature = "checkpoint")]
use std::path::Path;

use serde::{Deserialize, Serialize};
#[cfg(feature = "checkpoint")]
use tangor_problem::MemoryLimit;
use tangor_problem::{Counts, Exact, Problem, SampledProblem, Samples};

use crate::form::oracle::Trouble;
use crate::form::standard::Scales;
use crate::judging::row_sizes::RowSizes;
use crate::noise::estimator::Estimates;
use crate::noise::sampled_step::{Average, Noisy, NoisyProgress};
use crate::run::best::Best;
use crate::run::clock::Clock;
use crate::run::plausible;
use crate::run::state::{Progress, State};
#[cfg(feature = "checkpoint")]
use crate::run::{field::field_at, whole_file};
use crate::solver::Solver;
use crate::{EndedBy, Error, Settings};

/// The version of the checkpoint's form.
const VERSION: u32 = 11;

/// The state of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    version: u32,
    /// The name of the problem.
    pub problem: String,
    n: usize,
    m: usize,
    /// The settings; limits may be changed before the run is resumed.
    pub settings: Settings,
    counts: Counts,
    samples: Samples,
    seconds: f64,
    scales: Scales,
    state: State,
    best: Best,
    noisy: Option<SavedNoise>,
    /// What the caller wants to find again, such as where the problem comes from; the solver does not look at it.
    #[cfg(feature = "checkpoint")]
    #[serde(default)]
    pub note: serde_json::Value,
    /// Where it was read; none for one that was not.
    #[serde(skip)]
    file: Option<String>,
}

/// What a noisy run depends on besides.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct SavedNoise {
    progress: NoisyProgress,
    estimates: Estimates,
    average: Average,
}

/// What an iteration changes before its step is taken. A run that ends within an iteration is saved as it was when that iteration
/// began, so that the resumed run can do it again exactly.
pub struct Beginning {
    /// None: before the first iteration.
    progress: Option<Progress>,
    noisy: Option<NoisyProgress>,
    counts: Counts,
    samples: Samples,
    /// The best point before it was judged, or before its multipliers were fitted anew: both may be done because the run ends, and a
    /// resumed run must not know of it.
    best: Best,
    /// The sizes of rows before fresh samples showed others.
    row_sizes: RowSizes,
    /// Whether the best point was judged or fitted since.
    best_changed: bool,
    /// Whether the run ended within the iteration after steps that count as iterations.
    broken_off: bool,
}

impl Beginning {
    pub fn new(best: Best, row_sizes: RowSizes) -> Self {
        let (counts, samples) = (Counts::default(), Samples::default());
        Beginning { progress: None, noisy: None, counts, samples, best, row_sizes, best_changed: false, broken_off: false }
    }

    /// The iteration ends here, whatever has been counted in it.
    pub fn break_off(&mut self) {
        self.broken_off = true;
    }

    /// Keeps the best point, and the sizes of rows, before a point is judged or fitted anew in this iteration.
    pub fn keep(&mut self, best: &Best, row_sizes: &RowSizes) {
        if !self.best_changed {
            self.best.copy_from(best);
            self.row_sizes.copy_from(row_sizes);
            self.best_changed = true;
        }
    }
}

/// What every version has: it is read first, since the rest may have changed.
#[cfg(feature = "checkpoint")]
#[derive(Deserialize)]
struct Header {
    version: u32,
}

impl Checkpoint {
    /// Iterations done.
    pub fn iteration(&self) -> u64 {
        self.state.progress.iteration
    }

    /// The wall time that the run has taken so far.
    pub fn seconds(&self) -> f64 {
        self.seconds
    }

    /// The first number that no run has, by its field, and why.
    fn impossible_number(&self) -> Option<(String, String)> {
        let wrong = plausible::impossible(self.seconds, (&self.counts, &self.samples), &self.state.progress);
        let of_judgements = |noisy: &SavedNoise| noisy.progress.impossible(self.iteration(), self.samples.total());
        wrong.or_else(|| self.noisy.as_ref().and_then(of_judgements))
    }

    /// It cannot be used, because of this field.
    fn refusal(&self, field: &str, reason: &str) -> Error {
        let file = self.file.clone().unwrap_or_else(|| format!("of {}", self.problem));
        Error::Checkpoint { file, reason: format!("{field}: {reason}") }
    }
}

/// What a reader says, after the field that it says it of.
#[cfg(feature = "checkpoint")]
fn in_its_field(text: &[u8], error: &serde_json::Error) -> String {
    match field_at(text, error.line(), error.column()) {
        field if field.is_empty() => error.to_string(),
        field => format!("{field}: {error}"),
    }
}

/// Checkpoints as files.
#[cfg(feature = "checkpoint")]
impl Checkpoint {
    /// Writes the file whole or not at all: a kill at any moment leaves the old one or the new one.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        let fail = |error: std::io::Error| Error::Checkpoint { file: path.display().to_string(), reason: error.to_string() };
        let text = serde_json::to_vec(self).map_err(|error| fail(error.into()))?;
        whole_file::write(path, &text).map_err(fail)
    }

    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, Error> {
        Checkpoint::read_within(path, MemoryLimit::of_this_machine())
    }

    /// Reads a file, if what is made of it fits into so much memory.
    pub fn read_within(path: &Path, memory: MemoryLimit) -> Result<Self, Error> {
        let fail = |reason: String| Error::Checkpoint { file: path.display().to_string(), reason };
        let text = memory.read(path).map_err(|error| fail(error.to_string()))?;
        let malformed = |error: serde_json::Error| fail(in_its_field(&text, &error));
        let header: Header = serde_json::from_slice(&text).map_err(malformed)?;
        if header.version != VERSION {
            return Err(fail(format!("its version is {}, this program reads version {VERSION}", header.version)));
        }
        let mut read: Checkpoint = serde_json::from_slice(&text).map_err(malformed)?;
        read.file = Some(path.display().to_string());
        Ok(read)
    }
}

impl<S: SampledProblem> Solver<S> {
    /// Keeps what this iteration will change before its step is taken.
    pub(crate) fn remember_beginning(&mut self) {
        let beginning = &mut self.beginning;
        beginning.progress = Some(self.state.progress);
        beginning.noisy = self.noisy.as_ref().map(Noisy::progress);
        beginning.counts = self.oracle.counts();
        beginning.samples = self.oracle.samples();
        beginning.best_changed = false;
        beginning.broken_off = false;
    }

    /// The state between two iterations; after a run has ended, that before the iteration in which it did.
    pub fn checkpoint(&self) -> Checkpoint {
        let meta = self.oracle.meta();
        let mut checkpoint = Checkpoint {
            version: VERSION,
            problem: meta.name.clone(),
            n: meta.n(),
            m: meta.m(),
            settings: self.settings.clone(),
            counts: self.oracle.counts(),
            samples: self.oracle.samples(),
            seconds: self.clock.seconds(),
            scales: self.oracle.standard.scales.clone(),
            state: self.state.clone(),
            best: self.outcome.best.clone(),
            noisy: self.save_noise(),
            #[cfg(feature = "checkpoint")]
            note: serde_json::Value::Null,
            file: None,
        };
        let beginning = &self.beginning;
        let is_within = |before: &Progress| beginning.broken_off || before.iteration == self.state.progress.iteration;
        if let Some(before) = beginning.progress.filter(is_within) {
            checkpoint.state.progress = before;
            if let (Some(noisy), Some(before)) = (&mut checkpoint.noisy, beginning.noisy) {
                noisy.progress = before;
            }
            checkpoint.counts = beginning.counts;
            checkpoint.samples = beginning.samples;
            if beginning.best_changed {
                checkpoint.best = beginning.best.clone();
                checkpoint.state.row_sizes = beginning.row_sizes.clone();
            }
        }
        checkpoint
    }

    /// Goes on where a checkpoint was taken; exact functions are evaluated there again, which is not counted.
    pub fn resume_sampled(problem: S, checkpoint: Checkpoint) -> Result<Self, Error> {
        Solver::resume_until(problem, checkpoint, EndedBy::default())
    }

    /// The same with somebody who may end it, from its first evaluation on.
    pub fn resume_until(problem: S, checkpoint: Checkpoint, ended_by: EndedBy) -> Result<Self, Error> {
        let meta = problem.meta();
        if let Some((field, why)) = checkpoint.impossible_number() {
            return Err(checkpoint.refusal(&field, &why));
        }
        let name = &meta.name;
        if checkpoint.problem != *name {
            let Checkpoint { problem, n, m, .. } = &checkpoint;
            let found = format!("it is of problem {problem} with {n} variables and {m} constraints");
            return Err(checkpoint.refusal("problem", &format!("{found}, not of {name} with {} and {}", meta.n(), meta.m())));
        }
        let sizes = [("n", checkpoint.n, meta.n(), "variables"), ("m", checkpoint.m, meta.m(), "constraints")];
        if let Some((field, found, expected, what)) = sizes.into_iter().find(|(_, found, expected, _)| found != expected) {
            let reason = format!("it is of a problem with {found} {what}, but {name} has {expected}");
            return Err(checkpoint.refusal(field, &reason));
        }
        let clock = Clock::obeying(checkpoint.settings.limits.seconds, checkpoint.seconds, ended_by);
        let mut solver = Solver::unstarted(problem, checkpoint.settings.clone(), None, clock)?;
        solver.restore(checkpoint)?;
        Ok(solver)
    }

    fn restore(&mut self, saved: Checkpoint) -> Result<(), Error> {
        match (saved.noisy.is_some(), self.noisy.is_some()) {
            (true, false) => {
                return Err(saved.refusal("noisy", "it is of a run with noise, but the functions given are exact"));
            }
            (false, true) => {
                return Err(saved.refusal("noisy", "it is of a run without noise, but the functions given are sampled"));
            }
            _ => {}
        }
        let standard = &mut self.oracle.standard;
        let misfit = self.state.misfit(&saved.state);
        let misfit = misfit.or_else(|| (!standard.scales.fit(&saved.scales)).then_some("scales"));
        if let Some(field) = misfit.or_else(|| (!self.outcome.best.fits(&saved.best)).then_some("best")) {
            return Err(saved.refusal(field, "the lengths of its vectors do not fit the problem"));
        }
        if !saved.state.progress.begun {
            self.begin(&saved);
            return Ok(());
        }
        let rho = saved.state.progress.rho;
        if !saved.scales.are_valid() {
            return Err(saved.refusal("scales", "they are not all positive and finite"));
        }
        if !(rho > 0.0 && rho.is_finite()) {
            return Err(saved.refusal("state.progress.rho", "the merit parameter is not positive and finite"));
        }
        standard.rescale(&saved.scales);
        let z = &saved.state.current.z;
        if z.iter().zip(&standard.lower).zip(&standard.upper).any(|((z, lower), upper)| !(lower..=upper).contains(&z)) {
            return Err(saved.refusal("state.current.z", "its point lies outside of the bounds"));
        }
        if saved.noisy.as_ref().is_some_and(|noisy| !self.oracle.estimates.fit(&noisy.estimates)) {
            return Err(saved.refusal("noisy.estimates", "the lengths of its estimates do not fit the problem"));
        }
        if let Some(noisy) = saved.noisy {
            self.restore_noise(noisy);
        }
        self.state.take_up(saved.state);
        if let Err(trouble) = self.evaluate_again() {
            self.fail(trouble);
        }
        self.oracle.problem.set_counts(saved.counts, saved.samples);
        self.outcome.best = saved.best;
        Ok(())
    }

    /// What the functions are at the point that was taken up: by the estimates of a noisy run, or evaluated there again.
    fn evaluate_again(&mut self) -> Result<(), Trouble> {
        let current = &mut self.state.current;
        if self.noisy.is_some() {
            self.oracle.take_up_estimates(current);
            return Ok(());
        }
        self.oracle.values(current, false)?;
        self.oracle.derivatives(current)
    }

    /// A run that ended before its start was evaluated has nothing to go on from but its time and its samples.
    fn begin(&mut self, saved: &Checkpoint) {
        self.oracle.problem.set_counts(self.oracle.counts(), saved.samples);
        if let Err(trouble) = self.evaluate_start() {
            self.fail(trouble);
        }
    }

    fn save_noise(&self) -> Option<SavedNoise> {
        let noisy = self.noisy.as_ref()?;
        let (estimates, average) = (self.oracle.estimates.clone(), noisy.average.clone());
        Some(SavedNoise { progress: noisy.progress(), estimates, average })
    }

    /// Takes up what fits.
    fn restore_noise(&mut self, saved: SavedNoise) {
        if let Some(noisy) = &mut self.noisy {
            noisy.take_up(saved.progress, saved.average);
            self.oracle.estimates.take_up(saved.estimates);
        }
    }
}

impl<P: Problem> Solver<Exact<P>> {
    /// Goes on where a checkpoint was taken; the functions are evaluated there again, which is not counted.
    pub fn resume(problem: P, checkpoint: Checkpoint) -> Result<Self, Error> {
        Solver::resume_sampled(Exact(problem), checkpoint)
    }
}
