//! The Jacobian of the constraints, dense or sparse: its products, and the pattern behind it.

use std::sync::Arc;

use crate::kernel::aside::Patience;
use crate::kernel::vector::{add, dot, norm};
use crate::run::clock::Clock;

/// A matrix of `m` rows and `n` columns, stored row after row.
#[derive(Clone, Debug, Default)]
pub struct Matrix {
    pub m: usize,
    pub n: usize,
    /// The values: all `m * n`, or those of the sparse structure.
    pub values: Vec<f64>,
    /// Where the values are, when the matrix is sparse.
    pub structure: Option<Arc<Structure>>,
}

/// The places of a sparse matrix, by rows and by columns.
#[derive(Debug, Default)]
pub struct Structure {
    pub row_start: Vec<usize>,
    pub column: Vec<usize>,
    pub column_start: Vec<usize>,
    /// For each column its rows ...
    pub row: Vec<usize>,
    /// ... and where their values are.
    pub position: Vec<usize>,
}

impl Structure {
    /// Sorts places (row, column) and joins equal ones. Also gives the position of each place.
    pub fn new(m: usize, n: usize, places: &[(usize, usize)]) -> (Structure, Vec<usize>) {
        let mut order: Vec<usize> = (0..places.len()).collect();
        order.sort_by_key(|&k| places[k]);
        let (row_start, column_start, column) = (vec![0; m + 1], vec![0; n + 1], Vec::with_capacity(places.len()));
        let mut structure = Structure { row_start, column_start, column, ..Structure::default() };
        let mut positions = vec![0; places.len()];
        let mut last = None;
        for k in order {
            if last != Some(places[k]) {
                last = Some(places[k]);
                structure.column.push(places[k].1);
                structure.row_start[places[k].0 + 1] += 1;
                structure.column_start[places[k].1 + 1] += 1;
            }
            positions[k] = structure.column.len() - 1;
        }
        accumulate(&mut structure.row_start);
        accumulate(&mut structure.column_start);
        structure.fill_columns(m);
        (structure, positions)
    }

    fn fill_columns(&mut self, m: usize) {
        let mut next = self.column_start.clone();
        self.row = vec![0; self.column.len()];
        self.position = vec![0; self.column.len()];
        for i in 0..m {
            for k in self.row_start[i]..self.row_start[i + 1] {
                let place = &mut next[self.column[k]];
                self.row[*place] = i;
                self.position[*place] = k;
                *place += 1;
            }
        }
    }
}

fn accumulate(counts: &mut [usize]) {
    for i in 1..counts.len() {
        counts[i] += counts[i - 1];
    }
}

/// A column counts as dense when the products of its entries would be so many times as many as all entries.
const DENSE: usize = 20;

/// Up to so many rows a dense matrix of products is no trouble.
const FEW_ROWS: usize = 500;

impl Matrix {
    /// Whether columns are so full that `A W A^T` would have far more entries than `A`.
    pub fn has_dense_columns(&self) -> bool {
        let Some(structure) = &self.structure else { return false };
        let lengths = structure.column_start.windows(2).map(|ends| ends[1] - ends[0]);
        let products: usize = lengths.map(|length| length * length / 2).sum();
        self.m > FEW_ROWS && products > DENSE * (self.values.len() + self.n + self.m)
    }

    /// Each entry becomes the size of the larger of both, for a matrix of the same structure.
    pub fn raise_to(&mut self, other: &Matrix) {
        self.values.iter_mut().zip(&other.values).for_each(|(own, other)| *own = own.abs().max(other.abs()));
    }

    pub fn dense(m: usize, n: usize) -> Self {
        Matrix { m, n, values: vec![0.0; m * n], structure: None }
    }

    pub fn sparse(m: usize, n: usize, structure: Arc<Structure>) -> Self {
        Matrix { m, n, values: vec![0.0; structure.column.len()], structure: Some(structure) }
    }

    /// `out = A v`
    pub fn apply(&self, v: &[f64], out: &mut [f64]) {
        out.iter_mut().enumerate().for_each(|(i, out)| *out = self.row_times(i, v));
    }

    /// `out += A v`
    pub fn add_product(&self, v: &[f64], out: &mut [f64]) {
        out.iter_mut().enumerate().for_each(|(i, out)| *out += self.row_times(i, v));
    }

    fn row_times(&self, i: usize, v: &[f64]) -> f64 {
        match &self.structure {
            None => dot(&self.values[i * self.n..(i + 1) * self.n], v),
            Some(structure) => {
                let range = structure.row_start[i]..structure.row_start[i + 1];
                let entries = structure.column[range.clone()].iter().zip(&self.values[range]);
                entries.map(|(&j, value)| value * v[j]).sum()
            }
        }
    }

    /// `out += A^T y`
    pub fn add_transposed(&self, y: &[f64], out: &mut [f64]) {
        match &self.structure {
            None => {
                // In blocks of columns, so that `out` stays in the cache while the rows go by.
                const BLOCK: usize = 2048;
                for (block, out) in out.chunks_mut(BLOCK).enumerate() {
                    let first = block * BLOCK;
                    for (i, &y) in y.iter().enumerate().filter(|(_, y)| **y != 0.0) {
                        let start = i * self.n + first;
                        add(y, &self.values[start..start + out.len()], out);
                    }
                }
            }
            Some(structure) => {
                for (i, &y) in y.iter().enumerate().filter(|(_, y)| **y != 0.0) {
                    for k in structure.row_start[i]..structure.row_start[i + 1] {
                        out[structure.column[k]] += y * self.values[k];
                    }
                }
            }
        }
    }

    /// `out += (A - A')^T y` with the same places in `A'`. What is the same in both adds nothing, whatever the size of `y`.
    pub fn add_transposed_change(&self, before: &Matrix, y: &[f64], out: &mut [f64]) {
        for (i, &y) in y.iter().enumerate().filter(|(_, y)| **y != 0.0) {
            for (k, (now, before)) in self.row_values(i).iter().zip(before.row_values(i)).enumerate() {
                out[self.column(i, k)] += y * (now - before);
            }
        }
    }

    /// The norm of `|A| |x|`: how large the terms of a linear map are, which may cancel.
    pub fn size_of_terms(&self, x: &[f64]) -> f64 {
        (0..self.m).map(|i| self.size_of_terms_in_row(i, x).powi(2)).sum::<f64>().sqrt()
    }

    /// The sum of the absolute values of the terms of row `i`.
    pub fn size_of_terms_in_row(&self, i: usize, x: &[f64]) -> f64 {
        self.row_values(i).iter().enumerate().map(|(k, a)| (a * x[self.column(i, k)]).abs()).sum()
    }

    /// The column of value `k` of row `i`.
    pub fn column(&self, i: usize, k: usize) -> usize {
        self.structure.as_ref().map_or(k, |structure| structure.column[structure.row_start[i] + k])
    }

    /// Adds column `j` to `out`.
    fn add_column(&self, j: usize, out: &mut [f64]) {
        match &self.structure {
            None => out.iter_mut().enumerate().for_each(|(i, out)| *out += self.values[i * self.n + j]),
            Some(structure) => {
                for k in structure.column_start[j]..structure.column_start[j + 1] {
                    out[structure.row[k]] += self.values[structure.position[k]];
                }
            }
        }
    }

    /// `sum_j a_ij^2 / h_j`
    pub fn weighted_square(&self, i: usize, h: &[f64]) -> f64 {
        let values = self.row_values(i);
        match &self.structure {
            None => values.iter().zip(h).map(|(value, h)| value * value / h).sum(),
            Some(structure) => {
                let columns = &structure.column[structure.row_start[i]..structure.row_start[i + 1]];
                values.iter().zip(columns).map(|(value, &j)| value * value / h[j]).sum()
            }
        }
    }

    /// The values of row `i`.
    pub fn row_values(&self, i: usize) -> &[f64] {
        match &self.structure {
            None => &self.values[i * self.n..(i + 1) * self.n],
            Some(structure) => &self.values[structure.row_start[i]..structure.row_start[i + 1]],
        }
    }
}

/// The Jacobian of `h(x, t)`: that of the constraints, and `-1` for each slack, which is never stored.
#[derive(Clone, Debug, Default)]
pub struct Jacobian {
    pub a: Matrix,
    /// The row of each slack.
    pub slack_rows: Arc<[usize]>,
}

impl Jacobian {
    pub fn rows(&self) -> usize {
        self.a.m
    }

    /// Variables and slacks together.
    pub fn columns(&self) -> usize {
        self.a.n + self.slack_rows.len()
    }

    /// `out = J v`
    pub fn apply(&self, v: &[f64], out: &mut [f64]) {
        let (x, t) = v.split_at(self.a.n);
        self.a.apply(x, out);
        for (&row, t) in self.slack_rows.iter().zip(t) {
            out[row] -= t;
        }
    }

    /// `out += J^T y`
    pub fn add_transposed(&self, y: &[f64], out: &mut [f64]) {
        let (x, t) = out.split_at_mut(self.a.n);
        self.a.add_transposed(y, x);
        for (&row, t) in self.slack_rows.iter().zip(t) {
            *t -= y[row];
        }
    }

    /// The norm of `|J| |v|`.
    pub fn size_of_terms(&self, v: &[f64]) -> f64 {
        let (x, t) = v.split_at(self.a.n);
        self.a.size_of_terms(x).hypot(norm(t))
    }

    /// Adds column `j` to `out`.
    pub fn add_column(&self, j: usize, out: &mut [f64]) {
        match j.checked_sub(self.a.n) {
            Some(slack) => out[self.slack_rows[slack]] -= 1.0,
            None => self.a.add_column(j, out),
        }
    }

    /// Writes `J J^T`, column after column, by way of a vector of rows and one of columns. False: the run is to end.
    pub fn write_gram(&self, gram: &mut [f64], unit: &mut [f64], row: &mut [f64], clock: &Clock) -> bool {
        let mut patience = Patience::default();
        gram.chunks_exact_mut(self.rows().max(1)).enumerate().all(|(j, column)| {
            unit.fill(0.0);
            unit[j] = 1.0;
            row.fill(0.0);
            self.add_transposed(unit, row);
            self.apply(row, column);
            patience.goes_on(2 * self.a.values.len(), clock)
        })
    }

    /// The Frobenius norm.
    pub fn norm(&self) -> f64 {
        (dot(&self.a.values, &self.a.values) + self.slack_rows.len() as f64).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A = [1 0 2; 0 3 0], with a slack on the second row.
    fn both() -> [Jacobian; 2] {
        let mut dense = Matrix::dense(2, 3);
        dense.values = vec![1.0, 0.0, 2.0, 0.0, 3.0, 0.0];
        // Out of order, and (1, 1) twice: 3 = 1 + 2.
        let (structure, positions) = Structure::new(2, 3, &[(1, 1), (0, 2), (0, 0), (1, 1)]);
        let mut sparse = Matrix::sparse(2, 3, Arc::new(structure));
        for (value, position) in [1.0, 2.0, 1.0, 2.0].into_iter().zip(positions) {
            sparse.values[position] += value;
        }
        [dense, sparse].map(|a| Jacobian { a, slack_rows: Arc::from([1]) })
    }

    #[test]
    fn terms_and_changes_by_hand() {
        for jacobian in both() {
            let a = &jacobian.a;
            // |A| |x| = (|1| + |-2|, 3) = (3, 3), although the first row cancels to -1.
            assert_eq!(a.size_of_terms(&[1.0, 1.0, -1.0]), 18f64.sqrt());
            let mut after = a.clone();
            after.values[0] += 2.0;
            let mut out = [0.0; 3];
            after.add_transposed_change(a, &[5.0, 1e300], &mut out);
            assert_eq!(out, [10.0, 0.0, 0.0]);
        }
    }

    #[test]
    fn products_by_hand() {
        for jacobian in both() {
            let mut out = [0.0; 2];
            jacobian.apply(&[1.0, 2.0, 3.0, 4.0], &mut out);
            assert_eq!(out, [7.0, 2.0]);
            let mut out = [1.0; 4];
            jacobian.add_transposed(&[10.0, 100.0], &mut out);
            assert_eq!(out, [11.0, 301.0, 21.0, -99.0]);
            assert_eq!(jacobian.norm(), (1.0f64 + 4.0 + 9.0 + 1.0).sqrt());
            let mut out = [1.0; 2];
            jacobian.add_column(2, &mut out);
            jacobian.add_column(3, &mut out);
            assert_eq!(out, [3.0, 0.0]);
            let mut gram = [0.0; 4];
            jacobian.write_gram(&mut gram, &mut [0.0; 2], &mut [0.0; 4], &Clock::new(None, 0.0));
            assert_eq!(gram, [5.0, 0.0, 0.0, 10.0]);
        }
    }
}
