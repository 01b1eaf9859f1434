//! Large and sparse: rows that share one variable with their neighbours.
//!
//! ```text
//! minimise 1/2 sum_i (x_i - t_i)^2   subject to   x_2k^2 + x_2k+1^2 + x_2k+2^2 = 3,   k = 0 .. m-1,   n = 2 m + 1
//! ```
//!
//! With `t_i = 1 + p_i`, where `p_i` is the number of rows that `x_i` is part of, the point `x = 1` is the global solution:
//! every multiplier is `y = 1/2`, and the Lagrangian `1/2 sum_i (x_i - t_i)^2 + y sum_i p_i x_i^2 + ...` is strictly convex and
//! stationary there, for `(1 - t_i) + 2 y p_i = 0`. As `y > 0`, rows `<= 3` have the same solution. Half of the squared distance is
//! `1/2 sum_i p_i^2`, with `p_i = 2` for the `m - 1` shared variables and 1 for the other `m + 2`.

use tangor_problem::{Evaluation, Meta, Pattern, Problem, SecondOrder};

use crate::definition::TANGOR;
use crate::{Entry, Kind, Known, What};

const ROWS: usize = 10_000;
const VARIABLES: usize = 2 * ROWS + 1;
const OBJECTIVE: f64 = 0.5 * (4 * (ROWS - 1) + ROWS + 2) as f64;

pub(crate) const ENTRIES: &[Entry] = &[
    Entry {
        name: "CHAIN",
        title: "ten thousand spheres, each sharing a variable with the next",
        source: TANGOR,
        kind: Kind::Equalities,
        known: Known { what: What::Solution, objective: Some(OBJECTIVE), x: || vec![1.0; VARIABLES], note: "" },
        build: || Chain::new(meta("CHAIN").equalities(&vec![3.0; ROWS])),
    },
    Entry {
        name: "CHAINBALLS",
        title: "ten thousand balls, each sharing a variable with the next, in a box",
        source: TANGOR,
        kind: Kind::Inequalities,
        known: Known { what: What::Solution, objective: Some(OBJECTIVE), x: || vec![1.0; VARIABLES], note: "" },
        build: || {
            let meta = meta("CHAINBALLS").bounds(&vec![0.0; VARIABLES], &vec![5.0; VARIABLES]);
            Chain::new(meta.at_most(&vec![3.0; ROWS]))
        },
    },
];

fn meta(name: &str) -> Meta {
    let entries = (0..ROWS).flat_map(|row| [(row, 2 * row), (row, 2 * row + 1), (row, 2 * row + 2)]);
    Meta::new(name, vec![2.0; VARIABLES]).sparse(entries)
}

struct Chain {
    meta: Meta,
    diagonal: Pattern,
}

impl Chain {
    fn new(meta: Meta) -> Box<Self> {
        Box::new(Chain { meta, diagonal: Pattern::sparse((0..VARIABLES).map(|i| (i, i))) })
    }
}

/// Even variables stand between two rows, but for the first and the last.
fn target(i: usize) -> f64 {
    let shared = i.is_multiple_of(2) && i != 0 && i != VARIABLES - 1;
    if shared { 3.0 } else { 2.0 }
}

impl Problem for Chain {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn objective(&mut self, x: &[f64]) -> Evaluation<f64> {
        Ok(0.5 * x.iter().enumerate().map(|(i, x)| (x - target(i)).powi(2)).sum::<f64>())
    }

    fn gradient(&mut self, x: &[f64], g: &mut [f64]) -> Evaluation {
        for (i, (g, x)) in g.iter_mut().zip(x).enumerate() {
            *g = x - target(i);
        }
        Ok(())
    }

    fn constraints(&mut self, x: &[f64], c: &mut [f64]) -> Evaluation {
        for (c, x) in c.iter_mut().zip(x.windows(3).step_by(2)) {
            *c = x[0] * x[0] + x[1] * x[1] + x[2] * x[2];
        }
        Ok(())
    }

    fn jacobian(&mut self, x: &[f64], values: &mut [f64]) -> Evaluation {
        for (values, x) in values.chunks_exact_mut(3).zip(x.windows(3).step_by(2)) {
            for (value, x) in values.iter_mut().zip(x) {
                *value = 2.0 * x;
            }
        }
        Ok(())
    }

    fn second_order(&mut self) -> Option<&mut dyn SecondOrder> {
        Some(self)
    }
}

/// The Hessian is diagonal: `sigma + 2 (sum of the multipliers of the rows that the variable is part of)`.
impl SecondOrder for Chain {
    fn hessian_pattern(&self) -> &Pattern {
        &self.diagonal
    }

    fn hessian(&mut self, _x: &[f64], sigma: f64, y: &[f64], values: &mut [f64]) -> Evaluation {
        values.fill(sigma);
        for (row, y) in y.iter().enumerate() {
            values[2 * row..2 * row + 3].iter_mut().for_each(|value| *value += 2.0 * y);
        }
        Ok(())
    }
}
