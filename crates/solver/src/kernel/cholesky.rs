//! Dense Cholesky factorisation on slices, with memory that is allocated once.

use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::linalg::cholesky::llt;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::linalg::triangular_solve::{solve_lower_triangular_in_place, solve_upper_triangular_in_place};
use faer::{Accum, MatMut, MatRef, Par, Spec};

/// What a factorisation works in. Nothing in it outlives one: a copy is another one of the same size.
pub struct Memory {
    size: usize,
    buffer: MemBuffer,
}

/// The memory that a factorisation of this size needs.
pub fn memory(size: usize) -> Memory {
    Memory { size, buffer: MemBuffer::new(needed(size)) }
}

/// The same in bytes.
pub fn bytes(size: usize) -> u128 {
    needed(size).size_bytes() as u128
}

fn needed(size: usize) -> StackReq {
    llt::factor::cholesky_in_place_scratch::<f64>(size, Par::Seq, Spec::default())
}

impl Clone for Memory {
    fn clone(&self) -> Self {
        memory(self.size)
    }
}

impl Default for Memory {
    fn default() -> Self {
        memory(0)
    }
}

impl std::fmt::Debug for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "memory for {} rows", self.size)
    }
}

/// Factorises the lower triangle (column after column) in place. False: it is not positive definite.
pub fn factorise(size: usize, matrix: &mut [f64], memory: &mut Memory) -> bool {
    let matrix = MatMut::from_column_major_slice_mut(matrix, size, size);
    let regularization = llt::factor::LltRegularization::default();
    llt::factor::cholesky_in_place(matrix, regularization, Par::Seq, MemStack::new(&mut memory.buffer), Spec::default()).is_ok()
}

/// Solves with the factor, in place, for each column of `b`.
pub fn solve(size: usize, factor: &[f64], b: &mut [f64], memory: &mut Memory) {
    let columns = b.len() / size.max(1);
    let factor = MatRef::from_column_major_slice(factor, size, size);
    let b = MatMut::from_column_major_slice_mut(b, size, columns);
    llt::solve::solve_in_place(factor, b, Par::Seq, MemStack::new(&mut memory.buffer));
}

/// Solves `L x = b` in place, for each column of `b`.
pub fn solve_lower(size: usize, factor: &[f64], b: &mut [f64]) {
    let columns = b.len() / size;
    let factor = MatRef::from_column_major_slice(factor, size, size);
    solve_lower_triangular_in_place(factor, MatMut::from_column_major_slice_mut(b, size, columns), Par::Seq);
}

/// Solves `L^T x = b` in place.
pub fn solve_lower_transposed(size: usize, factor: &[f64], b: &mut [f64]) {
    let factor = MatRef::from_column_major_slice(factor, size, size).transpose();
    solve_upper_triangular_in_place(factor, MatMut::from_column_major_slice_mut(b, size, 1), Par::Seq);
}

/// Adds `B B^T` to a lower triangle; `B` has `size` rows and stands column after column.
pub fn add_outer(size: usize, b: &[f64], out: &mut [f64]) {
    let b = MatRef::from_column_major_slice(b, size, b.len() / size);
    let (lower, full) = (BlockStructure::TriangularLower, BlockStructure::Rectangular);
    let out = MatMut::from_column_major_slice_mut(out, size, size);
    triangular::matmul(out, lower, Accum::Add, b, full, b.transpose(), full, 1.0, Par::Seq);
}

/// The lower triangle of `Z^T Z`; `Z` has `size` rows and stands column after column.
pub fn set_inner(size: usize, z: &[f64], out: &mut [f64]) {
    let columns = z.len() / size.max(1);
    let z = MatRef::from_column_major_slice(z, size, columns);
    let (lower, full) = (BlockStructure::TriangularLower, BlockStructure::Rectangular);
    let out = MatMut::from_column_major_slice_mut(out, columns, columns);
    triangular::matmul(out, lower, Accum::Replace, z.transpose(), full, z, full, 1.0, Par::Seq);
}
