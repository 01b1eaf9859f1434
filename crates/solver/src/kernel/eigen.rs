//! Eigenvalues and eigenvectors of a symmetric matrix, with memory that is allocated once.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::{ColMut, MatMut, MatRef, Par, Spec};

/// An eigenvalue of `J J^T` below this share of the largest one belongs to a row that depends on others.
const DEPENDENT: f64 = 1e-13;

/// A symmetric matrix with its decomposition.
pub struct Eigen {
    size: usize,
    /// The matrix, column after column.
    pub matrix: Vec<f64>,
    /// Its eigenvalues, rising; NaN where they could not be found.
    pub values: Vec<f64>,
    vectors: Vec<f64>,
    memory: MemBuffer,
}

impl Eigen {
    pub fn new(size: usize) -> Self {
        let scratch = self_adjoint_evd_scratch::<f64>(size, ComputeEigenvectors::Yes, Par::Seq, Spec::default());
        Eigen {
            size,
            matrix: vec![0.0; size * size],
            values: vec![0.0; size],
            vectors: vec![0.0; size * size],
            memory: MemBuffer::new(scratch),
        }
    }

    /// Finds eigenvalues and eigenvectors of the matrix.
    pub fn decompose(&mut self) {
        let size = self.size;
        let matrix = MatRef::from_column_major_slice(&self.matrix, size, size);
        let vectors = MatMut::from_column_major_slice_mut(&mut self.vectors, size, size);
        let values = ColMut::from_slice_mut(&mut self.values);
        let stack = MemStack::new(&mut self.memory);
        if self_adjoint_evd(matrix, values.as_diagonal_mut(), Some(vectors), Par::Seq, stack, Spec::default()).is_err() {
            self.values.fill(f64::NAN);
        }
    }

    /// The eigenvector of value `k`.
    pub fn vector(&self, k: usize) -> &[f64] {
        &self.vectors[k * self.size..(k + 1) * self.size]
    }

    pub fn largest(&self) -> f64 {
        self.values.last().copied().unwrap_or(0.0).max(f64::MIN_POSITIVE)
    }

    /// Whether value `k` of a positive semidefinite matrix differs from zero.
    pub fn is_invertible(&self, k: usize) -> bool {
        self.values[k] > DEPENDENT * self.largest()
    }

    /// A number that counts as nothing beside the largest value.
    pub fn negligible(&self) -> f64 {
        DEPENDENT * self.largest()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_singular_matrix_by_hand() {
        // [1 1; 1 1] has 0 and 2, the latter along (1, 1).
        let mut eigen = Eigen::new(2);
        eigen.matrix.fill(1.0);
        eigen.decompose();
        assert!(eigen.values[0].abs() < 1e-15 && (eigen.values[1] - 2.0).abs() < 1e-15, "{:?}", eigen.values);
        assert!(!eigen.is_invertible(0) && eigen.is_invertible(1));
        let along = eigen.vector(1);
        assert!((along[0] - along[1]).abs() < 1e-15 && (along[0].abs() - 0.5f64.sqrt()).abs() < 1e-15, "{along:?}");
    }
}
