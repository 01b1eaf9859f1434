//! The search for the bounds that hold: from a guess, all wrong columns change over as long as they become fewer, the last few are settled one by one, and
//! the rows are refined until they hold.

use crate::kernel::projection::{AS_GOOD_AS_IT_GETS, Projected, Projection};
use crate::kernel::subproblem::{BoundStatus, Subproblem};
use crate::kernel::vector::norm;
use crate::run::clock::Clock;

/// The proximal term `kappa'`, relative to the size of a row: the first, the least and the most.
const PROXIMAL: f64 = 1e-9;
const LEAST_PROXIMAL: f64 = 1e-14;
const MOST_PROXIMAL: f64 = 1e-5;

/// So often all columns may change over although their number does not fall.
const TRIES: u32 = 1;

/// So often one system may serve, as long as it leaves at most this share of what rows miss; with more than the second share a smaller proximal
/// term would do better than the same system.
const REFINEMENTS: u32 = 5;
const REFINES: f64 = 0.5;
const REFINES_WELL: f64 = 0.1;

/// So many wrong columns are settled one by one; more must become fewer by a quarter with every system.
const FEW: usize = 25;

/// So many systems are allowed for each column that is settled by itself, and so often columns are settled in one search: where rounding makes them
/// wrong again, it always will.
const SYSTEMS_PER_COLUMN: u32 = 6;
const MOST_SETTLED: u32 = 2;

/// By how much the proximal term falls where rows do not hold, and rises where a system is not regular.
const SMALLER: f64 = 1e-2;
const LARGER: f64 = 1e3;

/// How long a search goes on.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// So many systems before the rest is settled column by column.
    pub systems: u32,
    /// So many factorisations in all.
    pub factorisations: u32,
}

/// What a search found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    Done,
    /// The active set did not settle.
    Unsettled,
    /// Nothing more can be done.
    Stuck,
}

/// What to do about wrong columns.
enum Guess {
    /// All of them change over.
    Next,
    /// Back to the statuses with the fewest: these are settled one by one.
    Best,
    /// There are too many.
    Hopeless,
}

/// Where a search is at.
struct Progress {
    /// The proximal term, relative to the size of a row.
    proximal: f64,
    /// The fewest wrong columns so far, and how often there may be more again.
    fewest: usize,
    tries: u32,
    /// Whether the system must be renewed.
    stale: bool,
    /// What the rows missed with this system, and how often it has served.
    best: f64,
    refined: u32,
    /// How often columns were settled one by one.
    settled: u32,
    /// Systems before the search.
    first: u32,
}

impl Progress {
    fn new(done: &Projected) -> Self {
        let (proximal, first) = (PROXIMAL, done.systems);
        let (fewest, tries, best) = (usize::MAX, TRIES, f64::INFINITY);
        Progress { proximal, fewest, tries, stale: true, best, refined: 0, settled: 0, first }
    }
}

impl Projection {
    /// Searches for the active set from the guess in `statuses`.
    pub(super) fn search(
        &mut self,
        problem: &Subproblem,
        y: &mut [f64],
        s: &mut [f64],
        patience: Patience,
        clock: &Clock,
        done: &mut Projected,
    ) -> Search {
        self.most = done.iterations.saturating_add(patience.factorisations).min(self.settings.iterations);
        let found = self.search_patiently(problem, y, s, patience.systems, clock, done);
        self.most = self.settings.iterations;
        found
    }

    fn search_patiently(
        &mut self,
        problem: &Subproblem,
        y: &mut [f64],
        s: &mut [f64],
        patience: u32,
        clock: &Clock,
        done: &mut Projected,
    ) -> Search {
        let mut at = Progress::new(done);
        self.set_proximal(problem, at.proximal);
        self.centre.copy_from_slice(y);
        loop {
            if at.stale && !self.renew(problem, clock, done) {
                if done.unsuited_metric || at.proximal > MOST_PROXIMAL || self.is_enough(done) || clock.is_over() {
                    return Search::Unsettled;
                }
                at.proximal *= LARGER;
                self.set_proximal(problem, at.proximal);
                continue;
            }
            if !self.correct(problem, y, s, clock, done) {
                return Search::Unsettled;
            }
            let wrong = self.count_wrong(problem, y, s);
            done.residual = norm(&self.residual);
            if !done.residual.is_finite() {
                return Search::Unsettled;
            }
            if wrong == 0 {
                match self.refine(problem, y, s, &mut at, done) {
                    Some(found) => return found,
                    None => continue,
                }
            }
            match self.next_guess(wrong, patience, &mut at, done) {
                Guess::Hopeless => return Search::Unsettled,
                Guess::Next => self.change_over(problem, s),
                Guess::Best => {
                    let most = done.systems + SYSTEMS_PER_COLUMN * at.fewest as u32 + 4;
                    if at.settled == MOST_SETTLED || !self.settle(problem, y, s, most, clock, done) {
                        return Search::Unsettled;
                    }
                    at.settled += 1;
                    (at.stale, at.fewest, at.tries) = (false, usize::MAX, TRIES);
                }
            }
        }
    }

    /// The guess is right: whether the rows hold, or how they are made to.
    fn refine(
        &mut self,
        problem: &Subproblem,
        y: &[f64],
        s: &[f64],
        at: &mut Progress,
        done: &mut Projected,
    ) -> Option<Search> {
        let allowed = self.allowed(problem, y, s);
        let refines = done.residual <= REFINES * at.best && at.refined < REFINEMENTS;
        if done.residual <= allowed || !refines && at.best <= AS_GOOD_AS_IT_GETS * allowed {
            done.converged = true;
            return Some(Search::Done);
        }
        // Far from holding after a step, the rows need a smaller proximal term; else the same system serves again.
        at.refined += 1;
        at.stale = !refines || done.residual > REFINES_WELL * at.best;
        if at.stale && at.proximal <= LEAST_PROXIMAL {
            return Some(Search::Stuck);
        }
        if at.stale {
            at.refined = 0;
            at.proximal *= SMALLER;
            self.set_proximal(problem, at.proximal);
        }
        at.best = done.residual;
        (at.fewest, at.tries) = (usize::MAX, TRIES);
        self.centre.copy_from_slice(y);
        None
    }

    /// What follows from a guess with so many wrong columns.
    fn next_guess(&mut self, wrong: usize, patience: u32, at: &mut Progress, done: &Projected) -> Guess {
        at.stale = true;
        (at.best, at.refined) = (f64::INFINITY, 0);
        let bar = if at.fewest == usize::MAX { self.statuses.len() / 2 } else { at.fewest - at.fewest / 4 };
        if wrong > FEW && wrong > bar {
            return Guess::Hopeless;
        }
        let mut goes_on = done.systems - at.first < patience || wrong > FEW;
        if wrong < at.fewest {
            (at.fewest, at.tries) = (wrong, TRIES);
            self.best.copy_from_slice(&self.statuses);
        } else if at.tries > 0 {
            at.tries -= 1;
        } else {
            goes_on = false;
        }
        if goes_on {
            return Guess::Next;
        }
        self.statuses.copy_from_slice(&self.best);
        Guess::Best
    }

    /// In how many columns the guess was wrong; these are marked in `ds`.
    fn count_wrong(&mut self, problem: &Subproblem, y: &[f64], s: &[f64]) -> usize {
        let rounding = self.rounding(problem, y, s);
        let mut wrong = 0;
        for i in 0..s.len() {
            let is_wrong = self.is_wrong(problem, s, rounding, i);
            self.ds[i] = f64::from(u8::from(is_wrong));
            wrong += usize::from(is_wrong);
        }
        wrong
    }

    /// Changes the columns that are wrong over.
    fn change_over(&mut self, problem: &Subproblem, s: &[f64]) {
        for i in (0..s.len()).filter(|&i| self.ds[i] != 0.0) {
            self.statuses[i] = match self.statuses[i] {
                BoundStatus::Free if s[i] < problem.lower[i] => BoundStatus::Lower,
                BoundStatus::Free => BoundStatus::Upper,
                _ => BoundStatus::Free,
            };
        }
    }
}
