//! A dense quasi-Newton matrix `B` of the Lagrangian (damped BFGS), kept away from being singular.

use serde::{Deserialize, Serialize};

use crate::kernel::cholesky;
use crate::kernel::vector::{dot, norm};
use crate::metric::Curvature;
use crate::metric::damping::{self, RISE};
use crate::run::memory::NUMBER;

/// The smallest eigenvalue of `B`, relative to its largest entry.
const FLATTEST: f64 = 1e-10;
/// The most that this becomes under noise.
const FLATTEST_UNDER_NOISE: f64 = 1e-4;
/// No bound below the smallest eigenvalue is larger than this share of the smallest entry of the diagonal, which is above it.
const BELOW: f64 = 0.5;
/// The factor between two bounds that are tried, and the most trials: from the largest entry they lead to 1e-24 of it.
const TRIED: f64 = 4.0;
const MOST_TRIALS: u32 = 40;

/// The most damping, relative to the largest entry of the diagonal.
const STIFFEST: f64 = 1e3;

/// `B` with the memory of its update. What was learnt is all of it that is serialised.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct QuasiNewton {
    pub learnt: Learnt,
    /// `B + nu I` where there is a damping `nu`
    #[serde(skip)]
    damped: Vec<f64>,
    #[serde(skip)]
    n: usize,
    #[serde(skip)]
    factor: Vec<f64>,
    #[serde(skip)]
    bs: Vec<f64>,
    #[serde(skip)]
    y: Vec<f64>,
    #[serde(skip)]
    memory: cholesky::Memory,
}

/// What was learnt so far.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Learnt {
    /// `B`, symmetric, row after row.
    pub b: Vec<f64>,
    /// Below the smallest eigenvalue of `B`.
    pub delta: f64,
    /// From how many steps.
    steps: u64,
    /// The damping `nu`.
    damping: f64,
}

impl QuasiNewton {
    /// The memory of one for `n` variables: the matrix with and without damping, and its factor.
    pub fn bytes(n: usize) -> u128 {
        3 * NUMBER * (n as u128).pow(2) + 2 * NUMBER * n as u128 + cholesky::bytes(n)
    }

    /// `B = I`.
    pub fn new(n: usize) -> Self {
        let mut new = QuasiNewton {
            learnt: Learnt { b: vec![0.0; n * n], delta: BELOW, steps: 0, damping: 0.0 },
            damped: vec![0.0; n * n],
            n,
            factor: vec![0.0; n * n],
            bs: vec![0.0; n],
            y: vec![0.0; n],
            memory: cholesky::memory(n),
        };
        new.start(1.0);
        new
    }

    pub fn size(&self) -> usize {
        self.n
    }

    /// Forms `B + nu I` after either has changed; without damping `B` itself serves.
    fn damp(&mut self) {
        if self.learnt.damping == 0.0 {
            return;
        }
        self.damped.copy_from_slice(&self.learnt.b);
        (0..self.n).for_each(|i| self.damped[i * self.n + i] += self.learnt.damping);
    }

    /// `B + nu I`, row after row.
    pub fn matrix(&self) -> &[f64] {
        if self.learnt.damping == 0.0 { &self.learnt.b } else { &self.damped }
    }

    /// Below the smallest eigenvalue of `B + nu I`.
    pub fn smallest(&self) -> f64 {
        self.learnt.delta + self.learnt.damping
    }

    /// The last step was accepted at this share of its length. Where its part along the constraints is the longer one and it was much shortened, it was
    /// too long for what is known: the damping becomes such that the next one is about as short of itself. Whether it does. `parts` gives the part along
    /// the constraints, and the length of the other.
    pub fn follow<'a>(&mut self, eta: f64, parts: impl FnOnce() -> (&'a [f64], f64)) -> bool {
        let before = self.learnt.damping;
        let largest = (0..self.n).fold(0.0f64, |most, i| most.max(self.learnt.b[i * self.n + i]));
        let mut damping = before;
        let shorter = damping::follow(&mut damping, eta, largest, || {
            let (tangent, normal) = parts();
            let along = dot(tangent, tangent);
            let curvature = self.square(tangent) / along;
            let asked = (before + curvature * ((1.0 / eta).min(RISE) - 1.0)).min(STIFFEST * largest);
            (along.sqrt() > normal && asked > before).then_some(asked)
        });
        if damping != before {
            self.learnt.damping = damping;
            self.damp();
        }
        shorter
    }

    /// Takes the damping away; no step becomes shorter by that.
    pub fn release(&mut self) {
        if self.learnt.damping > 0.0 {
            self.learnt.damping = 0.0;
            self.damp();
        }
    }

    pub fn write_diagonal(&self, out: &mut [f64]) {
        out.iter_mut().enumerate().for_each(|(i, out)| *out = self.matrix()[i * self.n + i]);
    }

    /// `out = (B + nu I) s`, over the variables.
    pub fn apply(&self, s: &[f64], out: &mut [f64]) {
        for (out, row) in out.iter_mut().zip(self.matrix().chunks_exact(self.n.max(1))) {
            *out = dot(row, &s[..self.n]);
        }
    }

    /// `s^T (B + nu I) s`
    pub fn square(&self, s: &[f64]) -> f64 {
        self.matrix().chunks_exact(self.n.max(1)).zip(s).map(|(row, value)| value * dot(row, &s[..self.n])).sum()
    }

    /// Whether what another one has learnt is of this size.
    pub fn fits(&self, saved: &QuasiNewton) -> bool {
        saved.learnt.b.len() == self.n * self.n && (0.0..f64::INFINITY).contains(&saved.learnt.damping)
    }

    /// Goes on from what another one has learnt.
    pub fn take_up(&mut self, saved: QuasiNewton) {
        self.learnt = saved.learnt;
        self.damp();
    }

    /// `B = sigma I`
    pub fn start(&mut self, sigma: f64) {
        let n = self.size();
        self.learnt.b.fill(0.0);
        (0..n).for_each(|i| self.learnt.b[i * n + i] = sigma);
        self.learnt.delta = BELOW * sigma;
        self.settle(FLATTEST);
    }

    /// Back to a multiple of the identity. False: it is one.
    pub fn reset(&mut self) -> bool {
        let forgot = self.learnt.steps > 0;
        (self.learnt.steps, self.learnt.damping) = (0, 0.0);
        let n = self.size();
        let trace: f64 = (0..n).map(|i| self.learnt.b[i * n + i]).sum();
        self.start(trace / n as f64);
        forgot
    }

    /// Learns from a step, in two corrections.
    pub fn update(&mut self, curvature: Curvature, sigma: f64) {
        if self.learnt.steps == 0 {
            self.start(sigma);
        }
        let (n, s) = (self.size(), curvature.dz);
        let b = &mut self.learnt.b;
        for (i, bs) in self.bs.iter_mut().enumerate() {
            *bs = dot(&b[i * n..(i + 1) * n], s);
        }
        let Some(lesson) = curvature.lesson(&self.bs, &mut self.y) else { return };
        for i in 0..n {
            let (yi, bsi) = (self.y[i] / lesson.after, self.bs[i] / lesson.before);
            for j in 0..n {
                b[i * n + j] += yi * self.y[j] - bsi * self.bs[j];
            }
        }
        self.learnt.steps += 1;
        // A direction that looks flatter than what noise makes of a curvature may only be one that noise hides, and steps along it would be
        // long. Noise that cancels between both ends of a step hides nothing.
        let hidden = curvature.noise.sqrt() / norm(s);
        let most = (0..n).fold(0.0f64, |most, i| most.max(self.learnt.b[i * n + i]));
        let flattest = (hidden / most).max(FLATTEST);
        self.settle(flattest.min(FLATTEST_UNDER_NOISE));
    }

    /// `B` has changed.
    fn settle(&mut self, flattest: f64) {
        self.find_delta(flattest);
        self.damp();
    }

    /// Finds `delta`: the largest that a few trials give for which `B - delta I` is positive definite.
    fn find_delta(&mut self, flattest: f64) {
        let n = self.size();
        let diagonal = (0..n).map(|i| self.learnt.b[i * n + i]);
        let (least, most) = diagonal.fold((f64::INFINITY, 0.0f64), |(least, most), b| (least.min(b), most.max(b)));
        self.learnt.delta = (TRIED * self.learnt.delta).min(BELOW * least).max(flattest * most);
        for _ in 0..MOST_TRIALS {
            if self.is_definite() {
                return;
            }
            // The smallest eigenvalue is kept above a share of the largest entry: a flat direction must not spoil the others.
            if self.learnt.delta < TRIED * flattest * most {
                (0..n).for_each(|i| self.learnt.b[i * n + i] += TRIED * flattest * most);
            }
            self.learnt.delta = (self.learnt.delta / TRIED).max(flattest * most);
        }
        // Rounding has made nonsense of it.
        self.learnt.steps = 0;
        let sigma = if most.is_finite() && most > 0.0 { most } else { 1.0 };
        self.learnt.b.fill(0.0);
        (0..n).for_each(|i| self.learnt.b[i * n + i] = sigma);
        self.learnt.delta = BELOW * sigma;
    }

    /// Whether `B - delta I` has a Cholesky factor.
    fn is_definite(&mut self) -> bool {
        let n = self.size();
        self.factor.copy_from_slice(&self.learnt.b);
        (0..n).for_each(|i| self.factor[i * n + i] -= self.learnt.delta);
        self.learnt.delta > 0.0 && cholesky::factorise(n, &mut self.factor, &mut self.memory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_secant_equation_holds_and_delta_is_below_all_eigenvalues() {
        let mut quasi_newton = QuasiNewton::new(2);
        quasi_newton.update(Curvature { dz: &[1.0, 0.0], dl: &[4.0, 1.0], noise: 0.0 }, 4.0);
        quasi_newton.update(Curvature { dz: &[0.0, 1.0], dl: &[1.0, 3.0], noise: 0.0 }, 4.0);
        let Learnt { b, delta, .. } = &quasi_newton.learnt;
        assert!((b[1] - 1.0).abs() < 1e-14 && (b[3] - 3.0).abs() < 1e-14, "{b:?}");
        // The trace of a symmetric matrix is the sum, its determinant the product of both eigenvalues.
        let (half, determinant) = (0.5 * (b[0] + b[3]), b[0] * b[3] - b[1] * b[2]);
        let smallest = half - (half * half - determinant).sqrt();
        assert!(*delta > 0.0 && *delta < smallest, "{delta} is not below {smallest}");
    }

    #[test]
    fn a_short_step_along_the_constraints_makes_the_next_one_as_short() {
        let mut quasi_newton = QuasiNewton::new(2);
        quasi_newton.start(2.0);
        // B = 2 I: with nu = 8 the curvature along any step is 10, and a step five times as short.
        assert!(!quasi_newton.follow(0.2, || (&[0.3, 0.4], 0.6)), "the repair was longer");
        assert!(quasi_newton.follow(0.2, || (&[0.3, 0.4], 0.4)));
        assert_eq!((quasi_newton.square(&[0.0, 2.0]), quasi_newton.smallest()), (40.0, 9.0));
        // At most ten times as short at once, and never more than a thousand times as stiff as what was learnt.
        assert!(quasi_newton.follow(1e-4, || (&[1.0, 0.0], 0.0)));
        assert_eq!(quasi_newton.square(&[1.0, 0.0]), 100.0);
        for _ in 0..5 {
            quasi_newton.follow(1e-4, || (&[1.0, 0.0], 0.0));
        }
        assert_eq!(quasi_newton.square(&[1.0, 0.0]), 2002.0);
        // Full steps let it fall; what was learnt does not know of it.
        assert!(!quasi_newton.follow(1.0, || (&[1.0, 0.0], 0.0)));
        assert_eq!((quasi_newton.learnt.damping, quasi_newton.learnt.b[0]), (200.0, 2.0));
        quasi_newton.release();
        assert_eq!(quasi_newton.square(&[1.0, 0.0]), 2.0);
    }

    #[test]
    fn negative_curvature_is_damped() {
        let mut quasi_newton = QuasiNewton::new(1);
        quasi_newton.update(Curvature { dz: &[1.0], dl: &[-3.0], noise: 0.0 }, 2.0);
        // B = 2, s^T B s = 2: damped to 0.2 * 2.
        assert!((quasi_newton.learnt.b[0] - 0.4).abs() < 1e-15);
    }

    #[test]
    fn what_noise_explains_is_not_learnt() {
        // B = 2 I, s = e1, y = (4, 1): c = 2 and r = (0, 1). All of r is noise: B becomes diag(4, 2).
        let mut quasi_newton = QuasiNewton::new(2);
        quasi_newton.start(2.0);
        quasi_newton.learnt.steps = 1;
        quasi_newton.update(Curvature { dz: &[1.0, 0.0], dl: &[4.0, 1.0], noise: 1.5 }, 2.0);
        assert_eq!(quasi_newton.learnt.b, [4.0, 0.0, 0.0, 2.0]);
        // Half of it is: r becomes (0, 1/2).
        quasi_newton.start(2.0);
        quasi_newton.update(Curvature { dz: &[1.0, 0.0], dl: &[4.0, 1.0], noise: 0.5 }, 2.0);
        assert_eq!(quasi_newton.learnt.b, [4.0, 0.5, 0.5, 2.0 + 0.25 / 4.0]);
    }
}
