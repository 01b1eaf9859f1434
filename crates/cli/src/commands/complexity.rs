use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use tangor_bench::complexity::{FEWEST_VALUES, SEEDS, Study, TAU, VALUES};

use crate::error::Error;
use crate::screen::Color;
use crate::{exit, files, interrupt, width};

const EXAMPLES: &str = "\
Examples:
  tangor bench complexity                        about a minute; files go into complexity/
  tangor bench complexity --values 5 --seeds 1   a first look, a second or two
  tangor bench complexity --tau 0.2 --out longer-steps";

/// Measure how many samples are needed against eps
///
/// Runs the five settings of the paper's Table 1 (deterministic; sampled objective; everything sampled; mini-batches or recursive
/// momentum) on a problem with known constants, by the paper's rules and by the defaults, until the exact residuals are at most eps, for several eps. Prints the
/// slopes of the counts beside the paper's exponents; complexity.csv (every run), complexity-slopes.csv and complexity.svg go into
/// a folder.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Complexity {
    /// The folder
    #[arg(long, value_name = "FOLDER", default_value = "complexity")]
    out: PathBuf,

    /// Seeds of noisy runs; counts are medians over them
    #[arg(long, value_name = "N", default_value_t = SEEDS, value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: u64,

    /// How many values of eps, from 0.8 downwards, each smaller by the square root of 2; 5 to 9
    #[arg(long, value_name = "N", default_value_t = VALUES as u64, value_parser = values())]
    values: u64,

    /// How much of the proven stepsize to take by the paper's rules; above 0 and at most 0.2
    #[arg(long, value_name = "TAU", default_value_t = TAU)]
    tau: f64,

    /// Runs at the same time; as many as there are cores if not given
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,

    /// When to use colours
    #[arg(long, value_enum, default_value_t)]
    color: Color,
}

fn values() -> clap::builder::RangedU64ValueParser {
    clap::value_parser!(u64).range(FEWEST_VALUES as u64..=VALUES as u64)
}

impl Complexity {
    pub fn run(self) -> Result<u8, Error> {
        let flag = interrupt::flag()?;
        let jobs = self.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
        let study =
            Study { seeds: self.seeds, values: self.values as usize, tau: self.tau, jobs, interrupt: &flag, progress: true };
        let outcome = study.run()?;
        let table = outcome.table();
        let mut out = self.color.screen();
        write!(out, "{}{}", width::fitted(&table.caption), table.text(width::of_screen()))?;
        write!(out, "{}", width::fitted(&outcome.verdict()))?;
        std::fs::create_dir_all(&self.out).map_err(|cause| Error::Unwritable { path: self.out.clone(), cause })?;
        for (name, text) in outcome.files()? {
            let path = self.out.join(name);
            files::write(&path, text.as_bytes())?;
            writeln!(out, "wrote {}", path.display())?;
        }
        Ok(if outcome.missing > 0 { exit::STOPPED } else { exit::SOLVED })
    }
}
