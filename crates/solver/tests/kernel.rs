//! The kernel against Clarabel, and against the conditions of optimality, on random subproblems and on those that arise.

use std::ops::ControlFlow;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use tangor_collection::{What, entries};
use tangor_problem::{ClosureProblem, Exact, Meta};
use tangor_solver::internals::StoredSubproblem;
use tangor_solver::{Event, Factorisation, Kernel, Point, Row, Settings, Solver};

const TOLERANCE: f64 = 1e-7;

/// How optimal the referee itself must be: where the metric is flat, an error of the rows is much larger in `s`.
const REFEREE: f64 = 1e-10;

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

/// The same with a dense block `G G^T` and the diagonal for the variables, from a triangle `G`.
fn with_block() -> impl Strategy<Value = StoredSubproblem> {
    (subproblem(), vec(-1.0..1.0, 100)).prop_map(|(mut problem, g)| {
        let n = problem.size().1 - problem.slacks();
        let product = |i: usize, j: usize| (0..=i.min(j)).map(|k| g[i * 10 + k] * g[j * 10 + k]).sum::<f64>();
        let diagonal = |i: usize, j: usize| if i == j { problem.metric[i] } else { 0.0 };
        let block: Vec<f64> = (0..n * n).map(|k| (k / n, k % n)).map(|(i, j)| product(i, j) + diagonal(i, j)).collect();
        (0..n).for_each(|i| problem.metric[i] = block[i * n + i]);
        problem.block = Some(block);
        problem
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
    for (i, &(metric, gradient, point, below, above)) in columns.iter().enumerate().take(n + slack_rows.len()) {
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

/// 40 columns in boxes and six dense rows, which some point inside of the boxes satisfies; no multipliers to start from.
fn in_boxes(seed: u64) -> StoredSubproblem {
    let mut state = seed;
    let mut number = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    let columns: Vec<_> = (0..40).map(|_| (1.0, 3.0 * number(), 0.8 * number(), 1.0, 1.0)).collect();
    let rows: Vec<_> = (0..6).map(|_| ((0..40).map(|_| number()).collect(), 0.0, 0.0, 0.0, false)).collect();
    build(40, &columns, &rows, false)
}

#[test]
fn multipliers_that_went_astray_cost_no_more_than_a_search() {
    for seed in 0..20 {
        let mut problem = in_boxes(seed);
        let mut kernel = problem.kernel(&settings(Factorisation::Dense));
        problem.solve(&mut kernel);
        assert!(kernel.converged && kernel.interior == 0, "seed {seed}: from zero the search finds the bounds by itself");
        let (s, steps) = (kernel.s.clone(), kernel.iterations);
        // Multipliers of this size hold every column at a bound.
        problem.warm = (0..6).map(|i| if i % 2 == 0 { 1e4 } else { -1e4 }).collect();
        problem.solve(&mut kernel);
        assert!(kernel.converged && kernel.interior == 0, "seed {seed}: {} steps inside", kernel.interior);
        assert!(kernel.iterations <= steps + 4, "seed {seed}: {} steps instead of {steps}", kernel.iterations);
        assert!(kernel.s.iter().zip(&s).all(|(a, b)| (a - b).abs() < 1e-9), "seed {seed}");
    }
}

/// How far `s` and `y` are from `s = clip(s - (H s + g + J^T y) / diag H)` and `J s - kappa y = r`, which together mean that `s` is the
/// solution.
/// The first is an error of `s`, the second is relative to the numbers in the row.
fn optimality_errors(problem: &StoredSubproblem, s: &[f64], y: &[f64]) -> (f64, f64) {
    let (m, columns) = problem.size();
    let (mut product, mut q, mut hs) = (vec![0.0; m], vec![0.0; columns], vec![0.0; columns]);
    problem.apply_hessian(s, &mut hs);
    problem.apply(s, &mut product);
    problem.apply_transposed(y, &mut q);
    // Terms that cancel leave a few units in their last places, which a flat metric would make a long way of.
    let step = |i: usize| {
        let terms = [hs[i], problem.gradient[i], q[i]];
        let (sum, rounding) =
            (terms.iter().sum::<f64>(), 4.0 * f64::EPSILON * terms.iter().map(|term| term.abs()).sum::<f64>());
        (sum.abs() - rounding).max(0.0).copysign(sum) / problem.metric[i]
    };
    let clipped = |i: usize| (s[i] - step(i)).clamp(problem.lower[i], problem.upper[i]);
    let of_columns = (0..columns).map(|i| (clipped(i) - s[i]).abs()).fold(0.0, f64::max);
    let of_row = |i: usize| {
        let soft = problem.softness[i] * y[i];
        (product[i] - soft - problem.target[i]).abs() / (size(s) + soft.abs() + problem.target[i].abs())
    };
    (of_columns / size(s), (0..m).map(of_row).fold(0.0, f64::max))
}

fn is_optimal(problem: &StoredSubproblem, s: &[f64], y: &[f64], tolerance: f64) -> bool {
    let (of_columns, of_rows) = optimality_errors(problem, s, y);
    of_columns <= tolerance && of_rows <= tolerance
}

/// How far Clarabel's solution is, in the worst component. `None`: Clarabel gave up, or its own solution is not good enough to be a
/// referee (an interior-point method knows `s` to the root of its tolerance only, where the metric is flat).
fn distance_to_clarabel(problem: &StoredSubproblem, s: &[f64]) -> Option<f64> {
    let (m, columns) = problem.size();
    let (mut other, mut y) = (vec![0.0; columns], vec![0.0; m]);
    let solved = problem.solve_by_clarabel(&mut other, &mut y) && is_optimal(problem, &other, &y, REFEREE);
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
            // Rows that are neither soft nor have a slack are not what the factorisation in the columns is made for.
            if factorisation == Factorisation::Primal && problem.has_hard_rows() {
                continue;
            }
            prop_assert!(kernel.converged, "{factorisation:?} did not converge in {} steps", kernel.iterations);
            let errors = optimality_errors(&problem, &kernel.s, &kernel.y);
            prop_assert!(is_optimal(&problem, &kernel.s, &kernel.y, TOLERANCE), "{factorisation:?}: {errors:?}");
            let distance = distance_to_clarabel(&problem, &kernel.s);
            prop_assert!(distance.is_none_or(|distance| distance <= TOLERANCE), "{factorisation:?} is off by {distance:?}");
        }
    }

    #[test]
    fn random_subproblems_with_a_dense_metric_agree_with_clarabel(problem in with_block()) {
        let mut kernel = problem.kernel(&settings(Factorisation::Automatic));
        problem.solve(&mut kernel);
        prop_assert!(kernel.converged, "did not converge in {} steps", kernel.iterations);
        let errors = optimality_errors(&problem, &kernel.s, &kernel.y);
        prop_assert!(is_optimal(&problem, &kernel.s, &kernel.y, TOLERANCE), "{errors:?}");
        let distance = distance_to_clarabel(&problem, &kernel.s);
        prop_assert!(distance.is_none_or(|distance| distance <= TOLERANCE), "off by {distance:?}");
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

    /// From its own multipliers the solution is there after the factorisation that finds it and, where a column lies on its bound with no
    /// multiplier, one more.
    #[test]
    fn a_warm_start_at_the_solution_needs_no_search(mut problem in subproblem()) {
        let mut kernel = problem.kernel(&settings(Factorisation::Automatic));
        problem.solve(&mut kernel);
        problem.warm = kernel.y.clone();
        let cold = kernel.s.clone();
        problem.solve(&mut kernel);
        prop_assert!(kernel.iterations <= 2, "{} factorisations", kernel.iterations);
        let moved = kernel.s.iter().zip(&cold).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        prop_assert!(moved <= 1e-8 * size(&cold), "the solution moved by {moved:e}");
    }
}

/// Where no multipliers exist, those of the subproblems grow without bound, and rounding with them: such problems are left out.
#[test]
fn subproblems_that_arise_agree_with_clarabel() {
    let (mut solved, mut compared, mut wrong) = (0, 0, Vec::new());
    for entry in entries().iter().filter(|entry| entry.known.what == What::Solution) {
        let mut solver = Solver::new((entry.build)(), Settings::default()).unwrap();
        for iteration in 0..40 {
            let problem = StoredSubproblem::next(&mut solver);
            let mut kernel = problem.kernel(&settings(Factorisation::Automatic));
            problem.solve(&mut kernel);
            if kernel.converged && problem.size().0 <= 1000 {
                solved += 1;
                let errors = optimality_errors(&problem, &kernel.s, &kernel.y);
                let distance = distance_to_clarabel(&problem, &kernel.s);
                compared += u32::from(distance.is_some());
                if distance.unwrap_or(0.0) > TOLERANCE || !is_optimal(&problem, &kernel.s, &kernel.y, TOLERANCE) {
                    wrong.push(format!(
                        "{} in iteration {iteration}: {distance:?} from Clarabel, {errors:?}, |y| = {:e}",
                        entry.name,
                        size(&kernel.y)
                    ));
                }
            }
            if solver.advance(&mut |_: &Row, _: &[f64]| ControlFlow::Continue(())).is_some() {
                break;
            }
        }
    }
    println!("{solved} subproblems were solved, {compared} compared");
    assert!(compared > 700 && 10 * compared > 7 * solved, "of {solved} subproblems only {compared} were compared");
    assert!(wrong.is_empty(), "{} of {solved}:\n{}", wrong.len(), wrong.join("\n"));
}

/// `min x0 + x1` with `x0 + x1^2 = 3`, `x0 <= 0.5` from (0, 1): `h = -2`, `J = (1, 2)`, and 0.5 of room above `x0`.
#[test]
fn the_normal_subproblem_of_a_run_by_hand() {
    let meta = Meta::new("parabola", vec![0.0, 1.0]).bounds(&[f64::NEG_INFINITY; 2], &[0.5, f64::INFINITY]).equalities(&[3.0]);
    let problem = ClosureProblem::builder(meta)
        .objective(|x| x[0] + x[1])
        .gradient(|_, g| g.fill(1.0))
        .constraints(|x, c| c[0] = x[0] + x[1] * x[1])
        .jacobian(|x, values| values.copy_from_slice(&[1.0, 2.0 * x[1]]))
        .build()
        .unwrap();
    let mut solver = Solver::new(problem, Settings::default()).unwrap();
    let (normal, tangent) = StoredSubproblem::next_two(&mut solver);
    let normal = normal.unwrap();
    assert_eq!((normal.entries(), &normal.target[..]), (vec![(0, 0, 1.0), (0, 1, 2.0)], &[2.0][..]));
    assert_eq!((&normal.metric[..], &normal.gradient[..], normal.upper[0]), (&[1.0; 2][..], &[0.0; 2][..], 0.5));
    assert!(normal.softness[0] > 0.0 && !normal.has_hard_rows());
    // The tangent subproblem takes over what the normal one reaches.
    let mut kernel = normal.kernel(&Kernel::default());
    normal.solve(&mut kernel);
    let reached = kernel.s[0] + 2.0 * kernel.s[1];
    assert!(kernel.converged && (tangent.target[0] - reached).abs() < 1e-9 && tangent.softness[0] == 0.0);
}

/// `min |x|^2` with `0.1 x0 + 0.2 x1 = 0.3`, from a point.
fn on_a_line(x0: [f64; 2]) -> Solver<Exact<ClosureProblem>> {
    let problem = ClosureProblem::builder(Meta::new("line", x0.to_vec()).equalities(&[0.3]))
        .objective(|x| x[0] * x[0] + x[1] * x[1])
        .gradient(|x, g| (0..2).for_each(|i| g[i] = 2.0 * x[i]))
        .constraints(|x, c| c[0] = 0.1 * x[0] + 0.2 * x[1])
        .jacobian(|_, values| values.copy_from_slice(&[0.1, 0.2]))
        .build()
        .unwrap();
    Solver::new(problem, Settings::default()).unwrap()
}

/// In numbers `0.1 + 0.2` is not `0.3`, and no step makes it so; `0.1 + 0.2 (1 + 1e-12)` misses it by more than rounding of its terms.
#[test]
fn what_rounding_leaves_of_rows_is_not_repaired() {
    assert_ne!(0.1 + 0.2, 0.3);
    let mut solver = on_a_line([1.0, 1.0]);
    let (normal, tangent) = StoredSubproblem::next_two(&mut solver);
    assert!(normal.is_none() && tangent.target == [0.0]);
    let (normal, tangent) = StoredSubproblem::next_two(&mut on_a_line([1.0, 1.0 + 1e-12]));
    let missing = normal.unwrap().target[0];
    assert!((missing + 2e-13).abs() < 1e-15 && (tangent.target[0] - missing).abs() < 1e-15, "{missing:e}");
    // The run is none the worse for it: the least point of the line is (0.6, 1.2), with the multiplier -12.
    let report = solver.run(&mut |_: &Row, _: &[f64]| ControlFlow::Continue(()));
    assert!(
        (report.x[0] - 0.6).abs() < 1e-9 && (report.x[1] - 1.2).abs() < 1e-9 && report.feasibility < 1e-15,
        "{:?}",
        report.x
    );
}

/// `x0^2 + x1^2 = 1` at 0, where no step changes the row: nobody is asked, least of all Clarabel, and other starts leave the saddle.
#[test]
fn rows_that_no_step_changes_ask_for_no_normal_step() {
    let problem = ClosureProblem::builder(Meta::new("circle", vec![0.0, 0.0]).equalities(&[1.0]))
        .objective(|x| x[0])
        .gradient(|_, g| g.copy_from_slice(&[1.0, 0.0]))
        .constraints(|x, c| c[0] = x[0] * x[0] + x[1] * x[1])
        .jacobian(|x, values| values.copy_from_slice(&[2.0 * x[0], 2.0 * x[1]]))
        .build()
        .unwrap();
    let mut solver = Solver::new(problem, Settings::default()).unwrap();
    assert!(StoredSubproblem::next_two(&mut solver).0.is_none());
    let report = solver.run(&mut |_: &Row, _: &[f64]| ControlFlow::Continue(()));
    assert!(report.point == Point::EpsKkt && (report.objective + 1.0).abs() < 1e-6, "{}", report.message);
    let given_up = |event: &Event| matches!(event, Event::Fallback | Event::Inexact);
    assert!(!report.unusual.iter().any(|(event, _)| given_up(event)), "{:?}", report.unusual);
}

/// Numbers between -1 and 1, the same in every run.
fn numbers() -> impl FnMut() -> f64 {
    let mut state = 2u64;
    move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

/// Six entries in each of 2,000 rows around the diagonal, 4,000 columns between -1 and 1 of which a fifth ends on a bound: nothing is known
/// at the start, and changing columns over would go on for long.
#[test]
fn a_cold_band_takes_few_factorisations() {
    let (m, n, mut next) = (2_000, 4_000, numbers());
    let band = |i: usize| (2 * i).saturating_sub(2)..(2 * i + 4).min(n);
    let entries: Vec<(usize, usize, f64)> =
        (0..m).flat_map(|i| band(i).map(move |j| (i, j))).map(|(i, j)| (i, j, next())).collect();
    let mut problem = StoredSubproblem::new(m, n, &entries, true, &[]);
    let mut inside = vec![0.0; n];
    for i in 0..n {
        (problem.gradient[i], inside[i]) = (2.0 * next(), 0.8 * next());
        (problem.lower[i], problem.upper[i]) = (-1.0, 1.0);
    }
    let mut target = vec![0.0; m];
    problem.apply(&inside, &mut target);
    problem.target = target;
    let mut kernel = problem.kernel(&settings(Factorisation::Automatic));
    problem.solve(&mut kernel);
    let held = kernel.s.iter().filter(|s| s.abs() == 1.0).count();
    println!("{} factorisations, {} of them inside, {held} columns held", kernel.iterations, kernel.interior);
    assert!(kernel.converged && is_optimal(&problem, &kernel.s, &kernel.y, TOLERANCE) && held > 400);
    assert!(kernel.iterations <= 15, "{} factorisations", kernel.iterations);
}
