//! Problems from formulas, solved, and what is claimed of them measured from scratch.

use tangor_problem::{ClosureProblem, Failure, Meta};
use tangor_solver::{Report, Settings, solve};

use crate::referee;

/// Solves with the defaults; a report that is not honest is a failure.
pub fn honest(build: impl Fn() -> ClosureProblem) -> Report {
    let report = solve(build(), Settings::default()).unwrap();
    referee::assert_honest(&mut build(), &report);
    report
}

/// Only an objective, given with its derivative, with a value where `f` is finite.
pub fn objective(meta: Meta, f: fn(&[f64]) -> f64, g: fn(&[f64], &mut [f64])) -> impl Fn() -> ClosureProblem {
    move || {
        let value = move |x: &[f64]| if f(x).is_finite() { Ok(f(x)) } else { Err(Failure::undefined("outside of its domain")) };
        ClosureProblem::builder(meta.clone()).objective(value).gradient(g).build().unwrap()
    }
}
