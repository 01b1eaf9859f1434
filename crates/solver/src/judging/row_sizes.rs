//! How large the gradients of rows have been: what a gradient that has vanished is small relative to.

use serde::{Deserialize, Serialize};

/// Points whose violations differ by more than this factor are not near each other; what is kept of them is kept in two steps of its root.
const EXCURSION: f64 = 10.0;

/// Norms of the rows of the Jacobian, in the user's scale.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RowSizes {
    /// The largest of all points.
    pub largest: Vec<f64>,
    /// Without variables that a bound holds: the largest of those points that are about as much violated as the least violated of them: by no more than `within`, which is at
    /// most [`EXCURSION`] times the least. A violation may fall a little in each of many steps: what was near at first is not in the end.
    pub near: Vec<f64>,
    /// The largest of those that are violated by less than `within` by a root of [`EXCURSION`]: what `near` will be when `within` falls.
    pub nearer: Vec<f64>,
    /// None before the first point.
    within: Option<f64>,
}

impl RowSizes {
    pub fn new(m: usize) -> Self {
        RowSizes { largest: vec![0.0; m], near: vec![0.0; m], nearer: vec![0.0; m], within: None }
    }

    /// Whether all of its vectors are of so many rows.
    pub fn are_of(&self, m: usize) -> bool {
        [&self.largest, &self.near, &self.nearer].into_iter().all(|sizes| sizes.len() == m)
    }

    /// Becomes another one of as many rows, in its own memory.
    pub fn copy_from(&mut self, other: &RowSizes) {
        self.largest.copy_from_slice(&other.largest);
        self.near.copy_from_slice(&other.near);
        self.nearer.copy_from_slice(&other.nearer);
        self.within = other.within;
    }

    /// Takes in a point with this violation: the norms of its rows, and those without the variables that a bound holds. The same point twice
    /// changes nothing.
    pub fn see(&mut self, violation: f64, all: &[f64], sizes: &[f64]) {
        raise(&mut self.largest, all);
        if !violation.is_finite() {
            return;
        }
        let step = EXCURSION.sqrt();
        let mut within = self.within.unwrap_or(step * violation);
        if EXCURSION * violation < within {
            std::mem::swap(&mut self.near, &mut self.nearer);
            self.nearer.fill(0.0);
            within /= step;
        }
        if EXCURSION * violation < within {
            // What was near until now is an excursion, seen from here.
            self.near.fill(0.0);
            within = step * violation;
        }
        if violation <= within {
            raise(&mut self.near, sizes);
        }
        if step * violation <= within {
            raise(&mut self.nearer, sizes);
        }
        self.within = Some(within);
    }
}

fn raise(largest: &mut [f64], sizes: &[f64]) {
    largest.iter_mut().zip(sizes).for_each(|(largest, size)| *largest = largest.max(*size));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No variable is held.
    fn see(sizes: &mut RowSizes, violation: f64, norms: &[f64]) {
        sizes.see(violation, norms, norms);
    }

    #[test]
    fn an_excursion_does_not_count() {
        let mut sizes = RowSizes::new(1);
        see(&mut sizes, 100.0, &[50.0]);
        assert_eq!(sizes.near, [50.0]);
        // A violation of 11 is near to one of 100, one of 1 is not.
        see(&mut sizes, 11.0, &[7.0]);
        assert_eq!(sizes.near, [50.0]);
        see(&mut sizes, 1.0, &[2.0]);
        assert_eq!(sizes.near, [2.0]);
        see(&mut sizes, 1e9, &[1e20]);
        assert_eq!((sizes.near[0], sizes.largest[0]), (2.0, 1e20));
        see(&mut sizes, 3.0, &[3.0]);
        assert_eq!(sizes.near, [3.0]);
        see(&mut sizes, f64::NAN, &[9.0]);
        assert_eq!(sizes.near, [3.0]);
    }

    #[test]
    fn what_was_near_is_forgotten_however_slowly_the_violation_falls() {
        // Newton's method for `x^2 = 0` with violation `4^-k` and slope `2^-k`: of all slopes, those with at most ten times the violation are near.
        let mut sizes = RowSizes::new(1);
        for k in 0..30 {
            see(&mut sizes, 0.25f64.powi(k), &[0.5f64.powi(k)]);
            let ratio = sizes.near[0] / 0.5f64.powi(k);
            assert!((1.0..=EXCURSION.sqrt()).contains(&ratio), "after {k} steps: {ratio}");
        }
        assert_eq!(sizes.largest, [1.0]);
    }
}
