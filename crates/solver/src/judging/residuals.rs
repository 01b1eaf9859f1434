//! The residuals of a point, unscaled, as a user would check them.

use serde::{Deserialize, Serialize};
use tangor_problem::{Interval, KktForm, KktMemory, Place};

use crate::Tolerance;
use crate::form::iterate::Iterate;
use crate::form::standard::Standard;
use crate::judging::row_sizes::RowSizes;
use crate::kernel::vector::{norm, norm_of};
use crate::run::number;
use crate::steps::line_search::ROUNDING;
use crate::steps::tangent_step::TangentStep;

/// A gradient that is so small relative to the terms that it is the sum of cannot be made smaller by looking at values: what a step gains goes
/// with its square.
const LOST_IN_ROUNDING: f64 = 1e-10;

/// The residuals of Definitions 1 and 2 of the paper, in the user's scale.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Residuals {
    /// `|g + J^T y - mu|`
    #[serde(with = "number")]
    pub stationarity: f64,
    /// The violation of the constraints.
    #[serde(with = "number")]
    pub feasibility: f64,
    /// The sum of |multiplier| times distance to the bound.
    #[serde(with = "number")]
    pub complementarity: f64,
    /// The projected gradient of half the squared violation.
    #[serde(with = "number")]
    pub infeasible: f64,
    /// The same relative to the terms that it is the sum of, each row's gradient at its largest near by: free of the scale of rows.
    #[serde(with = "number")]
    pub relative_infeasible: f64,
    /// The gradient of half the squared violation for the variables that no bound holds, with steps of any length: not cut off where a bound far
    /// away is nearer than the gradient is long.
    #[serde(with = "number")]
    pub steepness: f64,
    /// What rounding makes of this gradient: one that is no steeper is as good as zero.
    #[serde(with = "number")]
    pub infeasible_rounding: f64,
    /// The share of the violation that the linearised constraints could remove, where a run had to ask for it at its end.
    #[serde(default)]
    pub removable: Option<f64>,
}

impl Residuals {
    /// Of a point where nothing could be evaluated.
    pub fn unknown() -> Self {
        let none = f64::NAN;
        Residuals {
            stationarity: none,
            feasibility: none,
            complementarity: none,
            infeasible: none,
            relative_infeasible: none,
            steepness: none,
            infeasible_rounding: none,
            removable: None,
        }
    }

    /// The worse of the two residuals that multipliers decide on, relative to its tolerance.
    pub fn score(&self, tolerance: &Tolerance) -> f64 {
        (self.stationarity / tolerance.stationarity).max(self.complementarity / tolerance.complementarity)
    }
}

/// Multipliers with the right signs, and the residuals that they give.
pub struct Kkt {
    pub residuals: Residuals,
    /// Multipliers of the internal rows, in the user's scale.
    pub y: Vec<f64>,
    /// Multipliers of the bounds on internal variables, in the user's scale.
    pub mu: Vec<f64>,
    memory: KktMemory,
    sizes: Vec<f64>,
    free_sizes: Vec<f64>,
    held: Vec<bool>,
    /// A bound holds a variable where all the way to it would gain no more than this share of the violation.
    pub held_within: f64,
}

impl Kkt {
    pub fn new(m: usize, n: usize) -> Self {
        Kkt {
            residuals: Residuals::default(),
            y: vec![0.0; m],
            mu: vec![0.0; n],
            memory: KktMemory::new(m, n),
            sizes: vec![0.0; m],
            free_sizes: vec![0.0; m],
            held: vec![false; n],
            held_within: ROUNDING,
        }
    }

    /// The residuals of a point with the multipliers of the tangent step, in the user's scale. Iterates are inside of their bounds.
    pub fn measure(&mut self, at: &Iterate, tangent: &TangentStep, standard: &Standard) {
        let form = InternalForm { at, lambda: &tangent.lambda, mu: &tangent.mu, standard };
        self.memory.take_multipliers(&form);
        self.residuals.feasibility = self.memory.find_violation(&form);
        self.residuals.stationarity = self.memory.stationarity(&form);
        self.residuals.complementarity = self.memory.complementarity(&form);
        for (row, y) in self.y.iter_mut().enumerate() {
            *y = self.memory.y()[row] * standard.scales.rows[row] / standard.objective_factor();
        }
        for (i, mu) in self.mu.iter_mut().enumerate() {
            *mu = self.memory.mu()[i] / standard.scales.units[i] / standard.objective_factor();
        }
    }

    /// The multipliers of the internal rows with the right signs, in the internal scale, after [`Kkt::measure`].
    pub fn signed(&self) -> &[f64] {
        self.memory.y()
    }

    /// The violation of the constraints that was found last.
    pub fn violation(&self) -> f64 {
        norm(self.violations())
    }

    /// By how much each row was violated when it was last found, with its sign, in the user's scale.
    pub fn violations(&self) -> &[f64] {
        self.memory.violation()
    }

    /// Finds by how much each row is violated, with its sign, in the user's scale.
    pub fn find_violation(&mut self, at: &Iterate, standard: &Standard) {
        self.memory.find_violation(&InternalForm::without_multipliers(at, standard));
    }

    /// Whether a small change reduces the violation that was found last, and how much of the answer is rounding.
    ///
    /// `row_sizes` are the norms that the rows of the Jacobian have had near by: a gradient that is small because its row always was says
    /// nothing, one that is small because the row's own gradient has vanished, or because rows pull against each other, does.
    pub fn measure_infeasibility(&mut self, at: &Iterate, standard: &Standard, row_sizes: &mut RowSizes) {
        self.residuals.infeasible = self.memory.infeasible_stationarity(&InternalForm::without_multipliers(at, standard));
        let violation = self.violation();
        for (i, &gradient) in self.memory.slope().iter().enumerate() {
            let z = at.z[i];
            // The share of the violation that all the way to a bound would gain does not depend on units.
            let way = if gradient > 0.0 { z - standard.lower[i] } else { standard.upper[i] - z };
            self.held[i] = gradient != 0.0 && way * (gradient.abs() / violation) <= self.held_within * violation;
        }
        let free = || self.memory.slope().iter().enumerate().filter(|(i, _)| !self.held[*i]);
        let slope = norm_of(|| free().map(|(_, gradient)| *gradient));
        self.residuals.steepness = norm_of(|| free().map(|(i, gradient)| gradient / standard.scales.units[i]));
        let (terms_here, values_here) = self.find_row_sizes(at, standard);
        row_sizes.see(self.violation(), &self.sizes, &self.free_sizes);
        let terms: f64 = self.violations().iter().zip(&row_sizes.near).map(|(violation, size)| violation.abs() * size).sum();
        // A violation is the difference of two values that are rounded.
        self.residuals.infeasible_rounding = (LOST_IN_ROUNDING * terms_here).max(ROUNDING * values_here);
        self.residuals.relative_infeasible = if slope > 0.0 { slope / terms } else { 0.0 };
    }

    /// The norm of the columns of the Jacobian, in the user's units, of variables that no bound holds, or none where such `noise` may turn the slope;
    /// after [`Kkt::measure_infeasibility`]. None: there are no such variables.
    pub fn norm_of_free_columns(&self, at: &Iterate, standard: &Standard, noise: f64) -> Option<f64> {
        let (a, scales) = (&at.jacobian.a, &standard.scales);
        let is_free = |i: usize| !self.held[i] || self.memory.slope()[i].abs() / scales.units[i] <= noise;
        let entries = || {
            (0..self.sizes.len()).flat_map(|row| {
                let entries = a.row_values(row).iter().enumerate().map(move |(k, value)| (a.column(row, k), value));
                entries.map(move |(i, value)| (i, value / scales.rows[row] / scales.units[i]))
            })
        };
        let free = || entries().filter(|(i, _)| is_free(*i)).map(|(_, value)| value);
        (0..self.held.len()).any(is_free).then(|| norm_of(free))
    }

    /// Where all constraints hold, nobody asks whether a small change reduces a violation.
    pub fn find_nothing_to_repair(&mut self) {
        self.residuals.infeasible = 0.0;
        self.residuals.relative_infeasible = 0.0;
        self.residuals.infeasible_rounding = 0.0;
    }

    /// The norms of rows, and those without the variables that a bound holds: what these could do, in whatever units, is not to be had. Gives
    /// the terms of the gradient of the violation, and what they would be of the values, both in the user's units.
    fn find_row_sizes(&mut self, at: &Iterate, standard: &Standard) -> (f64, f64) {
        let (mut terms, mut values) = (0.0, 0.0);
        for row in 0..self.sizes.len() {
            let (a, scale) = (&at.jacobian.a, standard.scales.rows[row]);
            let entries = || a.row_values(row).iter().enumerate().map(|(k, value)| (a.column(row, k), value / scale));
            let free = || entries().filter(|(column, _)| !self.held[*column]);
            let own = norm_of(|| free().map(|(column, value)| value / standard.scales.units[column]));
            self.sizes[row] = norm_of(|| entries().map(|(_, value)| value));
            self.free_sizes[row] = norm_of(|| free().map(|(_, value)| value));
            terms += self.violations()[row].abs() * own;
            values += (at.c[row] / scale).abs() * own;
        }
        (terms, values)
    }
}

/// A point in the internal form. A row that is an inequality has the bounds of its slack there, whatever the slack itself is, and an equality
/// is its own residual; scales are divided out of sums, not out of each term.
struct InternalForm<'a> {
    at: &'a Iterate,
    lambda: &'a [f64],
    mu: &'a [f64],
    standard: &'a Standard,
}

impl<'a> InternalForm<'a> {
    fn without_multipliers(at: &'a Iterate, standard: &'a Standard) -> Self {
        InternalForm { at, lambda: &[], mu: &[], standard }
    }
}

impl KktForm for InternalForm<'_> {
    fn row(&self, i: usize) -> Place {
        let (bounds, value) = match self.standard.slack_of(i) {
            Some(slack) => (self.standard.bounds(slack), self.at.c[i]),
            None => (Interval { lower: 0.0, upper: 0.0 }, self.at.h[i]),
        };
        Place { bounds, value, multiplier: self.lambda.get(i).copied().unwrap_or(0.0) }
    }

    fn variable(&self, i: usize) -> Place {
        let multiplier = self.mu.get(i).copied().unwrap_or(0.0);
        Place { bounds: self.standard.bounds(i), value: self.at.z[i], multiplier }
    }

    fn gradient(&self) -> &[f64] {
        &self.at.g[..self.at.n()]
    }

    fn add_products(&self, y: &[f64], out: &mut [f64]) {
        self.at.jacobian.a.add_transposed(y, out);
    }

    fn objective_scale(&self) -> f64 {
        self.standard.scales.objective
    }

    fn row_scale(&self, row: usize) -> f64 {
        self.standard.scales.rows[row]
    }

    fn unit(&self, variable: usize) -> f64 {
        self.standard.scales.units[variable]
    }
}

#[cfg(test)]
mod tests {
    use tangor_problem::{KktPoint, KktResiduals, Meta};

    use super::*;
    use crate::form::standard::Scales;
    use crate::kernel::matrix::Jacobian;

    fn multipliers(jacobian: &Jacobian, lambda: &[f64], mu: &[f64]) -> TangentStep {
        let mut tangent = TangentStep::new(jacobian, None);
        tangent.lambda.copy_from_slice(lambda);
        tangent.mu[..mu.len()].copy_from_slice(mu);
        tangent
    }

    #[test]
    fn residuals_by_hand() {
        // c1 = 5 where 3 is wanted, c2 = 4 in [0, 3]; x = (1, 2) in [0, 4] x [0, 4].
        let meta = Meta::new("by hand", vec![1.0, 2.0]).bounds(&[0.0; 2], &[4.0; 2]).rows(&[3.0, 0.0], &[3.0, 3.0]);
        let (mut standard, jacobian) = Standard::new(&meta);
        // All is given in the internal scale: the objective is doubled, the second row halved.
        standard.rescale(&Scales { objective: 2.0, rows: vec![1.0, 0.5], units: vec![1.0; 2] });
        let mut at = Iterate::new(jacobian);
        at.z = vec![1.0, 2.0, 1.5];
        at.c = vec![5.0, 2.0];
        at.h = vec![2.0, 0.5];
        at.g = vec![6.0, 2.0, 0.0];
        at.jacobian.a.values = vec![1.0, 1.0, 0.5, -0.5];
        let tangent = multipliers(&at.jacobian, &[-2.0, 4.0], &[4.0, -3.0]);
        let mut kkt = Kkt::new(2, 2);
        kkt.measure(&at, &tangent, &standard);
        assert_eq!(kkt.y, [-1.0, 1.0]);
        assert_eq!(kkt.mu, [2.0, -1.5]);
        // (6, 2) + (-2 + 2, -2 - 2) - (4, -3) = (2, 1), divided by 2.
        assert_eq!(kkt.residuals.stationarity, 5f64.sqrt() / 2.0);
        // The violations are 2 and 1.
        assert_eq!(kkt.residuals.feasibility, 5f64.sqrt());
        // The row: 1 * |4 - 3|; the bounds: 2 * (1 - 0) + 1.5 * (4 - 2).
        assert_eq!(kkt.residuals.complementarity, 1.0 + 2.0 + 3.0);
        // J^T v = (1, 1) * 2 + (1, -1) * 1 = (3, 1): x moves to (0, 1).
        let mut row_sizes = RowSizes::new(2);
        row_sizes.see(1.0, &[0.0, 2.0], &[0.0, 2.0]);
        kkt.measure_infeasibility(&at, &standard, &mut row_sizes);
        assert_eq!((kkt.residuals.infeasible, kkt.residuals.steepness), (2f64.sqrt(), 10f64.sqrt()));
        // Both rows have the norm root 2; the second one was larger once. |(3, 1)| / (2 root 2 + 1 * 2)
        assert_eq!(row_sizes.near, [2f64.sqrt(), 2.0]);
        assert!((kkt.residuals.relative_infeasible - 10f64.sqrt() / (8f64.sqrt() + 2.0)).abs() < 1e-15);
        // Terms of 2 root 2 and root 2 here, from values of 5 and 4.
        assert!((kkt.residuals.infeasible_rounding - 3e-10 * 2f64.sqrt()).abs() < 1e-24);
        // All the way to its bound the second variable would gain 2 * 1 of 5, the first one 1 * 3.
        kkt.held_within = 0.5;
        kkt.measure_infeasibility(&at, &standard, &mut row_sizes);
        assert_eq!((kkt.residuals.infeasible, kkt.residuals.steepness), (2f64.sqrt(), 3.0));
        // The first column is (1, 1) and free; the second one, too, where noise may turn its slope of 1.
        assert_eq!(kkt.norm_of_free_columns(&at, &standard, 0.9), Some(2f64.sqrt()));
        assert_eq!(kkt.norm_of_free_columns(&at, &standard, 1.1), Some(2.0));
        kkt.held_within = 0.7;
        kkt.measure_infeasibility(&at, &standard, &mut row_sizes);
        assert_eq!(kkt.norm_of_free_columns(&at, &standard, 0.9), None, "both bounds hold");
        kkt.held_within = ROUNDING;
        at.c = vec![5e9, 2.0];
        kkt.measure_infeasibility(&at, &standard, &mut row_sizes);
        assert!((kkt.residuals.infeasible_rounding / (ROUNDING * 5e9 * 2f64.sqrt()) - 1.0).abs() < 1e-8);
    }

    /// The same point in the user's form, by the function that serves all others.
    #[test]
    fn the_internal_form_gives_the_residuals_of_the_users_form() {
        let meta = Meta::new("by hand", vec![1.0, 2.0])
            .bounds(&[0.0, 1.5], &[f64::INFINITY, 4.0])
            .rows(&[3.0, 0.0, -f64::INFINITY], &[3.0, 3.0, 1.0]);
        let (mut standard, jacobian) = Standard::new(&meta);
        let (scale, rows, units) = (2.0, vec![1.0, 0.5, 4.0], vec![0.5, 8.0]);
        standard.rescale(&Scales { objective: scale, rows: rows.clone(), units: units.clone() });
        let (x, gradient, c) = ([1.0, 2.0], [3.0, 1.0], [5.0, 4.0, 0.25]);
        let j = [1.0, 1.0, 1.0, -1.0, 0.5, 3.0];
        let mut at = Iterate::new(jacobian);
        at.z = vec![x[0] / units[0], x[1] / units[1], rows[1] * 3.0, rows[2] * 0.25];
        at.c = c.iter().zip(&rows).map(|(c, scale)| c * scale).collect();
        at.h = vec![rows[0] * (c[0] - 3.0), 0.5, 0.0];
        at.g = vec![scale * units[0] * gradient[0], scale * units[1] * gradient[1], 0.0, 0.0];
        at.jacobian.a.values = (0..6).map(|k| rows[k / 2] * units[k % 2] * j[k]).collect();
        // The last row has no lower bound: its multiplier, which asks for one, is none.
        let tangent = multipliers(&at.jacobian, &[-2.0, 4.0, -3.0], &[1.0, -3.0]);
        let mut kkt = Kkt::new(3, 2);
        kkt.measure(&at, &tangent, &standard);
        kkt.measure_infeasibility(&at, &standard, &mut RowSizes::new(3));
        let point = KktPoint {
            x: &x,
            gradient: &gradient,
            constraints: &c,
            jacobian: &j,
            row_multipliers: &[-2.0 * rows[0] / scale, 4.0 * rows[1] / scale, -3.0 * rows[2] / scale],
            bound_multipliers: &[1.0 / units[0] / scale, -3.0 / units[1] / scale],
        };
        let expected = KktResiduals::new(&meta, point).expect("all lengths are right");
        let found = kkt.residuals;
        assert_eq!(found.stationarity, expected.stationarity);
        assert_eq!((found.feasibility, found.complementarity), (expected.feasibility, expected.complementarity));
        assert_eq!(found.infeasible, expected.infeasible_stationarity);
        assert!(expected.stationarity > 0.0 && expected.complementarity > 0.0 && expected.infeasible_stationarity > 0.0);
    }

    #[test]
    fn a_multiplier_without_a_bound_is_none() {
        let meta = Meta::new("by hand", vec![0.0, 0.0]).at_most(&[1.0]);
        let (standard, jacobian) = Standard::new(&meta);
        let mut at = Iterate::new(jacobian);
        at.jacobian.a.values = vec![1.0, 0.0];
        at.g = vec![-3.0, 0.0, 0.0];
        let mut kkt = Kkt::new(1, 2);
        kkt.measure(&at, &multipliers(&at.jacobian, &[-1.0], &[]), &standard);
        assert_eq!((kkt.y[0], kkt.residuals.stationarity), (0.0, 3.0), "it could only push from below");
        kkt.measure(&at, &multipliers(&at.jacobian, &[1.0], &[]), &standard);
        assert_eq!((kkt.y[0], kkt.residuals.stationarity, kkt.residuals.complementarity), (1.0, 2.0, 1.0));
    }
}
