//! How large the gradients of rows have been: what a gradient that has vanished is small relative to.

use serde::{Deserialize, Serialize};

/// A point whose violation is larger by more than this factor is an excursion, and says nothing of the rows here.
const EXCURSION: f64 = 10.0;

/// Norms of the rows of the Jacobian, in the user's scale.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RowSizes {
    /// The largest of all points.
    pub largest: Vec<f64>,
    /// The largest of those points that are about as much violated as the least violated of them.
    pub near: Vec<f64>,
    /// The least violation of these points; none before the first.
    least: Option<f64>,
}

impl RowSizes {
    pub fn new(m: usize) -> Self {
        RowSizes { largest: vec![0.0; m], near: vec![0.0; m], least: None }
    }

    /// Takes in a point with this violation. The same point twice changes nothing.
    pub fn see(&mut self, violation: f64, sizes: &[f64]) {
        raise(&mut self.largest, sizes);
        let least = self.least.unwrap_or(f64::INFINITY);
        if EXCURSION * violation < least {
            // What was near until now is an excursion, seen from here.
            self.near.fill(0.0);
        }
        if violation <= EXCURSION * least {
            raise(&mut self.near, sizes);
            self.least = Some(least.min(violation));
        }
    }
}

fn raise(largest: &mut [f64], sizes: &[f64]) {
    largest.iter_mut().zip(sizes).for_each(|(largest, size)| *largest = largest.max(*size));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excursion_does_not_count() {
        let mut sizes = RowSizes::new(1);
        sizes.see(100.0, &[50.0]);
        assert_eq!(sizes.near, [50.0]);
        // A ninth of the violation is near, a hundredth is not.
        sizes.see(11.0, &[7.0]);
        assert_eq!(sizes.near, [50.0]);
        sizes.see(1.0, &[2.0]);
        assert_eq!(sizes.near, [2.0]);
        sizes.see(1e9, &[1e20]);
        assert_eq!((sizes.near[0], sizes.largest[0]), (2.0, 1e20));
        sizes.see(9.0, &[3.0]);
        assert_eq!(sizes.near, [3.0]);
    }
}
