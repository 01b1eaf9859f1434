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

#[cfg(test)]
pub mod by_hand {
    use super::*;
    use crate::matrix::{Jacobian, Matrix};
    use crate::{Metric, MetricKind};

    /// Two variables and dense rows, no slacks, the identity as metric, room for steps up to 10.
    pub struct Place {
        pub at: Iterate,
        pub room: Room,
        metric: CurrentMetric,
        clock: Clock,
    }

    impl Place {
        pub fn new(rows: &[[f64; 2]], h: &[f64], g: [f64; 2]) -> Self {
            let a = Matrix { values: rows.concat(), ..Matrix::dense(rows.len(), 2) };
            let mut at = Iterate::new(Jacobian { a, slack_rows: std::sync::Arc::from([]) });
            at.h.copy_from_slice(h);
            at.g.copy_from_slice(&g);
            let metric = CurrentMetric::new(2, 2, &Metric { kind: MetricKind::Identity, ..Metric::default() });
            let room = Room { lower: vec![-10.0; 2], upper: vec![10.0; 2] };
            Place { at, room, metric, clock: Clock::new(None, 0.0) }
        }

        pub fn frame(&self) -> Frame<'_> {
            Frame { at: &self.at, room: &self.room, metric: &self.metric, clock: &self.clock }
        }
    }

    pub fn assert_near(found: &[f64], wanted: &[f64]) {
        assert_eq!(found.len(), wanted.len());
        assert!(found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-8), "{found:?}, not {wanted:?}");
    }
}
