//! Passes over long vectors of PyTorch on the processor, each of them once through memory. The arrays are those of the tensors, without a copy.
//!
//! Products of 1,024 columns are summed in the dtype of the vectors, in 32 sums side by side, and these are added in double precision. The order of all
//! sums is fixed: the same bits with any number of threads, and with or without the wider instructions that a processor may have.

use std::ops::{Add, Mul, Neg, Range, Sub};

/// So many columns are one piece of work.
const PIECE: usize = 16_384;
/// Products of so many columns are summed in the dtype of the vectors.
const SHORT: usize = 1_024;
/// So many sums side by side.
const LANES: usize = 32;

/// Numbers of the vectors: `f32` or `f64`.
pub trait Real:
    Copy + Send + Sync + PartialOrd + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Neg<Output = Self>
{
    /// 0
    const ZERO: Self;
    /// In double precision.
    fn wide(self) -> f64;
    /// From double precision.
    fn of(value: f64) -> Self;
    /// `x^(-1/2)`
    fn inverse_root(self) -> Self;
    /// The sums of products, lane by lane.
    fn products(left: &[[Self; LANES]], right: &[[Self; LANES]]) -> [Self; LANES];
}

macro_rules! real {
    ($kind:ty, $wide:ident) => {
        impl Real for $kind {
            const ZERO: Self = 0.0;

            #[inline(always)]
            fn wide(self) -> f64 {
                f64::from(self)
            }

            #[inline(always)]
            fn of(value: f64) -> Self {
                value as $kind
            }

            #[inline(always)]
            fn inverse_root(self) -> Self {
                1.0 / self.sqrt()
            }

            #[inline(always)]
            fn products(left: &[[Self; LANES]], right: &[[Self; LANES]]) -> [Self; LANES] {
                #[cfg(target_arch = "x86_64")]
                if is_x86_feature_detected!("avx2") {
                    // SAFETY: the processor has these instructions.
                    return unsafe { wide::$wide(left, right) };
                }
                let mut lanes = [0.0; LANES];
                for (x, y) in left.iter().zip(right) {
                    lanes = std::array::from_fn(|k| lanes[k] + x[k] * y[k]);
                }
                lanes
            }
        }
    };
}

real!(f32, single);
real!(f64, double);

/// The same sums by instructions for eight or four numbers at once: what a compiler makes of the loop takes twice as long.
#[cfg(target_arch = "x86_64")]
mod wide {
    use super::LANES;
    use std::arch::x86_64::{_mm256_add_pd, _mm256_add_ps, _mm256_loadu_pd, _mm256_loadu_ps, _mm256_mul_pd, _mm256_mul_ps};
    use std::arch::x86_64::{_mm256_setzero_pd, _mm256_setzero_ps, _mm256_storeu_pd, _mm256_storeu_ps};

    macro_rules! sums {
        ($name:ident, $kind:ty, $at_once:expr, $zero:ident, $load:ident, $store:ident, $add:ident, $mul:ident) => {
            #[target_feature(enable = "avx2")]
            pub fn $name(left: &[[$kind; LANES]], right: &[[$kind; LANES]]) -> [$kind; LANES] {
                let mut sums = [$zero(); LANES / $at_once];
                for (x, y) in left.iter().zip(right) {
                    for (k, sum) in sums.iter_mut().enumerate() {
                        // SAFETY: `k * $at_once` and the numbers after it are among the lanes.
                        let (x, y) = unsafe { ($load(x.as_ptr().add(k * $at_once)), $load(y.as_ptr().add(k * $at_once))) };
                        *sum = $add(*sum, $mul(x, y));
                    }
                }
                let mut lanes = [0.0; LANES];
                for (sum, lanes) in sums.into_iter().zip(lanes.as_chunks_mut::<$at_once>().0) {
                    // SAFETY: there are as many lanes as numbers.
                    unsafe { $store(lanes.as_mut_ptr(), sum) };
                }
                lanes
            }
        };
    }

    sums!(single, f32, 8, _mm256_setzero_ps, _mm256_loadu_ps, _mm256_storeu_ps, _mm256_add_ps, _mm256_mul_ps);
    sums!(double, f64, 4, _mm256_setzero_pd, _mm256_loadu_pd, _mm256_storeu_pd, _mm256_add_pd, _mm256_mul_pd);
}

/// Work on some columns, which adds to some sums.
pub trait Pass: Sync {
    /// The columns, with what is written to of them.
    type Piece: Send;

    /// Does one piece.
    fn run(&self, piece: Self::Piece, sums: &mut [f64]);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn run_wide<P: Pass>(pass: &P, piece: P::Piece, sums: &mut [f64]) {
    pass.run(piece, sums);
}

fn run_one<P: Pass>(pass: &P, piece: P::Piece, sums: &mut [f64]) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has these instructions.
        return unsafe { run_wide(pass, piece, sums) };
    }
    pass.run(piece, sums);
}

/// All pieces by some threads; the sums of the pieces are added in the order of the pieces.
pub fn run<P: Pass>(pass: &P, pieces: Vec<P::Piece>, sums: usize, threads: usize) -> Vec<f64> {
    let share = pieces.len().div_ceil(threads.max(1)).max(1);
    let mut parts = vec![0.0; sums * pieces.len()];
    let mut work: Vec<(P::Piece, &mut [f64])> = pieces.into_iter().zip(parts.chunks_exact_mut(sums.max(1))).collect();
    std::thread::scope(|scope| {
        while work.len() > share {
            let some = work.split_off(work.len() - share);
            scope.spawn(move || some.into_iter().for_each(|(piece, sums)| run_one(pass, piece, sums)));
        }
        work.into_iter().for_each(|(piece, sums)| run_one(pass, piece, sums));
    });
    let mut total = vec![0.0; sums];
    for part in parts.chunks_exact(sums.max(1)) {
        total.iter_mut().zip(part).for_each(|(total, part)| *total += part);
    }
    total
}

/// The columns of each piece.
pub fn pieces(columns: usize) -> Vec<Range<usize>> {
    (0..columns).step_by(PIECE).map(|at| at..columns.min(at + PIECE)).collect()
}

/// The pieces of a vector that is written to.
pub fn pieces_of<T>(vector: &mut [T]) -> impl Iterator<Item = &mut [T]> {
    vector.chunks_mut(PIECE)
}

fn short(columns: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let end = columns.end;
    columns.step_by(SHORT).map(move |at| at..end.min(at + SHORT))
}

/// `left^T right` of at most `SHORT` columns.
#[inline(always)]
fn dot<T: Real>(left: &[T], right: &[T]) -> f64 {
    let ((left, left_rest), (right, right_rest)) = (left.as_chunks::<LANES>(), right.as_chunks::<LANES>());
    let sum = sum_of(&T::products(left, right));
    if left_rest.is_empty() { sum } else { sum + dot_of_rest(left_rest, right_rest) }
}

/// The sum of all lanes.
#[inline(always)]
fn sum_of<T: Real>(lanes: &[T; LANES]) -> f64 {
    let mut four = [0.0; 4];
    for some in lanes.as_chunks::<4>().0 {
        for k in 0..4 {
            four[k] += some[k].wide();
        }
    }
    (four[0] + four[1]) + (four[2] + four[3])
}

/// The last columns, fewer than there are lanes.
#[inline(never)]
fn dot_of_rest<T: Real>(left: &[T], right: &[T]) -> f64 {
    left.iter().zip(right).map(|(x, y)| x.wide() * y.wide()).sum()
}

/// `D^-1` of the adaptive diagonal metric, `(scale squares_i)^(-1/2)` between two bounds.
pub struct Metric<'a, T> {
    /// Of the changes of the Lagrangian's gradient.
    pub squares: &'a [T],
    /// Their factor.
    pub scale: T,
    /// The least entry of the inverse.
    pub least: T,
    /// The largest one.
    pub most: T,
}

impl<T: Real> Metric<'_, T> {
    #[inline(always)]
    fn inverse(&self, columns: Range<usize>, out: &mut [T]) {
        for (out, square) in out.iter_mut().zip(&self.squares[columns]) {
            let entry = (*square * self.scale).inverse_root();
            let entry = if entry < self.least { self.least } else { entry };
            *out = if entry > self.most { self.most } else { entry };
        }
    }
}

/// Rows of one length, one after the other.
pub struct Rows<'a, T> {
    /// All entries.
    pub entries: &'a [T],
    /// How many rows there are.
    pub count: usize,
    /// How long each is.
    pub columns: usize,
}

impl<T: Real> Rows<'_, T> {
    #[inline(always)]
    fn part(&self, row: usize, columns: Range<usize>) -> &[T] {
        &self.entries[row * self.columns + columns.start..row * self.columns + columns.end]
    }

    /// Adds the products of a vector with the rows from one on to the sums, one after the other, and gives the sums that are left.
    #[inline(always)]
    fn add_products<'s>(&self, left: &[T], from: usize, columns: &Range<usize>, sums: &'s mut [f64]) -> &'s mut [f64] {
        let (mine, others) = sums.split_at_mut(self.count - from);
        for (row, sum) in (from..self.count).zip(mine) {
            *sum += dot(left, self.part(row, columns.clone()));
        }
        others
    }
}

/// The products of rows `r_0, r_1, ...`: the upper triangle of `r_i^T D^-1 r_j`, then `r_0^T r_j`, and where they are wanted the upper triangle of `r_i^T r_j` of the others.
pub struct Products<'a, T> {
    /// Gradient and Jacobian.
    pub rows: Rows<'a, T>,
    /// `D`
    pub metric: Metric<'a, T>,
    /// Whether products without the metric are wanted of the Jacobian.
    pub gram: bool,
}

impl<T: Real> Products<'_, T> {
    /// How many sums there are.
    pub fn sums(&self) -> usize {
        let count = self.rows.count;
        count * (count + 1) / 2 + count + if self.gram { (count - 1) * count / 2 } else { 0 }
    }
}

impl<T: Real> Pass for Products<'_, T> {
    type Piece = Range<usize>;

    #[inline(always)]
    fn run(&self, piece: Range<usize>, sums: &mut [f64]) {
        let (count, rows) = (self.rows.count, &self.rows);
        let (mut inverse, mut weighted) = ([T::ZERO; SHORT], [T::ZERO; SHORT]);
        for columns in short(piece) {
            let (inverse, weighted) = (&mut inverse[..columns.len()], &mut weighted[..columns.len()]);
            self.metric.inverse(columns.clone(), inverse);
            let mut sums = &mut *sums;
            for i in 0..count {
                for ((weighted, x), entry) in weighted.iter_mut().zip(rows.part(i, columns.clone())).zip(&*inverse) {
                    *weighted = *x * *entry;
                }
                sums = rows.add_products(weighted, i, &columns, sums);
            }
            sums = rows.add_products(rows.part(0, columns.clone()), 0, &columns, sums);
            for i in 1..if self.gram { count } else { 1 } {
                sums = rows.add_products(rows.part(i, columns.clone()), i, &columns, sums);
            }
        }
    }
}

/// `v = sum c_i r_i` and `s = -D^-1 v`, with `r_0^T s`, `v^T s`, `s^T s` and `v^T v`.
pub struct Step<'a, T> {
    /// Gradient and Jacobian.
    pub rows: Rows<'a, T>,
    /// `D`
    pub metric: Metric<'a, T>,
    /// `c`
    pub coefficients: Vec<T>,
}

/// Columns, and where `v` and `s` of them go.
pub type StepPiece<'a, T> = (Range<usize>, &'a mut [T], &'a mut [T]);

impl<'a, T: Real + 'a> Pass for Step<'a, T> {
    type Piece = StepPiece<'a, T>;

    #[inline(always)]
    fn run(&self, (piece, out_v, out_s): Self::Piece, sums: &mut [f64]) {
        let mut inverse = [T::ZERO; SHORT];
        let begin = piece.start;
        for columns in short(piece) {
            let inverse = &mut inverse[..columns.len()];
            self.metric.inverse(columns.clone(), inverse);
            let here = columns.start - begin..columns.end - begin;
            let (v, s) = (&mut out_v[here.clone()], &mut out_s[here]);
            v.fill(T::ZERO);
            for (i, c) in self.coefficients.iter().enumerate() {
                for (v, x) in v.iter_mut().zip(self.rows.part(i, columns.clone())) {
                    *v = *v + *c * *x;
                }
            }
            for ((s, v), entry) in s.iter_mut().zip(&*v).zip(&*inverse) {
                *s = -(*entry * *v);
            }
            let first = self.rows.part(0, columns);
            for (sum, found) in sums.iter_mut().zip([dot(first, s), dot(v, s), dot(s, s), dot(v, v)]) {
                *sum += found;
            }
        }
    }
}

/// The products of rows with a vector.
pub struct Along<'a, T> {
    /// The rows.
    pub rows: Rows<'a, T>,
    /// The vector.
    pub vector: &'a [T],
}

impl<T: Real> Pass for Along<'_, T> {
    type Piece = Range<usize>;

    #[inline(always)]
    fn run(&self, piece: Range<usize>, sums: &mut [f64]) {
        for columns in short(piece) {
            self.rows.add_products(&self.vector[columns.clone()], 0, &columns, sums);
        }
    }
}

/// A batch of which one row `l` is known arrives: `dl = l - dl`, `g <- g + (1 - a) dl - a (w - l)`, and `dl^T s`.
pub struct Arrival<'a, T> {
    /// `l` at the new point.
    pub new: &'a [T],
    /// `w` of the estimates.
    pub combined: &'a [T],
    /// The step.
    pub s: &'a [T],
    /// The momentum.
    pub a: T,
    /// `1 - a`
    pub kept: T,
}

impl<'a, T: Real + 'a> Pass for Arrival<'a, T> {
    type Piece = StepPiece<'a, T>;

    #[inline(always)]
    fn run(&self, (piece, change, gradient): Self::Piece, sums: &mut [f64]) {
        let begin = piece.start;
        for columns in short(piece) {
            let here = columns.start - begin..columns.end - begin;
            let (change, gradient) = (&mut change[here.clone()], &mut gradient[here]);
            let old = self.new[columns.clone()].iter().zip(&self.combined[columns.clone()]);
            for ((change, gradient), (new, w)) in change.iter_mut().zip(gradient).zip(old) {
                *change = *new - *change;
                *gradient = *gradient + self.kept * *change - self.a * (*w - *new);
            }
            sums[0] += dot(change, &self.s[columns]);
        }
    }
}

/// `q <- k q + dl^2` entry by entry, and the sum of `q`.
pub struct Squares<'a, T> {
    /// `dl`
    pub change: &'a [T],
    /// `k`
    pub keep: T,
}

impl<'a, T: Real + 'a> Pass for Squares<'a, T> {
    type Piece = (Range<usize>, &'a mut [T]);

    #[inline(always)]
    fn run(&self, (piece, squares): Self::Piece, sums: &mut [f64]) {
        let (begin, ones) = (piece.start, [T::of(1.0); SHORT]);
        for columns in short(piece) {
            let squares = &mut squares[columns.start - begin..columns.end - begin];
            for (square, x) in squares.iter_mut().zip(&self.change[columns]) {
                *square = self.keep * *square + *x * *x;
            }
            sums[0] += dot(squares, &ones[..squares.len()]);
        }
    }
}
