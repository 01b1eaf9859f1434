//! Many runs, in parallel over problems, each in its own process, into one journal.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use crate::Error;
use crate::child::{self, Program};
use crate::contender::Contender;
use crate::journal::{Journal, refuse_foreign, write_csv};
use crate::progress::{bar, lock};
use crate::record::Record;
use crate::sets::Member;
use crate::task::Task;

/// What is to be run: every problem with every solver and every seed.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The problems.
    pub members: Vec<Member>,
    /// The solvers.
    pub contenders: Vec<Contender>,
    /// How many seeds: 0, 1, ...
    pub seeds: u64,
    /// How far each seed moves the start, relative to `max(1, |x0_i|)`.
    pub perturbation: f64,
    /// Most iterations of a run.
    pub max_iterations: u64,
    /// Most entries of the Jacobians of a run, each counted as if it were dense: it has fewer iterations on a large problem.
    pub max_entries: Option<u64>,
    /// Most seconds of a run.
    pub time_limit: f64,
    /// Whether rows keep the course of the residuals.
    pub trace: bool,
}

/// How it is run.
#[derive(Debug)]
pub struct Campaign<'a> {
    /// How single runs are started.
    pub program: Program,
    /// Runs at the same time.
    pub jobs: usize,
    /// Ends the campaign in order when it becomes true: what runs is dropped, and a later call goes on from there.
    pub interrupt: &'a AtomicBool,
    /// Whether a bar is shown, on a terminal only.
    pub progress: bool,
}

/// What a campaign gives back.
#[derive(Debug)]
pub struct Results {
    /// The rows, in the order of the plan.
    pub records: Vec<Record>,
    /// How many of them were there before.
    pub resumed: usize,
    /// How many are missing because of an interrupt.
    pub missing: usize,
}

impl Plan {
    /// All runs: solvers of a problem one after the other, so that they meet the same load of the machine.
    pub fn tasks(&self) -> Vec<Task> {
        let mut tasks = Vec::new();
        for member in &self.members {
            for contender in &self.contenders {
                for seed in 0..self.seeds {
                    let (member, contender) = (member.clone(), contender.clone());
                    let Plan { perturbation, max_iterations, max_entries, time_limit, trace, .. } = *self;
                    tasks.push(Task { member, contender, seed, perturbation, max_iterations, max_entries, time_limit, trace });
                }
            }
        }
        tasks
    }
}

impl Campaign<'_> {
    /// Runs what the journal does not have yet; then all rows are in the journal, and as CSV in `csv` when it is given.
    pub fn run(&self, plan: &Plan, journal: &mut Journal, csv: Option<&Path>) -> Result<Results, Error> {
        if let Some(path) = csv {
            refuse_foreign(path)?;
        }
        let tasks = plan.tasks();
        let missing = journal.missing(tasks.clone())?;
        let resumed = tasks.len() - missing.len();
        self.run_all(&missing, journal)?;
        let records = journal.rows_of(&tasks);
        if let Some(path) = csv {
            write_csv(path, &records)?;
        }
        Ok(Results { resumed, missing: tasks.len() - records.len(), records })
    }

    fn run_all(&self, tasks: &[Task], journal: &mut Journal) -> Result<(), Error> {
        let bar = bar(self.progress, tasks.len());
        let next = AtomicUsize::new(0);
        let journal = Mutex::new(journal);
        let failure = Mutex::new(None);
        let work = || {
            while let Some(task) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
                if self.interrupt.load(Ordering::Relaxed) {
                    return;
                }
                let done = child::run(&self.program, task, self.interrupt);
                // A child that was ended by Ctrl-C, which reaches it too, or with its parent has neither crashed nor hung.
                if self.interrupt.load(Ordering::Relaxed) {
                    return;
                }
                let kept = done.and_then(|record| lock(&journal).push(record));
                if let Err(error) = kept {
                    lock(&failure).get_or_insert(error);
                    next.store(tasks.len(), Ordering::Relaxed);
                    return;
                }
                bar.set_message(shown(&task.member.name));
                bar.inc(1);
            }
        };
        thread::scope(|scope| {
            for _ in 0..self.jobs.max(1) {
                scope.spawn(work);
            }
        });
        bar.finish_and_clear();
        failure.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()).map_or(Ok(()), Err)
    }
}

/// A name beside the bar: what would steer a terminal is shown, not obeyed.
fn shown(name: &str) -> String {
    name.chars().map(|letter| if letter.is_control() { char::REPLACEMENT_CHARACTER } else { letter }).collect()
}
