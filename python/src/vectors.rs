//! The passes of `passes.rs` for `tangor.torch`: arrays that lie in the memory of tensors, of `float32` or `float64` all of them.

use numpy::{Element, PyArray1, PyArrayDyn, PyReadonlyArray1, PyReadonlyArray2, PyReadwriteArray1, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::passes::{Along, Arrival, Metric, Products, Real, Rows, Squares, Step, pieces, pieces_of, run};

/// An array of Python.
type Array<'a, 'py> = &'a Bound<'py, PyAny>;
/// Sums for Python.
type Sums<'py> = PyResult<Bound<'py, PyArray1<f64>>>;

/// Numbers of an array.
trait Number: Real + Element {}

impl<T: Real + Element> Number for T {}

/// Calls a function for the dtype of an array.
macro_rules! by_dtype {
    ($array:expr, $function:ident($($argument:expr),*)) => {
        if $array.cast::<PyArrayDyn<f32>>().is_ok() { $function::<f32>($($argument),*) } else { $function::<f64>($($argument),*) }
    };
}

fn check(lengths: &[usize], wanted: usize) -> PyResult<()> {
    if lengths.iter().any(|length| *length != wanted) {
        return Err(PyValueError::new_err("the lengths of the vectors do not fit each other"));
    }
    Ok(())
}

/// The metric's inverse as three numbers: the factor of the squares, the least and the largest entry.
type Entries = (f64, f64, f64);

fn metric<T: Real>(squares: &[T], (scale, least, most): Entries) -> Metric<'_, T> {
    Metric { squares, scale: T::of(scale), least: T::of(least), most: T::of(most) }
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
    by_dtype!(rows, products_of(py, rows, squares, entries, gram, threads))
}

fn products_of<'py, T: Number>(
    py: Python<'py>,
    rows: Array<'_, 'py>,
    squares: Array<'_, 'py>,
    entries: Entries,
    gram: bool,
    threads: usize,
) -> Sums<'py> {
    let (rows, squares): (PyReadonlyArray2<'py, T>, PyReadonlyArray1<'py, T>) = (rows.extract()?, squares.extract()?);
    let (count, columns) = (rows.shape()[0], rows.shape()[1]);
    check(&[squares.len()], columns)?;
    let pass = Products {
        rows: Rows { entries: rows.as_slice()?, count, columns },
        metric: metric(squares.as_slice()?, entries),
        gram,
    };
    let sums = py.detach(|| run(&pass, pieces(columns), pass.sums(), threads));
    Ok(PyArray1::from_vec(py, sums))
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
    by_dtype!(rows, step_of(py, rows, coefficients, squares, entries, [v, s], threads))
}

fn step_of<'py, T: Number>(
    py: Python<'py>,
    rows: Array<'_, 'py>,
    coefficients: Vec<f64>,
    squares: Array<'_, 'py>,
    entries: Entries,
    out: [Array<'_, 'py>; 2],
    threads: usize,
) -> Sums<'py> {
    let (rows, squares): (PyReadonlyArray2<'py, T>, PyReadonlyArray1<'py, T>) = (rows.extract()?, squares.extract()?);
    let (mut v, mut s): (PyReadwriteArray1<'py, T>, PyReadwriteArray1<'py, T>) = (out[0].extract()?, out[1].extract()?);
    let (count, columns) = (rows.shape()[0], rows.shape()[1]);
    check(&[squares.len(), v.len(), s.len()], columns)?;
    check(&[coefficients.len()], count)?;
    let coefficients = coefficients.into_iter().map(T::of).collect();
    let pass = Step {
        rows: Rows { entries: rows.as_slice()?, count, columns },
        metric: metric(squares.as_slice()?, entries),
        coefficients,
    };
    let out = pieces_of(v.as_slice_mut()?).zip(pieces_of(s.as_slice_mut()?));
    let pieces = pieces(columns).into_iter().zip(out).map(|(piece, (v, s))| (piece, v, s)).collect();
    let sums = py.detach(|| run(&pass, pieces, 4, threads));
    Ok(PyArray1::from_vec(py, sums))
}

/// The product of each row with a vector.
#[pyfunction]
pub fn rows_along<'py>(py: Python<'py>, rows: Array<'_, 'py>, vector: Array<'_, 'py>, threads: usize) -> Sums<'py> {
    by_dtype!(rows, along_of(py, rows, vector, threads))
}

fn along_of<'py, T: Number>(py: Python<'py>, rows: Array<'_, 'py>, vector: Array<'_, 'py>, threads: usize) -> Sums<'py> {
    let (rows, vector): (PyReadonlyArray2<'py, T>, PyReadonlyArray1<'py, T>) = (rows.extract()?, vector.extract()?);
    let (count, columns) = (rows.shape()[0], rows.shape()[1]);
    check(&[vector.len()], columns)?;
    let pass = Along { rows: Rows { entries: rows.as_slice()?, count, columns }, vector: vector.as_slice()? };
    let sums = py.detach(|| run(&pass, pieces(columns), count, threads));
    Ok(PyArray1::from_vec(py, sums))
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
    by_dtype!(new, arrival_of(py, [new, combined, s], momentum, [change, gradient], threads))
}

fn arrival_of<'py, T: Number>(
    py: Python<'py>,
    known: [Array<'_, 'py>; 3],
    momentum: f64,
    out: [Array<'_, 'py>; 2],
    threads: usize,
) -> PyResult<f64> {
    let [new, combined, s]: [PyReadonlyArray1<'py, T>; 3] = [known[0].extract()?, known[1].extract()?, known[2].extract()?];
    let (mut change, mut gradient): (PyReadwriteArray1<'py, T>, PyReadwriteArray1<'py, T>) =
        (out[0].extract()?, out[1].extract()?);
    let columns = new.len();
    check(&[combined.len(), s.len(), change.len(), gradient.len()], columns)?;
    let (a, kept) = (T::of(momentum), T::of(1.0 - momentum));
    let pass = Arrival { new: new.as_slice()?, combined: combined.as_slice()?, s: s.as_slice()?, a, kept };
    let out = pieces_of(change.as_slice_mut()?).zip(pieces_of(gradient.as_slice_mut()?));
    let pieces = pieces(columns).into_iter().zip(out).map(|(piece, (change, gradient))| (piece, change, gradient)).collect();
    Ok(py.detach(|| run(&pass, pieces, 1, threads))[0])
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
    by_dtype!(squares, squares_of(py, squares, change, keep, threads))
}

fn squares_of<'py, T: Number>(
    py: Python<'py>,
    squares: Array<'_, 'py>,
    change: Array<'_, 'py>,
    keep: f64,
    threads: usize,
) -> PyResult<f64> {
    let (mut squares, change): (PyReadwriteArray1<'py, T>, PyReadonlyArray1<'py, T>) = (squares.extract()?, change.extract()?);
    let columns = squares.len();
    check(&[change.len()], columns)?;
    let pass = Squares { change: change.as_slice()?, keep: T::of(keep) };
    let pieces = pieces(columns).into_iter().zip(pieces_of(squares.as_slice_mut()?)).collect();
    Ok(py.detach(|| run(&pass, pieces, 1, threads))[0])
}
