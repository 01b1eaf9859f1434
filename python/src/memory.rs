//! The solver's memory as NumPy arrays.
//!
//! Up to [`LARGEST_COPY`] numbers a function gets an array of its own. Above that a copy would cost more than the call, so the function
//! gets the solver's memory itself. An array that the function keeps is told by its reference count: it gets a copy after all. Parts
//! of it that were kept, such as `x[:3]`, still look at the solver's memory, which therefore lives as long as they do: the solver is
//! parked in the [`Keeper`] that is their base.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use numpy::ndarray::ArrayView1;
use numpy::npyffi::flags::NPY_ARRAY_WRITEABLE;
use numpy::{PyArray1, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::prelude::*;

/// The most numbers that are copied for each call.
pub const LARGEST_COPY: usize = 10_000;

/// The base of arrays that look at the solver's memory.
#[pyclass(frozen, module = "tangor._tangor")]
pub struct Keeper {
    parked: Mutex<Option<Box<dyn Send>>>,
}

/// The base of an array that was kept: its own copy, and the memory that parts of it may still look at.
#[pyclass(frozen, module = "tangor._tangor")]
struct Kept {
    _values: Vec<f64>,
    _keeper: Py<PyAny>,
}

/// Lends memory to Python.
pub struct Lender {
    /// None: every array is a copy.
    keeper: Mutex<Option<Py<Keeper>>>,
    escaped: AtomicBool,
}

impl Lender {
    /// One that only copies.
    pub fn copying() -> Self {
        Lender { keeper: Mutex::new(None), escaped: AtomicBool::new(false) }
    }

    /// One that lends large arrays. Whoever owns the memory must call [`Lender::park`] in its place of dropping it.
    pub fn lending(py: Python<'_>) -> PyResult<Self> {
        let keeper = Py::new(py, Keeper { parked: Mutex::new(None) })?;
        Ok(Lender { keeper: Mutex::new(Some(keeper)), escaped: AtomicBool::new(false) })
    }

    fn keeper<'py>(&self, py: Python<'py>, length: usize) -> Option<Bound<'py, PyAny>> {
        if length <= LARGEST_COPY {
            return None;
        }
        let keeper = self.keeper.lock().unwrap_or_else(PoisonError::into_inner);
        keeper.as_ref().map(|keeper| keeper.bind(py).clone().into_any())
    }

    /// Lets a function look at values; what the function keeps of them is cut off from the solver's memory afterwards.
    pub fn show<'py, T>(
        &self,
        py: Python<'py>,
        values: &[f64],
        look: impl FnOnce(&Bound<'py, PyArray1<f64>>) -> PyResult<T>,
    ) -> PyResult<T> {
        let Some(keeper) = self.keeper(py, values.len()) else { return look(&PyArray1::from_slice(py, values)) };
        // SAFETY: the memory outlives the array, since a solver that lent memory which was kept is parked in the array's base.
        let array = unsafe { PyArray1::borrow_from_array(&ArrayView1::from(values), keeper) };
        // SAFETY: the array is ours alone so far.
        unsafe { (*array.as_array_ptr()).fields.flags &= !NPY_ARRAY_WRITEABLE };
        let looked = look(&array);
        self.cut_off(py, &array, values)?;
        looked
    }

    /// Lets a function write values.
    pub fn lend<'py, T>(
        &self,
        py: Python<'py>,
        values: &mut [f64],
        fill: impl FnOnce(&Bound<'py, PyArray1<f64>>) -> PyResult<T>,
    ) -> PyResult<T> {
        let Some(keeper) = self.keeper(py, values.len()) else {
            let array = PyArray1::from_slice(py, values);
            let filled = fill(&array)?;
            // SAFETY: the array is contiguous, and nobody writes to it while Python is attached here.
            values.copy_from_slice(unsafe { array.as_slice() }?);
            return Ok(filled);
        };
        // SAFETY: as above; nobody else looks at the memory while the function runs.
        let array = unsafe { PyArray1::borrow_from_array(&ArrayView1::from(&*values), keeper) };
        let filled = fill(&array);
        self.cut_off(py, &array, values)?;
        filled
    }

    fn cut_off(&self, py: Python<'_>, array: &Bound<'_, PyArray1<f64>>, values: &[f64]) -> PyResult<()> {
        // SAFETY: the pointer is that of a living object.
        if unsafe { pyo3::ffi::Py_REFCNT(array.as_ptr()) } <= 1 {
            return Ok(());
        }
        self.escaped.store(true, Ordering::Relaxed);
        // SAFETY: the object is an array whose base is our keeper; both fields change hands while Python is attached.
        unsafe {
            let fields = &mut (*array.as_array_ptr()).fields;
            let keeper = Bound::from_owned_ptr(py, fields.base).unbind();
            let mut copy = values.to_vec();
            fields.data = copy.as_mut_ptr().cast();
            fields.base = std::ptr::null_mut();
            let kept = Py::new(py, Kept { _values: copy, _keeper: keeper })?;
            fields.base = kept.into_ptr();
        }
        Ok(())
    }

    /// Drops the owner of the memory, or keeps it as long as somebody may look at it.
    pub fn park(&self, py: Python<'_>, owner: Box<dyn Send>) {
        // Without the lender's own reference there is no cycle.
        let keeper = self.keeper.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let (true, Some(keeper)) = (self.escaped.load(Ordering::Relaxed), keeper) {
            *keeper.bind(py).get().parked.lock().unwrap_or_else(PoisonError::into_inner) = Some(owner);
        }
    }
}
