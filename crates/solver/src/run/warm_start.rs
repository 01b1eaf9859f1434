//! A run that begins with the multipliers of another.

use tangor_problem::SampledProblem;

use crate::kernel::vector::norm;
use crate::run::state::State;
use crate::solver::Solver;

impl<S: SampledProblem> Solver<S> {
    /// Takes multipliers of the constraints, in the user's scale and signs, as those of the start: the first subproblem is solved from
    /// them, and the merit parameter is at least their norm, below which a minimum of the merit function need not be feasible.
    ///
    /// False, and nothing is done, unless there is one finite number for each constraint.
    pub fn begin_with(&mut self, row_multipliers: &[f64]) -> bool {
        let standard = &self.oracle.standard;
        let fits = row_multipliers.len() == self.oracle.meta().m() && row_multipliers.iter().all(|y| y.is_finite());
        if !fits {
            return false;
        }
        let internal = |(&i, scale): (&usize, &f64)| row_multipliers[i] * standard.objective_factor() / scale;
        let State { multipliers, progress, .. } = &mut self.state;
        multipliers.begin_with(standard.rows.iter().zip(&standard.scales.rows).map(internal));
        progress.raise_rho(norm(multipliers.tangent()));
        true
    }
}
