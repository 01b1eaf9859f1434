//! Where a step is computed: the point, the bounds around it, the metric and the clock.

use crate::form::iterate::Iterate;
use crate::metric::CurrentMetric;
use crate::run::clock::Clock;

/// What both steps look at.
#[derive(Clone, Copy)]
pub struct LocalModel<'a> {
    pub at: &'a Iterate,
    pub bounds: &'a StepBounds,
    pub metric: &'a CurrentMetric,
    pub clock: &'a Clock,
}

/// How far a step may go: bounds on a displacement from the current point.
pub struct StepBounds {
    pub lower: Vec<f64>,
    pub upper: Vec<f64>,
}

impl StepBounds {
    pub fn new(columns: usize) -> Self {
        StepBounds { lower: vec![0.0; columns], upper: vec![0.0; columns] }
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
    use crate::kernel::matrix::{Jacobian, Matrix};
    use crate::{Metric, MetricKind};

    /// Two variables and dense rows, no slacks, the identity as metric, bounds of 10 on steps.
    pub struct Place {
        pub at: Iterate,
        pub bounds: StepBounds,
        pub metric: CurrentMetric,
        clock: Clock,
    }

    impl Place {
        pub fn new(rows: &[[f64; 2]], h: &[f64], g: [f64; 2]) -> Self {
            let a = Matrix { values: rows.concat(), ..Matrix::dense(rows.len(), 2) };
            let mut at = Iterate::new(Jacobian { a, slack_rows: std::sync::Arc::from([]) });
            at.h.copy_from_slice(h);
            at.g.copy_from_slice(&g);
            let metric = CurrentMetric::new(2, 2, &Metric { kind: MetricKind::Identity, ..Metric::default() }, false, false);
            let bounds = StepBounds { lower: vec![-10.0; 2], upper: vec![10.0; 2] };
            Place { at, bounds, metric, clock: Clock::new(None, 0.0) }
        }

        pub fn local(&self) -> LocalModel<'_> {
            LocalModel { at: &self.at, bounds: &self.bounds, metric: &self.metric, clock: &self.clock }
        }
    }

    pub fn assert_near(found: &[f64], wanted: &[f64]) {
        assert_eq!(found.len(), wanted.len());
        assert!(found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-8), "{found:?}, not {wanted:?}");
    }
}
