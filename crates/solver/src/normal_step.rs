//! The normal step `u`: how much of the residual can the linearised constraints remove without leaving the bounds? Only the target
//! `r = J u` is handed on.

use crate::frame::Frame;
use crate::mapping::{MappingWork, OwnMapping};
use crate::projection::{Projected, Projection, Subproblem};
use crate::vector::norm;
use crate::{Event, Normal, NormalVariant, Unusual, cone};

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
    work: Work,
    mapping: Option<MappingWork>,
}

struct Work {
    wanted: Vec<f64>,
    softness: Vec<f64>,
}

/// The softness that keeps the least-squares problem well posed, relative to the size of `J J^T`.
const SOFTEST: f64 = 1e-10;

/// What is left of a residual, relative to it, when it counts as removed: the softness leaves about this much where `J` is ill
/// conditioned.
const ATTAINED: f64 = 1e-6;

impl NormalStep {
    pub fn new(m: usize, columns: usize, settings: &Normal) -> Self {
        let mapping = (settings.variant == NormalVariant::Mapping).then(|| MappingWork::new(m));
        NormalStep {
            u: vec![0.0; columns],
            target: vec![0.0; m],
            theta: 1.0,
            cap: 1.0,
            y: vec![0.0; m],
            work: Work { wanted: vec![0.0; m], softness: vec![0.0; m] },
            mapping,
        }
    }

    /// Computes `u`, `r` and `theta` at the iterate. `lipschitz` is the estimate of `L_c`; `share` is the paper's fixed `theta`, if one
    /// is wanted. A mapping has its own.
    pub fn compute(
        &mut self,
        frame: Frame,
        (lipschitz, share): (f64, Option<f64>),
        settings: &Normal,
        own: Option<&mut (dyn OwnMapping + '_)>,
        projection: &mut Projection,
        unusual: &mut Unusual,
    ) -> u32 {
        let at = frame.at;
        let size = norm(&at.h);
        self.theta = 1.0;
        self.cap = 1.0;
        if size == 0.0 {
            self.u.fill(0.0);
            self.target.fill(0.0);
            return 0;
        }
        if let Some(work) = &mut self.mapping {
            let spectrum = work.compute(at, settings.mapping, lipschitz * size, own, &mut self.u);
            at.jacobian.apply(&self.u, &mut self.target);
            self.theta = spectrum.smallest;
            self.cap = 1.0 / spectrum.largest.max(f64::MIN_POSITIVE);
            return 0;
        }
        let mut iterations = 0;
        if let Some(share) = share {
            let (attained, projected) = self.remove_share(frame, share, projection);
            if attained {
                return projected.iterations;
            }
            iterations = projected.iterations;
        }
        let smallest = softest(frame);
        let majorised = settings.variant == NormalVariant::Majorised;
        let softness = if majorised { (lipschitz * size).max(smallest) } else { smallest };
        let projected = least_squares(frame, (1.0, &at.h), softness, &mut self.work, &mut self.y, &mut self.u, projection);
        if projected.dependent {
            unusual.insert(Event::RankDeficient);
        }
        at.jacobian.apply(&self.u, &mut self.target);
        // The paper's variants differ only where the bounds keep the shortest solution from removing the whole residual.
        let left = |target: &[f64]| at.h.iter().zip(target).map(|(h, r)| (h + r) * (h + r)).sum::<f64>().sqrt();
        if !majorised && left(&self.target) > ATTAINED * size {
            unusual.insert(Event::Cone);
            if cone::normal_step(frame, settings, &mut self.u) {
                at.jacobian.apply(&self.u, &mut self.target);
            } else {
                unusual.insert(Event::Inexact);
            }
        }
        self.theta = 1.0 - left(&self.target) / size;
        if self.theta < 0.0 {
            // Only a subproblem that was not solved can do harm: standing still is better.
            self.u.fill(0.0);
            self.target.fill(0.0);
            self.theta = 0.0;
            unusual.insert(Event::Inexact);
        }
        iterations + projected.iterations
    }

    /// The paper's stochastic target `r = -theta h` with a fixed `theta`. False: the bounds do not allow it.
    fn remove_share(&mut self, frame: Frame, share: f64, projection: &mut Projection) -> (bool, Projected) {
        let h = &frame.at.h;
        let projected = least_squares(frame, (share, h), softest(frame), &mut self.work, &mut self.y, &mut self.u, projection);
        frame.at.jacobian.apply(&self.u, &mut self.target);
        let left = h.iter().zip(&self.target).map(|(h, r)| (share * h + r).powi(2)).sum::<f64>().sqrt();
        let attained = left <= ATTAINED * share * norm(h);
        if attained {
            self.theta = share;
        }
        (attained, projected)
    }

    /// The rows of the last subproblem: target and softness.
    pub fn rows(&self) -> (&[f64], &[f64]) {
        (&self.work.wanted, &self.work.softness)
    }

    /// The second-order correction: a short step that removes the residual `h` which is left at the end of a step. The room of the
    /// frame is that around the end of the step.
    pub fn correction(
        &mut self,
        frame: Frame,
        h: &[f64],
        y: &mut [f64],
        d: &mut [f64],
        projection: &mut Projection,
    ) -> Projected {
        y.fill(0.0);
        least_squares(frame, (1.0, h), softest(frame), &mut self.work, y, d, projection)
    }
}

/// The softness that keeps the least-squares problem well posed.
fn softest(frame: Frame) -> f64 {
    SOFTEST * frame.at.jacobian.norm().powi(2) / frame.at.h.len() as f64
}

/// `min 1/2 |share h + J u|^2 + softness/2 u^T H u` inside the bounds.
fn least_squares(
    frame: Frame,
    (share, h): (f64, &[f64]),
    softness: f64,
    work: &mut Work,
    y: &mut [f64],
    u: &mut [f64],
    projection: &mut Projection,
) -> Projected {
    for (wanted, h) in work.wanted.iter_mut().zip(h) {
        *wanted = -share * h;
    }
    work.softness.fill(softness);
    let subproblem = Subproblem {
        jacobian: &frame.at.jacobian,
        metric: &frame.metric.normal,
        gradient: None,
        target: &work.wanted,
        lower: &frame.room.lower,
        upper: &frame.room.upper,
        softness: &work.softness,
    };
    projection.solve(&subproblem, y, u, frame.clock)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::by_hand::{Place, assert_near};
    use crate::{Kernel, Mapping};

    fn step(place: &Place, lipschitz: f64, settings: Normal) -> NormalStep {
        step_with_share(place, lipschitz, None, settings)
    }

    fn step_with_share(place: &Place, lipschitz: f64, share: Option<f64>, settings: Normal) -> NormalStep {
        let mut projection = Projection::new(&place.at.jacobian, &Kernel::default());
        let mut normal = NormalStep::new(place.at.h.len(), 2, &settings);
        normal.compute(place.frame(), (lipschitz, share), &settings, None, &mut projection, &mut Unusual::default());
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
        place.room.lower[0] = -0.25;
        assert_near(&step(&place, 0.0, with(NormalVariant::Majorised)).u, &[-0.25, -1.75]);
        place.room.lower[1] = -0.75;
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
        place.room.lower[0] = -0.125;
        let normal = step_with_share(&place, 1.0, Some(0.25), with(NormalVariant::Bounded));
        assert_near(&normal.u, &[-0.125, -0.375]);
        assert_near(&[normal.theta], &[0.25]);
        // Neither can give more than 1/8: the normal subproblem removes the 1/4 of the residual 2 that can be removed.
        place.room.lower[1] = -0.125;
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
