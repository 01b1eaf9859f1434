//! A quasi-Newton matrix from the last steps alone: `B = D + sum_k (b_k b_k^T - a_k a_k^T)` over a diagonal `D`, by damped BFGS updates
//! with `b_k = y_k / sqrt(s_k^T y_k)` and `a_k = B_k s_k / sqrt(s_k^T B_k s_k)`.
//!
//! Steps and changes are kept, the vectors are formed anew after each step, since the diagonal changes: `O(p^2 n)` with `p` steps.

use serde::{Deserialize, Serialize};

use crate::kernel::subproblem::LowRank;
use crate::kernel::vector::dot;
use crate::metric::Curvature;

/// A step of which noise explains more than the rest of this share of what it shows beyond its own curvature is not kept: the diagonal, an
/// average over many steps, knows better.
const CLEAREST: f64 = 0.5;

/// `B` with the memory of its update. What was learnt is all of it that is serialised.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LimitedMemory {
    pub learnt: Pairs,
    #[serde(skip)]
    n: usize,
    #[serde(skip)]
    most: usize,
    /// `b_1 .. b_p`, then `a_1 .. a_p`.
    #[serde(skip)]
    low_rank: LowRank,
    #[serde(skip)]
    bs: Vec<f64>,
    #[serde(skip)]
    y: Vec<f64>,
    /// Below the smallest eigenvalue of `B`.
    #[serde(skip)]
    pub smallest: f64,
}

/// What was learnt so far.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Pairs {
    /// Steps and changes of the Lagrangian's gradient, the latest last.
    s: Vec<f64>,
    y: Vec<f64>,
    /// `D`
    pub diagonal: Vec<f64>,
}

impl Pairs {
    /// Whether these are steps of `n` variables, and no more than `most`.
    fn is_of_size(&self, n: usize, most: usize) -> bool {
        self.diagonal.len() == n
            && self.s.len() == self.y.len()
            && self.s.len() <= n * most
            && self.s.len().is_multiple_of(n.max(1))
    }
}

impl LimitedMemory {
    /// `B = I`, and room for so many steps.
    pub fn new(n: usize, most: usize) -> Self {
        let pairs = || Vec::with_capacity(n * most);
        LimitedMemory {
            learnt: Pairs { s: pairs(), y: pairs(), diagonal: vec![1.0; n] },
            n,
            most,
            low_rank: LowRank::new(n, 2 * most),
            bs: vec![0.0; n],
            y: vec![0.0; n],
            smallest: 1.0,
        }
    }

    /// `B = sigma I`
    pub fn start(&mut self, sigma: f64) {
        self.learnt.diagonal.fill(sigma);
        self.reset();
    }

    pub fn low_rank(&self) -> &LowRank {
        &self.low_rank
    }

    /// Back to the diagonal. False: it is one.
    pub fn reset(&mut self) -> bool {
        let forgot = !self.learnt.s.is_empty();
        self.learnt.s.clear();
        self.learnt.y.clear();
        self.form();
        forgot
    }

    /// Keeps the later half of the steps, rounded down. False: there were none.
    pub fn forget_half(&mut self) -> bool {
        let steps = self.learnt.s.len() / self.n.max(1);
        let forgotten = self.n * steps.div_ceil(2);
        self.learnt.s.drain(..forgotten);
        self.learnt.y.drain(..forgotten);
        self.form();
        steps > 0
    }

    /// Whether what another one has learnt is of this size.
    pub fn fits(&self, saved: &LimitedMemory) -> bool {
        saved.learnt.is_of_size(self.n, self.most)
    }

    /// Goes on from what another one has learnt, in its own memory.
    pub fn take_up(&mut self, saved: LimitedMemory) {
        self.reset();
        self.learnt.s.extend_from_slice(&saved.learnt.s);
        self.learnt.y.extend_from_slice(&saved.learnt.y);
        self.learnt.diagonal.copy_from_slice(&saved.learnt.diagonal);
        self.form();
    }

    /// Learns from a step, over a new diagonal. What noise explains is not learnt, and negative curvature is damped, as in the dense
    /// matrix.
    pub fn update(&mut self, curvature: Curvature, diagonal: impl Fn(&mut [f64])) {
        let s = curvature.dz;
        diagonal(&mut self.learnt.diagonal);
        self.form();
        self.find_product(s);
        match curvature.lesson(&self.bs, &mut self.y) {
            Some(lesson) if lesson.clear >= CLEAREST => {}
            _ => return,
        }
        if self.learnt.s.len() == self.n * self.most {
            self.learnt.s.drain(..self.n);
            self.learnt.y.drain(..self.n);
        }
        self.learnt.s.extend_from_slice(s);
        self.learnt.y.extend_from_slice(&self.y);
        self.form();
    }

    /// `B s`, in `bs`.
    fn find_product(&mut self, s: &[f64]) {
        for ((bs, d), s) in self.bs.iter_mut().zip(&self.learnt.diagonal).zip(s) {
            *bs = d * s;
        }
        self.low_rank.add_product(s, &mut self.bs);
    }

    /// Forms the vectors, oldest step first.
    fn form(&mut self) {
        let n = self.n;
        let Pairs { s, y, diagonal } = &self.learnt;
        self.low_rank.clear();
        self.smallest = diagonal.iter().copied().fold(f64::INFINITY, f64::min);
        for (s, y) in s.chunks_exact(n.max(1)).zip(y.chunks_exact(n.max(1))) {
            for ((bs, d), s) in self.bs.iter_mut().zip(diagonal).zip(s) {
                *bs = d * s;
            }
            self.low_rank.add_product(s, &mut self.bs);
            let (sbs, sy) = (dot(s, &self.bs), dot(s, y));
            if sbs > 0.0 && sy > 0.0 && sbs.is_finite() && sy.is_finite() {
                self.low_rank.push(1.0, 1.0 / sy.sqrt(), y);
                self.low_rank.push(-1.0, 1.0 / sbs.sqrt(), &self.bs);
                // |B^-1| grows to at most (1 + |s| |y| / s^T y)^2 |B^-1| + s^T s / s^T y.
                let (ss, yy) = (dot(s, s), dot(y, y));
                let inverse = (1.0 + (ss * yy).sqrt() / sy).powi(2) / self.smallest + ss / sy;
                self.smallest = 1.0 / inverse;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn product(metric: &mut LimitedMemory, s: &[f64]) -> Vec<f64> {
        metric.find_product(s);
        metric.bs.clone()
    }

    #[test]
    fn the_secant_equation_holds_and_the_oldest_step_is_forgotten() {
        let mut metric = LimitedMemory::new(2, 1);
        let fill = |d: &mut [f64]| d.fill(2.0);
        metric.update(Curvature { dz: &[1.0, 0.0], dl: &[4.0, 1.0], noise: 0.0 }, fill);
        assert_eq!(product(&mut metric, &[1.0, 0.0]), [4.0, 1.0]);
        metric.update(Curvature { dz: &[0.0, 1.0], dl: &[1.0, 3.0], noise: 0.0 }, fill);
        // D = 2 I with s = e2 alone: B = diag(2, 0) + y y^T / 3.
        let b = product(&mut metric, &[1.0, 0.0]);
        assert!((b[0] - (2.0 + 1.0 / 3.0)).abs() < 1e-15 && (b[1] - 1.0).abs() < 1e-15, "{b:?}");
        assert!(metric.smallest > 0.0 && metric.smallest <= 2.0);
    }

    #[test]
    fn the_later_half_of_the_steps_is_kept() {
        let mut metric = LimitedMemory::new(3, 5);
        for i in 0..3 {
            let unit = std::array::from_fn::<f64, 3, _>(|k| f64::from(u8::from(k == i)));
            let change = unit.map(|value| 4.0 * value);
            metric.update(Curvature { dz: &unit, dl: &change, noise: 0.0 }, |d| d.fill(1.0));
        }
        // Of the steps e1, e2, e3 the last remains, with its curvature of 4.
        assert!(metric.forget_half());
        assert_eq!(product(&mut metric, &[1.0; 3]), [1.0, 1.0, 4.0]);
        assert!(metric.forget_half());
        assert_eq!(product(&mut metric, &[1.0; 3]), [1.0; 3]);
        assert!(!metric.forget_half());
    }

    #[test]
    fn steps_that_noise_explains_are_not_kept() {
        // B = 2 I, s = e1, y = (4, 1): beyond c B s = (4, 0) there is (0, 1), of whose square noise explains 0.6 or 0.2.
        let mut metric = LimitedMemory::new(2, 3);
        metric.update(Curvature { dz: &[1.0, 0.0], dl: &[4.0, 1.0], noise: 0.6 }, |d| d.fill(2.0));
        assert_eq!(product(&mut metric, &[1.0, 0.0]), [2.0, 0.0]);
        metric.update(Curvature { dz: &[1.0, 0.0], dl: &[4.0, 1.0], noise: 0.2 }, |d| d.fill(2.0));
        let b = product(&mut metric, &[1.0, 0.0]);
        assert!((b[0] - 4.0).abs() < 1e-15 && (b[1] - 0.8).abs() < 1e-15, "{b:?}");
    }

    #[test]
    fn negative_curvature_is_damped() {
        let mut metric = LimitedMemory::new(1, 2);
        metric.update(Curvature { dz: &[1.0], dl: &[-3.0], noise: 0.0 }, |d| d.fill(2.0));
        // B = 2, s^T B s = 2: damped to 0.2 * 2.
        assert!((product(&mut metric, &[1.0])[0] - 0.4).abs() < 1e-15);
        assert!(metric.reset() && !metric.reset());
        assert_eq!(product(&mut metric, &[1.0]), [2.0]);
    }
}
