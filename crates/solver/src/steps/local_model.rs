//! Where a step is computed: the point, the bounds around it, the metric and the clock.

use crate::form::iterate::Iterate;
use crate::kernel::matrix::Matrix;
use crate::kernel::vector::norm;
use crate::metric::CurrentMetric;
use crate::run::clock::Clock;

/// The softness that keeps a least-squares problem well posed, relative to the size of `J J^T`.
const SOFTEST: f64 = 1e-10;

/// How much larger than what variables make of the Jacobian slacks may make it there.
const SLACKS: f64 = 100.0;

/// What both steps look at.
#[derive(Clone, Copy)]
pub struct LocalModel<'a> {
    pub at: &'a Iterate,
    pub bounds: &'a StepBounds,
    pub metric: &'a CurrentMetric,
    pub clock: &'a Clock,
}

impl LocalModel<'_> {
    /// The softness that keeps the least-squares problem of a normal step well posed: small beside the Jacobian, in which slacks, whose entries are 1, count for
    /// so much at most beside variables. Otherwise next to nothing could be removed of rows in small units.
    pub fn softest(&self) -> f64 {
        let jacobian = &self.at.jacobian;
        let (all, of_variables) = (jacobian.norm(), norm(&jacobian.a.values));
        let size = if of_variables > 0.0 { all.min(SLACKS * of_variables) } else { all };
        SOFTEST * size.powi(2) / self.at.h.len() as f64
    }
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

    /// The length of that part of a row whose columns may move such that a residual `h` of the row falls.
    pub fn repairing_part(&self, a: &Matrix, row: usize, h: f64) -> f64 {
        let values = a.row_values(row).iter().enumerate();
        let repairing = values.filter(|(k, value)| {
            let column = a.column(row, *k);
            if h * **value > 0.0 { self.lower[column] < 0.0 } else { self.upper[column] > 0.0 }
        });
        repairing.map(|(_, value)| value * value).sum::<f64>().sqrt()
    }
}

#[cfg(test)]
pub mod by_hand {
    use super::*;
    use crate::kernel::matrix::Jacobian;
    use crate::kernel::projection::Projection;
    use crate::kernel::system::Beside;
    use crate::run::memory::Budget;
    use crate::{Kernel, Metric, MetricKind};

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

        pub fn projection(&self, beside: Beside) -> Projection {
            Projection::new(&self.at.jacobian, &Kernel::default(), beside, Budget::NO_LIMIT, &self.clock).expect("it fits")
        }
    }

    pub fn assert_near(found: &[f64], wanted: &[f64]) {
        assert_eq!(found.len(), wanted.len());
        assert!(found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-8), "{found:?}, not {wanted:?}");
    }
}

#[cfg(test)]
mod tests {
    use super::SOFTEST;
    use super::by_hand::Place;

    #[test]
    fn slacks_say_little_of_how_softly_variables_repair() {
        // A row k (x + y): 1e-10 times 2 k^2, and with a slack's entry of -1 beside it 2 k^2 + 1, or 1e4 times 2 k^2 where that is less.
        for (k, slacks, expected) in [(1e-7, 0, 2e-14), (1.0, 1, 3.0), (0.1, 1, 1.02), (1e-7, 1, 2e-10), (0.0, 1, 1.0)] {
            let mut place = Place::new(&[[k, k]], &[2.0], [0.0; 2]);
            place.at.jacobian.slack_rows = vec![0; slacks].into();
            let found = place.local().softest() / SOFTEST;
            assert!((found / expected - 1.0).abs() < 1e-12, "{found} is not {expected}");
        }
    }

    #[test]
    fn columns_at_their_bounds_do_not_repair() {
        // 3 u1 + 4 u2 = -h: a positive residual needs steps down, a negative one steps up.
        let mut place = Place::new(&[[3.0, 4.0]], &[1.0], [0.0; 2]);
        assert_eq!(place.bounds.repairing_part(&place.at.jacobian.a, 0, 1.0), 5.0);
        place.bounds.lower[1] = 0.0;
        assert_eq!(place.bounds.repairing_part(&place.at.jacobian.a, 0, 1.0), 3.0);
        assert_eq!(place.bounds.repairing_part(&place.at.jacobian.a, 0, -1.0), 5.0);
        place.bounds.upper[0] = 0.0;
        assert_eq!(place.bounds.repairing_part(&place.at.jacobian.a, 0, -1.0), 4.0);
    }
}
