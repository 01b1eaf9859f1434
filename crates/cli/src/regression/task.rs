//! What is fitted, and how the exact problem is solved.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tangor_learn::{DataSet, Goal, Regression};
use tangor_problem::{Exact, SampledProblem};
use tangor_solver::{Batch, Report, Scaling, Settings, Silent, Solver};

use super::data::DataArguments;
use super::goal::Threshold;
use crate::error::Error;

/// Rows of a batch if nothing is said.
const BATCH: usize = 128;
/// Tolerances of a fit from samples: finer ones would say more than the data do.
const STATIONARITY: f64 = 1e-2;
const VIOLATION: f64 = 2e-3;
/// How much finer than those of a run the tolerances are that no point found from samples meets.
const FINER: f64 = 1e-9;
/// All rows in every iteration take some 300 passes; up to this many numbers in a pass that is less than a minute.
const EXACT_ENTRIES: usize = 10_000_000;

/// What is fitted: a fit that goes on finds it in its saved state.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// Where the data come from.
    pub data: DataArguments,
    /// What is asked for.
    pub goal: Goal,
    /// Where decisions are made.
    pub threshold: Threshold,
    /// Whether every iteration sees all rows.
    pub exact: bool,
    /// Of the data as they were read; 0 when no state is saved and nobody will ask.
    pub fingerprint: u64,
}

/// Whether data are small enough to be seen as a whole in every iteration.
pub fn are_few(data: &DataSet) -> bool {
    data.entries() <= EXACT_ENTRIES
}

impl Task {
    /// The problem as the run sees it.
    pub fn problem(&self, data: &Arc<DataSet>) -> Result<Box<dyn SampledProblem>, Error> {
        let regression = Regression::new(Arc::clone(data), &self.goal)?;
        Ok(match self.exact {
            true => Box::new(Exact(regression)),
            false => Box::new(regression.sampled()),
        })
    }

    /// The exact residuals at the point found, with the multipliers that fit it best on all rows: a deterministic run that ends where it starts.
    pub fn judge(&self, data: &Arc<DataSet>, settings: &Settings, report: &Report) -> Result<Report, Error> {
        if self.exact {
            return Ok(report.clone());
        }
        let regression = Regression::new(Arc::clone(data), &self.goal)?.start(report.x.clone());
        judged_on_all_rows(regression, settings)
    }
}

/// The start of a regression judged exactly, with the multipliers that fit it best.
fn judged_on_all_rows(regression: Regression, settings: &Settings) -> Result<Report, Error> {
    let (mut settings, asked) = (settings.clone(), settings.tolerance.clone());
    settings.limits.iterations = 0;
    settings.limits.samples = None;
    // One look at all rows: whatever the time, on all processes.
    settings.limits.seconds = None;
    // A run fits multipliers to a point that is not within its tolerances; elsewhere it makes do with those of its step.
    let finer = &mut settings.tolerance;
    for residual in [&mut finer.stationarity, &mut finer.feasibility, &mut finer.complementarity] {
        *residual = (FINER * *residual).max(f64::MIN_POSITIVE);
    }
    let mut solver = Solver::new(regression, settings)?;
    solver.run(&mut Silent);
    solver.tell_by(asked).map_err(tangor_solver::Error::from)?;
    Ok(solver.report())
}

/// Fits a goal to all rows, from these weights.
pub fn solved(data: &Arc<DataSet>, goal: &Goal, start: Vec<f64>, settings: &Settings) -> Result<Report, Error> {
    let regression = Regression::new(Arc::clone(data), goal)?.start(start);
    Ok(tangor_solver::solve(regression, settings.clone())?)
}

/// The settings of a fit if nothing is said.
pub fn defaults(exact: bool) -> Settings {
    // Features are standardised already, and a category that is rare is not a variable in other units.
    let mut settings = Settings { scaling: Scaling::Gradient, ..Settings::default() };
    if !exact {
        settings.tolerance.stationarity = STATIONARITY;
        settings.tolerance.complementarity = STATIONARITY;
        settings.tolerance.feasibility = VIOLATION;
        let sampling = &mut settings.sampling;
        for estimation in [&mut sampling.gradient, &mut sampling.constraints, &mut sampling.jacobian] {
            estimation.batch = Batch::Constant { size: BATCH };
        }
    }
    settings
}

#[cfg(test)]
mod tests {
    use tangor_learn::{Constraint, Rate, generate};
    use tangor_solver::{Candidate, judge_point, solve_sampled};

    use super::*;

    /// The multipliers that are told are those of a refit: no others, of a fine grid around those of the run, make both residuals smaller.
    #[test]
    fn multipliers_of_a_fit_from_samples_are_the_best_of_its_point() {
        let data = Arc::new(generate(4000, 5, 3).expect("data can be made"));
        let gap = Constraint::Gap { rate: Rate::Selection, column: "group".to_string(), most: 0.02 };
        let goal = Goal { constraints: vec![gap], ..Goal::default() };
        let regression = || Regression::new(Arc::clone(&data), &goal).expect("the goal suits the data");
        for seed in 0..4 {
            let mut settings = defaults(false);
            settings.sampling.seed = seed;
            let report = solve_sampled(regression().sampled(), settings.clone()).expect("it can be tried");
            let judged = judged_on_all_rows(regression().start(report.x.clone()), &settings).expect("it can be judged");
            let residuals = |y: f64| {
                let candidate = Candidate { x: &report.x, row_multipliers: &[y], bound_multipliers: &report.bound_multipliers };
                let verdict = judge_point(Exact(regression()), candidate, &settings.sampling).expect("it can be judged");
                (verdict.stationarity.value, verdict.complementarity.value)
            };
            let told = residuals(judged.row_multipliers[0]);
            assert!((told.0 - judged.stationarity).abs() <= 1e-9, "{told:?} {judged}");
            assert!((told.1 - judged.complementarity).abs() <= 1e-9, "{told:?} {judged}");
            for k in 0..=200 {
                let y = report.row_multipliers[0] * (0.5 + f64::from(k) / 200.0);
                let other = residuals(y);
                assert!(other.0 >= told.0 || other.1 >= told.1, "seed {seed}: {told:?}, but {other:?} with {y}");
            }
        }
    }
}
