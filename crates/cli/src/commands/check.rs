use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use tangor_problem::{Problem, check_derivatives};

use crate::error::Error;
use crate::problem_source::ProblemArguments;
use crate::screen::Color;
use crate::style::{BAD, GOOD, TITLE};
use crate::{exit, point_source};

const EXAMPLES: &str = "\
Examples:
  tangor check HS71                              at the start
  tangor check HS71 --at point.json              at a point: [1, 4.7, 3.8, 1.4]
  tangor solve HS71 --json > hs71.json; tangor check HS71 --at hs71.json";

/// Compare a problem's derivatives with finite differences
///
/// Every derivative that is wrong is named with its row, its column and both values, the worst first, and so is every entry that is
/// missing from a sparse Jacobian. The exit code is 2 when there are any.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Check {
    #[command(flatten)]
    problem: ProblemArguments,

    /// Where: a file with a JSON list of numbers, or a result of `tangor solve --json`; the start if none is given
    #[arg(long, value_name = "POINT.json")]
    at: Option<PathBuf>,

    /// When to use colours
    #[arg(long, value_enum, default_value_t)]
    color: Color,
}

impl Check {
    /// Checks the derivatives and tells what is wrong.
    pub fn run(self) -> Result<u8, Error> {
        let mut problem = self.problem.open()?.problem;
        let meta = problem.meta().clone();
        let point = match &self.at {
            Some(path) => point_source::read(path, &meta)?,
            None => point_source::start(&meta),
        };
        let check =
            check_derivatives(&mut problem, &point).map_err(|cause| Error::Evaluation { name: meta.name.clone(), cause })?;
        let mut out = self.color.screen();
        let (verdict, style, code) =
            if check.is_right() { ("right", GOOD, exit::SOLVED) } else { ("wrong", BAD, exit::INFEASIBLE) };
        writeln!(out, "{TITLE}{}{TITLE:#}: {style}{verdict}{style:#}", meta.name)?;
        writeln!(out, "{check}")?;
        if let (Some(worst), true) = (&check.worst, check.is_right()) {
            writeln!(out, "Closest to wrong, at {:.1}% of what is allowed:\n  {worst}", 100.0 * worst.excess())?;
        }
        Ok(code)
    }
}
