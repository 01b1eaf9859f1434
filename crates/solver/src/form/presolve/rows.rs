//! Linear rows by their coefficients.

use tangor_problem::{Interval, Meta};

use crate::form::presolve::AtPoint;

/// The relative rounding error that a sum of many terms may have.
pub const ROUNDING: f64 = 64.0 * f64::EPSILON;

/// A row whose terms are so large that their rounding is not small beside any tolerance is left alone.
const LARGEST: f64 = 1e6;

/// A linear row, `constant + sum of a_j x_j` over the variables that are not fixed.
#[derive(Clone, Debug)]
pub struct LinearRow {
    /// The user's index.
    pub index: usize,
    /// Columns in order, with coefficients that are not zero; fixed variables are not among them.
    pub entries: Vec<(usize, f64)>,
    /// The same for fixed variables.
    pub fixed: Vec<(usize, f64)>,
    pub constant: f64,
    /// How large the terms of the row are, right-hand sides included: rounding is relative to it.
    pub size: f64,
}

impl LinearRow {
    /// A variable is fixed at this value from now on.
    pub fn fix(&mut self, column: usize, value: f64) {
        if let Ok(k) = self.entries.binary_search_by_key(&column, |entry| entry.0) {
            let (column, a) = self.entries.remove(k);
            self.constant += a * value;
            self.size += (a * value).abs();
            self.fixed.push((column, a));
        }
    }

    pub fn rounding(&self) -> f64 {
        ROUNDING * self.size
    }
}

/// The linear rows that have bounds, as the values at one point show them.
pub fn linear_rows(meta: &Meta, at: &AtPoint) -> Vec<LinearRow> {
    let sides = |i: usize| {
        let Interval { lower, upper } = meta.row_bounds(i);
        [lower, upper].into_iter().filter(|bound| bound.is_finite())
    };
    let is_wanted = |i: usize| meta.linear_rows.get(i) == Some(&true) && sides(i).next().is_some();
    let mut place = vec![None; meta.m()];
    let mut rows: Vec<LinearRow> = Vec::new();
    for i in (0..meta.m()).filter(|i| is_wanted(*i)) {
        place[i] = Some(rows.len());
        let size = sides(i).fold(at.c[i].abs(), |size, bound| size.max(bound.abs()));
        rows.push(LinearRow { index: i, entries: Vec::new(), fixed: Vec::new(), constant: at.c[i], size });
    }
    if rows.is_empty() {
        return rows;
    }
    for (k, a) in at.jacobian.iter().enumerate().filter(|(_, a)| **a != 0.0) {
        let (row, column) = meta.jacobian.place(k, meta.n());
        let Some(row) = place[row].map(|row| &mut rows[row]) else { continue };
        row.size += (a * at.x[column]).abs();
        if meta.x_lower[column] >= meta.x_upper[column] {
            row.fixed.push((column, *a));
        } else {
            row.constant -= a * at.x[column];
            row.entries.push((column, *a));
        }
    }
    for row in &mut rows {
        row.entries.sort_unstable_by_key(|entry| entry.0);
        // Places of the Jacobian may be given more than once.
        row.entries.dedup_by(|next, first| {
            let same = next.0 == first.0;
            if same {
                first.1 += next.1;
            }
            same
        });
        row.entries.retain(|entry| entry.1 != 0.0);
    }
    rows.retain(|row| row.size <= LARGEST && row.constant.is_finite());
    rows
}
