//! The linear system of the kernel,
//!
//! ```text
//! [ H + E   J^T ] [ s ]   [ a ]
//! [ J       -K  ] [ y ] = [ b ]
//! ```
//!
//! with diagonals `E >= 0` and `K > 0`. An infinite entry of `E` holds its column at zero. Slacks are eliminated first: with
//! `w = 1 / (h + e)` of its slack a row has `K + w` in place of `K`.

use crate::Factorisation;
use crate::kernel::augmented::{Augmented, Hessian};
use crate::kernel::dense_system::DenseSystem;
use crate::kernel::gram::{Gram, Indefinite};
use crate::kernel::matrix::Jacobian;
use crate::kernel::subproblem::{Block, Subproblem};
use crate::kernel::symmetric::SparseSymmetric;
use crate::kernel::woodbury::Woodbury;

/// The system with its factorisation.
pub struct System {
    /// `1 / (H + E)` of each column, as far as it is diagonal.
    weights: Vec<f64>,
    /// `K`, and the weights of slacks.
    rows: Vec<f64>,
    long: Vec<f64>,
    way: Way,
    low_rank: Option<Box<Woodbury>>,
}

/// How the part without slacks is solved.
enum Way {
    /// `H` is diagonal: in `R^m`.
    Gram(Box<Gram>),
    /// `H` is a dense matrix.
    Dense(Box<DenseSystem>),
    /// `H` is sparse, or a dense column of `J` would fill the matrix in `R^m`.
    Whole(Box<Augmented>),
}

/// What `H` may be besides its diagonal.
#[derive(Clone, Copy)]
pub enum Beside<'a> {
    Nothing,
    Dense,
    /// So many vectors at most.
    LowRank(usize),
    /// A matrix with these places.
    Sparse(&'a SparseSymmetric),
}

impl System {
    /// Chooses the way and allocates for it.
    pub fn new(jacobian: &Jacobian, factorisation: Factorisation, beside: Beside) -> Self {
        let a = &jacobian.a;
        let gram = || Way::Gram(Box::new(Gram::new(a, factorisation)));
        let whole = |hessian| Augmented::new(a, hessian).map_or_else(gram, |whole| Way::Whole(Box::new(whole)));
        let way = match beside {
            Beside::Dense => Way::Dense(Box::new(DenseSystem::new(a))),
            Beside::Sparse(hessian) => whole(Some(hessian)),
            _ if factorisation == Factorisation::Automatic && a.has_dense_columns() => whole(None),
            _ => gram(),
        };
        let (m, columns) = (jacobian.rows(), jacobian.columns());
        let low_rank = match beside {
            Beside::LowRank(most) => Some(Box::new(Woodbury::new(m, columns, most))),
            _ => None,
        };
        System { weights: vec![0.0; columns], rows: vec![0.0; m], long: vec![0.0; jacobian.a.n], way, low_rank }
    }

    /// Factorises. True: there are dependent rows.
    pub fn factorise(&mut self, problem: &Subproblem, extra: &[f64], softness: &[f64]) -> Result<bool, Indefinite> {
        let n = problem.jacobian.a.n;
        for ((weight, h), e) in self.weights.iter_mut().zip(problem.metric).zip(extra) {
            *weight = 1.0 / (h + e);
        }
        self.rows.copy_from_slice(softness);
        for (&row, weight) in problem.jacobian.slack_rows.iter().zip(&self.weights[n..]) {
            self.rows[row] += weight;
        }
        let dependent = match (&mut self.way, problem.block) {
            (Way::Dense(system), Block::Dense(matrix)) => {
                system.factorise(&problem.jacobian.a, matrix, &extra[..n], &self.rows)?
            }
            (Way::Gram(_), Block::Sparse(_)) | (Way::Dense(_), _) => return Err(Indefinite),
            (Way::Gram(gram), _) => gram.factorise(&problem.jacobian.a, &self.weights[..n], &self.rows)?,
            (Way::Whole(whole), block) => {
                let hessian = match block {
                    Block::Sparse(matrix) => Hessian::Sparse(matrix),
                    _ => Hessian::Diagonal(&problem.metric[..n]),
                };
                whole.factorise(&problem.jacobian.a, hessian, &extra[..n], &self.rows)?
            }
        };
        if let (Some(mut woodbury), Block::LowRank(low_rank)) = (self.low_rank.take(), problem.block) {
            let regular = woodbury.form(low_rank, |s, y| self.solve_without(problem, s, y));
            self.low_rank = Some(woodbury);
            if !regular {
                return Err(Indefinite);
            }
        }
        Ok(dependent)
    }

    /// Solves in place: `s` holds `a` and `y` holds `b`.
    pub fn solve(&mut self, problem: &Subproblem, s: &mut [f64], y: &mut [f64]) {
        self.solve_without(problem, s, y);
        if let (Some(woodbury), Block::LowRank(low_rank)) = (&mut self.low_rank, problem.block) {
            woodbury.correct(low_rank, s, y);
        }
    }

    /// Solves with the diagonal alone, where the rest has low rank.
    fn solve_without(&mut self, problem: &Subproblem, s: &mut [f64], y: &mut [f64]) {
        let a = &problem.jacobian.a;
        let slack_rows = &problem.jacobian.slack_rows;
        for (k, &row) in slack_rows.iter().enumerate() {
            y[row] += self.weights[a.n + k] * s[a.n + k];
        }
        match &mut self.way {
            Way::Dense(system) => system.solve(a, &mut s[..a.n], y),
            Way::Whole(whole) => whole.solve(&mut s[..a.n], y),
            Way::Gram(gram) => {
                // y = (A W A^T + K)^-1 (A W a - b), s = W (a - A^T y)
                let weights = &self.weights[..a.n];
                for ((long, s), weight) in self.long.iter_mut().zip(s.iter()).zip(weights) {
                    *long = weight * s;
                }
                y.iter_mut().for_each(|y| *y = -*y);
                a.add_product(&self.long, y);
                gram.solve(a, y);
                self.long.fill(0.0);
                a.add_transposed(y, &mut self.long);
                for ((s, long), weight) in s.iter_mut().zip(&self.long).zip(weights) {
                    *s = weight * (*s - long);
                }
            }
        }
        for (k, &row) in slack_rows.iter().enumerate() {
            s[a.n + k] = self.weights[a.n + k] * (s[a.n + k] + y[row]);
        }
    }
}
