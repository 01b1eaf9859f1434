//! What a run and the functions of its problem know together: the exception that a function raised, whether the user wants to stop,
//! how often functions were called.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::{PyException, PyKeyboardInterrupt, PyOverflowError};
use pyo3::prelude::*;
use tangor_problem::{Evaluation, Failure};

use crate::memory::Lender;

pyo3::create_exception!(
    tangor._tangor,
    Undefined,
    pyo3::exceptions::PyArithmeticError,
    "Raise this in a function that has no value at the point: the step is shortened, as after a NaN."
);

/// Why a function has no value after Ctrl-C.
const STOPPED: &str = "the user wants to stop";

/// Shared by a run and the functions of its problem.
pub struct Shared {
    /// How arrays are handed over.
    pub lender: Lender,
    /// Ends the run at the next occasion.
    pub interrupt: Arc<AtomicBool>,
    /// Whether the run only looks far away, where functions may fail in any way.
    pub ventures: Arc<AtomicBool>,
    /// Whether it was Ctrl-C.
    by_keyboard: AtomicBool,
    /// Whether nothing is called after Ctrl-C: a run still tells of its best point.
    ends_at_once: bool,
    error: Mutex<Option<PyErr>>,
    calls: [AtomicU64; 5],
}

/// Whose calls are counted.
#[derive(Clone, Copy)]
pub enum Callee {
    /// The objective.
    Objective,
    /// Its gradient.
    Gradient,
    /// The constraints.
    Constraints,
    /// Their Jacobian.
    Jacobian,
    /// All together.
    Everything,
}

impl Shared {
    /// For a run. Nothing happened yet.
    pub fn of_run() -> Arc<Self> {
        Shared::new(Lender::lending(), false)
    }

    /// For who asks for values from Python. Nothing happened yet.
    pub fn of_question() -> Arc<Self> {
        Shared::new(Lender::copying(), true)
    }

    fn new(lender: Lender, ends_at_once: bool) -> Arc<Self> {
        Arc::new(Shared {
            lender,
            interrupt: Arc::default(),
            ventures: Arc::default(),
            by_keyboard: AtomicBool::new(false),
            ends_at_once,
            error: Mutex::new(None),
            calls: Default::default(),
        })
    }

    /// Does something with Python. What it raises becomes a failure, and is kept to be raised again when the run has ended.
    pub fn attach<T>(&self, work: impl FnOnce(Python<'_>) -> PyResult<T>) -> Evaluation<T> {
        if self.ends_at_once && self.is_interrupted() {
            return Err(Failure::undefined(STOPPED));
        }
        Python::attach(|py| work(py).map_err(|error| self.failure(py, error)))
    }

    fn failure(&self, py: Python<'_>, error: PyErr) -> Failure {
        if error.is_instance_of::<Undefined>(py) {
            let reason = error.value(py).to_string();
            return Failure::undefined(if reason.is_empty() { "no reason is given".to_string() } else { reason });
        }
        let text = error.to_string();
        // `math.exp(1000)` raises where NumPy gives an infinity: neither is a value, and a run looks far away before it claims that an objective has a minimum.
        if error.is_instance_of::<PyOverflowError>(py) {
            return Failure::undefined(text);
        }
        // Nor is what is raised there for anybody to know: the look ends, and the run is what it was. Ctrl-C and `sys.exit` are no such exceptions.
        if self.ventures.load(Ordering::Relaxed) && error.is_instance_of::<PyException>(py) {
            return Failure::broken(text);
        }
        match self.keep(py, error) {
            true => Failure::broken(text),
            false => Failure::undefined(STOPPED),
        }
    }

    /// Keeps an exception for the end of the run. False: it only says that the run shall end.
    pub fn keep(&self, py: Python<'_>, error: PyErr) -> bool {
        self.interrupt.store(true, Ordering::Relaxed);
        if error.is_instance_of::<PyKeyboardInterrupt>(py) {
            self.by_keyboard.store(true, Ordering::Relaxed);
            return false;
        }
        self.slot().get_or_insert(error);
        true
    }

    /// Lets the handlers of signals run that came meanwhile; what they raise is kept.
    pub fn look_at_signals(&self, py: Python<'_>) {
        if let Err(error) = py.check_signals() {
            self.keep(py, error);
        }
    }

    /// Ctrl-C was pressed while Python was at work.
    pub fn interrupt_by_keyboard(&self) {
        self.by_keyboard.store(true, Ordering::Relaxed);
        self.interrupt.store(true, Ordering::Relaxed);
    }

    /// Whether Ctrl-C was pressed.
    pub fn is_interrupted(&self) -> bool {
        self.by_keyboard.load(Ordering::Relaxed)
    }

    /// The exception that was kept, if there was one.
    pub fn take_error(&self) -> Option<PyErr> {
        self.slot().take()
    }

    fn slot(&self) -> std::sync::MutexGuard<'_, Option<PyErr>> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a call.
    pub fn count(&self, callee: Callee) {
        self.calls[callee as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Calls of the objective, its gradient, the constraints, their Jacobian, and of all together.
    pub fn calls(&self) -> [u64; 5] {
        std::array::from_fn(|k| self.calls[k].load(Ordering::Relaxed))
    }
}
