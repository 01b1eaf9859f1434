//! The one subproblem behind both steps:
//!
//! ```text
//! min  g^T s + 1/2 s^T H s + sum_i (J s - r)_i^2 / (2 kappa_i)     s.t.  lower <= s <= upper,
//! ```
//!
//! with a positive diagonal `H`; `kappa_i = 0` means `(J s - r)_i = 0`. Its dual lives in `R^m`: for multipliers `y`,
//! `s(y) = clip(-(g + J^T y) / H, lower, upper)`, and the convex function `psi` with gradient `r - J s(y) + kappa y` (row by row) is minimised by a
//! semismooth Newton method with an exact line search. The Newton matrix is `J_F H_F^-1 J_F^T + diag(kappa)` over the free columns `F`.

use crate::Kernel;
use crate::clock::Clock;
use crate::gram::Gram;
use crate::matrix::Jacobian;
use crate::vector::{add, dot, norm};

/// What is added to the Newton matrix, relative to its diagonal over all columns: a proximal term on the multipliers, which keeps the
/// method well posed when rows depend on each other or the active set is degenerate. It grows while the line search has to cut the
/// steps short, and vanishes again.
const LEAST_DAMPING: f64 = 1e-13;

/// From so many rows on, a solve begins damped.
const MANY_ROWS: usize = 1000;

/// The data of one subproblem. Columns are variables and slacks together.
pub struct Subproblem<'a> {
    pub jacobian: &'a Jacobian,
    /// The diagonal of `H`.
    pub metric: &'a [f64],
    /// `g`; none means zero.
    pub gradient: Option<&'a [f64]>,
    /// `r`
    pub target: &'a [f64],
    pub lower: &'a [f64],
    pub upper: &'a [f64],
    /// `kappa` of each row.
    pub softness: &'a [f64],
}

/// How well a subproblem was solved.
#[derive(Clone, Copy, Debug, Default)]
pub struct Projected {
    /// Newton steps.
    pub iterations: u32,
    /// `|r - J s + kappa y|`
    pub residual: f64,
    /// Whether the residual is within the tolerance.
    pub converged: bool,
    /// Whether rows depend on each other.
    pub dependent: bool,
}

/// The kernel with its memory.
pub struct Projection {
    gram: Gram,
    settings: Kernel,
    /// `g + J^T y` and its change along the Newton direction
    q: Vec<f64>,
    dq: Vec<f64>,
    /// `1 / H` where free, otherwise 0
    weights: Vec<f64>,
    /// The diagonal that slacks and softness add to the Newton matrix
    diagonal: Vec<f64>,
    /// The diagonal of the Newton matrix over all columns, free or not
    full: Vec<f64>,
    residual: Vec<f64>,
    dy: Vec<f64>,
}

impl Projection {
    pub fn new(jacobian: &Jacobian, settings: &Kernel) -> Self {
        let (m, columns) = (jacobian.rows(), jacobian.columns());
        Projection {
            gram: Gram::new(&jacobian.a, settings.factorisation),
            settings: settings.clone(),
            q: vec![0.0; columns],
            dq: vec![0.0; columns],
            weights: vec![0.0; columns],
            diagonal: vec![0.0; m],
            full: vec![0.0; m],
            residual: vec![0.0; m],
            dy: vec![0.0; m],
        }
    }

    /// Solves from the multipliers `y`, which are improved in place; `s` is the solution.
    pub fn solve(&mut self, problem: &Subproblem, y: &mut [f64], s: &mut [f64], clock: &Clock) -> Projected {
        let mut done = Projected::default();
        let scale = problem.jacobian.norm();
        let target = norm(problem.target);
        self.start(problem, y);
        self.find_full_diagonal(problem);
        // Among many rows some see no free column at first, and one length must serve them all: damping tames their part of the step.
        let mut damping = if self.full.len() > MANY_ROWS { 0.1 } else { LEAST_DAMPING };
        let (mut best, mut t) = (f64::INFINITY, 0.0);
        loop {
            let changed = self.clip(problem, s);
            self.find_residual(problem, y, s);
            done.residual = norm(&self.residual);
            let size = target + scale * norm(s) + self.softened(problem, y);
            let allowed = (self.settings.tolerance * size).max(self.settings.floor);
            done.converged = done.residual <= allowed;
            // On one quadratic piece Newton's step is exact: what is left then is rounding, which one more step refines.
            let exhausted = !changed && t == 1.0 && damping == LEAST_DAMPING && done.residual > 0.5 * best;
            best = best.min(done.residual);
            if exhausted && done.residual <= 1e3 * allowed {
                done.converged = true;
            }
            let out_of_time = done.iterations > 0 && clock.is_over();
            if done.converged || exhausted || out_of_time || done.iterations == self.settings.iterations {
                return done;
            }
            match self.newton(problem, damping) {
                Ok(dependent) => done.dependent |= dependent,
                Err(_) => return done,
            }
            t = self.line_search(problem, y, damping);
            damping = if t < 0.1 { (100.0 * damping).clamp(1e-6, 1e-1) } else { (1e-2 * damping).max(LEAST_DAMPING) };
            add(t, &self.dy, y);
            add(t, &self.dq, &mut self.q);
            done.iterations += 1;
        }
    }

    fn start(&mut self, problem: &Subproblem, y: &[f64]) {
        match problem.gradient {
            Some(g) => self.q.copy_from_slice(g),
            None => self.q.fill(0.0),
        }
        problem.jacobian.add_transposed(y, &mut self.q);
        self.weights.fill(-1.0);
    }

    /// `s(y)` and the free columns; true when these changed.
    fn clip(&mut self, problem: &Subproblem, s: &mut [f64]) -> bool {
        let mut changed = false;
        for i in 0..s.len() {
            let unclipped = -self.q[i] / problem.metric[i];
            let (lower, upper) = (problem.lower[i], problem.upper[i]);
            let weight = if unclipped > lower && unclipped < upper { 1.0 / problem.metric[i] } else { 0.0 };
            changed |= weight != self.weights[i];
            self.weights[i] = weight;
            s[i] = unclipped.max(lower).min(upper);
        }
        changed
    }

    /// The gradient of `psi`: `r - J s + kappa y`.
    fn find_residual(&mut self, problem: &Subproblem, y: &[f64], s: &[f64]) {
        problem.jacobian.apply(s, &mut self.residual);
        for (i, residual) in self.residual.iter_mut().enumerate() {
            *residual = problem.target[i] - *residual + problem.softness[i] * y[i];
        }
    }

    /// `|kappa y|`
    fn softened(&self, problem: &Subproblem, y: &[f64]) -> f64 {
        problem.softness.iter().zip(y).map(|(kappa, y)| (kappa * y).powi(2)).sum::<f64>().sqrt()
    }

    /// The diagonal that the Newton matrix would have, were all columns free.
    fn find_full_diagonal(&mut self, problem: &Subproblem) {
        let n = problem.jacobian.a.n;
        for (i, full) in self.full.iter_mut().enumerate() {
            *full = problem.softness[i] + problem.jacobian.a.weighted_square(i, &problem.metric[..n]);
        }
        for (&row, metric) in problem.jacobian.slack_rows.iter().zip(&problem.metric[n..]) {
            self.full[row] += 1.0 / metric;
        }
    }

    /// The Newton direction `dy`, and `dq = J^T dy`.
    fn newton(&mut self, problem: &Subproblem, damping: f64) -> Result<bool, crate::gram::Indefinite> {
        let n = problem.jacobian.a.n;
        for ((diagonal, softness), full) in self.diagonal.iter_mut().zip(problem.softness).zip(&self.full) {
            // The multiplier of a row of zeros changes nothing: any positive number keeps the matrix definite.
            *diagonal = if *full > 0.0 { softness + damping * full } else { 1.0 };
        }
        for (&row, weight) in problem.jacobian.slack_rows.iter().zip(&self.weights[n..]) {
            self.diagonal[row] += weight;
        }
        let dependent = self.gram.factorise(&problem.jacobian.a, &self.weights[..n], &self.diagonal)?;
        for (dy, residual) in self.dy.iter_mut().zip(&self.residual) {
            *dy = -residual;
        }
        self.gram.solve(&problem.jacobian.a, &mut self.dy);
        self.dq.fill(0.0);
        problem.jacobian.add_transposed(&self.dy, &mut self.dq);
        Ok(dependent)
    }

    /// The step along `dy` to where the slope of the convex, piecewise quadratic `psi` vanishes, nearly.
    fn line_search(&self, problem: &Subproblem, y: &[f64], damping: f64) -> f64 {
        let soft = |a: &[f64]| problem.softness.iter().zip(a).zip(&self.dy).map(|((kappa, a), dy)| kappa * a * dy).sum::<f64>();
        let (fixed, curvature) = (dot(problem.target, &self.dy) + soft(y), soft(&self.dy));
        let slope = |t: f64| fixed + t * curvature - self.slope_of_step(problem, t);
        let start = dot(&self.residual, &self.dy);
        let enough = |slope: f64| slope.abs() <= 0.1 * start.abs();

        let (first, last) = if self.is_blind(damping, start) { self.kinks(problem) } else { (1.0, 1e12) };
        let (mut low, mut high) = ((0.0, start), (first, slope(first)));
        while high.1 < 0.0 && !enough(high.1) && high.0 < last {
            low = high;
            high = (4.0 * high.0, slope(4.0 * high.0));
        }
        if enough(high.1) || high.1 < 0.0 {
            return high.0;
        }
        // Regula falsi between a falling and a rising end; the Illinois rule keeps either from getting stuck.
        for _ in 0..40 {
            let t = low.0 + (high.0 - low.0) * (low.1 / (low.1 - high.1)).clamp(1e-3, 1.0 - 1e-3);
            let middle = slope(t);
            if enough(middle) {
                return t;
            }
            if middle < 0.0 {
                low = (t, middle);
                high.1 *= 0.5;
            } else {
                high = (t, middle);
                low.1 *= 0.5;
            }
        }
        if low.0 > 0.0 { low.0 } else { high.0 }
    }

    /// Whether the free columns hardly see the direction, so that its length means nothing: damping alone made it.
    fn is_blind(&self, damping: f64, start: f64) -> bool {
        let damped: f64 = self.full.iter().zip(&self.dy).map(|(full, dy)| full * dy * dy).sum();
        damping * damped > 0.5 * start.abs()
    }

    /// Where along the direction the first and the last column meet a bound. Multipliers that went beyond the last one would only be
    /// large, and inaccurate.
    fn kinks(&self, problem: &Subproblem) -> (f64, f64) {
        let (mut first, mut last) = (f64::INFINITY, 0.0f64);
        for i in 0..self.q.len() {
            for bound in [problem.lower[i], problem.upper[i]] {
                let t = -(problem.metric[i] * bound + self.q[i]) / self.dq[i];
                if t > 0.0 && t.is_finite() {
                    (first, last) = (first.min(t), last.max(t));
                }
            }
        }
        if first <= last { (first, last) } else { (1.0, 1.0) }
    }

    /// `s(y + t dy)^T J^T dy`
    fn slope_of_step(&self, problem: &Subproblem, t: f64) -> f64 {
        let mut sum = 0.0;
        for i in 0..self.q.len() {
            let s = (-(self.q[i] + t * self.dq[i]) / problem.metric[i]).max(problem.lower[i]).min(problem.upper[i]);
            sum += s * self.dq[i];
        }
        sum
    }
}
