//! A run on disk: everything that the next iteration depends on, so that a resumed run equals an uninterrupted one bit for bit.

use std::fs;
use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};
use tangor_problem::{Counts, Problem};

use crate::best::Best;
use crate::clock::Clock;
use crate::lipschitz::Estimates;
use crate::metric::SavedMetric;
use crate::solver::Solver;
use crate::{Error, Event, Settings};

/// The version of the checkpoint's form.
const VERSION: u32 = 1;

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

impl<P: Problem> Solver<P> {
    /// The state between two iterations.
    pub fn checkpoint(&self) -> Checkpoint {
        let meta = self.oracle.meta();
        let standard = &self.oracle.standard;
        Checkpoint {
            version: VERSION,
            problem: meta.name.clone(),
            n: meta.n(),
            m: meta.m(),
            settings: self.settings.clone(),
            iteration: self.iteration,
            counts: self.oracle.counts(),
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
        }
    }

    /// Goes on where a checkpoint was taken; the functions are evaluated there again, which is not counted.
    pub fn resume(problem: P, checkpoint: Checkpoint) -> Result<Self, Error> {
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
        let evaluated = self.oracle.values(&mut self.current, false).and_then(|()| self.oracle.derivatives(&mut self.current));
        if let Err(trouble) = evaluated {
            self.fail(trouble);
        }
        self.oracle.set_counts(saved.counts);
        self.clock = Clock::new(self.settings.limits.seconds, saved.seconds);
        self.iteration = saved.iteration;
        self.normal.y.copy_from_slice(&saved.normal_multipliers);
        self.tangent.lambda.copy_from_slice(&saved.tangent_multipliers);
        self.lipschitz = saved.lipschitz;
        self.rho = saved.rho;
        self.best = saved.best.clone();
        self.best.latest = self.best.x.clone();
        self.events = saved.events;
        Ok(())
    }
}
