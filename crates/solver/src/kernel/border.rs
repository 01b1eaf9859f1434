//! Columns that changed over since the system was factorised, as a border around it.
//!
//! With the factorised matrix `M`, a column `j` that was free and is held now adds the row `s_j = 0`, with what holds it as its unknown; one that was
//! held and is free now adds itself, `(H_j, J_j)`, as a row and a column. So the system is `[M B; B^T D]`: `S t = r - B^T M^-1 (a, b)` with
//! `S = D - B^T M^-1 B` and then `(s, y) = M^-1 ((a, b) - B t)`. Every change costs one solution with `M`.
//!
//! `M` has as many negative eigenvalues as rows. By interlacing, every change adds one eigenvalue to `S`, negative for a column that is held and, where `H` is positive
//! definite between the bounds, positive for one that is free: the sign of the determinant shows this after every change.

use crate::kernel::elimination::Elimination;
use crate::kernel::subproblem::Subproblem;
use crate::kernel::vector::{add, dot};
use crate::run::memory::NUMBER;

/// Most changes at a time, and most numbers that are kept for them.
const MOST_CHANGES: usize = 24;
const MOST_NUMBERS: usize = 2_000_000;

/// The border with its memory.
#[derive(Default)]
pub struct Border {
    m: usize,
    columns: usize,
    most: usize,
    changes: Vec<Change>,
    /// `M^-1 B`, and `B` itself where a column is free now.
    s: Vec<f64>,
    y: Vec<f64>,
    b: (Vec<f64>, Vec<f64>),
    /// `S`, in columns of length `most`.
    schur: Vec<f64>,
    factor: Elimination,
    t: Vec<f64>,
}

/// A column that was held and is free now, or the other way round.
#[derive(Clone, Copy, Debug)]
struct Change {
    column: usize,
    is_free: bool,
}

/// How many changes are kept.
fn most(m: usize, columns: usize) -> usize {
    MOST_CHANGES.min(MOST_NUMBERS / (2 * (m + columns)).max(1))
}

impl Border {
    /// The memory of one for so many rows and columns: two vectors for each change.
    pub fn bytes(m: usize, columns: usize) -> u128 {
        NUMBER * (2 * most(m, columns) * (m + columns)) as u128
    }

    pub fn new(m: usize, columns: usize) -> Self {
        let most = most(m, columns);
        Border {
            m,
            columns,
            most,
            changes: Vec::with_capacity(most),
            s: vec![0.0; columns * most],
            y: vec![0.0; m * most],
            b: (vec![0.0; columns * most], vec![0.0; m * most]),
            schur: vec![0.0; most * most],
            factor: Elimination::new(most),
            t: vec![0.0; most],
        }
    }

    pub fn clear(&mut self) {
        self.changes.clear();
    }

    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Changes a column over, which the factorised system holds or not. False: there is no room, or the matrix would not be regular.
    pub fn change_over(
        &mut self,
        problem: &Subproblem,
        column: usize,
        was_held: bool,
        solve: impl FnMut(&mut [f64], &mut [f64]),
    ) -> bool {
        match self.changes.iter().position(|change| change.column == column) {
            Some(k) => self.remove(k),
            None if self.changes.len() == self.most => return false,
            None => self.append(problem, Change { column, is_free: was_held }, solve),
        }
        self.factorise()
    }

    fn append(&mut self, problem: &Subproblem, change: Change, mut solve: impl FnMut(&mut [f64], &mut [f64])) {
        let (k, most) = (self.changes.len(), self.most);
        let (columns, rows) = (k * self.columns..(k + 1) * self.columns, k * self.m..(k + 1) * self.m);
        self.changes.push(change);
        self.t[..=k].fill(0.0);
        let (s, y) = (&mut self.s[columns.clone()], &mut self.y[rows.clone()]);
        s.fill(0.0);
        y.fill(0.0);
        if change.is_free {
            problem.add_hessian_column(change.column, s);
            problem.jacobian.add_column(change.column, y);
            for (t, other) in self.t.iter_mut().zip(&self.changes).filter(|(_, other)| other.is_free) {
                *t = s[other.column];
            }
            self.b.0[columns.clone()].copy_from_slice(s);
            self.b.1[rows.clone()].copy_from_slice(y);
        } else {
            s[change.column] = 1.0;
        }
        solve(s, y);
        for i in 0..=k {
            let entry = self.t[i] - self.product(i, &self.s[columns.clone()], &self.y[rows.clone()]);
            (self.schur[k * most + i], self.schur[i * most + k]) = (entry, entry);
        }
    }

    /// `B_k^T (s, y)`
    fn product(&self, k: usize, s: &[f64], y: &[f64]) -> f64 {
        let change = self.changes[k];
        if !change.is_free {
            return s[change.column];
        }
        dot(&self.b.0[k * self.columns..(k + 1) * self.columns], s) + dot(&self.b.1[k * self.m..(k + 1) * self.m], y)
    }

    /// The last change takes the place of the one that is gone.
    fn remove(&mut self, k: usize) {
        let (last, most) = (self.changes.len() - 1, self.most);
        self.changes.swap_remove(k);
        for s in [&mut self.s, &mut self.b.0] {
            s.copy_within(last * self.columns..(last + 1) * self.columns, k * self.columns);
        }
        for y in [&mut self.y, &mut self.b.1] {
            y.copy_within(last * self.m..(last + 1) * self.m, k * self.m);
        }
        self.schur.copy_within(last * most..last * most + last + 1, k * most);
        for column in 0..last {
            self.schur[column * most + k] = self.schur[column * most + last];
        }
    }

    fn factorise(&mut self) -> bool {
        let count = self.changes.len();
        if count == 0 {
            return true;
        }
        for (to, from) in self.factor.matrix(count).chunks_exact_mut(count).zip(self.schur.chunks_exact(self.most)) {
            to.copy_from_slice(&from[..count]);
        }
        let held = self.changes.iter().filter(|change| !change.is_free).count();
        self.factor.factorise(count) == Some(if held.is_multiple_of(2) { 1.0 } else { -1.0 })
    }

    /// Takes from the right-hand side what belongs to the border.
    pub fn take(&mut self, s: &mut [f64]) {
        for (t, change) in self.t.iter_mut().zip(&self.changes) {
            *t = if change.is_free { std::mem::take(&mut s[change.column]) } else { 0.0 };
        }
    }

    /// From the solution with the factorised matrix to that with the border.
    pub fn correct(&mut self, s: &mut [f64], y: &mut [f64]) {
        let count = self.changes.len();
        for k in 0..count {
            self.t[k] -= self.product(k, s, y);
        }
        let t = &mut self.t[..count];
        self.factor.solve(t);
        for (k, t) in t.iter().enumerate() {
            add(-t, &self.s[k * self.columns..(k + 1) * self.columns], s);
            add(-t, &self.y[k * self.m..(k + 1) * self.m], y);
        }
        for (t, change) in t.iter().zip(&self.changes) {
            s[change.column] = if change.is_free { *t } else { 0.0 };
        }
    }
}
