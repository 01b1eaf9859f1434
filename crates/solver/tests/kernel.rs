//! The kernel against Clarabel, and against the conditions of optimality, on random subproblems and on those that arise.

use std::ops::ControlFlow;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use tangor_collection::entries;
use tangor_solver::internals::{StoredKernel, StoredSubproblem};
use tangor_solver::{Factorisation, Kernel, Row, Settings, Solver};

const TOLERANCE: f64 = 1e-7;

/// One column: metric, gradient, a point that is allowed, and the room below and above it.
fn column() -> impl Strategy<Value = (f64, f64, f64, f64, f64)> {
    let room = || prop_oneof![1 => Just(0.0), 3 => 0.0..2.0, 2 => Just(f64::INFINITY)];
    let metric = prop_oneof![2 => Just(1.0), 1 => 0.01..100.0];
    (metric, -5.0..5.0, -1.0..1.0, room(), room())
}

/// One row: its entries, its softness, an offset of its target when it is soft, its warm start, and whether it has a slack.
fn row(n: usize) -> impl Strategy<Value = (Vec<f64>, f64, f64, f64, bool)> {
    let entry = prop_oneof![1 => Just(0.0), 1 => -2.0..2.0];
    let softness = prop_oneof![2 => Just(0.0), 1 => 0.001..10.0];
    let warm = prop_oneof![1 => Just(0.0), 1 => -10.0..10.0];
    (vec(entry, n), softness, -2.0..2.0, warm, prop::bool::weighted(0.3))
}

/// Feasible subproblems; `copies` of the rows make them dependent.
fn subproblem() -> impl Strategy<Value = StoredSubproblem> {
    (1..=10usize, 0..=5usize, 0..=2usize, any::<bool>()).prop_flat_map(|(n, m, copies, sparse)| {
        (vec(column(), n + m), vec(row(n), m)).prop_map(move |(columns, mut rows)| {
            for k in 0..copies.min(m) {
                rows.push((rows[k].0.iter().map(|value| 3.0 * value).collect(), 0.0, 0.0, 0.0, false));
            }
            build(n, &columns, &rows, sparse)
        })
    })
}

fn build(
    n: usize,
    columns: &[(f64, f64, f64, f64, f64)],
    rows: &[(Vec<f64>, f64, f64, f64, bool)],
    sparse: bool,
) -> StoredSubproblem {
    let entries = rows.iter().enumerate().flat_map(|(i, row)| row.0.iter().enumerate().map(move |(j, &value)| (i, j, value)));
    let entries: Vec<(usize, usize, f64)> = entries.filter(|(_, _, value)| !sparse || *value != 0.0).collect();
    let slack_rows: Vec<usize> = (0..rows.len()).filter(|&i| rows[i].4).collect();
    let mut problem = StoredSubproblem::new(rows.len(), n, &entries, sparse, &slack_rows);
    let mut allowed = Vec::new();
    for i in 0..n + slack_rows.len() {
        let (metric, gradient, point, below, above) = columns[i];
        problem.metric[i] = metric;
        problem.gradient[i] = gradient;
        (problem.lower[i], problem.upper[i]) = (point - below, point + above);
        allowed.push(point);
    }
    let mut target = vec![0.0; rows.len()];
    problem.apply(&allowed, &mut target);
    for (i, (_, softness, offset, warm, _)) in rows.iter().enumerate() {
        problem.softness[i] = *softness;
        problem.target[i] = target[i] + if *softness > 0.0 { *offset } else { 0.0 };
        problem.warm[i] = *warm;
    }
    problem
}

fn size(values: &[f64]) -> f64 {
    values.iter().fold(1.0, |most, value| value.abs().max(most))
}

/// `s = clip(-(g + J^T y) / H)` and `J s - kappa y = r`: together they mean that `s` is the solution.
fn assert_optimal(problem: &StoredSubproblem, kernel: &StoredKernel) {
    let (m, columns) = problem.size();
    let (s, y) = (&kernel.s, &kernel.y);
    let (mut product, mut q) = (vec![0.0; m], vec![0.0; columns]);
    problem.apply(s, &mut product);
    problem.apply_transposed(y, &mut q);
    let scale = size(s) + size(y);
    for i in 0..m {
        let error = (product[i] - problem.softness[i] * y[i] - problem.target[i]).abs();
        assert!(error <= 1e-8 * scale, "row {i} is off by {error:e}");
    }
    for i in 0..columns {
        let clipped = (-(problem.gradient[i] + q[i]) / problem.metric[i]).clamp(problem.lower[i], problem.upper[i]);
        let error = (clipped - s[i]).abs() * problem.metric[i];
        assert!(error <= 1e-9 * (scale + size(&q)), "column {i} is off by {error:e}");
        assert!((problem.lower[i]..=problem.upper[i]).contains(&s[i]), "column {i} is outside of its bounds");
    }
}

/// Compares with Clarabel, in the worst component. `None`: Clarabel gave up.
fn distance_to_clarabel(problem: &StoredSubproblem, s: &[f64]) -> Option<f64> {
    let (m, columns) = problem.size();
    let (mut other, mut y) = (vec![0.0; columns], vec![0.0; m]);
    let solved = problem.solve_by_clarabel(&mut other, &mut y);
    solved.then(|| other.iter().zip(s).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) / size(s))
}

fn settings(factorisation: Factorisation) -> Kernel {
    Kernel { factorisation, fallback: false, ..Kernel::default() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, rng_seed: RngSeed::Fixed(3), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_subproblems_agree_with_clarabel(problem in subproblem()) {
        for factorisation in [Factorisation::Dense, Factorisation::Sparse, Factorisation::Primal] {
            let mut kernel = problem.kernel(&settings(factorisation));
            problem.solve(&mut kernel);
            prop_assert!(kernel.converged, "{factorisation:?} did not converge in {} steps", kernel.iterations);
            assert_optimal(&problem, &kernel);
            let distance = distance_to_clarabel(&problem, &kernel.s);
            prop_assert!(distance.is_none_or(|distance| distance <= TOLERANCE), "{factorisation:?} is off by {distance:?}");
        }
    }

    /// The same kernel on one subproblem after another remembers nothing.
    #[test]
    fn a_used_kernel_gives_the_same_bits(problem in subproblem()) {
        let mut kernel = problem.kernel(&settings(Factorisation::Automatic));
        problem.solve(&mut kernel);
        let first = (kernel.s.clone(), kernel.y.clone(), kernel.iterations);
        let mut other = problem.clone();
        other.gradient.iter_mut().for_each(|g| *g += 1.0);
        other.solve(&mut kernel);
        problem.solve(&mut kernel);
        prop_assert_eq!(first, (kernel.s, kernel.y, kernel.iterations));
    }

    /// From its own multipliers the solution is there at once.
    #[test]
    fn a_warm_start_at_the_solution_needs_no_step(mut problem in subproblem()) {
        let mut kernel = problem.kernel(&settings(Factorisation::Automatic));
        problem.solve(&mut kernel);
        problem.warm = kernel.y.clone();
        let cold = kernel.s.clone();
        problem.solve(&mut kernel);
        prop_assert!(kernel.iterations <= 1, "{} steps", kernel.iterations);
        let moved = kernel.s.iter().zip(&cold).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        prop_assert!(moved <= 1e-9 * size(&cold), "the solution moved by {moved:e}");
    }
}

#[test]
fn subproblems_that_arise_agree_with_clarabel() {
    let (mut compared, mut wrong) = (0, Vec::new());
    for entry in entries() {
        let mut solver = Solver::new((entry.build)(), Settings::default()).unwrap();
        for iteration in 0..40 {
            let problem = StoredSubproblem::next(&mut solver);
            if problem.size().0 <= 1000 {
                let mut kernel = problem.kernel(&settings(Factorisation::Automatic));
                problem.solve(&mut kernel);
                if let Some(distance) = distance_to_clarabel(&problem, &kernel.s).filter(|_| kernel.converged) {
                    compared += 1;
                    if distance > TOLERANCE {
                        wrong.push(format!("{} in iteration {iteration}: off by {distance:e}", entry.name));
                    }
                }
            }
            if solver.advance(&mut |_: &Row, _: &[f64]| ControlFlow::Continue(())).is_some() {
                break;
            }
        }
    }
    assert!(compared > 400, "only {compared} subproblems were compared");
    assert!(wrong.is_empty(), "{} of {compared}:\n{}", wrong.len(), wrong.join("\n"));
}
