use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

use clap::Args;
use tangor_bench::subproblems::{Following, describe, table};
use tangor_bench::{Error as BenchError, members, only, write_rows};
use tangor_open::Finder;

use super::bench::settings;
use crate::error::Error;
use crate::screen::Color;
use crate::{duration, exit, interrupt};

const EXAMPLES: &str = "\
Examples:
  tangor bench subproblems embedded
  tangor bench subproblems paper --out subproblems.csv             needs the SIF files (MASTSIF)
  tangor bench subproblems paper --set metric.kind=identity        with the paper's metric";

/// Time the kernel against Ipopt on the subproblems of runs
///
/// The paper hands both subproblems of every iteration to Ipopt. Here they are recorded along runs, at the iterations 0, 1, 2, 4, 8, ...,
/// and solved again by the kernel, as in the run and from zero, and by Ipopt as quadratic programs with exact Hessian and its defaults.
/// Of Ipopt only the time of its solve counts. Everything runs in one process, one after the other, and the smallest of five times is
/// taken of each. Needs the feature `ipopt`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Subproblems {
    /// A set (embedded, paper-equality, paper-inequality, paper), or names, SIF files and lists (.txt) with commas between them
    set: String,

    /// Only these problems of the set
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,

    /// Set one setting of Tangor by its path, as in metric.kind=identity; may be repeated
    #[arg(long = "set", value_name = "PATH=VALUE", value_parser = crate::settings_source::assignment)]
    assignments: Vec<(String, String)>,

    /// Write one row for each subproblem
    #[arg(long, value_name = "FILE.csv")]
    out: Option<PathBuf>,

    /// Most iterations of a run
    #[arg(long, value_name = "N", default_value_t = 1000)]
    max_iterations: u64,

    /// Most wall time for a problem, its run and what is measured on the way together
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = duration::parse)]
    time_limit: Duration,

    /// The folder of SIF files; the variable MASTSIF if not given
    #[arg(long, value_name = "FOLDER")]
    sif_folder: Option<PathBuf>,

    /// When to use colours
    #[arg(long, value_enum, default_value_t)]
    color: Color,
}

impl Subproblems {
    /// Measures and tells.
    pub fn run(self) -> Result<u8, Error> {
        let members = only(members(&self.set, &Finder::new(self.sif_folder))?, &self.only)?;
        let following = Following {
            settings: settings(&self.assignments)?,
            max_iterations: self.max_iterations,
            time_limit: self.time_limit.as_secs_f64(),
        };
        let flag = interrupt::flag()?;
        let mut out = self.color.screen();
        let (mut measured, mut cut, mut refused) = (Vec::new(), Vec::new(), Vec::new());
        for member in &members {
            if flag.load(Ordering::Relaxed) {
                break;
            }
            match following.follow(member) {
                Ok(followed) => {
                    measured.extend(followed.measured);
                    cut.extend(followed.cut.then_some(member.name.as_str()));
                }
                Err(BenchError::NoIpopt) => return Err(BenchError::NoIpopt.into()),
                Err(error) => refused.push(error.to_string()),
            }
        }
        let lines = describe(&measured);
        lines.iter().try_for_each(|line| writeln!(out, "{line}"))?;
        let table = table(&measured);
        writeln!(out, "{}\n{}", table.caption, table.text())?;
        if !cut.is_empty() {
            let limit = duration::readable(following.time_limit);
            writeln!(out, "{} runs were followed for {limit} only: {}", cut.len(), cut.join(", "))?;
        }
        refused.iter().try_for_each(|line| writeln!(out, "left out: {line}"))?;
        if let Some(path) = &self.out {
            write_rows(path, &measured)?;
            writeln!(out, "rows in {}", path.display())?;
        }
        if flag.load(Ordering::Relaxed) {
            writeln!(out, "interrupted: not all problems were followed")?;
            return Ok(exit::STOPPED);
        }
        Ok(exit::SOLVED)
    }
}
