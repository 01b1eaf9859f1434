//! The passes of `passes.rs` for `tangor.torch`: arrays that lie in the memory of tensors, of `float32` or `float64` all of them.

use std::ops::Range;

use numpy::{
    Element, PyArray1, PyArrayDyn, PyReadonlyArray1, PyReadonlyArray2, PyReadwriteArray1, PyUntypedArray, PyUntypedArrayMethods,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::passes::{Along, Arrival, Metric, Pass, Products, Real, Rows, Squares, Step, pieces, pieces_of, run};

/// An array of Python.
type Array<'a, 'py> = &'a Bound<'py, PyAny>;
/// A vector that is read.
type Known<'py, T> = PyReadonlyArray1<'py, T>;
/// A vector that is written to.
type Written<'py, T> = PyReadwriteArray1<'py, T>;
/// Sums for Python.
type Sums<'py> = PyResult<Bound<'py, PyArray1<f64>>>;
/// The metric's inverse as three numbers: the factor of the squares, the least and the largest entry.
type Entries = (f64, f64, f64);

/// The same for numbers of either dtype: that of the array, which all others must share.
macro_rules! by_dtype {
    ($array:expr, |$number:ident| $pass:block) => {
        if $array.cast::<PyArrayDyn<f32>>().is_ok() {
            type $number = f32;
            $pass
        } else {
            type $number = f64;
            $pass
        }
    };
}

fn check(length: usize, wanted: usize) -> PyResult<()> {
    if length != wanted {
        return Err(PyValueError::new_err("the lengths of the vectors do not fit each other"));
    }
    Ok(())
}

/// A vector of so many numbers, `Known` or `Written`.
fn vector<'a, 'py, V: FromPyObject<'a, 'py, Error: Into<PyErr>>>(array: Array<'a, 'py>, length: usize) -> PyResult<V> {
    check(array.cast::<PyUntypedArray>()?.len(), length)?;
    array.extract().map_err(Into::into)
}

fn rows_of<'a, T: Real + Element>(array: &'a PyReadonlyArray2<'_, T>) -> PyResult<Rows<'a, T>> {
    Ok(Rows { entries: array.as_slice()?, count: array.shape()[0], columns: array.shape()[1] })
}

fn metric<'a, T: Real + Element>(squares: &'a Known<'_, T>, (scale, least, most): Entries) -> PyResult<Metric<'a, T>> {
    Ok(Metric { squares: squares.as_slice()?, scale: T::of(scale), least: T::of(least), most: T::of(most) })
}

/// The pieces of a pass that writes to two vectors.
fn pieces_of_both<'a, T>(first: &'a mut [T], second: &'a mut [T]) -> Vec<(Range<usize>, &'a mut [T], &'a mut [T])> {
    let columns = pieces(first.len()).into_iter();
    columns.zip(pieces_of(first).zip(pieces_of(second))).map(|(columns, (first, second))| (columns, first, second)).collect()
}

/// Does all pieces, while other threads may use Python.
fn sums<P: Pass>(py: Python<'_>, pass: &P, pieces: Vec<P::Piece>, count: usize, threads: usize) -> Vec<f64> {
    py.detach(|| run(pass, pieces, count, threads))
}

/// The upper triangle of `r_i^T D^-1 r_j`, `r_0^T r_j`, and with `gram` the upper triangle of `r_i^T r_j` without the first row, one after the other.
#[pyfunction]
pub fn row_products<'py>(
    py: Python<'py>,
    rows: Array<'_, 'py>,
    squares: Array<'_, 'py>,
    entries: Entries,
    gram: bool,
    threads: usize,
) -> Sums<'py> {
    by_dtype!(rows, |T| {
        let rows: PyReadonlyArray2<'py, T> = rows.extract()?;
        let rows = rows_of(&rows)?;
        let (columns, squares) = (rows.columns, vector::<Known<'py, T>>(squares, rows.columns)?);
        let pass = Products { rows, metric: metric(&squares, entries)?, gram };
        Ok(PyArray1::from_vec(py, sums(py, &pass, pieces(columns), pass.sums(), threads)))
    })
}

/// Writes `v = sum c_i r_i` and `s = -D^-1 v`, and gives `r_0^T s`, `v^T s`, `s^T s` and `v^T v`.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn combine_rows<'py>(
    py: Python<'py>,
    rows: Array<'_, 'py>,
    coefficients: Vec<f64>,
    squares: Array<'_, 'py>,
    entries: Entries,
    v: Array<'_, 'py>,
    s: Array<'_, 'py>,
    threads: usize,
) -> Sums<'py> {
    by_dtype!(rows, |T| {
        let rows: PyReadonlyArray2<'py, T> = rows.extract()?;
        let rows = rows_of(&rows)?;
        check(coefficients.len(), rows.count)?;
        let squares = vector::<Known<'py, T>>(squares, rows.columns)?;
        let mut v = vector::<Written<'py, T>>(v, rows.columns)?;
        let mut s = vector::<Written<'py, T>>(s, rows.columns)?;
        let coefficients = coefficients.into_iter().map(T::of).collect();
        let pass = Step { rows, metric: metric(&squares, entries)?, coefficients };
        let pieces = pieces_of_both(v.as_slice_mut()?, s.as_slice_mut()?);
        Ok(PyArray1::from_vec(py, sums(py, &pass, pieces, 4, threads)))
    })
}

/// The product of each row with a vector.
#[pyfunction]
pub fn rows_along<'py>(py: Python<'py>, rows: Array<'_, 'py>, along: Array<'_, 'py>, threads: usize) -> Sums<'py> {
    by_dtype!(rows, |T| {
        let rows: PyReadonlyArray2<'py, T> = rows.extract()?;
        let rows = rows_of(&rows)?;
        let (count, columns, along) = (rows.count, rows.columns, vector::<Known<'py, T>>(along, rows.columns)?);
        let pass = Along { rows, vector: along.as_slice()? };
        Ok(PyArray1::from_vec(py, sums(py, &pass, pieces(columns), count, threads)))
    })
}

/// Takes in one row `l` at the new point, `dl = l - dl`, `g <- g + (1 - a) dl - a (w - l)`, and gives `dl^T s`.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn take_row_in<'py>(
    py: Python<'py>,
    new: Array<'_, 'py>,
    combined: Array<'_, 'py>,
    s: Array<'_, 'py>,
    momentum: f64,
    change: Array<'_, 'py>,
    gradient: Array<'_, 'py>,
    threads: usize,
) -> PyResult<f64> {
    by_dtype!(new, |T| {
        let new: Known<'py, T> = new.extract()?;
        let combined = vector::<Known<'py, T>>(combined, new.len())?;
        let s = vector::<Known<'py, T>>(s, new.len())?;
        let mut change = vector::<Written<'py, T>>(change, new.len())?;
        let mut gradient = vector::<Written<'py, T>>(gradient, new.len())?;
        let (a, kept) = (T::of(momentum), T::of(1.0 - momentum));
        let pass = Arrival { new: new.as_slice()?, combined: combined.as_slice()?, s: s.as_slice()?, a, kept };
        Ok(sums(py, &pass, pieces_of_both(change.as_slice_mut()?, gradient.as_slice_mut()?), 1, threads)[0])
    })
}

/// `q <- k q + dl^2` entry by entry, and gives the sum of `q`.
#[pyfunction]
pub fn add_squares<'py>(
    py: Python<'py>,
    squares: Array<'_, 'py>,
    change: Array<'_, 'py>,
    keep: f64,
    threads: usize,
) -> PyResult<f64> {
    by_dtype!(squares, |T| {
        let mut squares: Written<'py, T> = squares.extract()?;
        let change = vector::<Known<'py, T>>(change, squares.len())?;
        let pass = Squares { change: change.as_slice()?, keep: T::of(keep) };
        let columns = pieces(squares.len()).into_iter();
        let pieces = columns.zip(pieces_of(squares.as_slice_mut()?)).collect();
        Ok(sums(py, &pass, pieces, 1, threads)[0])
    })
}
