//! The pieces of one iteration: normal step, tangent step, merit parameter, stepsize.

pub(crate) mod correction;
pub(crate) mod excursion;
pub(crate) mod line_search;
pub(crate) mod lipschitz;
pub(crate) mod local_model;
pub(crate) mod mapping;
pub(crate) mod merit_parameter;
pub(crate) mod normal_step;
pub(crate) mod null_space;
pub(crate) mod softening;
pub(crate) mod tangent_step;

use serde::{Deserialize, Serialize};
use tangor_problem::{Meta, SampledProblem, TooLarge};

use crate::form::iterate::Iterate;
use crate::form::standard::Standard;
use crate::kernel::matrix::Jacobian;
use crate::kernel::projection::Projection;
use crate::kernel::system::Beside;
use crate::kernel::vector::norm;
use crate::metric::{CurrentMetric, Curvature};
use crate::run::clock::Clock;
use crate::run::memory::Budget;
use crate::solver::Solver;
use crate::steps::line_search::SearchMemory;
use crate::steps::normal_step::{Reckoning, Repair};
use crate::{Event, NormalVariant, Settings, Theta, Unusual};

/// How well a row must hold to be left alone, relative to the tolerance.
const HOLDS_WELL: f64 = 1e-2;

/// What rounding may leave of a row, relative to its terms.
const ROUNDING_OF_A_ROW: f64 = 8.0 * f64::EPSILON;

/// A gradient of a row has vanished when it is this small relative to the largest that it has had.
const VANISHING: f64 = 1e-3;

/// How much longer than the point a step by second derivatives may be.
const FAR: f64 = 100.0;

/// The pieces of a step, with their memory.
pub struct Steps {
    pub bounds: local_model::StepBounds,
    pub projection: Projection,
    pub normal: normal_step::NormalStep,
    pub tangent: tangent_step::TangentStep,
    pub softening: softening::SofteningMemory,
    pub search: SearchMemory,
    pub own_mapping: Option<Box<dyn mapping::OwnMapping>>,
    /// The constant `L_c` that the last normal step reckoned with.
    pub reckoned: f64,
    /// Bytes that the run holds with all of these.
    pub held: u64,
}

impl Steps {
    pub fn new(
        jacobian: &Jacobian,
        metric: &CurrentMetric,
        settings: &Settings,
        own_mapping: Option<Box<dyn mapping::OwnMapping>>,
        budget: Budget,
        clock: &Clock,
    ) -> Result<Self, TooLarge> {
        let (m, columns) = (jacobian.rows(), jacobian.columns());
        let projection = |beside, budget| Projection::new(jacobian, &settings.kernel, beside, budget, clock);
        let own = match metric.beside() {
            Beside::Nothing => None,
            beside => Some(projection(beside, budget)?),
        };
        let budget = budget.after(own.as_ref().map_or(0, Projection::bytes));
        let shared = projection(Beside::Nothing, budget)?;
        let budget = budget.after(shared.bytes());
        Ok(Steps {
            bounds: local_model::StepBounds::new(columns),
            projection: shared,
            normal: normal_step::NormalStep::new(m, columns, &settings.normal, budget),
            tangent: tangent_step::TangentStep::new(jacobian, own),
            softening: softening::SofteningMemory::new(m, columns),
            search: SearchMemory::new(m, columns),
            own_mapping,
            reckoned: 0.0,
            held: budget.held(),
        })
    }
}

/// The multipliers that steps found, from which the next ones start.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Multipliers {
    normal: Vec<f64>,
    tangent: Vec<f64>,
    /// Those that weigh the curvature of the constraints.
    at_rest: Vec<f64>,
}

impl Multipliers {
    pub fn new(m: usize) -> Self {
        Multipliers { normal: vec![0.0; m], tangent: vec![0.0; m], at_rest: vec![0.0; m] }
    }

    /// Whether there is one of each kind for so many rows.
    pub fn are_of(&self, m: usize) -> bool {
        [&self.normal, &self.tangent, &self.at_rest].into_iter().all(|multipliers| multipliers.len() == m)
    }

    /// Takes those that the steps found.
    pub fn keep(&mut self, steps: &Steps) {
        self.normal.copy_from_slice(&steps.normal.y);
        self.tangent.copy_from_slice(&steps.tangent.lambda);
        self.at_rest.copy_from_slice(&steps.tangent.lambda_at_rest);
    }

    /// Takes multipliers of the tangent step from elsewhere.
    pub fn begin_with(&mut self, tangent: impl Iterator<Item = f64>) {
        self.tangent.iter_mut().zip(tangent).for_each(|(own, given)| *own = given);
        self.at_rest.copy_from_slice(&self.tangent);
    }

    /// Those of the normal step.
    pub fn normal(&self) -> &[f64] {
        &self.normal
    }

    /// Those of the tangent step.
    pub fn tangent(&self) -> &[f64] {
        &self.tangent
    }
}

impl Steps {
    /// The next steps start from these multipliers.
    fn start_from(&mut self, multipliers: &Multipliers) {
        self.normal.y.copy_from_slice(&multipliers.normal);
        self.tangent.lambda.copy_from_slice(&multipliers.tangent);
        self.tangent.lambda_at_rest.copy_from_slice(&multipliers.at_rest);
    }

    /// The shortest step inside the bounds that repairs the linearised constraints at a point; multipliers of other steps stay as they are.
    pub fn shortest_repair(&mut self, at: &Iterate, standard: &Standard, metric: &CurrentMetric, clock: &Clock) -> &[f64] {
        self.bounds.around(&at.z, &standard.lower, &standard.upper);
        let local = local_model::LocalModel { at, bounds: &self.bounds, metric, clock };
        let violated = Repair { residual: &at.h, softness: 0.0, posed: 1.0 };
        let SearchMemory { y, d, .. } = &mut self.search;
        self.normal.repair(local, violated, y, d, &mut self.projection, &mut Unusual::default());
        d
    }

    /// The next steps start without multipliers.
    pub fn forget_multipliers(&mut self) {
        self.normal.y.fill(0.0);
        self.tangent.lambda.fill(0.0);
        self.tangent.lambda_at_rest.fill(0.0);
    }
}

/// Whether nothing but constraints is given, and the normal step is the shortest of its kind, as the paper's variants need not be.
pub fn only_repairs(meta: &Meta, settings: &Settings) -> bool {
    !meta.has_objective && settings.normal.variant == NormalVariant::Majorised
}

impl<S: SampledProblem> Solver<S> {
    /// The normal step `u` with its target `r`, then the tangent step `s` with the multipliers.
    pub(crate) fn find_steps(&mut self, unusual: &mut Unusual) -> u32 {
        self.steps.start_from(&self.state.multipliers);
        let standard = &self.oracle.standard;
        self.steps.bounds.around(&self.state.current.z, &standard.lower, &standard.upper);
        self.leave_rows_at_rest(unusual);
        self.refresh_hessian(unusual);
        self.state.metric.fill(&self.state.current);
        let noise = self.soften_noisy_rows();
        let only_repairs = self.only_repairs();
        let local = local_model::LocalModel {
            at: &self.state.current,
            bounds: &self.steps.bounds,
            metric: &self.state.metric,
            clock: &self.clock,
        };
        let (settings, own) = (&self.settings.normal, self.steps.own_mapping.as_deref_mut());
        let share = match self.settings.sampling.theta {
            Theta::Fixed { share } if self.noisy.is_some() => Some(share),
            _ => None,
        };
        self.steps.reckoned = self.state.progress.lipschitz.cautious();
        // With constraints alone a step may be as bold as steps like it have earned. With an objective, multipliers would follow what an
        // ill-posed normal step asks for.
        let posed = if only_repairs { self.state.progress.lipschitz.caution() } else { 1.0 };
        let reckoning = Reckoning { lipschitz: self.steps.reckoned, posed, noise, share };
        let first = self.steps.normal.compute(local, reckoning, settings, own, &mut self.steps.projection, unusual);
        if only_repairs {
            self.steps.tangent.only_repair(&self.steps.normal.u);
            return first;
        }
        let both = first + self.find_tangent_step(unusual);
        let both = both + self.soften_dependent_rows(unusual);
        // Next to a stationary point of the violation there is next to nothing to repair, and a step that is exact only up to rounding
        // would not repair it: there the violation comes first, alone.
        let violated = norm(&self.state.current.h) > self.settings.tolerance.feasibility;
        let measured = self.settings.normal.variant != NormalVariant::Mapping;
        if !violated {
            self.state.progress.escapes.end_repairs();
        }
        let repairs = self.state.progress.escapes.repairs() || self.steps.normal.theta < self.settings.normal.alone;
        if self.noisy.is_none() && violated && measured && repairs {
            self.steps.tangent.s.copy_from_slice(&self.steps.normal.u);
        }
        both
    }

    /// An equality whose gradient has all but vanished, as that of `(x - 1)^2 = 0` does, is left as it is once it holds well within the tolerance.
    /// To repair it further would take its gradient away altogether, and with it the multiplier that the objective needs there. What counts of
    /// the gradient is what can repair: `x^2 + y^2 = 1` with `y >= 1` has `x` alone. And where rounding of its terms is all that any row misses, there is nothing to repair: a
    /// step would follow that noise, and be as hard to find as one that matters.
    fn leave_rows_at_rest(&mut self, unusual: &mut Unusual) {
        let most = HOLDS_WELL * self.settings.tolerance.feasibility;
        let possible = self.noisy.is_none() && self.settings.normal.variant == NormalVariant::Majorised && !self.only_repairs();
        let (current, standard, sizes) = (&self.state.current, &self.oracle.standard, &self.state.row_sizes.largest);
        let (a, bounds) = (&current.jacobian.a, &self.steps.bounds);
        let mut only_rounding = possible;
        for (row, at_rest) in self.steps.normal.at_rest().iter_mut().enumerate() {
            let (scale, missing) = (standard.scales.rows[row], current.h[row].abs());
            let holds = missing <= most * scale;
            *at_rest = possible
                && holds
                && bounds.repairing_part(a, row, current.h[row]) < VANISHING * scale * sizes[row]
                && standard.slack_rows.binary_search(&row).is_err();
            if *at_rest {
                unusual.insert(Event::AtRest);
            }
            let terms = || current.c[row].abs() + a.size_of_terms_in_row(row, &current.z[..a.n]);
            only_rounding = only_rounding && (*at_rest || holds && (missing == 0.0 || missing <= ROUNDING_OF_A_ROW * terms()));
        }
        self.steps.normal.only_rounding = only_rounding;
    }

    /// The tangent step; a metric with which no subproblem is solved is made simpler until one is.
    fn find_tangent_step(&mut self, unusual: &mut Unusual) -> u32 {
        let mut iterations = 0;
        loop {
            let local = local_model::LocalModel {
                at: &self.state.current,
                bounds: &self.steps.bounds,
                metric: &self.state.metric,
                clock: &self.clock,
            };
            let target = &self.steps.normal.target;
            iterations += self.steps.tangent.compute(local, target, &mut self.steps.projection, unusual);
            // Where there is next to no curvature, a step is as long as it likes, and nobody would believe it.
            let far = norm(&self.steps.tangent.s) > FAR * (1.0 + norm(&self.state.current.z));
            let metric = &mut self.state.metric;
            let is_doubted = self.steps.tangent.unsuited_metric || far && metric.exact.is_some();
            if !is_doubted || self.clock.is_over() || !metric.simplify(unusual) {
                return iterations;
            }
            self.state.metric.fill(&self.state.current);
        }
    }

    /// Second derivatives at the current point, where the metric is made of them. Where they have no value, the last ones stay.
    fn refresh_hessian(&mut self, unusual: &mut Unusual) {
        let Some(hessian) = &mut self.state.metric.exact else { return };
        let done = hessian.evaluate(&mut self.oracle, &self.state.current.user.x, &self.steps.tangent.lambda_at_rest);
        match done {
            Ok(()) => {}
            Err(trouble) if trouble.is_broken() => {
                self.fail(trouble);
            }
            Err(_) => unusual.insert(Event::Undefined),
        }
    }

    /// Whether there are constraints alone: then all is up to the normal step.
    pub(crate) fn only_repairs(&self) -> bool {
        only_repairs(self.oracle.meta(), &self.settings)
    }

    /// The curvature of the Lagrangian along the step that was accepted.
    pub(crate) fn learn_metric(&mut self, eta: f64) {
        if self.only_repairs() {
            return;
        }
        let (dz, dl) = (&mut self.steps.search.dz, &mut self.steps.search.dl);
        let n = self.state.current.n();
        let (s, u) = (&self.steps.tangent.s[..n], &self.steps.normal.u[..n]);
        // Where the constraints hold, a learnt metric is not held back: its curvature is that of the multipliers there, which need not exist. Nor is it on
        // every other new start after a stationary point of the violation, which is to go another way.
        let violated = self.judging.kkt.residuals.feasibility > self.settings.tolerance.feasibility;
        let is_held_back = violated && self.state.progress.escapes.starts.is_multiple_of(2);
        let along = &mut dz[..n];
        let damped = self.state.metric.follow(eta, is_held_back, move || {
            along.iter_mut().zip(s).zip(u).for_each(|((t, s), u)| *t = s - u);
            (&*along, norm(u))
        });
        self.state.progress.lipschitz.rescale(damped);
        // Second derivatives have nothing to learn but how far they can be trusted.
        if self.state.metric.exact.is_some() {
            return;
        }
        for i in 0..n {
            dz[i] = self.trial.z[i] - self.state.current.z[i];
            dl[i] = self.trial.g[i] - self.state.current.g[i];
        }
        let (now, before) = (&self.trial.jacobian.a, &self.state.current.jacobian.a);
        now.add_transposed_change(before, &self.steps.tangent.lambda_at_rest, &mut dl[..n]);
        let factor = self.state.metric.learn(Curvature { dz: &dz[..n], dl: &dl[..n], noise: 0.0 });
        self.state.progress.lipschitz.rescale(factor);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::matrix::{Matrix, Structure};
    use crate::kernel::woodbury::Woodbury;
    use crate::{Metric, MetricKind};
    use tangor_problem::MemoryLimit;

    #[test]
    fn two_systems_share_what_memory_there_is() {
        let places: Vec<(usize, usize)> = (0..1000).flat_map(|i| [(i, i), (i, i + 1)]).collect();
        let (structure, _) = Structure::new(1000, 1001, &places);
        let jacobian = Jacobian { a: Matrix::sparse(1000, 1001, structure.into()), slack_rows: [].into() };
        let (settings, clock) = (Settings::default(), Clock::new(None, 0.0));
        let steps = |kind, budget| {
            let metric = CurrentMetric::new(1001, 1001, &Metric { kind, ..Metric::default() }, true, false);
            Steps::new(&jacobian, &metric, &settings, None, budget, &clock)
        };
        let one = steps(MetricKind::Identity, Budget::NO_LIMIT).expect("no limit").projection.bytes();
        // One of both has room for the two vectors of each step of the metric.
        let both = 2 * one + Woodbury::bytes(1000, 1001, 2 * Metric::default().memory);
        let budget = |bytes| Budget::new(MemoryLimit(bytes as u64));
        assert!(steps(MetricKind::Identity, budget(one)).is_ok(), "one fits");
        assert!(steps(MetricKind::LimitedMemory, budget(both)).is_ok(), "both fit");
        let error = steps(MetricKind::LimitedMemory, budget(both - 1)).err().expect("no more").to_string();
        assert!(error.starts_with("the factor of a sparse matrix of 1000 rows and columns"), "{error}");
    }
}
