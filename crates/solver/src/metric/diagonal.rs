//! An adaptive diagonal metric: second moments of the change of the Lagrangian's gradient, variable by variable.
//!
//! `h_i^2` is the mean of `dl_i^2` over the mean of `|dz|^2 / n`. For a diagonal Hessian and steps in all directions alike this is the
//! square of its entry; in general it is that of a row's norm.

use serde::{Deserialize, Serialize};

use crate::kernel::vector::dot;
use crate::metric::Curvature;

/// The share of the moments that a step leaves.
const KEEP: f64 = 0.95;
/// The smallest entry, relative to the root of their mean square: a variable that has hardly moved must not leap.
const FLATTEST: f64 = 1e-3;

/// Sums over the steps so far, later ones with more weight.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AdaptiveDiagonal {
    squares: Vec<f64>,
    /// Of `|dz|^2 / n`.
    step: f64,
}

impl AdaptiveDiagonal {
    pub fn new(n: usize) -> Self {
        AdaptiveDiagonal { squares: vec![0.0; n], step: 0.0 }
    }

    pub fn size(&self) -> usize {
        self.squares.len()
    }

    /// Takes in a step.
    pub fn add(&mut self, curvature: Curvature) {
        self.step = KEEP * self.step + dot(curvature.dz, curvature.dz) / self.size() as f64;
        for (square, dl) in self.squares.iter_mut().zip(curvature.dl) {
            *square = KEEP * *square + dl * dl;
        }
    }

    /// The root of the mean square of all entries.
    pub fn size_of_entries(&self) -> f64 {
        (self.squares.iter().sum::<f64>() / self.size() as f64 / self.step).sqrt()
    }

    /// The entries, all of them between the bounds. They stay as they are until a step was seen.
    pub fn write(&self, (smallest, largest): (f64, f64), diagonal: &mut [f64]) {
        if self.step == 0.0 {
            return;
        }
        let smallest = smallest.max(FLATTEST * self.size_of_entries()).min(largest);
        for (h, square) in diagonal.iter_mut().zip(&self.squares) {
            *h = (square / self.step).sqrt().clamp(smallest, largest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_by_hand() {
        // f = 1/2 (4 x1^2 + x2^2): steps along both axes show its Hessian.
        let mut moments = AdaptiveDiagonal::new(2);
        moments.add(Curvature { dz: &[1.0, 1.0], dl: &[4.0, 1.0], noise: 0.0 });
        let mut h = [0.0; 2];
        moments.write((1e-8, 1e8), &mut h);
        assert_eq!(h, [4.0, 1.0]);
        assert_eq!(moments.size_of_entries(), (17.0f64 / 2.0).sqrt());
        // A second step of twice the length: (0.95 * 16 + 16) / (0.95 + 2) and (0.95 + 4) / (0.95 + 2).
        moments.add(Curvature { dz: &[0.0, 2.0], dl: &[4.0, 2.0], noise: 0.0 });
        moments.write((1e-8, 1e8), &mut h);
        assert!((h[0] - (31.2f64 / 2.95).sqrt()).abs() < 1e-15 && (h[1] - (4.95f64 / 2.95).sqrt()).abs() < 1e-15);
    }

    #[test]
    fn flat_variables_are_kept_from_leaping() {
        let mut moments = AdaptiveDiagonal::new(2);
        moments.add(Curvature { dz: &[1.0, 1.0], dl: &[2.0, 0.0], noise: 0.0 });
        let mut h = [0.0; 2];
        moments.write((1e-8, 1e8), &mut h);
        assert_eq!(h, [2.0, 1e-3 * 2.0f64.sqrt()]);
    }
}
