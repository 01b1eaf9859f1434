/// Where a Jacobian has its entries: given once, before the first evaluation.
///
/// [`Problem::jacobian`](crate::Problem::jacobian) then writes the values in the same order.
///
/// ```
/// use tangor_problem::Pattern;
///
/// let corners = Pattern::sparse([(0, 0), (1, 2)]);
/// assert_eq!(corners.len(2, 3), 2);
/// assert_eq!(corners.place(1, 3), (1, 2));
/// assert_eq!(Pattern::Dense.len(2, 3), 6);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Every entry: `m * n` values, row after row.
    Dense,
    /// The entries `(rows[k], columns[k])`, in any order. An entry named twice is the sum of its values.
    Sparse {
        /// The constraint of each entry, counted from 0.
        rows: Vec<usize>,
        /// The variable of each entry, counted from 0.
        columns: Vec<usize>,
    },
}

impl Pattern {
    /// A sparse pattern from pairs (row, column).
    pub fn sparse(entries: impl IntoIterator<Item = (usize, usize)>) -> Self {
        let (rows, columns) = entries.into_iter().unzip();
        Pattern::Sparse { rows, columns }
    }

    /// How many values an evaluation writes, for a matrix of `m` rows and `n` columns.
    pub fn len(&self, m: usize, n: usize) -> usize {
        match self {
            Pattern::Dense => m * n,
            Pattern::Sparse { rows, .. } => rows.len(),
        }
    }

    /// The place of value `k` in a matrix with `n` columns.
    pub fn place(&self, k: usize, n: usize) -> (usize, usize) {
        match self {
            Pattern::Dense => (k / n, k % n),
            Pattern::Sparse { rows, columns } => (rows[k], columns[k]),
        }
    }

    /// Adds `A^T y` for the matrix `A` with these values; `out` has as many entries as it has columns.
    pub fn add_products(&self, values: &[f64], y: &[f64], out: &mut [f64]) {
        for (k, value) in values.iter().enumerate() {
            let (row, column) = self.place(k, out.len());
            out[column] += value * y[row];
        }
    }
}
