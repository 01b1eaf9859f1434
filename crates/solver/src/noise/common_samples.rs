//! What the same samples at two points tell: whether the merit function descends, and how the functions curve.

use tangor_problem::SampledProblem;

use crate::form::iterate::Iterate;
use crate::form::standard::Standard;
use crate::kernel::matrix::Matrix;
use crate::kernel::vector::{dot, norm};
use crate::metric::Curvature;
use crate::noise::effective_samples::EffectiveSamples;
use crate::noise::estimator::Estimates;
use crate::noise::sampled_step::Noisy;
use crate::solver::Solver;
use crate::{Estimator, SampledCurvature};

/// A rise of the merit function within so many standard errors of its difference is no rise.
const STANDARD_ERRORS: f64 = 2.0;

/// The relative rounding error of a difference.
const ROUNDING: f64 = 1e-12;

/// The share of a residual's square that one move may add to the noise of the estimates where the residual stands out.
const NEW_NOISE: f64 = 1.0 / 64.0;

/// However far the residuals stand out from the noise, moves that are to keep the estimates as good as they are become no longer than this
/// doubt allows: what goes beyond is paid for in new noise.
const LEAST_DOUBT: f64 = 0.1;

/// The memory of a comparison.
pub struct CommonSamples {
    jacobian: Matrix,
    gradient: Vec<f64>,
    hz: Vec<f64>,
    /// In the user's form: what two halves of a batch differ by.
    user_gradient: Vec<f64>,
    user_jacobian: Vec<f64>,
    /// `|h|` at the end of the step, on its samples; NaN where that was not looked at.
    residual: f64,
    linear: Vec<f64>,
    /// The step, and the change of the Lagrangian's gradient under it.
    dz: Vec<f64>,
    dl: Vec<f64>,
}

impl CommonSamples {
    /// `lengths` of gradient and Jacobian, as the user has them.
    pub fn new(current: &Iterate, lengths: [usize; 2]) -> Self {
        let columns = vec![0.0; current.z.len()];
        let [user_gradient, user_jacobian] = lengths.map(|length| vec![0.0; length]);
        let (jacobian, linear) = (current.jacobian.a.clone(), vec![0.0; current.h.len()]);
        CommonSamples {
            jacobian,
            gradient: columns.clone(),
            hz: columns.clone(),
            dz: columns.clone(),
            dl: columns,
            user_gradient,
            user_jacobian,
            residual: f64::NAN,
            linear,
        }
    }

    /// The Lipschitz constant that the constraints show over a step of this length. Along it, that is what the linearisation misses,
    /// `2 |c(x') - c(x) - J (x' - x)| / |x' - x|^2`, on samples that values and slopes have in common; where each has its own, the noise of
    /// the slopes would count as curvature, and the change of the Jacobian along the step stands for it, whose noise cancels. Otherwise it is the
    /// whole change of the Jacobian. That is left in `jacobian`.
    fn curvature_of_constraints(&mut self, estimates: &Estimates, standard: &Standard, along: bool, length: f64) -> f64 {
        let CommonSamples { jacobian, linear, dz, .. } = self;
        let dz = &dz[..standard.n()];
        let mut missed = 0.0;
        if along && linearised_on_common_samples(estimates) {
            standard.jacobian(&estimates.jacobian.there[0], jacobian);
            jacobian.apply(dz, linear);
            let rows = standard.rows.iter().zip(&standard.scales.rows).zip(&*linear);
            let rows = rows.map(|((&i, scale), linear)| (scale * estimates.constraints.difference[i] - linear).powi(2));
            missed = 2.0 * rows.sum::<f64>().sqrt();
            standard.jacobian(&estimates.jacobian.difference, jacobian);
        } else {
            standard.jacobian(&estimates.jacobian.difference, jacobian);
            if along {
                jacobian.apply(dz, linear);
                missed = norm(linear);
            }
        }
        if along { missed / (length * length) } else { dot(&jacobian.values, &jacobian.values).sqrt() / length }
    }

    /// The change of the constraints over the step, left in `linear`. Where values and slopes have the same samples it is `J (z' - z)` of the estimate
    /// and what the linearisation of the samples misses; otherwise that of the trapezium rule, `(J + 1/2 dJ) (z' - z)`, unless the values of the
    /// samples contradict it by more than noise explains. Then, and where no slopes were compared, values alone tell.
    fn change_of_constraints(&mut self, estimates: &Estimates, standard: &Standard, estimate: &Matrix) {
        let CommonSamples { jacobian, linear, dz, .. } = self;
        let dz = &dz[..standard.n()];
        let of_values = |row: usize| standard.scales.rows[row] * estimates.constraints.difference[standard.rows[row]];
        let common = linearised_on_common_samples(estimates);
        if common || estimates.jacobian.compared {
            let (samples, share) = match common {
                true => (&estimates.jacobian.there[0], -1.0),
                false => (&estimates.jacobian.difference, 0.5),
            };
            standard.jacobian(samples, jacobian);
            jacobian
                .values
                .iter_mut()
                .zip(&estimate.values)
                .for_each(|(sample, estimate)| *sample = estimate + share * *sample);
            jacobian.apply(dz, linear);
        }
        if common {
            linear.iter_mut().enumerate().for_each(|(row, change)| *change += of_values(row));
            return;
        }
        let off = || linear.iter().enumerate().map(|(row, change)| (change - of_values(row)).powi(2)).sum::<f64>().sqrt();
        if !estimates.jacobian.compared || off() > STANDARD_ERRORS * noise_of_trapezium(estimates, standard, norm(dz)) {
            linear.iter_mut().enumerate().for_each(|(row, change)| *change = of_values(row));
        }
    }
}

/// A bound on the standard error by which the trapezium rule with slopes of the estimates and the values of samples may differ after a move of
/// this length: `|e s| <= |e| |s|` for the error `e` of a Jacobian.
fn noise_of_trapezium(estimates: &Estimates, standard: &Standard, moved: f64) -> f64 {
    let largest = |values: &[f64]| values.iter().fold(0.0f64, |most, value| most.max(*value));
    let of_slopes = estimates.jacobian.error() + 0.25 * estimates.jacobian.noise_of_difference(moved);
    let of_values = estimates.constraints.noise_of_difference(moved);
    largest(&standard.scales.rows) * (moved * largest(&standard.scales.units) * of_slopes.sqrt() + of_values.sqrt())
}

impl<S: SampledProblem> Solver<S> {
    /// Whether the merit function descends from the current point to the trial point, as (descent-ine) asks, for the very samples that
    /// were taken at both: their noise cancels in the difference. The objective's change is that of the trapezium rule,
    /// `(g + 1/2 dg)^T (z' - z)`, so that no value of it is needed. Likewise the constraints change by slopes of the estimates and what samples show of
    /// curvature: a batch whose own slopes differ from the estimates would fail at any length. What `rho` does not ask for because noise explains
    /// it may be missing. True where nothing can be said.
    pub(crate) fn descends_on_common_samples(&mut self, eta: f64) -> bool {
        let (meta, estimates) = (self.oracle.meta(), &self.oracle.estimates);
        let known = (!meta.has_objective || estimates.gradient.compared) && (meta.m() == 0 || estimates.constraints.compared);
        let wanted = self.settings.sampling.merit_test && !self.state.progress.lipschitz.are_given();
        let explained = self.rise_that_noise_explains();
        let (true, Some(noisy)) = (known && wanted, &mut self.noisy) else { return true };
        let (standard, n) = (&self.oracle.standard, self.state.current.n());
        let CommonSamples { dz, gradient, .. } = &mut noisy.common;
        for (dz, (trial, here)) in dz.iter_mut().zip(self.trial.z.iter().zip(&self.state.current.z)) {
            *dz = trial - here;
        }
        let (slope, mut bend) = (dot(&self.state.current.g[..n], &dz[..n]), 0.0);
        if meta.has_objective {
            standard.gradient(&estimates.gradient.difference, gradient);
            bend = dot(&gradient[..n], &dz[..n]);
        }
        let moved = norm(&dz[..n]);
        noisy.common.change_of_constraints(estimates, standard, &self.state.current.jacobian.a);
        let mut square = 0.0;
        let mut slacks = standard.slack_rows.iter().enumerate().peekable();
        for row in 0..standard.rows.len() {
            let change = noisy.common.linear[row];
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
        noisy.common.residual = square.sqrt();
        let (size, rho) = (self.state.metric.square(&self.steps.tangent.s), self.state.progress.rho);
        let change = slope + 0.5 * bend + rho * (square.sqrt() - norm(&self.state.current.h));
        let row_scale = standard.scales.rows.iter().fold(0.0f64, |most, scale| most.max(*scale));
        let noise = 0.5 * moved * standard.scales.objective * estimates.gradient.noise_of_difference(moved).sqrt()
            + rho * row_scale * estimates.constraints.noise_of_difference(moved).sqrt();
        let rounding = ROUNDING * (slope.abs() + rho * (norm(&self.state.current.c) + norm(&self.state.current.h)));
        let tau = self.settings.sampling.tau;
        change <= -0.5 * eta * (1.0 - tau) * size + STANDARD_ERRORS * noise + rounding + eta * explained
    }

    /// The longest move that makes sense. Where the residuals stand out from the noise of the estimates it adds little to that noise; where
    /// they do not, a move is not worth the accuracy that the estimates lose by it.
    pub(crate) fn sensible_move(&self) -> f64 {
        let [g, c, j] = {
            let estimates = &self.oracle.estimates;
            [&estimates.gradient, &estimates.constraints, &estimates.jacobian]
        };
        let doubt = |residual: f64, error: f64| if error > 0.0 { error / (error + residual * residual) } else { 1.0 };
        let kkt = &self.judging.kkt.residuals;
        let (residuals, errors) = ([kkt.stationarity, kkt.feasibility], [self.error_of_lagrangian(), c.error()]);
        let doubts = doubt(residuals[0], errors[0]).min(doubt(residuals[1], errors[1]));
        let lasting = [g, c, j].into_iter().map(|estimate| estimate.reach()).fold(f64::INFINITY, f64::min)
            / doubts.max(LEAST_DOUBT).sqrt();
        // What is left of a residual without its noise may cost a share of itself in new noise, which is K / B for a move of 1.
        let scale = self.oracle.standard.scales.objective;
        let of_a_move = [self.effective_lagrangian().noise_of_difference() / (scale * scale), c.noise_of_a_move()];
        let signal = |k: usize| (residuals[k] * residuals[k] - 2.0 * errors[k]).max(0.0);
        let paid_by = |k: usize, noise: f64| if errors[k] > 0.0 { (noise / of_a_move[k]).sqrt() } else { f64::INFINITY };
        let for_feasibility = if errors[1] > 0.0 { paid_by(1, NEW_NOISE * signal(1)) } else { 0.0 };
        let for_stationarity = if errors[0] > 0.0 {
            let kept = paid_by(1, (NEW_NOISE * residuals[1] * residuals[1]).max(errors[1]));
            paid_by(0, NEW_NOISE * signal(0)).min(kept)
        } else {
            0.0
        };
        lasting.max(for_feasibility).max(for_stationarity)
    }

    /// Where the Jacobian is an estimate, rows that depend on each other differ by its noise alone. Softens the rows of the tangent step by
    /// that noise, and gives the mean square by which it makes a normal step of length 1 miss: both vanish as the estimate gets better.
    pub(crate) fn soften_noisy_rows(&mut self) -> f64 {
        let error = self.oracle.estimates.jacobian.error();
        let (standard, n) = (&self.oracle.standard, self.state.current.n() as f64);
        // Of a large problem the noise of a row may be larger than the row itself: to give way by it would be to give the row up.
        let known = self.state.metric.is_dense() || self.only_repairs();
        if self.noisy.is_none() || self.state.progress.lipschitz.are_given() || !known {
            return 0.0;
        }
        // (H^-1)_ii is at least 1 / H_ii.
        let inverse: f64 = standard.scales.units.iter().zip(&self.state.metric.diagonal).map(|(unit, h)| unit * unit / h).sum();
        self.steps.tangent.soften(error, n / inverse, &standard.scales.rows);
        // No row gives way by more than the noise of its own value, by the multipliers so far: a flat metric would let it.
        let value = (self.oracle.estimates.constraints.error() / standard.rows.len().max(1) as f64).sqrt();
        self.steps.tangent.give_way_by_no_more_than(value, &standard.scales.rows);
        let mean = |values: &[f64]| values.iter().map(|value| value * value).sum::<f64>() / values.len().max(1) as f64;
        error / n * mean(&standard.scales.rows) * mean(&standard.scales.units)
    }

    /// What the estimate of the Lagrangian's gradient is worth; nothing is known where it is exact.
    fn effective_lagrangian(&self) -> EffectiveSamples {
        self.noisy.as_ref().map(|noisy| noisy.lagrangian).unwrap_or_default()
    }

    /// The mean square error of the estimate of the Lagrangian's gradient, in the user's scale.
    pub(crate) fn error_of_lagrangian(&self) -> f64 {
        self.effective_lagrangian().error() / self.oracle.standard.scales.objective.powi(2)
    }

    /// What the estimate of `g + J^T y` is worth after the step: errors of both parts add up, or cancel where they come from the same
    /// samples, and rows without a multiplier do not count.
    pub(crate) fn learn_noise_of_lagrangian(&mut self, moved: f64) {
        let (estimates, Some(noisy)) = (&self.oracle.estimates, &mut self.noisy) else { return };
        let Noisy { common, lagrangian: effective, .. } = noisy;
        let standard = &self.oracle.standard;
        let meta = self.oracle.problem.meta();
        let n = self.state.current.n();
        let mut squares = [0.0; 2];
        let mut sizes = None;
        for (part, square) in squares.iter_mut().enumerate() {
            let of = |both: (f64, f64)| if part == 0 { both.0 } else { both.1 };
            common.gradient.fill(0.0);
            if let (true, Some((halves, off))) = (meta.has_objective, estimates.gradient.halves_off()) {
                common.user_gradient.iter_mut().zip(off).for_each(|(value, both)| *value = of(both));
                standard.gradient(&common.user_gradient, &mut common.gradient);
                sizes = Some(halves);
            }
            if let (true, Some((halves, off))) = (meta.m() > 0, estimates.jacobian.halves_off()) {
                common.user_jacobian.iter_mut().zip(off).for_each(|(value, both)| *value = of(both));
                standard.jacobian(&common.user_jacobian, &mut common.jacobian);
                common.jacobian.add_transposed(&self.steps.tangent.lambda, &mut common.gradient[..n]);
                sizes = Some(halves);
            }
            *square = dot(&common.gradient[..n], &common.gradient[..n]);
        }
        let lead = if estimates.gradient.access.is_sampled() { &estimates.gradient } else { &estimates.jacobian };
        if let Some(sizes) = sizes {
            effective.compare(sizes, squares[0], squares[1], moved);
        }
        if lead.twice && lead.settings.estimator == Estimator::Momentum {
            effective.advance(lead.a, lead.draws.len(), moved);
        } else {
            effective.start(lead.draws.len());
        }
    }

    /// Lipschitz constants and metric.
    pub(crate) fn learn_from_common_samples(&mut self, eta: f64) {
        let (meta, estimates) = (self.oracle.meta(), &self.oracle.estimates);
        let known = (!meta.has_objective || estimates.gradient.compared) && (meta.m() == 0 || estimates.jacobian.compared);
        let only_repairs = self.only_repairs();
        let (true, Some(noisy)) = (known, &mut self.noisy) else { return };
        let common = &mut noisy.common;
        let (dz, dl) = (&mut common.dz, &mut common.dl);
        let n = self.state.current.n();
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
        self.state.progress.lipschitz.compare_over(length);
        let objective = norm(&dl[..n]) / length;
        // The paper's stepsize asks for the constant itself, not for what the step shows of it.
        let along_the_step = self.settings.sampling.curvature == SampledCurvature::Lagrangian;
        let mut constraints = 0.0;
        if meta.m() > 0 {
            constraints = common.curvature_of_constraints(estimates, standard, along_the_step, length);
            common.jacobian.add_transposed(&self.steps.tangent.lambda_at_rest, &mut common.dl[..n]);
        }
        let CommonSamples { hz, residual, dz, dl, .. } = common;
        let weights =
            self.steps.tangent.lambda_at_rest.iter().zip(&standard.scales.rows).map(|(lambda, scale)| (lambda * scale).powi(2));
        let noise = standard.scales.objective.powi(2) * estimates.gradient.noise_of_difference(length)
            + weights.sum::<f64>() * estimates.jacobian.noise_of_difference(length);
        self.state.metric.apply(dz, hz);
        let curvature = Curvature { dz: &dz[..n], dl: &dl[..n], noise };
        // A test looks at what the step does, and for that the curvature along it counts. Without one, all of it does.
        let tested = self.settings.sampling.merit_test;
        let along = dot(&dl[..n], &dz[..n]).max(0.0) / dot(&hz[..n], &dz[..n]);
        let (ratio, fall) = if tested { (along, 0.5) } else { (curvature.size() / norm(&hz[..n]), 0.9) };
        self.state.progress.lipschitz.follow([objective, constraints, ratio], fall);
        let h = norm(&self.state.current.h);
        let kept = (h - std::mem::replace(residual, f64::NAN)) / (eta * self.steps.normal.theta * h);
        self.state.progress.lipschitz.trust(self.steps.normal.theta, kept);
        if !only_repairs {
            let factor = self.state.metric.learn(curvature);
            self.state.progress.lipschitz.rescale(factor);
        }
    }
}

/// Whether the Jacobian is known of the very samples that the constraints were compared on.
fn linearised_on_common_samples(estimates: &Estimates) -> bool {
    let (c, j) = (&estimates.constraints, &estimates.jacobian);
    c.compared && j.compared && c.access == j.access && c.draws == j.draws
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sampling;
    use tangor_problem::{Access, Accesses, Draw, Meta};

    /// `c = x^2 / 2` over the step from `x = 1` to `x = 3`: values change by 4, slopes from 1 to 3, in samples off by 0.1 at both ends. Gives
    /// the constant along the step and in all, and the change of the constraints when the slope's estimate is 1.01 with this mean square error.
    fn parabola(values_and_slopes_share_draws: bool, error: f64) -> [f64; 3] {
        let meta = Meta::new("parabola", vec![1.0]).equalities(&[0.0]);
        let accesses = Accesses { gradient: Access::Endless, constraints: Access::Endless, jacobian: Access::Endless };
        let mut estimates = Estimates::new(&meta, accesses, &Sampling::default());
        (estimates.constraints.compared, estimates.jacobian.compared) = (true, true);
        (estimates.constraints.difference, estimates.jacobian.difference) = (vec![4.0], vec![2.0]);
        estimates.jacobian.there[0] = vec![1.1];
        estimates.constraints.draws = vec![Draw(1)];
        estimates.jacobian.draws = vec![Draw(if values_and_slopes_share_draws { 1 } else { 2 })];
        // Halves of one draw each that differ by the square 2 S show the variance S, which is the error of one draw.
        estimates.jacobian.effective.start(1);
        estimates.jacobian.effective.compare([1, 1], 2.0 * error, 0.0, 1.0);
        let (standard, jacobian) = Standard::new(&meta);
        let mut common = CommonSamples::new(&Iterate::new(jacobian.clone()), [1, 1]);
        common.dz = vec![2.0];
        let mut estimate = jacobian.a;
        estimate.values[0] = 1.01;
        let constants = [true, false].map(|along| common.curvature_of_constraints(&estimates, &standard, along, 2.0));
        common.change_of_constraints(&estimates, &standard, &estimate);
        [constants[0], constants[1], common.linear[0]]
    }

    fn assert_near(found: [f64; 3], expected: [f64; 3]) {
        let near = found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-14);
        assert!(near, "{found:?}, not {expected:?}");
    }

    #[test]
    fn slopes_of_the_same_draws_tell_what_a_linearisation_misses() {
        // Missed is 4 - 1.1 * 2 = 1.8, hence 2 * 1.8 / 4; the change is 1.01 * 2 + 1.8.
        assert_near(parabola(true, 1e-4), [0.9, 1.0, 3.82]);
    }

    #[test]
    fn noise_of_slopes_with_draws_of_their_own_is_no_curvature() {
        // |dJ dz| / |dz|^2 = 2 * 2 / 4, the true constant; the change is (1.01 + 1) * 2, off by 0.02 = 2 * 0.01: one standard error.
        assert_near(parabola(false, 1e-4), [1.0, 1.0, 4.02]);
    }

    #[test]
    fn values_that_contradict_slopes_tell_the_change() {
        // A standard error of 0.004 * 2 leaves 0.02 unexplained; without noise nothing is explained.
        assert_near(parabola(false, 1.6e-5), [1.0, 1.0, 4.0]);
        assert_near(parabola(false, 0.0), [1.0, 1.0, 4.0]);
    }
}
