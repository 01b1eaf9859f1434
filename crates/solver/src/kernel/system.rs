//! The linear system of the kernel,
//!
//! ```text
//! [ H + E   J^T ] [ s ]   [ a ]
//! [ J       -K  ] [ y ] = [ b ]
//! ```
//!
//! with diagonals `E >= 0` and `K > 0`. An infinite entry of `E` holds its column at zero. Slacks are eliminated first: with
//! `w = 1 / (h + e)` of its slack a row has `K + w` in place of `K`.

use tangor_problem::{TooLarge, count_of};

use crate::Factorisation;
use crate::kernel::augmented::{Augmented, Hessian};
use crate::kernel::border::Border;
use crate::kernel::dense_system::{self, DenseSystem};
use crate::kernel::gram::{Gram, Indefinite};
use crate::kernel::matrix::{Jacobian, Matrix};
use crate::kernel::sparse_factor::Unavailable;
use crate::kernel::subproblem::{Block, Subproblem};
use crate::kernel::symmetric::SparseSymmetric;
use crate::kernel::woodbury::Woodbury;
use crate::run::clock::Clock;
use crate::run::memory::{Budget, NUMBER};

/// So many solutions take as long as a sparse factorisation, and for each so many rows and columns one as a part of a dense one.
const SPARSE_SOLUTIONS: usize = 3;
const SOLUTIONS_BY_SIZE: usize = 20;

/// A sparse system with more rows and columns is large: its factorisations are what takes time.
const LARGE: usize = 1000;

/// The system with its factorisation.
pub struct System {
    /// `1 / (H + E)` of each column, as far as it is diagonal.
    weights: Vec<f64>,
    /// `K`, and the weights of slacks.
    rows: Vec<f64>,
    long: Vec<f64>,
    way: Way,
    low_rank: Option<Box<Woodbury>>,
    border: Border,
    clock: Clock,
    bytes: u128,
}

/// How the part without slacks is solved.
enum Way {
    /// `H` is diagonal: in `R^m`.
    Gram(Box<Gram>),
    /// `H` is a dense matrix.
    Dense(Box<DenseSystem>),
    /// `H` is sparse, or a dense column of `J` would fill the matrix in `R^m`.
    Whole(Box<Augmented>),
    /// Not at all: the run was to end while the pattern was analysed.
    Ended,
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

impl Way {
    fn new(
        jacobian: &Jacobian,
        factorisation: Factorisation,
        beside: Beside,
        budget: Budget,
        clock: &Clock,
    ) -> Result<Self, Unavailable> {
        let a = &jacobian.a;
        let gram = || Ok(Way::Gram(Box::new(Gram::new(a, factorisation, budget, clock)?)));
        let whole = |hessian| match Augmented::new(a, hessian, budget, clock)? {
            Some(whole) => Ok(Way::Whole(Box::new(whole))),
            None => gram(),
        };
        match beside {
            Beside::Dense => {
                let what = || format!("a full system of {} columns (metric.largest_dense)", a.n);
                budget.check(dense_system::bytes(a.m, a.n), what)?;
                Ok(Way::Dense(Box::new(DenseSystem::new(a))))
            }
            Beside::Sparse(hessian) => whole(Some(hessian)),
            _ if factorisation == Factorisation::Automatic && a.has_dense_columns() => whole(None),
            _ => gram(),
        }
    }

    /// The memory that it has, made for this matrix.
    fn bytes(&self, a: &Matrix) -> u128 {
        match self {
            Way::Gram(gram) => gram.bytes(a),
            Way::Dense(_) => dense_system::bytes(a.m, a.n),
            Way::Whole(whole) => whole.bytes(),
            Way::Ended => 0,
        }
    }
}

/// The memory of a system besides its factorisation.
fn vectors(jacobian: &Jacobian, beside: Beside) -> u128 {
    let (m, columns) = (jacobian.rows(), jacobian.columns());
    let low_rank = match beside {
        Beside::LowRank(most) => Woodbury::bytes(m, columns, most),
        _ => 0,
    };
    NUMBER * (columns + m + jacobian.a.n) as u128 + Border::bytes(m, columns) + low_rank
}

impl System {
    /// Chooses the way and allocates for it. A run that is to end gets a system that cannot be factorised.
    pub fn new(
        jacobian: &Jacobian,
        factorisation: Factorisation,
        beside: Beside,
        budget: Budget,
        clock: &Clock,
    ) -> Result<Self, TooLarge> {
        let vectors = vectors(jacobian, beside);
        let budget = budget.take(vectors, || count_of(vectors / NUMBER, "number") + " for systems of other bounds")?;
        let way = match Way::new(jacobian, factorisation, beside, budget, clock) {
            Ok(way) => way,
            Err(Unavailable::TooLarge(error)) => return Err(error),
            Err(Unavailable::Ended) => Way::Ended,
        };
        let bytes = vectors + way.bytes(&jacobian.a);
        Ok(System { bytes, ..System::by(jacobian, way, beside) })
    }

    /// The memory that it has.
    pub fn bytes(&self) -> u128 {
        self.bytes
    }

    /// For an `H` that is a dense matrix.
    pub fn dense(jacobian: &Jacobian) -> Self {
        System::by(jacobian, Way::Dense(Box::new(DenseSystem::new(&jacobian.a))), Beside::Dense)
    }

    fn by(jacobian: &Jacobian, way: Way, beside: Beside) -> Self {
        let (m, columns) = (jacobian.rows(), jacobian.columns());
        let low_rank = match beside {
            Beside::LowRank(most) => Some(Box::new(Woodbury::new(m, columns, most))),
            _ => None,
        };
        let border = Border::new(m, columns);
        let (weights, rows, long) = (vec![0.0; columns], vec![0.0; m], vec![0.0; jacobian.a.n]);
        System { weights, rows, long, way, low_rank, border, clock: Clock::new(None, 0.0), bytes: 0 }
    }

    /// From now on no factorisation that takes long is begun or waited for once the run is to end: it counts as failed.
    pub fn end_with(&mut self, clock: &Clock) {
        self.clock.clone_from(clock);
    }

    /// Factorises. True: there are dependent rows.
    pub fn factorise(&mut self, problem: &Subproblem, extra: &[f64], softness: &[f64]) -> Result<bool, Indefinite> {
        let n = problem.jacobian.a.n;
        self.border.clear();
        for ((weight, h), e) in self.weights.iter_mut().zip(problem.metric).zip(extra) {
            *weight = 1.0 / (h + e);
        }
        self.rows.copy_from_slice(softness);
        for (&row, weight) in problem.jacobian.slack_rows.iter().zip(&self.weights[n..]) {
            self.rows[row] += weight;
        }
        let dependent = match (&mut self.way, problem.block) {
            (Way::Dense(system), Block::Dense(matrix)) => {
                system.factorise(&problem.jacobian.a, matrix, &extra[..n], &self.rows, &self.clock)?
            }
            (Way::Gram(_), Block::Sparse(_)) | (Way::Dense(_) | Way::Ended, _) => return Err(Indefinite),
            (Way::Gram(gram), _) => gram.factorise(&problem.jacobian.a, &self.weights[..n], &self.rows, &self.clock)?,
            (Way::Whole(whole), block) => {
                let hessian = match block {
                    Block::Sparse(matrix) => Hessian::Sparse(matrix),
                    _ => Hessian::Diagonal(&problem.metric[..n]),
                };
                whole.factorise(&problem.jacobian.a, hessian, &extra[..n], &self.rows, &self.clock)?
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

    /// Holds a column that was free, or the other way round, by a border around what was factorised. False: it cannot be, and all is to be factorised anew.
    pub fn change_over(&mut self, problem: &Subproblem, column: usize) -> bool {
        let mut border = std::mem::take(&mut self.border);
        let done =
            border.change_over(problem, column, self.weights[column] == 0.0, |s, y| self.solve_factorised(problem, s, y));
        self.border = border;
        done
    }

    /// How many solutions take about as long as a factorisation.
    pub fn solutions_in_a_factorisation(&self) -> usize {
        let size = self.rows.len() + self.weights.len();
        if self.is_sparse() { SPARSE_SOLUTIONS } else { size / SOLUTIONS_BY_SIZE }
    }

    /// Whether factorisations are to be few: those of a dense matrix serve other bounds by way of a border, and small ones are cheap.
    pub fn is_large(&self) -> bool {
        self.is_sparse() && self.rows.len() + self.weights.len() > LARGE
    }

    /// Whether a sparse matrix is factorised.
    fn is_sparse(&self) -> bool {
        match &self.way {
            Way::Gram(gram) => matches!(**gram, Gram::Sparse(_)),
            Way::Whole(_) => true,
            Way::Dense(_) | Way::Ended => false,
        }
    }

    /// Whether columns changed over since the system was factorised.
    pub fn is_bordered(&self) -> bool {
        !self.border.is_empty()
    }

    /// Solves in place: `s` holds `a` and `y` holds `b`.
    pub fn solve(&mut self, problem: &Subproblem, s: &mut [f64], y: &mut [f64]) {
        if self.border.is_empty() {
            return self.solve_factorised(problem, s, y);
        }
        self.border.take(s);
        self.solve_factorised(problem, s, y);
        self.border.correct(s, y);
    }

    /// Solves without the border.
    fn solve_factorised(&mut self, problem: &Subproblem, s: &mut [f64], y: &mut [f64]) {
        self.solve_without(problem, s, y);
        if let (Some(woodbury), Block::LowRank(low_rank)) = (&mut self.low_rank, problem.block) {
            woodbury.correct(low_rank, s, y);
        }
    }

    /// Solves with the diagonal alone, where the rest has low rank, for one right-hand side or several, which stand one after the other.
    fn solve_without(&mut self, problem: &Subproblem, s: &mut [f64], y: &mut [f64]) {
        let (a, slack_rows) = (&problem.jacobian.a, &problem.jacobian.slack_rows);
        let (n, m, columns) = (a.n, a.m, self.weights.len());
        let (weights, of_slacks) = self.weights.split_at(n);
        let sides = s.len().checked_div(columns).unwrap_or(1);
        for k in 0..sides {
            let (s, y) = (&mut s[k * columns..(k + 1) * columns], &mut y[k * m..(k + 1) * m]);
            for ((&row, weight), s) in slack_rows.iter().zip(of_slacks).zip(&s[n..]) {
                y[row] += weight * s;
            }
            match &mut self.way {
                Way::Dense(system) => system.solve(a, &mut s[..n], y),
                Way::Whole(whole) => {
                    let held = s[..n].iter_mut().zip(weights).filter(|(_, weight)| **weight == 0.0);
                    held.for_each(|(s, _)| *s = 0.0);
                    whole.solve(&mut s[..n], y);
                }
                Way::Gram(_) => {
                    // y = (A W A^T + K)^-1 (A W a - b), s = W (a - A^T y)
                    for ((long, s), weight) in self.long.iter_mut().zip(s.iter()).zip(weights) {
                        *long = weight * s;
                    }
                    y.iter_mut().for_each(|y| *y = -*y);
                    a.add_product(&self.long, y);
                }
                Way::Ended => {}
            }
        }
        if let Way::Gram(gram) = &mut self.way {
            gram.solve(a, y);
            for k in 0..sides {
                self.long.fill(0.0);
                a.add_transposed(&y[k * m..(k + 1) * m], &mut self.long);
                let s = &mut s[k * columns..k * columns + n];
                for ((s, long), weight) in s.iter_mut().zip(&self.long).zip(weights) {
                    *s = weight * (*s - long);
                }
            }
        }
        for k in 0..sides {
            let (s, y) = (&mut s[k * columns + n..(k + 1) * columns], &y[k * m..(k + 1) * m]);
            for ((&row, weight), s) in slack_rows.iter().zip(of_slacks).zip(s) {
                *s = weight * (*s + y[row]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::matrix::{Matrix, Structure};
    use crate::kernel::subproblem::LowRank;

    const N: usize = 6;
    const COLUMNS: usize = 8;
    const HELD: f64 = f64::INFINITY;

    fn going_on() -> Clock {
        Clock::new(None, 0.0)
    }

    /// Three rows, of which the last two have slacks.
    fn jacobian() -> Jacobian {
        let values = (0..3 * N).map(|k| ((5 * k + 2) % 7) as f64 - 3.0).collect();
        Jacobian { a: Matrix { values, ..Matrix::dense(3, N) }, slack_rows: [1, 2].into() }
    }

    fn sparse() -> SparseSymmetric {
        let mut matrix = SparseSymmetric::new(N, (0..N).flat_map(|i| (i.saturating_sub(1)..=i).map(move |j| (i, j))).collect());
        matrix.values = matrix.places.iter().map(|(i, j)| if i == j { 3.0 } else { 1.0 }).collect();
        matrix.damping = 0.5;
        matrix
    }

    fn low_rank() -> LowRank {
        let mut low_rank = LowRank::new(N, 2);
        low_rank.push(1.0, 0.5, &[1.0, -1.0, 2.0, 0.0, 1.0, 1.0]);
        low_rank.push(-1.0, 0.1, &[1.0, 1.0, 0.0, 2.0, 0.0, -1.0]);
        low_rank
    }

    fn solution(system: &mut System, problem: &Subproblem) -> Vec<f64> {
        let mut all: Vec<f64> = (0..COLUMNS + 3).map(|i| (i as f64 + 1.0).sin()).collect();
        let (s, y) = all.split_at_mut(COLUMNS);
        // Nothing is asked of a column that is held before and after.
        s[5] = 0.0;
        system.solve(problem, s, y);
        all
    }

    fn assert_same(case: usize, a: &[f64], b: &[f64]) {
        assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12 * (1.0 + b.abs())), "case {case}:\n{a:?}\n{b:?}");
    }

    /// For every kind of `H`, what a border makes of a factorisation is what a new factorisation gives. The way by columns is not here: it softens rows by
    /// a share of their free part, so that its system itself changes with the columns that are held.
    #[test]
    fn columns_that_change_over_need_no_factorisation() {
        let (jacobian, matrix, low_rank) = (jacobian(), sparse(), low_rank());
        let metric: Vec<f64> = (0..COLUMNS).map(|i| if i < N { 3.5 } else { 0.5 + i as f64 }).collect();
        let full = matrix.full();
        let make = |beside, factorisation| {
            System::new(&jacobian, factorisation, beside, Budget::NO_LIMIT, &going_on()).expect("it fits")
        };
        let whole = |beside| System {
            way: Way::Whole(Box::new(
                Augmented::new(&jacobian.a, None, Budget::NO_LIMIT, &going_on()).expect("it fits").expect("small"),
            )),
            ..make(beside, Factorisation::Dense)
        };
        let cases = [
            (Block::Diagonal, make(Beside::Nothing, Factorisation::Dense)),
            (Block::Diagonal, whole(Beside::Nothing)),
            (Block::Dense(&full), make(Beside::Dense, Factorisation::Dense)),
            (Block::Sparse(&matrix), make(Beside::Sparse(&matrix), Factorisation::Dense)),
            (Block::LowRank(&low_rank), make(Beside::LowRank(2), Factorisation::Dense)),
            (Block::LowRank(&low_rank), whole(Beside::LowRank(2))),
        ];
        let (nothing, free) = ([0.0; COLUMNS], [f64::INFINITY; COLUMNS]);
        let softness = [1e-3, 2e-3, 0.5];
        for (case, (block, mut system)) in cases.into_iter().enumerate() {
            let problem = Subproblem {
                jacobian: &jacobian,
                metric: &metric,
                block,
                gradient: None,
                target: &nothing[..3],
                lower: &free,
                upper: &free,
                softness: &softness,
            };
            let mut extra = [0.0, HELD, 0.0, 0.0, 0.0, HELD, HELD, 0.0];
            system.factorise(&problem, &extra, &softness).expect("regular");
            let first = solution(&mut system, &problem);
            // Variables and slacks change over, one after the other, and two of them back again.
            for column in [0, 1, 6, 7, 0, 3, 6] {
                assert!(system.change_over(&problem, column), "case {case}, column {column}");
                extra[column] = if extra[column] == 0.0 { HELD } else { 0.0 };
            }
            let bordered = solution(&mut system, &problem);
            system.factorise(&problem, &extra, &softness).expect("regular");
            assert!(!system.is_bordered());
            assert_same(case, &bordered, &solution(&mut system, &problem));
            assert!(bordered.iter().zip(&first).any(|(a, b)| (a - b).abs() > 1e-3), "the columns matter");
            assert!((0..COLUMNS).all(|i| extra[i] == 0.0 || bordered[i] == 0.0), "held columns do not move");
        }
    }

    #[test]
    fn a_run_that_is_to_end_waits_for_no_analysis() {
        let places: Vec<(usize, usize)> = (0..60_000).flat_map(|i| [(i, i), (i, i + 1)]).collect();
        let (structure, _) = Structure::new(60_000, 60_001, &places);
        let a = Matrix { values: vec![1.0; places.len()], ..Matrix::sparse(60_000, 60_001, structure.into()) };
        let jacobian = Jacobian { a, slack_rows: [].into() };
        let matrix = SparseSymmetric::new(60_001, (0..60_001).map(|i| (i, i)).collect());
        let (metric, nothing, far) = (vec![1.0; 60_001], vec![0.0; 60_001], vec![f64::INFINITY; 60_001]);
        let over = Clock::new(Some(0.0), 0.0);
        for beside in [Beside::Nothing, Beside::LowRank(2), Beside::Sparse(&matrix)] {
            let mut system = System::new(&jacobian, Factorisation::Automatic, beside, Budget::NO_LIMIT, &over)
                .expect("nothing was allocated");
            let problem = Subproblem {
                jacobian: &jacobian,
                metric: &metric,
                block: Block::Diagonal,
                gradient: None,
                target: &nothing[1..],
                lower: &far,
                upper: &far,
                softness: &nothing[1..],
            };
            assert!(matches!(system.way, Way::Ended));
            let unfactorised = system.bytes();
            assert!(system.factorise(&problem, &nothing, &nothing[1..]).is_err());
            let waited = System::new(&jacobian, Factorisation::Automatic, beside, Budget::NO_LIMIT, &going_on());
            // A factor has at least as many numbers as the matrix has rows.
            assert!(waited.expect("it fits").bytes() > unfactorised + 8 * 60_000);
        }
    }

    #[test]
    fn a_column_that_makes_the_matrix_indefinite_is_refused() {
        // H = [1 2; 2 1] over no rows but one that gives way: either column alone may be free, both may not.
        let jacobian = Jacobian { a: Matrix::dense(1, 2), slack_rows: [].into() };
        let mut matrix = SparseSymmetric::new(2, vec![(0, 0), (1, 0), (1, 1)]);
        matrix.values = vec![1.0, 2.0, 1.0];
        let problem = Subproblem {
            jacobian: &jacobian,
            metric: &[1.0; 2],
            block: Block::Sparse(&matrix),
            gradient: None,
            target: &[0.0],
            lower: &[0.0; 2],
            upper: &[1.0; 2],
            softness: &[1.0],
        };
        let mut system =
            System::new(&jacobian, Factorisation::Automatic, Beside::Sparse(&matrix), Budget::NO_LIMIT, &going_on())
                .expect("it fits");
        system.factorise(&problem, &[0.0, HELD], &[1.0]).expect("positive");
        assert!(!system.change_over(&problem, 1));
        system.factorise(&problem, &[0.0, HELD], &[1.0]).expect("positive");
        assert!(system.change_over(&problem, 0) && system.change_over(&problem, 1));
    }
}
