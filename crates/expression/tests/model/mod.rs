//! A model of any size.

use tangor_expression::{Binary, Functions, Graph, Unary};

/// Rows `(u_i + x_i)^2 - s` with a costly shared `s` of two variables, and a chain of products as objective.
pub fn large(n: u32) -> Functions {
    let mut graph = Graph::default();
    let x: Vec<_> = (0..n).map(|i| graph.input(i)).collect();
    let mut shared = graph.binary(Binary::Multiply, x[0], x[1]);
    for _ in 0..200 {
        let sine = graph.unary(Unary::Sine, shared);
        shared = graph.binary(Binary::Add, sine, x[1]);
    }
    let mut rows = Vec::new();
    let mut terms = Vec::new();
    for i in 2..n as usize {
        let sum = graph.binary(Binary::Add, x[i], x[i - 1]);
        let square = graph.unary(Unary::Power(2), sum);
        rows.push(graph.binary(Binary::Subtract, square, shared));
        terms.push(graph.binary(Binary::Multiply, square, x[i]));
    }
    let objective = graph.sum(terms);
    Functions::new(graph, n as usize, &[vec![objective], rows])
}
