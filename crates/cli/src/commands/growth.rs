use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use tangor_bench::compare::read;
use tangor_bench::growth::Growth;

use crate::error::Error;
use crate::screen::Color;
use crate::{exit, files, width};

const EXAMPLES: &str = "\
Examples:
  tangor bench run large --solver tangor,ipopt --time-limit 60s --out large.csv
  tangor bench growth large.csv --out growth.svg";

/// How time and memory grow with the number of variables
///
/// Takes rows of `tangor bench run large`: problems with a size parameter at several sizes. Prints how many each solver solved at each
/// size, medians of time and memory over what all solved, and the slopes of their growth; draws them on logarithmic scales.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Growing {
    /// Tables of rows; each may hold several solvers
    #[arg(required = true)]
    tables: Vec<PathBuf>,

    /// Up to which residual a problem counts as solved
    #[arg(long, value_name = "EPS", default_value_t = 1e-6)]
    tolerance: f64,

    /// Write the picture
    #[arg(long, value_name = "FILE.svg")]
    out: Option<PathBuf>,

    /// When to use colours
    #[arg(long, value_enum, default_value_t)]
    color: Color,
}

impl Growing {
    /// Prints and draws.
    pub fn run(self) -> Result<u8, Error> {
        let mut entrants = Vec::new();
        for path in &self.tables {
            entrants.extend(read(path)?);
        }
        let growth = Growth::new(&entrants, self.tolerance)?;
        let mut out = self.color.screen();
        write!(out, "{}", width::fitted(&growth.summary()))?;
        if let Some(path) = &self.out {
            files::write(path, growth.figure().draw().as_bytes())?;
            writeln!(out, "wrote {}", path.display())?;
        }
        Ok(exit::SOLVED)
    }
}
