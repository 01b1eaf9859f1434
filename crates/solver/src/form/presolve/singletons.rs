//! Rows with one variable become its bounds. A variable that is fixed by them may leave another row with one variable only.

use tangor_problem::Interval;

use crate::form::presolve::rows::LinearRow;
use crate::form::presolve::{Presolve, Sides, Step, tighter};

impl Presolve {
    /// Takes rows with at most one variable out of the list, those that contradict the bounds too: they stay in the problem.
    pub(super) fn take_singletons(&mut self, rows: &mut Vec<LinearRow>) {
        loop {
            let (short, long): (Vec<_>, Vec<_>) = std::mem::take(rows).into_iter().partition(|row| row.entries.len() <= 1);
            *rows = long;
            if short.is_empty() {
                return;
            }
            for row in short {
                let fixed = self.take_singleton(&row);
                if let Some((column, value)) = fixed {
                    rows.iter_mut().for_each(|row| row.fix(column, value));
                }
            }
        }
    }

    /// Gives the variable that the row fixes, with its value.
    fn take_singleton(&mut self, row: &LinearRow) -> Option<(usize, f64)> {
        // A variable that a row before this one fixed is still among its entries.
        let mut row = row.clone();
        if let Some(&(column, _)) = row.entries.first().filter(|(column, _)| self.is_fixed(*column)) {
            row.fix(column, self.meta.x_lower[column]);
        }
        let range = self.range(&row);
        let Some(&(column, a)) = row.entries.first() else {
            match range[0] <= row.rounding() && range[1] >= -row.rounding() {
                true => self.leave_out(row.index, Step::Redundant),
                false => self.contradictions.push(row.index),
            }
            return None;
        };
        let Interval { lower, upper } = self.meta.variable_bounds(column);
        let own = [lower, upper];
        let new = if a > 0.0 { range.map(|side| side / a) } else { [range[1] / a, range[0] / a] };
        let size = own.into_iter().filter(|bound| bound.is_finite()).fold(0.0f64, |size, bound| size.max(bound.abs()));
        let rounding = row.rounding() / a.abs() + f64::EPSILON * size;
        let Some(([lower, upper], tightened)) = tighter(own, new, rounding) else {
            self.contradictions.push(row.index);
            return None;
        };
        if tightened.lower || lower == upper {
            self.meta.x_lower[column] = lower;
        }
        if tightened.upper || lower == upper {
            self.meta.x_upper[column] = upper;
        }
        self.note_bound(&row, column, a, tightened);
        (lower == upper).then_some((column, lower))
    }

    fn note_bound(&mut self, row: &LinearRow, column: usize, coefficient: f64, tightened: Sides) {
        let others = row.fixed.clone();
        self.leave_out(row.index, Step::Bound { row: row.index, column, coefficient, tightened, others });
    }
}
