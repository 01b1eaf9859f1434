//! What the same samples at two points tell: whether the merit function descends, and how the functions curve.

use tangor_problem::SampledProblem;

use crate::form::iterate::Iterate;
use crate::kernel::matrix::Matrix;
use crate::kernel::vector::{dot, norm};
use crate::metric::Curvature;
use crate::solver::Solver;

/// The relative rounding error of a difference.
const ROUNDING: f64 = 1e-12;

/// The memory of a comparison.
pub struct CommonSamples {
    jacobian: Matrix,
    gradient: Vec<f64>,
    hz: Vec<f64>,
}

impl CommonSamples {
    pub fn new(current: &Iterate) -> Self {
        let columns = vec![0.0; current.z.len()];
        CommonSamples { jacobian: current.jacobian.a.clone(), gradient: columns.clone(), hz: columns }
    }
}

impl<S: SampledProblem> Solver<S> {
    /// Whether the merit function descends from the current point to the trial point, as (descent-ine) asks, for the very samples that
    /// were taken at both: their noise cancels in the difference. The objective's change is that of the trapezium rule,
    /// `eta (g + 1/2 dg)^T s`, so that no value of it is needed. True where nothing can be said.
    pub(crate) fn descends_on_same_draws(&mut self, eta: f64) -> bool {
        let (meta, estimates) = (self.oracle.meta(), &self.oracle.estimates);
        let known = (!meta.has_objective || estimates.gradient.compared) && (meta.m() == 0 || estimates.constraints.compared);
        let wanted = self.settings.sampling.merit_test && !self.state.progress.lipschitz.are_given();
        let (true, Some(noisy)) = (known && wanted, &mut self.noisy) else { return true };
        let (standard, s, n) = (&self.oracle.standard, &self.steps.tangent.s, self.state.current.n());
        let (slope, mut bend) = (dot(&self.state.current.g, s), 0.0);
        if meta.has_objective {
            standard.gradient(&estimates.gradient.difference, &mut noisy.common.gradient);
            bend = dot(&noisy.common.gradient[..n], &s[..n]);
        }
        let mut square = 0.0;
        let mut slacks = standard.slack_rows.iter().enumerate().peekable();
        for (row, &i) in standard.rows.iter().enumerate() {
            let change = standard.row_scale[row] * estimates.constraints.difference[i];
            let h = match slacks.next_if(|(_, slack_row)| **slack_row == row) {
                None => self.state.current.h[row] + change,
                Some((k, _)) => {
                    let c = self.state.current.c[row] + change;
                    let reset = c.max(standard.lower[n + k]).min(standard.upper[n + k]);
                    c - if self.settings.stepsize.slack_reset { reset } else { self.trial.z[n + k] }
                }
            };
            square += h * h;
        }
        let size = self.state.metric.square(s);
        let rho = self.local_merit_parameter(slope + 0.5 * size);
        let change = eta * (slope + 0.5 * bend) + rho * (square.sqrt() - norm(&self.state.current.h));
        let moved = eta * norm(&s[..n]);
        let row_scale = standard.row_scale.iter().fold(0.0f64, |most, scale| most.max(*scale));
        let noise = 0.5 * moved * standard.objective_scale * estimates.gradient.noise_of_difference(moved).sqrt()
            + rho * row_scale * estimates.constraints.noise_of_difference(moved).sqrt();
        let rounding = ROUNDING * (eta * slope.abs() + rho * (norm(&self.state.current.c) + norm(&self.state.current.h)));
        let tau = self.settings.stepsize.tau;
        change <= -0.5 * eta * (1.0 - tau) * size + 2.0 * noise + rounding
    }

    /// The merit parameter that this step needs, and more than its multipliers. The one of the run never falls: after a bad start it
    /// would hold back every step along curved constraints, and no correction is at hand here.
    fn local_merit_parameter(&self, model: f64) -> f64 {
        let gain = self.steps.normal.theta * norm(&self.state.current.h);
        let needed = if gain > 0.0 { model / gain } else { 0.0 };
        needed.max(2.0 * norm(&self.steps.tangent.lambda)).min(self.state.progress.rho)
    }

    /// The longest move that makes sense. Where the residuals stand out from the noise of the estimates it has no bound; where they do
    /// not, a move is not worth the accuracy that the estimates lose by it.
    pub(crate) fn sensible_move(&self) -> f64 {
        let [g, c, j] = {
            let estimates = &self.oracle.estimates;
            [&estimates.gradient, &estimates.constraints, &estimates.jacobian]
        };
        let residuals = &self.judging.kkt.residuals;
        let derivatives = g.error() + dot(&self.judging.kkt.y, &self.judging.kkt.y) * j.error();
        let doubt = |residual: f64, error: f64| if error > 0.0 { error / (error + residual * residual) } else { 1.0 };
        let doubt = doubt(residuals.stationarity, derivatives).min(doubt(residuals.feasibility, c.error()));
        [g, c, j].into_iter().map(|estimate| estimate.reach()).fold(f64::INFINITY, f64::min) / doubt.sqrt()
    }

    /// Lipschitz constants and metric.
    pub(crate) fn learn_from_same_draws(&mut self) {
        let (meta, estimates) = (self.oracle.meta(), &self.oracle.estimates);
        let known = (!meta.has_objective || estimates.gradient.compared) && (meta.m() == 0 || estimates.jacobian.compared);
        let (true, Some(noisy)) = (known, &mut self.noisy) else { return };
        let CommonSamples { jacobian, hz, .. } = &mut noisy.common;
        let n = self.state.current.n();
        let (dz, dl) = (&mut self.steps.search.dz, &mut self.steps.search.dl);
        for i in 0..n {
            dz[i] = self.trial.z[i] - self.state.current.z[i];
        }
        dz[n..].fill(0.0);
        dl.fill(0.0);
        let standard = &self.oracle.standard;
        if meta.has_objective {
            standard.gradient(&estimates.gradient.difference, dl);
        }
        let length = norm(&dz[..n]);
        if length == 0.0 {
            return;
        }
        self.state.progress.lipschitz.compared = length;
        let objective = norm(&dl[..n]) / length;
        let mut constraints = 0.0;
        if meta.m() > 0 {
            standard.jacobian(&estimates.jacobian.difference, jacobian);
            constraints = dot(&jacobian.values, &jacobian.values).sqrt() / length;
            jacobian.add_transposed(&self.steps.tangent.lambda, &mut dl[..n]);
        }
        let weights = self.steps.tangent.lambda.iter().zip(&standard.row_scale).map(|(lambda, scale)| (lambda * scale).powi(2));
        let noise = standard.objective_scale.powi(2) * estimates.gradient.noise_of_difference(length)
            + weights.sum::<f64>() * estimates.jacobian.noise_of_difference(length);
        self.state.metric.apply(dz, hz);
        let curvature = Curvature { dz: &dz[..n], dl: &dl[..n], noise, eta: 1.0 };
        let fall = if self.settings.sampling.merit_test { 0.5 } else { 0.9 };
        self.state.progress.lipschitz.follow([objective, constraints, curvature.size() / norm(&hz[..n])], fall);
        let factor = self.state.metric.learn(curvature);
        self.state.progress.lipschitz.rescale(factor);
    }
}
