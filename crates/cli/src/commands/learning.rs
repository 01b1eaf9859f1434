use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use tangor_bench::Error as BenchError;
use tangor_bench::learning::{BATCH, SEEDS, Study};
use tangor_learn::tasks::Task;

use crate::error::Error;
use crate::screen::Color;
use crate::{exit, files, interrupt, width};

const EXAMPLES: &str = "\
Examples:
  tangor bench learning --adult DATA             all four tasks; files go into learning/
  tangor bench learning --task logistic          569 tumours under eleven equalities: a few seconds
  tangor bench learning --task heat-network --seeds 1 --share 0.1";

/// Run four learning tasks under constraints, beside methods that others tuned
///
/// Logistic regression with eleven equalities, census data under four noisy inequalities with a linear model and with a network, and a
/// physics-informed network with 14 exact equalities; default settings, batches of 128 unless told otherwise, a limit on samples. Prints medians and worst seeds,
/// measured on all the data; learning.csv and a picture for each task go into a folder.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Learning {
    /// Only these: logistic, adult, adult-network, heat-network
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = task)]
    task: Vec<Task>,

    /// The folder of adult_train.csv and adult_test.csv (census income, UCI); without it only the other tasks are run
    #[arg(long, value_name = "FOLDER")]
    adult: Option<PathBuf>,

    /// The folder
    #[arg(long, value_name = "FOLDER", default_value = "learning")]
    out: PathBuf,

    /// How many seeds
    #[arg(long, value_name = "N", default_value_t = SEEDS, value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: u64,

    /// How much of the usual number of samples to take
    #[arg(long, value_name = "SHARE", default_value_t = 1.0)]
    share: f64,

    /// Samples in a batch
    #[arg(long, value_name = "N", default_value_t = BATCH as u64, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    batch: u64,

    /// Set one setting by its path, as in metric.kind=diagonal; may be repeated
    #[arg(long = "set", value_name = "PATH=VALUE", value_parser = crate::settings_source::assignment)]
    assignments: Vec<(String, String)>,

    /// Runs at the same time; as many as there are cores if not given
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,

    /// When to use colours
    #[arg(long, value_enum, default_value_t)]
    color: Color,
}

fn task(name: &str) -> Result<Task, String> {
    let found = Task::ALL.into_iter().find(|task| task.name() == name);
    found.ok_or_else(|| format!("the tasks are {}", Task::ALL.map(Task::name).join(", ")))
}

impl Learning {
    pub fn run(self) -> Result<u8, Error> {
        let mut out = self.color.screen();
        let wanted = if self.task.is_empty() { Task::ALL.to_vec() } else { self.task };
        let (tasks, skipped): (Vec<Task>, Vec<Task>) =
            wanted.into_iter().partition(|task| self.adult.is_some() || !task.needs_adult());
        for task in skipped {
            writeln!(out, "{} is left out: it needs the census data, --adult FOLDER", task.name())?;
        }
        if tasks.is_empty() {
            return Err(BenchError::Empty("no task is left".into()).into());
        }
        let study = Study {
            tasks,
            seeds: self.seeds,
            share: self.share,
            batch: self.batch as usize,
            settings: super::bench::settings(&self.assignments)?,
            adult: self.adult.unwrap_or_default(),
            jobs: self.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from)),
            interrupt: interrupt::flag()?,
            progress: true,
        };
        let outcome = study.run()?;
        let table = outcome.table();
        write!(out, "{}{}", width::fitted(&table.caption), table.text(width::of_screen()))?;
        std::fs::create_dir_all(&self.out).map_err(|cause| Error::Unwritable { path: self.out.clone(), cause })?;
        for (name, text) in outcome.files()? {
            let path = self.out.join(name);
            files::write(&path, text.as_bytes())?;
            writeln!(out, "wrote {}", path.display())?;
        }
        Ok(if outcome.missing > 0 { exit::STOPPED } else { exit::SOLVED })
    }
}
