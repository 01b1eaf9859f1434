//! Sparse `A W A^T + D`: the pattern is analysed once, the values are factorised often.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::LltRegularization;
use faer::sparse::linalg::SymbolicSupernodalParams;
use faer::sparse::linalg::cholesky::{
    CholeskySymbolicParams, LltRef, SymbolicCholesky, SymmetricOrdering, factorize_symbolic_cholesky,
};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMatRef};
use faer::{Conj, MatMut, Par, Side, Spec};

use crate::kernel::gram::Indefinite;
use crate::kernel::matrix::{Matrix, Structure};

/// More pairs than this, and a dense column makes the product useless.
const MOST_PAIRS: usize = 200_000_000;

/// So many right-hand sides at a time.
const SIDES: usize = 8;

/// Sparse `A W A^T + D` with its factorisation.
pub struct SparseGram {
    m: usize,
    column_start: Vec<usize>,
    row: Vec<usize>,
    values: Vec<f64>,
    diagonal: Vec<usize>,
    /// Where the product of each pair of entries of a column of `A` goes, column after column.
    pairs: Vec<u32>,
    symbolic: SymbolicCholesky<usize>,
    factor: Vec<f64>,
    memory: MemBuffer,
}

impl SparseGram {
    /// Analyses the pattern; `None` when a dense column spoils it.
    pub fn new(m: usize, structure: &Structure) -> Option<Self> {
        let columns = structure.column_start.windows(2).map(|ends| ends[0]..ends[1]);
        let count: usize = columns.clone().map(|column| column.len() * (column.len() + 1) / 2).sum();
        if count > MOST_PAIRS {
            return None;
        }
        let mut keys: Vec<(usize, usize)> = (0..m).map(|i| (i, i)).collect();
        for column in columns.clone() {
            for first in column.clone() {
                keys.extend((first..column.end).map(|second| (structure.row[first], structure.row[second])));
            }
        }
        keys.sort_unstable();
        keys.dedup();
        let mut column_start = vec![0; m + 1];
        for &(j, _) in &keys {
            column_start[j + 1] += 1;
        }
        for j in 0..m {
            column_start[j + 1] += column_start[j];
        }
        let row: Vec<usize> = keys.iter().map(|&(_, i)| i).collect();
        let find = |j: usize, i: usize| {
            let range = column_start[j]..column_start[j + 1];
            range.start + row[range].partition_point(|&other| other < i)
        };
        let mut pairs = Vec::with_capacity(count);
        for column in columns {
            for first in column.clone() {
                let places = (first..column.end).map(|second| find(structure.row[first], structure.row[second]) as u32);
                pairs.extend(places);
            }
        }
        let diagonal = (0..m).map(|i| find(i, i)).collect();
        let pattern = SymbolicSparseColMatRef::new_checked(m, m, &column_start, None, &row);
        let params = CholeskySymbolicParams {
            supernodal_params: SymbolicSupernodalParams::default(),
            ..CholeskySymbolicParams::default()
        };
        let symbolic = factorize_symbolic_cholesky(pattern, Side::Lower, SymmetricOrdering::Amd, params).ok()?;
        let scratch = symbolic
            .factorize_numeric_llt_scratch::<f64>(Par::Seq, Spec::default())
            .or(symbolic.solve_in_place_scratch::<f64>(SIDES, Par::Seq));
        Some(SparseGram {
            m,
            values: vec![0.0; row.len()],
            factor: vec![0.0; symbolic.len_val()],
            memory: MemBuffer::new(scratch),
            column_start,
            row,
            diagonal,
            pairs,
            symbolic,
        })
    }

    /// How full the factor is, as a share of the dense one.
    pub fn fill(&self) -> f64 {
        self.symbolic.len_val() as f64 / (self.m * (self.m + 1) / 2) as f64
    }

    /// Factorises for these weights. Dependent rows are not told apart here.
    pub fn factorise(&mut self, a: &Matrix, w: &[f64], d: &[f64]) -> Result<bool, Indefinite> {
        self.assemble(a, w, d);
        let regularization = LltRegularization::default();
        let pattern = SymbolicSparseColMatRef::new_checked(self.m, self.m, &self.column_start, None, &self.row);
        let matrix = SparseColMatRef::new(pattern, &self.values);
        let stack = MemStack::new(&mut self.memory);
        let (symbolic, par) = (&self.symbolic, Par::Seq);
        symbolic
            .factorize_numeric_llt(&mut self.factor, matrix, Side::Lower, regularization, par, stack, Spec::default())
            .map_err(|_| Indefinite)?;
        Ok(false)
    }

    fn assemble(&mut self, a: &Matrix, w: &[f64], d: &[f64]) {
        let Some(structure) = &a.structure else { return };
        self.values.fill(0.0);
        let mut next = 0;
        for (ends, &w) in structure.column_start.windows(2).zip(w) {
            let column = ends[0]..ends[1];
            let pairs = column.len() * (column.len() + 1) / 2;
            if w != 0.0 {
                let mut places = self.pairs[next..next + pairs].iter();
                for first in column.clone() {
                    let scaled = w * a.values[structure.position[first]];
                    for (second, &place) in (first..column.end).zip(places.by_ref()) {
                        self.values[place as usize] += scaled * a.values[structure.position[second]];
                    }
                }
            }
            next += pairs;
        }
        for (&k, d) in self.diagonal.iter().zip(d) {
            self.values[k] += d;
        }
    }

    /// Solves in place, for one right-hand side or several, which stand one after the other.
    pub fn solve(&mut self, b: &mut [f64]) {
        let factor = LltRef::new(&self.symbolic, &self.factor);
        for b in b.chunks_mut(SIDES * self.m.max(1)) {
            let sides = b.len() / self.m;
            let b = MatMut::from_column_major_slice_mut(b, self.m, sides);
            factor.solve_in_place_with_conj(Conj::No, b, Par::Seq, MemStack::new(&mut self.memory));
        }
    }
}
