//! A quasi-Newton matrix from the last steps alone: `B = D + sum_k (b_k b_k^T - a_k a_k^T)` over a diagonal `D`, by damped BFGS updates
//! with `b_k = y_k / sqrt(s_k^T y_k)` and `a_k = B_k s_k / sqrt(s_k^T B_k s_k)`.
//!
//! Steps and changes are kept, the vectors are formed anew after each step, since the diagonal changes: `O(p^2 n)` with `p` steps. All products of
//! vectors with steps follow from `S^T D S` and `Y^T S` alone, as in the compact form of Byrd, Nocedal and Schnabel (1994): these are found block by
//! block, and then the vectors, so that both stay in the cache.

use serde::{Deserialize, Serialize};

use crate::kernel::subproblem::LowRank;
use crate::kernel::vector::dot;
use crate::metric::Curvature;
use crate::run::memory::NUMBER;

/// A step of which noise explains more than the rest of this share of what it shows beyond its own curvature is not kept: the diagonal, an
/// average over many steps, knows better.
const CLEAREST: f64 = 0.5;

/// So many variables at a time.
const BLOCK: usize = 256;

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
    products: Products,
    #[serde(skip)]
    bs: Vec<f64>,
    #[serde(skip)]
    y: Vec<f64>,
    /// Below the smallest eigenvalue of `B`.
    #[serde(skip)]
    pub smallest: f64,
}

/// Products with the steps, row after row.
#[derive(Clone, Debug, Default)]
struct Products {
    most: usize,
    /// `S^T B S`, at first with `B = D`.
    sbs: Vec<f64>,
    /// `Y^T S`, and then the products of the vectors `b` and `a` with the steps.
    b: Vec<f64>,
    a: Vec<f64>,
    /// Which pairs have vectors, with what these are scaled by.
    scales: Vec<(usize, f64, f64)>,
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
    /// The memory of one for so many steps: these and changes of gradients with the two vectors of each of them, the products of steps with each other,
    /// and three vectors.
    pub fn bytes(n: usize, most: usize) -> u128 {
        let (n, most) = (n as u128, most as u128);
        NUMBER.saturating_mul((4 * n + 3 * most).saturating_mul(most).saturating_add(3 * n))
    }

    /// `B = I`, and room for so many steps.
    pub fn new(n: usize, most: usize) -> Self {
        let pairs = || Vec::with_capacity(n * most);
        LimitedMemory {
            learnt: Pairs { s: pairs(), y: pairs(), diagonal: vec![1.0; n] },
            n,
            most,
            low_rank: LowRank::new(n, 2 * most),
            products: Products::new(most),
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
        if s.is_empty() {
            return;
        }
        self.products.find(s, y, diagonal, &mut self.bs);
        self.products.follow(s.len() / n);
        for &(k, b, _) in &self.products.scales {
            self.low_rank.make_room(1.0);
            self.low_rank.make_room(-1.0);
            let pair = k * n..(k + 1) * n;
            self.smallest = smallest_after(self.smallest, &s[pair.clone()], &y[pair], 1.0 / (b * b));
        }
        for first in (0..n).step_by(BLOCK) {
            let block = first..(first + BLOCK).min(n);
            for (place, &(k, b, a)) in self.products.scales.iter().enumerate() {
                let pair = k * n + block.start..k * n + block.end;
                let (_, out) = self.low_rank.split(2 * place);
                out[block.clone()].iter_mut().zip(&y[pair.clone()]).for_each(|(out, y)| *out = b * y);
                let (before, out) = self.low_rank.split(2 * place + 1);
                let out = &mut out[block.clone()];
                for ((out, d), s) in out.iter_mut().zip(&diagonal[block.clone()]).zip(&s[pair]) {
                    *out = d * s;
                }
                for (earlier, &(j, ..)) in self.products.scales[..place].iter().enumerate() {
                    let vector = |l: usize| &before[l * n + block.start..l * n + block.end];
                    let (with_b, with_a) = self.products.of(j, k);
                    for ((out, b), a) in out.iter_mut().zip(vector(2 * earlier)).zip(vector(2 * earlier + 1)) {
                        *out += with_b * b - with_a * a;
                    }
                }
                out.iter_mut().for_each(|out| *out *= a);
            }
        }
    }
}

fn is_positive(value: f64) -> bool {
    value > 0.0 && value.is_finite()
}

/// A bound below the smallest eigenvalue after an update: `|B^-1|` grows to at most `(1 + |s| |y| / s^T y)^2 |B^-1| + s^T s / s^T y`.
fn smallest_after(smallest: f64, s: &[f64], y: &[f64], sy: f64) -> f64 {
    let (ss, yy) = (dot(s, s), dot(y, y));
    1.0 / ((1.0 + (ss * yy).sqrt() / sy).powi(2) / smallest + ss / sy)
}

impl Products {
    fn new(most: usize) -> Self {
        let square = || vec![0.0; most * most];
        Products { most, sbs: square(), b: square(), a: square(), scales: Vec::with_capacity(most) }
    }

    /// Products of the vectors of pair `j` with the later step `k`.
    fn of(&self, j: usize, k: usize) -> (f64, f64) {
        (self.b[j * self.most + k], self.a[j * self.most + k])
    }

    /// `S^T D S` and `Y^T S`, each with this and later steps.
    fn find(&mut self, s: &[f64], y: &[f64], diagonal: &[f64], ds: &mut [f64]) {
        let n = diagonal.len();
        self.sbs.fill(0.0);
        self.b.fill(0.0);
        for first in (0..n).step_by(BLOCK) {
            let block = first..(first + BLOCK).min(n);
            let part = |k: usize| k * n + block.start..k * n + block.end;
            let ds = &mut ds[block.clone()];
            for k in 0..s.len() / n {
                let (step, change) = (&s[part(k)], &y[part(k)]);
                for ((ds, d), s) in ds.iter_mut().zip(&diagonal[block.clone()]).zip(step) {
                    *ds = d * s;
                }
                for l in k..s.len() / n {
                    let later = &s[part(l)];
                    self.sbs[k * self.most + l] += dot(ds, later);
                    self.b[k * self.most + l] += dot(change, later);
                }
            }
        }
    }

    /// From these to the products of all vectors, update by update: `S^T B S` becomes `S^T B S + b b^T - a a^T`, with `a` its own row, scaled.
    fn follow(&mut self, count: usize) {
        let most = self.most;
        self.scales.clear();
        for k in 0..count {
            let (sbs, sy) = (self.sbs[k * most + k], self.b[k * most + k]);
            if !(is_positive(sbs) && is_positive(sy)) {
                continue;
            }
            let scales = (1.0 / sy.sqrt(), 1.0 / sbs.sqrt());
            self.scales.push((k, scales.0, scales.1));
            for l in k..count {
                self.b[k * most + l] *= scales.0;
                self.a[k * most + l] = scales.1 * self.sbs[k * most + l];
            }
            for i in k + 1..count {
                for l in i..count {
                    let (b, a) = ((self.b[k * most + i], self.b[k * most + l]), (self.a[k * most + i], self.a[k * most + l]));
                    self.sbs[i * most + l] += b.0 * b.1 - a.0 * a.1;
                }
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
    fn vectors_found_block_by_block_are_those_of_one_update_after_the_other() {
        let n = 2 * BLOCK + 7;
        let diagonal = |i: usize| 1.0 + (i % 5) as f64;
        let entry = |k: usize, i: usize| ((7 * k + 3 * i * i + 5) % 11) as f64 / 5.0 - 1.0;
        let mut metric = LimitedMemory::new(n, 4);
        let mut plain = Vec::<(f64, Vec<f64>)>::new();
        let apply = |plain: &[(f64, Vec<f64>)], s: &[f64]| {
            let mut out: Vec<f64> = s.iter().enumerate().map(|(i, s)| diagonal(i) * s).collect();
            for (sign, vector) in plain {
                let product = sign * dot(vector, s);
                out.iter_mut().zip(vector).for_each(|(out, v)| *out += product * v);
            }
            out
        };
        for k in 0..4 {
            let s: Vec<f64> = (0..n).map(|i| entry(k, i)).collect();
            let y: Vec<f64> = (0..n).map(|i| (2.0 + entry(k + 1, i + 1)) * s[i]).collect();
            metric.update(Curvature { dz: &s, dl: &y, noise: 0.0 }, |d| {
                d.iter_mut().enumerate().for_each(|(i, d)| *d = diagonal(i))
            });
            let bs = apply(&plain, &s);
            let (sbs, sy) = (dot(&s, &bs), dot(&s, &y));
            assert!(sy > 0.2 * sbs, "nothing is damped");
            plain.push((1.0, y.iter().map(|y| y / sy.sqrt()).collect()));
            plain.push((-1.0, bs.iter().map(|bs| bs / sbs.sqrt()).collect()));
        }
        let s: Vec<f64> = (0..n).map(|i| entry(9, i)).collect();
        let (found, wanted) = (product(&mut metric, &s), apply(&plain, &s));
        assert_eq!(metric.low_rank().signs().len(), 8);
        assert!(found.iter().zip(&wanted).all(|(a, b)| (a - b).abs() < 1e-11 * (1.0 + b.abs())));
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
