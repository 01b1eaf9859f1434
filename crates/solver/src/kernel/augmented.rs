//! The kernel's system factorised whole, `[H + E, A^T; A, -K] = L D L^T`: for a sparse `H` that is not diagonal, and where a dense column
//! would fill `A H^-1 A^T`.
//!
//! With `K > 0` the system has as many negative pivots as rows exactly when `H + A^T K^-1 A` is positive definite over the free columns:
//! `H` itself may be indefinite across the constraints.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::ldlt::factor::LdltRegularization;
use faer::sparse::linalg::cholesky::supernodal::SupernodalLdltRef;
use faer::sparse::linalg::cholesky::{
    CholeskySymbolicParams, LdltRef, SymbolicCholesky, SymbolicCholeskyRaw, SymmetricOrdering, factorize_symbolic_cholesky,
};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMatRef};
use faer::{Conj, MatMut, Par, Side, Spec};

use crate::kernel::gram::Indefinite;
use crate::kernel::matrix::Matrix;
use crate::kernel::symmetric::SparseSymmetric;

/// The system with its factorisation. The pattern is analysed once.
pub struct Augmented {
    n: usize,
    m: usize,
    column_start: Vec<usize>,
    row: Vec<usize>,
    values: Vec<f64>,
    /// Where the entries of `H`, of `A` and of the diagonal stand among the values.
    hessian: Vec<usize>,
    jacobian: Vec<usize>,
    diagonal: Vec<usize>,
    symbolic: SymbolicCholesky<usize>,
    factor: Vec<f64>,
    right: Vec<f64>,
    memory: MemBuffer,
}

/// What `H` is: a diagonal, or a sparse matrix.
#[derive(Clone, Copy)]
pub enum Hessian<'a> {
    Diagonal(&'a [f64]),
    Sparse(&'a SparseSymmetric),
}

impl Augmented {
    /// Analyses the pattern; `None` when there is no memory for it.
    pub fn new(a: &Matrix, hessian: Option<&SparseSymmetric>) -> Option<Self> {
        let (n, m) = (a.n, a.m);
        let hessian = hessian.map_or(&[][..], |hessian| &hessian.places);
        let in_jacobian = (0..m).flat_map(|i| (0..a.row_values(i).len()).map(move |k| (a.column(i, k), n + i)));
        let in_hessian = hessian.iter().map(|&(i, j)| (j, i));
        let in_diagonal = (0..n + m).map(|i| (i, i));
        let places: Vec<(usize, usize)> = in_jacobian.clone().chain(in_hessian.clone()).chain(in_diagonal.clone()).collect();
        let mut keys = places.clone();
        keys.sort_unstable();
        keys.dedup();
        let mut column_start = vec![0; n + m + 1];
        keys.iter().for_each(|&(column, _)| column_start[column + 1] += 1);
        (0..n + m).for_each(|j| column_start[j + 1] += column_start[j]);
        let row: Vec<usize> = keys.iter().map(|&(_, row)| row).collect();
        let positions = places.iter().map(|place| keys.partition_point(|key| key < place));
        let mut positions = positions.collect::<Vec<_>>().into_iter();
        let jacobian: Vec<usize> = positions.by_ref().take(in_jacobian.count()).collect();
        let hessian = positions.by_ref().take(hessian.len()).collect();
        let diagonal = positions.collect();
        let pattern = SymbolicSparseColMatRef::new_checked(n + m, n + m, &column_start, None, &row);
        let params = CholeskySymbolicParams::default();
        let symbolic = factorize_symbolic_cholesky(pattern, Side::Lower, SymmetricOrdering::Amd, params).ok()?;
        let scratch = symbolic
            .factorize_numeric_ldlt_scratch::<f64>(Par::Seq, Spec::default())
            .or(symbolic.solve_in_place_scratch::<f64>(1, Par::Seq));
        Some(Augmented {
            n,
            m,
            values: vec![0.0; row.len()],
            factor: vec![0.0; symbolic.len_val()],
            right: vec![0.0; n + m],
            memory: MemBuffer::new(scratch),
            column_start,
            row,
            hessian,
            jacobian,
            diagonal,
            symbolic,
        })
    }

    /// Factorises, with the columns held where `extra` is infinite.
    pub fn factorise(&mut self, a: &Matrix, hessian: Hessian, extra: &[f64], softness: &[f64]) -> Result<bool, Indefinite> {
        let is_free = |i: usize| extra[i].is_finite();
        self.values.fill(0.0);
        let mut next = self.jacobian.iter();
        for i in 0..self.m {
            for (k, (value, &place)) in a.row_values(i).iter().zip(next.by_ref()).enumerate() {
                if is_free(a.column(i, k)) {
                    self.values[place] = *value;
                }
            }
        }
        if let Hessian::Sparse(hessian) = hessian {
            for ((&(i, j), value), &place) in hessian.places.iter().zip(&hessian.values).zip(&self.hessian) {
                if is_free(i) && is_free(j) {
                    self.values[place] += value;
                }
            }
        }
        for (i, &place) in self.diagonal[..self.n].iter().enumerate() {
            let own = match hessian {
                Hessian::Diagonal(h) => h[i],
                Hessian::Sparse(hessian) => hessian.shift * hessian.weights[i] + hessian.damping,
            };
            self.values[place] = if is_free(i) { self.values[place] + own + extra[i] } else { 1.0 };
        }
        for (&place, softness) in self.diagonal[self.n..].iter().zip(softness) {
            self.values[place] = -softness;
        }
        let size = self.n + self.m;
        let pattern = SymbolicSparseColMatRef::new_checked(size, size, &self.column_start, None, &self.row);
        let matrix = SparseColMatRef::new(pattern, &self.values);
        let (regularisation, stack) = (LdltRegularization::default(), MemStack::new(&mut self.memory));
        self.symbolic
            .factorize_numeric_ldlt(&mut self.factor, matrix, Side::Lower, regularisation, Par::Seq, stack, Spec::default())
            .map_err(|_| Indefinite)?;
        if self.count_negative() == Some(self.m) { Ok(false) } else { Err(Indefinite) }
    }

    /// The negative pivots; none when one is zero or not finite.
    fn count_negative(&self) -> Option<usize> {
        let mut negative = 0;
        let mut see = |pivot: f64| {
            negative += usize::from(pivot < 0.0);
            pivot.is_finite() && pivot != 0.0
        };
        let regular = match self.symbolic.raw() {
            SymbolicCholeskyRaw::Simplicial(symbolic) => {
                let starts = symbolic.col_ptr();
                starts[..starts.len() - 1].iter().all(|&start| see(self.factor[start]))
            }
            SymbolicCholeskyRaw::Supernodal(symbolic) => {
                let factor = SupernodalLdltRef::new(symbolic, &self.factor);
                (0..symbolic.n_supernodes()).all(|k| {
                    let block = factor.supernode(k).val();
                    (0..block.ncols()).all(|i| see(block[(i, i)]))
                })
            }
        };
        regular.then_some(negative)
    }

    /// Solves in place: `s` holds the upper right-hand side, `y` the lower one.
    pub fn solve(&mut self, s: &mut [f64], y: &mut [f64]) {
        self.right[..self.n].copy_from_slice(s);
        self.right[self.n..].copy_from_slice(y);
        let factor = LdltRef::new(&self.symbolic, &self.factor);
        let right = MatMut::from_column_major_slice_mut(&mut self.right, self.n + self.m, 1);
        factor.solve_in_place_with_conj(Conj::No, right, Par::Seq, MemStack::new(&mut self.memory));
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

    #[test]
    fn a_hessian_that_is_positive_along_the_constraints_is_enough() {
        let (a, h) = saddle();
        let mut system = Augmented::new(&a, Some(&h)).expect("small");
        assert!(matches!(system.factorise(&a, Hessian::Sparse(&h), &[0.0; 2], &[1e-8]), Ok(false)));
        // H s + A^T y = (3, 3), A s = 0: s = t (1, 1), 3 t + y = 3 and t - y = 3, so t = 3/2 and y = -3/2.
        let (mut s, mut y) = ([3.0, 3.0], [0.0]);
        system.solve(&mut s, &mut y);
        assert!((s[0] - 1.5).abs() < 1e-6 && (s[1] - 1.5).abs() < 1e-6 && (y[0] + 1.5).abs() < 1e-6, "{s:?} {y:?}");
        // A row that gives way leaves it indefinite; so does a column that is held, where H is negative in the other.
        assert!(system.factorise(&a, Hessian::Sparse(&h), &[0.0; 2], &[1e3]).is_err());
        assert!(system.factorise(&a, Hessian::Sparse(&h), &[f64::INFINITY, 0.0], &[1e3]).is_err());
        let shifted = SparseSymmetric { shift: 4.0, ..h };
        assert!(system.factorise(&a, Hessian::Sparse(&shifted), &[0.0; 2], &[1e3]).is_ok());
    }

    #[test]
    fn held_columns_do_not_move() {
        let (a, h) = saddle();
        let mut system = Augmented::new(&a, Some(&h)).expect("small");
        assert!(system.factorise(&a, Hessian::Sparse(&h), &[0.0, f64::INFINITY], &[1.0]).is_ok());
        // s0 + y = 2, s0 - y = 0
        let (mut s, mut y) = ([2.0, 0.0], [0.0]);
        system.solve(&mut s, &mut y);
        assert!((s[0] - 1.0).abs() < 1e-14 && s[1] == 0.0 && (y[0] - 1.0).abs() < 1e-14);
        let mut system = Augmented::new(&a, None).expect("small");
        assert!(system.factorise(&a, Hessian::Diagonal(&[1.0, 1.0]), &[0.0, f64::INFINITY], &[1.0]).is_ok());
        let (mut s, mut y) = ([2.0, 0.0], [0.0]);
        system.solve(&mut s, &mut y);
        assert!((s[0] - 1.0).abs() < 1e-14 && s[1] == 0.0);
    }
}
