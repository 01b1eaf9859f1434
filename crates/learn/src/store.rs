//! Where the rows of features are: in memory, or in a file. Whoever uses them need not know.

use std::borrow::Cow;
use std::sync::Arc;

use crate::cache::Cache;
use crate::matrix::{Entry, Matrix};

/// Rows, numbered from 0.
#[derive(Clone, Debug)]
pub(crate) enum Store {
    Memory(Matrix),
    /// All rows of a file, or some of them.
    File(Arc<Cache>, Option<Vec<usize>>),
}

impl Store {
    /// Some of the rows, in this order.
    pub fn subset(&self, rows: impl Iterator<Item = usize>) -> Store {
        match self {
            Store::Memory(all) => {
                let mut some = Matrix::new(all.width);
                for row in rows {
                    let (dense, sparse) = all.row(row);
                    some.push(dense, sparse.iter().copied());
                }
                Store::Memory(some)
            }
            Store::File(cache, chosen) => {
                Store::File(Arc::clone(cache), Some(rows.map(|row| place(chosen.as_deref(), row)).collect()))
            }
        }
    }

    /// Numbers that one pass over all rows reads; of some rows of a file, as many as if all were alike.
    pub fn numbers(&self) -> usize {
        match self {
            Store::Memory(rows) => rows.numbers(),
            Store::File(cache, None) => cache.numbers(),
            Store::File(cache, Some(rows)) => cache.numbers() / cache.rows().max(1) * rows.len(),
        }
    }

    /// How many there are.
    pub fn rows(&self) -> usize {
        match self {
            Store::Memory(rows) => rows.rows(),
            Store::File(_, Some(rows)) => rows.len(),
            Store::File(cache, None) => cache.rows(),
        }
    }

    /// The number of dense columns.
    pub fn width(&self) -> usize {
        match self {
            Store::Memory(rows) => rows.width,
            Store::File(cache, _) => cache.width(),
        }
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        match self {
            Store::Memory(rows) => rows.bytes(),
            Store::File(_, rows) => rows.as_ref().map_or(0, |rows| size_of_val(&rows[..])),
        }
    }

    /// The file that the rows are in; none: they are in memory.
    pub fn file(&self) -> Option<&Cache> {
        match self {
            Store::Memory(_) => None,
            Store::File(cache, _) => Some(cache),
        }
    }

    /// The dense values of a row.
    pub fn dense_row(&self, row: usize) -> Cow<'_, [f32]> {
        match self {
            Store::Memory(rows) => Cow::Borrowed(rows.row(row).0),
            Store::File(..) => Cow::Owned(self.with_row(row, |dense, _| dense.to_vec()).unwrap_or_default()),
        }
    }

    /// Does something with a row; none if it cannot be read.
    #[inline]
    pub fn with_row<T>(&self, row: usize, use_row: impl FnOnce(&[f32], &[Entry]) -> T) -> Option<T> {
        match self {
            Store::Memory(rows) => {
                let (dense, sparse) = rows.row(row);
                Some(use_row(dense, sparse))
            }
            Store::File(cache, chosen) => cache.with_row(place(chosen.as_deref(), row), use_row),
        }
    }
}

/// Where a row is among those of its file.
fn place(chosen: Option<&[usize]>, row: usize) -> usize {
    chosen.map_or(row, |chosen| chosen[row])
}
