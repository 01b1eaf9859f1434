//! A sparse symmetric matrix with its factorisation: the pattern is analysed once, the values are factorised often.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::ldlt::factor::LdltRegularization;
use faer::linalg::cholesky::llt::factor::LltRegularization;
use faer::sparse::linalg::cholesky::supernodal::SupernodalLdltRef;
use faer::sparse::linalg::cholesky::{
    CholeskySymbolicParams, LdltRef, LltRef, SymbolicCholesky, SymbolicCholeskyRaw, SymmetricOrdering,
    factorize_symbolic_cholesky,
};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMatRef};
use faer::{Conj, MatMut, Par, Side, Spec};
use tangor_problem::{TooLarge, count_of};

use crate::kernel::aside::{Aside, unless_over};
use crate::kernel::gram::Indefinite;
use crate::run::clock::Clock;
use crate::run::memory::{Budget, NUMBER};

/// As many multiplications as the analysis of a pattern takes the time of, for each of its entries.
const OF_AN_ENTRY: f64 = 1e3;

/// Why there is nothing to factorise with.
#[derive(Debug)]
pub enum Unavailable {
    TooLarge(TooLarge),
    /// The run is to end, and nobody waited for the analysis of the pattern.
    Ended,
}

impl From<TooLarge> for Unavailable {
    fn from(error: TooLarge) -> Self {
        Unavailable::TooLarge(error)
    }
}

/// Analyses a pattern of so many entries, with all that this needs. A run that is to end does not wait for it.
pub fn analyse<T: Send + 'static>(
    entries: usize,
    clock: &Clock,
    analysis: impl FnOnce() -> Result<T, TooLarge> + Send + 'static,
) -> Result<T, Unavailable> {
    Ok(unless_over(OF_AN_ENTRY * entries as f64, clock, analysis).ok_or(Unavailable::Ended)??)
}

/// What the factors are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Factors {
    /// `L L^T` of a positive definite matrix.
    Definite,
    /// `L D L^T` with a diagonal `D` of either sign.
    Quasidefinite,
}

/// Where the lower triangle has entries, column after column.
pub struct LowerPattern {
    pub column_start: Vec<usize>,
    pub row: Vec<usize>,
}

impl LowerPattern {
    /// From sorted pairs of column and row.
    pub fn new(size: usize, keys: &[(usize, usize)]) -> Self {
        let mut column_start = vec![0; size + 1];
        keys.iter().for_each(|&(column, _)| column_start[column + 1] += 1);
        (0..size).for_each(|j| column_start[j + 1] += column_start[j]);
        LowerPattern { column_start, row: keys.iter().map(|&(_, row)| row).collect() }
    }

    fn size(&self) -> usize {
        self.column_start.len() - 1
    }

    fn analysed(&self) -> Option<SymbolicCholesky<usize>> {
        let (ordering, params) = (SymmetricOrdering::Amd, CholeskySymbolicParams::default());
        factorize_symbolic_cholesky(self.borrow(), Side::Lower, ordering, params).ok()
    }

    /// The entries of a factor; none when the pattern cannot be analysed.
    pub fn entries_of_factor(&self) -> Option<usize> {
        self.analysed().map(|symbolic| symbolic.len_val())
    }

    fn borrow(&self) -> SymbolicSparseColMatRef<'_, usize> {
        SymbolicSparseColMatRef::new_checked(self.size(), self.size(), &self.column_start, None, &self.row)
    }
}

/// How many indices say where the entries of a factor are.
fn indices(symbolic: &SymbolicCholesky<usize>) -> usize {
    match symbolic.raw() {
        // Those of rows, of columns, and of the tree of columns.
        SymbolicCholeskyRaw::Simplicial(symbolic) => symbolic.row_idx().len() + 2 * symbolic.nrows(),
        // Those of rows, blocks that hold others, and where each of them begins.
        SymbolicCholeskyRaw::Supernodal(symbolic) => 2 * symbolic.row_idx().len() + 5 * symbolic.n_supernodes(),
    }
}

/// The matrix with its factors.
pub struct SparseFactor {
    entries: usize,
    size: usize,
    bytes: u128,
    data: Aside<Data>,
}

/// What a factorisation needs, all its own, so that it can be done aside.
struct Data {
    factors: Factors,
    pattern: LowerPattern,
    values: Vec<f64>,
    symbolic: SymbolicCholesky<usize>,
    factor: Vec<f64>,
    memory: MemBuffer,
}

impl SparseFactor {
    /// Analyses the pattern, and allocates for so many right-hand sides at a time. None: the pattern cannot be analysed.
    pub fn new(pattern: LowerPattern, factors: Factors, sides: usize, budget: Budget) -> Result<Option<Self>, TooLarge> {
        let Some(symbolic) = pattern.analysed() else { return Ok(None) };
        let scratch = match factors {
            Factors::Definite => symbolic.factorize_numeric_llt_scratch::<f64>(Par::Seq, Spec::default()),
            Factors::Quasidefinite => symbolic.factorize_numeric_ldlt_scratch::<f64>(Par::Seq, Spec::default()),
        };
        let scratch = scratch.or(symbolic.solve_in_place_scratch::<f64>(sides, Par::Seq));
        let (size, entries) = (pattern.size(), symbolic.len_val());
        // The factor, the places and values of the matrix, where its columns begin, and the order in which they are eliminated.
        let numbers = entries + indices(&symbolic) + 2 * pattern.row.len() + 3 * size;
        let bytes = NUMBER * numbers as u128 + scratch.size_bytes() as u128;
        budget.check(bytes, || {
            let entries = count_of(entries as u128, "entry");
            format!("the factor of a sparse matrix of {size} rows and columns, which has {entries},")
        })?;
        let data = Data {
            factors,
            values: vec![0.0; pattern.row.len()],
            factor: vec![0.0; entries],
            memory: MemBuffer::new(scratch),
            pattern,
            symbolic,
        };
        Ok(Some(SparseFactor { entries, size, bytes, data: Aside::new(data) }))
    }

    /// The memory that it has.
    pub fn bytes(&self) -> u128 {
        self.bytes
    }

    /// How full the factor is, as a share of the dense one.
    pub fn fill(&self) -> f64 {
        self.entries as f64 / (self.size * (self.size + 1) / 2) as f64
    }

    /// The entries of the lower triangle, in the order of the pattern; none when an end of the run did not wait for the factorisation.
    pub fn values(&mut self) -> Option<&mut [f64]> {
        self.data.get().map(|data| &mut data.values[..])
    }

    /// Factorises. A run that is to end does not wait for it.
    pub fn factorise(&mut self, clock: &Clock) -> Result<(), Indefinite> {
        // A column of length l takes about l^2 of them, and the sum of squares is at least that of equal lengths.
        let multiplications = (self.entries as f64).powi(2) / self.size.max(1) as f64;
        let done = self.data.work(multiplications, clock, Data::factorise);
        if done == Some(true) { Ok(()) } else { Err(Indefinite) }
    }

    /// Solves in place, for one right-hand side or several, which stand one after the other.
    pub fn solve(&mut self, b: &mut [f64]) {
        if let Some(data) = self.data.get() {
            data.solve(b);
        }
    }

    /// The negative pivots; none when one is zero or not finite.
    pub fn count_negative(&mut self) -> Option<usize> {
        self.data.get()?.count_negative()
    }
}

impl Data {
    /// False: the matrix is not what the factors ask for.
    fn factorise(&mut self) -> bool {
        let matrix = SparseColMatRef::new(self.pattern.borrow(), &self.values);
        let (symbolic, factor, stack) = (&self.symbolic, &mut self.factor, MemStack::new(&mut self.memory));
        let (side, par) = (Side::Lower, Par::Seq);
        match self.factors {
            Factors::Definite => {
                let regularisation = LltRegularization::default();
                symbolic.factorize_numeric_llt(factor, matrix, side, regularisation, par, stack, Spec::default()).is_ok()
            }
            Factors::Quasidefinite => {
                let regularisation = LdltRegularization::default();
                symbolic.factorize_numeric_ldlt(factor, matrix, side, regularisation, par, stack, Spec::default()).is_ok()
            }
        }
    }

    fn solve(&mut self, b: &mut [f64]) {
        let size = self.pattern.size();
        let sides = b.len() / size.max(1);
        let b = MatMut::from_column_major_slice_mut(b, size, sides);
        let stack = MemStack::new(&mut self.memory);
        match self.factors {
            Factors::Definite => {
                LltRef::new(&self.symbolic, &self.factor).solve_in_place_with_conj(Conj::No, b, Par::Seq, stack);
            }
            Factors::Quasidefinite => {
                LdltRef::new(&self.symbolic, &self.factor).solve_in_place_with_conj(Conj::No, b, Par::Seq, stack);
            }
        }
    }

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
}

#[cfg(test)]
mod tests {
    use super::*;
    use tangor_problem::MemoryLimit;

    #[test]
    fn a_factor_that_does_not_fit_is_refused() {
        let full = || LowerPattern::new(50, &(0..50).flat_map(|j| (j..50).map(move |i| (j, i))).collect::<Vec<_>>());
        for factors in [Factors::Definite, Factors::Quasidefinite] {
            assert!(
                SparseFactor::new(full(), factors, 1, Budget::new(MemoryLimit(1_000_000))).is_ok_and(|factor| factor.is_some())
            );
            // 50 * 51 / 2 numbers at least.
            let error =
                SparseFactor::new(full(), factors, 1, Budget::new(MemoryLimit(10_000))).err().map(|error| error.to_string());
            let error = error.expect("too large");
            assert!(error.starts_with("the factor of a sparse matrix of 50 rows and columns, which has "), "{error}");
            assert!(error.contains(" entries, would need ") && error.contains("more than the limit of 10.0 kB"), "{error}");
        }
    }
}
