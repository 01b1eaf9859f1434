//! The part of Ipopt's C interface (`IpStdCInterface.h`) that is used here.
//!
//! Its `Bool` was an `int` before version 3.14 and is a `bool` since. As an argument it is never read, as a result of a callback
//! the register holds 0 or 1 either way, and of a returned one only the lowest byte is looked at: both versions are understood.

use std::ffi::{c_char, c_double, c_int, c_void};

pub type Index = c_int;
pub type Bool = c_int;

pub type Objective = unsafe extern "C" fn(Index, *mut c_double, Bool, *mut c_double, *mut c_void) -> Bool;
pub type Gradient = unsafe extern "C" fn(Index, *mut c_double, Bool, *mut c_double, *mut c_void) -> Bool;
pub type Constraints = unsafe extern "C" fn(Index, *mut c_double, Bool, Index, *mut c_double, *mut c_void) -> Bool;
pub type Jacobian =
    unsafe extern "C" fn(Index, *mut c_double, Bool, Index, Index, *mut Index, *mut Index, *mut c_double, *mut c_void) -> Bool;
pub type Hessian = unsafe extern "C" fn(
    Index,
    *mut c_double,
    Bool,
    c_double,
    Index,
    *mut c_double,
    Bool,
    Index,
    *mut Index,
    *mut Index,
    *mut c_double,
    *mut c_void,
) -> Bool;
pub type Intermediate = unsafe extern "C" fn(
    Index,
    Index,
    c_double,
    c_double,
    c_double,
    c_double,
    c_double,
    c_double,
    c_double,
    c_double,
    Index,
    *mut c_void,
) -> Bool;

// SAFETY: the signatures are those of `IpStdCInterface.h`.
#[link(name = "ipopt")]
unsafe extern "C" {
    pub fn CreateIpoptProblem(
        n: Index,
        x_lower: *const c_double,
        x_upper: *const c_double,
        m: Index,
        c_lower: *const c_double,
        c_upper: *const c_double,
        jacobian_entries: Index,
        hessian_entries: Index,
        index_style: Index,
        objective: Objective,
        constraints: Constraints,
        gradient: Gradient,
        jacobian: Jacobian,
        hessian: Hessian,
    ) -> *mut c_void;
    pub fn FreeIpoptProblem(problem: *mut c_void);
    pub fn AddIpoptStrOption(problem: *mut c_void, keyword: *const c_char, value: *const c_char) -> Bool;
    pub fn AddIpoptNumOption(problem: *mut c_void, keyword: *const c_char, value: c_double) -> Bool;
    pub fn AddIpoptIntOption(problem: *mut c_void, keyword: *const c_char, value: c_int) -> Bool;
    pub fn SetIntermediateCallback(problem: *mut c_void, callback: Intermediate) -> Bool;
    pub fn IpoptSolve(
        problem: *mut c_void,
        x: *mut c_double,
        c: *mut c_double,
        objective: *mut c_double,
        y: *mut c_double,
        mu_lower: *mut c_double,
        mu_upper: *mut c_double,
        user_data: *mut c_void,
    ) -> c_int;
}
