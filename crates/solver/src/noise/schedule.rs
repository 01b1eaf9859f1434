//! Batch sizes and momentum, iteration by iteration.

use crate::{Batch, Estimation, Estimator, Momentum, Schedule};

/// So many usual batches are the first one of recursive momentum, which goes on from it for long: four times as accurate, for what sixteen
/// iterations draw.
const FIRST_BATCHES: usize = 16;

/// What the paper's schedules look at, for one function.
#[derive(Clone, Copy, Debug)]
pub struct Situation {
    /// Iterations done.
    pub iteration: u64,
    /// Bound `sigma` on the error of a sample (times `sqrt(m)` for the Jacobian).
    pub sigma: f64,
    /// Lipschitz constant of the function.
    pub lipschitz: f64,
    /// `|x_k - x_{k-1}|`
    pub moved: f64,
    /// Whether the function is the value of the constraints, which the paper wants at `epsilon^2`.
    pub is_value: bool,
}

impl Estimation {
    /// The momentum `a`; none when the draws decide.
    pub(crate) fn a(&self, schedule: &Schedule) -> Option<f64> {
        match self.momentum {
            Momentum::Adaptive => None,
            Momentum::Constant { a } => Some(a),
            Momentum::Paper => Some(schedule.epsilon.min(1.0)),
        }
    }

    /// The first batch for a usual one: recursive momentum goes on from it for long.
    fn enlarged(&self, size: usize) -> usize {
        if self.estimator == Estimator::Momentum { size.saturating_mul(FIRST_BATCHES) } else { size }
    }

    /// No batch has more samples.
    pub(crate) fn largest_batch(&self) -> usize {
        let (usual, first) = match self.batch {
            Batch::Constant { size } => (size, self.enlarged(size)),
            Batch::Geometric { size, largest, .. } => (largest, self.enlarged(size.min(largest))),
            Batch::Paper { largest } => (largest, largest),
        };
        usual.max(self.first_batch.unwrap_or(first))
    }

    /// The number of samples.
    pub(crate) fn size(&self, schedule: &Schedule, now: &Situation) -> usize {
        let first = now.iteration == 0;
        if let (true, Some(size)) = (first, self.first_batch) {
            return size.max(1);
        }
        let enlarged = |size: usize| if first { self.enlarged(size) } else { size };
        match self.batch {
            Batch::Constant { size } => enlarged(size).max(1),
            Batch::Geometric { size, growth, largest } => {
                let grown = size as f64 * growth.powf(now.iteration as f64);
                enlarged((grown.min(largest as f64) as usize).max(1))
            }
            Batch::Paper { largest } => {
                let size = match self.estimator {
                    Estimator::Minibatch => minibatch(schedule, now),
                    Estimator::Momentum => momentum(schedule, now, self.a(schedule).unwrap_or(schedule.epsilon)),
                };
                // A size beyond any number becomes `largest`.
                (size.ceil().clamp(1.0, largest.max(1) as f64)) as usize
            }
        }
    }
}

/// (batch-mb): `9 sigma^2 log(1/gamma) / epsilon^2`, with `epsilon^2` in place of `epsilon` for values of the constraints.
fn minibatch(schedule: &Schedule, now: &Situation) -> f64 {
    let epsilon = if now.is_value { schedule.epsilon.powi(2) } else { schedule.epsilon };
    9.0 * now.sigma.powi(2) * (1.0 / schedule.gamma).ln() / epsilon.powi(2)
}

/// (rm_b0) at the start and (batch-rm) afterwards.
fn momentum(schedule: &Schedule, now: &Situation, a: f64) -> f64 {
    let log = (1.0 / schedule.gamma).ln().powi(2);
    let epsilon = schedule.epsilon;
    let noise = 81.0 * now.sigma.powi(2) * log;
    if now.iteration == 0 {
        return noise / epsilon.powi(2);
    }
    let motion = 324.0 * (now.lipschitz * now.moved).powi(2) * log / a;
    let (for_motion, for_noise) = if now.is_value { (4, 3) } else { (2, 1) };
    (motion / epsilon.powi(for_motion)).max(noise / epsilon.powi(for_noise))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_by_hand() {
        // log(1/gamma) = 2
        let schedule = Schedule { epsilon: 0.5, gamma: (-2.0f64).exp(), ..Schedule::default() };
        let now = Situation { iteration: 3, sigma: 2.0, lipschitz: 3.0, moved: 0.5, is_value: false };
        let paper = |estimator| Estimation {
            estimator,
            batch: Batch::Paper { largest: 1_000_000 },
            momentum: Momentum::Paper,
            ..Estimation::default()
        };
        let (mini, momentum) = (paper(Estimator::Minibatch), paper(Estimator::Momentum));
        assert_eq!(mini.size(&schedule, &now), 288); // 9 * 4 * 2 / 0.25
        assert_eq!(mini.size(&schedule, &Situation { is_value: true, ..now }), 1152);
        assert_eq!(momentum.size(&schedule, &Situation { iteration: 0, ..now }), 5184); // 81 * 4 * 4 / 0.25
        assert_eq!(momentum.size(&schedule, &now), 23328); // 324 * 2.25 * 4 / 0.5 / 0.25
        assert_eq!(momentum.size(&schedule, &Situation { moved: 0.0, ..now }), 2592); // 81 * 4 * 4 / 0.5
        let geometric = Estimation {
            batch: Batch::Geometric { size: 2, growth: 2.0, largest: 10 },
            estimator: Estimator::Minibatch,
            ..Estimation::default()
        };
        assert_eq!([0, 1, 2, 3].map(|iteration| geometric.size(&schedule, &Situation { iteration, ..now })), [2, 4, 8, 10]);
        assert_eq!(Estimation::default().size(&schedule, &Situation { iteration: 0, ..now }), 16);
    }
}
