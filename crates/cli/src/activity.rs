//! Which constraints and bounds hold the point, and which it violates.

use tangor_problem::{INFINITE, Meta};
use tangor_solver::Report;

/// Where a value stands between its bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Lower and upper bound are the same.
    Equality,
    /// At the lower bound.
    Lower,
    /// At the upper bound.
    Upper,
}

/// A constraint or bound that holds the point.
#[derive(Clone, Debug, PartialEq)]
pub struct Active {
    /// Its name.
    pub name: String,
    /// Which of its bounds.
    pub side: Side,
    /// That bound.
    pub bound: f64,
    /// The value there.
    pub value: f64,
    /// Its multiplier.
    pub multiplier: f64,
}

/// The active constraints: inequalities before equalities, large multipliers first.
pub fn rows(meta: &Meta, report: &Report) -> Vec<Active> {
    let bounds = Bounds { lower: &meta.c_lower, upper: &meta.c_upper };
    let mut active = bounds.active(&report.constraints, &report.row_multipliers, report, |i| meta.row_name(i));
    active.sort_by(|a, b| {
        let equality_last = (a.side == Side::Equality).cmp(&(b.side == Side::Equality));
        equality_last.then(b.multiplier.abs().total_cmp(&a.multiplier.abs()))
    });
    active
}

/// The active bounds on variables that are not fixed, large multipliers first.
pub fn variables(meta: &Meta, report: &Report) -> Vec<Active> {
    let bounds = Bounds { lower: &meta.x_lower, upper: &meta.x_upper };
    let mut active = bounds.active(&report.x, &report.bound_multipliers, report, |i| meta.variable_name(i));
    active.retain(|active| active.side != Side::Equality);
    active.sort_by(|a, b| b.multiplier.abs().total_cmp(&a.multiplier.abs()));
    active
}

struct Bounds<'a> {
    lower: &'a [f64],
    upper: &'a [f64],
}

impl Bounds<'_> {
    /// Active means within the tolerance of feasibility, which is relative for large bounds.
    fn active(&self, values: &[f64], multipliers: &[f64], report: &Report, name: impl Fn(usize) -> String) -> Vec<Active> {
        let tolerance = report.settings.tolerance.feasibility;
        let near = |value: f64, bound: f64| bound.abs() < INFINITE && (value - bound).abs() <= tolerance * bound.abs().max(1.0);
        let bounds = self.lower.iter().zip(self.upper);
        let values = values.iter().zip(multipliers);
        let held = bounds.zip(values).enumerate().filter_map(|(i, ((&lower, &upper), (&value, &multiplier)))| {
            let (side, bound) = match (near(value, lower), near(value, upper)) {
                (true, _) | (_, true) if lower == upper => (Side::Equality, lower),
                (true, _) => (Side::Lower, lower),
                (_, true) => (Side::Upper, upper),
                _ => return None,
            };
            Some(Active { name: name(i), side, bound, value, multiplier })
        });
        held.collect()
    }
}
