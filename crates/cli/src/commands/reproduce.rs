use std::io::Write;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tangor_bench::reproduce::{Experiment, Laboratory};
use tangor_bench::{Contender, PEERS};
use tangor_problem::count_of;

use super::bench::Effort;
use crate::error::Error;
use crate::idle::Idle;
use crate::screen::Color;
use crate::{exit, interrupt, width};

const EXAMPLES: &str = "\
Examples:
  tangor reproduce all --out results             everything; needs the SIF files (MASTSIF)
  tangor reproduce mapping tables --out results  Figure 1 and both tables, in one report
  tangor reproduce variance --out results --seeds 5
  tangor reproduce complexity --out results      Table 1, measured: no SIF files, about a minute
  tangor reproduce tables --out results --peer ipopt       Ipopt beside Tangor, if it was built in";

/// Run the paper's experiments and make a report
///
/// Data (CSV and JSON lines), pictures (SVG) and report.html go into a folder. The same command after a kill goes on where it was;
/// only `complexity` starts over.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Reproduce {
    /// Which of them; several make one report
    #[arg(value_enum, required = true)]
    what: Vec<What>,

    /// The folder
    #[arg(long, value_name = "FOLDER", default_value = "results")]
    out: PathBuf,

    /// Start over, even if the folder has rows already
    #[arg(long)]
    fresh: bool,

    /// Only these problems; the report says so
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,

    /// Peers that solve the problems of the tables too: ipopt, ipopt-exact
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    peer: Vec<String>,

    /// Seeds of noisy runs; complexity has at least 5
    #[arg(long, value_name = "N", default_value_t = 1)]
    seeds: u64,

    #[command(flatten)]
    effort: Effort,

    /// When to use colours
    #[arg(long, value_enum, default_value_t)]
    color: Color,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum What {
    /// Figure 1: augmented Lagrangian, SQP and regularised mapping
    Mapping,
    /// Figure 2: mini-batch against recursive momentum under noise; fewer iterations on large problems, at most 1,000,000 / (n m), so that
    /// no clock ends a run
    Variance,
    /// Figure 3: residuals on both sets
    Inequality,
    /// Both tables, each row beside the paper's
    Tables,
    /// Table 1: samples needed against eps, on a problem with known constants
    Complexity,
    /// All of them
    All,
}

fn peer(name: &str) -> Result<Contender, Error> {
    let known = || PEERS.map(|(name, _)| name).join(" and ");
    let peer = Contender::peer(name);
    Ok(peer.ok_or_else(|| Error::Setting(format!("there is no peer {name:?}; choose from {}", known())))?.if_built()?)
}

impl What {
    fn experiments(self) -> &'static [Experiment] {
        match self {
            What::Mapping => &[Experiment::Mapping],
            What::Variance => &[Experiment::Variance],
            What::Inequality => &[Experiment::Inequality],
            What::Tables => &[Experiment::Tables],
            What::Complexity => &[Experiment::Complexity],
            What::All => {
                &[Experiment::Mapping, Experiment::Variance, Experiment::Inequality, Experiment::Tables, Experiment::Complexity]
            }
        }
    }
}

impl Reproduce {
    /// The arguments that do nothing in these experiments.
    fn idle(&self, experiments: &[Experiment]) -> Idle {
        let any = |wanted: &[Experiment]| experiments.iter().any(|experiment| wanted.contains(experiment));
        let mut idle = Idle::default();
        let noisy = any(&[Experiment::Variance, Experiment::Complexity]);
        idle.add(!noisy, "only variance and complexity have noisy runs", &[("--seeds", self.seeds > 1)]);
        let beside = any(&[Experiment::Tables, Experiment::Inequality]);
        idle.add(!beside, "peers stand beside tables and inequality only", &[("--peer", !self.peer.is_empty())]);
        idle
    }

    /// Runs the experiments.
    pub fn run(self) -> Result<u8, Error> {
        let experiments: Vec<Experiment> = self.what.iter().flat_map(|what| what.experiments()).copied().collect();
        let peers = self.peer.iter().map(|name| peer(name)).collect::<Result<_, _>>()?;
        self.idle(&experiments).tell();
        let flag = interrupt::flag()?;
        let laboratory = Laboratory {
            campaign: self.effort.campaign(&flag)?,
            folder: self.out.clone(),
            finder: self.effort.finder(),
            max_iterations: self.effort.max_iterations,
            time_limit: self.effort.seconds(),
            only: self.only.clone(),
            peers,
            seeds: self.seeds,
            fresh: self.fresh,
        };
        let done = laboratory.reproduce(&experiments)?;
        let mut out = self.color.screen();
        for section in done.report.sections.iter().filter(|section| !section.tables.is_empty()) {
            for table in section.tables.iter().filter(|table| !table.filter) {
                writeln!(out, "{}{}", width::fitted(&table.caption), table.text(width::of_screen()))?;
            }
        }
        writeln!(out, "report in {}", done.path.display())?;
        if done.missing > 0 {
            writeln!(out, "{} missing: the same command goes on", count_of(done.missing, "run"))?;
            return Ok(exit::STOPPED);
        }
        Ok(exit::SOLVED)
    }
}
