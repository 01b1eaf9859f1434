//! Rows of numbers in memory: some dense values each, then sparse entries.

/// A sparse entry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Entry {
    pub column: u32,
    pub value: f32,
}

/// Rows after each other.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Matrix {
    pub width: usize,
    pub dense: Vec<f32>,
    /// Where the sparse entries of each row end.
    pub ends: Vec<usize>,
    pub sparse: Vec<Entry>,
}

impl Matrix {
    pub fn new(width: usize) -> Self {
        Matrix { width, ..Matrix::default() }
    }

    /// Adds a row: all dense values, and the sparse entries that are not zero.
    pub fn push(&mut self, dense: &[f32], sparse: impl IntoIterator<Item = Entry>) {
        debug_assert_eq!(dense.len(), self.width);
        self.dense.extend_from_slice(dense);
        self.sparse.extend(sparse);
        self.ends.push(self.sparse.len());
    }

    /// Forgets all rows and keeps the memory.
    pub fn clear(&mut self) {
        self.dense.clear();
        self.ends.clear();
        self.sparse.clear();
    }

    /// Gives memory back that growing took too much of.
    pub fn shrink(&mut self) {
        self.dense.shrink_to_fit();
        self.ends.shrink_to_fit();
        self.sparse.shrink_to_fit();
    }

    pub fn rows(&self) -> usize {
        self.ends.len()
    }

    /// Numbers that one pass over all rows reads.
    pub fn numbers(&self) -> usize {
        self.dense.len() + self.sparse.len() + self.ends.len()
    }

    /// Bytes that the rows occupy.
    pub fn bytes(&self) -> usize {
        self.dense.len() * size_of::<f32>() + self.ends.len() * size_of::<usize>() + self.sparse.len() * size_of::<Entry>()
    }

    #[inline]
    pub fn row(&self, i: usize) -> (&[f32], &[Entry]) {
        // Without sparse columns their ends need not be fetched.
        let dense = &self.dense[i * self.width..(i + 1) * self.width];
        if self.sparse.is_empty() {
            return (dense, &[]);
        }
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        (dense, &self.sparse[start..self.ends[i]])
    }
}
