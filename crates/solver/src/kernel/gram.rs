//! The linear algebra of the kernel: factorise `A W A^T + D` with diagonal `W >= 0` and `D > 0`, and solve with it.

use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::{Accum, MatMut, MatRef, Par};

use crate::Factorisation;
use crate::kernel::cholesky;
use crate::kernel::matrix::Matrix;
use crate::kernel::sparse_gram::SparseGram;
use crate::kernel::vector::dot;

/// Columns that are multiplied together at a time, in the dense case.
const BLOCK: usize = 256;

/// How much of its own size a row that holds gives way by, where many more rows than columns are summed up: less would cancel.
pub(super) const COMPROMISE: f64 = 1e-9;

/// Up to so many rows, plain products are faster than a matrix product.
const SMALL: usize = 16;

/// A dense matrix of the columns is the smaller one with more rows than so many times the columns; up to a hundred rows either is small.
const ROWS_PER_COLUMN: usize = 3;
const MANY_ROWS: usize = 100;

/// Up to so many rows a dense factorisation is faster than a sparse one, however few entries that has.
const FEW_ROWS: usize = 60;

/// Beyond, a sparse one pays where its factor has less than this share of a full one's entries. With more rows than the second number a full
/// factor would cost more memory and time than a sparse one of any fill.
const SPARSE: f64 = 0.3;
const TOO_MANY_FOR_DENSE: usize = 2000;

/// A way to solve `(A W A^T + D) y = b`.
pub enum Gram {
    /// Dense Cholesky in `R^m`.
    Dense(DenseGram),
    /// Sparse Cholesky in `R^m`.
    Sparse(Box<SparseGram>),
    /// Dense Cholesky of `W^-1 + A^T D^-1 A`: for many more rows than columns.
    Primal(PrimalGram),
}

/// The matrix is not positive definite.
#[derive(Debug)]
pub struct Indefinite;

impl Gram {
    /// Chooses a way by size and density, and allocates for it.
    pub fn new(a: &Matrix, wanted: Factorisation) -> Gram {
        let dense = || Gram::Dense(DenseGram::new(a));
        let sparse = || a.structure.as_ref().and_then(|structure| SparseGram::new(a.m, structure).map(Box::new));
        match wanted {
            Factorisation::Dense => dense(),
            Factorisation::Primal => Gram::Primal(PrimalGram::new(a)),
            Factorisation::Sparse => sparse().map_or_else(dense, Gram::Sparse),
            Factorisation::Automatic if a.m > MANY_ROWS && a.m > ROWS_PER_COLUMN * a.n => Gram::Primal(PrimalGram::new(a)),
            Factorisation::Automatic if a.m <= FEW_ROWS => dense(),
            Factorisation::Automatic => match sparse() {
                Some(gram) if gram.fill() < SPARSE || a.m > TOO_MANY_FOR_DENSE => Gram::Sparse(gram),
                _ => dense(),
            },
        }
    }

    /// Factorises for these weights. True: there are dependent rows.
    pub fn factorise(&mut self, a: &Matrix, w: &[f64], d: &[f64]) -> Result<bool, Indefinite> {
        match self {
            Gram::Dense(gram) => gram.factorise(a, w, d),
            Gram::Sparse(gram) => gram.factorise(a, w, d),
            Gram::Primal(gram) => gram.factorise(a, w, d),
        }
    }

    /// Solves in place, for one right-hand side or several, which stand one after the other.
    pub fn solve(&mut self, a: &Matrix, b: &mut [f64]) {
        match self {
            Gram::Dense(gram) => gram.cholesky.solve(b),
            Gram::Sparse(gram) => gram.solve(b),
            Gram::Primal(gram) => b.chunks_exact_mut(a.m.max(1)).for_each(|b| gram.solve(a, b)),
        }
    }
}

/// A pivot this small, relative to its diagonal, means that the row depends on others.
pub const DEPENDENT: f64 = 1e-11;

/// A dense Cholesky factorisation with its memory.
struct Regularised {
    size: usize,
    matrix: Vec<f64>,
    diagonal: Vec<f64>,
    memory: cholesky::Memory,
}

impl Regularised {
    fn new(size: usize) -> Self {
        Regularised { size, matrix: vec![0.0; size * size], diagonal: vec![0.0; size], memory: cholesky::memory(size) }
    }

    /// Factorises the lower triangle (column-major) that stands in `matrix`; true when rows depend on each other.
    fn factorise(&mut self) -> Result<bool, Indefinite> {
        let size = self.size;
        for (i, diagonal) in self.diagonal.iter_mut().enumerate() {
            *diagonal = self.matrix[i * size + i];
        }
        if !cholesky::factorise(size, &mut self.matrix, &mut self.memory) {
            return Err(Indefinite);
        }
        let small = |i: usize| self.matrix[i * size + i].powi(2) < DEPENDENT * self.diagonal[i];
        Ok((0..size).any(small))
    }

    fn solve(&mut self, b: &mut [f64]) {
        cholesky::solve(self.size, &self.matrix, b, &mut self.memory);
    }
}

/// Dense `A W A^T + D`.
pub struct DenseGram {
    cholesky: Regularised,
    block: Vec<f64>,
    /// The entries of a sparse column: row and value.
    entries: Vec<(usize, f64)>,
}

impl DenseGram {
    fn new(a: &Matrix) -> Self {
        let block = if a.structure.is_none() { vec![0.0; a.m * BLOCK.min(a.n)] } else { Vec::new() };
        let entries = Vec::with_capacity(if a.structure.is_some() { a.m } else { 0 });
        DenseGram { cholesky: Regularised::new(a.m), block, entries }
    }

    fn factorise(&mut self, a: &Matrix, w: &[f64], d: &[f64]) -> Result<bool, Indefinite> {
        let m = a.m;
        let gram = &mut self.cholesky.matrix;
        gram.fill(0.0);
        match &a.structure {
            None => add_blocks(a, w, &mut self.block, gram),
            Some(structure) => {
                for (j, &w) in w.iter().enumerate().filter(|(_, w)| **w != 0.0) {
                    let column = structure.column_start[j]..structure.column_start[j + 1];
                    // A place in the pattern may well hold a zero, and a column of products is long.
                    self.entries.clear();
                    let entries = column.map(|k| (structure.row[k], a.values[structure.position[k]]));
                    self.entries.extend(entries.filter(|(_, value)| *value != 0.0));
                    for (first, (row, value)) in self.entries.iter().enumerate() {
                        let (scaled, place) = (w * value, row * m);
                        for (other, value) in &self.entries[first..] {
                            gram[place + other] += scaled * value;
                        }
                    }
                }
            }
        }
        for (i, d) in d.iter().enumerate() {
            gram[i * m + i] += d;
        }
        self.cholesky.factorise()
    }
}

/// Adds `A W A^T` (lower triangle, column-major), a block of columns of `A` at a time so that it stays in the cache.
fn add_blocks(a: &Matrix, w: &[f64], block: &mut [f64], gram: &mut [f64]) {
    let (m, n) = (a.m, a.n);
    for first in (0..n).step_by(BLOCK) {
        let width = BLOCK.min(n - first);
        let scaled = &mut block[..m * width];
        for (i, scaled) in scaled.chunks_exact_mut(width).enumerate() {
            let row = &a.values[i * n + first..i * n + first + width];
            for ((scaled, value), w) in scaled.iter_mut().zip(row).zip(&w[first..first + width]) {
                *scaled = value * w;
            }
        }
        if m <= SMALL {
            for (j, scaled) in scaled.chunks_exact(width).enumerate() {
                for i in j..m {
                    gram[j * m + i] += dot(&a.values[i * n + first..i * n + first + width], scaled);
                }
            }
        } else {
            let rows = MatRef::from_row_major_slice_with_stride(&a.values[first..], m, width, n);
            let scaled = MatRef::from_row_major_slice(scaled, m, width).transpose();
            let gram = MatMut::from_column_major_slice_mut(gram, m, m);
            let (lower, full) = (BlockStructure::TriangularLower, BlockStructure::Rectangular);
            triangular::matmul(gram, lower, Accum::Add, rows, full, scaled, full, 1.0, Par::Seq);
        }
    }
}

/// `(A W A^T + D)^-1 = D^-1 - D^-1 A (W^-1 + A^T D^-1 A)^-1 A^T D^-1`, over the columns with `W > 0`.
pub struct PrimalGram {
    cholesky: Regularised,
    inverse: Vec<f64>,
    free: Vec<bool>,
    short: Vec<f64>,
    long: Vec<f64>,
}

impl PrimalGram {
    fn new(a: &Matrix) -> Self {
        PrimalGram {
            cholesky: Regularised::new(a.n),
            inverse: vec![0.0; a.m],
            free: vec![false; a.n],
            short: vec![0.0; a.n],
            long: vec![0.0; a.m],
        }
    }

    fn factorise(&mut self, a: &Matrix, w: &[f64], d: &[f64]) -> Result<bool, Indefinite> {
        let n = a.n;
        for (free, w) in self.free.iter_mut().zip(w) {
            *free = *w > 0.0;
        }
        // Equalities have D = 0: the difference in the formula above would cancel. A share of the row's own size is the compromise.
        for i in 0..a.m {
            let own: f64 = a.row_values(i).iter().enumerate().map(|(k, value)| w[a.column(i, k)] * value * value).sum();
            self.inverse[i] = 1.0 / (d[i] + COMPROMISE * own).max(f64::MIN_POSITIVE.sqrt());
        }
        let matrix = &mut self.cholesky.matrix;
        matrix.fill(0.0);
        for i in 0..a.m {
            add_row_square(a, i, self.inverse[i], &self.free, matrix);
        }
        for (j, w) in w.iter().enumerate() {
            matrix[j * n + j] += if *w > 0.0 { 1.0 / w } else { 1.0 };
        }
        self.cholesky.factorise().map(|_| false)
    }

    fn solve(&mut self, a: &Matrix, b: &mut [f64]) {
        for ((long, b), inverse) in self.long.iter_mut().zip(b.iter()).zip(&self.inverse) {
            *long = b * inverse;
        }
        self.short.fill(0.0);
        a.add_transposed(&self.long, &mut self.short);
        self.keep_free();
        self.cholesky.solve(&mut self.short);
        self.keep_free();
        a.apply(&self.short, &mut self.long);
        for ((b, long), inverse) in b.iter_mut().zip(&self.long).zip(&self.inverse) {
            *b = inverse * (*b - long);
        }
    }

    fn keep_free(&mut self) {
        for (value, free) in self.short.iter_mut().zip(&self.free) {
            if !free {
                *value = 0.0;
            }
        }
    }
}

/// Adds `scale a_i a_i^T` over the free columns (lower triangle, column-major).
fn add_row_square(a: &Matrix, i: usize, scale: f64, free: &[bool], matrix: &mut [f64]) {
    let n = a.n;
    let values = a.row_values(i);
    let column = |k: usize| a.column(i, k);
    for (k, value) in values.iter().enumerate().filter(|&(k, value)| *value != 0.0 && free[column(k)]) {
        let place = column(k) * n;
        for (l, other) in values.iter().enumerate().skip(k).filter(|&(l, _)| free[column(l)]) {
            matrix[place + column(l)] += scale * value * other;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::matrix::Structure;

    /// A = [1 0 2; 1 3 0], where one of the zeros has a place in the pattern.
    fn both() -> [Matrix; 2] {
        let values = vec![1.0, 0.0, 2.0, 1.0, 3.0];
        let (structure, _) = Structure::new(2, 3, &[(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)]);
        let dense = Matrix { values: vec![1.0, 0.0, 2.0, 1.0, 3.0, 0.0], ..Matrix::dense(2, 3) };
        [dense, Matrix { values, ..Matrix::sparse(2, 3, structure.into()) }]
    }

    #[test]
    fn every_factorisation_by_hand() {
        // W = (1, 2, 0) and D = (1, 1): A W A^T + D = [2 1; 1 20], which takes (1, 2) to (4, 41).
        for a in both() {
            for wanted in [Factorisation::Dense, Factorisation::Sparse, Factorisation::Primal] {
                let mut gram = Gram::new(&a, wanted);
                assert!(!gram.factorise(&a, &[1.0, 2.0, 0.0], &[1.0, 1.0]).unwrap());
                let mut b = [4.0, 41.0];
                gram.solve(&a, &mut b);
                // The factorisation in the columns perturbs by 1e-9.
                assert!((b[0] - 1.0).abs() < 1e-7 && (b[1] - 2.0).abs() < 1e-7, "{wanted:?}: {b:?}");
            }
        }
    }

    #[test]
    fn many_right_hand_sides_are_solved_as_one_by_one() {
        for a in both() {
            for wanted in [Factorisation::Dense, Factorisation::Sparse, Factorisation::Primal] {
                let mut gram = Gram::new(&a, wanted);
                assert!(!gram.factorise(&a, &[1.0, 2.0, 0.0], &[1.0, 1.0]).unwrap());
                let mut together: Vec<f64> = (1..=22).map(|k| f64::from(k).sin()).collect();
                let mut alone = together.clone();
                gram.solve(&a, &mut together);
                alone.chunks_exact_mut(2).for_each(|b| gram.solve(&a, b));
                assert!(together.iter().zip(&alone).all(|(a, b)| (a - b).abs() <= 1e-14), "{wanted:?}: {together:?} {alone:?}");
                assert!(alone.iter().any(|b| b.abs() > 0.1));
            }
        }
    }

    #[test]
    fn dependent_rows_are_told() {
        let a = Matrix { values: vec![1.0, 2.0, 2.0, 4.0], ..Matrix::dense(2, 2) };
        let mut gram = Gram::new(&a, Factorisation::Dense);
        assert!(gram.factorise(&a, &[1.0, 1.0], &[1e-13, 1e-13]).unwrap());
    }

    #[test]
    fn the_way_is_chosen_by_size_and_density() {
        assert!(matches!(Gram::new(&both()[0], Factorisation::Automatic), Gram::Dense(_)));
        let tall = Matrix::dense(200, 3);
        assert!(matches!(Gram::new(&tall, Factorisation::Automatic), Gram::Primal(_)));
        let places: Vec<(usize, usize)> = (0..200).flat_map(|i| [(i, i), (i, i + 1)]).collect();
        let band = Matrix::sparse(200, 201, Structure::new(200, 201, &places).0.into());
        assert!(matches!(Gram::new(&band, Factorisation::Automatic), Gram::Sparse(_)));
    }
}
