//! When a noisy run is judged, on how many samples, and what follows from it.

use tangor_problem::{Access, Accesses, Meta, SampledProblem};

use crate::form::oracle::Trouble;
use crate::form::quantity::Quantity;
use crate::judging::events::{risk_of_events, telling};
use crate::judging::judgements::Judgements;
use crate::judging::standing::Standing;
use crate::solver::Solver;
use crate::{Judge, Settings, Stop, Unusual, Verdict};

/// Samples of a judgement that follow from those of the run are no more than this: a count in a state that somebody forged, or that of a very
/// long run, must not cost all memory.
const MOST_BY_SHARE: f64 = 1e6;

/// A judgement takes this share of the samples that the run has taken: fresh ones cost the run little then, and their noise, about three times that of
/// all samples together, falls as the run gets longer.
const SHARE: f64 = 0.1;

/// What the last judgement takes is kept for it where it is no more than this share of all that there may be: without it nothing can be claimed, but
/// a run that has little left to step with has nothing to claim either.
const KEPT: f64 = 0.5;

/// Whether so much is kept for the last judgement from the start on, where there may be no more than `most` in all.
pub fn is_kept(needed: f64, most: u64) -> bool {
    needed <= KEPT * most as f64
}

/// The samples of each function that are laid by for the last judgement, so that it can tell of events; none where limits leave too few beside them.
pub fn laid_by(meta: &Meta, accesses: Accesses, settings: &Settings) -> Option<[usize; 3]> {
    let (limits, judge) = (&settings.limits, &settings.sampling.judge);
    let sizes = sizes_that_tell(meta, accesses, judge, risk_of_events(judge.confidence, 1, true));
    let needed = sizes.map(|size| size as f64);
    let each = [limits.gradient_samples, limits.constraint_samples, limits.jacobian_samples];
    let leaves = |needed: f64, limit: Option<u64>| limit.is_none_or(|most| is_kept(needed, most));
    let all_leave =
        leaves(needed.iter().sum(), limits.samples) && needed.into_iter().zip(each).all(|(n, most)| leaves(n, most));
    all_leave.then_some(sizes)
}

/// The samples of each function among which an event that matters is missing with this risk at most; none of one without noise.
fn sizes_that_tell(meta: &Meta, accesses: Accesses, judge: &Judge, risk: f64) -> [usize; 3] {
    let wanted = telling(risk, judge.rarest).next_multiple_of(judge.batches);
    Quantity::ALL.map(|quantity| match quantity.access(accesses) {
        access if quantity.is_needed(meta) && access.is_sampled() => of_population(access, wanted),
        _ => 0,
    })
}

/// No more than there are: the whole population is exact.
fn of_population(access: Access, wanted: usize) -> usize {
    match access {
        Access::Finite(size) => wanted.min(usize::try_from(size).unwrap_or(usize::MAX)),
        Access::Endless | Access::Exact => wanted,
    }
}

/// What follows from a judgement.
enum Sequel {
    GoesOn,
    Ends(Stop),
    /// The run is at its noise floor, and nothing but noise stands between the point and a claim.
    OnlyNoise,
}

/// How many iterations after one judgement the next one is due.
fn pause(every: u64, last: u64) -> u64 {
    every.max(last / 4)
}

/// The most looks that a run within its limit on iterations takes: two whenever one is due, the second one where the first lacks events, and two
/// at its end.
pub fn most_looks(settings: &Settings) -> u64 {
    let (every, mut due, mut looks) = (settings.sampling.judge.every, 0u64, 2);
    while every > 0 && due < settings.limits.iterations {
        due = due.saturating_add(pause(every, due));
        looks += 2;
    }
    looks
}

impl<S: SampledProblem> Solver<S> {
    /// How the judgements of the run stand; an exact one has none.
    pub(crate) fn judgements(&self) -> Option<&Judgements> {
        self.noisy.as_ref().map(|noisy| &noisy.judge.judgements)
    }

    fn judgements_mut(&mut self) -> Option<&mut Judgements> {
        self.noisy.as_mut().map(|noisy| &mut noisy.judge.judgements)
    }

    /// The iteration of the latest judgement whose time had come.
    fn last_due(&self) -> u64 {
        self.judgements().map_or(0, |judgements| judgements.due)
    }

    /// Judges the point when its time has come. Gives the reason when the run should end.
    pub(crate) fn judge_if_due(&mut self, last: bool, unusual: &mut Unusual) -> Option<Stop> {
        if self.judgements()?.were_at(self.state.progress.iteration) {
            return None;
        }
        match self.look(last || self.judge_is_due(), last, unusual)? {
            Sequel::GoesOn => None,
            Sequel::Ends(stop) => Some(stop),
            // Here the run ends: once more, on as many samples as the last judgement has.
            Sequel::OnlyNoise => match self.look(true, true, unusual) {
                Some(Sequel::Ends(stop)) => Some(stop),
                _ => Some(Stop::NoiseFloor),
            },
        }
    }

    /// One judgement, if it is `due` or an exact pass pays, and limits allow it.
    fn look(&mut self, due: bool, last: bool, unusual: &mut Unusual) -> Option<Sequel> {
        let pays = self.exact_pass_pays();
        let sizes = Quantity::ALL.map(|quantity| match pays {
            true => self.population(quantity),
            false => self.samples_of_judgement(quantity, last, quantity.samples(self.oracle.samples())),
        });
        if !(due || pays)
            || !(last && !pays || self.affords(sizes.map(|size| size as u64)))
            || !self.affords_judgement(sizes, last)
        {
            return None;
        }
        let iteration = self.state.progress.iteration;
        self.judgements_mut()?.begin(iteration, due);
        self.beginning.keep(&self.outcome.best, &self.state.row_sizes);
        let verdict = match self.judge_until_events_tell(sizes, last, unusual) {
            Ok(Some(verdict)) => verdict,
            // The step that comes next ends the run.
            Ok(None) => return None,
            Err(trouble) => return Some(Sequel::Ends(self.fail(trouble))),
        };
        self.hear(verdict, due, last)
    }

    /// Takes a verdict in: which point is kept, and whether the run goes on.
    fn hear(&mut self, verdict: Verdict, due: bool, last: bool) -> Option<Sequel> {
        let tolerance = self.settings.tolerance.clone();
        let (score, noise) = verdict.score(&tolerance);
        let least = self.outcome.best.least.unwrap_or(f64::INFINITY);
        let rarest = self.settings.sampling.judge.rarest;
        let (holds, stuck) = (verdict.holds(&tolerance, rarest), verdict.is_infeasible_stationary(&tolerance, rarest));
        let above = verdict.residuals(&tolerance).iter().any(|judged| judged.standing() == Standing::Above);
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
        self.outcome.hear(&verdict, stuck && escapes.may_go_on(self.settings.limits.escapes));
        if let (true, Some(noisy)) = (is_kept, &self.noisy) {
            self.outcome.best.keep_judged(verdict, &noisy.judge.judged, &self.judging.kkt, &self.oracle);
        }
        self.outcome.best.compare_score(score);
        let better = score < least - noise;
        if holds || stuck {
            return Some(self.another_start_or_end());
        }
        let effective = self.oracle.estimates.effective_samples();
        let judged = self.judgements_mut()?;
        judged.compare(better, due);
        // Estimates that still gain accuracy get twice the patience: the judge may not see it yet.
        let growing = due && judged.see_growth(effective);
        let stale = judged.stale;
        let patience = self.settings.sampling.judge.patience * if growing { 2 } else { 1 };
        Some(match due && patience > 0 && stale >= patience {
            false => Sequel::GoesOn,
            // A start that was to lead out of a stationary point of the violation has led nowhere.
            true if !last && self.state.progress.escapes.is_looking() => {
                self.outcome.stuck = self.state.progress.escapes.may_go_on(self.settings.limits.escapes);
                self.another_start_or_end()
            }
            true if last || above => Sequel::Ends(Stop::NoiseFloor),
            true => Sequel::OnlyNoise,
        })
    }

    /// Whether another start is due, or what was found is the end.
    fn another_start_or_end(&self) -> Sequel {
        if self.outcome.stuck { Sequel::GoesOn } else { Sequel::Ends(Stop::Tolerance) }
    }

    /// Judges the point, and once more on as many samples as tell of rare events, where nothing else is missing and the limits allow so many.
    /// Where they do not, nothing is claimed.
    fn judge_until_events_tell(
        &mut self,
        sizes: [usize; 3],
        last: bool,
        unusual: &mut Unusual,
    ) -> Result<Option<Verdict>, Trouble> {
        let Some(verdict) = self.judge(sizes, last, unusual)? else { return Ok(None) };
        let judge = &self.settings.sampling.judge;
        let lacks_only_events = verdict.lacks_only_events(&self.settings.tolerance, judge.rarest, last);
        let look = self.judgements().map_or(0, |judgements| judgements.looks) + 1;
        let risk = risk_of_events(judge.confidence, look, last);
        let telling = sizes_that_tell(self.oracle.meta(), self.oracle.problem.accesses(), judge, risk);
        let larger = [0, 1, 2].map(|k| telling[k].max(sizes[k]));
        let more = larger.map(|size| size as u64);
        let affords = if last { self.is_within_limits(more, |_, _| 0) } else { self.affords(more) };
        if lacks_only_events && larger != sizes && affords && self.affords_judgement(larger, last) {
            return Ok(self.judge(larger, last, unusual)?.or(Some(verdict)));
        }
        Ok(Some(verdict))
    }

    /// Whether the limits allow so many more samples of each function, and the last judgement after them.
    pub(crate) fn affords(&self, more: [u64; 3]) -> bool {
        self.is_within_limits(more, |quantity, then| self.samples_of_judgement(quantity, true, then) as u64)
    }

    /// Whether the limits allow so many more samples of each function, and what comes after them.
    fn is_within_limits(&self, more: [u64; 3], after: impl Fn(Quantity, u64) -> u64) -> bool {
        let limits = &self.settings.limits;
        let each = [limits.gradient_samples, limits.constraint_samples, limits.jacobian_samples];
        let mut all = 0;
        for ((quantity, more), limit) in Quantity::ALL.into_iter().zip(more).zip(each) {
            let then = quantity.samples(self.oracle.samples()).saturating_add(more);
            let then = then.saturating_add(after(quantity, then));
            if limit.is_some_and(|most| then > most) {
                return false;
            }
            all += then;
        }
        limits.samples.is_none_or(|most| all <= most)
    }

    /// Whether another iteration and the last judgement would take more samples than there may be, of one function or of all.
    pub(crate) fn samples_are_spent(&self) -> bool {
        self.noisy.is_some() && !self.affords(Quantity::ALL.map(|quantity| self.oracle.estimates.next_samples(quantity)))
    }

    /// Whether the time for a judgement has come.
    pub(crate) fn judge_is_due(&self) -> bool {
        let (every, last) = (self.settings.sampling.judge.every, self.last_due());
        every > 0 && self.state.progress.iteration >= last.saturating_add(pause(every, last))
    }

    /// Fresh samples of a function for a judgement: as many as was set, or a tenth of those since the last judgement if that is more;
    /// for the `last` one a tenth of all. Where samples are limited, only that tenth: judgements must not eat up what the run is to
    /// live on, and what was laid by for the last one.
    pub(crate) fn samples_of_judgement(&self, quantity: Quantity, last: bool, so_far: u64) -> usize {
        let access = quantity.access(self.oracle.problem.accesses());
        if !quantity.is_needed(self.oracle.meta()) || !access.is_sampled() {
            return 0;
        }
        let since = self.state.progress.iteration.saturating_sub(self.last_due());
        let share = if last { 1.0 } else { since as f64 / self.state.progress.iteration.max(1) as f64 };
        let (limits, judge) = (&self.settings.limits, &self.settings.sampling.judge);
        let limited = [limits.samples, limits.gradient_samples, limits.constraint_samples, limits.jacobian_samples];
        let laid_by = self.noisy.as_ref().and_then(|noisy| noisy.judge.laid_by);
        let least = match (limited.iter().any(Option::is_some), laid_by) {
            (false, _) => judge.samples,
            (true, Some(sizes)) if last => sizes[quantity as usize],
            (true, _) => judge.batches.min(judge.samples),
        };
        let wanted = least.max((SHARE * share * so_far as f64).min(MOST_BY_SHARE) as usize).next_multiple_of(judge.batches);
        of_population(access, wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_looks_by_hand() {
        let mut settings = Settings::default();
        let mut looks = |every: u64, iterations: u64| {
            (settings.sampling.judge.every, settings.limits.iterations) = (every, iterations);
            most_looks(&settings)
        };
        assert_eq!(looks(0, 1000), 2, "only at the end");
        // At 100, 200, 300, 400, 500 and, since a quarter of 500 is more than 100, at 625, 781 and 976.
        assert_eq!(looks(100, 976), 2 * 8 + 2);
        // Pauses grow with the run: even without any limit there are few.
        assert!(looks(1, u64::MAX) < 500);
    }
}
