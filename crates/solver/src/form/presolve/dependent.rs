//! Linear equalities that follow from others, by elimination.

use std::collections::BTreeSet;

use crate::form::presolve::rows::LinearRow;
use crate::form::presolve::{Presolve, Step};

/// What is left of a row, relative to what was subtracted from it, when nothing is left.
const NOTHING: f64 = 1e-12;

/// A row whose rest is between nothing and this is neither: it stays.
const SOMETHING: f64 = 1e-7;

/// A pivot must not be smaller than this beside the largest entry of its row.
const PIVOT: f64 = 0.1;

/// So much work, in entries, is worth it for each entry of the rows, and in all cases.
const WORK_PER_ENTRY: usize = 50;
const LITTLE_WORK: usize = 1_000_000;

/// A row after elimination, divided by its pivot.
struct Pivot {
    column: usize,
    entries: Vec<(usize, f64)>,
    constant: f64,
    /// How large the constant was before terms cancelled.
    size: f64,
}

/// What became of a row.
enum Rest {
    Row(Pivot),
    /// Nothing is left; so much of the constant, with the size of its terms.
    Nothing(f64, f64),
    /// It cannot be told whether anything is left.
    Unclear,
}

/// Rows in echelon form, with a dense row to work in.
struct Elimination {
    pivots: Vec<Pivot>,
    /// The pivot in each column.
    of_column: Vec<Option<usize>>,
    values: Vec<f64>,
    sizes: Vec<f64>,
    work: usize,
}

impl Presolve {
    /// Leaves out equalities that are combinations of others. Rows with slacks are never dependent.
    pub(super) fn take_dependent(&mut self, rows: &[LinearRow]) {
        let equalities = rows.iter().filter(|row| self.meta.c_lower[row.index] == self.meta.c_upper[row.index]);
        let mut equalities: Vec<&LinearRow> = equalities.collect();
        equalities.sort_by_key(|row| row.entries.len());
        let entries: usize = equalities.iter().map(|row| row.entries.len()).sum();
        let n = self.meta.n();
        let mut elimination = Elimination {
            pivots: Vec::new(),
            of_column: vec![None; n],
            values: vec![0.0; n],
            sizes: vec![0.0; n],
            work: LITTLE_WORK + WORK_PER_ENTRY * entries,
        };
        for row in equalities {
            let right = self.meta.c_lower[row.index] - row.constant;
            match elimination.reduce(row, right) {
                None => return,
                Some(Rest::Row(pivot)) => elimination.add(pivot),
                Some(Rest::Nothing(left, size)) if left.abs() <= NOTHING * size => self.leave_out(row.index, Step::Redundant),
                Some(Rest::Nothing(left, size)) if left.abs() > SOMETHING * size => self.contradictions.push(row.index),
                Some(Rest::Nothing(..) | Rest::Unclear) => {}
            }
        }
    }
}

impl Elimination {
    fn add(&mut self, pivot: Pivot) {
        self.of_column[pivot.column] = Some(self.pivots.len());
        self.pivots.push(pivot);
    }

    /// The row less multiples of the pivots. None: that would be too much work.
    fn reduce(&mut self, row: &LinearRow, right: f64) -> Option<Rest> {
        let (mut constant, mut size) = (right, right.abs().max(row.size));
        let mut columns: BTreeSet<usize> = BTreeSet::new();
        let mut waiting: BTreeSet<usize> = BTreeSet::new();
        for &(column, a) in &row.entries {
            (self.values[column], self.sizes[column]) = (a, a.abs());
            columns.insert(column);
            waiting.extend(self.of_column[column]);
        }
        // Pivots in their order: a later one has no entry in the column of an earlier one.
        while let Some(k) = waiting.pop_first() {
            let pivot = &self.pivots[k];
            let factor = self.values[pivot.column];
            if factor == 0.0 {
                continue;
            }
            let spent = pivot.entries.len();
            if spent > self.work {
                self.clear(&columns);
                return None;
            }
            self.work -= spent;
            for &(column, a) in &pivot.entries {
                let change = factor * a;
                self.values[column] -= change;
                self.sizes[column] = self.sizes[column].max(change.abs());
                if columns.insert(column) || column != pivot.column {
                    waiting.extend(self.of_column[column].filter(|other| *other > k));
                }
            }
            self.values[pivot.column] = 0.0;
            constant -= factor * pivot.constant;
            size = size.max((factor * pivot.constant).abs()).max(factor.abs() * pivot.size);
        }
        let rest = self.rest(&columns, constant, size);
        self.clear(&columns);
        Some(rest)
    }

    fn rest(&self, columns: &BTreeSet<usize>, constant: f64, size: f64) -> Rest {
        let relative = |column: &usize| (self.values[*column] / self.sizes[*column]).abs();
        let most = columns.iter().map(relative).fold(0.0f64, f64::max);
        if most <= NOTHING {
            return Rest::Nothing(constant, size);
        }
        let largest = columns.iter().fold(0.0f64, |largest, column| largest.max(self.values[*column].abs()));
        // What rounding may have left is no entry.
        let clear = |column: &usize| relative(column) > SOMETHING;
        let pivot = columns.iter().copied().filter(|column| clear(column) && self.values[*column].abs() >= PIVOT * largest);
        let Some(column) = pivot.min_by(|a, b| self.values[*b].abs().total_cmp(&self.values[*a].abs())) else {
            return Rest::Unclear;
        };
        let value = self.values[column];
        let entries =
            columns.iter().filter(|column| relative(column) > NOTHING).map(|column| (*column, self.values[*column] / value));
        Rest::Row(Pivot { column, entries: entries.collect(), constant: constant / value, size: size / value.abs() })
    }

    fn clear(&mut self, columns: &BTreeSet<usize>) {
        for &column in columns {
            (self.values[column], self.sizes[column]) = (0.0, 0.0);
        }
    }
}
