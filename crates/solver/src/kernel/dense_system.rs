//! The kernel's system with a dense `H`: Cholesky of `H` over the free columns, then of `J H^-1 J^T` over the rows that hold.
//!
//! A row that gives way much (that of a slack between its bounds) joins `H` instead: `1 / k_i J_i^T J_i` is all it adds.

use crate::kernel::aside::{Aside, Patience};
use crate::kernel::cholesky;
use crate::kernel::gram::{COMPROMISE, DEPENDENT, Indefinite};
use crate::kernel::matrix::Matrix;
use crate::kernel::vector::{add, dot};
use crate::run::clock::Clock;
use crate::run::memory::NUMBER;

/// A row joins `H` when it gives way by more than this share of its own size.
const YIELDING: f64 = 1e-2;

/// Up to so many columns, plain loops are faster than matrix products.
const SMALL: usize = 24;

/// The factorisation with its memory.
pub struct DenseSystem {
    /// The free columns, and the place of each column among them.
    free: Vec<usize>,
    place: Vec<usize>,
    /// The rows that hold, and those that joined `H`.
    holding: Vec<usize>,
    joined: Vec<usize>,
    /// `K`
    softness: Vec<f64>,
    /// Rows of `J` over the free columns.
    block: Vec<f64>,
    short: Vec<f64>,
    numbers: Aside<Numbers>,
}

/// What is factorised, all that this needs, so that it can be done aside.
struct Numbers {
    /// How many columns are free, and how many rows hold.
    free: usize,
    rows: usize,
    /// The factor `L` of `H`, the columns `Z = L^-1 J^T` of the rows that hold, the factor of `Z^T Z + K`.
    factor: Vec<f64>,
    z: Vec<f64>,
    schur: Vec<f64>,
    /// `K` of the rows that hold.
    softness: Vec<f64>,
    multipliers: Vec<f64>,
    memory: cholesky::Memory,
}

/// A column that is not free.
const NOWHERE: usize = usize::MAX;

/// The memory that a system of so many rows and columns has.
pub fn bytes(m: usize, n: usize) -> u128 {
    let most = m.min(most_holding(n));
    let scratch = cholesky::bytes(n.max(most));
    let (m, n, most) = (m as u128, n as u128, most as u128);
    NUMBER * (n * n + n * most + most * most + n * m.min(BLOCK as u128) + 3 * (m + n) + 2 * most) + scratch
}

impl DenseSystem {
    pub fn new(a: &Matrix) -> Self {
        let (m, n) = (a.m, a.n);
        let most = m.min(most_holding(n));
        DenseSystem {
            free: Vec::with_capacity(n),
            place: vec![NOWHERE; n],
            holding: Vec::with_capacity(m),
            joined: Vec::with_capacity(m),
            softness: vec![0.0; m],
            block: vec![0.0; n * BLOCK.min(m)],
            short: vec![0.0; n],
            numbers: Aside::new(Numbers {
                free: 0,
                rows: 0,
                factor: vec![0.0; n * n],
                z: vec![0.0; n * most],
                schur: vec![0.0; most * most],
                softness: vec![0.0; most],
                multipliers: vec![0.0; most],
                memory: cholesky::memory(n.max(most)),
            }),
        }
    }

    /// Factorises; true when rows depend on each other. A run that is to end does not wait for it.
    pub fn factorise(
        &mut self,
        a: &Matrix,
        h: &[f64],
        extra: &[f64],
        softness: &[f64],
        clock: &Clock,
    ) -> Result<bool, Indefinite> {
        self.choose_columns(extra);
        self.choose_rows(a, h, softness);
        let numbers = self.numbers.get().ok_or(Indefinite)?;
        let (free, rows) = (self.free.len(), self.holding.len());
        (numbers.free, numbers.rows) = (free, rows);
        for (k, &j) in self.free.iter().enumerate() {
            let (column, row) = (&mut numbers.factor[k * free..(k + 1) * free], &h[j * a.n..(j + 1) * a.n]);
            for (value, &i) in column[k..].iter_mut().zip(&self.free[k..]) {
                *value = row[i];
            }
            column[k] += extra[j];
        }
        if !self.join(a, clock) {
            return Err(Indefinite);
        }
        self.gather_rows(a);
        let (free, rows) = (free as f64, rows as f64);
        let multiplications = free.powi(3) / 3.0 + free * rows * (free + rows) + rows.powi(3) / 3.0;
        self.numbers.work(multiplications, clock, Numbers::factorise).unwrap_or(Err(Indefinite))
    }

    fn choose_columns(&mut self, extra: &[f64]) {
        self.free.clear();
        for (j, extra) in extra.iter().enumerate() {
            self.place[j] = NOWHERE;
            if extra.is_finite() {
                self.place[j] = self.free.len();
                self.free.push(j);
            }
        }
    }

    fn choose_rows(&mut self, a: &Matrix, h: &[f64], softness: &[f64]) {
        self.softness.copy_from_slice(softness);
        self.holding.clear();
        self.joined.clear();
        for i in 0..a.m {
            let own = self.own_size(a, h, i);
            let rows = if softness[i] > YIELDING * own { &mut self.joined } else { &mut self.holding };
            rows.push(i);
        }
        let most = most_holding(a.n);
        if self.holding.len() > most {
            // More rows hold than there can be independent ones: all join, those that hold as nearly as numbers allow.
            for k in 0..self.holding.len() {
                let i = self.holding[k];
                self.softness[i] = self.softness[i].max(COMPROMISE * self.own_size(a, h, i)).max(f64::MIN_POSITIVE.sqrt());
                self.joined.push(i);
            }
            self.holding.clear();
        }
    }

    /// `sum_j a_ij^2 / h_jj` over the free columns.
    fn own_size(&self, a: &Matrix, h: &[f64], i: usize) -> f64 {
        let values = a.row_values(i).iter().enumerate();
        let free = values.map(|(k, value)| (a.column(i, k), value)).filter(|(j, _)| self.place[*j] != NOWHERE);
        free.map(|(j, value)| value * value / h[j * a.n + j]).sum()
    }

    /// Adds `1 / k_i J_i^T J_i` of the rows that join. False: the run is to end.
    fn join(&mut self, a: &Matrix, clock: &Clock) -> bool {
        let free = self.free.len();
        let Some(numbers) = self.numbers.get() else { return false };
        if free == 0 {
            return true;
        }
        let mut patience = Patience::default();
        if a.structure.is_some() || free <= SMALL {
            return self.joined.iter().all(|&i| {
                add_square(a, i, 1.0 / self.softness[i], &self.place, free, &mut numbers.factor);
                patience.goes_on(a.row_values(i).len().pow(2) / 2, clock)
            });
        }
        self.joined.chunks(BLOCK).all(|rows| {
            for (k, &i) in rows.iter().enumerate() {
                let (scale, row) = (1.0 / self.softness[i].sqrt(), a.row_values(i));
                for (value, &j) in self.block[k * free..(k + 1) * free].iter_mut().zip(&self.free) {
                    *value = scale * row[j];
                }
            }
            cholesky::add_outer(free, &self.block[..free * rows.len()], &mut numbers.factor[..free * free]);
            patience.goes_on(free * free / 2 * rows.len(), clock)
        })
    }

    /// Writes the rows that hold, over the free columns, to where `Z` will be.
    fn gather_rows(&mut self, a: &Matrix) {
        let free = self.free.len();
        let Some(numbers) = self.numbers.get() else { return };
        let z = &mut numbers.z[..free * self.holding.len()];
        z.fill(0.0);
        for (k, &i) in self.holding.iter().enumerate() {
            numbers.softness[k] = self.softness[i];
            for (l, value) in a.row_values(i).iter().enumerate() {
                let place = self.place[a.column(i, l)];
                if place != NOWHERE {
                    z[k * free + place] += value;
                }
            }
        }
    }

    /// Solves in place: `s` holds `a` and `y` holds `b`. Columns that are not free become 0.
    pub fn solve(&mut self, a: &Matrix, s: &mut [f64], y: &mut [f64]) {
        for &i in &self.joined {
            add_row(a, i, y[i] / self.softness[i], s);
        }
        for (short, &j) in self.short.iter_mut().zip(&self.free) {
            *short = s[j];
        }
        if let Some(numbers) = self.numbers.get() {
            numbers.solve(&mut self.short[..self.free.len()], &self.holding, y);
        }
        s.fill(0.0);
        for (short, &j) in self.short.iter().zip(&self.free) {
            s[j] = *short;
        }
        for &i in &self.joined {
            y[i] = (dot_row(a, i, s) - y[i]) / self.softness[i];
        }
    }
}

impl Numbers {
    /// Both factors; true when rows depend on each other.
    fn factorise(&mut self) -> Result<bool, Indefinite> {
        let (free, rows) = (self.free, self.rows);
        if free > 0 && !cholesky::factorise(free, &mut self.factor[..free * free], &mut self.memory) {
            return Err(Indefinite);
        }
        if rows == 0 {
            return Ok(false);
        }
        let (z, schur) = (&mut self.z[..free * rows], &mut self.schur[..rows * rows]);
        if free > 0 {
            cholesky::solve_lower(free, &self.factor[..free * free], z);
        }
        if free == 0 {
            schur.fill(0.0);
        } else if rows <= SMALL {
            for j in 0..rows {
                for i in j..rows {
                    schur[j * rows + i] = dot(&z[i * free..(i + 1) * free], &z[j * free..(j + 1) * free]);
                }
            }
        } else {
            cholesky::set_inner(free, z, schur);
        }
        for (k, softness) in self.softness[..rows].iter().enumerate() {
            schur[k * rows + k] += softness;
            self.multipliers[k] = schur[k * rows + k];
        }
        if !cholesky::factorise(rows, schur, &mut self.memory) {
            return Err(Indefinite);
        }
        Ok((0..rows).any(|k| schur[k * rows + k].powi(2) < DEPENDENT * self.multipliers[k]))
    }

    /// Solves over the free columns and the rows that hold.
    fn solve(&mut self, short: &mut [f64], holding: &[usize], y: &mut [f64]) {
        let (free, rows) = (self.free, self.rows);
        if free > 0 {
            cholesky::solve_lower(free, &self.factor[..free * free], short);
        }
        let multipliers = &mut self.multipliers[..rows];
        for (k, &i) in holding.iter().enumerate() {
            multipliers[k] = dot(&self.z[k * free..(k + 1) * free], short) - y[i];
        }
        if rows > 0 {
            cholesky::solve(rows, &self.schur[..rows * rows], multipliers, &mut self.memory);
        }
        for (k, &i) in holding.iter().enumerate() {
            add(-multipliers[k], &self.z[k * free..(k + 1) * free], short);
            y[i] = multipliers[k];
        }
        if free > 0 {
            cholesky::solve_lower_transposed(free, &self.factor[..free * free], short);
        }
    }
}

/// Rows of `J` that are multiplied together at a time.
const BLOCK: usize = 64;

/// More rows than this can hold only if they depend on each other.
fn most_holding(n: usize) -> usize {
    n + n / 2 + 16
}

/// `s += scale J_i^T`
fn add_row(a: &Matrix, i: usize, scale: f64, s: &mut [f64]) {
    for (k, value) in a.row_values(i).iter().enumerate() {
        s[a.column(i, k)] += scale * value;
    }
}

fn dot_row(a: &Matrix, i: usize, s: &[f64]) -> f64 {
    a.row_values(i).iter().enumerate().map(|(k, value)| value * s[a.column(i, k)]).sum()
}

/// Adds `scale J_i^T J_i` over the free columns (lower triangle, column-major).
fn add_square(a: &Matrix, i: usize, scale: f64, place: &[usize], free: usize, matrix: &mut [f64]) {
    let values = a.row_values(i);
    for (k, value) in values.iter().enumerate() {
        let column = place[a.column(i, k)];
        if column == NOWHERE || *value == 0.0 {
            continue;
        }
        for (l, other) in values.iter().enumerate().skip(k) {
            let row = place[a.column(i, l)];
            if row != NOWHERE {
                matrix[column * free + row] += scale * value * other;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_is_to_end_waits_for_no_long_factorisation() {
        // H = 2 I and one row of ones.
        let n = 700;
        let a = Matrix { values: vec![1.0; n], ..Matrix::dense(1, n) };
        let (mut h, extra) = (vec![0.0; n * n], vec![0.0; n]);
        h.iter_mut().step_by(n + 1).for_each(|diagonal| *diagonal = 2.0);
        let mut system = DenseSystem::new(&a);
        assert!(system.factorise(&a, &h, &extra, &[0.0], &Clock::new(Some(0.0), 0.0)).is_err());
        assert!(matches!(system.factorise(&a, &h, &extra, &[0.0], &Clock::new(None, 0.0)), Ok(false)));
        // 2 s + y = 4 and the sum of s is n: s = 1 and y = 2.
        let (mut s, mut y) = (vec![4.0; n], [n as f64]);
        system.solve(&a, &mut s, &mut y);
        assert!(s.iter().all(|s| (s - 1.0).abs() < 1e-12) && (y[0] - 2.0).abs() < 1e-12, "{y:?}");
    }
}
