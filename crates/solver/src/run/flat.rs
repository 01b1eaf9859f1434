//! Whether a point would be called a KKT point only because the objective is flat around it, though it falls without bound farther away.
//!
//! `-exp(x)` at -800 is 0 in numbers, and `-1e-7 x` has a slope within any tolerance. Derivatives cannot tell such a point from a minimum,
//! values far away can. So, before a claim, variables are sought along which neither the point nor one beside it has a slope worth the name: a minimum
//! with curvature has none of them. From each a ray is followed as far as numbers go. With the distance `e^u - 1` each `u` is half as large again as the one
//! before: a power falls by more each time, a logarithm and the logarithm of one by no less, and what tends to a limit by less.

use tangor_problem::SampledProblem;

use crate::kernel::vector::{largest, norm};
use crate::noise::random::uniform;
use crate::run::descent::{BOTTOM, END, STEADY};
use crate::solver::Solver;
use crate::steps::line_search::ROUNDING;

/// How far the point beside lies, relative to `1 + |z_i|`.
pub(super) const BESIDE: f64 = 1e-2;

/// A slope beside the point of more than this many times the tolerance comes from curvature.
pub(super) const CURVED: f64 = 1e3;

/// Rays that are followed at most, those with the largest slopes first; fewer where rows have to be kept, which takes a system of equations each.
const RAYS: usize = 20;
const RAYS_WITH_ROWS: usize = 6;

/// Where the first look along a ray is, and how much farther away each next one.
const FIRST: f64 = 1e-3;
const FARTHER: f64 = 1.5;

/// So many falls in a row, none of them much smaller than the one before, are no chance.
const FALLS: u32 = 5;

/// So often the way to a point without a value is halved.
const HALVINGS: u32 = 20;

/// Points between the place where the objective began to fall and one where it is at its bottom: there it falls all along, unless rounding is all there is.
const BETWEEN: u32 = 8;

/// On the last stretch each fall is at least this share of the one before.
const AT_THE_END: f64 = 0.8;

/// No more values than a run has taken, and these: a look must not cost more than what it looks at.
const MORE_VALUES: u64 = 60;

/// How many values a look may still take; none after a function was broken, which then is not asked again.
struct Ration {
    values: u64,
    broken: bool,
}

/// What a look along a ray has seen.
struct Ray {
    direction: Vec<f64>,
    /// How much the objective may rise along it because the direction is not exact: the square of so many times the way.
    rise: f64,
    /// The last place where the objective had clearly fallen, or the first, its value there, and by how much it fell.
    u: f64,
    f: f64,
    fall: f64,
    falls: u32,
}

impl Ray {
    /// What rounding, and a direction that is not exact, may make of a value at this place.
    fn noise(&self, u: f64, value: f64) -> f64 {
        ROUNDING * value.abs() + (self.rise * u.exp_m1()).powi(2)
    }
}

/// What the next place of a ray tells.
enum Seen {
    /// The objective has clearly fallen, or has not changed.
    GoesOn,
    /// It is at the bottom.
    Bottom,
    /// It rises, tends to a limit, or a row does not hold.
    Ends,
    /// It has no value.
    Nothing,
}

impl<S: SampledProblem> Solver<S> {
    /// Whether the objective falls without bound from the current point, a KKT point that is about to be claimed, which has no slope within the
    /// tolerance. What fails meanwhile does the claim no harm. The trial point is used up.
    pub(super) fn falls_from_a_flat_place(&mut self) -> bool {
        if self.noisy.is_some() || !self.oracle.meta().has_objective || !self.state.progress.was_feasible {
            return false;
        }
        self.judging.kkt.find_violation(&self.state.current, &self.oracle.standard);
        self.is_feasible_up_to_rounding(&self.state.current.z) && self.venturing(Self::falls_along_a_ray)
    }

    fn falls_along_a_ray(&mut self) -> bool {
        let flat = self.flat_variables();
        let mut ration = self.ration(self.oracle.counts().objective + MORE_VALUES);
        if self.rays(&flat).into_iter().any(|direction| self.falls_on(direction, 0.0, &mut ration)) {
            return true;
        }
        if ration.broken || flat.len() == self.trial.n() {
            return false;
        }
        let Some((direction, rise)) = self.level_direction() else { return false };
        let opposite = direction.iter().map(|d| -d).collect();
        [direction, opposite].into_iter().any(|direction| {
            let mut ration = self.ration(MORE_VALUES);
            self.falls_on(direction, rise, &mut ration)
        })
    }

    /// At most so many values, and no more than the limit on evaluations leaves: two each, where there are rows.
    fn ration(&self, most: u64) -> Ration {
        let left = self.oracle.problem.evaluations_left().map_or(u64::MAX, |left| left / 2);
        Ration { values: most.min(left), broken: false }
    }

    /// Whether the objective falls without bound on a ray, as far as the rows allow to follow it. It may rise because the direction is not exact: by the square of
    /// `rise` times the way.
    fn falls_on(&mut self, direction: Vec<f64>, rise: f64, ration: &mut Ration) -> bool {
        let ray = if ration.values > 0 { self.along_the_rows(direction) } else { None };
        let falls = ray.is_some_and(|ray| self.no_bound_is_ahead(&ray) && self.falls_along(ray, rise, ration));
        if falls {
            self.note_how_far();
        }
        falls
    }

    /// Variables along which the objective has no slope to speak of, neither here nor beside this point, the steepest first. Those between
    /// two bounds lead nowhere.
    fn flat_variables(&mut self) -> Vec<usize> {
        let n = self.trial.n();
        let (standard, z) = (&self.oracle.standard, &self.state.current.z);
        let tolerance = self.settings.tolerance.stationarity;
        let here: Vec<f64> = (0..n).map(|i| self.slope(&self.state.current.g, i)).collect();
        let leads_far = |i: usize| standard.lower[i] == f64::NEG_INFINITY || standard.upper[i] == f64::INFINITY;
        let mut flat: Vec<usize> = (0..n).filter(|&i| here[i] <= tolerance && leads_far(i)).collect();
        let beside = |i: usize| standard.reflected(i, z[i] + BESIDE * (1.0 + z[i].abs()) * away(i));
        self.trial.put(|i| if i < n { beside(i) } else { z[i] });
        if flat.is_empty() || self.oracle.derivatives_elsewhere(&mut self.trial).is_err() {
            return Vec::new();
        }
        flat.retain(|&i| self.slope(&self.trial.g, i) <= CURVED * tolerance);
        flat.sort_by(|&i, &j| here[j].total_cmp(&here[i]));
        flat
    }

    /// The size of the objective's slope along a variable, in the user's units.
    pub(super) fn slope(&self, g: &[f64], i: usize) -> f64 {
        let scales = &self.oracle.standard.scales;
        (g[i] / scales.units[i] / scales.objective).abs()
    }

    /// Directions downhill along flat variables, both where there is no slope at all, and along all of those together; the step, too.
    fn rays(&self, flat: &[usize]) -> Vec<Vec<f64>> {
        if flat.is_empty() {
            return Vec::new();
        }
        let (columns, z, g) = (self.state.current.z.len(), &self.state.current.z, &self.state.current.g);
        let most = if self.state.current.h.is_empty() { RAYS } else { RAYS_WITH_ROWS };
        let along = |i: usize, sign: f64| {
            let mut direction = vec![0.0; columns];
            direction[i] = sign * (1.0 + z[i].abs());
            direction
        };
        let (s, size) = (&self.steps.tangent.s, norm(&self.steps.tangent.s));
        let mut rays = Vec::new();
        if size > 0.0 {
            let length = 1.0 + norm(z);
            rays.push(s.iter().map(|s| s / size * length).collect());
        }
        let level: Vec<usize> = flat.iter().copied().filter(|&i| g[i] == 0.0).collect();
        if level.len() > 1 {
            for sign in [1.0, -1.0] {
                let mut together = vec![0.0; columns];
                level.iter().for_each(|&i| together[i] = sign * (1.0 + z[i].abs()) * away(i));
                rays.push(together);
            }
        }
        for &i in flat {
            let signs = if g[i] == 0.0 { &[1.0, -1.0][..] } else { &[-g[i].signum()] };
            rays.extend(signs.iter().map(|sign| along(i, *sign)));
            if rays.len() >= most {
                break;
            }
        }
        rays
    }

    /// The part of a direction along which the linearised rows stay as they are, if there is one.
    fn along_the_rows(&mut self, mut direction: Vec<f64>) -> Option<Vec<f64>> {
        if self.state.current.h.is_empty() {
            return Some(direction);
        }
        let length = largest(&direction);
        self.trial.copy_from(&self.state.current);
        self.state.current.jacobian.apply(&direction, &mut self.trial.h);
        let standard = &self.oracle.standard;
        let repair = self.steps.shortest_repair(&self.trial, standard, &self.state.metric, &self.clock);
        direction.iter_mut().zip(repair).for_each(|(direction, repair)| *direction += repair);
        (largest(&direction) > BESIDE * length).then_some(direction)
    }

    /// Whether the objective falls steadily as far as numbers go, or to the bottom.
    fn falls_along(&mut self, direction: Vec<f64>, rise: f64, ration: &mut Ration) -> bool {
        let f = self.to_be_minimised(&self.state.current);
        let farthest = (END / largest(&direction)).ln();
        let mut ray = Ray { direction, rise, u: 0.0, f, fall: 0.0, falls: 0 };
        let (mut u, mut last) = (FIRST, 0.0);
        while u <= farthest {
            let bottom = match self.look_on(&mut ray, u, ration) {
                Seen::GoesOn => {
                    (last, u) = (u, u * FARTHER);
                    continue;
                }
                Seen::Bottom => Some(u),
                Seen::Ends => None,
                Seen::Nothing => self.bottom_before(&mut ray, last, u, ration),
            };
            return bottom.is_some_and(|u| self.falls_all_the_way(&ray, u, ration));
        }
        ray.falls >= FALLS && self.falls_to_the_end(&ray, farthest, ration)
    }

    /// Looks at one place of a ray.
    fn look_on(&mut self, ray: &mut Ray, u: f64, ration: &mut Ration) -> Seen {
        let f = match self.value_on(ray, u, ration) {
            Ok(f) => f,
            Err(seen) => return seen,
        };
        let (fall, noise) = (ray.f - f, ray.noise(u, ray.f.abs().max(f.abs())));
        if fall < -noise || !self.is_feasible_up_to_rounding(&self.trial.z) {
            return Seen::Ends;
        }
        if fall <= noise {
            // A place where it stands still after it fell is a limit.
            return if ray.falls == 0 { Seen::GoesOn } else { Seen::Ends };
        }
        if f < BOTTOM {
            return Seen::Bottom;
        }
        let is_steady = fall >= STEADY * ray.fall;
        // The first fall that shows is that of all the way to it, which tells nothing of the next.
        let fall = if ray.falls == 0 { 0.0 } else { fall };
        (ray.u, ray.f, ray.fall, ray.falls) = (u, f, fall, ray.falls + 1);
        if is_steady { Seen::GoesOn } else { Seen::Ends }
    }

    /// The objective at a place of a ray, where it has a value, with the violation there. A function that is broken, or the end of the run, ends the look.
    fn value_on(&mut self, ray: &Ray, u: f64, ration: &mut Ration) -> Result<f64, Seen> {
        let (z, t) = (&self.state.current.z, u.exp_m1());
        self.trial.put(|i| z[i] + t * ray.direction[i]);
        if self.clock.is_over() || ration.values == 0 {
            return Err(Seen::Ends);
        }
        ration.values -= 1;
        if let Err(trouble) = self.oracle.values(&mut self.trial, true) {
            if !trouble.is_broken() {
                return Err(Seen::Nothing);
            }
            (ration.values, ration.broken) = (0, true);
            return Err(Seen::Ends);
        }
        self.judging.kkt.find_violation(&self.trial, &self.oracle.standard);
        Ok(self.to_be_minimised(&self.trial))
    }

    /// Where the objective is at the bottom, between a place with a value and one without.
    fn bottom_before(&mut self, ray: &mut Ray, mut last: f64, mut none: f64, ration: &mut Ration) -> Option<f64> {
        for _ in 0..HALVINGS {
            let middle = 0.5 * (last + none);
            match self.look_on(ray, middle, ration) {
                Seen::Bottom => return Some(middle),
                Seen::Nothing => none = middle,
                Seen::GoesOn => last = middle,
                Seen::Ends => return None,
            }
        }
        None
    }

    /// Whether the last stretch, from the place before the last to where numbers end, has no limit or rise in it: in equal parts of it the fall
    /// of the logarithm of a logarithm is smaller by a twentieth each time, and that of what tends to a limit by more.
    fn falls_to_the_end(&mut self, ray: &Ray, farthest: f64, ration: &mut Ration) -> bool {
        let first = ray.u / FARTHER;
        let Ok(mut before) = self.value_on(ray, first, ration) else { return false };
        let mut least = f64::MIN_POSITIVE;
        (1..=BETWEEN).all(|k| {
            let u = first + (farthest - first) * f64::from(k) / f64::from(BETWEEN);
            let f = self.value_on(ray, u, ration).unwrap_or(f64::INFINITY);
            let fall = before - f;
            let falls = fall >= least && self.is_feasible_up_to_rounding(&self.trial.z);
            (before, least) = (f, AT_THE_END * fall);
            falls
        })
    }

    /// Whether the objective falls everywhere between the place where it was last seen and that of its bottom.
    fn falls_all_the_way(&mut self, ray: &Ray, bottom: f64, ration: &mut Ration) -> bool {
        let mut before = ray.f;
        (1..=BETWEEN).all(|k| {
            let u = ray.u + (bottom - ray.u) * f64::from(k) / f64::from(BETWEEN);
            let f = self.value_on(ray, u, ration).unwrap_or(f64::INFINITY);
            let falls = f <= before + ray.noise(u, before) && self.is_feasible_up_to_rounding(&self.trial.z);
            before = f;
            falls
        })
    }
}

/// A way from -1 to 1 for each variable, and none of them short.
pub(super) fn away(i: usize) -> f64 {
    let way = uniform(BETWEEN.into(), i as u64);
    way.signum() * 0.5 * (1.0 + way.abs())
}
