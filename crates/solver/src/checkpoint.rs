//! A run on disk: everything that the next iteration depends on, so that a resumed run equals an uninterrupted one bit for bit.

use std::fs;
use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};
use tangor_problem::{Counts, Exact, Problem, SampledProblem, Samples};

use crate::best::Best;
use crate::clock::Clock;
use crate::estimate::{Estimate, SavedEstimate};
use crate::lipschitz::Estimates;
use crate::metric::SavedMetric;
use crate::random::Stream;
use crate::solver::Solver;
use crate::source::Source;
use crate::stochastic::Average;
use crate::{Error, Event, Settings};

/// The version of the checkpoint's form.
const VERSION: u32 = 2;

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
    /// Iterations done.
    pub iteration: u64,
    counts: Counts,
    samples: Samples,
    seconds: f64,
    z: Vec<f64>,
    objective_scale: f64,
    row_scale: Vec<f64>,
    normal_multipliers: Vec<f64>,
    tangent_multipliers: Vec<f64>,
    metric: SavedMetric,
    lipschitz: Estimates,
    rho: f64,
    best: Best,
    events: [u64; Event::ALL.len()],
    noisy: Option<Noisy>,
    /// What the caller wants to find again, such as where the problem comes from; the solver does not look at it.
    #[serde(default)]
    pub note: serde_json::Value,
}

/// What a noisy run depends on besides.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Noisy {
    estimates: [SavedEstimate; 3],
    judge: [Stream; 3],
    judged_at: Option<u64>,
    stale: u64,
    judged_worth: f64,
    average: Average,
}

/// What an iteration changes before its step is taken. A run that ends within an iteration is saved as it was when that iteration
/// began, so that the resumed run can do it again exactly.
pub struct Beginning {
    /// None: before the first iteration.
    iteration: Option<u64>,
    counts: Counts,
    samples: Samples,
    pub normal_multipliers: Vec<f64>,
    pub tangent_multipliers: Vec<f64>,
    lipschitz: Option<Estimates>,
    rho: f64,
    events: [u64; Event::ALL.len()],
    judge: Option<[Stream; 3]>,
    judged_at: Option<u64>,
    stale: u64,
    judged_worth: f64,
    /// The best point before the latest judgement, or before its multipliers were fitted anew: both are done because the run ends, and
    /// a resumed run must not know of it.
    pub best: Best,
    /// Whether multipliers were fitted anew.
    pub refitted: bool,
}

impl Beginning {
    pub fn new(m: usize, best: Best) -> Self {
        Beginning {
            iteration: None,
            counts: Counts::default(),
            samples: Samples::default(),
            normal_multipliers: vec![0.0; m],
            tangent_multipliers: vec![0.0; m],
            lipschitz: None,
            rho: 0.0,
            events: Default::default(),
            judge: None,
            judged_at: None,
            stale: 0,
            judged_worth: 0.0,
            best,
            refitted: false,
        }
    }
}

/// What every version has: it is read first, since the rest may have changed.
#[derive(Deserialize)]
struct Header {
    version: u32,
}

impl Checkpoint {
    /// Writes the file whole or not at all: a kill at any moment leaves the old one or the new one.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        let fail = |error: std::io::Error| Error::Checkpoint { file: path.display().to_string(), reason: error.to_string() };
        let text = serde_json::to_vec(self).map_err(|error| fail(error.into()))?;
        let mut name = path.as_os_str().to_owned();
        name.push(".part");
        let mut file = fs::File::create(&name).map_err(fail)?;
        file.write_all(&text).and_then(|()| file.sync_all()).and_then(|()| fs::rename(&name, path)).map_err(fail)
    }

    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let fail = |reason: String| Error::Checkpoint { file: path.display().to_string(), reason };
        let text = fs::read(path).map_err(|error| fail(error.to_string()))?;
        let header: Header = serde_json::from_slice(&text).map_err(|error| fail(error.to_string()))?;
        if header.version != VERSION {
            return Err(fail(format!("its version is {}, this program reads version {VERSION}", header.version)));
        }
        serde_json::from_slice(&text).map_err(|error| fail(error.to_string()))
    }
}

impl<S: SampledProblem> Solver<S> {
    /// Keeps what this iteration will change before its step is taken.
    pub(crate) fn remember_beginning(&mut self) {
        let beginning = &mut self.beginning;
        beginning.iteration = Some(self.iteration);
        beginning.counts = self.oracle.counts();
        beginning.samples = self.oracle.samples();
        beginning.normal_multipliers.copy_from_slice(&self.normal.y);
        beginning.tangent_multipliers.copy_from_slice(&self.tangent.lambda);
        beginning.lipschitz = Some(self.lipschitz);
        beginning.rho = self.rho;
        beginning.events = self.events;
        beginning.judge = self.judge.as_ref().map(|judge| judge.streams());
        (beginning.judged_at, beginning.stale, beginning.judged_worth) = (self.judged_at, self.stale, self.judged_worth);
    }

    /// The state between two iterations; after a run has ended, that before the iteration in which it did.
    pub fn checkpoint(&self) -> Checkpoint {
        let meta = self.oracle.meta();
        let standard = &self.oracle.standard;
        let mut checkpoint = Checkpoint {
            version: VERSION,
            problem: meta.name.clone(),
            n: meta.n(),
            m: meta.m(),
            settings: self.settings.clone(),
            iteration: self.iteration,
            counts: self.oracle.counts(),
            samples: self.oracle.samples(),
            seconds: self.clock.seconds(),
            z: self.current.z.clone(),
            objective_scale: standard.objective_scale,
            row_scale: standard.row_scale.clone(),
            normal_multipliers: self.normal.y.clone(),
            tangent_multipliers: self.tangent.lambda.clone(),
            metric: self.metric.save(),
            lipschitz: self.lipschitz,
            rho: self.rho,
            best: self.best.clone(),
            events: self.events,
            noisy: self.save_noisy(),
            note: serde_json::Value::Null,
        };
        let beginning = &self.beginning;
        if let (true, Some(lipschitz)) = (beginning.iteration == Some(self.iteration), beginning.lipschitz) {
            checkpoint.counts = beginning.counts;
            checkpoint.samples = beginning.samples;
            checkpoint.normal_multipliers.clone_from(&beginning.normal_multipliers);
            checkpoint.tangent_multipliers.clone_from(&beginning.tangent_multipliers);
            checkpoint.lipschitz = lipschitz;
            checkpoint.rho = beginning.rho;
            checkpoint.events = beginning.events;
            if beginning.refitted {
                checkpoint.best = beginning.best.clone();
            }
            if let (Some(noisy), Some(judge)) = (&mut checkpoint.noisy, beginning.judge) {
                (noisy.judge, noisy.judged_at) = (judge, beginning.judged_at);
                (noisy.stale, noisy.judged_worth) = (beginning.stale, beginning.judged_worth);
                if self.judged_at != beginning.judged_at {
                    checkpoint.best = beginning.best.clone();
                }
            }
        }
        checkpoint
    }

    /// Goes on where a checkpoint was taken; exact functions are evaluated there again, which is not counted.
    pub fn resume_sampled(problem: S, checkpoint: Checkpoint) -> Result<Self, Error> {
        let meta = problem.meta();
        if (&checkpoint.problem, checkpoint.n, checkpoint.m) != (&meta.name, meta.n(), meta.m()) {
            return Err(Error::OtherProblem {
                found: checkpoint.problem,
                found_n: checkpoint.n,
                found_m: checkpoint.m,
                name: meta.name.clone(),
                n: meta.n(),
                m: meta.m(),
            });
        }
        let mut solver = Solver::unstarted(problem, checkpoint.settings.clone(), None)?;
        solver.prepare_sampling();
        solver.restore(&checkpoint)?;
        Ok(solver)
    }

    fn restore(&mut self, saved: &Checkpoint) -> Result<(), Error> {
        let lengths = [
            (saved.z.len(), self.current.z.len()),
            (saved.row_scale.len(), self.current.h.len()),
            (saved.normal_multipliers.len(), self.current.h.len()),
            (saved.tangent_multipliers.len(), self.current.h.len()),
            (saved.best.x.len(), self.best.x.len()),
            (saved.best.c.len(), self.best.c.len()),
            (saved.best.y.len(), self.best.y.len()),
            (saved.best.mu.len(), self.best.mu.len()),
        ];
        let refuse = |reason: &str| Error::Checkpoint { file: format!("of {}", saved.problem), reason: reason.to_string() };
        match (saved.noisy.is_some(), self.judge.is_some()) {
            (true, false) => return Err(refuse("it is of a run with noise, but the functions given are exact")),
            (false, true) => return Err(refuse("it is of a run without noise, but the functions given are sampled")),
            _ => {}
        }
        if lengths.iter().any(|(found, expected)| found != expected) || !self.metric.restore(&saved.metric) {
            return Err(refuse("the lengths of its vectors do not fit the problem"));
        }
        let is_scale = |scale: &f64| *scale > 0.0 && scale.is_finite();
        if !saved.row_scale.iter().chain([&saved.objective_scale, &saved.rho]).all(is_scale) {
            return Err(refuse("its scales and its merit parameter are not all positive and finite"));
        }
        let standard = &mut self.oracle.standard;
        standard.rescale(saved.objective_scale, &saved.row_scale);
        if saved.z.iter().zip(&standard.lower).zip(&standard.upper).any(|((z, lower), upper)| !(lower..=upper).contains(&z)) {
            return Err(refuse("its point lies outside of the bounds"));
        }
        self.current.z.copy_from_slice(&saved.z);
        let evaluated = match &saved.noisy {
            Some(noisy) => {
                if !self.restore_noisy(noisy) {
                    return Err(refuse("the lengths of its estimates do not fit the problem"));
                }
                self.oracle.take_up_estimates(&mut self.current);
                Ok(())
            }
            None => self.oracle.values(&mut self.current, false).and_then(|()| self.oracle.derivatives(&mut self.current)),
        };
        if let Err(trouble) = evaluated {
            self.fail(trouble);
        }
        self.oracle.problem.set_counts(saved.counts, saved.samples);
        self.clock = Clock::new(self.settings.limits.seconds, saved.seconds);
        self.iteration = saved.iteration;
        self.normal.y.copy_from_slice(&saved.normal_multipliers);
        self.tangent.lambda.copy_from_slice(&saved.tangent_multipliers);
        self.lipschitz = saved.lipschitz;
        self.rho = saved.rho;
        let latest = std::mem::take(&mut self.best.latest);
        self.best = Best { latest, ..saved.best.clone() };
        self.best.latest.copy_from_slice(self.oracle.user_point().0);
        self.events = saved.events;
        Ok(())
    }

    fn save_noisy(&self) -> Option<Noisy> {
        let (judge, average) = (self.judge.as_ref()?, self.average_of_last()?);
        let estimates = &self.oracle.estimates;
        Some(Noisy {
            estimates: [&estimates.gradient, &estimates.constraints, &estimates.jacobian].map(Estimate::save),
            judge: judge.streams(),
            judged_at: self.judged_at,
            stale: self.stale,
            judged_worth: self.judged_worth,
            average: average.clone(),
        })
    }

    /// False: what was saved does not fit.
    fn restore_noisy(&mut self, noisy: &Noisy) -> bool {
        let fits = Source::ALL
            .into_iter()
            .zip(&noisy.estimates)
            .all(|(source, saved)| self.oracle.estimates.of(source).restore(saved));
        if let Some(judge) = &mut self.judge {
            judge.set_streams(noisy.judge);
        }
        (self.judged_at, self.stale, self.judged_worth) = (noisy.judged_at, noisy.stale, noisy.judged_worth);
        self.restore_average(&noisy.average);
        fits
    }
}

impl<P: Problem> Solver<Exact<P>> {
    /// Goes on where a checkpoint was taken; the functions are evaluated there again, which is not counted.
    pub fn resume(problem: P, checkpoint: Checkpoint) -> Result<Self, Error> {
        Solver::resume_sampled(Exact(problem), checkpoint)
    }
}
