//! Rows per second of gradient, constraint values and Jacobian over batches of random rows, against a bare loop that computes the same
//! gradients from the same rows and nothing else. With 1 and with 2 threads.

use std::hint::black_box;
use std::time::Instant;

use rayon::ThreadPoolBuilder;
use rayon::prelude::*;
use tangor_learn::{Constraint, DataSet, Regression, SampledRegression, generate};
use tangor_problem::{Draw, SampledProblem, Stream};

const COLUMNS: usize = 100;
const BATCH: usize = 16_384;

fn main() {
    // `cargo test` runs benches, too, to see that they work; then a few rows will do.
    let serious = std::env::args().any(|argument| argument == "--bench");
    let (rows, batches) = if serious { (1_000_000, 40) } else { (20_000, 2) };
    let column = || "group".to_string();
    let constraints = [
        Constraint::RateGap { column: column(), most: 0.02 },
        Constraint::TruePositiveGap { column: column(), most: 0.02 },
        Constraint::FalsePositive { most: 0.1 },
    ];
    let data = generate(rows, COLUMNS, 1).expect("the sizes make sense");
    let mut problem = Regression::new(data, &constraints, 1e-4).expect("the constraints fit the data").sampled();
    let draws: Vec<Vec<Draw>> = (0..batches).map(|batch| random_rows(batch, rows)).collect();
    println!("{rows} rows, {COLUMNS} columns, {} constraints, batches of {BATCH} random rows", constraints.len());
    for threads in [1, 2] {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().expect("threads can be started");
        let total = (batches as usize * BATCH) as f64;
        let (ours, checksum) = pool.install(|| best_of_three(|| draws.iter().map(|draws| evaluate(&mut problem, draws)).sum()));
        let data = problem.data();
        let shares = inverse_shares(data);
        let (bare, expected) =
            pool.install(|| best_of_three(|| draws.iter().map(|draws| bare_loop(data, &shares, draws)).sum()));
        assert!((checksum - expected).abs() <= 1e-9 * expected.abs(), "{checksum} is not {expected}");
        let (ours, bare) = (total / ours, total / bare);
        println!("{threads} threads: {ours:.3e} rows/s, bare loop {bare:.3e} rows/s, ratio {:.2}", ours / bare);
    }
}

fn random_rows(batch: u64, rows: usize) -> Vec<Draw> {
    let mut stream = Stream::new(Draw(batch), 9);
    (0..BATCH).map(|_| Draw((stream.uniform() * rows as f64) as u64)).collect()
}

/// The shortest time, in seconds, and the result.
fn best_of_three(mut run: impl FnMut() -> f64) -> (f64, f64) {
    let mut best = (f64::INFINITY, 0.0);
    for _ in 0..3 {
        let start = Instant::now();
        let result = black_box(run());
        best = (best.0.min(start.elapsed().as_secs_f64()), result);
    }
    best
}

fn weights() -> Vec<f64> {
    (0..=COLUMNS).map(|j| (j as f64).sin() / 10.0).collect()
}

/// The sum of all derivatives, from the three functions that a solver calls.
fn evaluate(problem: &mut SampledRegression, draws: &[Draw]) -> f64 {
    let x = weights();
    let (mut g, mut c, mut values) = (vec![0.0; x.len()], [0.0; 3], vec![0.0; 3 * x.len()]);
    problem.gradient(&x, draws, &mut g).expect("rows can be evaluated");
    problem.constraints(&x, draws, &mut c).expect("rows can be evaluated");
    problem.jacobian(&x, draws, &mut values).expect("rows can be evaluated");
    let regulariser = 1e-4 * x.iter().sum::<f64>();
    black_box(c);
    g.iter().chain(&values).sum::<f64>() - regulariser
}

/// One over the shares of both groups, of both among the positive rows, and of the negative rows.
fn inverse_shares(data: &DataSet) -> [f64; 5] {
    let mut counts = [0u32; 5];
    for (member, positive) in data.groupings[0].members.iter().zip(&data.positive) {
        let group = usize::from(*member == Some(1));
        counts[group] += 1;
        counts[if *positive { 2 + group } else { 4 }] += 1;
    }
    counts.map(|count| data.rows() as f64 / f64::from(count))
}

/// The same sum, from a loop over the rows that does nothing else.
fn bare_loop(data: &DataSet, shares: &[f64; 5], draws: &[Draw]) -> f64 {
    let (x, n) = (weights(), COLUMNS + 1);
    let members = &data.groupings[0].members;
    let sums = draws.par_chunks(draws.len().div_ceil(2)).map(|draws| {
        let mut sums = vec![0.0; 4 * n];
        for draw in draws {
            let i = draw.0 as usize;
            let row = data.features.dense_row(i);
            let margin = row.iter().zip(&x).map(|(a, x)| f64::from(*a) * x).sum::<f64>() + x[COLUMNS];
            let p = 1.0 / (1.0 + (-margin).exp());
            let (in_b, positive) = (members[i] == Some(1), data.positive[i]);
            let sign = if in_b { 1.0 } else { -1.0 };
            let slope = p * (1.0 - p);
            add(p - f64::from(u8::from(positive)), row, &mut sums[..n]);
            add(sign * slope * shares[usize::from(in_b)], row, &mut sums[n..2 * n]);
            if positive {
                add(sign * slope * shares[2 + usize::from(in_b)], row, &mut sums[2 * n..3 * n]);
            } else {
                add(slope * shares[4], row, &mut sums[3 * n..]);
            }
        }
        sums.iter().sum::<f64>()
    });
    sums.sum::<f64>() / draws.len() as f64
}

fn add(weight: f64, row: &[f32], sums: &mut [f64]) {
    let (last, sums) = sums.split_last_mut().expect("there is an intercept");
    sums.iter_mut().zip(row).for_each(|(sum, a)| *sum += weight * f64::from(*a));
    *last += weight;
}
