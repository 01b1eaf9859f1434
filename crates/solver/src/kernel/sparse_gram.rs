//! Sparse `A W A^T + D`: the pattern is analysed once, the values are factorised often.

use std::sync::Arc;

use tangor_problem::TooLarge;

use crate::kernel::gram::Indefinite;
use crate::kernel::matrix::{Matrix, Structure};
use crate::kernel::sparse_factor::{Factors, LowerPattern, SparseFactor, Unavailable, analyse};
use crate::run::clock::Clock;
use crate::run::memory::Budget;

/// More pairs than this, and a dense column makes the product useless.
const MOST_PAIRS: usize = 200_000_000;

/// Bytes for each pair: where its product goes.
const OF_A_PAIR: u128 = 4;

/// So many right-hand sides at a time.
const SIDES: usize = 8;

/// Sparse `A W A^T + D` with its factorisation.
pub struct SparseGram {
    m: usize,
    diagonal: Vec<usize>,
    /// Where the product of each pair of entries of a column of `A` goes, column after column.
    pairs: Vec<u32>,
    matrix: SparseFactor,
}

/// The lower triangle of `A A^T + D`: in column `j` all rows, from `j` on, that have an entry in a column of `A` where row `j` has one.
fn pattern_of_products(m: usize, structure: &Structure) -> LowerPattern {
    let (mut column_start, mut row) = (vec![0; m + 1], Vec::new());
    let mut seen = vec![usize::MAX; m];
    for j in 0..m {
        let first = row.len();
        row.push(j);
        seen[j] = j;
        for &k in &structure.column[structure.row_start[j]..structure.row_start[j + 1]] {
            let rows = &structure.row[structure.column_start[k]..structure.column_start[k + 1]];
            for &i in &rows[rows.partition_point(|&i| i < j)..] {
                if seen[i] != j {
                    seen[i] = j;
                    row.push(i);
                }
            }
        }
        row[first..].sort_unstable();
        column_start[j + 1] = row.len();
    }
    row.shrink_to_fit();
    LowerPattern { column_start, row }
}

impl SparseGram {
    /// Analyses the pattern; `None` when a dense column spoils it.
    pub fn new(m: usize, structure: &Arc<Structure>, budget: Budget, clock: &Clock) -> Result<Option<Self>, Unavailable> {
        let lengths = structure.column_start.windows(2).map(|ends| ends[1] - ends[0]);
        let count: usize = lengths.map(|length| length * (length + 1) / 2).sum();
        if count > MOST_PAIRS || budget.check(OF_A_PAIR * count as u128, String::new).is_err() {
            return Ok(None);
        }
        let structure = Arc::clone(structure);
        analyse(m + count, clock, move || SparseGram::analysed(m, &structure, count, budget))
    }

    /// The same with so many pairs.
    fn analysed(m: usize, structure: &Structure, count: usize, budget: Budget) -> Result<Option<Self>, TooLarge> {
        let columns = structure.column_start.windows(2).map(|ends| ends[0]..ends[1]);
        let pattern = pattern_of_products(m, structure);
        let find = |j: usize, i: usize| {
            let range = pattern.column_start[j]..pattern.column_start[j + 1];
            range.start + pattern.row[range].partition_point(|&other| other < i)
        };
        let mut pairs = Vec::with_capacity(count);
        for column in columns {
            for first in column.clone() {
                let places = (first..column.end).map(|second| find(structure.row[first], structure.row[second]) as u32);
                pairs.extend(places);
            }
        }
        let diagonal: Vec<usize> = (0..m).map(|i| find(i, i)).collect();
        let budget = budget.after((size_of_val(&pairs[..]) + size_of_val(&diagonal[..])) as u128);
        let matrix = SparseFactor::new(pattern, Factors::Definite, SIDES, budget)?;
        Ok(matrix.map(|matrix| SparseGram { m, diagonal, pairs, matrix }))
    }

    /// The memory that it has.
    pub fn bytes(&self) -> u128 {
        self.matrix.bytes() + (size_of_val(&self.pairs[..]) + size_of_val(&self.diagonal[..])) as u128
    }

    /// How full the factor is, as a share of the dense one.
    pub fn fill(&self) -> f64 {
        self.matrix.fill()
    }

    /// Factorises for these weights. Dependent rows are not told apart here.
    pub fn factorise(&mut self, a: &Matrix, w: &[f64], d: &[f64], clock: &Clock) -> Result<bool, Indefinite> {
        self.assemble(a, w, d);
        self.matrix.factorise(clock).map(|()| false)
    }

    fn assemble(&mut self, a: &Matrix, w: &[f64], d: &[f64]) {
        let (Some(structure), Some(values)) = (&a.structure, self.matrix.values()) else { return };
        values.fill(0.0);
        let mut next = 0;
        for (ends, &w) in structure.column_start.windows(2).zip(w) {
            let column = ends[0]..ends[1];
            let pairs = column.len() * (column.len() + 1) / 2;
            if w != 0.0 {
                let mut places = self.pairs[next..next + pairs].iter();
                for first in column.clone() {
                    let scaled = w * a.values[structure.position[first]];
                    for (second, &place) in (first..column.end).zip(places.by_ref()) {
                        values[place as usize] += scaled * a.values[structure.position[second]];
                    }
                }
            }
            next += pairs;
        }
        for (&k, d) in self.diagonal.iter().zip(d) {
            values[k] += d;
        }
    }

    /// Solves in place, for one right-hand side or several, which stand one after the other.
    pub fn solve(&mut self, b: &mut [f64]) {
        b.chunks_mut(SIDES * self.m.max(1)).for_each(|b| self.matrix.solve(b));
    }
}
