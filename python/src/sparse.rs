//! Sparse Jacobians: where their entries are, and how a matrix of SciPy is read into them.

use numpy::{PyArray1, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::{parked, values};

/// Rows one after the other, columns rising in each (compressed sparse rows).
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    /// The number of columns.
    pub n: usize,
    /// Where each row begins, and at last where the last one ends.
    pub start: Vec<usize>,
    /// The column of each entry.
    pub columns: Vec<usize>,
}

impl Rows {
    /// The number of rows.
    pub fn m(&self) -> usize {
        self.start.len() - 1
    }

    /// From SciPy's arrays; they are checked.
    pub fn new(n: usize, start: Vec<usize>, columns: Vec<usize>) -> PyResult<Self> {
        let rises = start.windows(2).all(|pair| pair[0] <= pair[1]);
        let complete = start.first() == Some(&0) && start.last() == Some(&columns.len());
        let inside = columns.iter().all(|column| *column < n);
        let sorted = rises && complete && start.windows(2).all(|row| columns[row[0]..row[1]].is_sorted_by(|a, b| a < b));
        match inside && sorted {
            true => Ok(Rows { n, start, columns }),
            false => Err(PyValueError::new_err("the pattern of a Jacobian is no matrix in compressed sparse rows")),
        }
    }

    /// The values of a matrix, entries that it lacks being zero. An entry that this pattern lacks is refused unless it is zero.
    pub fn take(&self, result: &Bound<'_, PyAny>, out: &mut [f64], what: &str) -> PyResult<()> {
        if !parked::has(result, "tocsr")? {
            return self.take_dense(result, out, what);
        }
        let (m, n): (usize, usize) = parked::attribute(result, "shape")?.extract()?;
        if (m, n) != (self.m(), self.n) {
            let message = format!("{what} gave a matrix of shape ({m}, {n}), but ({}, {}) is needed", self.m(), self.n);
            return Err(PyValueError::new_err(message));
        }
        let matrix = canonical(result)?;
        let data = values::numbers(&parked::attribute(&matrix, "data")?, what)?;
        let data = data.cast::<PyArray1<f64>>()?;
        // SAFETY: nobody writes to the array while Python is attached here.
        let data = unsafe { data.as_slice() }?;
        let (start, columns) = (parked::attribute(&matrix, "indptr")?, parked::attribute(&matrix, "indices")?);
        match (start.cast::<PyArray1<i32>>(), columns.cast::<PyArray1<i32>>()) {
            // SAFETY: as above.
            (Ok(start), Ok(columns)) => self.put(unsafe { (start.as_slice()?, columns.as_slice()?, data) }, out, what),
            _ => {
                let (start, columns): (Vec<i64>, Vec<i64>) = (start.extract()?, columns.extract()?);
                self.put((&start, &columns, data), out, what)
            }
        }
    }

    fn put<I: Copy + TryInto<usize>>(
        &self,
        (start, columns, data): (&[I], &[I], &[f64]),
        out: &mut [f64],
        what: &str,
    ) -> PyResult<()> {
        let index = |i: I| i.try_into().unwrap_or(usize::MAX);
        let same =
            |given: &[I], ours: &[usize]| given.len() == ours.len() && given.iter().zip(ours).all(|(a, b)| index(*a) == *b);
        if same(columns, &self.columns) && same(start, &self.start) && data.len() == out.len() {
            out.copy_from_slice(data);
            return Ok(());
        }
        out.fill(0.0);
        for row in 0..self.m().min(start.len().saturating_sub(1)) {
            let ours = &self.columns[self.start[row]..self.start[row + 1]];
            for k in index(start[row])..index(start[row + 1]).min(data.len()).min(columns.len()) {
                match ours.binary_search(&index(columns[k])) {
                    Ok(place) => out[self.start[row] + place] = data[k],
                    Err(_) if data[k] == 0.0 => {}
                    Err(_) => return Err(self.outside(row, index(columns[k]), what)),
                }
            }
        }
        Ok(())
    }

    fn take_dense(&self, result: &Bound<'_, PyAny>, out: &mut [f64], what: &str) -> PyResult<()> {
        let (m, n) = (self.m(), self.n);
        let mut dense = values::zeros(m.saturating_mul(n), what)?;
        values::matrix(result, (m, n), &mut dense, what)?;
        for row in 0..m {
            for k in self.start[row]..self.start[row + 1] {
                out[k] = std::mem::take(&mut dense[row * n + self.columns[k]]);
            }
            if let Some(column) = dense[row * n..(row + 1) * n].iter().position(|value| *value != 0.0) {
                return Err(self.outside(row, column, what));
            }
        }
        Ok(())
    }

    fn outside(&self, row: usize, column: usize, what: &str) -> PyErr {
        PyValueError::new_err(format!(
            "{what} has an entry in row {row}, column {column}, which is not in its pattern; the pattern is that at the start and \
             at one point nearby: state all entries that may ever differ from zero (finite_diff_jac_sparsity, or zeros that are \
             stored in the matrix)"
        ))
    }
}

/// In compressed sparse rows, sorted, without repeated entries; a matrix that is none is copied.
fn canonical<'py>(matrix: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let rows = parked::method(matrix, "tocsr", ())?;
    if parked::attribute(&rows, "has_canonical_format")?.is_truthy()? {
        return Ok(rows);
    }
    let copy = parked::method(&rows, "copy", ())?;
    parked::method(&copy, "sum_duplicates", ())?;
    Ok(copy)
}
