//! Which share of a violation the linearised constraints could remove, with steps of any length: free of the units of rows and variables.
//!
//! With violated rows and equalities `J` and the variables that no bound holds, `min |v + J u|` leaves what of `v` is orthogonal to the range of `J`. A share of
//! 1e-8 lowers the violation by half of its square, 5e-17 of itself, which no value can show: where rows of very unlike size contradict each
//! other, as `x = 1` and `10^6 x = 2 * 10^6` do, the slope `J^T v` of such a point is that of the large row times what rounding leaves of its
//! value, and says nothing.

use tangor_problem::Meta;

use crate::kernel::vector::{dot, norm};
use crate::steps::line_search::ROUNDING;

/// Beyond so many entries nobody asks.
const LARGEST: usize = 200_000;

/// Columns, rows and columns scaled alike, that are no longer than this beside the others depend on them.
const DEPENDENT: f64 = 1e-12;

/// Sweeps that make rows and columns alike.
const SWEEPS: usize = 8;

/// The share for a point, in the user's scale: between 0 and 1. None where that is not to be had.
pub fn removable_share(meta: &Meta, x: &[f64], constraints: &[f64], jacobian: &[f64]) -> Option<f64> {
    let all: Vec<f64> = meta.violations(constraints).collect();
    // An equality that holds resists as one that does not; an inequality that holds may give way.
    let is_firm = |row: &usize| all[*row] != 0.0 || meta.c_lower[*row] == meta.c_upper[*row];
    let firm: Vec<usize> = (0..meta.m()).filter(is_firm).collect();
    let v: Vec<f64> = firm.iter().map(|&row| all[row]).collect();
    if firm.len().checked_mul(meta.n())? > LARGEST || !norm(&v).is_normal() {
        return None;
    }
    let mut place = vec![None; meta.m()];
    firm.iter().enumerate().for_each(|(k, &row)| place[row] = Some(k));
    let mut columns = vec![vec![0.0; v.len()]; meta.n()];
    for (k, value) in jacobian.iter().enumerate() {
        let (row, column) = meta.jacobian.place(k, meta.n());
        if let Some(row) = place[row] {
            columns[column][row] += value;
        }
    }
    let violation = norm(&v);
    let is_free = |(i, column): (usize, &Vec<f64>)| {
        let slope = dot(column, &v);
        let way = if slope > 0.0 { x[i] - meta.x_lower[i] } else { meta.x_upper[i] - x[i] };
        meta.x_lower[i] < meta.x_upper[i] && way * (slope.abs() / violation) > ROUNDING * violation
    };
    let free: Vec<bool> = columns.iter().enumerate().map(is_free).collect();
    let mut kept = free.iter();
    columns.retain(|column| *kept.next().unwrap_or(&false) && norm(column) > 0.0);
    share_in_range(columns, &v)
}

/// `|P v| / |v|` for the projection onto the range of the columns, all of them non-zero.
fn share_in_range(columns: Vec<Vec<f64>>, v: &[f64]) -> Option<f64> {
    if columns.iter().flatten().any(|value| !value.is_finite()) {
        return None;
    }
    let rank = orthogonal(alike(columns.clone()), usize::MAX, DEPENDENT).len();
    if rank == v.len() {
        return Some(1.0);
    }
    // Units of columns do not change the range; those of rows do.
    let unit = |mut column: Vec<f64>| {
        let length = norm(&column);
        column.iter_mut().for_each(|value| *value /= length);
        column
    };
    let basis = orthogonal(columns.into_iter().map(unit).collect(), rank, ROUNDING);
    // Rows so unlike that rounding hides a direction: nothing is known.
    (basis.len() == rank).then(|| norm(&basis.iter().map(|q| dot(q, v)).collect::<Vec<_>>()) / norm(v))
}

/// The columns with rows and columns scaled to about one: what depends on each other does not depend on units.
fn alike(mut columns: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let rows = columns.first().map_or(0, Vec::len);
    let largest = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, |most: f64, value| most.max(value.abs()));
    for _ in 0..SWEEPS {
        for row in 0..rows {
            let size = largest(&mut columns.iter().map(|column| column[row]));
            let factor = if size > 0.0 { 1.0 / size.sqrt() } else { 1.0 };
            columns.iter_mut().for_each(|column| column[row] *= factor);
        }
        for column in &mut columns {
            let size = largest(&mut column.iter().copied());
            column.iter_mut().for_each(|value| *value /= if size > 0.0 { size.sqrt() } else { 1.0 });
        }
    }
    columns
}

/// An orthonormal basis of the columns, by Gram and Schmidt, the longest rest first and each made orthogonal twice: at most so many, as long as
/// the rest is longer than this share of the longest column. Not by reflections, as libraries have it: where rows are of very unlike size, the small
/// entries of the basis are what is asked for, and a reflection knows them up to the rounding of 1 only.
fn orthogonal(mut columns: Vec<Vec<f64>>, most: usize, share: f64) -> Vec<Vec<f64>> {
    let longest = columns.iter().map(|column| norm(column)).fold(0.0, f64::max);
    let mut basis: Vec<Vec<f64>> = Vec::new();
    while basis.len() < most {
        let rest = columns.iter().map(|column| norm(column)).enumerate().max_by(|a, b| a.1.total_cmp(&b.1));
        let Some((k, length)) = rest.filter(|(_, length)| *length > share * longest) else { break };
        let mut q = columns.swap_remove(k);
        q.iter_mut().for_each(|value| *value /= length);
        for _ in 0..2 {
            basis.iter().for_each(|b| take_away(b, &mut q));
        }
        let length = norm(&q);
        q.iter_mut().for_each(|value| *value /= length);
        columns.iter_mut().for_each(|column| take_away(&q, column));
        basis.push(q);
    }
    basis
}

fn take_away(q: &[f64], from: &mut [f64]) {
    let along = dot(q, from);
    from.iter_mut().zip(q).for_each(|(value, q)| *value -= along * q);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(share: Option<f64>, expected: f64) {
        assert!(share.is_some_and(|share| (share - expected).abs() < 1e-12), "{share:?} is not {expected}");
    }

    #[test]
    fn shares_by_hand() {
        // Of (3, 4) the range of (1, 0) holds 3/5, whatever the unit of the variable.
        near(share_in_range(vec![vec![1.0, 0.0]], &[3.0, 4.0]), 0.6);
        near(share_in_range(vec![vec![1e-9, 0.0], vec![7.0, 0.0]], &[3.0, 4.0]), 0.6);
        near(share_in_range(vec![vec![1.0, 0.0], vec![1.0, 1.0]], &[3.0, 4.0]), 1.0);
        near(share_in_range(vec![], &[3.0, 4.0]), 0.0);
        assert_eq!(share_in_range(vec![vec![f64::NAN]], &[1.0]), None);
    }

    #[test]
    fn units_of_rows_hide_no_direction() {
        // 1e9 (x + y) and 1e-7 (x - y) have every value.
        near(share_in_range(vec![vec![1e9, 1e-7], vec![1e9, -1e-7]], &[0.0, 1.0]), 1.0);
        // x + y = 1 and k (x + y) = 2 k at x + y = 2: all of the violation (1, 0) is across (1, k) but for 1 / k.
        let share = share_in_range(vec![vec![1.0, 1e8]; 2], &[1.0, 0.0]);
        assert!(share.is_some_and(|share| (share / 1e-8 - 1.0).abs() < 1e-6), "{share:?}");
    }

    #[test]
    fn bounds_hold_what_would_leave_them() {
        // Two variables in [0, 1], the row x + y is to be 3: at (1, 1) both are held, at (1, 0.5) one is not.
        let meta = Meta::new("corner", vec![0.0; 2]).bounds(&[0.0; 2], &[1.0; 2]).at_least(&[3.0]);
        near(removable_share(&meta, &[1.0, 1.0], &[2.0], &[1.0, 1.0]), 0.0);
        near(removable_share(&meta, &[1.0, 0.5], &[1.5], &[1.0, 1.0]), 1.0);
        assert_eq!(removable_share(&meta, &[1.0, 1.0], &[3.5], &[1.0, 1.0]), None, "it holds");
    }

    #[test]
    fn an_equality_that_holds_resists() {
        // x = 1 and 100 x = 200 at x = 2: the second holds, and keeps the first from being mended but for 1 / 100.
        let meta = Meta::new("both", vec![0.0]).equalities(&[1.0, 200.0]);
        let share = removable_share(&meta, &[2.0], &[2.0, 200.0], &[1.0, 100.0]);
        near(share, 1.0 / 1.0001f64.sqrt() / 100.0);
    }
}
