//! Four learning tasks under constraints: default settings, several seeds, a limit on samples, and a referee that sees all the data.

mod outcome;

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tangor_learn::tasks::{Measure, Task};
use tangor_solver::{Batch, Event, Row, Settings, Solver, Stop};

pub use outcome::{Outcome, PEERS, Peer};

use crate::Error;
use crate::progress::Crew;

/// Seeds, unless told otherwise.
pub const SEEDS: u64 = 5;
/// The batch of every task, unless told otherwise: that of the tuned methods.
pub const BATCH: usize = 128;
/// How often a run is measured on all the data for the picture.
const MARKS: u64 = 40;

/// What is run, and how.
#[derive(Debug)]
pub struct Study {
    /// Which tasks.
    pub tasks: Vec<Task>,
    /// How many seeds; at least 1.
    pub seeds: u64,
    /// The share of the usual number of samples; above 0.
    pub share: f64,
    /// Samples of each function in a batch; at least 1.
    pub batch: usize,
    /// Settings; batches and limits on samples are those of the tasks.
    pub settings: Settings,
    /// The folder of the census data.
    pub adult: PathBuf,
    /// Runs at the same time.
    pub jobs: usize,
    /// Ends the study in order when it becomes true.
    pub interrupt: Arc<AtomicBool>,
    /// Whether a bar is shown, on a terminal only.
    pub progress: bool,
}

/// One run.
#[derive(Clone, Debug)]
pub struct Run {
    /// Its task.
    pub task: Task,
    /// Its seed.
    pub seed: u64,
    /// How it ended.
    pub stop: Stop,
    /// The reported point, on all the data.
    pub end: Measure,
    /// Iterations.
    pub iterations: u64,
    /// Samples of the gradient.
    pub samples: u64,
    /// What they were taken for.
    pub spent: Spent,
    /// Wall time without measuring.
    pub seconds: f64,
    /// The iterates on the way: those after equal shares of the samples.
    pub course: Vec<Measure>,
}

/// What the samples of a run beyond those of its steps were taken for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Whole populations that recursive momentum started again from.
    pub passes: u64,
    /// Other judgements on the way: their samples join the estimates.
    pub joined: u64,
    /// The judgement at the end.
    pub last: u64,
    /// Attempts at a step that the merit test refused.
    pub repeated: u64,
}

impl Spent {
    /// Takes in an iteration that took so many samples.
    fn add(&mut self, row: &Row, samples: u64, batch: usize) {
        // What was judged before was not the end.
        self.joined += std::mem::take(&mut self.last);
        let step = if row.eta > 0.0 { samples.min(2 * batch as u64) } else { 0 };
        let purpose = match row.judged {
            Some(_) if row.unusual.contains(Event::ExactPass) => &mut self.passes,
            Some(_) => &mut self.last,
            None => &mut self.repeated,
        };
        *purpose += samples - step;
    }
}

impl Study {
    /// Runs everything.
    pub fn run(&self) -> Result<Outcome, Error> {
        if !(self.share > 0.0 && self.share.is_finite()) {
            return Err(Error::Refused(format!("the share of the samples is {}, but must be positive", self.share)));
        }
        let seeds = 0..self.seeds.max(1);
        let jobs: Vec<(Task, u64)> = self.tasks.iter().flat_map(|&task| seeds.clone().map(move |seed| (task, seed))).collect();
        let crew = Crew { jobs: self.jobs, shown: self.progress, interrupt: &self.interrupt };
        let runs = crew.make(&jobs, |(task, _)| task.name(), |&(task, seed)| self.carry_out(task, seed))?;
        let runs: Vec<Run> = runs.into_iter().flatten().filter(|run| run.stop != Stop::User).collect();
        Ok(Outcome { missing: jobs.len() - runs.len(), tasks: self.tasks.clone(), runs, share: self.share, batch: self.batch })
    }

    fn carry_out(&self, task: Task, seed: u64) -> Result<Run, Error> {
        let refused = |error: &dyn std::fmt::Display| Error::Refused(error.to_string());
        let build = || task.build(seed, &self.adult).map_err(|error| refused(&error));
        let most = (self.share * task.samples() as f64) as u64;
        let mut settings = self.settings.clone();
        settings.sampling.seed = seed;
        let sampling = &mut settings.sampling;
        for estimation in [&mut sampling.gradient, &mut sampling.constraints, &mut sampling.jacobian] {
            estimation.batch = Batch::Constant { size: self.batch };
        }
        let limits = &mut settings.limits;
        limits.iterations = u64::MAX;
        for limit in [&mut limits.gradient_samples, &mut limits.constraint_samples, &mut limits.jacobian_samples] {
            *limit = Some(most);
        }
        let mut referee = build()?;
        let mut solver = Solver::sampled(build()?, settings).map_err(|error| refused(&error))?;
        solver.interrupt(Arc::clone(&self.interrupt));
        let (mut course, mut seconds) = (Vec::new(), 0.0);
        // The first batch is there before the first iteration.
        let (mut spent, mut so_far) = (Spent::default(), solver.report().samples.gradient);
        let mut observe = |row: &Row, x: &[f64]| {
            while row.samples.gradient * MARKS >= course.len() as u64 * most && course.len() as u64 <= MARKS {
                course.push(referee.measure(x));
            }
            seconds = row.seconds;
            let samples = row.samples.gradient - std::mem::replace(&mut so_far, row.samples.gradient);
            spent.add(row, samples, self.batch);
            ControlFlow::Continue(())
        };
        let report = solver.run(&mut observe);
        let end = referee.measure(&report.x);
        course.resize(MARKS as usize + 1, end);
        let samples = report.samples.gradient;
        spent.last += samples - so_far;
        Ok(Run { task, seed, stop: report.stop, end, iterations: report.iterations, samples, spent, seconds, course })
    }
}
