//! The normal step `u`: how much of the residual can the linearised constraints remove without leaving the bounds? Only the target
//! `r = J u` is handed on.

use crate::kernel::cone;
use crate::kernel::projection::{Projected, Projection};
use crate::kernel::subproblem::{Block, Subproblem};
use crate::kernel::vector::norm;
use crate::run::memory::Budget;
use crate::steps::local_model::{LocalModel, StepBounds};
use crate::steps::mapping::{MappingMemory, OwnMapping};
use crate::steps::null_space::{self, NullSpaceStep};
use crate::{Event, Normal, NormalVariant, Unusual};

/// The normal step with its memory.
pub struct NormalStep {
    pub u: Vec<f64>,
    /// `r = J u`
    pub target: Vec<f64>,
    /// The share of the residual that the linearisation removes; for a mapping the smallest eigenvalue of `J J^T A`.
    pub theta: f64,
    /// What the stepsize must not exceed.
    pub cap: f64,
    /// Multipliers, kept as a warm start.
    pub y: Vec<f64>,
    work: LeastSquaresRows,
    mapping: Option<MappingMemory>,
    /// Whether no row misses more than rounding of its terms, to be set before each step: then there is nothing to repair.
    pub only_rounding: bool,
    /// Whether the last step was asked of a subproblem.
    pub is_posed: bool,
    /// For the shortest step with no bounds, with the paper's variants.
    unbounded: Option<Unbounded>,
    /// For a step whose null-space part is bounded or has a price, where a dense matrix is not too large for it.
    null_space: Option<Box<NullSpaceStep>>,
    /// What Clarabel may allocate.
    budget: Budget,
}

/// The memory of a least-squares problem without bounds and with the Euclidean norm.
struct Unbounded {
    bounds: StepBounds,
    ones: Vec<f64>,
    y: Vec<f64>,
    w: Vec<f64>,
}

impl Unbounded {
    fn new(columns: usize, rows: usize) -> Self {
        let bounds = StepBounds { lower: vec![f64::NEG_INFINITY; columns], upper: vec![f64::INFINITY; columns] };
        Unbounded { bounds, ones: vec![1.0; columns], y: vec![0.0; rows], w: vec![0.0; columns] }
    }
}

struct LeastSquaresRows {
    wanted: Vec<f64>,
    softness: Vec<f64>,
    /// Rows that are left as they are.
    at_rest: Vec<bool>,
}

impl LeastSquaresRows {
    /// `|share h + r|` over the rows that are to be repaired.
    fn left(&self, h: &[f64], target: &[f64], share: f64) -> f64 {
        let rows = h.iter().zip(target).zip(&self.at_rest).filter(|(_, at_rest)| !**at_rest);
        rows.map(|((h, r), _)| (share * h + r).powi(2)).sum::<f64>().sqrt()
    }
}

/// What a normal step reckons with.
#[derive(Clone, Copy, Debug)]
pub struct Reckoning {
    /// The estimate of `L_c`.
    pub lipschitz: f64,
    /// How much of the softness that keeps the step well posed is wanted.
    pub posed: f64,
    /// The mean square by which the noise of the Jacobian makes a step of length 1 miss: no row can be told apart below it.
    pub noise: f64,
    /// The paper's fixed `theta`, if one is wanted.
    pub share: Option<f64>,
}

/// What a step besides the normal step is to repair.
#[derive(Clone, Copy, Debug)]
pub struct Repair<'a> {
    /// What is to be removed.
    pub residual: &'a [f64],
    /// How softly.
    pub softness: f64,
    /// How much of the softness that keeps the step well posed is wanted at least.
    pub posed: f64,
}

/// What is left of a residual, relative to it, when it counts as removed: the softness leaves about this much where `J` is ill
/// conditioned.
const ATTAINED: f64 = 1e-6;

impl NormalStep {
    pub fn new(m: usize, columns: usize, settings: &Normal, budget: Budget) -> Self {
        let variant = settings.variant;
        let mapping = (variant == NormalVariant::Mapping).then(|| MappingMemory::new(m));
        let is_of_the_paper = !matches!(variant, NormalVariant::Majorised | NormalVariant::Mapping);
        let has_matrix = matches!(variant, NormalVariant::Bounded | NormalVariant::Regularised)
            && (1..=null_space::MOST_COLUMNS).contains(&columns);
        NormalStep {
            u: vec![0.0; columns],
            target: vec![0.0; m],
            theta: 1.0,
            cap: 1.0,
            y: vec![0.0; m],
            only_rounding: false,
            is_posed: false,
            unbounded: is_of_the_paper.then(|| Unbounded::new(columns, m)),
            null_space: has_matrix.then(|| Box::new(NullSpaceStep::new(m, columns))),
            work: LeastSquaresRows { wanted: vec![0.0; m], softness: vec![0.0; m], at_rest: vec![false; m] },
            mapping,
            budget,
        }
    }

    /// Computes `u`, `r` and `theta` at the iterate. A mapping has a `theta` of its own.
    pub fn compute(
        &mut self,
        local: LocalModel,
        Reckoning { lipschitz, posed, noise, share }: Reckoning,
        settings: &Normal,
        own: Option<&mut (dyn OwnMapping + '_)>,
        projection: &mut Projection,
        unusual: &mut Unusual,
    ) -> u32 {
        let at = local.at;
        (self.theta, self.cap, self.is_posed) = (1.0, 1.0, false);
        // Without any target, all is left.
        self.target.fill(0.0);
        let size = self.work.left(&at.h, &self.target, 1.0);
        if size == 0.0 || self.only_rounding {
            self.u.fill(0.0);
            return 0;
        }
        if self.mapping.is_some() {
            self.map(local, settings, lipschitz * size, own);
            return 0;
        }
        if at.jacobian.norm() == 0.0 {
            // No step changes any row.
            self.u.fill(0.0);
            self.theta = 0.0;
            return 0;
        }
        self.is_posed = true;
        let mut iterations = 0;
        if let Some(share) = share {
            let (attained, projected) = self.remove_share(local, share, settings, projection, unusual);
            if attained {
                return projected.iterations;
            }
            iterations = projected.iterations;
        }
        let smallest = local.softest();
        let majorised = settings.variant == NormalVariant::Majorised;
        let softness = if majorised { (lipschitz * size).max(posed * smallest).max(noise) } else { smallest };
        let projected = least_squares(
            (local, &local.metric.normal),
            (1.0, &at.h),
            softness,
            &mut self.work,
            &mut self.y,
            &mut self.u,
            projection,
            unusual,
        );
        at.jacobian.apply(&self.u, &mut self.target);
        // A step that removes the whole residual is a solution of the paper's variants, too, if its null-space part is as they ask.
        let is_left = self.work.left(&at.h, &self.target, 1.0) > ATTAINED * size;
        if !majorised && (is_left || !self.is_allowed(local, settings, projection, unusual)) {
            self.repair_as_the_paper(local, settings, unusual);
        }
        self.measure_theta(&at.h, size, unusual);
        iterations + projected.iterations
    }

    /// The step of a mapping, `u = -J^T A h`, with the eigenvalues of `J J^T A` that stand for `theta` and bound the stepsize.
    fn map(&mut self, local: LocalModel, settings: &Normal, delta: f64, own: Option<&mut (dyn OwnMapping + '_)>) {
        let Some(work) = &mut self.mapping else { return };
        let Some(spectrum) = work.compute(local, settings.mapping, delta, own, &mut self.u) else {
            self.theta = 0.0;
            return;
        };
        local.at.jacobian.apply(&self.u, &mut self.target);
        self.theta = spectrum.smallest;
        self.cap = 1.0 / spectrum.largest.max(f64::MIN_POSITIVE);
    }

    /// `theta`, the share of a residual of this size that the target removes.
    fn measure_theta(&mut self, h: &[f64], size: f64, unusual: &mut Unusual) {
        self.theta = 1.0 - self.work.left(h, &self.target, 1.0) / size;
        if self.theta < 0.0 {
            // Only a subproblem that was not solved can do harm: standing still is better.
            self.u.fill(0.0);
            self.target.fill(0.0);
            self.theta = 0.0;
            unusual.insert(Event::Inexact);
        }
    }

    /// One of the paper's normal steps in full. Where it cannot be found, the shortest repair stays.
    fn repair_as_the_paper(&mut self, local: LocalModel, settings: &Normal, unusual: &mut Unusual) {
        let found = self.null_space.as_mut().and_then(|step| match settings.variant {
            NormalVariant::Regularised => step.priced(local, settings.regularisation),
            _ => step.bounded(local, norm(&local.at.h)),
        });
        if let Some(u) = found {
            self.u.copy_from_slice(u);
        } else {
            unusual.insert(Event::Cone);
            if !cone::normal_step(local, settings, &mut self.u, self.budget) {
                return unusual.insert(Event::Inexact);
            }
        }
        local.at.jacobian.apply(&self.u, &mut self.target);
    }

    /// Whether the null-space part `v = u - w` of a step, where `w` is the shortest one with `J w = J u`, is one that the variant allows. Lengths are
    /// the paper's: what slacks weigh in the normal step does not count.
    fn is_allowed(&mut self, local: LocalModel, settings: &Normal, projection: &mut Projection, unusual: &mut Unusual) -> bool {
        let Some(Unbounded { bounds, ones, y, w }) = &mut self.unbounded else { return true };
        let free = LocalModel { bounds, ..local };
        y.fill(0.0);
        least_squares((free, ones), (-1.0, &self.target), local.softest(), &mut self.work, y, w, projection, unusual);
        self.u.iter().zip(w.iter_mut()).for_each(|(u, w)| *w = u - *w);
        let (v, h) = (&*w, &local.at.h);
        let sum = |a: &[f64]| a.iter().map(|a| a.abs()).sum::<f64>();
        match settings.variant {
            NormalVariant::Bounded => norm(v) <= (1.0 + ATTAINED) * norm(h),
            NormalVariant::BoundedOneNorm => sum(v) <= (1.0 + ATTAINED) * sum(h),
            // Any such part has its price here.
            NormalVariant::Regularised => norm(v) <= ATTAINED * norm(&self.u),
            NormalVariant::Majorised | NormalVariant::Mapping => true,
        }
    }

    /// The paper's stochastic target `r = -theta h` with a fixed `theta`. False: the bounds do not allow it, or only with a null-space part that
    /// the variant does not. The paper's `theta` is so small that a step whose null-space part is at most as long as `h` attains it.
    fn remove_share(
        &mut self,
        local: LocalModel,
        share: f64,
        settings: &Normal,
        projection: &mut Projection,
        unusual: &mut Unusual,
    ) -> (bool, Projected) {
        let h = &local.at.h;
        let projected = least_squares(
            (local, &local.metric.normal),
            (share, h),
            local.softest(),
            &mut self.work,
            &mut self.y,
            &mut self.u,
            projection,
            unusual,
        );
        local.at.jacobian.apply(&self.u, &mut self.target);
        let left = self.work.left(h, &self.target, share);
        let attained = left <= ATTAINED * share * norm(h) && self.is_allowed(local, settings, projection, unusual);
        if attained {
            self.theta = share;
        }
        (attained, projected)
    }

    /// What the step removes of `|h|`, to first order: `theta |h|`, unless rows that are left as they are make up a part of it.
    pub fn gain(&self, h: &[f64]) -> f64 {
        if !self.only_rounding && !self.work.at_rest.contains(&true) {
            return self.theta * norm(h);
        }
        let left = h.iter().zip(&self.target).map(|(h, r)| (h + r).powi(2)).sum::<f64>().sqrt();
        (norm(h) - left).max(0.0)
    }

    /// The rows that are to be left as they are, to be set before each step.
    pub fn at_rest(&mut self) -> &mut [bool] {
        &mut self.work.at_rest
    }

    /// The rows of the last subproblem: target and softness.
    pub fn rows(&self) -> (&[f64], &[f64]) {
        (&self.work.wanted, &self.work.softness)
    }

    /// Another step `d` that removes a residual, as far as its softness lets it, inside the bounds of the local model: a second-order correction,
    /// where these are the bounds around the end of a step and the residual is what is left there.
    pub fn repair(
        &mut self,
        local: LocalModel,
        Repair { residual, softness, posed }: Repair,
        y: &mut [f64],
        d: &mut [f64],
        projection: &mut Projection,
        unusual: &mut Unusual,
    ) -> Projected {
        y.fill(0.0);
        let softness = softness.max(posed * local.softest());
        least_squares((local, &local.metric.normal), (1.0, residual), softness, &mut self.work, y, d, projection, unusual)
    }
}

/// `min 1/2 |share h + J u|^2 + softness/2 u^T H u` inside the bounds.
#[allow(clippy::too_many_arguments)]
fn least_squares(
    (local, metric): (LocalModel, &[f64]),
    (share, h): (f64, &[f64]),
    softness: f64,
    work: &mut LeastSquaresRows,
    y: &mut [f64],
    u: &mut [f64],
    projection: &mut Projection,
    unusual: &mut Unusual,
) -> Projected {
    for ((wanted, h), at_rest) in work.wanted.iter_mut().zip(h).zip(&work.at_rest) {
        *wanted = if *at_rest { 0.0 } else { -share * h };
    }
    work.softness.fill(softness);
    let subproblem = Subproblem {
        jacobian: &local.at.jacobian,
        metric,
        block: Block::Diagonal,
        gradient: None,
        target: &work.wanted,
        lower: &local.bounds.lower,
        upper: &local.bounds.upper,
        softness: &work.softness,
    };
    projection.solve_or_hand_over(&subproblem, y, u, local.clock, unusual)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mapping;
    use crate::kernel::system::Beside;
    use crate::steps::local_model::by_hand::{Place, assert_near};

    fn step(place: &Place, lipschitz: f64, settings: Normal) -> NormalStep {
        step_with_share(place, lipschitz, None, settings)
    }

    fn step_with_share(place: &Place, lipschitz: f64, share: Option<f64>, settings: Normal) -> NormalStep {
        let mut projection = place.projection(Beside::Nothing);
        let mut normal = NormalStep::new(place.at.h.len(), 2, &settings, Budget::NO_LIMIT);
        normal.compute(
            place.local(),
            Reckoning { lipschitz, posed: 1.0, noise: 0.0, share },
            &settings,
            None,
            &mut projection,
            &mut Unusual::default(),
        );
        normal
    }

    fn with(variant: NormalVariant) -> Normal {
        Normal { variant, ..Normal::default() }
    }

    #[test]
    fn linear_constraints_are_repaired_at_once() {
        let place = Place::new(&[[1.0, 1.0]], &[2.0], [0.0; 2]);
        for variant in
            [NormalVariant::Majorised, NormalVariant::Bounded, NormalVariant::BoundedOneNorm, NormalVariant::Regularised]
        {
            let normal = step(&place, 0.0, with(variant));
            assert_near(&normal.u, &[-1.0, -1.0]);
            assert_near(&normal.target, &[-2.0]);
            assert_near(&[normal.theta, normal.cap], &[1.0, 1.0]);
        }
    }

    #[test]
    fn the_majorised_step_is_shorter() {
        // L_c |h| = 2: min 1/2 (2 + u1 + u2)^2 + |u|^2 has 2 + 4 u_i = 0.
        let normal = step(&Place::new(&[[1.0, 1.0]], &[2.0], [0.0; 2]), 1.0, with(NormalVariant::Majorised));
        assert_near(&normal.u, &[-0.5, -0.5]);
        assert_near(&[normal.theta], &[0.5]);
    }

    #[test]
    fn bounds_move_the_step_or_leave_a_residual() {
        let mut place = Place::new(&[[1.0, 1.0]], &[2.0], [0.0; 2]);
        place.bounds.lower[0] = -0.25;
        assert_near(&step(&place, 0.0, with(NormalVariant::Majorised)).u, &[-0.25, -1.75]);
        place.bounds.lower[1] = -0.75;
        for variant in [NormalVariant::Majorised, NormalVariant::Bounded, NormalVariant::BoundedOneNorm] {
            let normal = step(&place, 0.0, with(variant));
            assert_near(&normal.u, &[-0.25, -0.75]);
            assert_near(&[normal.theta], &[0.5]);
        }
    }

    #[test]
    fn a_fixed_share_is_removed_where_the_bounds_allow_it() {
        // J = (1, 1) and h = 2: a quarter of it is u1 + u2 = -1/2, at its shortest (-1/4, -1/4), whatever L_c is.
        let mut place = Place::new(&[[1.0, 1.0]], &[2.0], [0.0; 2]);
        for variant in [NormalVariant::Majorised, NormalVariant::Bounded] {
            let normal = step_with_share(&place, 1.0, Some(0.25), with(variant));
            assert_near(&normal.u, &[-0.25, -0.25]);
            assert_near(&normal.target, &[-0.5]);
            assert_near(&[normal.theta], &[0.25]);
        }
        // One variable can give 1/8: the other one gives the rest.
        place.bounds.lower[0] = -0.125;
        let normal = step_with_share(&place, 1.0, Some(0.25), with(NormalVariant::Bounded));
        assert_near(&normal.u, &[-0.125, -0.375]);
        assert_near(&[normal.theta], &[0.25]);
        // Neither can give more than 1/8: the normal subproblem removes the 1/4 of the residual 2 that can be removed.
        place.bounds.lower[1] = -0.125;
        let normal = step_with_share(&place, 1.0, Some(0.25), with(NormalVariant::Bounded));
        assert_near(&normal.u, &[-0.125, -0.125]);
        assert_near(&normal.target, &[-0.25]);
        assert_near(&[normal.theta], &[0.125]);
        // And with a mapping the share is that of the mapping.
        let mapping = Mapping::Sqp { alpha: 0.5 };
        let settings = Normal { variant: NormalVariant::Mapping, mapping, ..Normal::default() };
        assert_near(&[step_with_share(&place, 1.0, Some(0.25), settings).theta], &[0.5]);
    }

    #[test]
    fn a_fixed_share_keeps_to_the_null_space_part_that_the_variant_allows() {
        // J = (1, 0.02), h = 1 and u1 >= -1/2, as below. All of h takes u = (-1/2, -25), whose null-space part is 25 times as long as h: the
        // normal subproblem takes over. Half of h takes (-0.4998, -0.01), which is the shortest step and has no such part.
        let mut place = Place::new(&[[1.0, 0.02]], &[1.0], [0.0; 2]);
        place.bounds.lower = vec![-0.5, -100.0];
        place.bounds.upper = vec![100.0, 100.0];
        let all = step_with_share(&place, 0.0, Some(1.0), with(NormalVariant::Bounded));
        let of_the_normal_step = step(&place, 0.0, with(NormalVariant::Bounded));
        assert_near(&all.u, &of_the_normal_step.u);
        assert_near(&[all.theta], &[of_the_normal_step.theta]);
        assert!(all.theta < 0.6, "{}", all.theta);
        let half = step_with_share(&place, 0.0, Some(0.5), with(NormalVariant::Bounded));
        assert_near(&half.target, &[-0.5]);
        assert_near(&half.u, &[-0.5 / 1.0004, -0.01 / 1.0004]);
        assert_near(&[half.theta], &[0.5]);
        // The majorised step has no such bound.
        let majorised = step_with_share(&place, 0.0, Some(1.0), with(NormalVariant::Majorised));
        assert_near(&[majorised.theta], &[1.0]);
    }

    #[test]
    fn a_long_null_space_part_is_not_taken_for_granted() {
        // J = (1, 0.02), h = 1 and u1 >= -1/2: u = (-1/2, -25) repairs all, but its null-space part is nearly 25 long where |h| = 1 is
        // allowed, or 1 in the 1-norm. J and its null space are spanned by (1, 0.02) and (-0.02, 1).
        let mut place = Place::new(&[[1.0, 0.02]], &[1.0], [0.0; 2]);
        place.bounds.lower = vec![-0.5, -100.0];
        place.bounds.upper = vec![100.0, 100.0];
        let variants = [NormalVariant::Bounded, NormalVariant::BoundedOneNorm, NormalVariant::Regularised];
        // With a weight of 1e-4, as slacks have, (-1/5, -40) is the shortest repair: that it has no null-space part in this norm is no excuse.
        for (variant, weight) in variants.into_iter().flat_map(|variant| [(variant, 1.0), (variant, 1e-4)]) {
            place.metric.normal[1] = weight;
            let u = step(&place, 0.0, with(variant)).u;
            let null = (-0.02 * u[0] + u[1]) / 1.0004;
            let (v, length) = ([-0.02 * null, null], (1.0f64 + 0.02 * 0.02).sqrt() * null.abs());
            match variant {
                NormalVariant::Bounded => assert!(length <= 1.0 + 1e-6, "{u:?}"),
                NormalVariant::BoundedOneNorm => assert!(v[0].abs() + v[1].abs() <= 1.0 + 1e-6, "{u:?}"),
                // min 1/2 (1 + u1 + 0.02 u2)^2 + mu/2 |v|^2, where any v has its price.
                _ => assert!(length < 5.0, "{u:?}"),
            }
            assert!(u[0] >= -0.5 - 1e-9, "{u:?}");
        }
    }

    #[test]
    fn rows_at_rest_are_no_part_of_the_gain() {
        // h = (3, 4) and J = I: of |h| = 5 the step removes all, or, where the second row is left as it is, 5 - 4.
        let place = Place::new(&[[1.0, 0.0], [0.0, 1.0]], &[3.0, 4.0], [0.0; 2]);
        let mut projection = place.projection(Beside::Nothing);
        let mut normal = NormalStep::new(2, 2, &Normal::default(), Budget::NO_LIMIT);
        for (is_left, gain) in [(false, 5.0), (true, 1.0)] {
            normal.at_rest()[1] = is_left;
            let reckoning = Reckoning { lipschitz: 0.0, posed: 1.0, noise: 0.0, share: None };
            normal.compute(place.local(), reckoning, &Normal::default(), None, &mut projection, &mut Unusual::default());
            assert_near(&[normal.theta, normal.gain(&place.at.h)], &[1.0, gain]);
        }
    }

    #[test]
    fn a_mapping_reports_its_spectrum() {
        // J J^T = 2 and A = 1/4: u = -J^T h / 4, beta = 1/2 and the cap is 2.
        let mapping = Mapping::AugmentedLagrangian { alpha: 0.25 };
        let settings = Normal { variant: NormalVariant::Mapping, mapping, ..Normal::default() };
        let normal = step(&Place::new(&[[1.0, 1.0]], &[2.0], [0.0; 2]), 0.0, settings);
        assert_near(&normal.u, &[-0.5, -0.5]);
        assert_near(&[normal.theta, normal.cap], &[0.5, 2.0]);
    }

    #[test]
    fn nothing_is_done_where_nothing_is_violated() {
        let normal = step(&Place::new(&[[1.0, 1.0]], &[0.0], [1.0; 2]), 1.0, with(NormalVariant::Majorised));
        assert_eq!((normal.u, normal.target, normal.theta), (vec![0.0; 2], vec![0.0], 1.0));
    }
}
