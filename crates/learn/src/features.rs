use std::borrow::Cow;
use std::sync::Arc;

use crate::Error;
use crate::cache::{Cache, Room, Writer};
pub(crate) use crate::matrix::Entry;
use crate::matrix::Matrix;
use crate::store::Store;

/// A matrix of features: a few dense columns, then sparse ones, then a one for the intercept. Kept once, row after row, in memory or, where they do not
/// fit, in a file.
///
/// Entries are `f32`, which halves memory and is far finer than what data are measured with; sums are `f64`.
#[derive(Clone, Debug)]
pub struct Features {
    columns: usize,
    store: Store,
}

/// Features that are still being read. Rows that do not fit into memory go to a file from there on.
pub(crate) struct Collector {
    rows: Matrix,
    writer: Option<Writer>,
    room: Option<Room>,
}

impl Collector {
    /// No rows yet; all of them stay in memory if no room is given.
    pub fn new(dense: usize, room: Option<Room>) -> Self {
        Collector { rows: Matrix::new(dense), writer: None, room }
    }

    /// Takes in the next row.
    pub fn push(&mut self, dense: &[f32], sparse: impl IntoIterator<Item = Entry>) -> Result<(), Error> {
        if let Some(writer) = &mut self.writer {
            return writer.push(dense, sparse);
        }
        self.rows.push(dense, sparse);
        if let Some(room) = self.room.as_ref().filter(|room| room.is_full(&self.rows)) {
            self.writer = Some(Writer::new(room.clone(), &self.rows)?);
            self.rows = Matrix::new(self.rows.width);
        }
        Ok(())
    }

    /// All rows, and what somebody should know of where they are; `columns` counts dense and sparse ones, without the intercept.
    pub fn finish(mut self, columns: usize) -> Result<(Features, Option<String>), Error> {
        let (store, remark) = match self.writer {
            None => {
                self.rows.shrink();
                (Store::Memory(self.rows), None)
            }
            Some(writer) => (Store::File(Arc::new(writer.finish()?), None), self.room.map(|room| room.remark())),
        };
        Ok((Features { columns, store }, remark))
    }
}

impl Features {
    /// No rows yet; `columns` counts dense and sparse ones, without the intercept.
    pub(crate) fn new(columns: usize, dense: usize) -> Self {
        Features { columns, store: Store::Memory(Matrix::new(dense)) }
    }

    /// One row alone: all dense values, and the sparse entries that are not zero.
    pub(crate) fn set(&mut self, dense: &[f32], sparse: impl IntoIterator<Item = Entry>) {
        if let Store::Memory(rows) = &mut self.store {
            rows.clear();
            rows.push(dense, sparse);
        }
    }

    /// Some of the rows, in this order.
    pub(crate) fn subset(&self, rows: &[usize]) -> Features {
        Features { columns: self.columns, store: self.store.subset(rows.iter().copied()) }
    }

    /// Numbers that one pass over all rows reads; of some rows of a file, as many as if all were alike.
    pub fn entries(&self) -> usize {
        self.store.numbers()
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.store.rows()
    }

    /// The number of weights: one per column, and the intercept at the end.
    pub fn weights(&self) -> usize {
        self.columns + 1
    }

    /// The number of dense columns.
    pub fn dense_columns(&self) -> usize {
        self.store.width()
    }

    /// Bytes of memory that the rows occupy.
    pub fn bytes(&self) -> usize {
        self.store.bytes()
    }

    /// Bytes of the file that the rows are in; none: they are in memory.
    pub fn file_bytes(&self) -> Option<u64> {
        self.store.file().map(Cache::bytes)
    }

    /// Why rows could not be read: their products are NaN then.
    pub fn trouble(&self) -> Option<&str> {
        self.store.file().and_then(Cache::trouble)
    }

    /// Everything that is in the matrix, as whole numbers: the same in memory and in a file.
    pub(crate) fn words(&self) -> impl Iterator<Item = u64> {
        let rows = 0..self.rows();
        let dense = rows.clone().flat_map(|i| self.dense_row(i).into_owned()).map(|value| u64::from(value.to_bits()));
        let sparse = rows.flat_map(|i| self.with_row(i, |_, sparse| sparse.to_vec()).unwrap_or_default());
        let sparse = sparse.map(|entry| u64::from(entry.column) << 32 | u64::from(entry.value.to_bits()));
        [self.columns as u64, self.dense_columns() as u64].into_iter().chain(dense).chain(self.ends()).chain(sparse)
    }

    /// Where the sparse entries of each row end.
    fn ends(&self) -> impl Iterator<Item = u64> {
        let counts = (0..self.rows()).map(|i| self.with_row(i, |_, sparse| sparse.len() as u64).unwrap_or(0));
        counts.scan(0, |end, count| {
            *end += count;
            Some(*end)
        })
    }

    /// The dense values of a row.
    pub fn dense_row(&self, i: usize) -> Cow<'_, [f32]> {
        self.store.dense_row(i)
    }

    #[inline]
    fn with_row<T>(&self, i: usize, use_row: impl FnOnce(&[f32], &[Entry]) -> T) -> Option<T> {
        self.store.with_row(i, use_row)
    }

    /// `a_i'x`, the intercept included.
    #[inline]
    pub fn dot(&self, i: usize, x: &[f64]) -> f64 {
        self.with_row(i, |dense, sparse| self.dot_of(dense, sparse, x)).unwrap_or(f64::NAN)
    }

    #[inline]
    fn dot_of(&self, dense: &[f32], sparse: &[Entry], x: &[f64]) -> f64 {
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
        let done = self.with_row(i, |dense, sparse| {
            for (out, a) in out.iter_mut().zip(dense) {
                *out += weight * f64::from(*a);
            }
            for entry in sparse {
                out[entry.column as usize] += weight * f64::from(entry.value);
            }
        });
        out[self.columns] += if done.is_some() { weight } else { f64::NAN };
    }

    /// [`Features::add`] with two weights to two vectors, reading the row once.
    #[inline]
    pub fn add_both(&self, i: usize, weights: [f64; 2], [first, second]: [&mut [f64]; 2]) {
        let done = self.with_row(i, |dense, sparse| {
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
        });
        first[self.columns] += if done.is_some() { weights[0] } else { f64::NAN };
        second[self.columns] += if done.is_some() { weights[1] } else { f64::NAN };
    }
}

#[cfg(test)]
mod tests {
    use tangor_problem::MemoryLimit;

    use super::*;

    /// A few rows, in memory and in a file.
    fn both(rows: &[(Vec<f32>, Vec<Entry>)], columns: usize) -> [Features; 2] {
        let folder = tempfile::tempdir().unwrap();
        let room = Room::new(MemoryLimit(0), Some(folder.path()));
        [None, Some(room)].map(|room| {
            let mut collector = Collector::new(rows[0].0.len(), room);
            for (dense, sparse) in rows {
                collector.push(dense, sparse.iter().copied()).unwrap();
            }
            collector.finish(columns).unwrap().0
        })
    }

    #[test]
    fn dense_sparse_and_intercept_add_up() {
        let entry = Entry { column: 7, value: 10.0 };
        for features in both(&[(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], vec![entry]), (vec![0.0; 6], vec![])], 8) {
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

    #[test]
    fn rows_of_a_file_are_those_of_memory() {
        let entries = |i: u32| (0..i % 4).map(|k| Entry { column: 3 + 2 * k, value: (i + k) as f32 }).collect();
        let rows: Vec<_> = (0..20_000).map(|i| (vec![i as f32, -0.5, 1.0 / (1 + i) as f32], entries(i))).collect();
        let [memory, file] = both(&rows, 12);
        assert!(memory.file_bytes().is_none() && file.bytes() == 0 && file.file_bytes() > Some(8 << 16), "several blocks");
        assert!(memory.words().eq(file.words()));
        assert_eq!((memory.rows(), memory.entries(), memory.weights()), (file.rows(), file.entries(), file.weights()));
        let chosen = [19_999, 0, 7, 7, 12_345, 3];
        let (few, same) = (memory.subset(&chosen), file.subset(&chosen));
        assert!(few.words().eq(same.words()) && few.subset(&[4, 1]).words().eq(same.subset(&[4, 1]).words()));
        // From several threads, each in its own order.
        std::thread::scope(|scope| {
            for step in [1, 7, 9_999] {
                let (memory, file) = (&memory, &file);
                scope.spawn(move || {
                    let x: Vec<f64> = (0..13).map(|k| f64::from(k).sin()).collect();
                    let at = |k: usize| (k * step) % 20_000;
                    assert!((0..20_000).all(|k| memory.dot(at(k), &x).to_bits() == file.dot(at(k), &x).to_bits()));
                });
            }
        });
        assert_eq!(file.trouble(), None);
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let room = Room::new(MemoryLimit(0), Some(std::path::Path::new("nowhere/at/all")));
        let error = Collector::new(1, Some(room)).push(&[1.0], []).unwrap_err().to_string();
        assert!(
            error.starts_with("the data do not fit into memory, and no file can be made for them in nowhere/at/all: "),
            "{error}"
        );
    }
}
