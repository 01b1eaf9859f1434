//! How many draws an estimate is worth, and the momentum that makes the most of it.
//!
//! Recursive momentum has the error `e_k = (1 - a) e_{k-1} + a n_k + d_k`, where `n_k` is the error of the batch at the previous point and
//! `d_k` that of the difference between both points. A batch of `B` draws has `E |n|^2 = S / B` and `E |d|^2 = K |x_k - x_{k-1}|^2 / B`.
//! If the estimate is worth `N` draws, `E |e|^2 = S / N`, the best momentum is `a = B / (N + B)`, and then
//!
//! ```text
//! 1 / N_k = 1 / (N_{k-1} + B) + (K / S) |x_k - x_{k-1}|^2 / B
//! ```
//!
//! When `S` changes along the way, as where samples agree the better a model fits, it is `E |e|^2` that stays: `N` changes with `S`. Otherwise an
//! estimate would be thought as good as draws from here when it is made of noisier ones from there.
//!
//! Where differences have no noise this is the plain average over all draws; where points are far apart it is the mini-batch. Only the
//! ratio `K / S` must be known: two halves of one batch show it.

use serde::{Deserialize, Serialize};

/// The share of the variance that a new comparison of halves replaces.
const FORGET: f64 = 0.1;

/// So many draws are as good as the expectation itself; a number that JSON knows, as infinity is none.
const ALL: f64 = 1e300;

/// The share of what the next batch gives that a move may cost.
const COST_OF_A_MOVE: f64 = 0.36;

/// What one estimate is worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EffectiveSamples {
    /// `N`
    draws: f64,
    /// `N` as it would be without exact passes.
    running: f64,
    /// `B` of the last batch
    batch: f64,
    /// `S` and `K`: weighted sums over the comparisons so far, with the same weights.
    variance: f64,
    drift: f64,
    /// The sum of the weights.
    weight: f64,
}

impl EffectiveSamples {
    /// `N`
    pub fn draws(&self) -> f64 {
        self.draws
    }

    /// `B` of the last batch.
    pub fn batch(&self) -> f64 {
        self.batch
    }

    /// A batch alone.
    pub fn start(&mut self, batch: usize) {
        self.batch = batch as f64;
        self.draws = self.batch;
        self.running = self.batch;
    }

    /// The estimate is the whole population's average: no draw can add to it until the point moves.
    pub fn make_exact(&mut self) {
        self.draws = ALL;
    }

    /// So many other draws at the same point join the estimate, which had none of them. Gives their share. As an exact pass they do not count
    /// for what limits moves.
    pub fn join(&mut self, draws: usize) -> f64 {
        let share = self.share_of(draws);
        self.draws += draws as f64;
        share
    }

    /// The share that so many other draws have together with the estimate.
    pub fn share_of(&self, draws: usize) -> f64 {
        draws as f64 / (self.draws + draws as f64)
    }

    /// The best momentum for a batch.
    pub fn momentum(&self, batch: usize) -> f64 {
        self.share_of(batch)
    }

    /// Two halves of a batch, of these sizes, differed by `difference` (square of the norm) at a point, and their differences to a point that
    /// is `moved` away by `drift`.
    pub fn compare(&mut self, sizes: [usize; 2], difference: f64, drift: f64, moved: f64) {
        let per_draw = 1.0 / (1.0 / sizes[0] as f64 + 1.0 / sizes[1] as f64);
        let (variance, drift) = (per_draw * difference, per_draw * drift / (moved * moved));
        if variance.is_finite() && drift.is_finite() {
            let before = self.variance_of_draw();
            self.variance = (1.0 - FORGET) * self.variance + variance;
            self.drift = (1.0 - FORGET) * self.drift + drift;
            self.weight = (1.0 - FORGET) * self.weight + 1.0;
            self.keep_error(self.variance_of_draw() / before);
        }
    }

    /// `S` is now this multiple of what it was thought to be, and the error of the estimate is what it was.
    fn keep_error(&mut self, factor: f64) {
        if factor > 0.0 && factor.is_finite() {
            self.draws = (self.draws * factor).min(ALL);
            self.running = (self.running * factor).min(ALL);
        }
    }

    /// `S`; 0 before the first comparison.
    fn variance_of_draw(&self) -> f64 {
        if self.weight > 0.0 { self.variance / self.weight } else { 0.0 }
    }

    /// The mean square error of the last batch's difference, per square of the distance: `K / B`.
    pub fn noise_of_difference(&self) -> f64 {
        if self.weight > 0.0 { self.drift / self.weight / self.batch.max(1.0) } else { 0.0 }
    }

    /// The mean square error of the estimate, `S / N`.
    pub fn error(&self) -> f64 {
        if self.weight > 0.0 { self.variance_of_draw() / self.draws } else { 0.0 }
    }

    /// How far a point may move without the estimate losing more than its share of what the next batch gives, which is
    /// `1 / N - 1 / (N + B)` or about `B / N^2`: so the estimate goes on getting better. An exact pass does not count: what it gave is there to be
    /// spent on moves.
    pub fn reach(&self) -> f64 {
        COST_OF_A_MOVE.sqrt() * self.batch / (self.running * self.ratio().sqrt())
    }

    /// `K / S`
    fn ratio(&self) -> f64 {
        if self.drift > 0.0 { self.drift / self.variance } else { 0.0 }
    }

    /// A batch was taken in with the momentum `a`, after the point had `moved`.
    pub fn advance(&mut self, a: f64, batch: usize, moved: f64) {
        let batch = batch as f64;
        self.batch = batch;
        let moves = self.ratio() * moved * moved / batch;
        let kept = if a < 1.0 { (1.0 - a).powi(2) / self.draws } else { 0.0 };
        self.draws = 1.0 / (kept + a * a / batch + moves);
        self.running = 1.0 / (1.0 / (self.running + batch) + moves);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_drift_it_is_the_plain_average() {
        let mut effective = EffectiveSamples::default();
        effective.start(16);
        for k in 0..10 {
            let a = effective.momentum(4);
            assert!((a - 4.0 / (16.0 + 4.0 * f64::from(k) + 4.0)).abs() < 1e-15);
            effective.advance(a, 4, 1.0);
        }
        assert!((effective.draws - 56.0).abs() < 1e-12);
    }

    #[test]
    fn drift_makes_old_draws_worth_less() {
        let mut effective = EffectiveSamples::default();
        effective.start(6);
        // Halves of 2 and 2: 1 / (1/2 + 1/2) = 1, so S = 8 and K = 3 / 0.5^2 = 12.
        effective.compare([2, 2], 8.0, 3.0, 0.5);
        assert_eq!(effective.noise_of_difference(), 12.0 / 6.0);
        assert!((effective.error() - 8.0 / 6.0).abs() < 1e-15);
        // K / S = 3/2 and B = N = 6: 3/2 reach^2 / 6 is the share of 6 / 6^2.
        assert!((1.5 * effective.reach().powi(2) / 6.0 - COST_OF_A_MOVE * 6.0 / 36.0).abs() < 1e-15);
        let a = effective.momentum(2);
        assert_eq!(a, 0.25);
        // 1/N = 1/8 + 12/8 * 0.5^2 / 2 = 1/8 + 3/16
        effective.advance(a, 2, 0.5);
        assert!((effective.draws - 16.0 / 5.0).abs() < 1e-14);
        // With a momentum of 1 only the batch counts.
        effective.advance(1.0, 2, 0.0);
        assert!((effective.draws - 2.0).abs() < 1e-14);
    }

    #[test]
    fn where_noise_falls_old_draws_are_worth_less_and_the_error_stays() {
        let mut effective = EffectiveSamples::default();
        effective.start(6);
        effective.compare([2, 2], 8.0, 3.0, 0.5);
        let error = effective.error();
        // A second comparison without noise: S falls from 8 to 8 * 0.9 / 1.9, and N with it.
        effective.compare([2, 2], 0.0, 3.0, 0.5);
        assert!((effective.draws() - 6.0 * 0.9 / 1.9).abs() < 1e-14);
        assert!((effective.error() - error).abs() < 1e-15);
        // New draws have the larger share of what comes next.
        assert!(effective.momentum(6) > 0.5);
        effective.make_exact();
        effective.compare([2, 2], 80.0, 3.0, 0.5);
        assert_eq!(effective.draws(), ALL, "no draws are worth more than all");
    }

    #[test]
    fn an_exact_estimate_loses_only_what_the_moves_cost() {
        let mut effective = EffectiveSamples::default();
        effective.start(6);
        effective.compare([2, 2], 8.0, 3.0, 0.5);
        effective.make_exact();
        assert!(effective.momentum(2) < 1e-299 && effective.error() < 1e-299);
        // K / S = 3/2: each move of 1/2 with B = 2 adds 3/2 / 4 / 2 = 3/16 to 1 / N, and nothing else does.
        for moves in 1..4 {
            effective.advance(0.0, 2, 0.5);
            assert!((effective.draws - 16.0 / (3.0 * f64::from(moves))).abs() < 1e-13);
        }
        // Without the pass it would be worth 1/N = 1/(6 + 2) + 3/16 after the first of them, and so on: that is what limits the next move.
        let running = (0..3).fold(6.0, |n: f64, _| 1.0 / (1.0 / (n + 2.0) + 3.0 / 16.0));
        assert!((effective.reach() - 0.6 * 2.0 / (running * 1.5f64.sqrt())).abs() < 1e-14);
    }

    #[test]
    fn other_draws_at_the_same_point_join_with_their_weight() {
        let mut effective = EffectiveSamples::default();
        effective.start(6);
        assert_eq!(effective.join(18), 0.75);
        assert_eq!((effective.draws, effective.running), (24.0, 6.0));
        assert_eq!(effective.momentum(8), 0.25);
    }

    #[test]
    fn points_without_noise_whose_difference_is_noisy_count_for_nothing() {
        let mut effective = EffectiveSamples::default();
        effective.start(6);
        effective.compare([1, 1], 0.0, 1.0, 1.0);
        effective.advance(effective.momentum(2), 2, 1.0);
        assert_eq!((effective.draws, effective.momentum(2)), (0.0, 1.0));
    }
}
