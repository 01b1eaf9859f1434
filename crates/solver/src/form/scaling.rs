//! Units of the variables: when they differ by far, the internal variables are `z_i = x_i / d_i`.
//!
//! A row of the Jacobian tells by its entries how the units of variables compare, whatever its own unit is. (The gradient tells more of
//! where the start lies than of units.) Rows and columns are balanced in turns until the largest entry of each is about 1; what the columns were divided by are the units. They are
//! powers of two, so that going back and forth rounds nothing.

use crate::kernel::matrix::Matrix;

/// Units that differ by less are left alone: at one point derivatives show the units only roughly.
const SPREAD: f64 = 1e4;
/// On a grid of `n` points second difference quotients, and weights such as `r^2`, spread over `n^2` times a small number: that is the grid, and no
/// unit. Units of `n` variables must differ by more than `n^2` times this.
const GRID: f64 = 10.0;
/// The largest and one over the smallest unit.
const MOST: f64 = 1e8;
/// An entry that is smaller than this beside the largest of its row is what rounding left of a zero, and tells nothing of units.
const ROUNDING: f64 = 1e-13;
/// Turns of balancing: each takes the root of what is left.
const TURNS: usize = 8;

/// The units `d` of the variables, from the Jacobian at the start; all 1 when they do not differ by far, or because of where the start lies.
pub fn units(jacobian: &Matrix, start: &[f64]) -> Vec<f64> {
    let (n, m) = (jacobian.n, jacobian.m);
    let mut columns = vec![1.0; n];
    let mut rows = vec![1.0; m];
    for _ in 0..TURNS {
        let mut largest_in = vec![0.0f64; n];
        let mut see = |i: usize, value: f64| largest_in[i] = largest_in[i].max(value);
        for (row, scale) in rows.iter_mut().enumerate() {
            let mut most = 0.0f64;
            for (k, value) in telling(jacobian.row_values(row)) {
                let i = jacobian.column(row, k);
                let entry = (*scale * value * columns[i]).abs();
                most = most.max(entry);
                see(i, entry);
            }
            *scale /= root(most);
        }
        columns.iter_mut().zip(&largest_in).for_each(|(column, most)| *column /= root(*most));
    }
    let mut seen = vec![false; n];
    for row in 0..m {
        telling(jacobian.row_values(row)).for_each(|(k, _)| seen[jacobian.column(row, k)] = true);
    }
    let known: Vec<f64> = (0..n).filter(|&i| seen[i]).map(|i| columns[i]).collect();
    let (least, most) = range(known.iter().copied());
    let spread = SPREAD.max(GRID * (n * n) as f64);
    if known.is_empty() || !(most > spread * least && most.is_finite() && least > 0.0) {
        return vec![1.0; n];
    }
    // The derivative of x^2 grows with x. Who starts far out in some variables sees that, and no units: these would make large numbers smaller.
    let (nearest, farthest) = range((0..n).filter(|&i| seen[i]).map(|i| columns[i] * start[i].abs().max(1.0)));
    if farthest / nearest < (most / least).sqrt() {
        return vec![1.0; n];
    }
    // Around their geometric middle, so that the largest are not all there is.
    let middle = (least.sqrt() * most.sqrt()).max(f64::MIN_POSITIVE);
    (0..n).map(|i| if seen[i] { power_of_two((columns[i] / middle).clamp(1.0 / MOST, MOST)) } else { 1.0 }).collect()
}

/// The least and the largest of positive numbers.
fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, 0.0f64), |(least, most), value| (least.min(value), most.max(value)))
}

/// The entries of a row that tell something of units, with their places.
fn telling(row: &[f64]) -> impl Iterator<Item = (usize, &f64)> {
    let least = ROUNDING * row.iter().fold(0.0f64, |most, value| most.max(value.abs()));
    row.iter().enumerate().filter(move |(_, value)| value.abs() > least)
}

/// The root, and 1 for a row or column of zeros.
fn root(most: f64) -> f64 {
    if most > 0.0 && most.is_finite() { most.sqrt() } else { 1.0 }
}

fn power_of_two(value: f64) -> f64 {
    value.log2().round().exp2()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_found_whatever_the_units_of_rows_are() {
        // x0 is measured in 2^-10, x1 in 2^10; the rows have units of their own.
        let mut jacobian = Matrix::dense(2, 2);
        let (a, b) = (1024.0, 1.0 / 1024.0);
        jacobian.values = vec![3e5 * a, 3e5 * b, 1e-4 * a, -1e-4 * b];
        assert_eq!(units(&jacobian, &[1.0; 2]), [b, a]);
        // A start in these units says the same.
        assert_eq!(units(&jacobian, &[3.0 * b, 5.0 * a]), [b, a]);
    }

    #[test]
    fn what_rounding_left_of_a_zero_is_no_unit() {
        let mut jacobian = Matrix::dense(1, 3);
        jacobian.values = vec![0.2, -0.1, 1e-17];
        assert_eq!(units(&jacobian, &[1.0; 3]), [1.0; 3]);
    }

    #[test]
    fn a_fine_grid_is_no_unit() {
        // (x1 - x0) / h = u with h = 2^-15: of three variables these are units, of 2^9 they come from the grid.
        let (few, many) = (3, 512);
        for n in [few, many] {
            let mut jacobian = Matrix::dense(1, n);
            jacobian.values[..3].copy_from_slice(&[-32768.0, 32768.0, -1.0]);
            assert_eq!(units(&jacobian, &vec![0.0; n]).iter().all(|d| *d == 1.0), n == many);
        }
    }

    #[test]
    fn a_start_far_out_is_no_unit() {
        // x0^2 + x1^2 + x2 at (1e6, 0.3, 0): derivatives 2e6, 0.6 and 1.
        let mut jacobian = Matrix::dense(1, 3);
        jacobian.values = vec![2e6, 0.6, 1.0];
        assert_eq!(units(&jacobian, &[1e6, 0.3, 0.0]), [1.0; 3]);
        // The same derivatives where the first variable is small, or no larger than the others, do come from its unit.
        for first in [1e-6, 0.5] {
            assert_eq!(units(&jacobian, &[first, 0.3, 0.0])[0], 2f64.powi(-11));
        }
    }

    #[test]
    fn units_that_hardly_differ_are_left_alone() {
        let mut jacobian = Matrix::dense(1, 3);
        jacobian.values = vec![100.0, 1.0, 0.0];
        assert_eq!(units(&jacobian, &[1.0; 3]), [1.0; 3]);
        jacobian.values = vec![0.0; 3];
        assert_eq!(units(&jacobian, &[1.0; 3]), [1.0; 3]);
        jacobian.values = vec![f64::MAX, 1e-300, 1.0];
        let extreme = units(&jacobian, &[1.0; 3]);
        assert!(extreme.iter().all(|d| (1e-9..1e9).contains(d)), "{extreme:?}");
    }
}
