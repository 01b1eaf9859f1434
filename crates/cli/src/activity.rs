//! Which constraints and bounds hold the point, and which it violates.

use tangor_problem::{INFINITE, Meta};
use tangor_solver::Report;

/// Where a value stands between its bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoundKind {
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
    pub kind: BoundKind,
    /// That bound.
    pub bound: f64,
    /// The value there.
    pub value: f64,
    /// Its multiplier.
    pub multiplier: f64,
    /// Whether it is a bound of a variable, whose multiplier has the other sign.
    pub on_variable: bool,
}

impl Active {
    /// By how much one more unit of the bound changes the objective at its minimum.
    pub fn price(&self) -> f64 {
        if self.on_variable { self.multiplier } else { -self.multiplier }
    }
}

/// The active constraints: inequalities before equalities, large multipliers first.
pub fn rows(meta: &Meta, report: &Report) -> Vec<Active> {
    let bounds = Bounds { lower: &meta.c_lower, upper: &meta.c_upper };
    let mut active = bounds.active(&report.constraints, &report.row_multipliers, tolerance(report), |i| meta.row_name(i));
    active.sort_by(|a, b| {
        let equality_last = (a.kind == BoundKind::Equality).cmp(&(b.kind == BoundKind::Equality));
        equality_last.then(b.multiplier.abs().total_cmp(&a.multiplier.abs()))
    });
    active
}

/// The active bounds on variables that are not fixed, large multipliers first.
pub fn variables(meta: &Meta, report: &Report) -> Vec<Active> {
    let bounds = Bounds { lower: &meta.x_lower, upper: &meta.x_upper };
    let mut active = bounds.active(&report.x, &report.bound_multipliers, tolerance(report), |i| meta.variable_name(i));
    active.retain(|active| active.kind != BoundKind::Equality);
    active.iter_mut().for_each(|active| active.on_variable = true);
    active.sort_by(|a, b| b.multiplier.abs().total_cmp(&a.multiplier.abs()));
    active
}

fn tolerance(report: &Report) -> f64 {
    report.settings.tolerance.feasibility
}

/// What is this near to its bound, relative to it, is there.
pub const AT_BOUND: f64 = 1e-6;

struct Bounds<'a> {
    lower: &'a [f64],
    upper: &'a [f64],
}

impl Bounds<'_> {
    /// Active means at the bound, or within the tolerance of it and pushed by it; both are relative for large bounds. With the large tolerance
    /// of a noisy run much is near its bound that is not held by it, and a multiplier that is nothing beside the others pushes nothing.
    fn active(&self, values: &[f64], multipliers: &[f64], tolerance: f64, name: impl Fn(usize) -> String) -> Vec<Active> {
        let within = |value: f64, bound: f64, tolerance: f64| {
            bound.abs() < INFINITE && (value - bound).abs() <= tolerance * bound.abs().max(1.0)
        };
        let nothing = AT_BOUND * multipliers.iter().fold(0.0f64, |most, multiplier| most.max(multiplier.abs()));
        let bounds = self.lower.iter().zip(self.upper);
        let values = values.iter().zip(multipliers);
        let held = bounds.zip(values).enumerate().filter_map(|(i, ((&lower, &upper), (&value, &multiplier)))| {
            let tolerance = if multiplier.abs() <= nothing && lower < upper { tolerance.min(AT_BOUND) } else { tolerance };
            let (kind, bound) = match (within(value, lower, tolerance), within(value, upper, tolerance)) {
                (true, _) | (_, true) if lower == upper => (BoundKind::Equality, lower),
                (true, _) => (BoundKind::Lower, lower),
                (_, true) => (BoundKind::Upper, upper),
                _ => return None,
            };
            Some(Active { name: name(i), kind, bound, value, multiplier, on_variable: false })
        });
        held.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_a_value_is_found() {
        let cases = [
            (0.0, 1.0, 0.0, Some((BoundKind::Lower, 0.0))),
            (0.0, 1.0, 1.0 + 5e-7, Some((BoundKind::Upper, 1.0))),
            (0.0, 1.0, 0.5, None),
            (2.0, 2.0, 2.0 - 5e-7, Some((BoundKind::Equality, 2.0))),
            (2.0, 2.0, 3.0, None),
            (-f64::INFINITY, f64::INFINITY, 0.0, None),
            (-1e20, 1e20, 1e20, None),
            (1e6, 2e6, 1e6 + 0.5, Some((BoundKind::Lower, 1e6))),
            (0.0, 1.0, f64::NAN, None),
        ];
        for (lower, upper, value, expected) in cases {
            let bounds = Bounds { lower: &[lower], upper: &[upper] };
            let active = bounds.active(&[value], &[7.0], 1e-6, |_| "name".to_string());
            let found = active.first().map(|active| (active.kind, active.bound));
            assert_eq!(found, expected, "{value} in [{lower}, {upper}]");
            assert!(active.iter().all(|active| active.multiplier == 7.0 && active.value == value));
        }
    }

    #[test]
    fn what_is_only_near_holds_nothing() {
        let bounds = Bounds { lower: &[0.0; 3], upper: &[60.0; 3] };
        let active = bounds.active(&[36.6, 59.0, 60.0], &[0.0, 0.5, 0.0], 0.5, |i| i.to_string());
        assert_eq!(active.iter().map(|active| active.name.as_str()).collect::<Vec<_>>(), ["1", "2"]);
        let active = bounds.active(&[36.6, 59.0, 60.0], &[3e-7, 0.5, 3e-7], 0.5, |i| i.to_string());
        assert_eq!(active.len(), 2, "what is pushed by 3e-7 beside 0.5 is not held");
    }
}
