//! Wall time and the user's interrupt, asked wherever the solver could spend long.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tangor_problem::{EndWanted, SampledProblem};

use crate::Stop;
use crate::solver::Solver;

/// Several processes that run the same iterations end them together: their clocks differ, so one decides for all.
pub trait Agreement: Send + Sync + fmt::Debug {
    /// What the deciding process says, given what this one would say: whether the time is used up, and whether the user asked for the end, by
    /// the flag or as the observer. Every process asks at the same iterations.
    fn decide(&self, own: Ending) -> Ending;
}

/// Reasons to end a run that do not come from its numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ending {
    /// The time is used up.
    pub late: bool,
    /// The user asked for the end.
    pub interrupted: bool,
}

/// Who may end a run from outside, from its first evaluation on.
#[derive(Clone, Debug, Default)]
pub struct EndedBy {
    /// The run ends when it becomes true, as with [`Solver::interrupt`](crate::Solver::interrupt).
    pub flag: Option<Arc<AtomicBool>>,
    /// Other processes that it ends together with, as with [`Solver::end_together`](crate::Solver::end_together).
    pub agreement: Option<Arc<dyn Agreement>>,
    /// When its time began, if that was before, as with [`Solver::count_time_from`](crate::Solver::count_time_from).
    pub since: Option<Instant>,
}

/// When the run began, when it must end, and whether somebody asked for its end.
#[derive(Clone, Debug)]
pub struct Clock {
    /// Who decides for several processes, and what was decided last.
    agreement: Option<(Arc<dyn Agreement>, Ending)>,
    start: Instant,
    /// Seconds spent before this process resumed the run.
    before: f64,
    limit: Option<Duration>,
    interrupt: Option<Arc<AtomicBool>>,
    /// Whether the observer asked for the end.
    asked: bool,
}

impl Clock {
    /// Starts now, with so many seconds used up already.
    pub fn new(limit: Option<f64>, before: f64) -> Self {
        // A limit beyond what a duration can hold is no limit.
        let limit = limit.and_then(|seconds| Duration::try_from_secs_f64((seconds - before).max(0.0)).ok());
        Clock { start: Instant::now(), before, limit, interrupt: None, asked: false, agreement: None }
    }

    /// The same with all that somebody who may end a run asks for.
    pub fn obeying(limit: Option<f64>, before: f64, EndedBy { flag, agreement, since }: EndedBy) -> Self {
        let mut clock = Clock::new(limit, before);
        flag.into_iter().for_each(|flag| clock.watch(flag));
        agreement.into_iter().for_each(|agreement| clock.share(agreement));
        since.into_iter().for_each(|since| clock.count_from(since));
        clock
    }

    /// Ends the run when the flag becomes true.
    pub fn watch(&mut self, flag: Arc<AtomicBool>) {
        self.interrupt = Some(flag);
    }

    /// The time began at this moment, not when the clock was made.
    pub fn count_from(&mut self, since: Instant) {
        self.start = since;
    }

    /// The observer asks for the end. Who runs alone ends now; several processes decide it together, at the next iteration.
    pub fn ask_for_the_end(&mut self) {
        self.asked = true;
    }

    /// From now on the end is decided together, whenever [`Clock::agree`] is called.
    pub fn share(&mut self, agreement: Arc<dyn Agreement>) {
        self.agreement = Some((agreement, Ending::default()));
    }

    /// Tells at any time whether this run is to end, for those who evaluate long batches of samples. None: that is decided together, at
    /// iterations only.
    pub fn end_wanted(&self) -> Option<EndWanted> {
        let own = self.clone();
        self.agreement.is_none().then(|| -> EndWanted { Arc::new(move || own.is_over()) })
    }

    /// At each iteration: decides together with the other processes, if there are any, whether to end.
    pub fn agree(&mut self) {
        let own = self.own();
        if let Some((agreement, decided)) = &mut self.agreement {
            *decided = agreement.decide(own);
        }
    }

    fn own(&self) -> Ending {
        Ending {
            late: self.limit.is_some_and(|limit| self.start.elapsed() >= limit),
            interrupted: self.asked || self.interrupt.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)),
        }
    }

    fn ending(&self) -> Ending {
        self.agreement.as_ref().map_or_else(|| self.own(), |(_, decided)| *decided)
    }

    /// Seconds since the run began.
    pub fn seconds(&self) -> f64 {
        self.before + self.start.elapsed().as_secs_f64()
    }

    /// Whether the time is used up.
    pub fn is_late(&self) -> bool {
        self.ending().late
    }

    /// Whether the user asked for the end.
    pub fn is_interrupted(&self) -> bool {
        self.ending().interrupted
    }

    /// Whether the end is decided together with other processes, whose seconds differ.
    pub fn is_shared(&self) -> bool {
        self.agreement.is_some()
    }

    /// Whether the observer did, and that is decided.
    pub fn ends_as_the_observer_asked(&self) -> bool {
        self.asked && self.is_interrupted()
    }

    /// Either of the two.
    pub fn is_over(&self) -> bool {
        let ending = self.ending();
        ending.late || ending.interrupted
    }
}

impl<S: SampledProblem> Solver<S> {
    /// Ends the run with [`Stop::User`] as soon as the flag is true.
    pub fn interrupt(&mut self, flag: Arc<AtomicBool>) {
        self.clock.watch(flag);
        self.watch_batches();
        // The functions at the start were evaluated before anybody watched: one that broke off then was told to.
        if self.outcome.stop == Some(Stop::EvaluationFailed) && self.clock.is_interrupted() {
            self.outcome.end(Stop::User);
        }
    }

    /// Counts the time of the run from this moment on, as when its problem took long to read: its limit is one on all of that.
    pub fn count_time_from(&mut self, since: Instant) {
        self.clock.count_from(since);
        self.watch_batches();
    }

    /// Ends the run together with other processes that run the same iterations.
    pub fn end_together(&mut self, agreement: Arc<dyn Agreement>) {
        self.clock.share(agreement);
        self.watch_batches();
    }

    /// Lets long batches of samples end with the run's time, or with the user's wish.
    pub(crate) fn watch_batches(&mut self) {
        self.oracle.problem.break_off_when(self.clock.end_wanted());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Another(AtomicBool);

    impl Agreement for Another {
        fn decide(&self, _own: Ending) -> Ending {
            Ending { late: self.0.load(Ordering::Relaxed), interrupted: false }
        }
    }

    #[test]
    fn another_process_decides_for_this_one_at_an_iteration() {
        let another = Arc::new(Another(AtomicBool::new(false)));
        let mut clock = Clock::new(Some(0.0), 0.0);
        assert!(clock.is_late() && clock.is_over());
        clock.share(Arc::clone(&another) as Arc<dyn Agreement>);
        clock.agree();
        assert!(!clock.is_over());
        another.0.store(true, Ordering::Relaxed);
        assert!(!clock.is_over(), "nothing changes within an iteration");
        clock.agree();
        assert!(clock.is_late() && !clock.is_interrupted());
    }

    /// Ends when this process wants to, as that of the first one is.
    #[derive(Debug)]
    struct First;

    impl Agreement for First {
        fn decide(&self, own: Ending) -> Ending {
            own
        }
    }

    #[test]
    fn an_observer_ends_a_run_alone_at_once_and_with_others_when_they_agree() {
        let mut alone = Clock::new(None, 0.0);
        assert!(!alone.ends_as_the_observer_asked());
        alone.ask_for_the_end();
        assert!(alone.ends_as_the_observer_asked() && alone.is_over());
        let mut first = Clock::new(None, 0.0);
        first.share(Arc::new(First));
        first.ask_for_the_end();
        assert!(!first.is_over(), "the others do not know yet");
        first.agree();
        assert!(first.ends_as_the_observer_asked());
        // Another process than the one that decides may ask for as long as it likes.
        let mut other = Clock::new(None, 0.0);
        other.share(Arc::new(Another(AtomicBool::new(false))));
        other.ask_for_the_end();
        other.agree();
        assert!(!other.is_over());
    }
}
