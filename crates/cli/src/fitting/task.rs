//! What is fitted, and how the exact problem is solved.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tangor_learn::{DataSet, Goal, Regression};
use tangor_problem::{Exact, SampledProblem};
use tangor_solver::{Batch, Report, Scaling, Settings};

use super::data::DataArguments;
use super::goal::Threshold;
use crate::error::Error;

/// Rows of a batch if nothing is said.
const BATCH: usize = 128;
/// Tolerances of a fit from samples: finer ones would say more than the data do.
const STATIONARITY: f64 = 1e-2;
const VIOLATION: f64 = 2e-3;
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
    data.features.entries() <= EXACT_ENTRIES
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

    /// The exact residuals and the multipliers at the point found: a deterministic run that ends where it starts.
    pub fn judge(&self, data: &Arc<DataSet>, settings: &Settings, report: &Report) -> Result<Report, Error> {
        if self.exact {
            return Ok(report.clone());
        }
        let regression = Regression::new(Arc::clone(data), &self.goal)?.start(report.x.clone());
        let mut settings = settings.clone();
        settings.limits.iterations = 0;
        settings.limits.samples = None;
        // One look at all rows: whatever the time, on all processes.
        settings.limits.seconds = None;
        Ok(tangor_solver::solve(regression, settings)?)
    }
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
