//! Eigenvalues and eigenvectors of a symmetric matrix, with memory that is allocated once.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::{ColMut, MatMut, MatRef, Par, Spec};

use crate::kernel::aside::Aside;
use crate::run::clock::Clock;

/// An eigenvalue of `J J^T` below this share of the largest one belongs to a row that depends on others.
const DEPENDENT: f64 = 1e-13;

/// About so many multiplications a decomposition takes for each of its entries and rows.
const MULTIPLICATIONS: f64 = 10.0;

/// A symmetric matrix that is decomposed aside, where that takes long.
pub struct Eigen {
    size: usize,
    decomposed: Aside<Decomposed>,
}

/// A symmetric matrix with its decomposition.
pub struct Decomposed {
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
        let decomposed = Decomposed {
            size,
            matrix: vec![0.0; size * size],
            values: vec![0.0; size],
            vectors: vec![0.0; size * size],
            memory: MemBuffer::new(scratch),
        };
        Eigen { size, decomposed: Aside::new(decomposed) }
    }

    /// The matrix, to be written; none once the end of the run did not wait for its decomposition.
    pub fn matrix(&mut self) -> Option<&mut [f64]> {
        self.decomposed.get().map(|decomposed| &mut decomposed.matrix[..])
    }

    /// Finds eigenvalues and eigenvectors of the matrix. None: the run is to end, and does not wait for them.
    pub fn decompose(&mut self, clock: &Clock) -> Option<&Decomposed> {
        self.decomposed.work(MULTIPLICATIONS * (self.size as f64).powi(3), clock, Decomposed::find)?;
        self.decomposed.get().map(|decomposed| &*decomposed)
    }
}

impl Decomposed {
    fn find(&mut self) {
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
        eigen.matrix().unwrap().fill(1.0);
        let eigen = eigen.decompose(&Clock::new(None, 0.0)).unwrap();
        assert!(eigen.values[0].abs() < 1e-15 && (eigen.values[1] - 2.0).abs() < 1e-15, "{:?}", eigen.values);
        assert!(!eigen.is_invertible(0) && eigen.is_invertible(1));
        let along = eigen.vector(1);
        assert!((along[0] - along[1]).abs() < 1e-15 && (along[0].abs() - 0.5f64.sqrt()).abs() < 1e-15, "{along:?}");
    }

    #[test]
    fn a_run_that_is_to_end_waits_for_no_long_decomposition() {
        let size = 250;
        let mut eigen = Eigen::new(size);
        assert!(eigen.decompose(&Clock::new(Some(0.0), 0.0)).is_none());
        eigen.matrix().unwrap().iter_mut().step_by(size + 1).for_each(|diagonal| *diagonal = 3.0);
        let eigen = eigen.decompose(&Clock::new(None, 0.0)).unwrap();
        assert!(eigen.values.iter().all(|value| *value == 3.0), "{:?}", eigen.values);
    }
}
