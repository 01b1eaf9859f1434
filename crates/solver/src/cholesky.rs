//! Dense Cholesky factorisation on slices, with memory that is allocated once.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt;
use faer::{MatMut, MatRef, Par, Spec};

/// The memory that a factorisation of this size needs.
pub fn memory(size: usize) -> MemBuffer {
    MemBuffer::new(llt::factor::cholesky_in_place_scratch::<f64>(size, Par::Seq, Spec::default()))
}

/// Factorises the lower triangle (column after column) in place. False: it is not positive definite.
pub fn factorise(size: usize, matrix: &mut [f64], memory: &mut MemBuffer) -> bool {
    let matrix = MatMut::from_column_major_slice_mut(matrix, size, size);
    let regularization = llt::factor::LltRegularization::default();
    llt::factor::cholesky_in_place(matrix, regularization, Par::Seq, MemStack::new(memory), Spec::default()).is_ok()
}

/// Solves with the factor, in place.
pub fn solve(size: usize, factor: &[f64], b: &mut [f64], memory: &mut MemBuffer) {
    let factor = MatRef::from_column_major_slice(factor, size, size);
    let b = MatMut::from_column_major_slice_mut(b, size, 1);
    llt::solve::solve_in_place(factor, b, Par::Seq, MemStack::new(memory));
}
