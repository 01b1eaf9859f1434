//! What tests and benchmarks look at: the kernel on a subproblem of its own. No part of the library's promise.

use std::sync::Arc;

use tangor_problem::SampledProblem;

use crate::kernel::cone;
use crate::kernel::gram::Gram;
use crate::kernel::matrix::{Jacobian, Matrix, Structure};
use crate::kernel::projection::Projection;
use crate::kernel::subproblem::{Block, LowRank, Subproblem};
use crate::kernel::system::Beside;
use crate::run::clock::Clock;
use crate::run::memory::Budget;
use crate::{Factorisation, Kernel, Solver, Unusual};

/// A subproblem `min g^T s + 1/2 s^T H s + sum_i (J s - r)_i^2 / (2 kappa_i)`, `lower <= s <= upper`, that owns its data.
#[derive(Clone, Debug)]
pub struct StoredSubproblem {
    jacobian: Jacobian,
    /// The diagonal of `H`.
    pub metric: Vec<f64>,
    /// The block of `H` for the variables, row after row, unless it is diagonal.
    pub block: Option<Vec<f64>>,
    low_rank: Option<LowRank>,
    /// `g`
    pub gradient: Vec<f64>,
    /// `r`
    pub target: Vec<f64>,
    /// Lower bounds.
    pub lower: Vec<f64>,
    /// Upper bounds.
    pub upper: Vec<f64>,
    /// `kappa`; 0 for a row that must hold.
    pub softness: Vec<f64>,
    /// Where the multipliers start.
    pub warm: Vec<f64>,
}

/// The kernel with its memory, and its last solution.
pub struct StoredKernel {
    projection: Projection,
    clock: Clock,
    /// The solution.
    pub s: Vec<f64>,
    /// Its multipliers.
    pub y: Vec<f64>,
    /// Factorisations of the last solution.
    pub iterations: u32,
    /// Systems that these served.
    pub systems: u32,
    /// Of these, in the interior-point method.
    pub interior: u32,
    /// Whether it met the tolerance.
    pub converged: bool,
}

impl StoredSubproblem {
    /// `J` has these entries, and a slack for each of these rows; `H = I`, nothing is bounded, all else is zero. Entries of a dense
    /// matrix stand row after row.
    pub fn new(m: usize, n: usize, entries: &[(usize, usize, f64)], sparse: bool, slack_rows: &[usize]) -> Self {
        let places: Vec<(usize, usize)> = entries.iter().map(|&(row, column, _)| (row, column)).collect();
        let (mut a, positions) = if sparse {
            let (structure, positions) = Structure::new(m, n, &places);
            (Matrix::sparse(m, n, Arc::new(structure)), positions)
        } else {
            (Matrix::dense(m, n), places.iter().map(|(row, column)| row * n + column).collect())
        };
        for (position, (_, _, value)) in positions.into_iter().zip(entries) {
            a.values[position] += value;
        }
        StoredSubproblem::of(Jacobian { a, slack_rows: Arc::from(slack_rows) })
    }

    fn of(jacobian: Jacobian) -> Self {
        let (m, columns) = (jacobian.rows(), jacobian.columns());
        StoredSubproblem {
            jacobian,
            metric: vec![1.0; columns],
            block: None,
            low_rank: None,
            gradient: vec![0.0; columns],
            target: vec![0.0; m],
            lower: vec![f64::NEG_INFINITY; columns],
            upper: vec![f64::INFINITY; columns],
            softness: vec![0.0; m],
            warm: vec![0.0; m],
        }
    }

    /// The tangent subproblem of the next iteration, with the multipliers that it starts from. The run is not changed.
    pub fn next<S: SampledProblem>(solver: &mut Solver<S>) -> Self {
        Self::next_two(solver).1
    }

    /// The normal and the tangent subproblem of the next iteration, with the multipliers that they start from. There is no normal one
    /// where nothing can be repaired, or where a mapping takes its place. The run is not changed.
    pub fn next_two<S: SampledProblem>(solver: &mut Solver<S>) -> (Option<Self>, Self) {
        solver.find_steps(&mut Unusual::default());
        let normal = solver.steps.normal.is_posed.then(|| {
            let (target, softness) = solver.steps.normal.rows();
            StoredSubproblem {
                metric: solver.state.metric.normal.clone(),
                target: target.to_vec(),
                lower: solver.steps.bounds.lower.clone(),
                upper: solver.steps.bounds.upper.clone(),
                softness: softness.to_vec(),
                warm: solver.state.multipliers.normal().to_vec(),
                ..StoredSubproblem::of(solver.state.current.jacobian.clone())
            }
        });
        let (block, low_rank) = match solver.state.metric.block() {
            Block::Diagonal => (None, None),
            Block::Dense(matrix) => (Some(matrix.to_vec()), None),
            Block::LowRank(low_rank) => (None, Some(low_rank.clone())),
            // Kept dense: what is stored here is small.
            Block::Sparse(matrix) => (Some(matrix.full()), None),
        };
        let tangent = StoredSubproblem {
            metric: solver.state.metric.diagonal.clone(),
            block,
            low_rank,
            gradient: solver.state.current.g.clone(),
            target: solver.steps.normal.target.clone(),
            lower: solver.steps.bounds.lower.clone(),
            upper: solver.steps.bounds.upper.clone(),
            softness: solver.steps.tangent.softness.clone(),
            warm: solver.state.multipliers.tangent().to_vec(),
            ..StoredSubproblem::of(solver.state.current.jacobian.clone())
        };
        (normal, tangent)
    }

    fn borrow(&self) -> Subproblem<'_> {
        Subproblem {
            jacobian: &self.jacobian,
            metric: &self.metric,
            block: match (&self.block, &self.low_rank) {
                (Some(matrix), _) => Block::Dense(matrix),
                (None, Some(low_rank)) => Block::LowRank(low_rank),
                (None, None) => Block::Diagonal,
            },
            gradient: Some(&self.gradient),
            target: &self.target,
            lower: &self.lower,
            upper: &self.upper,
            softness: &self.softness,
        }
    }

    /// Rows and columns.
    pub fn size(&self) -> (usize, usize) {
        (self.jacobian.rows(), self.jacobian.columns())
    }

    /// The entries of `J` that are not zero, slacks included: row, column, value.
    pub fn entries(&self) -> Vec<(usize, usize, f64)> {
        let a = &self.jacobian.a;
        let row = |i: usize| a.row_values(i).iter().enumerate().map(move |(k, value)| (i, a.column(i, k), *value));
        let slacks = self.jacobian.slack_rows.iter().enumerate().map(|(k, &i)| (i, a.n + k, -1.0));
        (0..a.m).flat_map(row).filter(|(_, _, value)| *value != 0.0).chain(slacks).collect()
    }

    /// The entries of the lower triangle of `H`, all of its diagonal among them: row, column, value.
    pub fn hessian_entries(&self) -> Vec<(usize, usize, f64)> {
        let n = self.jacobian.a.n;
        let diagonal = self.metric.iter().enumerate().map(|(j, h)| (j, j, *h));
        match (&self.block, &self.low_rank) {
            (Some(block), _) => {
                let below = (0..n).flat_map(|i| (0..i).map(move |j| (i, j, block[i * n + j])));
                diagonal.chain(below).collect()
            }
            (None, Some(low_rank)) => {
                let of = |i: usize, j: usize| {
                    let terms = low_rank.signs().iter().enumerate();
                    terms.map(|(k, sign)| sign * low_rank.vector(k)[i] * low_rank.vector(k)[j]).sum::<f64>()
                };
                let below = (0..n).flat_map(|i| (0..i).map(move |j| (i, j))).map(|(i, j)| (i, j, of(i, j)));
                diagonal.map(|(i, j, h)| (i, j, if i < n { h + of(i, i) } else { h })).chain(below).collect()
            }
            (None, None) => diagonal.collect(),
        }
    }

    /// How many of the columns are slacks.
    pub fn slacks(&self) -> usize {
        self.jacobian.slack_rows.len()
    }

    /// Whether there is a row that is neither soft nor has a slack.
    pub fn has_hard_rows(&self) -> bool {
        (0..self.target.len()).any(|i| self.softness[i] == 0.0 && !self.jacobian.slack_rows.contains(&i))
    }

    /// A kernel for this subproblem.
    pub fn kernel(&self, settings: &Kernel) -> StoredKernel {
        let (m, columns) = self.size();
        let beside = match self.borrow().block {
            Block::Diagonal => Beside::Nothing,
            Block::Dense(_) => Beside::Dense,
            Block::LowRank(low_rank) => Beside::LowRank(low_rank.most()),
            Block::Sparse(matrix) => Beside::Sparse(matrix),
        };
        // Whoever makes a subproblem by hand knows how large it is.
        let clock = Clock::new(None, 0.0);
        let projection = Projection::new(&self.jacobian, settings, beside, Budget::NO_LIMIT, &clock);
        let projection = projection.expect("without a limit nothing is too large");
        let (s, y) = (vec![0.0; columns], vec![0.0; m]);
        StoredKernel { projection, clock, s, y, iterations: 0, systems: 0, interior: 0, converged: false }
    }

    /// Solves from the warm start.
    pub fn solve(&self, kernel: &mut StoredKernel) {
        kernel.y.copy_from_slice(&self.warm);
        let done = kernel.projection.solve(&self.borrow(), &mut kernel.y, &mut kernel.s, &kernel.clock);
        (kernel.iterations, kernel.systems, kernel.interior) = (done.iterations, done.systems, done.interior);
        kernel.converged = done.converged;
    }

    /// Solves by Clarabel; false when it gave up.
    pub fn solve_by_clarabel(&self, s: &mut [f64], y: &mut [f64]) -> bool {
        cone::quadratic(&self.borrow(), s, y, &Clock::new(None, 0.0), Budget::NO_LIMIT)
    }

    /// `out = H s`
    pub fn apply_hessian(&self, s: &[f64], out: &mut [f64]) {
        self.borrow().apply_hessian(s, out);
    }

    /// `out = J v`
    pub fn apply(&self, v: &[f64], out: &mut [f64]) {
        self.jacobian.apply(v, out);
    }

    /// `out = J^T y`
    pub fn apply_transposed(&self, y: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        self.jacobian.add_transposed(y, out);
    }

    /// Prepares one Cholesky factorisation of `J J^T`, which the closure then does, with no slacks; false when it fails.
    pub fn cholesky(&self, factorisation: Factorisation) -> impl FnMut() -> bool + '_ {
        let clock = Clock::new(None, 0.0);
        let gram = Gram::new(&self.jacobian.a, factorisation, Budget::NO_LIMIT, &clock);
        let mut gram = gram.expect("without a limit nothing is too large");
        let (ones, nothing) = (vec![1.0; self.jacobian.a.n], vec![0.0; self.jacobian.rows()]);
        move || gram.factorise(&self.jacobian.a, &ones, &nothing, &clock).is_ok()
    }
}
