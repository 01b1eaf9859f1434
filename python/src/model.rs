//! A problem that Python holds: Rust's own or one with Python's functions, with or without noise.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tangor_problem::{
    Draw, Evaluation, Exact, FunctionFailure, Meta, Outputs, Pattern, Problem, SampledProblem, Wanted, count_of,
};

use crate::cycles::Root;
use crate::definition::Definition;
use crate::functions::{First, Functions, raised};
use crate::sampled::{SampledDefinition, SampledFunctions};
use crate::shared::Shared;
use crate::values;

/// A problem. `tangor.Problem` and `tangor.SampledProblem` are what people use.
#[pyclass(frozen, subclass, module = "tangor._tangor")]
pub struct Model {
    source: Origin,
    meta: Arc<Meta>,
    /// For Python's collector; none where nothing is Python's.
    root: Option<Py<Root>>,
}

#[derive(Clone)]
enum Origin {
    Python(Arc<Definition>),
    Sampled(Arc<SampledDefinition>),
    Native(Shareable, Arc<Second>),
}

/// A problem with second derivatives, made when somebody asks for them.
struct Second {
    make: Box<dyn Fn() -> Option<Box<dyn Problem + Send>> + Send + Sync>,
    made: OnceLock<Option<Shareable>>,
}

type Shareable = Arc<Mutex<Box<dyn Problem + Send>>>;

/// A problem of Rust's that several runs may evaluate, one after the other.
struct Native {
    meta: Arc<Meta>,
    problem: Shareable,
}

impl Native {
    fn with<T>(&self, evaluate: impl FnOnce(&mut dyn Problem) -> T) -> T {
        evaluate(&mut **self.problem.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Problem for Native {
    fn meta(&self) -> &Meta {
        &self.meta
    }
    fn objective(&mut self, x: &[f64]) -> Evaluation<f64> {
        self.with(|problem| problem.objective(x))
    }
    fn gradient(&mut self, x: &[f64], g: &mut [f64]) -> Evaluation {
        self.with(|problem| problem.gradient(x, g))
    }
    fn constraints(&mut self, x: &[f64], c: &mut [f64]) -> Evaluation {
        self.with(|problem| problem.constraints(x, c))
    }
    fn jacobian(&mut self, x: &[f64], values: &mut [f64]) -> Evaluation {
        self.with(|problem| problem.jacobian(x, values))
    }
    fn evaluate(&mut self, x: &[f64], wanted: Wanted, out: &mut Outputs<'_>) -> Result<(), FunctionFailure> {
        self.with(|problem| problem.evaluate(x, wanted, out))
    }
}

impl Model {
    /// One of Rust's.
    pub fn native(problem: Box<dyn Problem + Send>) -> Self {
        Model::with_second(problem, || None)
    }

    /// One of Rust's, and how to get it with second derivatives where it has none itself.
    pub fn with_second(
        problem: Box<dyn Problem + Send>,
        make: impl Fn() -> Option<Box<dyn Problem + Send>> + Send + Sync + 'static,
    ) -> Self {
        let meta = Arc::new(problem.meta().clone());
        let second = Second { make: Box::new(make), made: OnceLock::new() };
        Model { source: Origin::Native(Arc::new(Mutex::new(problem)), Arc::new(second)), meta, root: None }
    }

    /// The problem without noise, if it is one.
    pub fn exact(&self, shared: &Arc<Shared>) -> Option<Box<dyn Problem + Send>> {
        match &self.source {
            Origin::Python(definition) => Some(Box::new(self.functions(definition, shared, First::default()))),
            Origin::Native(problem, _) => Some(Box::new(self.native_problem(problem))),
            Origin::Sampled(_) => None,
        }
    }

    /// The problem; one without noise is a sampled one that is exact.
    pub fn build(&self, shared: &Arc<Shared>) -> Box<dyn SampledProblem + Send> {
        self.build_after(shared, First::default())
    }

    fn build_after(&self, shared: &Arc<Shared>, first: First) -> Box<dyn SampledProblem + Send> {
        match &self.source {
            Origin::Python(definition) => Box::new(Exact(self.functions(definition, shared, first))),
            Origin::Native(problem, _) => Box::new(Exact(self.native_problem(problem))),
            Origin::Sampled(definition) => Box::new(SampledFunctions::new(self.meta.clone(), definition, shared.clone())),
        }
    }

    fn functions(&self, definition: &Arc<Definition>, shared: &Arc<Shared>, first: First) -> Functions {
        Functions::new(self.meta.clone(), definition, shared.clone(), first)
    }

    fn native_problem(&self, problem: &Shareable) -> Native {
        Native { meta: self.meta.clone(), problem: problem.clone() }
    }

    /// What Python's collector shall see of whoever evaluates this problem.
    pub fn root(&self, py: Python<'_>) -> Option<Py<Root>> {
        self.root.as_ref().map(|root| root.clone_ref(py))
    }

    /// Sizes, bounds and names.
    pub fn meta(&self) -> Arc<Meta> {
        self.meta.clone()
    }

    /// For a run, with what is known of the functions at the start.
    pub fn for_run(&self, first: Option<First>) -> (Box<dyn SampledProblem + Send>, Arc<Shared>) {
        let shared = Shared::of_run();
        (self.build_after(&shared, first.unwrap_or_default()), shared)
    }

    /// One evaluation over draws, with Python free for others where the problem is Rust's.
    fn evaluate<T: Send>(
        &self,
        py: Python<'_>,
        evaluate: impl FnOnce(&mut dyn SampledProblem) -> Evaluation<T> + Send,
    ) -> PyResult<T> {
        let shared = Shared::of_question();
        let mut problem = self.build(&shared);
        py.detach(|| evaluate(&mut *problem)).map_err(|failure| raised(&shared, failure))
    }

    fn point<'a>(&self, x: &'a PyReadonlyArray1<'_, f64>) -> PyResult<&'a [f64]> {
        let x = x.as_slice()?;
        match x.len() == self.meta.n() {
            true => Ok(x),
            false => {
                let (given, n) = (x.len(), self.meta.n());
                Err(PyValueError::new_err(format!(
                    "the point has {}, but {} has {}",
                    count_of(given, "number"),
                    self.meta.name,
                    count_of(n, "variable")
                )))
            }
        }
    }
}

#[pymethods]
impl Model {
    #[new]
    fn new(definition: &Bound<'_, PyDict>) -> PyResult<Self> {
        let (py, definition) = (definition.py(), Arc::new(Definition::new(definition)?));
        let (meta, root) = (Arc::new(definition.meta.clone()), Some(Root::of(py, definition.clone())?));
        Ok(Model { meta, root, source: Origin::Python(definition) })
    }

    /// A noisy problem.
    #[staticmethod]
    fn sampled(definition: &Bound<'_, PyDict>) -> PyResult<Self> {
        let (py, definition) = (definition.py(), Arc::new(SampledDefinition::new(definition)?));
        let (meta, root) = (Arc::new(definition.meta.clone()), Some(Root::of(py, definition.clone())?));
        Ok(Model { meta, root, source: Origin::Sampled(definition) })
    }

    /// The same problem with another start.
    fn starting_at(&self, py: Python<'_>, x0: PyReadonlyArray1<'_, f64>) -> PyResult<Self> {
        let meta = Meta { x0: self.point(&x0)?.to_vec(), ..(*self.meta).clone() };
        meta.validate().map_err(|error| PyValueError::new_err(format!("{}: {error}", meta.name)))?;
        Ok(Model { source: self.source.clone(), meta: Arc::new(meta), root: self.root(py) })
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.root)
    }

    /// The plain data: sizes, bounds, names, pattern of the Jacobian.
    fn data<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        data(py, &self.meta)
    }

    /// The lower triangle of the Hessian of the Lagrangian as rows, columns and values; none where the problem does not know it.
    fn hessian<'py>(
        &self,
        py: Python<'py>,
        x: PyReadonlyArray1<'py, f64>,
        sigma: f64,
        y: PyReadonlyArray1<'py, f64>,
    ) -> PyResult<Option<PyTriangle<'py>>> {
        let (x, y) = (self.point(&x)?, y.as_slice()?);
        let Origin::Native(problem, second) = &self.source else { return Ok(None) };
        if y.len() != self.meta.m() {
            return Err(PyValueError::new_err(format!("there are {} multipliers, but {} constraints", y.len(), self.meta.m())));
        }
        let found = py.detach(|| {
            lower_triangle(problem, x, sigma, y).or_else(|| {
                let made = second.made.get_or_init(|| (second.make)().map(|problem| Arc::new(Mutex::new(problem))));
                made.as_ref().and_then(|problem| lower_triangle(problem, x, sigma, y))
            })
        });
        let Some(found) = found else { return Ok(None) };
        let (rows, columns, values) = found.map_err(|failure| PyValueError::new_err(failure.to_string()))?;
        Ok(Some((PyArray1::from_vec(py, rows), PyArray1::from_vec(py, columns), PyArray1::from_vec(py, values))))
    }

    #[pyo3(signature = (x, draws=Vec::new()))]
    fn objective(&self, py: Python<'_>, x: PyReadonlyArray1<'_, f64>, draws: Vec<u64>) -> PyResult<f64> {
        let (x, draws) = (self.point(&x)?, numbers(draws));
        self.evaluate(py, |problem| problem.objective(x, &draws).unwrap_or(Ok(f64::NAN)))
    }

    #[pyo3(signature = (x, draws=Vec::new()))]
    fn gradient<'py>(&self, py: Python<'py>, x: PyReadonlyArray1<'py, f64>, draws: Vec<u64>) -> Vector<'py> {
        let (x, draws, mut g) = (self.point(&x)?, numbers(draws), vec![0.0; self.meta.n()]);
        self.evaluate(py, |problem| problem.gradient(x, &draws, &mut g))?;
        Ok(PyArray1::from_vec(py, g))
    }

    #[pyo3(signature = (x, draws=Vec::new()))]
    fn constraints<'py>(&self, py: Python<'py>, x: PyReadonlyArray1<'py, f64>, draws: Vec<u64>) -> Vector<'py> {
        let (x, draws, mut c) = (self.point(&x)?, numbers(draws), vec![0.0; self.meta.m()]);
        if !c.is_empty() {
            self.evaluate(py, |problem| problem.constraints(x, &draws, &mut c))?;
        }
        Ok(PyArray1::from_vec(py, c))
    }

    /// The values of the Jacobian in the order of its pattern.
    #[pyo3(signature = (x, draws=Vec::new()))]
    fn jacobian<'py>(&self, py: Python<'py>, x: PyReadonlyArray1<'py, f64>, draws: Vec<u64>) -> Vector<'py> {
        let (x, draws) = (self.point(&x)?, numbers(draws));
        let mut values = values::zeros(self.meta.jacobian_len(), "the Jacobian")?;
        if self.meta.m() > 0 {
            self.evaluate(py, |problem| problem.jacobian(x, &draws, &mut values))?;
        }
        Ok(PyArray1::from_vec(py, values))
    }
}

type Indices<'py> = Bound<'py, PyArray1<i64>>;
type PyTriangle<'py> = (Indices<'py>, Indices<'py>, Bound<'py, PyArray1<f64>>);
type Triangle = (Vec<i64>, Vec<i64>, Vec<f64>);

fn lower_triangle(problem: &Shareable, x: &[f64], sigma: f64, y: &[f64]) -> Option<Evaluation<Triangle>> {
    let mut problem = problem.lock().unwrap_or_else(PoisonError::into_inner);
    let n = x.len();
    let second = problem.second_order()?;
    let length = second.hessian_pattern().len(n, n);
    let places: Vec<(usize, usize)> = (0..length).map(|k| second.hessian_pattern().place(k, n)).collect();
    let mut values = vec![0.0; length];
    let done = second.hessian(x, sigma, y, &mut values);
    let index = |of: fn(&(usize, usize)) -> usize| places.iter().map(|place| of(place) as i64).collect();
    Some(done.map(|()| (index(|place| place.0), index(|place| place.1), values)))
}

type Vector<'py> = PyResult<Bound<'py, PyArray1<f64>>>;

fn numbers(draws: Vec<u64>) -> Vec<Draw> {
    draws.into_iter().map(Draw).collect()
}

/// The plain data of a problem, for Python.
pub fn data<'py>(py: Python<'py>, meta: &Meta) -> PyResult<Bound<'py, PyDict>> {
    let data = PyDict::new(py);
    data.set_item("name", &meta.name)?;
    for (key, values) in [
        ("x0", &meta.x0),
        ("x_lower", &meta.x_lower),
        ("x_upper", &meta.x_upper),
        ("c_lower", &meta.c_lower),
        ("c_upper", &meta.c_upper),
    ] {
        data.set_item(key, PyArray1::from_slice(py, values))?;
    }
    data.set_item("variable_names", &meta.variable_names)?;
    data.set_item("row_names", &meta.row_names)?;
    data.set_item("linear_rows", &meta.linear_rows)?;
    data.set_item("has_objective", meta.has_objective)?;
    data.set_item("maximise", meta.maximise)?;
    data.set_item("n", meta.n())?;
    data.set_item("m", meta.m())?;
    match &meta.jacobian {
        Pattern::Dense => data.set_item("pattern", py.None())?,
        Pattern::Sparse { rows, columns } => {
            let index = |places: &[usize]| PyArray1::from_iter(py, places.iter().map(|place| *place as i64));
            data.set_item("pattern", (index(rows), index(columns)))?;
        }
    }
    Ok(data)
}
