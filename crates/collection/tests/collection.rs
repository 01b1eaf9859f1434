//! Every problem of the collection against what is said of it.

use std::collections::HashSet;

use tangor_collection::{Entry, Kind, What, entries};
use tangor_problem::{Meta, Problem, check_derivatives};

#[test]
fn there_are_enough_problems_and_each_has_its_own_name() {
    let names: HashSet<String> = entries().iter().map(|entry| entry.name.to_lowercase()).collect();
    assert_eq!(names.len(), entries().len());
    assert!(names.len() >= 45, "only {} problems", names.len());
    assert!(entries().iter().any(|entry| (entry.build)().meta().n() >= 10_000));
}

#[test]
fn the_data_are_sound_and_the_kind_is_the_declared_one() {
    for entry in entries() {
        let problem = (entry.build)();
        let meta = problem.meta();
        assert_eq!(meta.validate(), Ok(()), "{}", entry.name);
        assert_eq!(meta.name, entry.name);
        assert_eq!(kind(meta), entry.kind, "{}", entry.name);
        assert_eq!((entry.known.x)().len(), meta.n(), "{}", entry.name);
        let valued = meta.has_objective && entry.known.what != What::Infeasible;
        assert_eq!(entry.known.objective.is_some(), valued, "{}", entry.name);
    }
}

fn kind(meta: &Meta) -> Kind {
    let equality = |i: &usize| meta.c_lower[*i] == meta.c_upper[*i];
    let equalities = (0..meta.m()).filter(equality).count();
    let bounded = meta.x_lower.iter().any(|l| l.is_finite()) || meta.x_upper.iter().any(|u| u.is_finite());
    match (meta.has_objective, equalities, meta.m() - equalities) {
        (false, ..) => Kind::System,
        (true, 0, 0) if bounded => Kind::Bounds,
        (true, 0, 0) => Kind::Unconstrained,
        (true, 0, _) => Kind::Inequalities,
        (true, _, 0) if !bounded => Kind::Equalities,
        _ => Kind::Mixed,
    }
}

#[test]
fn known_points_have_the_known_objective_and_are_feasible() {
    for entry in entries() {
        let mut problem = (entry.build)();
        let x = (entry.known.x)();
        if let Some(expected) = entry.known.objective {
            let found = problem.objective(&x).unwrap();
            assert!((found - expected).abs() <= 1e-13 * expected.abs().max(1.0), "{}: {found}, not {expected}", entry.name);
        }
        let worst = violations(&mut *problem, &x).into_iter().map(f64::abs).fold(0.0, f64::max);
        match entry.known.what {
            What::Infeasible => assert!(worst > 0.1, "{} is feasible", entry.name),
            _ => assert!(worst <= 1e-12, "{}: violated by {worst:e}", entry.name),
        }
        let inside = |i: usize| problem.meta().x_lower[i] <= x[i] && x[i] <= problem.meta().x_upper[i];
        assert!((0..x.len()).all(inside), "{} leaves its bounds", entry.name);
    }
}

/// How far each row is below its lower bound (negative) or above its upper one (positive).
fn violations(problem: &mut dyn Problem, x: &[f64]) -> Vec<f64> {
    let mut c = vec![0.0; problem.meta().m()];
    if !c.is_empty() {
        problem.constraints(x, &mut c).unwrap();
    }
    let meta = problem.meta();
    c.iter().enumerate().map(|(i, c)| c - c.clamp(meta.c_lower[i], meta.c_upper[i])).collect()
}

#[test]
fn known_points_are_stationary() {
    for entry in entries() {
        let (residual, scale) = match entry.known.what {
            What::Infeasible => violation_stationarity(entry),
            _ => stationarity(entry),
        };
        match entry.known.what {
            What::SolutionWithoutMultipliers => assert!(residual > 0.1 * scale, "{} has multipliers", entry.name),
            _ => assert!(residual <= 1e-9 * scale, "{}: residual {residual:e}", entry.name),
        }
    }
}

/// The distance of the objective's gradient from the cone of the active gradients, and a scale for it.
fn stationarity(entry: &Entry) -> (f64, f64) {
    let mut problem = (entry.build)();
    let x = (entry.known.x)();
    let mut gradient = vec![0.0; x.len()];
    if problem.meta().has_objective {
        problem.gradient(&x, &mut gradient).unwrap();
    }
    let scale = gradient.iter().map(|g| g.abs()).fold(1.0, f64::max);
    let cone = active_gradients(&mut *problem, &x);
    (distance_from_cone(gradient, &cone), scale)
}

/// The gradient of half the squared violation, all of whose variables are free in the problems here.
fn violation_stationarity(entry: &Entry) -> (f64, f64) {
    let mut problem = (entry.build)();
    let x = (entry.known.x)();
    let violation = violations(&mut *problem, &x);
    let mut gradient = vec![0.0; x.len()];
    for (row, violation) in jacobian_rows(&mut *problem, &x).into_iter().zip(violation) {
        for (column, value) in row {
            gradient[column] += violation * value;
        }
    }
    (gradient.iter().map(|g| g.abs()).fold(0.0, f64::max), 1.0)
}

type SparseRow = Vec<(usize, f64)>;

fn jacobian_rows(problem: &mut dyn Problem, x: &[f64]) -> Vec<SparseRow> {
    let mut values = vec![0.0; problem.meta().jacobian_len()];
    if !values.is_empty() {
        problem.jacobian(x, &mut values).unwrap();
    }
    let mut rows = vec![SparseRow::new(); problem.meta().m()];
    for (k, value) in values.into_iter().enumerate() {
        let (row, column) = problem.meta().jacobian.place(k, x.len());
        rows[row].push((column, value));
    }
    rows
}

/// Gradients of what is active, pointing inward, and whether their multipliers may have any sign.
fn active_gradients(problem: &mut dyn Problem, x: &[f64]) -> Vec<(SparseRow, bool)> {
    let mut c = vec![0.0; problem.meta().m()];
    if !c.is_empty() {
        problem.constraints(x, &mut c).unwrap();
    }
    let rows = jacobian_rows(problem, x);
    let meta = problem.meta();
    let bounded_rows = rows.into_iter().zip(c).zip(meta.c_lower.iter().zip(&meta.c_upper));
    let bounded_variables =
        (0..x.len()).map(|i| vec![(i, 1.0)]).zip(x.iter().copied()).zip(meta.x_lower.iter().zip(&meta.x_upper));
    let mut cone = Vec::new();
    for ((gradient, value), (&lower, &upper)) in bounded_rows.chain(bounded_variables) {
        let (at_lower, at_upper) = (value - lower < 1e-9, upper - value < 1e-9);
        if at_lower {
            cone.push((gradient, at_upper));
        } else if at_upper {
            cone.push((gradient.into_iter().map(|(column, value)| (column, -value)).collect(), false));
        }
    }
    cone
}

/// Nonnegative least squares by coordinate descent: `min |gradient - sum_k y_k a_k|` in the largest component.
fn distance_from_cone(mut rest: Vec<f64>, cone: &[(SparseRow, bool)]) -> f64 {
    let mut y = vec![0.0; cone.len()];
    for _ in 0..20_000 {
        let mut moved = 0.0_f64;
        for (y, (a, free)) in y.iter_mut().zip(cone) {
            let square: f64 = a.iter().map(|(_, value)| value * value).sum();
            if square == 0.0 {
                continue;
            }
            let slope: f64 = a.iter().map(|&(column, value)| value * rest[column]).sum();
            let wanted = *y + slope / square;
            let change = if *free { wanted } else { wanted.max(0.0) } - *y;
            *y += change;
            a.iter().for_each(|&(column, value)| rest[column] -= change * value);
            moved = moved.max(change.abs() * square.sqrt());
        }
        if moved < 1e-13 {
            break;
        }
    }
    rest.iter().map(|r| r.abs()).fold(0.0, f64::max)
}

#[test]
fn derivatives_agree_with_differences() {
    for entry in entries() {
        let mut problem = (entry.build)();
        let meta = problem.meta();
        let start: Vec<f64> = (0..meta.n()).map(|i| meta.x0[i].clamp(meta.x_lower[i], meta.x_upper[i])).collect();
        let between: Vec<f64> = start.iter().zip((entry.known.x)()).map(|(a, b)| 0.6 * a + 0.4 * b).collect();
        for x in [start, between] {
            if x.len() <= 20 {
                let check = check_derivatives(&mut problem, &x).unwrap();
                assert!(check.is_right() && check.undecided == 0, "{}: {check}", entry.name);
            } else {
                compare_slopes(entry.name, &mut *problem, &x);
            }
        }
    }
}

/// A large problem: slopes along directions that mix all variables. Its functions are quadratic, so central differences are exact.
fn compare_slopes(name: &str, problem: &mut dyn Problem, x: &[f64]) {
    const STEP: f64 = 0.01;
    let (n, m) = (x.len(), problem.meta().m());
    let mut g = vec![0.0; n];
    problem.gradient(x, &mut g).unwrap();
    let rows = jacobian_rows(problem, x);
    for k in 1..=5 {
        let direction: Vec<f64> = (1..=n).map(|i| (f64::from(k) * 0.7 * i as f64).sin()).collect();
        let mut f = [0.0; 2];
        let mut c = [vec![0.0; m], vec![0.0; m]];
        for (side, step) in [STEP, -STEP].into_iter().enumerate() {
            let moved: Vec<f64> = x.iter().zip(&direction).map(|(x, d)| x + step * d).collect();
            f[side] = problem.objective(&moved).unwrap();
            problem.constraints(&moved, &mut c[side]).unwrap();
        }
        let slope: f64 = g.iter().zip(&direction).map(|(g, d)| g * d).sum();
        let difference = (f[0] - f[1]) / (2.0 * STEP);
        assert!((slope - difference).abs() <= 1e-12 * f[0] / STEP, "{name}: {slope}, differences give {difference}");
        for (i, row) in rows.iter().enumerate() {
            let slope: f64 = row.iter().map(|&(column, value)| value * direction[column]).sum();
            let difference = (c[0][i] - c[1][i]) / (2.0 * STEP);
            assert!((slope - difference).abs() <= 1e-12, "{name}, row {i}: {slope}, differences give {difference}");
        }
    }
}

/// `H v` against the difference of two gradients of the Lagrangian, in a direction without zeros.
#[test]
fn second_derivatives_agree_with_differences_of_first_ones() {
    for entry in entries() {
        let mut problem = (entry.build)();
        let (n, m) = (problem.meta().n(), problem.meta().m());
        let x: Vec<f64> = (entry.known.x)().iter().enumerate().map(|(i, x)| x + 0.05 + 0.01 * (i % 3) as f64).collect();
        let v: Vec<f64> = (0..n).map(|i| 1.0 - 0.3 * (i % 4) as f64).collect();
        let y: Vec<f64> = (0..m).map(|i| 0.7 - 0.4 * (i % 3) as f64).collect();
        let sigma = if problem.meta().has_objective { 1.5 } else { 0.0 };
        let second = problem.second_order().unwrap_or_else(|| panic!("{} has no second derivatives", entry.name));
        let pattern = second.hessian_pattern().clone();
        let mut values = vec![0.0; pattern.len(n, n)];
        second.hessian(&x, sigma, &y, &mut values).unwrap();
        let mut product = vec![0.0; n];
        for (k, value) in values.iter().enumerate() {
            let (i, j) = pattern.place(k, n);
            product[i] += value * v[j];
            if i != j {
                product[j] += value * v[i];
            }
        }
        let h = 1e-5;
        let moved = |t: f64| x.iter().zip(&v).map(|(x, v)| x + t * v).collect::<Vec<f64>>();
        let (plus, minus) = (lagrangian(&mut *problem, sigma, &y, &moved(h)), lagrangian(&mut *problem, sigma, &y, &moved(-h)));
        let scale = product.iter().fold(1.0f64, |scale, entry| scale.max(entry.abs()));
        for i in 0..n {
            let expected = (plus[i] - minus[i]) / (2.0 * h);
            assert!((product[i] - expected).abs() < 1e-5 * scale, "{} at {i}: {} {expected}", entry.name, product[i]);
        }
    }
}

/// `sigma grad f + J^T y`
fn lagrangian(problem: &mut dyn Problem, sigma: f64, y: &[f64], x: &[f64]) -> Vec<f64> {
    let meta = problem.meta().clone();
    let mut g = vec![0.0; meta.n()];
    if sigma != 0.0 {
        problem.gradient(x, &mut g).unwrap();
        g.iter_mut().for_each(|g| *g *= sigma);
    }
    if meta.m() > 0 {
        let mut values = vec![0.0; meta.jacobian_len()];
        problem.jacobian(x, &mut values).unwrap();
        for (k, value) in values.iter().enumerate() {
            let (row, column) = meta.jacobian.place(k, meta.n());
            g[column] += y[row] * value;
        }
    }
    g
}
