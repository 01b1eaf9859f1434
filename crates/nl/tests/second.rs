//! The Hessian of the Lagrangian against differences of gradients.

mod common;

use common::{folders, models};
use tangor_nl::{NlProblem, Options, read};
use tangor_problem::{Problem, SecondOrder};

#[test]
fn hessians_agree_with_differences_of_gradients() {
    let Some((folder, _)) = folders() else { return };
    let (mut checked, mut wrong) = (0, Vec::new());
    for path in models(&folder) {
        let Ok(problem) = read(&path, &Options::default()) else { continue };
        let mut problem = problem.with_hessian().expect("these models are small");
        match check(&mut problem) {
            Some(Ok(())) => checked += 1,
            Some(Err(difference)) => wrong.push(format!("{}: {difference}", problem.meta().name)),
            None => {}
        }
    }
    println!("{checked} models agree");
    assert!(wrong.is_empty(), "{} models differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(checked > 300);
}

// Compares H d with the difference of gradients along a direction d. Nothing when the functions are not defined near the start.
fn check(problem: &mut NlProblem) -> Option<Result<(), String>> {
    let meta = problem.meta().clone();
    let (n, m) = (meta.n(), meta.m());
    let wave = |k: usize, shift: f64| ((k as f64 + shift) * 12.9898).sin();
    let x: Vec<f64> = (0..n).map(|j| meta.x0[j] + 0.01 * (1.0 + meta.x0[j].abs()) * wave(j, 0.3)).collect();
    let d: Vec<f64> = (0..n).map(|j| wave(j, 0.7)).collect();
    let y: Vec<f64> = (0..m).map(|i| 1.0 + wave(i, 0.1)).collect();
    let places = problem.hessian_pattern().clone();
    let mut hessian = vec![0.0; places.len(n, n)];
    problem.hessian(&x, 0.7, &y, &mut hessian).ok()?;
    let (mut product, mut size) = (vec![0.0; n], vec![0.0; n]);
    for (k, &value) in hessian.iter().enumerate() {
        let (i, j) = places.place(k, n);
        assert!(j <= i, "the lower triangle is wanted");
        for (i, j) in if i == j { vec![(i, j)] } else { vec![(i, j), (j, i)] } {
            product[i] += value * d[j];
            size[i] += (value * d[j]).abs();
        }
    }
    let mut best = vec![f64::INFINITY; n];
    for h in [1e-3, 1e-4, 1e-5, 1e-6, 1e-7] {
        let mut slope = vec![0.0; n];
        let mut noise = vec![0.0; n];
        for (sign, step) in [(1.0, h), (-1.0, -h)] {
            let moved: Vec<f64> = x.iter().zip(&d).map(|(x, d)| x + step * d).collect();
            let (gradient, terms) = lagrangian(problem, &moved, &y)?;
            for j in 0..n {
                slope[j] += sign * gradient[j] / (2.0 * h);
                noise[j] += 1e-14 * terms[j] / h;
            }
        }
        for j in 0..n {
            let error = (slope[j] - product[j]).abs() - noise[j];
            best[j] = best[j].min(error / (1.0 + size[j]));
        }
    }
    if best.iter().chain(&product).any(|value| !value.is_finite()) {
        return None;
    }
    let worst = (0..n).max_by(|&a, &b| best[a].total_cmp(&best[b]))?;
    // Differences have half of the digits of a double at best.
    if best[worst] > 1e-5 {
        return Some(Err(format!("row {worst} of H d is {}, by differences off by {:.1e}", product[worst], best[worst])));
    }
    Some(Ok(()))
}

// The gradient of 0.7 f + y'c, and the size of its terms.
fn lagrangian(problem: &mut NlProblem, x: &[f64], y: &[f64]) -> Option<(Vec<f64>, Vec<f64>)> {
    let meta = problem.meta().clone();
    let mut g = vec![0.0; meta.n()];
    if meta.has_objective {
        problem.gradient(x, &mut g).ok()?;
        g.iter_mut().for_each(|entry| *entry *= 0.7);
    }
    let mut terms: Vec<f64> = g.iter().map(|entry| entry.abs()).collect();
    let mut jacobian = vec![0.0; meta.jacobian_len()];
    problem.jacobian(x, &mut jacobian).ok()?;
    for (k, &value) in jacobian.iter().enumerate() {
        let (i, j) = meta.jacobian.place(k, meta.n());
        g[j] += y[i] * value;
        terms[j] += (y[i] * value).abs();
    }
    Some((g, terms))
}
