//! Multipliers for a point that is judged.
//!
//! The tangent step from there with nothing to repair, `min g^T s + sigma/2 |s|^2` subject to `J s = 0` and the bounds, has a dual that
//! minimises `|g + J^T y - mu|^2 / (2 sigma) + sum |multiplier| distance` over all multipliers with the right signs: stationarity and
//! complementarity together. `sigma` weighs the two; several are tried.
//!
//! The Jacobian is itself an average, and large multipliers could explain `g` by its noise: [`TangentStep::soften`] says what that costs.

use tangor_problem::SampledProblem;

use crate::form::iterate::Iterate;
use crate::form::standard::Standard;
use crate::kernel::matrix::Jacobian;
use crate::kernel::projection::Projection;
use crate::metric::CurrentMetric;
use crate::run::clock::Clock;
use crate::solver::Solver;
use crate::steps::local_model::{LocalModel, StepBounds};
use crate::steps::tangent_step::TangentStep;
use crate::{Event, Unusual};

/// The weights that are tried.
pub const SIGMAS: [f64; 3] = [1.0, 1e-2, 1e-4];

/// A fit that takes so many seconds keeps nobody waiting.
const BRIEF: f64 = 0.05;

/// The fit with its memory.
pub struct MultiplierFit {
    pub tangent: TangentStep,
    metric: CurrentMetric,
    bounds: StepBounds,
    target: Vec<f64>,
}

impl MultiplierFit {
    pub fn new(jacobian: &Jacobian) -> Self {
        let (m, columns) = (jacobian.rows(), jacobian.columns());
        let metric = CurrentMetric::constant(columns);
        MultiplierFit {
            tangent: TangentStep::new(jacobian, None),
            metric,
            bounds: StepBounds::new(columns),
            target: vec![0.0; m],
        }
    }

    /// The multipliers at the point, in [`MultiplierFit::tangent`]. True: Clarabel found them.
    /// `error` is the mean square error of the whole Jacobian, as the user has it.
    pub fn fit(
        &mut self,
        at: &Iterate,
        (sigma, error): (f64, f64),
        standard: &Standard,
        projection: &mut Projection,
        clock: &Clock,
    ) -> bool {
        self.bounds.around(&at.z, &standard.lower, &standard.upper);
        let scalar = sigma * standard.scales.objective;
        self.metric.set_scalar(scalar);
        self.tangent.soften(error, scalar, &standard.scales.rows);
        self.metric.fill(at);
        let local = LocalModel { at, bounds: &self.bounds, metric: &self.metric, clock };
        let mut unusual = Unusual::default();
        self.tangent.compute(local, &self.target, projection, &mut unusual);
        unusual.contains(Event::Fallback)
    }
}

impl<S: SampledProblem> Solver<S> {
    /// At the end of an exact run that did not get to its tolerances: better multipliers for its point, if there are any. Those of the
    /// last step belong to a step that repairs the constraints, and may flatter the point less than it deserves.
    pub(crate) fn refit_best(&mut self, unusual: &mut Unusual) {
        if self.outcome.best.x != *self.state.current.user.x || self.is_too_late_to_refit() {
            return;
        }
        // A run that goes on from here knows nothing of this end.
        self.beginning.keep(&self.outcome.best, &self.state.row_sizes);
        let (tolerance, standard) = (&self.settings.tolerance, &self.oracle.standard);
        let mut least = self.outcome.best.values.map_or(f64::INFINITY, |values| values.residuals.score(tolerance));
        for sigma in SIGMAS {
            self.judging.fit.tangent.lambda.copy_from_slice(&self.steps.tangent.lambda);
            if self.judging.fit.fit(&self.state.current, (sigma, 0.0), standard, &mut self.steps.projection, &self.clock) {
                unusual.insert(Event::Fallback);
            }
            self.judging.kkt.measure(&self.state.current, &self.judging.fit.tangent, standard);
            let score = self.judging.kkt.residuals.score(tolerance);
            if score < least {
                least = score;
                self.outcome.best.refit(&self.state.current, &self.judging.kkt, &self.oracle);
            }
        }
    }

    /// Whether the time is over, or the user waits for the end, and a fit could take long: about as long as an iteration took. Several processes
    /// have seconds of their own and fit in any case, so that all report the same.
    fn is_too_late_to_refit(&self) -> bool {
        let iterations = (self.state.progress.iteration as f64).max(1.0);
        self.clock.is_over() && !self.clock.is_shared() && self.clock.seconds() > BRIEF * iterations
    }
}
