//! A problem as Python states it: its data, and which functions give what.

use std::ops::Range;

use numpy::PyReadonlyArray1;
use pyo3::exceptions::{PyMemoryError, PyTypeError, PyValueError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use tangor_problem::{Meta, Pattern};

use crate::call::Call;
use crate::cycles::Holds;
use crate::differences::{self, Scheme};
use crate::sparse::Rows;

/// All that is known of a problem whose functions are Python's.
pub struct Definition {
    /// Sizes, bounds, names, start and pattern.
    pub meta: Meta,
    /// The objective, if there is one and it stands alone.
    pub objective: Option<Objective>,
    /// The constraints, those that belong together in a block.
    pub blocks: Vec<Block>,
    /// One function for all: `evaluate(x) -> (f, g, c, J)`.
    pub evaluate: Option<Call>,
    /// Threads in which functions may be called, as `tangor._threads.Threads`; none: in that of the run alone.
    pub threads: Option<Py<PyAny>>,
}

/// The objective.
pub struct Objective {
    /// `f(x)`
    pub value: Call,
    /// Its gradient.
    pub slope: Slope,
}

/// Where a derivative comes from.
pub enum Slope {
    /// From a function of its own.
    Given(Call),
    /// The function gives value and derivative.
    Together,
    /// It is estimated.
    Estimated(Estimation),
}

/// How a derivative is estimated.
pub struct Estimation {
    /// Which differences.
    pub scheme: Scheme,
    /// The step relative to `max(1, |x|)`: none for the usual one, one for all or one per variable.
    steps: Vec<f64>,
    /// Columns that are moved together.
    pub groups: Vec<Vec<usize>>,
}

impl Estimation {
    /// The relative step of a variable.
    pub fn step(&self, i: usize) -> Option<f64> {
        self.steps.get(i).or(self.steps.first()).copied()
    }
}

/// Constraints that one function gives.
pub struct Block {
    /// What messages call it.
    pub label: String,
    /// What they call its Jacobian.
    pub jacobian_label: String,
    /// Which rows.
    pub rows: Range<usize>,
    /// Which values of the Jacobian.
    pub entries: Range<usize>,
    /// Where its entries are; none when it has all.
    pub pattern: Option<Rows>,
    /// What it does.
    pub kind: Kind,
}

/// What a block of constraints does.
pub enum Kind {
    /// `A x`, the values of `A` in the order of the pattern.
    Linear(Vec<f64>),
    /// A function.
    Nonlinear {
        /// `c(x)`
        value: Call,
        /// Its Jacobian.
        slope: Slope,
    },
    /// The function for all.
    Fused,
}

/// `(function, args, takes out)`
type GivenCall = (Py<PyAny>, Py<PyTuple>, bool);

impl Definition {
    /// Reads what the Python layer prepared.
    pub fn new(data: &Bound<'_, PyDict>) -> PyResult<Self> {
        let meta = meta(data)?;
        let n = meta.n();
        let py = data.py();
        let objective = match wanted(data, "objective")? {
            given if given.is_none() => None,
            given => {
                let given = given.cast_into::<PyDict>()?;
                let value = Call::new(wanted(&given, "value")?.extract()?, py);
                Some(Objective { value, slope: slope(&given, None, n)? })
            }
        };
        let evaluate = wanted(data, "evaluate")?.extract::<Option<GivenCall>>()?.map(|given| Call::new(given, py));
        let threads = wanted(data, "threads")?.extract::<Option<Py<PyAny>>>()?;
        let mut definition = Definition { meta, objective, blocks: Vec::new(), evaluate, threads };
        for block in wanted(data, "blocks")?.try_iter()? {
            definition.add(block?.cast_into::<PyDict>()?)?;
        }
        definition.set_pattern()?;
        definition.meta.validate().map_err(|error| PyValueError::new_err(format!("{}: {error}", definition.meta.name)))?;
        Ok(definition)
    }

    fn add(&mut self, given: Bound<'_, PyDict>) -> PyResult<()> {
        let n = self.meta.n();
        let first = self.blocks.last().map_or((0, 0), |last| (last.rows.end, last.entries.end));
        let count: usize = wanted(&given, "rows")?.extract()?;
        let pattern = match wanted(&given, "pattern")?.extract::<Option<(Vec<usize>, Vec<usize>)>>()? {
            None => None,
            Some((start, columns)) => Some(Rows::new(n, start, columns)?),
        };
        if pattern.as_ref().is_some_and(|pattern| pattern.m() != count) || first.0 + count > self.meta.m() {
            return Err(PyValueError::new_err("the rows of a block of constraints and those of its pattern disagree"));
        }
        let length = pattern.as_ref().map_or(count.saturating_mul(n), |pattern| pattern.columns.len());
        let linear = wanted(&given, "linear")?.extract::<Option<PyReadonlyArray1<'_, f64>>>()?;
        let kind = match (linear, wanted(&given, "value")?.extract::<Option<GivenCall>>()?) {
            (Some(values), _) if values.len()? == length => Kind::Linear(values.as_slice()?.to_vec()),
            (Some(_), _) => return Err(PyValueError::new_err("a linear block has not as many values as places")),
            (None, Some(value)) => {
                Kind::Nonlinear { value: Call::new(value, given.py()), slope: slope(&given, pattern.as_ref(), n)? }
            }
            (None, None) => Kind::Fused,
        };
        let label: String = wanted(&given, "label")?.extract()?;
        let jacobian_label = format!("the Jacobian of {label}");
        let (rows, entries) = (first.0..first.0 + count, first.1..first.1.saturating_add(length));
        self.blocks.push(Block { label, jacobian_label, rows, entries, pattern, kind });
        Ok(())
    }

    /// Dense where all blocks are. Some that are dense among others that are not may be too large for any memory.
    fn set_pattern(&mut self) -> PyResult<()> {
        if self.blocks.iter().all(|block| block.pattern.is_none()) {
            return Ok(());
        }
        let length = self.blocks.last().map_or(0, |last| last.entries.end);
        let (mut rows, mut columns) = (Vec::new(), Vec::new());
        rows.try_reserve_exact(length).and_then(|()| columns.try_reserve_exact(length)).map_err(|_| {
            PyMemoryError::new_err(format!("the Jacobian has {length} entries, too many for memory: state which are not zero"))
        })?;
        for block in &self.blocks {
            for row in 0..block.rows.len() {
                let before = columns.len();
                match &block.pattern {
                    Some(pattern) => columns.extend_from_slice(&pattern.columns[pattern.start[row]..pattern.start[row + 1]]),
                    None => columns.extend(0..self.meta.n()),
                }
                rows.extend(std::iter::repeat_n(block.rows.start + row, columns.len() - before));
            }
        }
        self.meta.jacobian = Pattern::Sparse { rows, columns };
        Ok(())
    }
}

impl Holds for Definition {
    fn show(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.threads)?;
        let objective = self.objective.iter().map(|objective| (&objective.value, &objective.slope));
        let rows = self.blocks.iter().filter_map(|block| match &block.kind {
            Kind::Nonlinear { value, slope } => Some((value, slope)),
            Kind::Linear(_) | Kind::Fused => None,
        });
        for (value, slope) in objective.chain(rows) {
            value.show(visit)?;
            if let Slope::Given(call) = slope {
                call.show(visit)?;
            }
        }
        self.evaluate.iter().try_for_each(|call| call.show(visit))
    }
}

/// What the Python layer must have given.
pub fn wanted<'py>(data: &Bound<'py, PyDict>, key: &str) -> PyResult<Bound<'py, PyAny>> {
    data.get_item(key)?.ok_or_else(|| PyTypeError::new_err(format!("the definition of a problem lacks {key:?}")))
}

/// The plain data of a problem.
pub fn meta(data: &Bound<'_, PyDict>) -> PyResult<Meta> {
    let vector = |key: &str| -> PyResult<Vec<f64>> {
        Ok(wanted(data, key)?.extract::<PyReadonlyArray1<'_, f64>>()?.as_slice()?.to_vec())
    };
    let mut meta = Meta::new(wanted(data, "name")?.extract::<String>()?, vector("x0")?);
    meta = meta.bounds(&vector("x_lower")?, &vector("x_upper")?).rows(&vector("c_lower")?, &vector("c_upper")?);
    meta.variable_names = wanted(data, "variable_names")?.extract()?;
    meta.row_names = wanted(data, "row_names")?.extract()?;
    meta.linear_rows = wanted(data, "linear_rows")?.extract()?;
    meta.has_objective = wanted(data, "has_objective")?.extract()?;
    meta.maximise = wanted(data, "maximise")?.extract()?;
    Ok(meta)
}

/// `slope` is a function, `True`, or the name of a scheme.
fn slope(given: &Bound<'_, PyDict>, pattern: Option<&Rows>, n: usize) -> PyResult<Slope> {
    let slope = wanted(given, "slope")?;
    if let Ok(name) = slope.extract::<String>() {
        let scheme = Scheme::named(&name).ok_or_else(|| PyValueError::new_err(format!("there are no differences {name:?}")))?;
        let steps = wanted(given, "steps")?.extract()?;
        let groups = pattern.map_or_else(|| (0..n).map(|i| vec![i]).collect(), differences::groups);
        return Ok(Slope::Estimated(Estimation { scheme, steps, groups }));
    }
    match slope.extract::<bool>() {
        Ok(true) => Ok(Slope::Together),
        _ => Ok(Slope::Given(Call::new(slope.extract()?, given.py()))),
    }
}
