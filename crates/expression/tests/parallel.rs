//! Many functions in several threads: the values that formulas by hand have, and the same bits in any number of threads.

use rayon::ThreadPoolBuilder;
use tangor_expression::{Binary, Functions, Graph, Unary};

const ROWS: usize = 60_000;

/// `c_i = exp(x_i) sin(x_{i+1}) + x_0 x_1 - u_k^2` with `k = i / 2`, where neighbours share `u_k = x_k + x_{k+1}`, also across
/// the borders of parts.
fn functions() -> Functions {
    let mut graph = Graph::default();
    let x: Vec<_> = (0..ROWS as u32 + 1).map(|i| graph.input(i)).collect();
    let shared = graph.binary(Binary::Multiply, x[0], x[1]);
    let mut rows = Vec::new();
    for i in 0..ROWS {
        let e = graph.unary(Unary::Exponential, x[i]);
        let s = graph.unary(Unary::Sine, x[i + 1]);
        let product = graph.binary(Binary::Multiply, e, s);
        let (a, b) = (x[i / 2], x[i / 2 + 1]);
        let sum = graph.binary(Binary::Add, a, b);
        let square = graph.unary(Unary::Power(2), sum);
        let first = graph.binary(Binary::Add, product, shared);
        rows.push(graph.binary(Binary::Subtract, first, square));
    }
    Functions::new(graph, ROWS + 1, &[vec![], rows])
}

fn evaluated(functions: &Functions, x: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let mut work = functions.workspace();
    let (mut values, mut slopes) = (vec![0.0; ROWS], vec![0.0; functions.gradient_len(1)]);
    functions.values(1, x, &mut work, &mut values);
    functions.gradients(1, x, &mut work, &mut slopes);
    (values, slopes)
}

#[test]
fn the_bits_are_the_same_in_any_number_of_threads() {
    let functions = functions();
    let x: Vec<f64> = (0..=ROWS).map(|i| 0.3 + (i as f64 * 0.7).sin()).collect();
    let bits = |numbers: &[f64]| numbers.iter().map(|number| number.to_bits()).collect::<Vec<_>>();
    let mut all = [1, 2, 5].map(|threads| {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().expect("threads can be started");
        pool.install(|| evaluated(&functions, &x))
    });
    let (values, slopes) = std::mem::take(&mut all[0]);
    for (other_values, other_slopes) in &all[1..] {
        assert_eq!(bits(other_values), bits(&values));
        assert_eq!(bits(other_slopes), bits(&slopes));
    }
    let mut rest = &slopes[..];
    for i in 0..ROWS {
        let sum = x[i / 2] + x[i / 2 + 1];
        let expected = x[i].exp() * x[i + 1].sin() + x[0] * x[1] - sum * sum;
        assert!((values[i] - expected).abs() <= 1e-12 * (1.0 + expected.abs()), "row {i}: {} and {expected}", values[i]);
        let slope = |j: usize| {
            let of_product = if j == i { x[i].exp() * x[i + 1].sin() } else { 0.0 };
            let of_product = of_product + if j == i + 1 { x[i].exp() * x[i + 1].cos() } else { 0.0 };
            let of_shared = if j == 0 { x[1] } else { 0.0 } + if j == 1 { x[0] } else { 0.0 };
            of_product + of_shared - if j == i / 2 || j == i / 2 + 1 { 2.0 * sum } else { 0.0 }
        };
        let columns = functions.columns(1, i);
        for (&j, &found) in columns.iter().zip(rest) {
            let expected = slope(j as usize);
            assert!((found - expected).abs() <= 1e-12 * (4.0 + expected.abs()), "row {i}, column {j}: {found} and {expected}");
        }
        rest = &rest[columns.len()..];
    }
    assert!(rest.is_empty());
}
