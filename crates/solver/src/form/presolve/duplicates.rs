//! Rows that are multiples of others: the bounds of both hold for one of them.

use std::collections::HashMap;

use tangor_problem::Interval;

use crate::form::presolve::rows::LinearRow;
use crate::form::presolve::{Presolve, Step, tighter};

/// Coefficients that differ by less, relative to their size, are the same up to rounding.
const SAME: f64 = 4.0 * f64::EPSILON;

impl Presolve {
    /// Takes rows that are multiples of rows before them out of the list.
    pub(super) fn take_duplicates(&mut self, rows: &mut Vec<LinearRow>) {
        // Rows in the same variables, by the first of the kind.
        let mut seen: HashMap<Vec<usize>, Vec<usize>> = HashMap::new();
        let mut kept: Vec<LinearRow> = Vec::new();
        for row in std::mem::take(rows) {
            let columns: Vec<usize> = row.entries.iter().map(|entry| entry.0).collect();
            let alike = seen.entry(columns).or_default();
            let twin = alike.iter().find_map(|&k| multiple(&row, &kept[k]).map(|factor| (k, factor)));
            match twin {
                Some((k, factor)) => self.merge(&row, &kept[k], factor),
                None => {
                    alike.push(kept.len());
                    kept.push(row);
                }
            }
        }
        *rows = kept;
    }

    /// `row` is `factor` times `into`.
    fn merge(&mut self, row: &LinearRow, into: &LinearRow, factor: f64) {
        let Interval { lower, upper } = self.meta.row_bounds(into.index);
        let old = [lower, upper];
        let range = self.range(row);
        let new = if factor > 0.0 { range } else { [range[1], range[0]] }.map(|side| side / factor + into.constant);
        let rounding = row.rounding() / factor.abs() + into.rounding();
        let Some(([lower, upper], tightened)) = tighter(old, new, rounding) else {
            self.contradictions.push(row.index);
            return;
        };
        (self.meta.c_lower[into.index], self.meta.c_upper[into.index]) = (lower, upper);
        // What one row has in fixed variables and the other has not.
        let mut others: Vec<(usize, f64)> = row.fixed.iter().map(|(column, a)| (*column, a / factor)).collect();
        others.extend(into.fixed.iter().map(|(column, a)| (*column, -a)));
        self.leave_out(row.index, Step::Merged { row: row.index, into: into.index, factor, tightened, others });
    }
}

/// The factor by which one row is a multiple of another, in the same variables.
fn multiple(row: &LinearRow, of: &LinearRow) -> Option<f64> {
    let factor = row.entries.first()?.1 / of.entries.first()?.1;
    let pairs = row.entries.iter().zip(&of.entries);
    let same = |((_, a), (_, b)): (&(usize, f64), &(usize, f64))| (a - factor * b).abs() <= SAME * a.abs();
    (factor.is_finite() && factor != 0.0 && pairs.into_iter().all(same)).then_some(factor)
}
