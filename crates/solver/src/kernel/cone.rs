//! Subproblems as cone programs for Clarabel: the paper's normal steps, which bound the null-space part, and the fallback of the
//! kernel. The kernel is the workhorse; what is solved here is recorded.

use clarabel::algebra::CscMatrix;
use clarabel::solver::SupportedConeT::{self, NonnegativeConeT, SecondOrderConeT, ZeroConeT};
use clarabel::solver::{DefaultSettings, DefaultSettingsBuilder, DefaultSolution, DefaultSolver, IPSolver, SolverStatus};

use crate::kernel::aside::unless_over;
use crate::kernel::matrix::Jacobian;
use crate::kernel::sparse_factor::LowerPattern;
use crate::kernel::subproblem::{Block, Subproblem};
use crate::kernel::vector::norm;
use crate::run::clock::Clock;
use crate::run::memory::{Budget, NUMBER};
use crate::steps::local_model::LocalModel;
use crate::{Normal, NormalVariant};

/// More variables than this, and a metric of low rank is not written out.
const LARGEST_FULL: usize = 1000;

/// What Clarabel may miss: finer than its own defaults, as fine as the kernel's tolerance.
const TOLERANCE: f64 = 1e-11;

/// Bytes of an entry of its factor: the value, and its place.
const OF_AN_ENTRY: u128 = 2 * NUMBER;

/// About so many factorisations are made, each of a full matrix at worst.
const FACTORISATIONS: f64 = 30.0;

/// A cone program `min 1/2 v^T P v + q^T v, A v + slack = b, slack in K`, under construction.
struct Program {
    diagonal: Vec<f64>,
    /// Entries of `P` above its diagonal: row, column, value.
    above: Vec<(usize, usize, f64)>,
    linear: Vec<f64>,
    rows: Vec<usize>,
    columns: Vec<usize>,
    values: Vec<f64>,
    right: Vec<f64>,
    cones: Vec<SupportedConeT<f64>>,
}

impl Program {
    fn new(variables: usize) -> Self {
        Program {
            diagonal: vec![0.0; variables],
            above: Vec::new(),
            linear: vec![0.0; variables],
            rows: Vec::new(),
            columns: Vec::new(),
            values: Vec::new(),
            right: Vec::new(),
            cones: Vec::new(),
        }
    }

    fn entry(&mut self, row: usize, column: usize, value: f64) {
        self.rows.push(row);
        self.columns.push(column);
        self.values.push(value);
    }

    /// Opens rows with these right-hand sides in one cone; gives the index of the first.
    fn open(&mut self, right: impl IntoIterator<Item = f64>, cone: fn(usize) -> SupportedConeT<f64>) -> usize {
        let first = self.right.len();
        self.right.extend(right);
        self.cones.push(cone(self.right.len() - first));
        first
    }

    /// Adds `scale J` at these rows and columns, or its transpose.
    fn jacobian(&mut self, jacobian: &Jacobian, scale: f64, row: usize, column: usize, transposed: bool) {
        let mut put = |i: usize, j: usize, value: f64| {
            let (i, j) = if transposed { (j, i) } else { (i, j) };
            self.entry(row + i, column + j, scale * value);
        };
        let a = &jacobian.a;
        for i in 0..a.m {
            for (k, &value) in a.row_values(i).iter().enumerate().filter(|(_, value)| **value != 0.0) {
                put(i, a.column(i, k), value);
            }
        }
        for (k, &i) in jacobian.slack_rows.iter().enumerate() {
            put(i, a.n + k, -1.0);
        }
    }

    /// Adds `lower <= sum of terms(i) <= upper` for all `i` with finite bounds. Gives the `i` and the bound of each new row.
    fn between(&mut self, bounds: (&[f64], &[f64]), terms: impl Fn(usize) -> Vec<(usize, f64)>) -> Vec<(usize, f64)> {
        let mut added = Vec::new();
        for (bounds, sign) in [(bounds.1, 1.0), (bounds.0, -1.0)] {
            let finite: Vec<usize> = (0..bounds.len()).filter(|&i| bounds[i].is_finite()).collect();
            let first = self.open(finite.iter().map(|&i| sign * bounds[i]), NonnegativeConeT);
            for (row, &i) in finite.iter().enumerate() {
                for (column, value) in terms(i) {
                    self.entry(first + row, column, sign * value);
                }
            }
            added.extend(finite.into_iter().map(|i| (i, bounds[i])));
        }
        added
    }

    /// The rows of its matrix `[P, A^T; A, -W]`.
    fn size(&self) -> usize {
        self.diagonal.len() + self.right.len()
    }

    /// Whether the factor of its matrix fits into memory. Where even a full one would, nobody looks how sparse it is.
    fn fits(&self, budget: Budget) -> bool {
        let fits = |entries: usize| budget.check(OF_AN_ENTRY * entries as u128, String::new).is_ok();
        if fits(self.size().saturating_mul(self.size() + 1) / 2) {
            return true;
        }
        let first = self.diagonal.len();
        let above = self.above.iter().map(|&(row, column, _)| (row.min(column), row.max(column)));
        let below = self.rows.iter().zip(&self.columns).map(|(row, &column)| (column, first + row));
        let mut keys: Vec<(usize, usize)> = (0..self.size()).map(|i| (i, i)).chain(above).chain(below).collect();
        keys.sort_unstable();
        keys.dedup();
        LowerPattern::new(self.size(), &keys).entries_of_factor().is_some_and(fits)
    }

    /// None: Clarabel gave up, its factor does not fit into memory, or the run is to end, which waits neither for an analysis nor for a factorisation.
    fn solve(self, clock: &Clock, budget: Budget) -> Option<DefaultSolution<f64>> {
        let (size, meanwhile) = (self.size() as f64, clock.clone());
        let work = move || self.fits(budget).then(|| self.solve_until(meanwhile))?;
        unless_over(FACTORISATIONS * size.powi(3) / 3.0, clock, work)?
    }

    fn solve_until(self, clock: Clock) -> Option<DefaultSolution<f64>> {
        let variables = self.diagonal.len();
        let diagonal = self.diagonal.into_iter().enumerate().map(|(i, value)| (i, i, value));
        let (mut rows, mut columns, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for (row, column, value) in diagonal.chain(self.above) {
            rows.push(row);
            columns.push(column);
            values.push(value);
        }
        let p = CscMatrix::new_from_triplets(variables, variables, rows, columns, values);
        let a = CscMatrix::new_from_triplets(self.right.len(), variables, self.rows, self.columns, self.values);
        let settings: DefaultSettings<f64> = DefaultSettingsBuilder::default()
            .verbose(false)
            .tol_gap_abs(TOLERANCE)
            .tol_gap_rel(TOLERANCE)
            .tol_feas(TOLERANCE)
            .max_threads(1)
            .build()
            .ok()?;
        let mut solver = DefaultSolver::new(&p, &self.linear, &a, &self.right, &self.cones, settings).ok()?;
        solver.set_termination_callback(move |_| clock.is_over());
        solver.solve();
        let good = matches!(solver.solution.status, SolverStatus::Solved | SolverStatus::AlmostSolved);
        (good && solver.solution.x.iter().all(|value| value.is_finite())).then_some(solver.solution)
    }
}

/// Solves the kernel's subproblem; soft rows get a residual `p` of their own, `J s - p = r` at the cost `p^2 / (2 kappa)`. False:
/// Clarabel gave up, its factor does not fit or the time was over, and nothing was changed.
pub fn quadratic(problem: &Subproblem, s: &mut [f64], lambda: &mut [f64], clock: &Clock, budget: Budget) -> bool {
    let soft: Vec<usize> = (0..problem.softness.len()).filter(|&i| problem.softness[i] > 0.0).collect();
    let mut program = Program::new(s.len() + soft.len());
    program.diagonal[..s.len()].copy_from_slice(problem.metric);
    let n = problem.jacobian.a.n;
    match problem.block {
        Block::Diagonal => {}
        Block::Dense(matrix) => {
            program.above.extend((0..n).flat_map(|j| (0..j).map(move |i| (i, j, matrix[i * n + j]))));
        }
        Block::Sparse(matrix) => {
            matrix.write_diagonal(&mut program.diagonal);
            let entries = matrix.places.iter().zip(&matrix.values).filter(|((i, j), _)| i != j);
            program.above.extend(entries.map(|(&(i, j), value)| (j, i, *value)));
        }
        // Before there are vectors the matrix is its diagonal; written out, zeros would fill the factorisation.
        Block::LowRank(low_rank) if low_rank.signs().is_empty() => {}
        Block::LowRank(_) if n > LARGEST_FULL => return false,
        Block::LowRank(low_rank) => {
            for j in 0..n {
                let entry = |i: usize| -> f64 {
                    low_rank
                        .signs()
                        .iter()
                        .enumerate()
                        .map(|(k, sign)| sign * low_rank.vector(k)[i] * low_rank.vector(k)[j])
                        .sum()
                };
                program.diagonal[j] += entry(j);
                program.above.extend((0..j).map(|i| (i, j, entry(i))));
            }
        }
    }
    if let Some(g) = problem.gradient {
        program.linear[..s.len()].copy_from_slice(g);
    }
    let first = program.open(problem.target.iter().copied(), ZeroConeT);
    program.jacobian(problem.jacobian, 1.0, first, 0, false);
    for (k, &i) in soft.iter().enumerate() {
        program.diagonal[s.len() + k] = 1.0 / problem.softness[i];
        program.entry(first + i, s.len() + k, -1.0);
    }
    let first_bound = program.right.len();
    let bounds = program.between((problem.lower, problem.upper), |i| vec![(i, 1.0)]);
    let Some(solution) = program.solve(clock, budget) else { return false };
    for (i, s) in s.iter_mut().enumerate() {
        *s = solution.x[i].max(problem.lower[i]).min(problem.upper[i]);
    }
    // An interior point only comes near: where the multiplier is larger than the distance, the bound holds.
    for (k, &(i, bound)) in bounds.iter().enumerate() {
        if solution.z[first_bound + k] > solution.s[first_bound + k] {
            s[i] = bound;
        }
    }
    lambda.copy_from_slice(&solution.z[first..first + lambda.len()]);
    true
}

/// The paper's normal step and its variants: `u = v - J^T w`, `J v = 0`, `min 1/2 |h + J u|^2` with `v` bounded or penalised.
pub fn normal_step(local: LocalModel, settings: &Normal, u: &mut [f64], budget: Budget) -> bool {
    let LocalModel { at, bounds, clock, .. } = local;
    let (m, columns) = (at.jacobian.rows(), at.jacobian.columns());
    let one_norm = settings.variant == NormalVariant::BoundedOneNorm;
    // Variables: v, q = J^T w, w, p = h - J q, and a >= |v| for the 1-norm.
    let (v, q, w, p, a) = (0, columns, 2 * columns, 2 * columns + m, 2 * columns + 2 * m);
    let mut program = Program::new(a + if one_norm { columns } else { 0 });
    program.diagonal[p..p + m].fill(1.0);

    let first = program.open((0..columns).map(|_| 0.0), ZeroConeT);
    for i in 0..columns {
        program.entry(first + i, q + i, 1.0);
    }
    program.jacobian(&at.jacobian, -1.0, first, w, true);
    let first = program.open((0..m).map(|_| 0.0), ZeroConeT);
    program.jacobian(&at.jacobian, 1.0, first, v, false);
    let first = program.open(at.h.iter().copied(), ZeroConeT);
    program.jacobian(&at.jacobian, 1.0, first, q, false);
    for i in 0..m {
        program.entry(first + i, p + i, 1.0);
    }
    program.between((&bounds.lower, &bounds.upper), |i| vec![(v + i, 1.0), (q + i, -1.0)]);
    match settings.variant {
        NormalVariant::BoundedOneNorm => {
            for sign in [1.0, -1.0] {
                let first = program.open((0..columns).map(|_| 0.0), NonnegativeConeT);
                for i in 0..columns {
                    program.entry(first + i, v + i, sign);
                    program.entry(first + i, a + i, -1.0);
                }
            }
            let first = program.open([at.h.iter().map(|h| h.abs()).sum()], NonnegativeConeT);
            for i in 0..columns {
                program.entry(first, a + i, 1.0);
            }
        }
        NormalVariant::Regularised => program.diagonal[v..v + columns].fill(settings.regularisation),
        _ => {
            let right = std::iter::once(norm(&at.h)).chain((0..columns).map(|_| 0.0));
            let first = program.open(right, SecondOrderConeT);
            for i in 0..columns {
                program.entry(first + 1 + i, v + i, -1.0);
            }
        }
    }
    let Some(solution) = program.solve(clock, budget) else { return false };
    for (i, u) in u.iter_mut().enumerate() {
        *u = (solution.x[v + i] - solution.x[q + i]).max(bounds.lower[i]).min(bounds.upper[i]);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::matrix::Matrix;
    use crate::kernel::subproblem::LowRank;
    use tangor_problem::MemoryLimit;

    #[test]
    fn nothing_is_changed_when_the_time_is_over_or_memory_is_short() {
        // min 1/2 |s|^2 subject to s1 + s2 = 2
        let jacobian = Jacobian { a: Matrix { values: vec![1.0, 1.0], ..Matrix::dense(1, 2) }, slack_rows: [].into() };
        let free = [f64::INFINITY; 2];
        let problem = Subproblem {
            jacobian: &jacobian,
            metric: &[1.0, 1.0],
            block: Block::Diagonal,
            gradient: None,
            target: &[2.0],
            lower: &free.map(|bound| -bound),
            upper: &free,
            softness: &[0.0],
        };
        let (mut s, mut lambda) = ([5.0, 6.0], [7.0]);
        assert!(!quadratic(&problem, &mut s, &mut lambda, &Clock::new(Some(0.0), 0.0), Budget::NO_LIMIT));
        let few = Budget::new(MemoryLimit(50));
        assert!(!quadratic(&problem, &mut s, &mut lambda, &Clock::new(None, 0.0), few), "three rows have six entries at least");
        assert_eq!((s, lambda), ([5.0, 6.0], [7.0]));
        assert!(quadratic(&problem, &mut s, &mut lambda, &Clock::new(None, 0.0), Budget::NO_LIMIT));
        assert!(s.iter().all(|s| (s - 1.0).abs() < 1e-9) && (lambda[0] + 1.0).abs() < 1e-9, "{s:?}, {lambda:?}");
    }

    #[test]
    fn low_rank_without_vectors_is_a_diagonal() {
        // min 1/2 |s|^2 subject to s0 + s1 = 2, with more variables than a full matrix may have.
        let n = LARGEST_FULL + 1;
        let mut a = Matrix::dense(1, n);
        a.values[..2].fill(1.0);
        let jacobian = Jacobian { a, slack_rows: [].into() };
        let (ones, free) = (vec![1.0; n], vec![f64::INFINITY; n]);
        let below: Vec<f64> = free.iter().map(|bound| -bound).collect();
        let (nothing, mut something) = (LowRank::new(n, 2), LowRank::new(n, 2));
        something.push(1.0, 1.0, &ones);
        let mut problem = Subproblem {
            jacobian: &jacobian,
            metric: &ones,
            block: Block::LowRank(&nothing),
            gradient: None,
            target: &[2.0],
            lower: &below,
            upper: &free,
            softness: &[0.0],
        };
        let (mut s, mut lambda) = (vec![5.0; n], [0.0]);
        assert!(quadratic(&problem, &mut s, &mut lambda, &Clock::new(None, 0.0), Budget::NO_LIMIT));
        assert!((s[0] - 1.0).abs() < 1e-8 && (s[1] - 1.0).abs() < 1e-8 && s[2..].iter().all(|s| s.abs() < 1e-8));
        problem.block = Block::LowRank(&something);
        assert!(!quadratic(&problem, &mut s, &mut lambda, &Clock::new(None, 0.0), Budget::NO_LIMIT));
    }
}
