//! Rows that a start far away has scaled down too much.
//!
//! Rows and objective are scaled by their derivatives at the start. Where these are a million times what they are later on, all that the
//! method sees of a violation is a millionth of it, and soon there is nothing left to repair. So they are scaled anew, by the derivatives where
//! the run is now. That happens a few times at most: what the theory says of the iterations after the last time stays true.

use tangor_problem::SampledProblem;

use crate::solver::Solver;
use crate::{Event, Scaling, Unusual};

/// A row was scaled down too much when its largest derivative, which then was 100, has become smaller than this.
const TOO_SMALL: f64 = 1e-2;

/// So often in one run.
const MOST: u64 = 5;

impl<S: SampledProblem> Solver<S> {
    /// After a step: scales rows and objective by the derivatives there, if those of the start have become misleading.
    pub(crate) fn rescale_rows(&mut self, unusual: &mut Unusual) {
        let counted = self.state.progress.events[Event::Rescaled as usize];
        if self.noisy.is_some() || self.settings.scaling == Scaling::None || counted >= MOST || !self.is_scaled_too_much() {
            return;
        }
        let factor = self.oracle.scale_anew(&mut self.state.current);
        self.state.progress.scale_objective(factor);
        self.outcome.best.scale_objective(factor);
        self.outcome.best.unscale();
        self.begin_anew();
        unusual.insert(Event::Rescaled);
    }

    /// Whether a row was scaled down, and its derivatives have become so small that it would not be now.
    fn is_scaled_too_much(&self) -> bool {
        let (jacobian, scales) = (&self.state.current.jacobian.a, &self.oracle.standard.scales.rows);
        let largest = |row: usize| jacobian.row_values(row).iter().fold(0.0f64, |most, a| most.max(a.abs()));
        scales.iter().enumerate().any(|(row, scale)| *scale < TOO_SMALL && largest(row) < TOO_SMALL)
    }
}
