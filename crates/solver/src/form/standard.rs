//! The problem as the method sees it, and the way back:
//!
//! ```text
//! z = (x, t),   h(z) = ( c_E(x) - cl_E ;  c_I(x) - t ) = 0,   lower <= z <= upper
//! ```
//!
//! Fixed variables and free rows are left out, each inequality gets one slack, rows and objective are scaled.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tangor_problem::{Interval, Meta, Pattern};

use crate::form::iterate::UserPoint;
use crate::kernel::matrix::{Jacobian, Matrix, Structure};

/// What is left out of the internal form.
const NOWHERE: usize = usize::MAX;

/// The maps between the user's form and the internal one.
pub struct Standard {
    /// The user's index of each internal variable.
    pub columns: Vec<usize>,
    /// The user's index of each internal row.
    pub rows: Vec<usize>,
    /// The internal row of each slack.
    pub slack_rows: Arc<[usize]>,
    /// The slack of each row that has one.
    slacks: Vec<Option<usize>>,
    /// The right-hand side of an equality, 0 for an inequality, in the user's scale.
    pub shift: Vec<f64>,
    /// Bounds of `z`, slacks in their own scale.
    pub lower: Vec<f64>,
    pub upper: Vec<f64>,
    /// Lower and upper bounds of slacks in the user's scale.
    slack_bounds: Vec<[f64; 2]>,
    /// Where each value of the user's Jacobian goes.
    places: Vec<usize>,
    /// The values of the user's Jacobian in columns of fixed variables: which value, its internal row, the user's column.
    pub fixed: Vec<(usize, usize, usize)>,
    /// The user's indices of fixed variables.
    pub fixed_columns: Vec<usize>,
    /// The user's point with fixed variables in place and the others projected into their bounds.
    pub start: Vec<f64>,
    pub scales: Scales,
    /// 1, or -1 when the user maximises: the method minimises `sense * scales.objective * f`.
    sense: f64,
}

/// What functions and variables are multiplied by, found at the start of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scales {
    pub objective: f64,
    pub rows: Vec<f64>,
    /// The units of the internal variables: `x_i = d_i z_i`.
    pub units: Vec<f64>,
}

impl Scales {
    /// Whether they are for as many rows and variables.
    pub fn fit(&self, other: &Scales) -> bool {
        (self.rows.len(), self.units.len()) == (other.rows.len(), other.units.len())
    }

    /// Whether something can be multiplied and divided by all of them.
    pub fn are_valid(&self) -> bool {
        let mut all = self.rows.iter().chain(&self.units).chain([&self.objective]);
        all.all(|scale| *scale > 0.0 && scale.is_finite())
    }
}

impl Standard {
    /// Sorts out variables and rows. The metadata must be valid.
    pub fn new(meta: &Meta) -> (Standard, Jacobian) {
        let columns: Vec<usize> = (0..meta.n()).filter(|&i| meta.x_lower[i] < meta.x_upper[i]).collect();
        let bounded = |i: &usize| {
            let Interval { lower, upper } = meta.row_bounds(*i);
            lower.is_finite() || upper.is_finite()
        };
        let rows: Vec<usize> = (0..meta.m()).filter(bounded).collect();
        let is_equality = |i: usize| meta.c_lower[i] == meta.c_upper[i];
        let slack_rows: Vec<usize> = (0..rows.len()).filter(|&row| !is_equality(rows[row])).collect();
        let shift = rows.iter().map(|&i| if is_equality(i) { meta.c_lower[i] } else { 0.0 }).collect();

        let of_slacks = slack_rows.iter().map(|&row| meta.row_bounds(rows[row]));
        let bounds = columns.iter().map(|&i| meta.variable_bounds(i)).chain(of_slacks);
        let (lower, upper): (Vec<f64>, Vec<f64>) = bounds.map(|Interval { lower, upper }| (lower, upper)).unzip();
        let slack_bounds = lower.iter().zip(&upper).skip(columns.len()).map(|(lower, upper)| [*lower, *upper]).collect();
        let start = (0..meta.n()).map(|i| meta.x0[i].max(meta.x_lower[i]).min(meta.x_upper[i])).collect();
        let (matrix, places) = matrix(meta, &columns, &rows);
        let fixed = fixed_entries(meta, &rows);
        let fixed_columns = (0..meta.n()).filter(|&i| meta.x_lower[i] >= meta.x_upper[i]).collect();
        let mut slacks = vec![None; rows.len()];
        slack_rows.iter().enumerate().for_each(|(k, &row)| slacks[row] = Some(columns.len() + k));
        let slack_rows: Arc<[usize]> = slack_rows.into();
        let jacobian = Jacobian { a: matrix, slack_rows: slack_rows.clone() };
        let scales = Scales { objective: 1.0, rows: vec![1.0; rows.len()], units: vec![1.0; columns.len()] };
        let standard = Standard {
            columns,
            rows,
            slack_rows,
            slacks,
            shift,
            lower,
            upper,
            slack_bounds,
            places,
            fixed,
            fixed_columns,
            start,
            scales,
            sense: meta.sense(),
        };
        (standard, jacobian)
    }

    /// What the method minimises is this multiple of the user's objective; it is negative where the user maximises.
    pub fn objective_factor(&self) -> f64 {
        self.sense * self.scales.objective
    }

    /// The bounds of an internal variable or slack.
    pub fn bounds(&self, i: usize) -> Interval {
        Interval { lower: self.lower[i], upper: self.upper[i] }
    }

    /// A place of an internal variable that would leave its bounds, reflected at them.
    pub fn reflected(&self, i: usize, place: f64) -> f64 {
        let Interval { lower, upper } = self.bounds(i);
        let inside = if place < lower {
            2.0 * lower - place
        } else if place > upper {
            2.0 * upper - place
        } else {
            place
        };
        inside.max(lower).min(upper)
    }

    /// The slack of a row, as an internal variable; none where it is an equality.
    pub fn slack_of(&self, row: usize) -> Option<usize> {
        self.slacks[row]
    }

    /// Variables, without slacks.
    pub fn n(&self) -> usize {
        self.columns.len()
    }

    /// Whether there are neither bounds nor inequalities.
    pub fn only_equalities(&self) -> bool {
        self.lower.iter().chain(&self.upper).all(|bound| bound.is_infinite())
    }

    /// Scales rows and objective, given their derivatives at the start and the units of the variables: none is larger than 100 then.
    pub fn scale(&mut self, g: &[f64], jacobian: &Matrix, units: &[f64]) {
        let largest = |entries: &mut dyn Iterator<Item = (usize, f64)>| {
            entries.map(|(i, value)| (units[i] * value).abs()).fold(0.0f64, f64::max)
        };
        let in_row = |row: usize| jacobian.row_values(row).iter().enumerate().map(move |(k, a)| (jacobian.column(row, k), *a));
        let rows: Vec<f64> = (0..jacobian.m).map(|row| factor(largest(&mut in_row(row)))).collect();
        let objective = factor(largest(&mut g.iter().copied().enumerate()));
        self.rescale(&Scales { objective, rows, units: units.to_vec() });
    }

    /// Scales rows anew, given their derivatives in the present scale: none is larger than 100 then in the user's.
    pub fn scale_rows(&mut self, jacobian: &Matrix) {
        let largest = |row: usize| jacobian.row_values(row).iter().fold(0.0f64, |most, a| most.max(a.abs()));
        self.set_row_scale(|row, scale| factor(largest(row) / scale));
    }

    /// The same, and rows with small derivatives are scaled up: the largest is about 1 then.
    pub fn level_rows(&mut self, jacobian: &Matrix) {
        let largest = |row: usize| jacobian.row_values(row).iter().fold(0.0f64, |most, a| most.max(a.abs()));
        self.set_row_scale(|row, scale| match largest(row) / scale {
            small if small > 0.0 && small < 1.0 => small.max(1.0 / LARGEST_SCALE).recip().log2().floor().exp2(),
            large => factor(large),
        });
    }

    /// Scales the objective anew, given its gradient in the present scale; the factor by which its values change.
    pub fn scale_objective(&mut self, g: &[f64]) -> f64 {
        let before = self.scales.objective;
        self.scales.objective = factor(g.iter().fold(0.0f64, |most, g| most.max(g.abs())) / before);
        self.scales.objective / before
    }

    /// Multiplies the scale of each row by a weight.
    pub fn weigh_rows(&mut self, weight: impl Fn(usize) -> f64) {
        self.set_row_scale(|row, scale| scale * weight(row));
    }

    /// All rows in the user's unit from now on; iterates then need their values anew.
    pub fn unscale_rows(&mut self) {
        self.set_row_scale(|_, _| 1.0);
    }

    /// Bounds of slacks come from the user's each time: a run that is resumed, whose scale is set once, has the same bits.
    fn set_row_scale(&mut self, of: impl Fn(usize, f64) -> f64) {
        self.scales.rows.iter_mut().enumerate().for_each(|(row, scale)| *scale = of(row, *scale));
        for (k, (&row, [lower, upper])) in self.slack_rows.iter().zip(&self.slack_bounds).enumerate() {
            let slack = self.columns.len() + k;
            self.lower[slack] = self.scales.rows[row] * lower;
            self.upper[slack] = self.scales.rows[row] * upper;
        }
    }

    /// Sets the scale; only once, before the run, for units do not change after it.
    pub fn rescale(&mut self, scales: &Scales) {
        self.scales.objective = scales.objective;
        self.set_row_scale(|row, _| scales.rows[row]);
        self.scales.units.copy_from_slice(&scales.units);
        for (i, unit) in scales.units.iter().enumerate() {
            self.lower[i] /= unit;
            self.upper[i] /= unit;
        }
    }

    /// Puts internal variables into the user's point.
    pub fn to_user(&self, z: &[f64], x: &mut [f64]) {
        for ((&i, z), unit) in self.columns.iter().zip(z).zip(&self.scales.units) {
            x[i] = unit * z;
        }
    }

    /// Keeps of the user's derivatives what belongs to fixed variables.
    pub fn keep_fixed(&self, g: &[f64], values: &[f64], user: &mut UserPoint) {
        for (kept, &i) in user.fixed_gradient.iter_mut().zip(&self.fixed_columns) {
            *kept = g[i];
        }
        for (kept, &(k, _, _)) in user.fixed_jacobian.iter_mut().zip(&self.fixed) {
            *kept = values[k];
        }
    }

    /// The multipliers of the bounds on fixed variables, which the method never sees: whatever makes the Lagrangian stationary,
    /// `grad f + J^T y`.
    pub fn fixed_multipliers(&self, user: &UserPoint, y: &[f64], mu: &mut [f64]) {
        for (&i, g) in self.fixed_columns.iter().zip(&user.fixed_gradient) {
            mu[i] = *g;
        }
        for (&(_, row, column), value) in self.fixed.iter().zip(&user.fixed_jacobian) {
            mu[column] += value * y[row];
        }
    }

    /// Puts the user's gradient into the internal one, whose slack part is zero.
    pub fn gradient(&self, user: &[f64], g: &mut [f64]) {
        for ((g, &i), unit) in g.iter_mut().zip(&self.columns).zip(&self.scales.units) {
            *g = self.objective_factor() * unit * user[i];
        }
    }

    /// Puts the user's Jacobian values into the internal matrix.
    pub fn jacobian(&self, user: &[f64], matrix: &mut Matrix) {
        matrix.values.fill(0.0);
        for (&place, value) in self.places.iter().zip(user) {
            if place != NOWHERE {
                matrix.values[place] += value;
            }
        }
        let structure = matrix.structure.clone();
        let has_units = self.scales.units.iter().any(|unit| *unit != 1.0);
        for (i, &scale) in self.scales.rows.iter().enumerate().filter(|(_, scale)| has_units || **scale != 1.0) {
            match &structure {
                None => {
                    let row = &mut matrix.values[i * matrix.n..(i + 1) * matrix.n];
                    row.iter_mut().zip(&self.scales.units).for_each(|(value, unit)| *value *= scale * unit);
                }
                Some(structure) => {
                    let range = structure.row_start[i]..structure.row_start[i + 1];
                    let columns = &structure.column[range.clone()];
                    matrix.values[range].iter_mut().zip(columns).for_each(|(value, &j)| *value *= scale * self.scales.units[j]);
                }
            }
        }
    }
}

/// Derivatives that are larger at the start are scaled down to this, as in Ipopt.
const LARGEST_DERIVATIVE: f64 = 100.0;
/// No row is scaled down by more: what is left of it would drown in the rounding of the others.
const SMALLEST_SCALE: f64 = 1e-8;
/// Nor up by more than this, where it is flat.
const LARGEST_SCALE: f64 = 1e16;

/// The scale of a row or of the objective whose largest derivative this is.
fn factor(most: f64) -> f64 {
    (LARGEST_DERIVATIVE / most).clamp(SMALLEST_SCALE, 1.0)
}

/// The values of the user's Jacobian in kept rows and columns of fixed variables.
fn fixed_entries(meta: &Meta, rows: &[usize]) -> Vec<(usize, usize, usize)> {
    let place = |k: usize| {
        let (row, column) = meta.jacobian.place(k, meta.n());
        let is_fixed = meta.x_lower[column] >= meta.x_upper[column];
        rows.binary_search(&row).ok().filter(|_| is_fixed).map(|row| (k, row, column))
    };
    (0..meta.jacobian_len()).filter_map(place).collect()
}

/// Up to so many entries it makes no difference how a matrix is stored.
const FEW_ENTRIES: usize = 10_000;

/// Whether a pattern with so many places is kept as a full matrix: indices would take more memory than the zeros do, and products of full
/// matrices are many times as fast.
pub fn is_nearly_full(m: usize, n: usize, places: usize) -> bool {
    m.saturating_mul(n) > FEW_ENTRIES && places > m.saturating_mul(n) / 2
}

/// The internal matrix, and where each of the user's values goes.
fn matrix(meta: &Meta, columns: &[usize], rows: &[usize]) -> (Matrix, Vec<usize>) {
    let inverse = |kept: &[usize], size: usize| {
        let mut inverse = vec![NOWHERE; size];
        for (inside, &outside) in kept.iter().enumerate() {
            inverse[outside] = inside;
        }
        inverse
    };
    let (column_of, row_of) = (inverse(columns, meta.n()), inverse(rows, meta.m()));
    let (m, n) = (rows.len(), columns.len());
    let inside = |(row, column): (usize, usize)| match (row_of[row], column_of[column]) {
        (NOWHERE, _) | (_, NOWHERE) => None,
        place => Some(place),
    };
    let all = (0..meta.jacobian_len()).map(|k| inside(meta.jacobian.place(k, meta.n())));
    let full = |places: &mut dyn Iterator<Item = Option<(usize, usize)>>| {
        let places = places.map(|place| place.map_or(NOWHERE, |(row, column)| row * n + column)).collect();
        (Matrix::dense(m, n), places)
    };
    match &meta.jacobian {
        Pattern::Dense => full(&mut all.clone()),
        Pattern::Sparse { .. } => {
            let kept: Vec<(usize, usize)> = all.clone().flatten().collect();
            if is_nearly_full(m, n, kept.len()) {
                return full(&mut all.clone());
            }
            let (structure, positions) = Structure::new(m, n, &kept);
            let mut positions = positions.into_iter();
            let places = all.map(|place| place.and_then(|_| positions.next()).unwrap_or(NOWHERE)).collect();
            (Matrix::sparse(m, n, Arc::new(structure)), places)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INFINITY: f64 = f64::INFINITY;

    /// Three variables, the second fixed; an equality, a free row, and a range.
    fn meta() -> Meta {
        Meta::new("by hand", vec![9.0, 0.0, 1.0])
            .bounds(&[0.0, 2.0, -1e20], &[4.0, 2.0, INFINITY])
            .rows(&[5.0, -INFINITY, -1.0], &[5.0, INFINITY, 1.0])
    }

    #[test]
    fn variables_and_rows_are_sorted_out() {
        let (standard, jacobian) = Standard::new(&meta());
        assert_eq!((standard.columns.as_slice(), standard.rows.as_slice()), (&[0, 2][..], &[0, 2][..]));
        assert_eq!((&*standard.slack_rows, standard.shift.as_slice()), (&[1][..], &[5.0, 0.0][..]));
        assert_eq!(standard.lower, [0.0, -INFINITY, -1.0]);
        assert_eq!(standard.upper, [4.0, INFINITY, 1.0]);
        assert_eq!(standard.start, [4.0, 2.0, 1.0], "projected into the bounds");
        assert_eq!((jacobian.rows(), jacobian.columns()), (2, 3));
        assert!(!standard.only_equalities());
    }

    #[test]
    fn rows_go_back_to_the_users_unit_bit_for_bit() {
        let meta = Meta::new("range", vec![0.0]).rows(&[-0.7], &[0.1]);
        let (mut standard, _) = Standard::new(&meta);
        for scale in (1..1000).map(|k| 1.0 / f64::from(k)) {
            standard.rescale(&Scales { objective: 1.0, rows: vec![scale], units: vec![1.0] });
            standard.unscale_rows();
            assert_eq!((standard.lower[1], standard.upper[1], standard.scales.rows[0]), (-0.7, 0.1, 1.0), "scaled by {scale}");
        }
    }

    #[test]
    fn derivatives_find_their_places_in_either_pattern() {
        let dense = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0];
        let places = [(2, 2), (2, 1), (0, 0), (0, 1), (0, 2), (2, 0), (2, 2)];
        let sparse = [4.0, 8.0, 1.0, 2.0, 3.0, 7.0, 5.0];
        for (meta, values) in [(meta(), &dense[..]), (meta().sparse(places), &sparse)] {
            let (mut standard, mut jacobian) = Standard::new(&meta);
            standard.rescale(&Scales { objective: 2.0, rows: vec![1.0, 10.0], units: vec![1.0; 2] });
            standard.jacobian(values, &mut jacobian.a);
            assert_eq!(jacobian.a.values, [1.0, 3.0, 70.0, 90.0]);
            assert_eq!((standard.lower[2], standard.upper[2]), (-10.0, 10.0), "a slack has the scale of its row");
            let mut g = [0.0; 3];
            standard.gradient(&[1.0, 2.0, 3.0], &mut g);
            assert_eq!(g, [2.0, 6.0, 0.0]);
            let (mut mu, mut user) = ([0.0; 3], crate::form::iterate::Iterate::start(jacobian, &standard, 3).user);
            standard.keep_fixed(&[1.0, 2.0, 3.0], values, &mut user);
            standard.fixed_multipliers(&user, &[10.0, 100.0], &mut mu);
            assert_eq!(mu, [0.0, 822.0, 0.0], "2 + 2 * 10 + 8 * 100");
        }
    }

    #[test]
    fn large_derivatives_are_scaled_down() {
        let (mut standard, mut jacobian) = Standard::new(&meta());
        standard.jacobian(&[1000.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0], &mut jacobian.a);
        standard.scale(&[200.0, 0.0], &jacobian.a, &[1.0; 2]);
        assert_eq!((standard.scales.objective, standard.scales.rows), (0.5, vec![0.1, 1.0]));
    }
}
