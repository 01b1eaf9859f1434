//! Where a step is computed: the point, the bounds around it, the metric and the clock.

use crate::clock::Clock;
use crate::iterate::Iterate;
use crate::metric::CurrentMetric;

/// What both steps look at.
#[derive(Clone, Copy)]
pub struct Frame<'a> {
    pub at: &'a Iterate,
    pub room: &'a Room,
    pub metric: &'a CurrentMetric,
    pub clock: &'a Clock,
}

/// How far a step may go: bounds on a displacement from the current point.
pub struct Room {
    pub lower: Vec<f64>,
    pub upper: Vec<f64>,
}

impl Room {
    pub fn new(columns: usize) -> Self {
        Room { lower: vec![0.0; columns], upper: vec![0.0; columns] }
    }

    /// `lower - z <= s <= upper - z`
    pub fn around(&mut self, z: &[f64], lower: &[f64], upper: &[f64]) {
        for i in 0..z.len() {
            self.lower[i] = lower[i] - z[i];
            self.upper[i] = upper[i] - z[i];
        }
    }
}
