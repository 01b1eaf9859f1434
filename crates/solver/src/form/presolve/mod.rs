//! What can be taken out of a problem before a run: linear rows with one variable become bounds, rows that repeat others or follow from
//! them are left out. All of it changes bounds alone: the internal form leaves out fixed variables and rows without bounds anyway.
//! Multipliers are given back in reverse order. Rows that contradict what is known already stay as they are, and are named.

mod dependent;
mod duplicates;
mod rows;
mod singletons;

use tangor_problem::{Interval, Meta};

use crate::form::presolve::rows::LinearRow;
use crate::run::report::Presolved;

/// The functions' values at one point, in the user's form: they tell the coefficients of linear rows.
pub struct AtPoint<'a> {
    pub x: &'a [f64],
    pub c: &'a [f64],
    /// The values of the Jacobian.
    pub jacobian: &'a [f64],
}

/// A problem with less in it, and the way back.
#[derive(Clone, Debug)]
pub struct Presolve {
    /// The user's problem with other bounds; rows that were taken out have none.
    pub meta: Meta,
    /// What was done, in this order.
    steps: Vec<Step>,
    /// Rows that no point satisfies together with the bounds, or with the rows before them.
    pub contradictions: Vec<usize>,
}

/// One row that was taken out.
#[derive(Clone, Debug)]
enum Step {
    /// It holds wherever the others do.
    Redundant,
    /// It became a bound: `row` is `coefficient * x[column]` and terms of fixed variables.
    Bound { row: usize, column: usize, coefficient: f64, tightened: Sides, others: Vec<(usize, f64)> },
    /// It is `factor` times the row `into`, apart from fixed variables, and gave it bounds. `others` is what the row has more in fixed
    /// variables, after division by the factor.
    Merged { row: usize, into: usize, factor: f64, tightened: Sides, others: Vec<(usize, f64)> },
}

/// Which of two bounds were replaced.
#[derive(Clone, Copy, Debug, Default)]
struct Sides {
    lower: bool,
    upper: bool,
}

impl Sides {
    fn any(self) -> bool {
        self.lower || self.upper
    }
}

impl Presolve {
    /// None: there is nothing to take out, and nothing that contradicts itself.
    pub fn new(meta: &Meta, at: AtPoint) -> Option<Presolve> {
        let mut rows = rows::linear_rows(meta, &at);
        if rows.is_empty() {
            return None;
        }
        let mut presolve = Presolve { meta: meta.clone(), steps: Vec::new(), contradictions: Vec::new() };
        presolve.take_singletons(&mut rows);
        presolve.take_duplicates(&mut rows);
        presolve.take_dependent(&rows);
        let done = !presolve.steps.is_empty() || !presolve.contradictions.is_empty();
        done.then_some(presolve)
    }

    /// What was done, for the report.
    pub fn summary(&self) -> Presolved {
        let bounds = self.steps.iter().filter(|step| matches!(step, Step::Bound { tightened, .. } if tightened.any()));
        Presolved {
            rows: self.steps.len(),
            bounds: bounds.count(),
            contradictions: self.contradictions.iter().map(|&row| self.meta.row_name(row)).collect(),
        }
    }

    /// Gives multipliers `y` of rows and `mu` of bounds, of the problem with less in it, to the rows that they belong to. Where a row was the
    /// bound that holds, `a y = -mu` leaves `grad f + J^T y - mu` as it was; fixed variables take what else is in the row.
    pub fn give_back(&self, y: &mut [f64], mu: &mut [f64]) {
        let sense = self.meta.sense();
        for step in self.steps.iter().rev() {
            match step {
                Step::Redundant => {}
                Step::Bound { row, column, coefficient, tightened, others } => {
                    let multiplier = sense * mu[*column];
                    if (multiplier > 0.0 && tightened.lower) || (multiplier < 0.0 && tightened.upper) {
                        y[*row] = -mu[*column] / coefficient;
                        mu[*column] = 0.0;
                        others.iter().for_each(|(j, a)| mu[*j] += a * y[*row]);
                    }
                }
                Step::Merged { row, into, factor, tightened, others } => {
                    let multiplier = -sense * y[*into];
                    if (multiplier > 0.0 && tightened.lower) || (multiplier < 0.0 && tightened.upper) {
                        others.iter().for_each(|(j, a)| mu[*j] += a * y[*into]);
                        y[*row] = y[*into] / factor;
                        y[*into] = 0.0;
                    }
                }
            }
        }
    }

    fn is_fixed(&self, column: usize) -> bool {
        self.meta.x_lower[column] >= self.meta.x_upper[column]
    }

    /// The row has no bounds any more.
    fn leave_out(&mut self, row: usize, step: Step) {
        self.meta.c_lower[row] = f64::NEG_INFINITY;
        self.meta.c_upper[row] = f64::INFINITY;
        self.steps.push(step);
    }

    /// The bounds on the part of a row in variables that are not fixed.
    fn range(&self, row: &LinearRow) -> [f64; 2] {
        let Interval { lower, upper } = self.meta.row_bounds(row.index);
        [lower - row.constant, upper - row.constant]
    }
}

/// Both bounds are to hold: gives the tighter ones, and which of `new` are among them. None: no number is between them, beyond what rounding
/// explains.
fn tighter(old: [f64; 2], new: [f64; 2], rounding: f64) -> Option<([f64; 2], Sides)> {
    let tightened = Sides { lower: new[0] > old[0], upper: new[1] < old[1] };
    let lower = if tightened.lower { new[0] } else { old[0] };
    let upper = if tightened.upper { new[1] } else { old[1] };
    if lower <= upper {
        return Some(([lower, upper], tightened));
    }
    if lower - upper > rounding {
        return None;
    }
    // Rounding crossed them: they meet where the older one is.
    let meet = if tightened.lower { upper } else { lower };
    Some(([meet, meet], tightened))
}

#[cfg(test)]
mod tests;
