//! The one subproblem behind both steps:
//!
//! ```text
//! min  g^T s + 1/2 s^T H s + sum_i (J s - r)_i^2 / (2 kappa_i)     s.t.  lower <= s <= upper,
//! ```
//!
//! with a positive definite `H`; `kappa_i = 0` means `(J s - r)_i = 0`. With multipliers `y` of the rows its conditions are
//! `H s + g + J^T y = mu` and `J s - kappa y = r`, where `mu` is 0 for a column between its bounds, `>= 0` at the lower and `<= 0` at the
//! upper one.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

use crate::kernel::matrix::Jacobian;
use crate::kernel::symmetric::SparseSymmetric;
use crate::kernel::vector::{add, dot};

/// Up to so many variables, plain products of vectors are faster than a matrix product.
const SMALL: usize = 64;

/// The data of one subproblem. Columns are variables and slacks together.
#[derive(Clone, Copy)]
pub struct Subproblem<'a> {
    pub jacobian: &'a Jacobian,
    /// The diagonal of `H`, or of its diagonal part where the rest has low rank.
    pub metric: &'a [f64],
    /// What `H` is besides.
    pub block: Block<'a>,
    /// `g`; none means zero.
    pub gradient: Option<&'a [f64]>,
    /// `r`
    pub target: &'a [f64],
    pub lower: &'a [f64],
    pub upper: &'a [f64],
    /// `kappa` of each row.
    pub softness: &'a [f64],
}

/// The block of `H` that belongs to the variables; that of the slacks is diagonal.
#[derive(Clone, Copy)]
pub enum Block<'a> {
    /// Diagonal as well.
    Diagonal,
    /// The whole symmetric matrix, row after row.
    Dense(&'a [f64]),
    /// The diagonal, and this.
    LowRank(&'a LowRank),
    /// This alone, positive definite along the rows that hold.
    Sparse(&'a SparseSymmetric),
}

/// `sum_k sign_k v_k v_k^T` over the variables.
#[derive(Clone, Debug, Default)]
pub struct LowRank {
    n: usize,
    signs: Vec<f64>,
    vectors: Vec<f64>,
}

impl LowRank {
    /// Nothing, with room for so many vectors.
    pub fn new(n: usize, most: usize) -> Self {
        LowRank { n, signs: Vec::with_capacity(most), vectors: vec![0.0; n * most] }
    }

    pub fn clear(&mut self) {
        self.signs.clear();
    }

    /// Adds `sign v v^T` with a vector that is to be written yet.
    pub fn make_room(&mut self, sign: f64) {
        self.signs.push(sign);
    }

    /// Adds `sign v v^T` with `v = scale` times the vector.
    #[cfg(test)]
    pub fn push(&mut self, sign: f64, scale: f64, vector: &[f64]) {
        self.make_room(sign);
        let (_, out) = self.split(self.signs.len() - 1);
        out.iter_mut().zip(vector).for_each(|(out, value)| *out = scale * value);
    }

    /// The vectors before `k`, one after the other, and `k` itself.
    pub fn split(&mut self, k: usize) -> (&[f64], &mut [f64]) {
        let (before, rest) = self.vectors.split_at_mut(k * self.n);
        (before, &mut rest[..self.n])
    }

    pub fn signs(&self) -> &[f64] {
        &self.signs
    }

    pub fn vector(&self, k: usize) -> &[f64] {
        &self.vectors[k * self.n..(k + 1) * self.n]
    }

    /// The products of all vectors with so many others, column after column; the others stand `stride` apart.
    pub fn find_products(&self, others: &[f64], stride: usize, out: &mut [f64]) {
        let count = self.signs.len();
        if self.n <= SMALL {
            for (other, out) in others.chunks_exact(stride).zip(out.chunks_exact_mut(count)) {
                out.iter_mut().enumerate().for_each(|(k, out)| *out = dot(self.vector(k), &other[..self.n]));
            }
            return;
        }
        let vectors = MatRef::from_column_major_slice(&self.vectors[..count * self.n], self.n, count);
        let others = MatRef::from_column_major_slice_with_stride(others, self.n, others.len() / stride, stride);
        let out = MatMut::from_column_major_slice_mut(out, count, others.ncols());
        matmul(out, Accum::Replace, vectors.transpose(), others, 1.0, Par::Seq);
    }

    /// How many vectors there is room for.
    pub fn most(&self) -> usize {
        self.signs.capacity()
    }

    /// Adds its product with `s` to `out`.
    pub fn add_product(&self, s: &[f64], out: &mut [f64]) {
        for (k, sign) in self.signs.iter().enumerate() {
            let vector = self.vector(k);
            add(sign * dot(vector, &s[..self.n]), vector, &mut out[..self.n]);
        }
    }

    /// `s^T ... s`
    pub fn square(&self, s: &[f64]) -> f64 {
        self.signs.iter().enumerate().map(|(k, sign)| sign * dot(self.vector(k), &s[..self.n]).powi(2)).sum()
    }
}

/// Which bound holds a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoundStatus {
    Free,
    Lower,
    Upper,
}

#[cfg(test)]
impl<'a> Subproblem<'a> {
    /// Bounds alone, for tests: no gradient, no rows, and a diagonal `H`.
    pub fn of_bounds(jacobian: &'a Jacobian, metric: &'a [f64], lower: &'a [f64], upper: &'a [f64]) -> Self {
        let (block, gradient, target, softness) = (Block::Diagonal, None, &[][..], &[][..]);
        Subproblem { jacobian, metric, block, gradient, target, lower, upper, softness }
    }
}

impl Subproblem<'_> {
    /// Whether `H` may be indefinite: by itself, though between the bounds that hold at the solution it need not be so, or by the rounding of
    /// what a part of low rank takes away.
    pub fn may_be_indefinite(&self) -> bool {
        match self.block {
            Block::Sparse(matrix) => !matrix.is_dominant(),
            Block::LowRank(low_rank) => !low_rank.signs().is_empty(),
            Block::Dense(_) | Block::Diagonal => false,
        }
    }

    /// `out = H s`
    pub fn apply_hessian(&self, s: &[f64], out: &mut [f64]) {
        let n = self.jacobian.a.n;
        for ((out, h), s) in out.iter_mut().zip(self.metric).zip(s) {
            *out = h * s;
        }
        match self.block {
            Block::Diagonal => {}
            Block::Dense(matrix) => {
                for (out, row) in out[..n].iter_mut().zip(matrix.chunks_exact(n.max(1))) {
                    *out = dot(row, &s[..n]);
                }
            }
            Block::LowRank(low_rank) => low_rank.add_product(s, out),
            Block::Sparse(matrix) => {
                out[..n].fill(0.0);
                matrix.add_product(s, out);
            }
        }
    }

    /// Adds column `j` of `H` to `out`.
    pub fn add_hessian_column(&self, j: usize, out: &mut [f64]) {
        let n = self.jacobian.a.n;
        match self.block {
            Block::Dense(matrix) if j < n => add(1.0, &matrix[j * n..(j + 1) * n], &mut out[..n]),
            Block::Sparse(matrix) if j < n => matrix.add_column(j, out),
            Block::LowRank(low_rank) if j < n => {
                out[j] += self.metric[j];
                for (k, sign) in low_rank.signs().iter().enumerate() {
                    let vector = low_rank.vector(k);
                    add(sign * vector[j], vector, &mut out[..n]);
                }
            }
            _ => out[j] += self.metric[j],
        }
    }

    /// `out = H s + g + J^T y`: the multipliers of the bounds.
    pub fn find_reduced_gradient(&self, s: &[f64], y: &[f64], out: &mut [f64]) {
        self.apply_hessian(s, out);
        if let Some(g) = self.gradient {
            out.iter_mut().zip(g).for_each(|(out, g)| *out += g);
        }
        self.jacobian.add_transposed(y, out);
    }

    /// `out = r - J s + kappa y`
    pub fn find_residual(&self, s: &[f64], y: &[f64], out: &mut [f64]) {
        self.jacobian.apply(s, out);
        for (i, out) in out.iter_mut().enumerate() {
            *out = self.target[i] - *out + self.softness[i] * y[i];
        }
    }

    /// For each row the size of its part of `J H^-1 J^T`, were `H` its diagonal: between that with all variables free and that with the
    /// stiffest of them alone, since flat ones may be held. A slack counts only where there is nothing else.
    pub fn find_row_sizes(&self, out: &mut [f64]) {
        let n = self.jacobian.a.n;
        for (i, out) in out.iter_mut().enumerate() {
            let a = &self.jacobian.a;
            let values = a.row_values(i);
            let stiffest = (0..values.len()).map(|k| self.metric[a.column(i, k)]).fold(0.0, f64::max);
            let least = dot(values, values) / stiffest.max(f64::MIN_POSITIVE);
            *out = self.softness[i] + (least * a.weighted_square(i, &self.metric[..n])).sqrt();
        }
        for (&row, metric) in self.jacobian.slack_rows.iter().zip(&self.metric[n..]) {
            if out[row] == 0.0 {
                out[row] = 1.0 / metric;
            }
        }
    }

    /// `|kappa y|`
    pub fn softened(&self, y: &[f64]) -> f64 {
        self.softness.iter().zip(y).map(|(kappa, y)| (kappa * y).powi(2)).sum::<f64>().sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::matrix::Matrix;
    use crate::kernel::projection::Projection;
    use crate::kernel::system::Beside;
    use crate::run::clock::Clock;
    use crate::run::memory::Budget;
    use crate::{Event, Kernel, Unusual};

    fn projection(jacobian: &Jacobian, settings: &Kernel, beside: Beside) -> Projection {
        Projection::new(jacobian, settings, beside, Budget::NO_LIMIT, &Clock::new(None, 0.0)).expect("it fits")
    }

    /// `min -10 s0 + s^T H s / 2` with `H = [1 2; 2 1]` and a shift, `|s_i| <= 1`, with one system only. The first guess holds `s0 = 1`, and finds
    /// `s1 = -2`, which is beyond its bound.
    fn after_one_system(shift: f64) -> (bool, Unusual) {
        let jacobian = Jacobian { a: Matrix::dense(1, 2), slack_rows: std::sync::Arc::from([]) };
        let mut h = SparseSymmetric::new(2, vec![(0, 0), (1, 0), (1, 1)]);
        h.values = vec![1.0, 2.0, 1.0];
        h.shift = shift;
        let problem = Subproblem {
            jacobian: &jacobian,
            metric: &[1.0, 1.0],
            block: Block::Sparse(&h),
            gradient: Some(&[-10.0, 0.0]),
            target: &[0.0],
            lower: &[-1.0; 2],
            upper: &[1.0; 2],
            softness: &[1.0],
        };
        let kernel = Kernel { iterations: 1, ..Kernel::default() };
        let mut projection = projection(&jacobian, &kernel, Beside::Sparse(&h));
        let mut unusual = Unusual::default();
        let done = projection.solve_or_hand_over(&problem, &mut [0.0], &mut [0.0; 2], &Clock::new(None, 0.0), &mut unusual);
        (done.unsuited_metric, unusual)
    }

    #[test]
    fn what_may_be_indefinite_is_not_handed_on() {
        let (unsuited, unusual) = after_one_system(0.0);
        assert!(unsuited && unusual.is_empty(), "{unusual}");
        // With 5 on the diagonal it cannot be indefinite; s1 = -2/6 would do, but one system does not tell.
        let (unsuited, unusual) = after_one_system(4.5);
        assert!(!unsuited && !unusual.contains(Event::Inexact), "{unusual}");
    }

    #[test]
    fn multipliers_at_rest_have_no_part_that_rows_make_nothing_of() {
        // Rows (1, 1) and (1, 2), and s1 = 0 is held: in s0 they are the same. g = (1, 0) asks for y0 + y1 = -1. The proximal term is relative to
        // the sizes of the rows, 2 and 5: 2 y0^2 + 5 y1^2 is least at (-5/7, -2/7).
        let jacobian = Jacobian {
            a: Matrix { values: vec![1.0, 1.0, 1.0, 2.0], ..Matrix::dense(2, 2) },
            slack_rows: std::sync::Arc::from([]),
        };
        let problem = Subproblem {
            jacobian: &jacobian,
            metric: &[1.0, 1.0],
            block: Block::Diagonal,
            gradient: Some(&[1.0, 0.0]),
            target: &[0.0; 2],
            lower: &[-1.0, 0.0],
            upper: &[1.0, 0.0],
            softness: &[0.0; 2],
        };
        let mut projection = projection(&jacobian, &Kernel::default(), Beside::Nothing);
        let (mut y, mut s, mut out) = ([0.0; 2], [0.0; 2], [0.0; 2]);
        assert!(projection.solve(&problem, &mut y, &mut s, &Clock::new(None, 0.0)).converged);
        projection.find_multipliers_at_rest(&problem, &[1000.0, -1001.0], &mut out);
        assert!((out[0] + 5.0 / 7.0).abs() < 1e-6 && (out[1] + 2.0 / 7.0).abs() < 1e-6, "{out:?}");
    }

    #[test]
    fn a_row_that_misses_much_of_its_own_terms_does_not_hold() {
        // 1e-10 s0 + s1 = 0: of s = (1e12, 0) the row misses 100, which is nothing beside |J| |s| and all of its terms.
        let jacobian =
            Jacobian { a: Matrix { values: vec![1e-10, 1.0], ..Matrix::dense(1, 2) }, slack_rows: std::sync::Arc::from([]) };
        let (metric, lower, upper) = ([1.0; 2], [-1e15; 2], [1e15; 2]);
        let problem =
            Subproblem { target: &[0.0], softness: &[0.0], ..Subproblem::of_bounds(&jacobian, &metric, &lower, &upper) };
        let mut projection = projection(&jacobian, &Kernel::default(), Beside::Nothing);
        assert!(projection.solve(&problem, &mut [0.0], &mut [0.0; 2], &Clock::new(None, 0.0)).converged);
        let allowed = projection.allowed(&problem, &[0.0], &[1e12, 0.0]);
        assert!((allowed - 0.1).abs() < 1e-12, "{allowed}");
    }
}
