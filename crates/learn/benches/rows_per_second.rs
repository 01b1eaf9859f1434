//! Rows per second of the gradient of a logistic loss and the values and gradients of 3 constraints, over batches of random rows,
//! against a bare loop that computes the same gradients from the same rows and nothing else. With 1 and with 2 threads.
//!
//! Both are run in turn many times, and the ratio is the median over the turns, because a machine is never quite at rest.

use std::hint::black_box;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use rayon::ThreadPoolBuilder;
use rayon::prelude::*;
use tangor_learn::{Constraint, DataSet, Goal, Penalty, Rate, Regression, SampledRegression, generate};
use tangor_problem::{Draw, Outputs, SampledProblem, Stream, Wanted};
use tangor_solver::{Batch, Estimator, Row, Settings, Solver};

const COLUMNS: usize = 100;
const WEIGHTS: usize = COLUMNS + 1;
const L2: f64 = 1e-4;
const BATCH: usize = 16_384;
/// Rows that a thread of the bare loop takes at a time.
const CHUNK: usize = 1024;

fn main() {
    // `cargo test` runs benches, too, to see that they work; then a few rows will do.
    let serious = std::env::args().any(|argument| argument == "--bench");
    let (rows, turns) = if serious { (1_000_000, 61) } else { (20_000, 2) };
    let column = || "group".to_string();
    let constraints = vec![
        Constraint::Gap { rate: Rate::Selection, column: column(), most: 0.02 },
        Constraint::Gap { rate: Rate::TruePositive, column: column(), most: 0.02 },
        Constraint::Cap { rate: Rate::FalsePositive, column: None, most: 0.1 },
    ];
    let goal = Goal { constraints, penalty: Penalty { l2: L2, intercept: true }, ..Goal::default() };
    let data = Arc::new(generate(rows, COLUMNS, 1).expect("the sizes make sense"));
    let mut problem = Regression::new(Arc::clone(&data), &goal).expect("the constraints fit the data").sampled();
    println!("{rows} rows, {COLUMNS} columns, {} constraints, batches of {BATCH} random rows", goal.constraints.len());
    for threads in [1, 2] {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().expect("threads can be started");
        let turns: Vec<[f64; 3]> = pool.install(|| (0..turns).map(|turn| take_turn(&mut problem, turn)).collect());
        let rates = [0, 1, 2].map(|kind| BATCH as f64 / median(turns.iter().map(|seconds| seconds[kind])));
        let ratios = [0, 1].map(|kind| median(turns.iter().map(|seconds| seconds[2] / seconds[kind])));
        println!("{threads} threads: bare loop                {:.3e} rows/s", rates[2]);
        println!("{threads} threads: all in one pass          {:.3e} rows/s, ratio {:.2}", rates[0], ratios[0]);
        println!("{threads} threads: one function at a time   {:.3e} rows/s, ratio {:.2}", rates[1], ratios[1]);
        let regression = Regression::new(Arc::clone(&data), &goal).expect("the constraints fit the data");
        let rate = pool.install(|| whole_run(regression.sampled(), turns.len() as u64));
        println!("{threads} threads: a whole run              {rate:.3e} rows/s, ratio {:.2}", rate / rates[2]);
    }
}

/// The seconds of one pass, of single functions and of the bare loop, each on a batch of its own that nobody has touched just before.
fn take_turn(problem: &mut SampledRegression, turn: u64) -> [f64; 3] {
    let rows = problem.data().rows();
    let batches = [0, 1, 2].map(|kind| random_rows(3 * turn + kind, rows));
    let shares = inverse_shares(problem.data());
    let mut seconds = [0.0; 3];
    // Nobody always comes first.
    for kind in (0..3).map(|k| (k + turn as usize) % 3) {
        let start = Instant::now();
        let gradients = match kind {
            0 => in_one_pass(problem, &batches[0]),
            1 => one_at_a_time(problem, &batches[1]),
            _ => bare_loop(problem.data(), &shares, &batches[2]),
        };
        seconds[kind] = start.elapsed().as_secs_f64();
        if turn == 0 {
            let expected = bare_loop(problem.data(), &shares, &batches[kind]);
            let off = gradients.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(off < 1e-12, "the gradients differ by {off}");
        }
        black_box(gradients);
    }
    seconds
}

/// Rows per second of a run of the solver with mini-batches, everything that it does besides evaluating them included.
fn whole_run(problem: SampledRegression, iterations: u64) -> f64 {
    let mut settings = Settings::default();
    settings.limits.iterations = iterations;
    let sampling = &mut settings.sampling;
    for estimation in [&mut sampling.gradient, &mut sampling.constraints, &mut sampling.jacobian] {
        estimation.estimator = Estimator::Minibatch;
        estimation.batch = Batch::Constant { size: BATCH };
    }
    let mut solver = Solver::sampled(problem, settings).expect("the settings make sense");
    let mut rows = (0, 0);
    let mut count = |row: &Row, _: &[f64]| {
        rows = (if rows.0 == 0 { row.samples.gradient } else { rows.0 }, row.samples.gradient);
        ControlFlow::Continue(())
    };
    // The first iteration is left out: its batch is a larger one. So is the last, which ends in a verdict on fresh samples.
    solver.advance(&mut count);
    let start = Instant::now();
    for _ in 1..iterations {
        solver.advance(&mut count);
    }
    (rows.1 - rows.0) as f64 / start.elapsed().as_secs_f64()
}

fn random_rows(batch: u64, rows: usize) -> Vec<Draw> {
    let mut stream = Stream::new(Draw(batch), 9);
    (0..BATCH).map(|_| Draw((stream.uniform() * rows as f64) as u64)).collect()
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    tangor_figure::median(values).expect("there are values")
}

fn weights() -> [f64; WEIGHTS] {
    std::array::from_fn(|j| (j as f64).sin() / 10.0)
}

fn in_one_pass(problem: &mut SampledRegression, draws: &[Draw]) -> Vec<f64> {
    let (mut out, mut c) = (vec![0.0; 4 * WEIGHTS], [0.0; 3]);
    let (g, values) = out.split_at_mut(WEIGHTS);
    let mut outputs = Outputs::new(g, &mut c, values);
    problem.evaluate(&weights(), draws, Wanted::SAMPLED, &mut outputs).expect("rows can be evaluated");
    black_box(c);
    out
}

fn one_at_a_time(problem: &mut SampledRegression, draws: &[Draw]) -> Vec<f64> {
    let (x, mut out, mut c) = (weights(), vec![0.0; 4 * WEIGHTS], [0.0; 3]);
    let (g, values) = out.split_at_mut(WEIGHTS);
    problem.gradient(&x, draws, g).expect("rows can be evaluated");
    problem.constraints(&x, draws, &mut c).expect("rows can be evaluated");
    problem.jacobian(&x, draws, values).expect("rows can be evaluated");
    black_box(c);
    out
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

/// The gradients of the objective and of the three constraints, from a loop over the rows that does nothing else.
fn bare_loop(data: &DataSet, shares: &[f64; 5], draws: &[Draw]) -> Vec<f64> {
    let (x, members) = (weights(), &data.groupings[0].members);
    let sum_of_chunk = |draws: &[Draw]| {
        let mut sums = [[0.0; WEIGHTS]; 4];
        for draw in draws {
            let i = draw.0 as usize;
            let row = data.features.dense_row(i);
            let row: &[f32; COLUMNS] = row[..].try_into().expect("all columns are dense");
            let p = 1.0 / (1.0 + (-margin(row, &x)).exp());
            let (in_b, positive) = (usize::from(members[i] == Some(1)), data.positive[i]);
            let slope = p * (1.0 - p);
            let signed = if in_b == 1 { slope } else { -slope };
            let [loss, rate, true_positive, false_positive] = &mut sums;
            let (third, weight) = match positive {
                true => (true_positive, signed * shares[2 + in_b]),
                false => (false_positive, slope * shares[4]),
            };
            add([p - f64::from(u8::from(positive)), signed * shares[in_b], weight], row, [loss, rate, third]);
        }
        sums
    };
    let mut out = vec![0.0; 4 * WEIGHTS];
    for sums in draws.par_chunks(CHUNK).map(sum_of_chunk).collect::<Vec<_>>() {
        out.iter_mut().zip(sums.as_flattened()).for_each(|(out, sum)| *out += sum);
    }
    out.iter_mut().for_each(|out| *out /= draws.len() as f64);
    out.iter_mut().zip(x).for_each(|(out, x)| *out += L2 * x);
    out
}

/// `a'x` with four sums, so that additions need not wait for each other.
fn margin(row: &[f32; COLUMNS], x: &[f64; WEIGHTS]) -> f64 {
    let mut sums = [0.0; 4];
    for (a, x) in row.chunks_exact(4).zip(x.chunks_exact(4)) {
        for k in 0..4 {
            sums[k] += f64::from(a[k]) * x[k];
        }
    }
    sums.iter().sum::<f64>() + x[COLUMNS]
}

/// The row, with three weights, to three sums.
fn add(weights: [f64; 3], row: &[f32; COLUMNS], [first, second, third]: [&mut [f64; WEIGHTS]; 3]) {
    for j in 0..COLUMNS {
        let a = f64::from(row[j]);
        first[j] += weights[0] * a;
        second[j] += weights[1] * a;
        third[j] += weights[2] * a;
    }
    first[COLUMNS] += weights[0];
    second[COLUMNS] += weights[1];
    third[COLUMNS] += weights[2];
}
