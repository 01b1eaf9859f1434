//! A run of the solver that Python holds.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use numpy::PyArray1;
use pyo3::exceptions::{PyMemoryError, PyOSError, PyRuntimeError, PyStopIteration, PyValueError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tangor_problem::{Meta, SampledProblem, Samples};
use tangor_solver::{Checkpoint, Error, Report, Row, Solver, Tolerance};

use crate::cycles::Root;
use crate::depth::deeper;
use crate::functions::First;
use crate::model::Model;
use crate::parked;
use crate::row::{PyRow, Trace};
use crate::shared::Shared;
use crate::{report, settings};

type AnySolver = Solver<Box<dyn SampledProblem + Send>>;

/// How long signals may wait while no function of the user's is called.
const SIGNALS: Duration = Duration::from_millis(50);

/// A run on a model. `tangor.Solver` is what people use.
#[pyclass(frozen, module = "tangor._tangor")]
pub struct Run {
    state: Mutex<Option<State>>,
    shared: Arc<Shared>,
    meta: Arc<Meta>,
    /// For Python's collector.
    root: Option<Py<Root>>,
}

struct State {
    solver: AnySolver,
    trace: Trace,
}

impl Run {
    fn start(
        py: Python<'_>,
        model: &Model,
        first: Option<First>,
        build: impl FnOnce(Box<dyn SampledProblem + Send>) -> Result<AnySolver, Error> + Send,
    ) -> PyResult<Self> {
        let (problem, shared) = model.for_run(first);
        let mut solver = py.detach(|| build(problem)).map_err(refused)?;
        shared.look_at_signals(py);
        if let Some(error) = shared.take_error() {
            return Err(error);
        }
        // After Ctrl-C the run has ended before it began, and the start is its best point.
        solver.interrupt(shared.interrupt.clone());
        solver.show_ventures(shared.ventures.clone());
        let state = Mutex::new(Some(State { solver, trace: Trace::default() }));
        let run = Run { state, shared, meta: model.meta(), root: model.root(py) };
        // A solver that is dropped before is parked nowhere.
        run.shared.lender.lend_outs(py)?;
        Ok(run)
    }

    /// One thread at a time, and no run inside of its own callback.
    fn state(&self) -> PyResult<MutexGuard<'_, Option<State>>> {
        match self.state.try_lock() {
            Ok(state) => Ok(state),
            Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => Err(PyRuntimeError::new_err("this solver is running already")),
        }
    }

    fn with<T>(&self, look: impl FnOnce(&mut State) -> PyResult<T>) -> PyResult<T> {
        let mut state = self.state()?;
        look(state.as_mut().ok_or_else(|| PyRuntimeError::new_err("this solver was closed"))?)
    }
}

/// Why a run could not begin, as Python says it.
fn refused(error: Error) -> PyErr {
    match error {
        Error::Memory(_) => PyMemoryError::new_err(error.to_string()),
        _ => PyValueError::new_err(error.to_string()),
    }
}

/// Shows rows to Python's callback, and lets signals through.
struct Watcher<'a> {
    callback: Option<Py<PyAny>>,
    shared: &'a Shared,
    trace: &'a mut Trace,
    asked: Instant,
}

impl Watcher<'_> {
    fn observe(&mut self, row: &Row, x: &[f64]) -> ControlFlow<()> {
        // A noisy run never evaluates its objective: what is not known is no number.
        let objective = if row.samples.total() > 0 { f64::NAN } else { row.objective };
        let row = &Row { objective, ..*row };
        self.trace.add(row, x);
        if self.callback.is_none() && self.asked.elapsed() < SIGNALS {
            return ControlFlow::Continue(());
        }
        self.asked = Instant::now();
        let wants_more = Python::attach(|py| {
            let told = py.check_signals().and_then(|()| match &self.callback {
                None => Ok(true),
                Some(callback) => {
                    let answer = deeper(|| parked::call(callback.bind(py), (PyRow::new(py, *row, x),), None));
                    match answer {
                        Ok(answer) => Ok(!(answer.extract::<bool>().unwrap_or(false))),
                        Err(error) if error.is_instance_of::<PyStopIteration>(py) => Ok(false),
                        Err(error) => Err(error),
                    }
                }
            });
            told.unwrap_or_else(|error| {
                self.shared.keep(py, error);
                false
            })
        });
        if wants_more { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}

#[pymethods]
impl Run {
    /// `before`: the samples of gradient, constraints and Jacobian that were taken for this run already. `first`: what functions gave at
    /// the start when the problem was read, as `tangor._first` has it.
    #[new]
    #[pyo3(signature = (model, settings_json, before=(0, 0, 0), first=None))]
    fn new(
        py: Python<'_>,
        model: &Bound<'_, Model>,
        settings_json: &str,
        before: (u64, u64, u64),
        first: Option<First>,
    ) -> PyResult<Self> {
        let settings = settings::read(settings_json)?;
        let before = Samples { gradient: before.0, constraints: before.1, jacobian: before.2 };
        Run::start(py, model.get(), first, |problem| Solver::sampled_after(problem, settings, before))
    }

    /// Goes on where a checkpoint was taken.
    #[staticmethod]
    fn resume(py: Python<'_>, model: &Bound<'_, Model>, checkpoint: PathBuf, settings_json: Option<&str>) -> PyResult<Self> {
        let mut checkpoint = Checkpoint::read(&checkpoint).map_err(|error| PyValueError::new_err(error.to_string()))?;
        if let Some(json) = settings_json {
            checkpoint.settings = settings::changed(&checkpoint.settings, json)?;
        }
        Run::start(py, model.get(), None, |problem| Solver::resume_sampled(problem, checkpoint))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.root)
    }

    /// So many iterations, or all; gives why the run ended, if it did.
    #[pyo3(signature = (callback=None, iterations=None))]
    fn advance(&self, py: Python<'_>, callback: Option<Py<PyAny>>, iterations: Option<u64>) -> PyResult<Option<String>> {
        let mut guard = self.state()?;
        let state = guard.as_mut().ok_or_else(|| PyRuntimeError::new_err("this solver was closed"))?;
        let State { solver, trace } = state;
        let mut watcher = Watcher { callback, shared: &self.shared, trace, asked: Instant::now() };
        let stop = py.detach(|| {
            let mut observer = |row: &Row, x: &[f64]| watcher.observe(row, x);
            let mut stop = None;
            for _ in 0..iterations.unwrap_or(u64::MAX) {
                stop = solver.advance(&mut observer);
                if stop.is_some() {
                    break;
                }
            }
            stop
        });
        self.shared.look_at_signals(py);
        match self.shared.take_error() {
            Some(error) => Err(error),
            None => Ok(stop.map(|stop| serde_json::json!(stop).as_str().unwrap_or_default().to_string())),
        }
    }

    /// The result so far.
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let made: Report = self.with(|state| Ok(state.solver.report()))?;
        let result = report::dictionary(py, &made, &self.meta)?;
        result.set_item("calls", self.shared.calls())?;
        Ok(result)
    }

    /// Lets the report say what was found by these tolerances, all of them as JSON.
    fn tell_by(&self, tolerance_json: &str) -> PyResult<()> {
        let refuse = |error: String| PyValueError::new_err(error);
        let tolerance: Tolerance = serde_json::from_str(tolerance_json).map_err(|error| refuse(error.to_string()))?;
        self.with(|state| state.solver.tell_by(tolerance).map_err(|error| refuse(error.to_string())))
    }

    /// The gradient of the objective at the best point; none where the run ended before it was evaluated there for the report.
    fn gradient<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray1<f64>>>> {
        self.with(|state| Ok(state.solver.confirmed_gradient().map(|gradient| PyArray1::from_slice(py, gradient))))
    }

    /// Ctrl-C was pressed while Python was at work beside the run, which ends.
    fn interrupt(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.shared.interrupt_by_keyboard();
        self.advance(py, None, None)
    }

    /// Whether Ctrl-C was pressed.
    fn is_interrupted(&self) -> bool {
        self.shared.is_interrupted()
    }

    /// The rows so far, by columns.
    fn trace<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.with(|state| state.trace.columns(py))
    }

    /// Writes all that a later run needs to go on from here.
    fn checkpoint(&self, file: PathBuf) -> PyResult<()> {
        let checkpoint = self.with(|state| Ok(state.solver.checkpoint()))?;
        checkpoint.write(&file).map_err(|error| PyOSError::new_err(error.to_string()))
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(state) = state {
            self.shared.lender.park(Box::new(state));
        }
    }
}
