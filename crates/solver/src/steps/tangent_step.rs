//! The tangent step `s`: the best step for the objective among those that repair the constraints as the normal step does,
//! `min g^T s + 1/2 s^T H s` subject to `J s = r` and the bounds, with its multipliers.

use crate::Unusual;
use crate::form::iterate::Iterate;
use crate::kernel::matrix::Jacobian;
use crate::kernel::projection::Projection;
use crate::kernel::subproblem::Subproblem;
use crate::kernel::vector::{dot, norm};
use crate::steps::local_model::LocalModel;

/// The tangent step with its memory.
pub struct TangentStep {
    pub s: Vec<f64>,
    /// Multipliers of `J s = r`; also the warm start.
    pub lambda: Vec<f64>,
    /// The multipliers that weigh the curvature of the constraints. Those of a step that repairs much are `H u` and more, and `H` is made
    /// of them: each would make the other grow. So they are those of the same step without a repair, where these are smaller.
    pub lambda_at_rest: Vec<f64>,
    /// Multipliers of the bounds: `>= 0` where the lower bound holds the step, `<= 0` at the upper, 0 elsewhere.
    pub mu: Vec<f64>,
    /// `H s`
    hs: Vec<f64>,
    /// A kernel of its own, where `H` is not diagonal.
    own: Option<Projection>,
    /// How far each row gives way, relative to its multiplier; 0 for a row that holds.
    pub softness: Vec<f64>,
    /// Whether no subproblem is solved with this metric, and there is no step.
    pub unsuited_metric: bool,
}

impl TangentStep {
    /// With a kernel of its own, where `H` is not diagonal.
    pub fn new(jacobian: &Jacobian, own: Option<Projection>) -> Self {
        let (m, columns) = (jacobian.rows(), jacobian.columns());
        TangentStep {
            s: vec![0.0; columns],
            lambda: vec![0.0; m],
            lambda_at_rest: vec![0.0; m],
            mu: vec![0.0; columns],
            hs: vec![0.0; columns],
            own,
            softness: vec![0.0; m],
            unsuited_metric: false,
        }
    }

    /// Softens the rows by the noise in them. `error` is the mean square error of the whole Jacobian, as the user has it, of which every
    /// row has its share. A row with the share `v` adds `v lambda^2` to the mean square error of `g + J^T lambda`, so in a metric with
    /// entries `scalar` the dual gets `v lambda^2 / (2 scalar)` more: `kappa = v / scalar`. Rows that depend on each other
    /// differ by noise alone; without this they would have huge multipliers, and leave the step no freedom.
    pub fn soften(&mut self, error: f64, scalar: f64, row_scale: &[f64]) {
        let share = error / self.softness.len().max(1) as f64;
        for (softness, scale) in self.softness.iter_mut().zip(row_scale) {
            *softness = share * scale * scale / scalar;
        }
    }

    /// Lets no row give way by more than this, as the user has it, by the multipliers so far.
    pub fn give_way_by_no_more_than(&mut self, most: f64, row_scale: &[f64]) {
        for ((softness, lambda), scale) in self.softness.iter_mut().zip(&self.lambda).zip(row_scale) {
            *softness = softness.min(scale * most / lambda.abs());
        }
    }

    /// Computes `s`, `lambda` and `mu`.
    pub fn compute(&mut self, local: LocalModel, target: &[f64], projection: &mut Projection, unusual: &mut Unusual) -> u32 {
        let LocalModel { at, bounds, metric, clock } = local;
        let subproblem = Subproblem {
            jacobian: &at.jacobian,
            metric: &metric.diagonal,
            block: metric.block(),
            gradient: Some(&at.g),
            target,
            lower: &bounds.lower,
            upper: &bounds.upper,
            softness: &self.softness,
        };
        let projection = self.own.as_mut().unwrap_or(projection);
        let projected = projection.solve_or_hand_over(&subproblem, &mut self.lambda, &mut self.s, clock, unusual);
        self.unsuited_metric = projected.unsuited_metric;
        let wanted = projected.converged && metric.is_weighed_at_rest();
        if wanted {
            projection.find_multipliers_at_rest(&subproblem, &self.lambda, &mut self.lambda_at_rest);
        }
        let is_smaller = norm(&self.lambda_at_rest) < norm(&self.lambda);
        if !(wanted && is_smaller) {
            self.lambda_at_rest.copy_from_slice(&self.lambda);
        }
        metric.apply(&self.s, &mut self.hs);
        self.find_bound_multipliers(at, &bounds.lower, &bounds.upper);
        projected.iterations
    }

    /// The step where there is no objective, in the metric of the normal step `u`: `u` itself, since it is the shortest of its kind. No
    /// multipliers are the right ones for any point that satisfies the constraints.
    pub fn only_repair(&mut self, u: &[f64]) {
        self.s.copy_from_slice(u);
        self.lambda.fill(0.0);
        self.lambda_at_rest.fill(0.0);
        self.mu.fill(0.0);
    }

    /// How nearly the multipliers are a combination of rows that is zero: `|lambda|`, each weighed by the size of its row, over what the rows
    /// make of them in the variables that no bound holds, where `J^T lambda = -(g + H s)`.
    pub fn dependence(&self, at: &Iterate) -> f64 {
        let sizes = self.lambda.iter().enumerate().map(|(row, y)| {
            let row = at.jacobian.a.row_values(row);
            y * y * dot(row, row)
        });
        let free = (0..at.n()).filter(|&i| self.mu[i] == 0.0).map(|i| (at.g[i] + self.hs[i]).powi(2));
        sizes.sum::<f64>().sqrt() / free.sum::<f64>().sqrt().max(norm(&at.g)).max(f64::MIN_POSITIVE)
    }

    /// `mu = H s + g + J^T lambda` where a bound holds the step.
    fn find_bound_multipliers(&mut self, at: &Iterate, lower: &[f64], upper: &[f64]) {
        self.mu.copy_from_slice(&at.g);
        at.jacobian.add_transposed(&self.lambda, &mut self.mu);
        for i in 0..self.s.len() {
            let mu = self.hs[i] + self.mu[i];
            self.mu[i] = match (self.s[i] <= lower[i], self.s[i] >= upper[i]) {
                (true, true) => mu,
                (true, false) => mu.max(0.0),
                (false, true) => mu.min(0.0),
                (false, false) => 0.0,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::system::Beside;
    use crate::metric::CurrentMetric;
    use crate::steps::local_model::by_hand::{Place, assert_near};

    fn step(place: &Place, target: f64) -> TangentStep {
        let mut projection = place.projection(Beside::Nothing);
        let own = (!matches!(place.metric.beside(), Beside::Nothing)).then(|| place.projection(place.metric.beside()));
        let mut tangent = TangentStep::new(&place.at.jacobian, own);
        tangent.compute(place.local(), &[target], &mut projection, &mut Unusual::default());
        tangent
    }

    #[test]
    fn the_gradient_is_projected() {
        // s = -(g + lambda), and s1 + s2 = r gives lambda = -(r + g1 + g2) / 2.
        let place = Place::new(&[[1.0, 1.0]], &[0.0], [1.0, 2.0]);
        let tangent = step(&place, 0.0);
        assert_near(&tangent.s, &[0.5, -0.5]);
        assert_near(&tangent.lambda, &[-1.5]);
        assert_eq!(tangent.mu, [0.0, 0.0]);
        assert_eq!(step(&place, 1.0).lambda_at_rest, step(&place, 1.0).lambda, "nobody asks for others here");
        // A repair makes lambda = -2; the multipliers without it are those from before. A metric from the last steps asks for them.
        let kind = crate::MetricKind::LimitedMemory;
        let mut place = place;
        place.metric = CurrentMetric::new(2, 2, &crate::Metric { kind, ..Default::default() }, true, false);
        let repairing = step(&place, 1.0);
        assert_near(&repairing.s, &[1.0, 0.0]);
        assert_near(&repairing.lambda, &[-2.0]);
        assert_near(&repairing.lambda_at_rest, &[-1.5]);
        // Here lambda = -(-2 + 3) / 2 is the smaller one.
        assert_near(&step(&place, -2.0).lambda_at_rest, &[-0.5]);
    }

    #[test]
    fn noise_softens_rows() {
        // s = -(g + lambda) and s1 + s2 = kappa lambda give lambda = -(g1 + g2) / (2 + kappa), kappa = 3 * 2^2 / 12 = 1.
        let place = Place::new(&[[1.0, 1.0]], &[0.0], [1.0, 2.0]);
        let mut projection = place.projection(Beside::Nothing);
        let mut tangent = TangentStep::new(&place.at.jacobian, None);
        tangent.soften(3.0, 12.0, &[2.0]);
        tangent.compute(place.local(), &[0.0], &mut projection, &mut Unusual::default());
        assert_near(&tangent.lambda, &[-1.0]);
        assert_near(&tangent.s, &[0.0, -1.0]);
        // The share of each of two rows is half.
        let place = Place::new(&[[1.0, 0.0], [0.0, 1.0]], &[0.0, 0.0], [1.0, 2.0]);
        let mut tangent = TangentStep::new(&place.at.jacobian, None);
        tangent.soften(3.0, 0.5, &[1.0, 2.0]);
        assert_eq!(tangent.softness, [3.0, 12.0]);
    }

    #[test]
    fn bounds_get_multipliers_with_the_right_signs() {
        // s2 = -0.1 is held from below: s1 = 0.1, lambda = -(s1 + g1) = -1.1 and mu2 = s2 + g2 + lambda = 0.8.
        let mut place = Place::new(&[[1.0, 1.0]], &[0.0], [1.0, 2.0]);
        place.bounds.lower[1] = -0.1;
        let tangent = step(&place, 0.0);
        assert_near(&tangent.s, &[0.1, -0.1]);
        assert_near(&tangent.lambda, &[-1.1]);
        assert_near(&tangent.mu, &[0.0, 0.8]);
        // s1 = 0.2 is held from above: lambda = -(s2 + g2) = -1.8 and mu1 = 0.2 + 1 - 1.8 = -0.6.
        let mut place = Place::new(&[[1.0, 1.0]], &[0.0], [1.0, 2.0]);
        place.bounds.upper[0] = 0.2;
        assert_near(&step(&place, 0.0).mu, &[-0.6, 0.0]);
    }
}
