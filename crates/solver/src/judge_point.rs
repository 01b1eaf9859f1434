//! Judging a point that comes from elsewhere.

use tangor_problem::SampledProblem;

use crate::random::Stream;
use crate::solver::Solver;
use crate::{Error, Sampling, Settings, Verdict};

/// The first of the three streams of draws that no run uses.
const FRESH: u64 = 6;

impl<S: SampledProblem> Solver<S> {
    /// Judges a point of a problem on `sampling.judge.samples` samples of each function that no run with the same seed has seen;
    /// multipliers are fitted to half of them. Where all functions are exact, so is the verdict: each bound is its residual.
    pub fn judge_point(problem: S, x: &[f64], sampling: Sampling) -> Result<Verdict, Error> {
        let refuse = |reason: String| Error::Point { reason };
        let seed = sampling.seed;
        let mut solver = Solver::unstarted(problem, Settings { sampling, ..Settings::default() }, None)?;
        let meta = solver.oracle.meta();
        if x.len() != meta.n() {
            return Err(refuse(format!("it has {} numbers, but {} has {} variables", x.len(), meta.name, meta.n())));
        }
        if let Some(i) = (0..x.len()).find(|&i| !(meta.x_lower[i]..=meta.x_upper[i]).contains(&x[i])) {
            return Err(refuse(format!("variable {} is {}, outside of its bounds", meta.variable_name(i), x[i])));
        }
        for (z, &i) in solver.current.z.iter_mut().zip(&solver.oracle.standard.columns) {
            *z = x[i];
        }
        solver.prepare_judge();
        if let Some(judge) = &mut solver.judge {
            judge.set_streams([0, 1, 2].map(|number| Stream::new(seed, FRESH + number)));
        }
        solver.judge().map_err(|trouble| refuse(trouble.into_failure().message))
    }
}
