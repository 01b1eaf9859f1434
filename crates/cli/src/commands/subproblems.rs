use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

use clap::Args;
use tangor_bench::report::Table;
use tangor_bench::subproblems::{Following, describe, kernel_table, table};
use tangor_bench::{members, only, write_rows};
use tangor_open::Finder;
use tangor_problem::count_of;

use super::bench::settings;
use crate::error::Error;
use crate::screen::Color;
use crate::{duration, exit, interrupt, width};

const EXAMPLES: &str = "\
Examples:
  tangor bench subproblems embedded
  tangor bench subproblems paper --out subproblems.csv             needs the SIF files (MASTSIF)
  tangor bench subproblems paper --set metric.kind=identity        with the paper's metric";

/// Time the kernel against Clarabel and Ipopt on the subproblems of runs
///
/// Both subproblems of an iteration are recorded along runs, at the iterations 0, 1, 2, 4, 8, ..., and solved again by the kernel, as in the
/// run and from zero, by Clarabel, and by Ipopt, to which the paper hands them all, as quadratic programs with exact Hessian and its
/// defaults. Of Ipopt only the time of its solve counts. Everything runs in one process, one after the other, and the smallest of five
/// times is taken of each. Ipopt needs the feature `ipopt`.
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
                Err(error) => refused.push(error.to_string()),
            }
        }
        let print = |out: &mut dyn Write, table: Table| {
            writeln!(out, "{}{}", width::fitted(&table.caption), table.text(width::of_screen()))
        };
        print(&mut out, kernel_table(&measured))?;
        if measured.iter().any(|one| one.verdict.is_some()) {
            write!(out, "{}", width::fitted(&describe(&measured).join("\n")))?;
            print(&mut out, table(&measured))?;
        }
        if !cut.is_empty() {
            let limit = duration::readable(following.time_limit);
            let told = format!("followed for {limit} only: {} ({})", count_of(cut.len(), "run"), cut.join(", "));
            writeln!(out, "{}", width::wrapped(&told, 2))?;
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
