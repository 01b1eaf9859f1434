use std::ops::Range;

use crate::Encoding;

/// A matrix of features: a few dense columns, then sparse ones, then a one for the intercept. Kept once, row after row.
///
/// Entries are `f32`, which halves memory and is far finer than what data are measured with; sums are `f64`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Features {
    columns: usize,
    width: usize,
    dense: Vec<f32>,
    /// Where the sparse entries of each row end.
    ends: Vec<usize>,
    sparse: Vec<Entry>,
    /// The row that is the first one here, and the numbers in rows that another process has.
    first: usize,
    elsewhere: usize,
}

/// A sparse entry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Entry {
    pub column: u32,
    pub value: f32,
}

impl Features {
    /// No rows yet; `columns` counts dense and sparse ones, without the intercept.
    pub(crate) fn new(columns: usize, dense: usize) -> Self {
        Features { columns, width: dense, ..Features::default() }
    }

    /// Adds a row: all dense values, and the sparse entries that are not zero.
    pub(crate) fn push(&mut self, dense: &[f32], sparse: impl IntoIterator<Item = Entry>) {
        debug_assert_eq!(dense.len(), self.width);
        self.dense.extend_from_slice(dense);
        self.sparse.extend(sparse);
        self.ends.push(self.sparse.len());
    }

    /// Takes in a row if it is one of those that are kept, which follow each other; of the others only the size.
    pub(crate) fn push_own(&mut self, i: usize, own: &Range<usize>, dense: &[f32], sparse: impl IntoIterator<Item = Entry>) {
        if own.contains(&i) {
            self.first = own.start;
            self.push(dense, sparse);
        } else {
            self.elsewhere += dense.len() + sparse.into_iter().count() + 1;
        }
    }

    /// Forgets all rows and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.dense.clear();
        self.ends.clear();
        self.sparse.clear();
    }

    /// Some of the rows, in this order.
    pub(crate) fn subset(&self, rows: &[usize]) -> Features {
        let mut some = Features::new(self.columns, self.width);
        for &i in rows {
            let (dense, sparse) = self.row(i);
            some.push(dense, sparse.iter().copied());
        }
        some
    }

    /// Numbers that one pass over all rows reads, on all processes together.
    pub fn entries(&self) -> usize {
        self.dense.len() + self.sparse.len() + self.ends.len() + self.elsewhere
    }

    /// Gives memory back that growing took too much of.
    pub(crate) fn shrink(&mut self) {
        self.dense.shrink_to_fit();
        self.ends.shrink_to_fit();
        self.sparse.shrink_to_fit();
    }

    /// Columns that turned out to be needed.
    pub(crate) fn set_columns(&mut self, columns: usize) {
        self.columns = columns;
    }

    /// The number of rows that are here.
    pub fn rows(&self) -> usize {
        self.ends.len()
    }

    /// The number of weights: one per column, and the intercept at the end.
    pub fn weights(&self) -> usize {
        self.columns + 1
    }

    /// The number of dense columns.
    pub fn dense_columns(&self) -> usize {
        self.width
    }

    /// Bytes that so many encoded rows of a table take: a sparse entry for each text.
    pub(crate) fn bytes_of(encoding: &Encoding, rows: usize) -> u128 {
        let (dense, sparse) = (encoding.dense(), encoding.texts());
        rows as u128 * (dense * size_of::<f32>() + sparse * size_of::<Entry>() + size_of::<usize>()) as u128
    }

    /// Bytes that the matrix occupies.
    pub fn bytes(&self) -> usize {
        self.dense.len() * size_of::<f32>() + self.ends.len() * size_of::<usize>() + self.sparse.len() * size_of::<Entry>()
    }

    /// Everything that is in the matrix, as whole numbers.
    pub(crate) fn words(&self) -> impl Iterator<Item = u64> {
        let sizes = [self.columns as u64, self.width as u64];
        let dense = self.dense.iter().map(|value| u64::from(value.to_bits()));
        let sparse = self.sparse.iter().map(|entry| u64::from(entry.column) << 32 | u64::from(entry.value.to_bits()));
        sizes.into_iter().chain(dense).chain(self.ends.iter().map(|end| *end as u64)).chain(sparse)
    }

    /// The dense values of a row.
    pub fn dense_row(&self, i: usize) -> &[f32] {
        self.row(i).0
    }

    fn row(&self, i: usize) -> (&[f32], &[Entry]) {
        let i = i - self.first;
        // Without sparse columns their ends need not be fetched.
        let dense = &self.dense[i * self.width..(i + 1) * self.width];
        if self.sparse.is_empty() {
            return (dense, &[]);
        }
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        (dense, &self.sparse[start..self.ends[i]])
    }

    /// `a_i'x`, the intercept included.
    #[inline]
    pub fn dot(&self, i: usize, x: &[f64]) -> f64 {
        let (dense, sparse) = self.row(i);
        let x_dense = &x[..dense.len()];
        // Four sums at a time, so that the processor need not wait for each addition.
        let mut sums = [0.0; 4];
        let (blocks, rest) = dense.as_chunks::<4>();
        let (x_blocks, x_rest) = x_dense.as_chunks::<4>();
        for (a, x) in blocks.iter().zip(x_blocks) {
            for k in 0..4 {
                sums[k] += f64::from(a[k]) * x[k];
            }
        }
        let mut sum = (sums[0] + sums[1]) + (sums[2] + sums[3]) + x[self.columns];
        sum += rest.iter().zip(x_rest).map(|(a, x)| f64::from(*a) * x).sum::<f64>();
        sum + sparse.iter().map(|entry| f64::from(entry.value) * x[entry.column as usize]).sum::<f64>()
    }

    /// `out += weight a_i`, the intercept included.
    #[inline]
    pub fn add(&self, i: usize, weight: f64, out: &mut [f64]) {
        let (dense, sparse) = self.row(i);
        for (out, a) in out.iter_mut().zip(dense) {
            *out += weight * f64::from(*a);
        }
        for entry in sparse {
            out[entry.column as usize] += weight * f64::from(entry.value);
        }
        out[self.columns] += weight;
    }

    /// [`Features::add`] with two weights to two vectors, reading the row once.
    #[inline]
    pub fn add_both(&self, i: usize, weights: [f64; 2], [first, second]: [&mut [f64]; 2]) {
        let (dense, sparse) = self.row(i);
        for ((first, second), a) in first.iter_mut().zip(second.iter_mut()).zip(dense) {
            let a = f64::from(*a);
            *first += weights[0] * a;
            *second += weights[1] * a;
        }
        for entry in sparse {
            let value = f64::from(entry.value);
            first[entry.column as usize] += weights[0] * value;
            second[entry.column as usize] += weights[1] * value;
        }
        first[self.columns] += weights[0];
        second[self.columns] += weights[1];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dense_sparse_and_intercept_add_up() {
        let mut features = Features::new(8, 6);
        features.push(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [Entry { column: 7, value: 10.0 }]);
        features.push(&[0.0; 6], []);
        let x = [1.0, 1.0, 1.0, 1.0, 1.0, 0.5, 99.0, 2.0, -1.0];
        assert_eq!([features.dot(0, &x), features.dot(1, &x)], [15.0 + 3.0 + 20.0 - 1.0, -1.0]);
        let mut out = [0.0; 9];
        features.add(0, 2.0, &mut out);
        features.add(1, 1.0, &mut out);
        assert_eq!(out, [2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 0.0, 20.0, 3.0]);
        let mut both = [[0.0; 9]; 2];
        let [first, second] = &mut both;
        features.add_both(0, [2.0, -1.0], [first, second]);
        features.add_both(1, [1.0, 0.5], [first, second]);
        assert_eq!(both, [out, [-1.0, -2.0, -3.0, -4.0, -5.0, -6.0, 0.0, -10.0, -0.5]]);
    }
}
