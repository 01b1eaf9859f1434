//! The adaptive directional decomposition method. [`Solver::advance`] is the algorithm.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use tangor_problem::{Problem, SampledProblem};

use crate::form::iterate::Iterate;
use crate::form::oracle::Oracle;
use crate::judging::Judging;
use crate::kernel::vector::{dot, norm};
use crate::noise::sampled_step::Noisy;
use crate::run::Outcome;
use crate::run::checkpoint::Beginning;
use crate::run::clock::{Agreement, Clock};
use crate::run::escape::Next;
use crate::run::state::State;
use crate::steps::Steps;
use crate::steps::line_search::ROUNDING;
use crate::steps::merit_parameter::{self, Demand};
use crate::{Error, Event, NormalVariant, Observer, Report, Row, Settings, Silent, Stop, Unusual};

/// A run of the method on a problem. All big allocations happen in [`Solver::new`].
pub struct Solver<S> {
    /// The user's functions in the internal form.
    pub(crate) oracle: Oracle<S>,
    pub(crate) settings: Settings,
    pub(crate) clock: Clock,
    /// What the run is at.
    pub(crate) state: State,
    /// Where it may go next.
    pub(crate) trial: Iterate,
    /// The pieces of a step, with their memory.
    pub(crate) steps: Steps,
    /// Residuals and multipliers of the current point.
    pub(crate) judging: Judging,
    /// What only a noisy run has.
    pub(crate) noisy: Option<Noisy>,
    /// What was found, and why the run ended.
    pub(crate) outcome: Outcome,
    /// How the iteration began, for a checkpoint within it.
    pub(crate) beginning: Beginning,
}

/// Solves a problem from start to end, with nobody watching.
///
/// ```
/// use tangor_problem::{Evaluation, Meta, Problem};
/// use tangor_solver::{Point, Settings, solve};
/// # struct Circle(Meta);
/// # impl Problem for Circle {
/// #     fn meta(&self) -> &Meta { &self.0 }
/// #     fn objective(&mut self, x: &[f64]) -> Evaluation<f64> { Ok(x[0] + x[1]) }
/// #     fn gradient(&mut self, _x: &[f64], g: &mut [f64]) -> Evaluation { g.fill(1.0); Ok(()) }
/// #     fn constraints(&mut self, x: &[f64], c: &mut [f64]) -> Evaluation { c[0] = x[0] * x[0] + x[1] * x[1]; Ok(()) }
/// #     fn jacobian(&mut self, x: &[f64], v: &mut [f64]) -> Evaluation { v[0] = 2.0 * x[0]; v[1] = 2.0 * x[1]; Ok(()) }
/// # }
/// # let circle = Circle(Meta::new("circle", vec![1.0, 0.5]).equalities(&[1.0]));
/// let report = solve(circle, Settings::default())?; // minimise x0 + x1 on the unit circle
/// assert_eq!(report.point, Point::EpsKkt);
/// assert!((report.objective + 2f64.sqrt()).abs() < 1e-5);
/// # Ok::<(), tangor_solver::Error>(())
/// ```
pub fn solve<P: Problem>(problem: P, settings: Settings) -> Result<Report, Error> {
    Ok(Solver::new(problem, settings)?.run(&mut Silent))
}

/// Solves a problem whose functions can only be sampled; the result has a verdict on fresh samples.
pub fn solve_sampled<S: SampledProblem>(problem: S, settings: Settings) -> Result<Report, Error> {
    Ok(Solver::sampled(problem, settings)?.run(&mut Silent))
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

    /// Runs to the end, one row per iteration to the observer.
    pub fn run(&mut self, observer: &mut dyn Observer) -> Report {
        while self.advance(observer).is_none() {}
        self.report()
    }

    /// One iteration. Gives the reason when the run has ended.
    pub fn advance(&mut self, observer: &mut dyn Observer) -> Option<Stop> {
        if self.outcome.stop.is_some() {
            return self.outcome.stop;
        }
        self.clock.agree();
        self.remember_beginning();
        let mut unusual = Unusual::default();
        let kernel_iterations = self.find_steps(&mut unusual);
        self.judging.kkt.measure(&self.state.current, &self.steps.tangent, &self.oracle.standard);
        self.count_idle();
        let (mut row, mut moved) = (self.row(kernel_iterations), false);
        let longest = self.sensible_move();
        self.outcome.stop = self.outcome.stop.or_else(|| self.reason_to_stop());
        self.keep_best(&mut row, &mut unusual);
        self.conclude(&mut unusual);

        if self.outcome.stop.is_none() && self.take_judged_values(&mut unusual) {
            // The next iteration steps from what is known now.
            self.state.begin_next_iteration(&self.steps);
        } else if self.outcome.stop.is_none() {
            self.update_merit_parameter(&mut unusual);
            let step = if self.looks_for_a_way_out() {
                self.start_elsewhere(&mut unusual)
            } else if self.is_idle() {
                Err(Stop::StepTooSmall)
            } else if self.noisy.is_some() {
                self.take_sampled_step(longest, &mut unusual)
            } else {
                self.find_acceptable_trial(&mut unusual).inspect(|eta| self.learn_metric(*eta))
            };
            match self.or_another_try(step, &mut unusual) {
                Next::Moved(eta) => {
                    (row.eta, moved) = (eta, true);
                    std::mem::swap(&mut self.state.current, &mut self.trial);
                    self.state.begin_next_iteration(&self.steps);
                    self.rescale_rows(&mut unusual);
                }
                Next::Again => self.state.begin_next_iteration(&self.steps),
                Next::Ended(stop) => {
                    self.outcome.end(stop);
                    if matches!(stop, Stop::Samples | Stop::Evaluations) {
                        self.judge_if_due(true, &mut unusual);
                    }
                    self.conclude(&mut unusual);
                }
            }
        }
        row = Row {
            rho: self.state.progress.rho,
            unusual,
            judged: self.outcome.judged.take(),
            evaluations: self.oracle.counts(),
            samples: self.oracle.samples(),
            seconds: self.clock.seconds(),
            ..row
        };
        unusual.iter().for_each(|event| self.state.progress.events[event as usize] += 1);
        // The row tells of the point where the iteration began: after a step, that is the one behind.
        let at = if moved { &self.trial } else { &self.state.current };
        if observer.observe(&row, &at.user.x).is_break() {
            self.clock.ask_for_the_end();
        }
        if self.clock.ends_as_the_observer_asked() {
            self.outcome.stop.get_or_insert(Stop::User);
        }
        self.outcome.stop
    }

    /// `rho` such that the model of the merit function descends along `s`.
    fn update_merit_parameter(&mut self, unusual: &mut Unusual) {
        let (current, s, settings) = (&self.state.current, &self.steps.tangent.s, &self.settings.merit);
        let (g, h, square) = (&current.g, norm(&current.h), self.state.metric.square(s));
        let demand = Demand {
            change: (dot(g, s) + 0.5 * square, ROUNDING * (norm(g) * norm(s) + square)),
            gain: (self.steps.normal.theta * h, ROUNDING * (norm(&current.c) + h)),
            multipliers: norm(&self.steps.tangent.lambda),
        };
        let progress = &mut self.state.progress;
        progress.rho = merit_parameter::raised(progress.rho, settings.margin, &demand);
        // With a mapping `theta` is an eigenvalue, not what was removed: it says nothing of what a smaller `rho` would do.
        if settings.falls
            && self.settings.normal.variant != NormalVariant::Mapping
            && let Some(rho) = progress.falls.look(progress.rho, settings.rho0, settings.margin, &demand)
        {
            progress.rho = rho;
            unusual.insert(Event::Lowered);
        }
    }
}
