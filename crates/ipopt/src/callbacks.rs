//! Ipopt's questions, answered by a problem.

use std::ffi::{c_double, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::slice::{from_raw_parts, from_raw_parts_mut};

use tangor_problem::{Counts, Evaluation, Pattern, Problem, SecondOrder};

use crate::binding::{Bool, Index};

/// The problem behind the callbacks.
pub struct Functions<'a> {
    pub derivatives: Derivatives<'a>,
    pub counts: Counts,
    pub hessians: u64,
    pub course: Vec<Progress>,
}

/// Where Ipopt was after an iteration: residuals in the maximum norm and in its own scaling.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// The iteration.
    pub iteration: u64,
    /// Violation of the constraints.
    pub feasibility: f64,
    /// Dual infeasibility; none during a restoration phase, where Ipopt gives that of another problem.
    pub stationarity: Option<f64>,
}

/// A problem with first or second derivatives.
pub enum Derivatives<'a> {
    /// First derivatives.
    First(&'a mut dyn Problem),
    /// First and second derivatives.
    Second(&'a mut dyn SecondOrder),
}

impl Derivatives<'_> {
    pub(crate) fn problem(&mut self) -> &mut dyn Problem {
        match self {
            Derivatives::First(problem) => *problem,
            Derivatives::Second(problem) => *problem,
        }
    }
}

/// Evaluates into `values`. A failure, a panic and a value that is not finite all mean to Ipopt: shorten the step.
fn evaluated(values: &mut [f64], evaluate: impl FnOnce(&mut [f64]) -> Evaluation) -> Bool {
    let done = catch_unwind(AssertUnwindSafe(|| evaluate(values)));
    Bool::from(matches!(done, Ok(Ok(()))) && values.iter().all(|value| value.is_finite()))
}

// Safety of all callbacks, to which the notes below refer as "Ipopt's promise": Ipopt passes arrays of the lengths that were declared
// when the problem was made, aligned and alive during the call, arrays to write into apart from those to read; and as `data` the
// pointer to `Functions` that was given to `IpoptSolve`, which outlives the run and which nobody else uses during a call.

/// `f(x)`.
///
/// # Safety
/// To be called by Ipopt only, with what it promises.
pub unsafe extern "C" fn objective(n: Index, x: *mut c_double, _: Bool, f: *mut c_double, data: *mut c_void) -> Bool {
    // SAFETY: `data` is ours and `x` has n entries, by Ipopt's promise.
    let (functions, x) = unsafe { (&mut *data.cast::<Functions>(), from_raw_parts(x, n as usize)) };
    // SAFETY: `f` is one number to write, by Ipopt's promise.
    let f = unsafe { &mut *f };
    *f = 0.0;
    let problem = functions.derivatives.problem();
    if !problem.meta().has_objective {
        return 1;
    }
    functions.counts.objective += 1;
    evaluated(std::slice::from_mut(f), |f| {
        // Ipopt minimises.
        f[0] = problem.meta().sense() * problem.objective(x)?;
        Ok(())
    })
}

/// The gradient of `f`.
///
/// # Safety
/// To be called by Ipopt only, with what it promises.
pub unsafe extern "C" fn gradient(n: Index, x: *mut c_double, _: Bool, g: *mut c_double, data: *mut c_void) -> Bool {
    // SAFETY: `data` is ours and `x` has n entries, by Ipopt's promise.
    let (functions, x) = unsafe { (&mut *data.cast::<Functions>(), from_raw_parts(x, n as usize)) };
    // SAFETY: `g` has n entries, by Ipopt's promise.
    let g = unsafe { from_raw_parts_mut(g, n as usize) };
    g.fill(0.0);
    let problem = functions.derivatives.problem();
    if !problem.meta().has_objective {
        return 1;
    }
    functions.counts.gradient += 1;
    let sense = problem.meta().sense();
    evaluated(g, |g| {
        problem.gradient(x, g)?;
        g.iter_mut().for_each(|g| *g *= sense);
        Ok(())
    })
}

/// `c(x)`.
///
/// # Safety
/// To be called by Ipopt only, with what it promises.
pub unsafe extern "C" fn constraints(
    n: Index,
    x: *mut c_double,
    _: Bool,
    m: Index,
    c: *mut c_double,
    data: *mut c_void,
) -> Bool {
    if m == 0 {
        return 1;
    }
    // SAFETY: `data` is ours and `x` has n entries, by Ipopt's promise.
    let (functions, x) = unsafe { (&mut *data.cast::<Functions>(), from_raw_parts(x, n as usize)) };
    // SAFETY: `c` has m entries, by Ipopt's promise.
    let c = unsafe { from_raw_parts_mut(c, m as usize) };
    functions.counts.constraints += 1;
    evaluated(c, |c| functions.derivatives.problem().constraints(x, c))
}

/// The Jacobian: its pattern when there are no `values`, else its values.
///
/// # Safety
/// To be called by Ipopt only, with what it promises.
pub unsafe extern "C" fn jacobian(
    n: Index,
    x: *mut c_double,
    _: Bool,
    m: Index,
    entries: Index,
    rows: *mut Index,
    columns: *mut Index,
    values: *mut c_double,
    data: *mut c_void,
) -> Bool {
    if m == 0 || entries == 0 {
        return 1;
    }
    // SAFETY: `data` is ours, by Ipopt's promise.
    let functions = unsafe { &mut *data.cast::<Functions>() };
    let entries = entries as usize;
    if values.is_null() {
        // SAFETY: without `values`, both arrays have as many places as there are entries, by Ipopt's promise.
        let (rows, columns) = unsafe { (from_raw_parts_mut(rows, entries), from_raw_parts_mut(columns, entries)) };
        let problem = functions.derivatives.problem();
        let meta = problem.meta();
        fill_pattern(&meta.jacobian, meta.n(), rows, columns);
        return 1;
    }
    // SAFETY: with `values`, `x` has n entries and `values` as many as declared, by Ipopt's promise.
    let (x, values) = unsafe { (from_raw_parts(x, n as usize), from_raw_parts_mut(values, entries)) };
    functions.counts.jacobian += 1;
    evaluated(values, |values| functions.derivatives.problem().jacobian(x, values))
}

/// The Hessian of the Lagrangian: its pattern when there are no `values`, else its values.
///
/// # Safety
/// To be called by Ipopt only, with what it promises.
pub unsafe extern "C" fn hessian(
    n: Index,
    x: *mut c_double,
    _: Bool,
    sigma: c_double,
    m: Index,
    y: *mut c_double,
    _: Bool,
    entries: Index,
    rows: *mut Index,
    columns: *mut Index,
    values: *mut c_double,
    data: *mut c_void,
) -> Bool {
    // SAFETY: `data` is ours, by Ipopt's promise.
    let functions = unsafe { &mut *data.cast::<Functions>() };
    let Derivatives::Second(problem) = &mut functions.derivatives else { return 0 };
    if entries == 0 {
        return 1;
    }
    let entries = entries as usize;
    if values.is_null() {
        // SAFETY: without `values`, both arrays have as many places as there are entries, by Ipopt's promise.
        let (rows, columns) = unsafe { (from_raw_parts_mut(rows, entries), from_raw_parts_mut(columns, entries)) };
        fill_pattern(problem.hessian_pattern(), n as usize, rows, columns);
        return 1;
    }
    // SAFETY: with `values`, `x` has n entries and `values` as many as declared, by Ipopt's promise.
    let (x, values) = unsafe { (from_raw_parts(x, n as usize), from_raw_parts_mut(values, entries)) };
    // SAFETY: `y` has m entries, by Ipopt's promise; without constraints it may be null and is not read.
    let y: &[f64] = if m == 0 { &[] } else { unsafe { from_raw_parts(y, m as usize) } };
    functions.hessians += 1;
    evaluated(values, |values| problem.hessian(x, problem.meta().sense() * sigma, y, values))
}

/// Notes where Ipopt is.
///
/// # Safety
/// To be called by Ipopt only, with what it promises.
pub unsafe extern "C" fn intermediate(
    phase: Index,
    iteration: Index,
    _: c_double,
    feasibility: c_double,
    stationarity: c_double,
    _: c_double,
    _: c_double,
    _: c_double,
    _: c_double,
    _: c_double,
    _: Index,
    data: *mut c_void,
) -> Bool {
    // SAFETY: `data` is ours, by Ipopt's promise.
    let functions = unsafe { &mut *data.cast::<Functions>() };
    let (iteration, regular) = (u64::from(iteration.unsigned_abs()), phase == 0);
    functions.course.push(Progress { iteration, feasibility, stationarity: regular.then_some(stationarity) });
    1
}

fn fill_pattern(pattern: &Pattern, n: usize, rows: &mut [Index], columns: &mut [Index]) {
    for k in 0..rows.len() {
        let (row, column) = pattern.place(k, n);
        (rows[k], columns[k]) = (row as Index, column as Index);
    }
}
