//! The linear algebra of the kernel: factorise `A W A^T + D` with diagonal `W >= 0` and `D > 0`, and solve with it.

use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::{Accum, MatMut, MatRef, Par};
use tangor_problem::TooLarge;

use crate::Factorisation;
use crate::kernel::aside::{Aside, Patience};
use crate::kernel::cholesky;
use crate::kernel::matrix::{Matrix, Structure};
use crate::kernel::sparse_factor::Unavailable;
use crate::kernel::sparse_gram::SparseGram;
use crate::kernel::vector::dot;
use crate::run::clock::Clock;
use crate::run::memory::{Budget, NUMBER};

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
    pub fn new(a: &Matrix, wanted: Factorisation, budget: Budget, clock: &Clock) -> Result<Gram, Unavailable> {
        let dense = || Ok(check_full(budget, a.m, DenseGram::bytes(a)).map(|()| Gram::Dense(DenseGram::new(a)))?);
        let primal = || Ok(check_full(budget, a.n, PrimalGram::bytes(a)).map(|()| Gram::Primal(PrimalGram::new(a)))?);
        let sparse = || match &a.structure {
            Some(structure) => Ok(SparseGram::new(a.m, structure, budget, clock)?.map(Box::new)),
            None => Ok::<_, Unavailable>(None),
        };
        match wanted {
            Factorisation::Dense => dense(),
            Factorisation::Primal => primal(),
            Factorisation::Sparse => sparse()?.map_or_else(dense, |gram| Ok(Gram::Sparse(gram))),
            Factorisation::Automatic if a.m > MANY_ROWS && a.m > ROWS_PER_COLUMN * a.n => primal(),
            Factorisation::Automatic if a.m <= FEW_ROWS => dense(),
            Factorisation::Automatic => match sparse()? {
                Some(gram) if gram.fill() < SPARSE || a.m > TOO_MANY_FOR_DENSE => Ok(Gram::Sparse(gram)),
                _ => dense(),
            },
        }
    }

    /// The memory that it has, made for this matrix.
    pub fn bytes(&self, a: &Matrix) -> u128 {
        match self {
            Gram::Dense(_) => DenseGram::bytes(a),
            Gram::Primal(_) => PrimalGram::bytes(a),
            Gram::Sparse(gram) => gram.bytes(),
        }
    }

    /// Factorises for these weights. True: there are dependent rows. A run that is to end does not wait for it.
    pub fn factorise(&mut self, a: &Matrix, w: &[f64], d: &[f64], clock: &Clock) -> Result<bool, Indefinite> {
        match self {
            Gram::Dense(gram) => gram.factorise(a, w, d, clock),
            Gram::Sparse(gram) => gram.factorise(a, w, d, clock),
            Gram::Primal(gram) => gram.factorise(a, w, d, clock),
        }
    }

    /// Solves in place, for one right-hand side or several, which stand one after the other.
    pub fn solve(&mut self, a: &Matrix, b: &mut [f64]) {
        match self {
            Gram::Dense(gram) => solve(&mut gram.cholesky, b),
            Gram::Sparse(gram) => gram.solve(b),
            Gram::Primal(gram) => b.chunks_exact_mut(a.m.max(1)).for_each(|b| gram.solve(a, b)),
        }
    }
}

/// Refuses a full matrix that does not fit into memory with what belongs to it.
fn check_full(budget: Budget, side: usize, bytes: u128) -> Result<(), TooLarge> {
    budget.check(bytes, || format!("a matrix of {side} rows and columns (kernel.factorisation)"))
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
    /// The memory of one of this size.
    fn bytes(size: usize) -> u128 {
        NUMBER * (size as u128).pow(2) + NUMBER * size as u128 + cholesky::bytes(size)
    }

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

/// Factorises; a run that is to end does not wait for it.
fn factorise(cholesky: &mut Aside<Regularised>, size: usize, clock: &Clock) -> Result<bool, Indefinite> {
    cholesky.work((size as f64).powi(3) / 3.0, clock, Regularised::factorise).unwrap_or(Err(Indefinite))
}

/// Solves, unless a run that is to end did not wait for the factorisation.
fn solve(cholesky: &mut Aside<Regularised>, b: &mut [f64]) {
    if let Some(cholesky) = cholesky.get() {
        cholesky.solve(b);
    }
}

/// Dense `A W A^T + D`.
pub struct DenseGram {
    cholesky: Aside<Regularised>,
    block: Vec<f64>,
    /// The entries of a sparse column: row and value.
    entries: Vec<(usize, f64)>,
}

impl DenseGram {
    /// The memory of one for this matrix: a block of columns, or an entry of each row.
    fn bytes(a: &Matrix) -> u128 {
        let columns = if a.structure.is_none() { BLOCK.min(a.n) } else { 2 };
        Regularised::bytes(a.m) + NUMBER * (a.m * columns) as u128
    }

    fn new(a: &Matrix) -> Self {
        let block = if a.structure.is_none() { vec![0.0; a.m * BLOCK.min(a.n)] } else { Vec::new() };
        let entries = Vec::with_capacity(if a.structure.is_some() { a.m } else { 0 });
        DenseGram { cholesky: Aside::new(Regularised::new(a.m)), block, entries }
    }

    fn factorise(&mut self, a: &Matrix, w: &[f64], d: &[f64], clock: &Clock) -> Result<bool, Indefinite> {
        let m = a.m;
        let gram = &mut self.cholesky.get().ok_or(Indefinite)?.matrix;
        gram.fill(0.0);
        let whole = match &a.structure {
            None => add_blocks(a, w, &mut self.block, gram, clock),
            Some(structure) => add_columns(a, structure, w, &mut self.entries, gram, clock),
        };
        if !whole {
            return Err(Indefinite);
        }
        for (i, d) in d.iter().enumerate() {
            gram[i * m + i] += d;
        }
        factorise(&mut self.cholesky, m, clock)
    }
}

/// Adds `A W A^T` (lower triangle, column-major) for a sparse `A`. False: the run is to end.
fn add_columns(
    a: &Matrix,
    structure: &Structure,
    w: &[f64],
    entries: &mut Vec<(usize, f64)>,
    gram: &mut [f64],
    clock: &Clock,
) -> bool {
    let mut patience = Patience::default();
    for (j, &w) in w.iter().enumerate().filter(|(_, w)| **w != 0.0) {
        let column = structure.column_start[j]..structure.column_start[j + 1];
        // A place in the pattern may well hold a zero, and a column of products is long.
        entries.clear();
        entries.extend(column.map(|k| (structure.row[k], a.values[structure.position[k]])).filter(|(_, value)| *value != 0.0));
        for (first, (row, value)) in entries.iter().enumerate() {
            let (scaled, place) = (w * value, row * a.m);
            for (other, value) in &entries[first..] {
                gram[place + other] += scaled * value;
            }
        }
        if !patience.goes_on(entries.len().pow(2) / 2, clock) {
            return false;
        }
    }
    true
}

/// Adds `A W A^T` (lower triangle, column-major), a block of columns of `A` at a time so that it stays in the cache. False: the
/// run is to end.
fn add_blocks(a: &Matrix, w: &[f64], block: &mut [f64], gram: &mut [f64], clock: &Clock) -> bool {
    let (m, n) = (a.m, a.n);
    let mut patience = Patience::default();
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
        if !patience.goes_on(m * m / 2 * width, clock) {
            return false;
        }
    }
    true
}

/// `(A W A^T + D)^-1 = D^-1 - D^-1 A (W^-1 + A^T D^-1 A)^-1 A^T D^-1`, over the columns with `W > 0`.
pub struct PrimalGram {
    cholesky: Aside<Regularised>,
    inverse: Vec<f64>,
    free: Vec<bool>,
    short: Vec<f64>,
    long: Vec<f64>,
}

impl PrimalGram {
    /// The memory of one for this matrix.
    fn bytes(a: &Matrix) -> u128 {
        Regularised::bytes(a.n) + NUMBER * (2 * a.m + 2 * a.n) as u128
    }

    fn new(a: &Matrix) -> Self {
        PrimalGram {
            cholesky: Aside::new(Regularised::new(a.n)),
            inverse: vec![0.0; a.m],
            free: vec![false; a.n],
            short: vec![0.0; a.n],
            long: vec![0.0; a.m],
        }
    }

    fn factorise(&mut self, a: &Matrix, w: &[f64], d: &[f64], clock: &Clock) -> Result<bool, Indefinite> {
        let n = a.n;
        for (free, w) in self.free.iter_mut().zip(w) {
            *free = *w > 0.0;
        }
        // Equalities have D = 0: the difference in the formula above would cancel. A share of the row's own size is the compromise.
        for i in 0..a.m {
            let own: f64 = a.row_values(i).iter().enumerate().map(|(k, value)| w[a.column(i, k)] * value * value).sum();
            self.inverse[i] = 1.0 / (d[i] + COMPROMISE * own).max(f64::MIN_POSITIVE.sqrt());
        }
        let matrix = &mut self.cholesky.get().ok_or(Indefinite)?.matrix;
        matrix.fill(0.0);
        let mut patience = Patience::default();
        for i in 0..a.m {
            add_row_square(a, i, self.inverse[i], &self.free, matrix);
            if !patience.goes_on(a.row_values(i).len().pow(2) / 2, clock) {
                return Err(Indefinite);
            }
        }
        for (j, w) in w.iter().enumerate() {
            matrix[j * n + j] += if *w > 0.0 { 1.0 / w } else { 1.0 };
        }
        factorise(&mut self.cholesky, n, clock).map(|_| false)
    }

    fn solve(&mut self, a: &Matrix, b: &mut [f64]) {
        for ((long, b), inverse) in self.long.iter_mut().zip(b.iter()).zip(&self.inverse) {
            *long = b * inverse;
        }
        self.short.fill(0.0);
        a.add_transposed(&self.long, &mut self.short);
        self.keep_free();
        solve(&mut self.cholesky, &mut self.short);
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
    use tangor_problem::MemoryLimit;

    /// A = [1 0 2; 1 3 0], where one of the zeros has a place in the pattern.
    fn both() -> [Matrix; 2] {
        let values = vec![1.0, 0.0, 2.0, 1.0, 3.0];
        let (structure, _) = Structure::new(2, 3, &[(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)]);
        let dense = Matrix { values: vec![1.0, 0.0, 2.0, 1.0, 3.0, 0.0], ..Matrix::dense(2, 3) };
        [dense, Matrix { values, ..Matrix::sparse(2, 3, structure.into()) }]
    }

    fn gram(a: &Matrix, wanted: Factorisation) -> Gram {
        Gram::new(a, wanted, Budget::NO_LIMIT, &clock()).expect("it fits")
    }

    fn clock() -> Clock {
        Clock::new(None, 0.0)
    }

    #[test]
    fn every_factorisation_by_hand() {
        // W = (1, 2, 0) and D = (1, 1): A W A^T + D = [2 1; 1 20], which takes (1, 2) to (4, 41).
        for a in both() {
            for wanted in [Factorisation::Dense, Factorisation::Sparse, Factorisation::Primal] {
                let mut gram = gram(&a, wanted);
                assert!(!gram.factorise(&a, &[1.0, 2.0, 0.0], &[1.0, 1.0], &clock()).unwrap());
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
                let mut gram = gram(&a, wanted);
                assert!(!gram.factorise(&a, &[1.0, 2.0, 0.0], &[1.0, 1.0], &clock()).unwrap());
                let mut together: Vec<f64> = (1..=22).map(|k| f64::from(k).sin()).collect();
                let mut alone = together.clone();
                gram.solve(&a, &mut together);
                alone.chunks_exact_mut(2).for_each(|b| gram.solve(&a, b));
                assert!(together.iter().zip(&alone).all(|(a, b)| (a - b).abs() <= 1e-14), "{wanted:?}: {together:?} {alone:?}");
                assert!(alone.iter().any(|b| b.abs() > 0.1));
            }
        }
    }

    /// `I + e e^T` of so many rows that each factorisation takes long.
    #[test]
    fn a_run_that_is_to_end_waits_for_no_long_factorisation() {
        let size = 800;
        let places: Vec<(usize, usize)> = (0..size).flat_map(|i| [(i, 0), (i, i + 1)]).collect();
        let (structure, _) = Structure::new(size, size + 1, &places);
        let a = Matrix { values: vec![1.0; 2 * size], ..Matrix::sparse(size, size + 1, structure.into()) };
        let (w, d, over) = (vec![1.0; size + 1], vec![1.0; size], Clock::new(Some(0.0), 0.0));
        for wanted in [Factorisation::Dense, Factorisation::Sparse, Factorisation::Primal] {
            let mut gram = gram(&a, wanted);
            assert!(gram.factorise(&a, &w, &d, &over).is_err(), "{wanted:?}");
            assert!(gram.factorise(&a, &w, &d, &clock()).is_ok(), "{wanted:?}");
            // With D = I it takes (1, ..., 1) to 802 times that.
            let mut b = vec![802.0; size];
            gram.solve(&a, &mut b);
            assert!(b.iter().all(|b| (b - 1.0).abs() < 1e-6), "{wanted:?}");
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for wanted in [Factorisation::Dense, Factorisation::Sparse, Factorisation::Primal] {
            for a in both() {
                let few = Budget::new(MemoryLimit(10));
                let Some(Unavailable::TooLarge(error)) = Gram::new(&a, wanted, few, &clock()).err() else {
                    panic!("{wanted:?} fits")
                };
                assert!(error.to_string().contains(" rows and columns"), "{wanted:?}");
            }
        }
    }

    #[test]
    fn dependent_rows_are_told() {
        let a = Matrix { values: vec![1.0, 2.0, 2.0, 4.0], ..Matrix::dense(2, 2) };
        let mut gram = gram(&a, Factorisation::Dense);
        assert!(gram.factorise(&a, &[1.0, 1.0], &[1e-13, 1e-13], &clock()).unwrap());
    }

    #[test]
    fn the_way_is_chosen_by_size_and_density() {
        assert!(matches!(gram(&both()[0], Factorisation::Automatic), Gram::Dense(_)));
        let tall = Matrix::dense(200, 3);
        assert!(matches!(gram(&tall, Factorisation::Automatic), Gram::Primal(_)));
        let places: Vec<(usize, usize)> = (0..200).flat_map(|i| [(i, i), (i, i + 1)]).collect();
        let band = Matrix::sparse(200, 201, Structure::new(200, 201, &places).0.into());
        assert!(matches!(gram(&band, Factorisation::Automatic), Gram::Sparse(_)));
    }
}
