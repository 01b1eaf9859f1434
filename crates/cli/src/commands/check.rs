use std::io::Write;

use clap::Args;
use tangor_problem::{AtDraws, DerivativeCheck, MemoryLimit, Problem, check_derivatives};
use tangor_sif::Difference;

use crate::draw_source::{self, DrawArguments};
use crate::error::Error;
use crate::point_source::PointArguments;
use crate::problem_source::{Opened, ProblemArguments, SifFile};
use crate::screen::{Color, Screen};
use crate::style::{BAD, GOOD, TITLE};
use crate::{exit, plain, point_source, width};

const EXAMPLES: &str = "\
Examples:
  tangor check HS71                              at the start
  tangor check HS71 --at point.json              at a point: [1, 4.7, 3.8, 1.4]
  tangor solve HS71 --json > hs71.json; tangor check HS71 --at hs71.json";

/// How far coded and automatic derivatives may differ, relative to the largest of the same order.
const TOLERANCE: f64 = 1e-9;
/// How many of them are listed.
const SHOWN: usize = 10;

/// Compare a problem's derivatives with finite differences
///
/// Every derivative that is wrong is named with its row, its column and both values, the worst first, and so is every entry that is
/// missing from a sparse Jacobian. Of a SIF file the derivatives that it codes are also compared with automatic ones, element by
/// element, second derivatives included. Of a noisy program (--oracle) the functions are averages over the same draws at all points.
/// The exit code is 2 when anything is wrong.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Check {
    #[command(flatten)]
    problem: ProblemArguments,

    #[command(flatten)]
    point: PointArguments,

    #[command(flatten)]
    draws: DrawArguments,

    /// When to use colours
    #[arg(long, value_enum, default_value_t)]
    color: Color,
}

impl Check {
    /// Checks the derivatives and tells what is wrong.
    pub fn run(self) -> Result<u8, Error> {
        let Opened { problem, sif, .. } = self.problem.open()?;
        let draws = self.draws.of(&*problem)?;
        let mut problem = AtDraws::new(problem, draws.clone());
        let meta = problem.meta().clone();
        let x = self.point.or(&meta, || point_source::start(&meta))?;
        let check =
            check_derivatives(&mut problem, &x).map_err(|cause| Error::Evaluation { name: meta.name.clone(), cause })?;
        let coded = sif.map(|file| compare_coded(&file, &x)).transpose()?;
        let right = check.is_right() && coded.as_ref().is_none_or(Vec::is_empty);
        let (verdict, style) = if right { ("right", GOOD) } else { ("wrong", BAD) };
        let mut out = self.color.screen();
        writeln!(out, "{TITLE}{}{TITLE:#}: {style}{verdict}{style:#}", plain::name(&meta.name))?;
        draw_source::tell(&mut out, &draws)?;
        print_check(&mut out, &check)?;
        coded.map_or(Ok(()), |differences| print_coded(&mut out, &differences))?;
        Ok(if right { exit::SOLVED } else { exit::INFEASIBLE })
    }
}

fn compare_coded(file: &SifFile, x: &[f64]) -> Result<Vec<Difference>, Error> {
    let bytes = MemoryLimit::of_this_machine()
        .read(&file.path)
        .map_err(|cause| Error::Unreadable { path: file.path.clone(), cause })?;
    let name = file.path.display().to_string();
    Ok(tangor_sif::check(&String::from_utf8_lossy(&bytes), &name, &file.options, Some(x), TOLERANCE)?)
}

fn print_check(out: &mut Screen, check: &DerivativeCheck) -> Result<(), Error> {
    write!(out, "{}", width::fitted(&plain::lines(&check.to_string())))?;
    if let (Some(worst), true) = (&check.worst, check.is_right()) {
        let told = format!("  {}", plain::name(&worst.to_string()));
        writeln!(out, "Closest to wrong, at {:.1}% of what is allowed:", 100.0 * worst.excess())?;
        write!(out, "{}", width::fitted(&told))?;
    }
    Ok(())
}

fn print_coded(out: &mut Screen, differences: &[Difference]) -> Result<(), Error> {
    if differences.is_empty() {
        return Ok(writeln!(out, "The derivatives that the file codes are those of its functions.")?);
    }
    writeln!(out, "Coded by the file, but not what differentiation gives:")?;
    for difference in differences.iter().take(SHOWN) {
        write!(out, "{}", width::fitted(&format!("  {}", plain::name(&difference.to_string()))))?;
    }
    match differences.len().saturating_sub(SHOWN) {
        0 => Ok(()),
        more => Ok(writeln!(out, "  and {more} more")?),
    }
}
