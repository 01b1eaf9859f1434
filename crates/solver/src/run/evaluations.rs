//! The limit on evaluations: whatever a run is about to do, it holds before. The problem itself refuses what is beyond it; a noisy run asks
//! before each batch, so that nothing is drawn in vain, and keeps what its last judgement takes.

use tangor_problem::SampledProblem;

use crate::form::quantity::Quantity;
use crate::judging::looks::is_kept;
use crate::noise::estimator::Learning;
use crate::solver::Solver;

/// The correction of exact rows evaluates the constraints once more.
const OF_CORRECTION: u64 = 1;

impl<S: SampledProblem> Solver<S> {
    /// Whether no iteration is within the limit any more.
    pub(crate) fn evaluations_are_spent(&self) -> bool {
        match &self.noisy {
            None => self.oracle.problem.evaluations_left() == Some(0),
            Some(_) => !self.affords_step(Learning::AGAIN),
        }
    }

    /// Whether the evaluations of an attempt at a noisy step are within the limit.
    pub(crate) fn affords_step(&self, learning: Learning) -> bool {
        let needed = self.oracle.estimates.most_evaluations(self.oracle.meta(), learning);
        self.affords_evaluations(needed + OF_CORRECTION)
    }

    /// Whether those of a judgement on so many samples are; the `last` one takes what was kept for it.
    pub(crate) fn affords_judgement(&self, sizes: [usize; 3], last: bool) -> bool {
        let needed = self.evaluations_of_judgement(sizes);
        match last {
            true => self.oracle.problem.evaluations_left().is_none_or(|left| needed <= left),
            false => self.affords_evaluations(needed),
        }
    }

    /// Whether so many are, and those of the last judgement after them.
    fn affords_evaluations(&self, more: u64) -> bool {
        let Some(left) = self.oracle.problem.evaluations_left() else { return true };
        more.saturating_add(self.kept_for_last_judgement()) <= left
    }

    fn kept_for_last_judgement(&self) -> u64 {
        let most = self.settings.limits.evaluations.unwrap_or(u64::MAX);
        let samples = self.oracle.samples();
        let sizes = Quantity::ALL.map(|quantity| self.samples_of_judgement(quantity, true, quantity.samples(samples)));
        let needed = self.evaluations_of_judgement(sizes);
        if is_kept(needed as f64, most) { needed } else { 0 }
    }

    /// What a judgement evaluates: each batch of each function, with the values of the objective, and what has no noise once. Where the range of
    /// the constraints is known, each sample of them on its own.
    fn evaluations_of_judgement(&self, sizes: [usize; 3]) -> u64 {
        let (judge, meta) = (&self.settings.sampling.judge, self.oracle.meta());
        let needed = Quantity::ALL.into_iter().zip(sizes).filter(|(quantity, _)| quantity.is_needed(meta));
        let each = needed.map(|(quantity, size)| {
            let times = match quantity {
                _ if self.is_whole(quantity, size) => 1,
                Quantity::Constraints if judge.range.is_some() => size.next_multiple_of(judge.batches),
                _ => judge.batches,
            };
            times as u64 * if quantity == Quantity::Gradient { 2 } else { 1 }
        });
        each.sum()
    }
}
