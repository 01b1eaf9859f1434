//! Random problems of every kind, feasible by construction: the bounds of all rows are laid around their values at a reference point
//! inside the bounds of the variables.
//!
//! ```text
//! f(x)   = sum_i w_i (x_i - t_i)^2 / 2 + a_i cos(x_i)
//! c_r(x) = sum_j b_rj x_j + q_r x_j^2          over the columns j of row r
//! ```

use proptest::collection::vec;
use proptest::prelude::*;
use tangor_problem::{Evaluation, Meta, Problem};

#[derive(Clone, Debug)]
pub struct RandomProblem {
    meta: Meta,
    variables: Vec<Variable>,
    rows: Vec<Row>,
    /// Sparse entries are given in two halves.
    halves: bool,
}

#[derive(Clone, Copy, Debug)]
struct Variable {
    reference: f64,
    start: f64,
    target: f64,
    weight: f64,
    wave: f64,
    bounds: Bounds,
}

/// Where bounds lie, relative to a value that must be allowed.
#[derive(Clone, Copy, Debug)]
enum Bounds {
    Free,
    Below(f64),
    Above(f64),
    Between(f64, f64),
    Equal,
}

#[derive(Clone, Debug)]
struct Row {
    /// `None`: the column is not in the row.
    coefficients: Vec<Option<f64>>,
    curvature: f64,
    bounds: Bounds,
    /// Another copy of this row follows, multiplied by this: the Jacobian loses rank.
    copied: Option<f64>,
}

impl Bounds {
    fn around(self, value: f64) -> (f64, f64) {
        match self {
            Bounds::Free => (f64::NEG_INFINITY, f64::INFINITY),
            Bounds::Below(room) => (value - room, f64::INFINITY),
            Bounds::Above(room) => (f64::NEG_INFINITY, value + room),
            Bounds::Between(below, above) => (value - below, value + above),
            Bounds::Equal => (value, value),
        }
    }
}

fn bounds(equal: u32) -> impl Strategy<Value = Bounds> {
    let room = || prop_oneof![1 => Just(0.0), 4 => 0.0..3.0];
    prop_oneof![
        2 => Just(Bounds::Free),
        2 => room().prop_map(Bounds::Below),
        2 => room().prop_map(Bounds::Above),
        2 => (room(), 0.1..2.0).prop_map(|(below, above)| Bounds::Between(below, above)),
        equal => Just(Bounds::Equal),
    ]
}

fn variable() -> impl Strategy<Value = Variable> {
    (-2.0..2.0, -4.0..4.0, -3.0..3.0, 0.1..3.0, -0.5..0.5, bounds(1)).prop_map(
        |(reference, start, target, weight, wave, bounds)| Variable { reference, start, target, weight, wave, bounds },
    )
}

fn row(n: usize) -> impl Strategy<Value = Row> {
    let coefficient = prop_oneof![1 => Just(None), 2 => (-2.0..2.0).prop_map(Some)];
    let curvature = prop_oneof![1 => Just(0.0), 1 => -0.5..0.5];
    let copied = prop_oneof![5 => Just(None), 1 => (0.5..2.0).prop_map(Some)];
    (vec(coefficient, n), curvature, bounds(3), copied).prop_map(|(coefficients, curvature, bounds, copied)| Row {
        coefficients,
        curvature,
        bounds,
        copied,
    })
}

/// Problems in 1 to 8 variables with up to 12 rows, dense or sparse.
pub fn problem() -> impl Strategy<Value = RandomProblem> {
    (1..=8usize).prop_flat_map(|n| {
        (vec(variable(), n), vec(row(n), 0..=6), any::<bool>(), any::<bool>(), prop::bool::weighted(0.9)).prop_map(
            |(variables, rows, sparse, halves, has_objective)| {
                RandomProblem::new(variables, rows, sparse, halves, has_objective)
            },
        )
    })
}

impl RandomProblem {
    /// Lipschitz constants of gradient and Jacobian.
    pub fn lipschitz(&self) -> (f64, f64) {
        let objective = self.variables.iter().map(|v| v.weight + v.wave.abs()).fold(0.0, f64::max);
        let constraints = 2.0 * self.rows.iter().map(|row| row.curvature * row.curvature).sum::<f64>().sqrt();
        (objective, constraints)
    }

    fn new(variables: Vec<Variable>, rows: Vec<Row>, sparse: bool, halves: bool, has_objective: bool) -> Self {
        let rows = with_copies(rows);
        let reference: Vec<f64> = variables.iter().map(|variable| variable.reference).collect();
        let limits = variables.iter().map(|variable| variable.bounds.around(variable.reference));
        let (lower, upper): (Vec<f64>, Vec<f64>) = limits.unzip();
        let limits = rows.iter().map(|row| row.bounds.around(row.value(&reference)));
        let (row_lower, row_upper): (Vec<f64>, Vec<f64>) = limits.unzip();
        let start = variables.iter().map(|variable| variable.start).collect();
        let mut meta = Meta::new("random", start).bounds(&lower, &upper).rows(&row_lower, &row_upper);
        let halves = halves && sparse;
        if sparse {
            // Backwards, so that nobody can rely on an order.
            let places = rows.iter().enumerate().flat_map(|(r, row)| row.columns().map(move |(j, _)| (r, j)));
            let mut places: Vec<(usize, usize)> = places.collect();
            places.reverse();
            meta = meta.sparse(if halves { places.repeat(2) } else { places });
        }
        if !has_objective {
            meta = meta.no_objective();
        }
        RandomProblem { meta, variables, rows, halves }
    }
}

fn with_copies(rows: Vec<Row>) -> Vec<Row> {
    let copy = |row: &Row, factor: f64| Row {
        coefficients: row.coefficients.iter().map(|b| b.map(|b| factor * b)).collect(),
        curvature: factor * row.curvature,
        ..row.clone()
    };
    rows.into_iter().flat_map(|row| [row.copied.map(|factor| copy(&row, factor)), Some(row)].into_iter().flatten()).collect()
}

impl Row {
    fn columns(&self) -> impl DoubleEndedIterator<Item = (usize, f64)> {
        self.coefficients.iter().enumerate().filter_map(|(j, b)| b.map(|b| (j, b)))
    }

    fn value(&self, x: &[f64]) -> f64 {
        self.columns().map(|(j, b)| b * x[j] + self.curvature * x[j] * x[j]).sum()
    }

    fn slope(&self, x: &[f64], j: usize) -> f64 {
        self.coefficients[j].map_or(0.0, |b| b + 2.0 * self.curvature * x[j])
    }
}

impl Problem for RandomProblem {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn objective(&mut self, x: &[f64]) -> Evaluation<f64> {
        let terms = self.variables.iter().zip(x);
        Ok(terms.map(|(v, x)| 0.5 * v.weight * (x - v.target).powi(2) + v.wave * x.cos()).sum())
    }

    fn gradient(&mut self, x: &[f64], g: &mut [f64]) -> Evaluation {
        for ((g, v), x) in g.iter_mut().zip(&self.variables).zip(x) {
            *g = v.weight * (x - v.target) - v.wave * x.sin();
        }
        Ok(())
    }

    fn constraints(&mut self, x: &[f64], c: &mut [f64]) -> Evaluation {
        for (c, row) in c.iter_mut().zip(&self.rows) {
            *c = row.value(x);
        }
        Ok(())
    }

    fn jacobian(&mut self, x: &[f64], values: &mut [f64]) -> Evaluation {
        let share = if self.halves { 0.5 } else { 1.0 };
        for (k, value) in values.iter_mut().enumerate() {
            let (r, j) = self.meta.jacobian.place(k, x.len());
            *value = share * self.rows[r].slope(x, j);
        }
        Ok(())
    }
}
