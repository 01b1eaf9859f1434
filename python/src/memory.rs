//! The solver's memory as NumPy arrays.
//!
//! Up to [`LARGEST_COPY`] numbers a function gets an array of its own. Above that a copy would cost more than the call, so the function
//! gets the memory of the solver's point itself, in shares: the solver has one, and the [`Keeper`] that is the base of the arrays has another.
//! What a function keeps, the array or a part of it such as `x[:3]`, keeps the base; the solver then writes its next point elsewhere
//! ([`Lender::place`]), so that whatever was kept stays as it was.
//!
//! An array `out` into which a function writes is the solver's memory without shares, where the function gave its first one back. Who
//! keeps a later one sees it change, has copies from then on, and keeps the whole solver alive: it is parked in the base.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use numpy::ndarray::ArrayView1;
use numpy::npyffi::flags::NPY_ARRAY_WRITEABLE;
use numpy::{PyArray1, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::prelude::*;

/// The most numbers that are copied for each call.
pub const LARGEST_COPY: usize = 10_000;

/// The base of arrays that look at a point of the solver's.
#[pyclass(frozen, module = "tangor._tangor")]
struct Keeper(Arc<Vec<f64>>);

/// The base of arrays into which functions write.
#[pyclass(frozen, module = "tangor._tangor")]
struct Parking(Mutex<Option<Box<dyn Send>>>);

/// Lends memory to Python.
#[derive(Default)]
pub struct Lender {
    /// The points that are lent, as long as the solver has them where they are. None: every array is a copy.
    points: Option<Mutex<Vec<Py<Keeper>>>>,
    /// Where functions write; none as long as the solver is not yet where it can be parked, and where a function has kept an array.
    outs: Mutex<Option<Py<Parking>>>,
    /// Whether a function has kept an array into which it wrote: a copy, or the solver's memory.
    keeps_outs: AtomicBool,
    escaped: Mutex<Option<Py<Parking>>>,
}

impl Lender {
    /// One that only copies.
    pub fn copying() -> Self {
        Lender::default()
    }

    /// One that lends points in [`Lender::place`], and memory to write into after [`Lender::lend_outs`].
    pub fn lending() -> Self {
        Lender { points: Some(Mutex::default()), ..Lender::default() }
    }

    /// From now on functions may write into the solver's memory. Whoever owns it must call [`Lender::park`] in its place of dropping it.
    pub fn lend_outs(&self, py: Python<'_>) -> PyResult<()> {
        if !self.keeps_outs.load(Ordering::Relaxed) {
            *locked(&self.outs) = Some(Py::new(py, Parking(Mutex::new(None)))?);
        }
        Ok(())
    }

    /// Lets the solver write another point, in the same memory unless somebody still looks at the last one.
    pub fn place(&self, x: &mut Arc<Vec<f64>>, write: &mut dyn FnMut(&mut [f64])) {
        let Some(points) = self.points.as_ref().filter(|_| x.len() > LARGEST_COPY) else {
            return write(Arc::make_mut(x).as_mut_slice());
        };
        Python::attach(|py| {
            let mut points = locked(points);
            if let Some(place) = points.iter().position(|keeper| Arc::ptr_eq(&keeper.get().0, x)) {
                let keeper = points.swap_remove(place);
                if is_kept(keeper.bind(py)) {
                    *x = Arc::new(vec![0.0; x.len()]);
                }
            }
        });
        write(Arc::make_mut(x).as_mut_slice());
        // Without a keeper the point is copied, which is right, too.
        Python::attach(|py| Py::new(py, Keeper(x.clone())).map(|keeper| locked(points).push(keeper))).unwrap_or(());
    }

    fn keeper<'py>(&self, py: Python<'py>, values: &[f64]) -> Option<Bound<'py, Keeper>> {
        let points = self.points.as_ref().filter(|_| values.len() > LARGEST_COPY)?;
        let points = locked(points);
        let found = points.iter().find(|keeper| std::ptr::eq(keeper.get().0.as_slice(), values));
        found.map(|keeper| keeper.bind(py).clone())
    }

    /// Lets a function look at values.
    pub fn show<'py, T>(
        &self,
        py: Python<'py>,
        values: &[f64],
        look: impl FnOnce(&Bound<'py, PyArray1<f64>>) -> PyResult<T>,
    ) -> PyResult<T> {
        let Some(keeper) = self.keeper(py, values) else { return look(&PyArray1::from_slice(py, values)) };
        // SAFETY: the memory is that of the keeper, which is the array's base and never writes to it.
        let array = unsafe { PyArray1::borrow_from_array(&ArrayView1::from(values), keeper.into_any()) };
        // SAFETY: the array is ours alone so far.
        unsafe { (*array.as_array_ptr()).fields.flags &= !NPY_ARRAY_WRITEABLE };
        look(&array)
    }

    /// Lets a function write values.
    pub fn lend<'py, T>(
        &self,
        py: Python<'py>,
        values: &mut [f64],
        fill: impl FnOnce(&Bound<'py, PyArray1<f64>>) -> PyResult<T>,
    ) -> PyResult<T> {
        let outs = locked(&self.outs).as_ref().filter(|_| values.len() > LARGEST_COPY).map(|outs| outs.clone_ref(py));
        let Some(outs) = outs else {
            let array = PyArray1::from_slice(py, values);
            let filled = fill(&array)?;
            if is_kept(&array) {
                self.keeps_outs.store(true, Ordering::Relaxed);
            }
            // SAFETY: the array is contiguous, and nobody writes to it while Python is attached here.
            values.copy_from_slice(unsafe { array.as_slice() }?);
            return Ok(filled);
        };
        // SAFETY: the memory outlives the array, since a solver that lent memory which was kept is parked in the array's base; nobody else
        // looks at the memory while the function runs.
        let array = unsafe { PyArray1::borrow_from_array(&ArrayView1::from(&*values), outs.bind(py).clone().into_any()) };
        let filled = fill(&array);
        if is_kept(&array) {
            *locked(&self.escaped) = Some(outs);
            *locked(&self.outs) = None;
        }
        filled
    }

    /// Drops the owner of the memory, or keeps it as long as somebody may look at it.
    pub fn park(&self, owner: Box<dyn Send>) {
        if let Some(parking) = locked(&self.escaped).take() {
            *locked(&parking.get().0) = Some(owner);
        }
    }
}

/// Whether somebody but us has the object: of an array also by a part of it, whose base it is.
fn is_kept<T>(object: &Bound<'_, T>) -> bool {
    // SAFETY: the pointer is that of a living object.
    unsafe { pyo3::ffi::Py_REFCNT(object.as_ptr()) > 1 }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
