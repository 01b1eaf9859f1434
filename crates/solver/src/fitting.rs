//! Multipliers for a point that is judged.
//!
//! The tangent step from there with nothing to repair, `min g^T s + sigma/2 |s|^2` subject to `J s = 0` and the bounds, has a dual that
//! minimises `|g + J^T y - mu|^2 / (2 sigma) + sum |multiplier| distance` over all multipliers with the right signs: stationarity and
//! complementarity together. `sigma` weighs the two; several are tried.
//!
//! The Jacobian is itself an average, and large multipliers could explain `g` by its noise: [`TangentStep::soften`] says what that costs.

use tangor_problem::SampledProblem;

use crate::clock::Clock;
use crate::frame::{Frame, Room};
use crate::iterate::Iterate;
use crate::matrix::Jacobian;
use crate::metric::CurrentMetric;
use crate::projection::Projection;
use crate::solver::Solver;
use crate::standard::Standard;
use crate::tangent_step::TangentStep;
use crate::{Event, Kernel, Unusual};

/// The weights that are tried.
pub const SIGMAS: [f64; 3] = [1.0, 1e-2, 1e-4];

/// The fit with its memory.
pub struct Fitting {
    pub tangent: TangentStep,
    metric: CurrentMetric,
    room: Room,
    target: Vec<f64>,
}

impl Fitting {
    pub fn new(jacobian: &Jacobian, kernel: &Kernel) -> Self {
        let (m, columns) = (jacobian.rows(), jacobian.columns());
        let metric = CurrentMetric::constant(columns);
        Fitting { tangent: TangentStep::new(jacobian, &metric, kernel), metric, room: Room::new(columns), target: vec![0.0; m] }
    }

    /// The multipliers at the point, in [`Fitting::tangent`]. True: Clarabel found them.
    /// `error` is the mean square error of the whole Jacobian, as the user has it.
    pub fn fit(
        &mut self,
        at: &Iterate,
        (sigma, error): (f64, f64),
        standard: &Standard,
        projection: &mut Projection,
        clock: &Clock,
    ) -> bool {
        self.room.around(&at.z, &standard.lower, &standard.upper);
        let scalar = sigma * standard.objective_scale;
        self.metric.set_scalar(scalar);
        self.tangent.soften(error, scalar, &standard.row_scale);
        self.metric.fill(at);
        let frame = Frame { at, room: &self.room, metric: &self.metric, clock };
        let mut unusual = Unusual::default();
        self.tangent.compute(frame, &self.target, true, projection, &mut unusual);
        unusual.contains(Event::Fallback)
    }
}

impl<S: SampledProblem> Solver<S> {
    /// At the end of an exact run that did not get to its tolerances: better multipliers for its point, if there are any. Those of the
    /// last step belong to a step that repairs the constraints, and may flatter the point less than it deserves.
    pub(crate) fn refit_best(&mut self, unusual: &mut Unusual) {
        if self.best.x != self.best.latest {
            return;
        }
        // A run that goes on from here knows nothing of this end.
        self.beginning.best.copy_from(&self.best);
        self.beginning.refitted = true;
        let (tolerance, standard) = (&self.settings.tolerance, &self.oracle.standard);
        let mut least = self.best.values.map_or(f64::INFINITY, |values| values.residuals.score(tolerance));
        for sigma in SIGMAS {
            self.fitting.tangent.lambda.copy_from_slice(&self.tangent.lambda);
            if self.fitting.fit(&self.current, (sigma, 0.0), standard, &mut self.projection, &self.clock) {
                unusual.insert(Event::Fallback);
            }
            self.kkt.judge(&self.current, &self.fitting.tangent, standard);
            let score = self.kkt.residuals.score(tolerance);
            if score < least {
                least = score;
                self.best.refit(&self.kkt, &self.oracle);
            }
        }
    }
}
