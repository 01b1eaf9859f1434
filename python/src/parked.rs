//! Python code that Rust calls in a thread which the interpreter may end.
//!
//! When the interpreter exits while a daemon thread runs Python code, Python before 3.14 ends that thread by `pthread_exit` as soon as it asks
//! for the interpreter's lock again. glibc then unwinds the stack of the thread, and a frame of Rust that called a function which cannot unwind
//! aborts the process. Here calls are those of functions that can, and the thread sleeps until the process is gone, as in Python 3.14. (Where
//! Rust itself asks for the lock PyO3 does the same.)

use std::ffi::c_double;
use std::hint::black_box;
use std::mem::{forget, transmute};

use pyo3::exceptions::PyAttributeError;
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

type Object = *mut PyObject;

/// Sleeps for good when it is dropped, which is when its thread is ended: the lock is no longer the thread's then.
struct Parked;

impl Drop for Parked {
    fn drop(&mut self) {
        loop {
            std::thread::park();
        }
    }
}

/// Calls a function of Python's that may end the thread.
fn unless_ended<T>(call: impl FnOnce() -> T) -> T {
    let parked = Parked;
    let result = call();
    forget(parked);
    result
}

/// A function of Python's C interface as one that may unwind. The compiler must not see which it is, since it knows that one not to.
macro_rules! unwinding {
    ($function:path, ($($argument:ty),+) -> $result:ty) => {{
        type Steady = unsafe extern "C" fn($($argument),+) -> $result;
        type Unwinding = unsafe extern "C-unwind" fn($($argument),+) -> $result;
        // A pointer before it is hidden: the type of the function itself would tell.
        let function: Steady = $function;
        // SAFETY: the types differ only in whether a call may unwind.
        unsafe { transmute::<Steady, Unwinding>(black_box(function)) }
    }};
}

/// What becomes a tuple of arguments.
pub trait Arguments<'py>: IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>> {}

impl<'py, A: IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>>> Arguments<'py> for A {}

/// Calls something with arguments and keywords.
pub fn call<'py, A: Arguments<'py>>(
    function: &Bound<'py, PyAny>,
    args: A,
    keywords: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = function.py();
    let args = args.into_pyobject(py).map_err(Into::into)?;
    let keywords = keywords.map_or(std::ptr::null_mut(), |keywords| keywords.as_ptr());
    let call = unwinding!(ffi::PyObject_Call, (Object, Object, Object) -> Object);
    // SAFETY: all are living objects of the kinds that are wanted, and the lock is ours; the result is a new reference, or null after an exception.
    unsafe { Bound::from_owned_ptr_or_err(py, unless_ended(|| call(function.as_ptr(), args.as_ptr(), keywords))) }
}

/// An attribute, which may be a property.
pub fn attribute<'py>(object: &Bound<'py, PyAny>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    let (py, name) = (object.py(), PyString::intern(object.py(), name));
    let look = unwinding!(ffi::PyObject_GetAttr, (Object, Object) -> Object);
    // SAFETY: as in `call`.
    unsafe { Bound::from_owned_ptr_or_err(py, unless_ended(|| look(object.as_ptr(), name.as_ptr()))) }
}

/// Whether there is such an attribute.
pub fn has(object: &Bound<'_, PyAny>, name: &str) -> PyResult<bool> {
    match attribute(object, name) {
        Ok(_) => Ok(true),
        Err(error) if error.is_instance_of::<PyAttributeError>(object.py()) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Calls a method.
pub fn method<'py, A: Arguments<'py>>(object: &Bound<'py, PyAny>, name: &str, args: A) -> PyResult<Bound<'py, PyAny>> {
    call(&attribute(object, name)?, args, None)
}

/// The number that an object says it is.
pub fn number(object: &Bound<'_, PyAny>) -> PyResult<f64> {
    let convert = unwinding!(ffi::PyFloat_AsDouble, (Object) -> c_double);
    // SAFETY: it is a living object, and the lock is ours.
    let number = unless_ended(|| unsafe { convert(object.as_ptr()) });
    // Python says -1 after an exception, which then is there to be taken.
    match if number == -1.0 { PyErr::take(object.py()) } else { None } {
        Some(error) => Err(error),
        None => Ok(number),
    }
}
