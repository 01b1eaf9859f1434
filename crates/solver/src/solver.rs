//! The adaptive directional decomposition method. [`Solver::advance`] and the two functions below it are the algorithm; each line of them is a
//! section of docs/algorithm.md.

use tangor_problem::{Problem, SampledProblem};

use crate::form::iterate::Iterate;
use crate::form::oracle::Oracle;
use crate::judging::Judging;
use crate::noise::sampled_step::Noisy;
use crate::run::Outcome;
use crate::run::checkpoint::Beginning;
use crate::run::clock::Clock;
use crate::run::escape::Next;
use crate::run::state::State;
use crate::steps::Steps;
use crate::{Error, Observer, Report, Settings, Silent, Stop, Unusual};

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
        // The normal step u with its target r, then the tangent step s with the multipliers, which measure the point, too.
        let kernel_iterations = self.find_steps(&mut unusual);
        self.judging.kkt.measure(&self.state.current, &self.steps.tangent, &self.oracle.standard);
        self.count_idle();
        let mut row = self.row(kernel_iterations);
        // A noisy step is as long as the residuals of the estimates allow: those of a judgement, which may come next, are others.
        let longest = self.sensible_move();
        // The end, where there is a reason for it that is confirmed.
        self.outcome.stop = self.outcome.stop.or_else(|| self.reason_to_stop());
        self.keep_best(&mut row, &mut unusual);
        self.conclude(&mut unusual);
        // Otherwise the next point.
        let moved = if self.outcome.stop.is_none() { self.move_on(longest, &mut unusual) } else { None };
        self.show(row, moved, unusual, observer);
        self.outcome.stop
    }

    /// The merit parameter, the stepsize `eta`, and the next point `z + eta s`. Gives `eta`; none where the point stays.
    fn move_on(&mut self, longest: f64, unusual: &mut Unusual) -> Option<f64> {
        if self.take_judged_values(unusual) {
            // The next iteration steps from what is known now.
            self.state.begin_next_iteration(&self.steps);
            return None;
        }
        self.update_merit_parameter(unusual);
        let step = self.find_trial(longest, unusual);
        match self.or_another_try(step, unusual) {
            Next::Moved(eta) => {
                std::mem::swap(&mut self.state.current, &mut self.trial);
                self.state.begin_next_iteration(&self.steps);
                self.rescale_rows(unusual);
                return Some(eta);
            }
            Next::Again => self.state.begin_next_iteration(&self.steps),
            Next::Ended(stop) => {
                self.outcome.end(stop);
                if matches!(stop, Stop::Samples | Stop::Evaluations) {
                    self.judge_if_due(true, unusual);
                }
                self.conclude(unusual);
            }
        }
        None
    }

    /// Leaves the point to go to in `trial`: along the step, where the merit function descends, or a new start out of a point that no step leaves.
    fn find_trial(&mut self, longest: f64, unusual: &mut Unusual) -> Result<f64, Stop> {
        if self.looks_for_a_way_out() {
            self.start_elsewhere(unusual)
        } else if self.is_idle() {
            Err(Stop::StepTooSmall)
        } else if self.noisy.is_some() {
            self.take_sampled_step(longest, unusual)
        } else {
            self.find_acceptable_trial(unusual).inspect(|eta| self.learn_metric(*eta))
        }
    }
}
