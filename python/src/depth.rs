//! How deep functions of the user's are called inside of each other.

use std::cell::Cell;

use pyo3::exceptions::PyRecursionError;
use pyo3::prelude::*;

/// A run inside of a function of another run takes up to 100 kB of the stack, of which Python's own limit on recursion knows nothing: its end would
/// be that of the interpreter.
const DEEPEST: u32 = 16;

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// One call of a function or a callback.
struct Level;

impl Drop for Level {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
    }
}

/// Does a call, unless it is inside of too many others.
pub fn deeper<T>(call: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    if DEPTH.get() >= DEEPEST {
        let message = format!("functions or callbacks call the solver inside of each other, more than {DEEPEST} deep");
        return Err(PyRecursionError::new_err(message));
    }
    DEPTH.set(DEPTH.get() + 1);
    let _level = Level;
    call()
}
