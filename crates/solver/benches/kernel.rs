//! How fast the kernel is on made-up subproblems of given sizes, as ratios that are measured in one run: against products with the
//! Jacobian, against a sparse Cholesky factorisation, with a dense metric against the clock, and its loops beside plain ones. Each time is the smallest of several: what else
//! the machine does can only add to it.
//!
//! Subproblems as runs have them, beside Clarabel and Ipopt: `tangor bench subproblems`.

use std::time::Instant;

use tangor_solver::internals::{StoredKernel, StoredSubproblem};
use tangor_solver::{Factorisation, Kernel};

fn main() {
    println!("{:<80} {:>9} {:>14}", "what", "ratio", "aim");
    with_dense_metric();
    against_products();
    against_cholesky();
    against_plain_loops();
}

fn tell(what: &str, ratio: f64, aim: &str) {
    println!("{what:<80} {ratio:>9.2} {aim:>14}");
}

/// Seconds of one call, the smallest of several, each long enough to be measured.
fn seconds(mut call: impl FnMut()) -> f64 {
    let start = Instant::now();
    call();
    let calls = (2e-4 / start.elapsed().as_secs_f64()).clamp(1.0, 100.0) as usize;
    let mut time = || {
        let start = Instant::now();
        (0..calls).for_each(|_| call());
        start.elapsed().as_secs_f64() / calls as f64
    };
    (0..7).map(|_| time()).fold(f64::INFINITY, f64::min)
}

/// Numbers between -1 and 1, the same in every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

/// Random gradient and bounds, and a target that some point inside of the bounds meets.
fn fill(problem: &mut StoredSubproblem, numbers: &mut Numbers) {
    let (_, columns) = problem.size();
    let mut inside = vec![0.0; columns];
    for (i, inside) in inside.iter_mut().enumerate() {
        problem.gradient[i] = 2.0 * numbers.next();
        (problem.lower[i], problem.upper[i]) = (-1.0, 1.0);
        *inside = 0.8 * numbers.next();
    }
    let mut target = std::mem::take(&mut problem.target);
    problem.apply(&inside, &mut target);
    problem.target = target;
}

/// Another gradient, as the next iteration has it, and the multipliers of this one to start from.
fn next_iteration(problem: &mut StoredSubproblem, kernel: &StoredKernel, numbers: &mut Numbers) {
    problem.gradient.iter_mut().for_each(|g| *g += 0.1 * numbers.next());
    problem.warm.copy_from_slice(&kernel.y);
}

/// Solves cold and warm, and tells both as multiples of the unit.
fn tell_tangent_steps(problem: &mut StoredSubproblem, numbers: &mut Numbers, unit: f64, what: &str, aim: &str) {
    let mut kernel = problem.kernel(&Kernel::default());
    for start in ["cold", "warm"] {
        let ratio = seconds(|| problem.solve(&mut kernel)) / unit;
        let fate = if kernel.converged { "" } else { ", NOT CONVERGED" };
        tell(&format!("{what}, {start}, {} Newton steps{fate}", kernel.iterations), ratio, aim);
        next_iteration(problem, &kernel, numbers);
    }
}

/// 100 variables and 20 rows with `H = I + A A^T / n`: milliseconds.
fn with_dense_metric() {
    let (m, n) = (20, 100);
    let mut numbers = Numbers(3);
    let entries: Vec<(usize, usize, f64)> = (0..m * n).map(|k| (k / n, k % n, numbers.next())).collect();
    let mut problem = StoredSubproblem::new(m, n, &entries, false, &[]);
    let factor: Vec<f64> = (0..n * n).map(|_| numbers.next()).collect();
    let product = |i: usize, j: usize| (0..n).map(|k| factor[i * n + k] * factor[j * n + k]).sum::<f64>() / n as f64;
    let identity = |i: usize, j: usize| if i == j { 1.0 } else { 0.0 };
    problem.block = Some((0..n * n).map(|k| product(k / n, k % n) + identity(k / n, k % n)).collect());
    fill(&mut problem, &mut numbers);
    tell_tangent_steps(&mut problem, &mut numbers, 1e-3, "100 variables, 20 rows, dense metric: milliseconds", "at most 0.3");
}

fn against_products() {
    let (m, n) = (10, 1_000_000);
    let mut numbers = Numbers(1);
    let entries: Vec<(usize, usize, f64)> = (0..m * n).map(|k| (k / n, k % n, numbers.next())).collect();
    let mut problem = StoredSubproblem::new(m, n, &entries, false, &[]);
    drop(entries);
    fill(&mut problem, &mut numbers);
    let (v, mut out) = (problem.gradient.clone(), vec![0.0; n]);
    let mut y = vec![1.0; m];
    let pair = seconds(|| {
        problem.apply(&v, &mut y);
        problem.apply_transposed(&y, &mut out);
    });
    tell_tangent_steps(&mut problem, &mut numbers, pair, "1,000,000 variables, 10 dense rows: pairs of products", "at most 40");
}

fn against_cholesky() {
    let (m, n) = (50_000, 100_000);
    let mut numbers = Numbers(2);
    // Row i has six entries around column 2 i: it shares columns with two rows on either side.
    let band = |i: usize| (2 * i).saturating_sub(2)..(2 * i + 4).min(n);
    let entries: Vec<(usize, usize, f64)> =
        (0..m).flat_map(|i| band(i).map(move |j| (i, j))).map(|(i, j)| (i, j, numbers.next())).collect();
    let mut problem = StoredSubproblem::new(m, n, &entries, true, &[]);
    fill(&mut problem, &mut numbers);
    let cholesky = {
        let mut factorise = problem.cholesky(Factorisation::Sparse);
        seconds(|| assert!(factorise(), "J J^T is positive definite"))
    };
    tell_tangent_steps(
        &mut problem,
        &mut numbers,
        cholesky,
        "100,000 variables, 50,000 banded rows: Cholesky of J J^T",
        "at most 10",
    );
}

/// The loops that the kernel is made of, in several lanes, in blocks and by matrix products, beside the loops that one would write first: how many
/// times as long the plain ones take.
fn against_plain_loops() {
    let (m, n) = (100, 2_000);
    let mut numbers = Numbers(4);
    let values: Vec<f64> = (0..m * n).map(|_| numbers.next()).collect();
    let entries: Vec<(usize, usize, f64)> = (0..m * n).map(|k| (k / n, k % n, values[k])).collect();
    let problem = StoredSubproblem::new(m, n, &entries, false, &[]);
    let row = |i: usize| &values[i * n..(i + 1) * n];
    let plain_dot = |a: &[f64], b: &[f64]| a.iter().zip(b).fold(0.0, |sum, (a, b)| sum + a * b);
    let (v, mut y, mut out) = (vec![0.5; n], vec![0.0; m], vec![0.0; n]);

    let ours = seconds(|| problem.apply(&v, &mut y));
    let plain = seconds(|| y.iter_mut().enumerate().for_each(|(i, y)| *y = plain_dot(row(i), &v)));
    tell("plain loops for J v, 100 rows and 2,000 columns", plain / ours, "above 1");

    let ours = seconds(|| problem.apply_transposed(&y, &mut out));
    let plain =
        seconds(|| out.iter_mut().enumerate().for_each(|(j, out)| *out = (0..m).map(|i| values[i * n + j] * y[i]).sum()));
    tell("the same for J^T y", plain / ours, "above 1");

    let mut factorise = problem.cholesky(Factorisation::Dense);
    let ours = seconds(|| assert!(factorise(), "J J^T is positive definite"));
    let mut gram = vec![0.0; m * m];
    let plain = seconds(|| {
        for i in 0..m {
            (0..=i).for_each(|j| gram[i * m + j] = plain_dot(row(i), row(j)));
        }
        plain_cholesky(m, &mut gram);
    });
    tell("the same for J J^T and its Cholesky factorisation", plain / ours, "above 1");
}

/// The factorisation as a textbook has it, of a lower triangle that stands row after row.
fn plain_cholesky(size: usize, matrix: &mut [f64]) {
    for i in 0..size {
        for j in 0..=i {
            let sum: f64 = (0..j).map(|k| matrix[i * size + k] * matrix[j * size + k]).sum();
            let rest = matrix[i * size + j] - sum;
            matrix[i * size + j] = if i == j { rest.sqrt() } else { rest / matrix[j * size + j] };
        }
    }
}
