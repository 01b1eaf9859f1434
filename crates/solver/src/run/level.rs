//! A direction along which the gradient stays as it is, when no single variable is one.
//!
//! `-exp(x + y) + (x - y)^2` at (-400, -400) is level along (1, 1) alone. With `D = diag(1 + |z|)` and `H` the Hessian, products `D H D v` are differences of two
//! gradients; those of a Krylov space (Lanczos) that begins with a random vector `b` find the part of `b` on which `H` vanishes: it is in that space when
//! this holds all of the eigenvalues that `b` has a part of, as it does after `n` products at the latest.

use tangor_problem::SampledProblem;

use crate::kernel::eigen::Eigen;
use crate::kernel::vector::{add, dot, largest, norm};
use crate::run::flat::{BESIDE, CURVED, away};
use crate::solver::Solver;

/// Products with the Hessian at most, a gradient each.
const PRODUCTS: usize = 10;

/// Differences of gradients tell parts of a direction up to this; what that makes of the objective grows with its curvature.
const UNCERTAIN: f64 = 1e-12;

/// What is left of a product beside the space so far, relative to the product, is rounding.
const NOTHING_NEW: f64 = 1e-8;

impl<S: SampledProblem> Solver<S> {
    /// A direction, as large as `1 + |z_i|` in one variable at least, along which there is no slope here, nor beside the point, and how much the objective may rise
    /// along it because it is not known exactly: the square of so many times the way. Only where the objective by itself is stationary is it looked for.
    pub(super) fn level_direction(&mut self) -> Option<(Vec<f64>, f64)> {
        let free = self.variables_without_slope()?;
        let left = self.oracle.problem.evaluations_left().unwrap_or(u64::MAX);
        if self.clock.is_over() || left <= 2 * (PRODUCTS as u64 + 1) {
            return None;
        }
        let mut basis: Vec<Vec<f64>> = Vec::new();
        // `Q^T D H D Q`, row after row.
        let mut products: Vec<Vec<f64>> = Vec::new();
        let mut next: Vec<f64> = free.iter().map(|&i| away(i)).collect();
        let mut new = norm(&next);
        while basis.len() < PRODUCTS.min(free.len()) && new > 0.0 {
            next.iter_mut().for_each(|next| *next /= new);
            basis.push(next);
            next = self.product_with_the_hessian(&free, basis.last()?)?;
            products.push(basis.iter().map(|q| dot(q, &next)).collect());
            let length = norm(&next);
            // Twice, for what rounding leaves of the first time.
            for q in basis.iter().chain(&basis) {
                add(-dot(q, &next), q, &mut next);
            }
            new = norm(&next);
            if new <= NOTHING_NEW * length {
                break;
            }
        }
        let (flattest, curvature) = self.flattest_in(&products)?;
        let mut level = vec![0.0; free.len()];
        basis.iter().zip(&flattest).for_each(|(q, part)| add(*part, q, &mut level));
        let size = largest(&level);
        level.iter_mut().for_each(|level| *level /= size);
        let rise = UNCERTAIN * (curvature / self.oracle.standard.scales.objective).sqrt();
        self.is_level(&free, &level).then(|| (self.spread(&free, &level), rise))
    }

    /// The variables that no bound is near to; none where the objective has a slope along one that leads far away, or where there is one alone.
    fn variables_without_slope(&self) -> Option<Vec<usize>> {
        let (standard, z, g) = (&self.oracle.standard, &self.state.current.z, &self.state.current.g);
        let leads_far = |i: usize| standard.lower[i] == f64::NEG_INFINITY || standard.upper[i] == f64::INFINITY;
        let has_room = |i: usize| {
            let room = BESIDE * (1.0 + z[i].abs());
            z[i] - standard.lower[i] > room && standard.upper[i] - z[i] > room
        };
        let far: Vec<usize> = (0..self.trial.n()).filter(|&i| leads_far(i)).collect();
        let is_stationary = far.iter().all(|&i| self.slope(g, i) <= self.settings.tolerance.stationarity);
        let free: Vec<usize> = far.into_iter().filter(|&i| has_room(i)).collect();
        (is_stationary && free.len() > 1).then_some(free)
    }

    /// A direction of the free variables, each in units of `1 + |z_i|`, as one of all columns.
    fn spread(&self, free: &[usize], v: &[f64]) -> Vec<f64> {
        let z = &self.state.current.z;
        let mut direction = vec![0.0; z.len()];
        free.iter().zip(v).for_each(|(&i, v)| direction[i] = (1.0 + z[i].abs()) * v);
        direction
    }

    /// Evaluates derivatives a small step in this direction away, at the trial point.
    fn derivatives_beside(&mut self, free: &[usize], v: &[f64]) -> Option<()> {
        let (direction, z) = (self.spread(free, v), &self.state.current.z);
        self.trial.put(|i| z[i] + BESIDE * direction[i]);
        self.oracle.derivatives_elsewhere(&mut self.trial).ok()
    }

    /// `D H D v`, by the change of the gradient.
    fn product_with_the_hessian(&mut self, free: &[usize], v: &[f64]) -> Option<Vec<f64>> {
        let size = largest(v);
        self.derivatives_beside(free, &v.iter().map(|v| v / size).collect::<Vec<_>>())?;
        let (current, beside) = (&self.state.current, &self.trial.g);
        let change = |i: usize| (1.0 + current.z[i].abs()) * (beside[i] - current.g[i]) * size / BESIDE;
        Some(free.iter().map(|&i| change(i)).collect())
    }

    /// The eigenvector whose eigenvalue is nearest to zero, in the basis of the Krylov space, and the largest curvature.
    fn flattest_in(&self, products: &[Vec<f64>]) -> Option<(Vec<f64>, f64)> {
        let size = products.len();
        let mut eigen = Eigen::new(size);
        let matrix = eigen.matrix()?;
        for (j, column) in products.iter().enumerate() {
            for (i, product) in column.iter().enumerate() {
                (matrix[j * size + i], matrix[i * size + j]) = (*product, *product);
            }
        }
        let decomposed = eigen.decompose(&self.clock)?;
        let flattest = (0..size).min_by(|&i, &j| decomposed.values[i].abs().total_cmp(&decomposed.values[j].abs()))?;
        Some((decomposed.vector(flattest).to_vec(), largest(&decomposed.values)))
    }

    /// Whether there is no slope to speak of beside the point in this direction.
    fn is_level(&mut self, free: &[usize], v: &[f64]) -> bool {
        let tolerance = self.settings.tolerance.stationarity;
        let is_there = v.iter().all(|v| v.is_finite()) && self.derivatives_beside(free, v).is_some();
        is_there && free.iter().all(|&i| self.slope(&self.trial.g, i) <= CURVED * tolerance)
    }
}
