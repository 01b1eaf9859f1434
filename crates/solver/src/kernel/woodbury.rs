//! Low rank joins the kernel's system: for `H = D + W C W^T` with `C = diag(+-1)` the solution of the system with `D` alone, `(s, y)`,
//! becomes `(s, y) - (X, Y) G^-1 W^T s`, where `(X, Y)` solves the system with `D` for the columns `(W, 0)` and `G = C + W^T X`.

use crate::kernel::elimination::Elimination;
use crate::kernel::subproblem::LowRank;
use crate::kernel::vector::{add, dot};
use crate::run::memory::NUMBER;

/// The solutions for the columns and the factorised `G`, with their memory.
pub struct Woodbury {
    m: usize,
    columns: usize,
    s: Vec<f64>,
    y: Vec<f64>,
    /// `G` is symmetric, but indefinite and small.
    g: Elimination,
    c: Vec<f64>,
}

impl Woodbury {
    /// The memory of one for so many rows and columns and vectors at most.
    pub fn bytes(m: usize, columns: usize, most: usize) -> u128 {
        NUMBER * most as u128 * (columns + m + most) as u128
    }

    pub fn new(m: usize, columns: usize, most: usize) -> Self {
        Woodbury {
            m,
            columns,
            s: vec![0.0; columns * most],
            y: vec![0.0; m * most],
            g: Elimination::new(most),
            c: vec![0.0; most],
        }
    }

    /// Solves for the columns, all at once, and factorises `G`. False: it is singular.
    pub fn form(&mut self, low_rank: &LowRank, solve: impl FnOnce(&mut [f64], &mut [f64])) -> bool {
        let (count, columns) = (low_rank.signs().len(), self.columns);
        if count == 0 {
            return true;
        }
        let (s, y) = (&mut self.s[..count * columns], &mut self.y[..count * self.m]);
        for (k, s) in s.chunks_exact_mut(columns).enumerate() {
            let vector = low_rank.vector(k);
            s[..vector.len()].copy_from_slice(vector);
            s[vector.len()..].fill(0.0);
        }
        y.fill(0.0);
        solve(s, y);
        let g = self.g.matrix(count);
        low_rank.find_products(s, columns, g);
        for (k, sign) in low_rank.signs().iter().enumerate() {
            g[k * count + k] += sign;
        }
        self.g.factorise(count).is_some()
    }

    /// From the solution with the diagonal to that with low rank.
    pub fn correct(&mut self, low_rank: &LowRank, s: &mut [f64], y: &mut [f64]) {
        let (count, m, columns) = (low_rank.signs().len(), self.m, self.columns);
        for k in 0..count {
            let vector = low_rank.vector(k);
            self.c[k] = dot(vector, &s[..vector.len()]);
        }
        self.g.solve(&mut self.c[..count]);
        for k in 0..count {
            add(-self.c[k], &self.s[k * columns..(k + 1) * columns], s);
            add(-self.c[k], &self.y[k * m..(k + 1) * m], y);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diagonal_and_two_vectors_by_hand() {
        // H = diag(2, 4) + b b^T - a a^T with b = (1, 2) and a = (1, 0): [2 2; 2 8], which takes (3, -1) to (4, -2). No rows.
        let mut low_rank = LowRank::new(2, 2);
        low_rank.push(1.0, 0.5, &[2.0, 4.0]);
        low_rank.push(-1.0, 1.0, &[1.0, 0.0]);
        let solve = |s: &mut [f64], _: &mut [f64]| {
            s[0] /= 2.0;
            s[1] /= 4.0;
        };
        let mut woodbury = Woodbury::new(0, 2, 2);
        assert!(woodbury.form(&low_rank, |s, _| s.chunks_exact_mut(2).for_each(|s| solve(s, &mut []))));
        let mut s = [4.0, -2.0];
        solve(&mut s, &mut []);
        woodbury.correct(&low_rank, &mut s, &mut []);
        assert!((s[0] - 3.0).abs() < 1e-14 && (s[1] + 1.0).abs() < 1e-14, "{s:?}");
    }

    #[test]
    fn many_vectors_with_both_signs() {
        // H = diag(1 .. 8) + sum of +-v v^T: what comes out, multiplied by H, is what went in.
        let entry = |k: usize, i: usize| ((7 * k + 3 * i * i + 5) % 11) as f64 / 5.0 - 1.0;
        let mut low_rank = LowRank::new(8, 6);
        for k in 0..6 {
            let vector: Vec<f64> = (0..8).map(|i| entry(k, i)).collect();
            low_rank.push(if k % 3 == 2 { -1.0 } else { 1.0 }, 1.0, &vector);
        }
        let solve = |s: &mut [f64], _: &mut [f64]| s.iter_mut().enumerate().for_each(|(i, s)| *s /= (i + 1) as f64);
        let mut woodbury = Woodbury::new(0, 8, 6);
        assert!(woodbury.form(&low_rank, |s, _| s.chunks_exact_mut(8).for_each(|s| solve(s, &mut []))));
        let wanted: Vec<f64> = (0..8).map(|i| (i as f64 - 3.0).sin()).collect();
        let mut s = wanted.clone();
        solve(&mut s, &mut []);
        woodbury.correct(&low_rank, &mut s, &mut []);
        let mut product: Vec<f64> = s.iter().enumerate().map(|(i, s)| (i + 1) as f64 * s).collect();
        low_rank.add_product(&s, &mut product);
        assert!(product.iter().zip(&wanted).all(|(a, b)| (a - b).abs() < 1e-11), "{product:?}");
    }
}
