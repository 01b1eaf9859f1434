//! The kernel of the library for `tangor.torch`: subproblems of which only products of long vectors are known.
//!
//! With the gradient `g`, the rows `A` and a diagonal metric `D`, all on some device, the solution of
//!
//! ```text
//! min  g^T s + 1/2 s^T D s + 1/2 t^T W t + sum_i (A s - t - r)_i^2 / (2 kappa_i)     s.t.  low <= t <= high
//! ```
//!
//! where a row with `kappa_i = 0` must hold, is `s = -D^-1 (g + A^T y)`: a combination of `1 + m` vectors. In an orthonormal basis of these, `g` and `A` are the rows of a matrix `F` with
//! `1 + m` columns and `F F^T = (g, A)^T D^-1 (g, A)`, which is all that has to come from the device.

use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tangor_solver::Kernel;
use tangor_solver::internals::StoredSubproblem;

/// Multipliers `y`, slacks `t`, factorisations, and whether the subproblem was solved.
type Solution<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>, u32, bool);

/// Solves a subproblem that is known by its products. `slack_rows`, in ascending order, are those with a slack; `weights`, `low` and `high` are
/// of the slacks. `rounding` is that of the products, relative to the norms of both rows: a row that others explain up to this depends on them.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn solve_from_products<'py>(
    py: Python<'py>,
    products: PyReadonlyArray2<'py, f64>,
    target: PyReadonlyArray1<'py, f64>,
    softness: PyReadonlyArray1<'py, f64>,
    slack_rows: Vec<usize>,
    weights: PyReadonlyArray1<'py, f64>,
    low: PyReadonlyArray1<'py, f64>,
    high: PyReadonlyArray1<'py, f64>,
    start: PyReadonlyArray1<'py, f64>,
    rounding: f64,
) -> PyResult<Solution<'py>> {
    let (m, slacks) = (target.len(), slack_rows.len());
    let lengths = [weights.len(), low.len(), high.len()];
    if products.shape() != [m + 1, m + 1]
        || [softness.len(), start.len()] != [m; 2]
        || lengths != [slacks; 3]
        || slack_rows.iter().any(|row| *row >= m)
    {
        return Err(PyValueError::new_err("the sizes of the subproblem's parts do not fit each other"));
    }
    let values: Vec<f64> = products.as_array().iter().copied().collect();
    let (target, weights, softness) = (target.as_slice()?, weights.as_slice()?, softness.as_slice()?);
    let mut numbers = values.iter().chain(target).chain(weights).chain(softness);
    let is_positive = softness.iter().all(|kappa| *kappa >= 0.0) && weights.iter().all(|weight| *weight > 0.0);
    if numbers.any(|value| !value.is_finite()) || !is_positive {
        return Err(PyValueError::new_err("the subproblem has a NaN, an infinity or a negative weight"));
    }
    let rows = factor(m + 1, &values, rounding);
    let entries: Vec<(usize, usize, f64)> =
        (0..m).flat_map(|i| (0..=m).map(move |j| (i, j))).map(|(i, j)| (i, j, rows[(i + 1) * (m + 1) + j])).collect();
    let mut problem = StoredSubproblem::new(m, m + 1, &entries, false, &slack_rows);
    problem.metric[m + 1..].copy_from_slice(weights);
    problem.gradient[..=m].copy_from_slice(&rows[..=m]);
    problem.target.copy_from_slice(target);
    problem.lower[m + 1..].copy_from_slice(low.as_slice()?);
    problem.upper[m + 1..].copy_from_slice(high.as_slice()?);
    problem.softness.copy_from_slice(softness);
    problem.warm.copy_from_slice(start.as_slice()?);
    let mut kernel = problem.kernel(&Kernel::default());
    problem.solve(&mut kernel);
    if !kernel.converged {
        kernel.converged = problem.solve_by_clarabel(&mut kernel.s, &mut kernel.y);
    }
    let (y, t) = (PyArray1::from_slice(py, &kernel.y), PyArray1::from_slice(py, &kernel.s[m + 1..]));
    Ok((y, t, kernel.iterations, kernel.converged))
}

/// `F` with `F F^T` equal to a positive semidefinite matrix, by Cholesky's method with the largest pivot first, relative to its row.
fn factor(size: usize, matrix: &[f64], rounding: f64) -> Vec<f64> {
    let scale: Vec<f64> = (0..size).map(|i| matrix[i * size + i].max(0.0).sqrt()).collect();
    let scaled = |i: usize, j: usize| if scale[i] * scale[j] > 0.0 { matrix[i * size + j] / scale[i] / scale[j] } else { 0.0 };
    let mut rest: Vec<f64> = scale.iter().map(|scale| f64::from(u8::from(*scale > 0.0))).collect();
    let mut f = vec![0.0; size * size];
    for column in 0..size {
        let pivot = (0..size).fold(0, |best, i| if rest[i] > rest[best] { i } else { best });
        if rest[pivot] <= rounding * size as f64 {
            break;
        }
        let root = rest[pivot].sqrt();
        for i in 0..size {
            let before: f64 = (0..column).map(|k| f[i * size + k] * f[pivot * size + k]).sum();
            // Rows that were pivots before have nothing left.
            f[i * size + column] = if rest[i] > 0.0 { (scaled(i, pivot) - before) / root } else { 0.0 };
        }
        f[pivot * size + column] = root;
        for i in 0..size {
            rest[i] = (rest[i] - f[i * size + column].powi(2)).max(0.0);
        }
        rest[pivot] = 0.0;
    }
    for (i, row) in f.chunks_exact_mut(size).enumerate() {
        row.iter_mut().for_each(|value| *value *= scale[i]);
    }
    f
}
