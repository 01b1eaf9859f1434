//! Derivatives of the whole collection against each other: coded against automatic, second against differences of first.

mod common;

use common::Collection;
use tangor_problem::{Problem, SecondOrder};
use tangor_sif::{Derivatives, WithHessian, check, read};

fn point(reference: &serde_json::Value, k: usize) -> Vec<f64> {
    reference["points"][k]["x"].as_array().expect("a point").iter().filter_map(serde_json::Value::as_f64).collect()
}

/// Files whose coded derivatives differ from those by differentiation. EQC codes a slope where the function is clipped; HS70 and
/// HS85 have slips in second derivatives; in DALLASM and DALLASS two terms that grow like `1/sqrt(c - x^2)` cancel, which the
/// coded derivative avoids and differentiation does not.
const DIFFERENT: [&str; 5] = ["DALLASM", "DALLASS", "EQC", "HS70", "HS85"];

#[test]
fn coded_and_automatic_derivatives_agree() {
    let Some(collection) = Collection::find() else { return };
    let mut complaints = Vec::new();
    for (reference, name) in collection.references() {
        let bytes = std::fs::read(collection.file(&name)).expect("the file is there");
        let options = common::options(&reference);
        let found = check(&String::from_utf8_lossy(&bytes), &name, &options, Some(&point(&reference, 1)), 1e-9);
        let found = found.unwrap_or_else(|error| panic!("{error}"));
        if found.is_empty() == DIFFERENT.contains(&name.as_str()) {
            complaints.push(format!("{name}: {} differences, the first is {:?}", found.len(), found.first()));
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

/// `H v` from differences `D(h) = (grad L(x + h v) - grad L(x - h v)) / 2h`, where `L = f + sum_i y_i c_i`; `D(h)` and
/// `D(h / 2)` together are exact up to `h^4`.
fn differences(problem: &mut WithHessian, x: &[f64], y: &[f64], v: &[f64]) -> Vec<f64> {
    let mut gradient = |step: f64| {
        let moved: Vec<f64> = x.iter().zip(v).map(|(x, v)| x + step * v).collect();
        lagrangian_gradient(problem, &moved, y)
    };
    let mut difference = |h: f64| -> Vec<f64> {
        gradient(h).iter().zip(&gradient(-h)).map(|(ahead, behind)| (ahead - behind) / (2.0 * h)).collect()
    };
    let (coarse, fine) = (difference(2e-5), difference(1e-5));
    fine.iter().zip(&coarse).map(|(fine, coarse)| (4.0 * fine - coarse) / 3.0).collect()
}

fn lagrangian_gradient(problem: &mut WithHessian, x: &[f64], y: &[f64]) -> Vec<f64> {
    let mut g = vec![0.0; x.len()];
    if problem.meta().has_objective {
        problem.gradient(x, &mut g).expect("g");
    }
    let mut values = vec![0.0; problem.meta().jacobian_len()];
    problem.jacobian(x, &mut values).expect("J");
    for (k, value) in values.iter().enumerate() {
        let (row, column) = problem.meta().jacobian.place(k, x.len());
        g[column] += y[row] * value;
    }
    g
}

fn hessian_product(problem: &mut WithHessian, x: &[f64], y: &[f64], v: &[f64]) -> Vec<f64> {
    let n = x.len();
    let mut values = vec![0.0; problem.hessian_pattern().len(n, n)];
    problem.hessian(x, 1.0, y, &mut values).expect("H");
    let mut product = vec![0.0; n];
    for (k, value) in values.iter().enumerate() {
        let (i, j) = problem.hessian_pattern().place(k, n);
        product[i] += value * v[j];
        if i != j {
            product[j] += value * v[i];
        }
    }
    product
}

/// Problems where differences tell nothing: they are clipped at the point, or lose digits there (see above).
const UNFIT: [&str; 4] = ["DALLASM", "DALLASS", "EQC", "QCNEW"];

#[test]
fn second_derivatives_agree_with_differences_of_first() {
    let Some(collection) = Collection::find() else { return };
    let mut complaints = Vec::new();
    for (reference, name) in collection.references().filter(|(_, name)| !UNFIT.contains(&name.as_str())) {
        let options = common::options(&reference).derivatives(Derivatives::Automatic);
        let problem = read(collection.file(&name), &options).unwrap_or_else(|error| panic!("{error}"));
        let mut problem = problem.with_hessian().unwrap_or_else(|error| panic!("{error}"));
        let x = point(&reference, 1);
        // Any multipliers and any direction will do, as long as they are neither zero nor all alike.
        let y: Vec<f64> = (0..problem.meta().m()).map(|i| ((i * 7 + 3) % 11) as f64 / 5.0 - 0.9).collect();
        // The direction is relative to the point: some functions are curved on the scale of a tiny variable.
        let relative = |x: f64| if x == 0.0 { 1.0 } else { x.abs().min(1.0) };
        let v: Vec<f64> = x.iter().enumerate().map(|(i, &x)| relative(x) * (((i * 5 + 2) % 7) as f64 / 3.0 - 0.9)).collect();
        let product = hessian_product(&mut problem, &x, &y, &v);
        let expected = differences(&mut problem, &x, &y, &v);
        let gradient = lagrangian_gradient(&mut problem, &x, &y);
        let scale = product.iter().chain(&gradient).fold(1.0f64, |scale, entry| scale.max(entry.abs()));
        let errors = product.iter().zip(&expected).map(|(found, expected)| (found - expected).abs() / scale);
        if let Some(error) = errors.into_iter().find(|error| error.is_nan() || *error > 1e-6) {
            complaints.push(format!("{name}: {error:.1e}"));
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}
