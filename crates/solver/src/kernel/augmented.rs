//! The kernel's system factorised whole, `[H + E, A^T; A, -K] = L D L^T`: for a sparse `H` that is not diagonal, and where a dense column
//! would fill `A H^-1 A^T`.
//!
//! With `K > 0` the system has as many negative pivots as rows exactly when `H + A^T K^-1 A` is positive definite over the free columns:
//! `H` itself may be indefinite across the constraints.

use crate::kernel::gram::Indefinite;
use crate::kernel::matrix::Matrix;
use crate::kernel::sparse_factor::{Factors, LowerPattern, SparseFactor, Unavailable, analyse};
use crate::kernel::symmetric::SparseSymmetric;
use crate::run::clock::Clock;
use crate::run::memory::{Budget, NUMBER};

/// The system with its factorisation. The pattern is analysed once.
pub struct Augmented {
    n: usize,
    m: usize,
    /// Where the entries of `H`, of `A` and of the diagonal stand among the values.
    hessian: Vec<usize>,
    jacobian: Vec<usize>,
    diagonal: Vec<usize>,
    right: Vec<f64>,
    matrix: SparseFactor,
}

/// What `H` is: a diagonal, or a sparse matrix.
#[derive(Clone, Copy)]
pub enum Hessian<'a> {
    Diagonal(&'a [f64]),
    Sparse(&'a SparseSymmetric),
}

impl Augmented {
    /// Analyses the pattern; `None` when it cannot be.
    pub fn new(
        a: &Matrix,
        hessian: Option<&SparseSymmetric>,
        budget: Budget,
        clock: &Clock,
    ) -> Result<Option<Self>, Unavailable> {
        let (n, m) = (a.n, a.m);
        let hessian = hessian.map_or(&[][..], |hessian| &hessian.places);
        let in_jacobian = (0..m).flat_map(|i| (0..a.row_values(i).len()).map(move |k| (a.column(i, k), n + i)));
        let in_hessian = hessian.iter().map(|&(i, j)| (j, i));
        let in_diagonal = (0..n + m).map(|i| (i, i));
        let (of_jacobian, of_hessian) = (in_jacobian.clone().count(), hessian.len());
        let places: Vec<(usize, usize)> = in_jacobian.chain(in_hessian).chain(in_diagonal).collect();
        analyse(places.len(), clock, move || {
            let mut keys = places.clone();
            keys.sort_unstable();
            keys.dedup();
            let positions = places.iter().map(|place| keys.partition_point(|key| key < place));
            let mut positions = positions.collect::<Vec<_>>().into_iter();
            let jacobian = positions.by_ref().take(of_jacobian).collect();
            let hessian = positions.by_ref().take(of_hessian).collect();
            let diagonal = positions.collect();
            let right = vec![0.0; n + m];
            let budget = budget.after(NUMBER * (places.len() + right.len()) as u128);
            let matrix = SparseFactor::new(LowerPattern::new(n + m, &keys), Factors::Quasidefinite, 1, budget)?;
            Ok(matrix.map(|matrix| Augmented { n, m, hessian, jacobian, diagonal, right, matrix }))
        })
    }

    /// The memory that it has.
    pub fn bytes(&self) -> u128 {
        let numbers = self.hessian.len() + self.jacobian.len() + self.diagonal.len() + self.right.len();
        self.matrix.bytes() + NUMBER * numbers as u128
    }

    /// Factorises, with the columns held where `extra` is infinite.
    pub fn factorise(
        &mut self,
        a: &Matrix,
        hessian: Hessian,
        extra: &[f64],
        softness: &[f64],
        clock: &Clock,
    ) -> Result<bool, Indefinite> {
        let values = self.matrix.values().ok_or(Indefinite)?;
        let is_free = |i: usize| extra[i].is_finite();
        values.fill(0.0);
        let mut next = self.jacobian.iter();
        for i in 0..self.m {
            for (k, (value, &place)) in a.row_values(i).iter().zip(next.by_ref()).enumerate() {
                if is_free(a.column(i, k)) {
                    values[place] = *value;
                }
            }
        }
        if let Hessian::Sparse(hessian) = hessian {
            for ((&(i, j), value), &place) in hessian.places.iter().zip(&hessian.values).zip(&self.hessian) {
                if is_free(i) && is_free(j) {
                    values[place] += value;
                }
            }
        }
        for (i, &place) in self.diagonal[..self.n].iter().enumerate() {
            let own = match hessian {
                Hessian::Diagonal(h) => h[i],
                Hessian::Sparse(hessian) => hessian.shift * hessian.weights[i] + hessian.damping,
            };
            values[place] = if is_free(i) { values[place] + own + extra[i] } else { 1.0 };
        }
        for (&place, softness) in self.diagonal[self.n..].iter().zip(softness) {
            values[place] = -softness;
        }
        self.matrix.factorise(clock)?;
        if self.matrix.count_negative() == Some(self.m) { Ok(false) } else { Err(Indefinite) }
    }

    /// Solves in place: `s` holds the upper right-hand side, `y` the lower one.
    pub fn solve(&mut self, s: &mut [f64], y: &mut [f64]) {
        self.right[..self.n].copy_from_slice(s);
        self.right[self.n..].copy_from_slice(y);
        self.matrix.solve(&mut self.right);
        s.copy_from_slice(&self.right[..self.n]);
        y.copy_from_slice(&self.right[self.n..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `H = [1 2; 2 -1]`, `A = (1, -1)`: indefinite, but positive where `A s = 0`: `(1, 1) H (1, 1) = 4`.
    fn saddle() -> (Matrix, SparseSymmetric) {
        let mut a = Matrix::dense(1, 2);
        a.values = vec![1.0, -1.0];
        let mut h = SparseSymmetric::new(2, vec![(0, 0), (1, 0), (1, 1)]);
        h.values = vec![1.0, 2.0, -1.0];
        (a, h)
    }

    fn analysed(a: &Matrix, hessian: Option<&SparseSymmetric>) -> Augmented {
        Augmented::new(a, hessian, Budget::NO_LIMIT, &clock()).expect("it fits").expect("it can be analysed")
    }

    fn clock() -> Clock {
        Clock::new(None, 0.0)
    }

    #[test]
    fn a_hessian_that_is_positive_along_the_constraints_is_enough() {
        let (a, h) = saddle();
        let mut system = analysed(&a, Some(&h));
        assert!(matches!(system.factorise(&a, Hessian::Sparse(&h), &[0.0; 2], &[1e-8], &clock()), Ok(false)));
        // H s + A^T y = (3, 3), A s = 0: s = t (1, 1), 3 t + y = 3 and t - y = 3, so t = 3/2 and y = -3/2.
        let (mut s, mut y) = ([3.0, 3.0], [0.0]);
        system.solve(&mut s, &mut y);
        assert!((s[0] - 1.5).abs() < 1e-6 && (s[1] - 1.5).abs() < 1e-6 && (y[0] + 1.5).abs() < 1e-6, "{s:?} {y:?}");
        // A row that gives way leaves it indefinite; so does a column that is held, where H is negative in the other.
        assert!(system.factorise(&a, Hessian::Sparse(&h), &[0.0; 2], &[1e3], &clock()).is_err());
        assert!(system.factorise(&a, Hessian::Sparse(&h), &[f64::INFINITY, 0.0], &[1e3], &clock()).is_err());
        let shifted = SparseSymmetric { shift: 4.0, ..h };
        assert!(system.factorise(&a, Hessian::Sparse(&shifted), &[0.0; 2], &[1e3], &clock()).is_ok());
    }

    #[test]
    fn held_columns_do_not_move() {
        let (a, h) = saddle();
        let mut system = analysed(&a, Some(&h));
        assert!(system.factorise(&a, Hessian::Sparse(&h), &[0.0, f64::INFINITY], &[1.0], &clock()).is_ok());
        // s0 + y = 2, s0 - y = 0
        let (mut s, mut y) = ([2.0, 0.0], [0.0]);
        system.solve(&mut s, &mut y);
        assert!((s[0] - 1.0).abs() < 1e-14 && s[1] == 0.0 && (y[0] - 1.0).abs() < 1e-14);
        let mut system = analysed(&a, None);
        assert!(system.factorise(&a, Hessian::Diagonal(&[1.0, 1.0]), &[0.0, f64::INFINITY], &[1.0], &clock()).is_ok());
        let (mut s, mut y) = ([2.0, 0.0], [0.0]);
        system.solve(&mut s, &mut y);
        assert!((s[0] - 1.0).abs() < 1e-14 && s[1] == 0.0);
    }
}
