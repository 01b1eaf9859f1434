//! When a noisy run is judged, on how many samples, and what follows from it.

use tangor_problem::{Access, SampledProblem};

use crate::form::quantity::Quantity;
use crate::solver::Solver;
use crate::{Stop, Unusual};

/// Samples of a judgement that follow from those of the run are no more than this: a count in a state that somebody forged, or that of a very
/// long run, must not cost all memory.
const MOST_BY_SHARE: f64 = 1e6;

impl<S: SampledProblem> Solver<S> {
    /// Judges the point when its time has come. Gives the reason when the run should end.
    pub(crate) fn judge_if_due(&mut self, last: bool, unusual: &mut Unusual) -> Option<Stop> {
        if self.state.progress.judged.at == Some(self.state.progress.iteration) {
            return None;
        }
        let (due, pays) = (last || self.judge_is_due(), self.exact_pass_pays());
        let sizes = Quantity::ALL.map(|source| match pays {
            true => self.population(source),
            false => self.samples_of_judgement(source, last, source.samples(self.oracle.samples())),
        });
        if !(due || pays) || !(last && !pays || self.affords(sizes.map(|size| size as u64))) {
            return None;
        }
        let judged = &mut self.state.progress.judged;
        judged.at = Some(self.state.progress.iteration);
        if due {
            judged.due = self.state.progress.iteration;
        }
        self.beginning.keep(&self.outcome.best);
        let verdict = match self.judge(sizes, last, unusual) {
            Ok(Some(verdict)) => verdict,
            // The step that comes next ends the run.
            Ok(None) => return None,
            Err(trouble) => {
                return Some(self.fail(trouble));
            }
        };
        self.outcome.judged = Some(verdict.values().into());
        let tolerance = self.settings.tolerance.clone();
        let (score, noise) = verdict.score(&tolerance);
        let least = self.outcome.best.least.unwrap_or(f64::INFINITY);
        let (holds, stuck) = (verdict.holds(&tolerance), verdict.is_infeasible_stationary(&tolerance));
        let escapes = &mut self.state.progress.escapes;
        let got_out = escapes.pass(verdict.feasibility.upper);
        // What the run was after is kept. So is a later point that cannot be told from the best: of many equal ones, the luckiest is
        // not the best. While the run looks for a way out of a stationary point of the violation, none that is farther off is.
        let is_good = match escapes.is_looking() {
            true => stuck && escapes.is_level(verdict.feasibility.value),
            false => stuck || got_out || score <= least + noise,
        };
        let is_kept = holds || self.outcome.best.verdict.is_none() || is_good;
        if stuck {
            escapes.stuck(verdict.feasibility.value);
        }
        self.outcome.stuck = stuck && escapes.may_go_on(self.settings.limits.escapes);
        if let (true, Some(noisy)) = (is_kept, &self.noisy) {
            self.outcome.best.keep_judged(verdict, &noisy.judge.judged, &self.judging.kkt, &self.oracle);
        }
        self.outcome.best.least = Some(score.min(least)).filter(|least| least.is_finite());
        let better = score < least - noise;
        if holds || stuck {
            return (!self.outcome.stuck).then_some(Stop::Tolerance);
        }
        if better {
            self.state.progress.judged.stale = 0;
        } else if due {
            self.state.progress.judged.stale += 1;
        }
        if !due {
            return None;
        }
        // Estimates that still gain accuracy get twice the patience: the judge may not see it yet.
        let worth = self.oracle.estimates.worth();
        let growing = worth > 1.1 * std::mem::replace(&mut self.state.progress.judged.worth, worth);
        let patience = self.settings.sampling.judge.patience * if growing { 2 } else { 1 };
        (patience > 0 && self.state.progress.judged.stale >= patience).then_some(Stop::NoiseFloor)
    }

    /// Whether the limits allow so many more samples of each function, and the last judgement after them.
    pub(crate) fn affords(&self, more: [u64; 3]) -> bool {
        let limits = &self.settings.limits;
        let each = [limits.gradient_samples, limits.constraint_samples, limits.jacobian_samples];
        let mut all = 0;
        for ((source, more), limit) in Quantity::ALL.into_iter().zip(more).zip(each) {
            let then = source.samples(self.oracle.samples()).saturating_add(more);
            let then = then.saturating_add(self.samples_of_judgement(source, true, then) as u64);
            if limit.is_some_and(|most| then > most) {
                return false;
            }
            all += then;
        }
        limits.samples.is_none_or(|most| all <= most)
    }

    /// Whether another iteration and the last judgement would take more samples than there may be, of one function or of all.
    pub(crate) fn samples_are_spent(&self) -> bool {
        self.noisy.is_some() && !self.affords(Quantity::ALL.map(|source| self.oracle.estimates.next_samples(source)))
    }

    /// Whether the time for a judgement has come.
    pub(crate) fn judge_is_due(&self) -> bool {
        let (every, last) = (self.settings.sampling.judge.every, self.state.progress.judged.due);
        every > 0 && self.state.progress.iteration >= last + every.max(last / 4)
    }

    /// Fresh samples of a function for a judgement: as many as was set, or a tenth of those since the last judgement if that is more;
    /// for the `last` one a tenth of all. Where samples are limited, only that tenth: judgements must not eat up what the run is to
    /// live on. No more than there are: the whole population is exact.
    pub(crate) fn samples_of_judgement(&self, source: Quantity, last: bool, so_far: u64) -> usize {
        let access = source.access(self.oracle.problem.accesses());
        if !source.is_needed(self.oracle.meta()) || !access.is_sampled() {
            return 0;
        }
        let since = self.state.progress.iteration.saturating_sub(self.state.progress.judged.due);
        let share = if last { 1.0 } else { since as f64 / self.state.progress.iteration.max(1) as f64 };
        let (limits, judge) = (&self.settings.limits, &self.settings.sampling.judge);
        let limited = [limits.samples, limits.gradient_samples, limits.constraint_samples, limits.jacobian_samples];
        let least = if limited.iter().any(Option::is_some) { judge.batches.min(judge.samples) } else { judge.samples };
        let wanted = least.max((0.1 * share * so_far as f64).min(MOST_BY_SHARE) as usize).next_multiple_of(judge.batches);
        match access {
            Access::Finite(size) => wanted.min(usize::try_from(size).unwrap_or(usize::MAX)),
            Access::Endless | Access::Exact => wanted,
        }
    }
}
