//! Ipopt on Tangor's problems, through the same functions: a peer for comparisons.
//!
//! It needs Ipopt's library (Debian: `coinor-libipopt-dev`) and is linked only into programs that ask for it.

mod binding;
mod callbacks;

use std::ffi::{CString, c_void};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use tangor_problem::{Counts, Meta};

use callbacks::Functions;
pub use callbacks::{Derivatives, Progress};

/// When Ipopt gives up and when it is content. All else is Ipopt's default.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Most iterations.
    pub max_iterations: u64,
    /// Most seconds of processor time.
    pub seconds: f64,
    /// `tol`: the tolerance in Ipopt's own scaling.
    pub tolerance: f64,
    /// `dual_inf_tol`, `constr_viol_tol`, `compl_inf_tol`: the tolerance of the unscaled residuals, each in the maximum norm. Ipopt's
    /// defaults, which are looser, if there is none.
    pub unscaled: Option<f64>,
}

/// What Ipopt gives back, in the signs of Tangor.
#[derive(Clone, Debug)]
pub struct Solution {
    /// Ipopt's `ApplicationReturnStatus`.
    pub status: i32,
    /// The point.
    pub x: Vec<f64>,
    /// Multipliers of the constraints.
    pub row_multipliers: Vec<f64>,
    /// Multipliers of the bounds: those of the lower less those of the upper ones.
    pub bound_multipliers: Vec<f64>,
    /// Iterations.
    pub iterations: u64,
    /// Its course, iteration by iteration.
    pub course: Vec<Progress>,
    /// Evaluations of values and first derivatives.
    pub counts: Counts,
    /// Evaluations of the Hessian.
    pub hessians: u64,
    /// Wall time of Ipopt itself, without the making of its object and of its options.
    pub seconds: f64,
}

/// MUMPS, Ipopt's linear solver, has global variables: one run at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// Solves a problem; calls from several threads wait for each other. `None`: Ipopt did not take the problem or an option.
pub fn solve(mut derivatives: Derivatives, options: &Options) -> Option<Solution> {
    // A lock that somebody panicked with is as good as any: it guards nothing of ours.
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let meta = derivatives.problem().meta().clone();
    let handle = Handle::new(&meta, &derivatives)?;
    handle.set(&derivatives, options)?;
    let (n, m) = (meta.n(), meta.m());
    let mut x = meta.x0.clone();
    let (mut y, mut lower, mut upper) = (vec![0.0; m], vec![0.0; n], vec![0.0; n]);
    let mut functions = Functions { derivatives, counts: Counts::default(), hessians: 0, course: Vec::new() };
    let data: *mut Functions = &mut functions;
    let started = Instant::now();
    // SAFETY: all arrays have the declared lengths, null is allowed for what is not wanted, and `functions` outlives the call.
    let status = unsafe {
        binding::IpoptSolve(
            handle.0,
            x.as_mut_ptr(),
            std::ptr::null_mut(),
            std::ptr::null_mut(),
            y.as_mut_ptr(),
            lower.as_mut_ptr(),
            upper.as_mut_ptr(),
            data.cast::<c_void>(),
        )
    };
    let seconds = started.elapsed().as_secs_f64();
    // Back in the user's sign.
    let sense = meta.sense();
    y.iter_mut().for_each(|y| *y *= sense);
    Some(Solution {
        status,
        x,
        row_multipliers: y,
        bound_multipliers: lower.iter().zip(&upper).map(|(lower, upper)| sense * (lower - upper)).collect(),
        iterations: functions.course.last().map_or(0, |last| last.iteration),
        course: functions.course,
        counts: functions.counts,
        hessians: functions.hessians,
        seconds,
    })
}

/// Ipopt's own object, freed when it goes out of scope.
struct Handle(*mut c_void);

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: the pointer came from `CreateIpoptProblem` and is freed once.
        unsafe { binding::FreeIpoptProblem(self.0) }
    }
}

impl Handle {
    fn new(meta: &Meta, derivatives: &Derivatives) -> Option<Self> {
        let hessian_entries = match derivatives {
            Derivatives::First(_) => 0,
            Derivatives::Second(problem) => problem.hessian_pattern().len(meta.n(), meta.n()),
        };
        let size = |length: usize| i32::try_from(length).ok();
        // Ipopt would read from nowhere.
        if meta.m() > 0 && meta.jacobian_len() == 0 {
            return None;
        }
        // SAFETY: the bounds have the lengths n and m and are copied by Ipopt.
        let pointer = unsafe {
            binding::CreateIpoptProblem(
                size(meta.n())?,
                meta.x_lower.as_ptr(),
                meta.x_upper.as_ptr(),
                size(meta.m())?,
                meta.c_lower.as_ptr(),
                meta.c_upper.as_ptr(),
                size(meta.jacobian_len())?,
                size(hessian_entries)?,
                0,
                callbacks::objective,
                callbacks::constraints,
                callbacks::gradient,
                callbacks::jacobian,
                callbacks::hessian,
            )
        };
        (!pointer.is_null()).then_some(Handle(pointer))
    }

    fn set(&self, derivatives: &Derivatives, options: &Options) -> Option<()> {
        let mut words = vec![("sb", "yes")];
        if matches!(derivatives, Derivatives::First(_)) {
            words.push(("hessian_approximation", "limited-memory"));
        }
        let mut numbers = vec![("tol", options.tolerance), ("max_cpu_time", options.seconds)];
        if let Some(unscaled) = options.unscaled {
            numbers.extend(["dual_inf_tol", "constr_viol_tol", "compl_inf_tol"].map(|name| (name, unscaled)));
        }
        let whole = [("print_level", 0), ("max_iter", i32::try_from(options.max_iterations).unwrap_or(i32::MAX))];
        let text = |word: &str| CString::new(word).ok();
        for (name, value) in words {
            let (name, value) = (text(name)?, text(value)?);
            // SAFETY: the handle is valid, and both are C strings that live through the call.
            accepted(unsafe { binding::AddIpoptStrOption(self.0, name.as_ptr(), value.as_ptr()) })?;
        }
        for (name, value) in numbers {
            let name = text(name)?;
            // SAFETY: the handle is valid, and the name is a C string that lives through the call.
            accepted(unsafe { binding::AddIpoptNumOption(self.0, name.as_ptr(), value) })?;
        }
        for (name, value) in whole {
            let name = text(name)?;
            // SAFETY: likewise.
            accepted(unsafe { binding::AddIpoptIntOption(self.0, name.as_ptr(), value) })?;
        }
        // SAFETY: the handle is valid, and the callback has the signature that Ipopt declares.
        accepted(unsafe { binding::SetIntermediateCallback(self.0, callbacks::intermediate) })
    }
}

fn accepted(answer: binding::Bool) -> Option<()> {
    (answer & 0xff != 0).then_some(())
}
