//! How far a point and its multipliers are from satisfying the conditions of Karush, Kuhn and Tucker.

use crate::kkt_form::{KktForm, KktMemory, Place};
use crate::vector::norm;
use crate::{Meta, MetaError};

/// A point, its multipliers, and the values and derivatives there; all in the user's form, nothing scaled.
#[derive(Clone, Copy, Debug)]
pub struct KktPoint<'a> {
    /// The variables.
    pub x: &'a [f64],
    /// The gradient of the objective; zeros when there is none.
    pub gradient: &'a [f64],
    /// `c(x)`
    pub constraints: &'a [f64],
    /// The Jacobian of `c`, in the order of [`Meta::jacobian`].
    pub jacobian: &'a [f64],
    /// Multipliers `y` of the constraints.
    pub row_multipliers: &'a [f64],
    /// Multipliers `mu` of the bounds.
    pub bound_multipliers: &'a [f64],
}

/// The residuals of a point, 2-norms, in the user's scale and signs: those of [`KktMemory`], made of what [`Interval`](crate::Interval) says of bounds.
///
/// The conditions are `grad f + J^T y = mu`, with `y >= 0` where a row is held by its upper bound and `y <= 0` where by its lower one,
/// `mu` the other way round; both turned where the problem is a maximisation.
///
/// - A multiplier whose sign asks for a bound that is absent (infinite, or 1e20 and beyond) holds nothing: it counts as zero,
///   so that what it pretended to balance shows in the stationarity.
/// - An equality and a fixed variable take a multiplier of either sign and have no complementarity. The multiplier of a fixed
///   variable may be anything: that variable has no part in the stationarity.
/// - What is not a number makes the residuals that it enters not a number.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct KktResiduals {
    /// `|grad f + J^T y - mu|`
    pub stationarity: f64,
    /// The violation of constraints and bounds.
    pub feasibility: f64,
    /// The sum of |multiplier| times distance to its bound, over constraints and variables.
    pub complementarity: f64,
    /// `|x - clip(x - J^T v)|` for the violation `v` of the constraints: zero when no small change reduces it.
    pub infeasible_stationarity: f64,
    /// How large the terms are of which the stationarity is the rest, `| |grad f| + |J^T| |y| + |mu| |`: its rounding error is
    /// relative to this.
    pub terms: f64,
}

impl KktResiduals {
    /// Measures a point. An error says which of its vectors has the wrong length.
    ///
    /// ```
    /// use tangor_problem::{KktPoint, KktResiduals, Meta};
    ///
    /// // minimise x^2 for x >= 1: at x = 1 the bound holds with mu = 2
    /// let meta = Meta::new("square", vec![3.0]).bounds(&[1.0], &[f64::INFINITY]);
    /// let point =
    ///     KktPoint { x: &[1.0], gradient: &[2.0], constraints: &[], jacobian: &[], row_multipliers: &[], bound_multipliers: &[2.0] };
    /// let residuals = KktResiduals::new(&meta, point)?;
    /// assert_eq!((residuals.stationarity, residuals.feasibility, residuals.complementarity), (0.0, 0.0, 0.0));
    /// # Ok::<(), tangor_problem::MetaError>(())
    /// ```
    pub fn new(meta: &Meta, at: KktPoint<'_>) -> Result<Self, MetaError> {
        at.check(meta)?;
        let (form, mut memory) = (UserForm { meta, at }, KktMemory::new(meta.m(), meta.n()));
        memory.take_multipliers(&form);
        memory.find_violation(&form);
        let [stationarity, feasibility] = [memory.stationarity(&form), memory.feasibility(&form)];
        Ok(KktResiduals {
            stationarity,
            feasibility,
            complementarity: memory.complementarity(&form),
            infeasible_stationarity: memory.infeasible_stationarity(&form),
            terms: form.size_of_terms(&memory),
        })
    }

    /// The largest of stationarity, feasibility and complementarity; infinite when one is not a number.
    pub fn worst(&self) -> f64 {
        let all = [self.stationarity, self.feasibility, self.complementarity];
        all.into_iter().map(|residual| if residual.is_nan() { f64::INFINITY } else { residual }).fold(0.0, f64::max)
    }
}

impl KktPoint<'_> {
    /// `grad f + J^T y - mu`, whose norm is the stationarity: zero for fixed variables, and with multipliers of zero where the bound that
    /// they ask for is absent. An error says which vector has the wrong length.
    pub fn error(&self, meta: &Meta) -> Result<Vec<f64>, MetaError> {
        self.check(meta)?;
        let (form, mut memory) = (UserForm { meta, at: *self }, KktMemory::new(meta.m(), meta.n()));
        memory.take_multipliers(&form);
        memory.stationarity(&form);
        Ok(memory.error().to_vec())
    }

    fn check(&self, meta: &Meta) -> Result<(), MetaError> {
        let lengths = [
            ("the point", self.x.len(), meta.n()),
            ("the gradient", self.gradient.len(), meta.n()),
            ("the vector of constraint values", self.constraints.len(), meta.m()),
            ("the vector of Jacobian values", self.jacobian.len(), meta.jacobian_len()),
            ("the vector of constraint multipliers", self.row_multipliers.len(), meta.m()),
            ("the vector of bound multipliers", self.bound_multipliers.len(), meta.n()),
        ];
        match lengths.into_iter().find(|(_, found, expected)| found != expected) {
            Some((what, found, expected)) => Err(MetaError::Length { what, found, expected }),
            None => Ok(()),
        }
    }
}

/// A point as the user has it.
struct UserForm<'a> {
    meta: &'a Meta,
    at: KktPoint<'a>,
}

impl KktForm for UserForm<'_> {
    fn row(&self, i: usize) -> Place {
        let bounds = self.meta.row_bounds(i);
        Place { bounds, value: self.at.constraints[i], multiplier: self.at.row_multipliers[i] }
    }

    fn variable(&self, i: usize) -> Place {
        let bounds = self.meta.variable_bounds(i);
        Place { bounds, value: self.at.x[i], multiplier: self.at.bound_multipliers[i] }
    }

    fn gradient(&self) -> &[f64] {
        self.at.gradient
    }

    fn add_products(&self, y: &[f64], out: &mut [f64]) {
        self.meta.jacobian.add_products(self.at.jacobian, y, out);
    }

    fn sense(&self) -> f64 {
        self.meta.sense()
    }
}

impl UserForm<'_> {
    /// The size of the terms of which the stationarity is the rest, with the multipliers that were taken.
    fn size_of_terms(&self, memory: &KktMemory) -> f64 {
        let mut terms: Vec<f64> = self.at.gradient.iter().zip(memory.mu()).map(|(g, mu)| g.abs() + mu.abs()).collect();
        for (k, value) in self.at.jacobian.iter().enumerate() {
            let (row, column) = self.meta.jacobian.place(k, terms.len());
            terms[column] += (value * memory.y()[row]).abs();
        }
        let is_free = |i: usize| self.meta.x_lower[i] < self.meta.x_upper[i];
        terms.iter_mut().enumerate().filter(|(i, _)| !is_free(*i)).for_each(|(_, term)| *term = 0.0);
        norm(&terms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FREE: f64 = f64::INFINITY;

    /// x0 in [1, 3], x1 in the given interval, one row at least 2; `g = (4, 1)`, `J = (5, 2)`, `x = (2, 5)`, `c = 10`.
    fn measured(x1: [f64; 2], y: f64, mu: [f64; 2], maximise: bool) -> KktResiduals {
        let mut meta = Meta::new("by hand", vec![1.0, 1.0]).bounds(&[1.0, x1[0]], &[3.0, x1[1]]).at_least(&[2.0]);
        meta.maximise = maximise;
        let at = KktPoint {
            x: &[2.0, 5.0],
            gradient: &[4.0, 1.0],
            constraints: &[10.0],
            jacobian: &[5.0, 2.0],
            row_multipliers: &[y],
            bound_multipliers: &mu,
        };
        KktResiduals::new(&meta, at).unwrap()
    }

    #[test]
    fn residuals_by_hand() {
        // g + J^T y - mu = (4 - 2.5 - 1, 1 - 1); complementarity: 1/2 |10 - 2| for the row and 1 |2 - 1| for the bound.
        let residuals = measured([-FREE, FREE], -0.5, [1.0, 0.0], false);
        assert_eq!((residuals.stationarity, residuals.feasibility, residuals.complementarity), (0.5, 0.0, 5.0));
        assert_eq!(residuals.infeasible_stationarity, 0.0);
        // The terms are 4 + 2.5 + 1 and 1 + 1.
        assert_eq!(residuals.terms, (7.5f64 * 7.5 + 4.0).sqrt());
    }

    #[test]
    fn a_multiplier_at_an_absent_bound_holds_nothing() {
        // y > 0 would need an upper bound, mu[1] a bound of x1: both count as zero, and g = (4, 1) is left.
        let residuals = measured([-FREE, FREE], 3.0, [0.0, 7.0], false);
        assert_eq!((residuals.stationarity, residuals.complementarity), (17f64.sqrt(), 0.0));
        assert_eq!(measured([-1e20, 1e30], 3.0, [0.0, -7.0], false), residuals, "as absent as infinity");
        // Who maximises has the opposite signs: now y > 0 is held by the lower bound, and mu[0] > 0 by the upper one.
        let residuals = measured([-FREE, FREE], 0.5, [1.0, 7.0], true);
        assert_eq!(residuals.stationarity, (5.5f64 * 5.5 + 4.0).sqrt(), "4 + 2.5 - 1 and 1 + 1");
        assert_eq!(residuals.complementarity, 0.5 * 8.0 + 1.0 * 1.0);
        assert_eq!(measured([-FREE, FREE], -0.5, [1.0, 0.0], true).stationarity, 10f64.sqrt(), "(4 - 1, 1)");
    }

    #[test]
    fn a_fixed_variable_takes_any_multiplier() {
        for mu in [99.0, -99.0] {
            let residuals = measured([5.0, 5.0], 0.0, [0.0, mu], false);
            assert_eq!((residuals.stationarity, residuals.complementarity), (4.0, 0.0));
        }
    }

    #[test]
    fn violation_and_its_slope_by_hand() {
        // c = 0.5 is short of 2 by 1.5, x0 = 0.5 of 1 by 0.5; J = (1, 0.5), v = -1.5: the slope is (-1.5, -0.75).
        let meta = Meta::new("by hand", vec![1.0, 1.0]).bounds(&[1.0, -FREE], &[3.0, FREE]).at_least(&[2.0]);
        let at = KktPoint {
            x: &[0.5, 1.0],
            gradient: &[0.0; 2],
            constraints: &[0.5],
            jacobian: &[1.0, 0.5],
            row_multipliers: &[0.0],
            bound_multipliers: &[0.0; 2],
        };
        let residuals = KktResiduals::new(&meta, at).unwrap();
        assert_eq!(residuals.feasibility, 2.5f64.sqrt());
        assert_eq!(residuals.infeasible_stationarity, (1.5f64 * 1.5 + 0.75 * 0.75).sqrt());
        let message = KktResiduals::new(&meta, KktPoint { row_multipliers: &[], ..at }).unwrap_err().to_string();
        assert_eq!(message, "the vector of constraint multipliers has length 0, expected 1");
    }

    #[test]
    fn an_absent_bound_is_not_violated_however_far_away() {
        let meta = Meta::new("far", vec![0.0]).bounds(&[-1e20], &[1e20]).at_most(&[1e20]);
        for x in [-1e25, 1e25] {
            let at = KktPoint {
                x: &[x],
                gradient: &[0.0],
                constraints: &[7e30],
                jacobian: &[1.0],
                row_multipliers: &[0.0],
                bound_multipliers: &[0.0],
            };
            assert_eq!(KktResiduals::new(&meta, at).unwrap().feasibility, 0.0);
        }
    }

    #[test]
    fn not_a_number_is_never_good() {
        let residuals = measured([-FREE, FREE], f64::NAN, [0.0, 0.0], false);
        assert!(residuals.stationarity.is_nan());
        assert_eq!(residuals.worst(), f64::INFINITY);
        assert_eq!(measured([-FREE, FREE], 0.0, [0.0, f64::NAN], false).worst(), f64::INFINITY);
    }
}
