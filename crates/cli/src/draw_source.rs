//! The draws at which a noisy problem is looked at.

use std::io::Write;

use clap::Args;
use tangor_problem::{Access, Draw, SampledProblem};

use crate::error::Error;
use crate::screen::Screen;

/// So many draws are enough to look at a problem.
const USUAL: u64 = 8;

/// Which draws.
#[derive(Debug, Args)]
pub struct DrawArguments {
    /// The draws over which a noisy problem is averaged, as in 0,3,17; the first eight if none are given
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',')]
    draws: Vec<u64>,
}

impl DrawArguments {
    /// The draws; none for a problem without noise.
    pub fn of(&self, problem: &dyn SampledProblem) -> Result<Vec<Draw>, Error> {
        let accesses = problem.accesses();
        if accesses.are_exact() {
            return match self.draws.is_empty() {
                true => Ok(Vec::new()),
                false => Err(Error::Setting(format!("{} has no noise: leave --draws out", problem.meta().name))),
            };
        }
        for access in [accesses.gradient, accesses.constraints, accesses.jacobian] {
            if let (Access::Finite(members), Some(most)) = (access, self.draws.iter().max())
                && *most >= members
            {
                return Err(Error::Setting(format!("draw {most} is not in a population of {members}")));
            }
        }
        match self.draws.is_empty() {
            true => Ok(accesses.first_draws(USUAL)),
            false => Ok(self.draws.iter().copied().map(Draw).collect()),
        }
    }
}

/// Says which draws were used, if any.
pub fn tell(out: &mut Screen, draws: &[Draw]) -> Result<(), Error> {
    if draws.is_empty() {
        return Ok(());
    }
    let numbers: Vec<String> = draws.iter().map(|draw| draw.0.to_string()).collect();
    let what = if numbers.len() == 1 { "Values at the draw" } else { "Averages over the draws" };
    Ok(writeln!(out, "{what} {}.", numbers.join(", "))?)
}
