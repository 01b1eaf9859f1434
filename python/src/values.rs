//! What Python functions give back, as numbers in the solver's slices. Whatever does not fit is named in a sentence.

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyException, PyMemoryError, PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyFloat, PyString};
use tangor_problem::MemoryLimit;

use crate::parked;

/// More numbers than this are reckoned before they are allocated, since what does not fit into memory would end the interpreter.
const MANY: usize = 1 << 24;

/// Refuses a matrix of so many entries that does not fit into memory.
pub fn check_room(length: usize, what: &str) -> PyResult<()> {
    if length <= MANY {
        return Ok(());
    }
    let fits = MemoryLimit::of_this_machine().check(8 * length as u128, || format!("{what} with {length} entries"));
    fits.map_err(|error| PyMemoryError::new_err(error.to_string()))
}

/// So many zeros for a matrix, if they fit into memory.
pub fn zeros(length: usize, what: &str) -> PyResult<Vec<f64>> {
    check_room(length, what)?;
    Ok(vec![0.0; length])
}

/// `numpy.asarray`
fn asarray<'py>(py: Python<'py>) -> PyResult<&'py Bound<'py, PyAny>> {
    static FUNCTION: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    FUNCTION.import(py, "numpy", "asarray")
}

/// One number: a float, anything with `__float__`, or an array that holds just one.
pub fn number(result: &Bound<'_, PyAny>, what: &str) -> PyResult<f64> {
    if let Ok(value) = result.cast_exact::<PyFloat>() {
        return Ok(value.value());
    }
    if let Ok(array) = result.cast::<PyUntypedArray>() {
        if array.len() != 1 {
            let message = format!("{what} gave an array of shape {}, but must give one number", shape(array)?);
            return Err(PyValueError::new_err(message));
        }
        return real(&result.call_method0("item")?, what);
    }
    real(result, what)
}

fn real(result: &Bound<'_, PyAny>, what: &str) -> PyResult<f64> {
    if let Ok(value) = result.cast::<PyFloat>() {
        return Ok(value.value());
    }
    let refused = |cause: PyErr| {
        let too_large = cause.is_instance_of::<PyOverflowError>(result.py());
        let reason = if too_large { ", and none that is too large for a float" } else { "" };
        let message = format!("{what} gave {}, but must give one number{reason}", described(result));
        let error = PyTypeError::new_err(message);
        error.set_cause(result.py(), Some(cause));
        error
    };
    if result.is_instance_of::<PyString>() {
        return Err(refused(PyTypeError::new_err("a text is not a number")));
    }
    let unless_interrupted = |error: PyErr| if is_refusal(&error, result.py()) { refused(error) } else { error };
    // Numbers of NumPy, and what is none of its arrays, such as a tensor with one entry. A complex one of NumPy's would by itself lose its imaginary part.
    let plain = if parked::has(result, "item")? {
        parked::method(result, "item", ()).map_err(unless_interrupted)?
    } else {
        result.clone()
    };
    parked::number(&plain).map_err(unless_interrupted)
}

/// Whether an exception says that something is no number. Others, Ctrl-C above all, come while NumPy is at work, and are themselves.
fn is_refusal(error: &PyErr, py: Python<'_>) -> bool {
    error.is_instance_of::<PyException>(py) && !error.is_instance_of::<PyMemoryError>(py)
}

/// So many numbers, in an array of one dimension or of any shape with no more than one that counts.
pub fn vector(result: &Bound<'_, PyAny>, out: &mut [f64], what: &str, why: &dyn Fn() -> String) -> PyResult<()> {
    if let Ok(array) = result.cast::<PyArray1<f64>>()
        && array.len() == out.len()
    {
        return copy(array, out);
    }
    let array = numbers(result, what)?;
    let counting = array.shape().iter().filter(|length| **length != 1).count();
    if array.len() != out.len() || counting > 1 {
        let message = format!("{what} gave an array of shape {}, but {}", shape(&array)?, why());
        return Err(PyValueError::new_err(message));
    }
    copy(array.call_method1("reshape", (-1,))?.cast::<PyArray1<f64>>()?, out)
}

/// A matrix, row after row; with one row it may be a vector.
pub fn matrix(result: &Bound<'_, PyAny>, (m, n): (usize, usize), out: &mut [f64], what: &str) -> PyResult<()> {
    if let Ok(array) = result.cast::<PyArray2<f64>>()
        && array.shape() == [m, n]
    {
        // SAFETY: nobody writes to the array while Python is attached here.
        let array = unsafe { array.as_array() };
        match array.as_slice() {
            Some(slice) => out.copy_from_slice(slice),
            None => out.iter_mut().zip(array.iter()).for_each(|(out, value)| *out = *value),
        }
        return Ok(());
    }
    let array = numbers(result, what)?;
    let fits = array.shape() == [m, n] || (m == 1 && array.shape() == [n]) || (n == 1 && array.shape() == [m]);
    if !fits {
        let message = format!(
            "{what} gave an array of shape {}, but there are {m} rows and {n} variables: ({m}, {n}) is needed",
            shape(&array)?
        );
        return Err(PyValueError::new_err(message));
    }
    copy(array.call_method1("reshape", (-1,))?.cast::<PyArray1<f64>>()?, out)
}

/// Anything as an array of real numbers.
pub fn numbers<'py>(result: &Bound<'py, PyAny>, what: &str) -> PyResult<Bound<'py, PyUntypedArray>> {
    let py = result.py();
    let refused = |cause: Option<PyErr>| {
        // torch says what to do with a tensor that requires its gradient, for one.
        let reason = cause.as_ref().map(|cause| format!(": {}", cause.value(py))).unwrap_or_default();
        let message = format!("{what} gave {}, but must give numbers{reason}", described(result));
        let error = PyTypeError::new_err(message);
        error.set_cause(py, cause);
        error
    };
    if result.is_none() || result.is_instance_of::<PyString>() {
        return Err(refused(None));
    }
    let unless_interrupted = |error: PyErr| if is_refusal(&error, py) { refused(Some(error)) } else { error };
    let dense = if parked::has(result, "toarray")? { parked::method(result, "toarray", ())? } else { result.clone() };
    let plain = parked::call(asarray(py)?, (dense,), None).map_err(unless_interrupted)?;
    let kind: String = plain.getattr("dtype")?.getattr("kind")?.extract()?;
    if !["b", "i", "u", "f", "O"].contains(&kind.as_str()) {
        return Err(refused(None));
    }
    // NumPy would make a NaN of None, and a forgotten value would look like an undefined one.
    if kind == "O" && plain.call_method0("ravel")?.try_iter()?.any(|value| value.is_ok_and(|value| value.is_none())) {
        return Err(refused(None));
    }
    let real = parked::call(asarray(py)?, (plain, "float64"), None).map_err(unless_interrupted)?;
    Ok(real.cast_into::<PyUntypedArray>()?)
}

fn copy(array: &Bound<'_, PyArray1<f64>>, out: &mut [f64]) -> PyResult<()> {
    // SAFETY: nobody writes to the array while Python is attached here.
    match unsafe { array.as_slice() } {
        Ok(slice) => out.copy_from_slice(slice),
        Err(_) => {
            // SAFETY: as above.
            let array = unsafe { array.as_array() };
            out.iter_mut().zip(array.iter()).for_each(|(out, value)| *out = *value);
        }
    }
    Ok(())
}

/// The shape as Python writes it.
pub fn shape(array: &Bound<'_, PyUntypedArray>) -> PyResult<String> {
    Ok(array.getattr("shape")?.repr()?.to_string())
}

fn described(result: &Bound<'_, PyAny>) -> String {
    if result.is_none() {
        return "None".to_string();
    }
    let kind = result.get_type().name().map(|name| name.to_string()).unwrap_or_default();
    let text = result.repr().map(|text| text.to_string()).unwrap_or_default();
    match text.chars().count() <= 40 {
        true => format!("{text} ({kind})"),
        false => {
            format!("{} {kind}", if kind.starts_with(['a', 'e', 'i', 'o', 'u', 'A', 'E', 'I', 'O', 'U']) { "an" } else { "a" })
        }
    }
}
