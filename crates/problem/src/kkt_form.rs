//! The residuals of the conditions of Karush, Kuhn and Tucker in whatever form a problem has: the one place where they are computed.

use crate::Interval;
use crate::vector::{norm, norm_of};

/// A row or a variable: its bounds, its value and its multiplier.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// The bounds.
    pub bounds: Interval,
    /// `c_i(x)` or `x_i`
    pub value: f64,
    /// `y_i` or `mu_i`
    pub multiplier: f64,
}

/// A point with its multipliers and all functions there, in some form of the problem: the user's, or one that a solver has inside.
///
/// The conditions are `grad f + J^T y = mu`, with `y >= 0` where a row is held by its upper bound and `y <= 0` where by its lower one,
/// `mu` the other way round; both turned where the problem is a maximisation. A form may have scales: its objective, its rows and its variables
/// are then so many times the user's (a variable: one over so many times), and the residuals are the user's all the same.
pub trait KktForm {
    /// A constraint.
    fn row(&self, i: usize) -> Place;

    /// A variable.
    fn variable(&self, i: usize) -> Place;

    /// The gradient of the objective.
    fn gradient(&self) -> &[f64];

    /// Adds `J^T y`.
    fn add_products(&self, y: &[f64], out: &mut [f64]);

    /// 1, or -1 where the objective is to be as large as possible.
    fn sense(&self) -> f64 {
        1.0
    }

    /// What the objective was multiplied by.
    fn objective_scale(&self) -> f64 {
        1.0
    }

    /// What a row was multiplied by.
    fn row_scale(&self, _row: usize) -> f64 {
        1.0
    }

    /// What a variable was divided by.
    fn unit(&self, _variable: usize) -> f64 {
        1.0
    }
}

/// The residuals with the vectors that they are made of, which are kept from one point to the next.
#[derive(Clone, Debug)]
pub struct KktMemory {
    y: Vec<f64>,
    mu: Vec<f64>,
    violation: Vec<f64>,
    scaled: Vec<f64>,
    error: Vec<f64>,
    slope: Vec<f64>,
}

impl KktMemory {
    /// For so many rows and variables.
    pub fn new(m: usize, n: usize) -> Self {
        let [y, violation, scaled] = [m; 3].map(|length| vec![0.0; length]);
        let [mu, error, slope] = [n; 3].map(|length| vec![0.0; length]);
        KktMemory { y, mu, violation, scaled, error, slope }
    }

    /// The multipliers of the rows, zero where the bound that they ask for is absent; in the scale of the form.
    pub fn y(&self) -> &[f64] {
        &self.y
    }

    /// The same of the variables.
    pub fn mu(&self) -> &[f64] {
        &self.mu
    }

    /// By how much each row is violated, with its sign, in the user's scale: after [`KktMemory::find_violation`].
    pub fn violation(&self) -> &[f64] {
        &self.violation
    }

    /// `grad f + J^T y - mu` in the user's units, but for the scale of the objective: after [`KktMemory::stationarity`].
    pub fn error(&self) -> &[f64] {
        &self.error
    }

    /// The gradient of half the squared violation in the variables of the form: after [`KktMemory::infeasible_stationarity`].
    pub fn slope(&self) -> &[f64] {
        &self.slope
    }

    /// Takes the multipliers that a bound holds; one whose sign asks for a bound that is absent counts as zero. What is not a number stays.
    pub fn take_multipliers(&mut self, form: &impl KktForm) {
        let sense = form.sense();
        // A row at its lower bound has y <= 0, a variable mu >= 0: with the sign turned both follow one rule.
        let held = |Place { bounds, multiplier, .. }: Place, sign: f64| match bounds.holds(sign * multiplier) {
            true => multiplier,
            false => 0.0,
        };
        self.y.iter_mut().enumerate().for_each(|(i, y)| *y = held(form.row(i), -sense));
        self.mu.iter_mut().enumerate().for_each(|(i, mu)| *mu = held(form.variable(i), sense));
    }

    /// `|grad f + J^T y - mu|`, with the multipliers that were taken. A fixed variable, whose multiplier may be anything, has no part in it.
    pub fn stationarity(&mut self, form: &impl KktForm) -> f64 {
        gradient_of_lagrangian(form.gradient(), |out| form.add_products(&self.y, out), &self.mu, &mut self.error);
        for (i, error) in self.error.iter_mut().enumerate() {
            let Interval { lower, upper } = form.variable(i).bounds;
            *error = if lower >= upper { 0.0 } else { *error / form.unit(i) };
        }
        norm(&self.error) / form.objective_scale()
    }

    /// Finds by how much each row is violated, and gives the size of it.
    pub fn find_violation(&mut self, form: &impl KktForm) -> f64 {
        for (i, violation) in self.violation.iter_mut().enumerate() {
            let Place { bounds, value, .. } = form.row(i);
            *violation = bounds.violation(value) / form.row_scale(i);
        }
        norm(&self.violation)
    }

    /// The violation of rows, found before, and of bounds together.
    pub fn feasibility(&self, form: &impl KktForm) -> f64 {
        let outside = |i: usize| form.unit(i) * form.variable(i).bounds.violation(form.variable(i).value);
        norm(&self.violation).hypot(norm_of(|| (0..self.mu.len()).map(outside)))
    }

    /// The sum of |multiplier| times distance to its bound, over rows and variables.
    pub fn complementarity(&self, form: &impl KktForm) -> f64 {
        let sense = form.sense();
        let of_row = |(i, y): (usize, &f64)| {
            let Place { bounds, value, .. } = form.row(i);
            bounds.complementarity(value, -sense * y)
        };
        let of_variable = |(i, mu): (usize, &f64)| {
            let Place { bounds, value, .. } = form.variable(i);
            bounds.complementarity(value, sense * mu)
        };
        let rows = self.y.iter().enumerate().map(of_row);
        let variables = self.mu.iter().enumerate().map(of_variable);
        rows.chain(variables).sum::<f64>() / form.objective_scale()
    }

    /// `|x - clip(x - J^T v)|` for the violation `v` of the rows, found before: zero when, to first order, no small change reduces it.
    pub fn infeasible_stationarity(&mut self, form: &impl KktForm) -> f64 {
        for (i, scaled) in self.scaled.iter_mut().enumerate() {
            *scaled = self.violation[i] / form.row_scale(i);
        }
        self.slope.fill(0.0);
        form.add_products(&self.scaled, &mut self.slope);
        for (i, projected) in self.error.iter_mut().enumerate() {
            let (Place { bounds, value, .. }, unit) = (form.variable(i), form.unit(i));
            let ways = bounds.ways_down(value);
            *projected = Interval { lower: unit * ways.lower, upper: unit * ways.upper }.clip(self.slope[i] / unit);
        }
        norm(&self.error)
    }
}

/// `grad f + J^T y - mu`, the gradient of the Lagrangian, of which every stationarity is the size. The Jacobian may be in any form: `add_products` adds `J^T y`.
pub fn gradient_of_lagrangian(gradient: &[f64], add_products: impl FnOnce(&mut [f64]), mu: &[f64], out: &mut [f64]) {
    out.copy_from_slice(gradient);
    add_products(out);
    out.iter_mut().zip(mu).for_each(|(out, mu)| *out -= mu);
}
