//! How good a point is: loss, largest violation, and the KKT residual with the best multipliers,
//!
//! ```text
//! min over y, mu >= 0 of  |g + J_E' y + J_I' mu|^2 + |mu c_I|^2
//! ```
//!
//! for equalities `c_E = 0` and inequalities `c_I <= 0`. The multipliers are its own: nothing of the solver is used to find them.

use tangor_problem::{KktPoint, KktResiduals, Meta, Pattern, gradient_of_lagrangian};

/// A row of which the others leave no more than this share depends on them: its multiplier may be 0.
const DEPENDENT: f64 = 1e-12;

/// A point on all the data.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measure {
    /// The loss.
    pub loss: f64,
    /// The largest violation of a constraint.
    pub violation: f64,
    /// `|g + J' y|`
    pub stationarity: f64,
    /// `|mu c|` over the inequalities
    pub complementarity: f64,
}

impl Measure {
    /// Stationarity and complementarity together.
    pub fn kkt(&self) -> f64 {
        self.stationarity.hypot(self.complementarity)
    }
}

/// All functions on all the data, at one point.
pub struct At {
    pub loss: f64,
    pub g: Vec<f64>,
    pub c: Vec<f64>,
    /// Dense, row by row.
    pub jacobian: Vec<f64>,
}

/// What can be evaluated on all its data.
pub trait Exactly {
    fn exactly(&mut self, x: &[f64]) -> At;
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn add(factor: f64, a: &[f64], out: &mut [f64]) {
    out.iter_mut().zip(a).for_each(|(out, a)| *out += factor * a);
}

/// Takes the parts along orthonormal vectors out, twice: once leaves rounding errors where the rest is small.
fn take_out(basis: &[Vec<f64>], v: &mut [f64]) {
    for q in basis.iter().chain(basis) {
        let along = dot(q, v);
        v.iter_mut().zip(q).for_each(|(v, q)| *v -= along * q);
    }
}

/// The residuals; equalities have `c_lower == c_upper`, inequalities an upper bound only.
pub fn measure(x: &[f64], at: &At, meta: &Meta) -> Measure {
    let n = at.g.len();
    let row = |i: usize| &at.jacobian[i * n..(i + 1) * n];
    let violation = meta.violations(&at.c).map(f64::abs).fold(0.0, f64::max);
    let (equalities, inequalities): (Vec<usize>, Vec<usize>) =
        (0..at.c.len()).partition(|&i| meta.c_lower[i] == meta.c_upper[i]);
    let (mut basis, mut independent) = (Vec::new(), Vec::new());
    for &i in &equalities {
        let mut q = row(i).to_vec();
        take_out(&basis, &mut q);
        let (norm, whole) = (dot(&q, &q).sqrt(), dot(row(i), row(i)).sqrt());
        if norm > DEPENDENT * whole {
            q.iter_mut().for_each(|q| *q /= norm);
            basis.push(q);
            independent.push(i);
        }
    }
    let without_equalities = |v: &[f64]| {
        let mut v = v.to_vec();
        take_out(&basis, &mut v);
        v
    };
    let columns: Vec<Vec<f64>> = inequalities.iter().map(|&i| without_equalities(row(i))).collect();
    let offs: Vec<f64> = inequalities.iter().map(|&i| at.c[i] - meta.c_upper[i]).collect();
    let mu = multipliers(&without_equalities(&at.g), &columns, &offs);
    let mut y = vec![0.0; at.c.len()];
    inequalities.iter().zip(&mu).for_each(|(&i, mu)| y[i] = *mu);
    // The last of the rows is the only one with a part along the last vector: its multiplier follows, then that of the one before.
    let mut rest = vec![0.0; n];
    gradient_of_lagrangian(&at.g, |out| Pattern::Dense.add_products(&at.jacobian, &y, out), &[], &mut rest);
    for (q, &i) in basis.iter().zip(&independent).rev() {
        y[i] = -dot(q, &rest) / dot(q, row(i));
        add(y[i], row(i), &mut rest);
    }
    let complementarity = mu.iter().zip(&offs).map(|(mu, off)| (mu * off).powi(2)).sum::<f64>().sqrt();
    let point = KktPoint {
        x,
        gradient: &at.g,
        constraints: &at.c,
        jacobian: &at.jacobian,
        row_multipliers: &y,
        bound_multipliers: &vec![0.0; n],
    };
    let stationarity = KktResiduals::new(meta, point).map_or(f64::NAN, |residuals| residuals.stationarity);
    Measure { loss: at.loss, violation, stationarity, complementarity }
}

/// `min |g + sum mu_i a_i|^2 + sum (mu_i c_i)^2` over `mu >= 0`, by trying which multipliers are positive: there are few.
fn multipliers(g: &[f64], columns: &[Vec<f64>], offs: &[f64]) -> Vec<f64> {
    let count = columns.len();
    let entry = |i: usize, j: usize| dot(&columns[i], &columns[j]) + if i == j { offs[i] * offs[i] } else { 0.0 };
    let matrix: Vec<Vec<f64>> = (0..count).map(|i| (0..count).map(|j| entry(i, j)).collect()).collect();
    let right: Vec<f64> = columns.iter().map(|column| -dot(column, g)).collect();
    let value = |mu: &[f64]| {
        let quadratic: f64 = (0..count).map(|i| mu[i] * (0.5 * dot(&matrix[i], mu) - right[i])).sum();
        quadratic
    };
    let mut best = vec![0.0; count];
    for chosen in 1u32..1 << count {
        let some: Vec<usize> = (0..count).filter(|i| chosen >> i & 1 == 1).collect();
        let Some(solution) = solve(&matrix, &right, &some) else { continue };
        let mut mu = vec![0.0; count];
        some.iter().zip(solution).for_each(|(&i, solution)| mu[i] = solution);
        if mu.iter().all(|mu| *mu >= 0.0) && value(&mu) < value(&best) {
            best = mu;
        }
    }
    best
}

/// Gauss elimination on some rows and columns, with pivots; none where they depend on each other.
fn solve(matrix: &[Vec<f64>], right: &[f64], some: &[usize]) -> Option<Vec<f64>> {
    let count = some.len();
    let row = |&i: &usize| some.iter().map(|&j| matrix[i][j]).chain([right[i]]).collect();
    let mut rows: Vec<Vec<f64>> = some.iter().map(row).collect();
    for k in 0..count {
        let pivot = (k..count).max_by(|&a, &b| rows[a][k].abs().total_cmp(&rows[b][k].abs()))?;
        rows.swap(k, pivot);
        if rows[k][k] == 0.0 {
            return None;
        }
        for i in k + 1..count {
            let factor = rows[i][k] / rows[k][k];
            for j in k..=count {
                rows[i][j] -= factor * rows[k][j];
            }
        }
    }
    let mut solution = vec![0.0; count];
    for k in (0..count).rev() {
        let known: f64 = (k + 1..count).map(|j| rows[k][j] * solution[j]).sum();
        solution[k] = (rows[k][count] - known) / rows[k][k];
    }
    solution.iter().all(|value| value.is_finite()).then_some(solution)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn residuals_by_hand() {
        // An equality along the first axis takes that part of g out; mu of `x2 <= 0` with c = -1: min (2 - ... ) below.
        let meta = Meta::new("m", vec![0.0; 3]).equalities(&[1.0]).at_most(&[0.0, 0.0]);
        let at = At {
            loss: 7.0,
            g: vec![5.0, -2.0, 3.0],
            c: vec![1.5, -1.0, 0.25],
            // the second row helps against -2, the third would make 3 worse
            jacobian: vec![2.0, 0.0, 0.0, 9.0, 1.0, 0.0, 0.0, 0.0, 1.0],
        };
        let measure = measure(&[0.0; 3], &at, &meta);
        // min (mu - 2)^2 + mu^2: mu = 1, so that (0, -1, 3) is left, and 1 * 1 of complementarity.
        assert_eq!((measure.loss, measure.violation), (7.0, 0.5));
        assert!((measure.stationarity - 10f64.sqrt()).abs() < 1e-14 && (measure.complementarity - 1.0).abs() < 1e-14);
        assert!((measure.kkt() - 11f64.sqrt()).abs() < 1e-14);
    }
}
