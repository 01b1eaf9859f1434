//! A way out of a point where the violation is stationary, before the run calls it infeasible.
//!
//! A saddle of the violation, or a place where a constraint's gradient vanishes, looks stationary to first order although feasible points
//! are near. So the run starts again from random points around it, each time farther away, then around the place where it began, and only
//! when none of these starts leads to a smaller violation is the claim made.

use serde::{Deserialize, Serialize};
use tangor_problem::SampledProblem;

use crate::noise::random::uniform;
use crate::solver::Solver;
use crate::{Event, Stop, Unusual};

/// How far a new start lies from the point, relative to `1 + |z_i|`, attempt by attempt. Later ones lie as far from where the run began, and
/// then as far as the last: the user's start is seldom a bad one, and the way from there need not be the same twice.
const RADII: [f64; 3] = [1e-2, 1e-1, 1.0];

/// A violation is smaller if it is so by this share.
pub(super) const CLEARLY: f64 = 1e-3;

/// Every other start around the place where the run began has random weights on its rows, powers of two up to this one: where the violation
/// is least depends on how rows are weighed, and so does the way there.
const SPREAD: f64 = 3.0;
const WEIGHED: usize = 1;

/// This start is the very one of the run, and until its constraints hold its steps repair alone: the objective may have led away from what a few steps
/// would have mended.
const REPAIRING: usize = 6;

/// Weights come from another seed than points.
const OTHER: u64 = 1 << 32;

/// Starts that are tried in all, as a multiple of those that must fail in a row.
const ALL_STARTS: u32 = 5;

/// How far from the point the last starts lie, where a row is flat as far as all others do: as multiples of how far away it could hold.
const FAR: [f64; 4] = [1.0, 0.3, 3.0, 1.0];

/// Values that differ by no more than this share of their size are the same.
const ROUNDED: f64 = 1e-12;

/// Points that are tried for one start where functions have no values.
const MOST_TRIALS: u32 = 20;

/// How the attempts stand.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Escapes {
    /// Starts since the violation last became smaller.
    in_vain: u32,
    /// All starts.
    pub starts: u32,
    /// The least violation at which the run was stuck, while it looks for a way out.
    violation: Option<f64>,
    /// Whether rows have the user's units, or weights of their own, until the next start.
    unscaled: bool,
    /// Whether rows are flat as far as the starts nearby lie: then there are some more.
    #[serde(default)]
    is_flat: bool,
    /// Whether values along rays show a smaller violation: then there is one more.
    #[serde(default)]
    sees_lower: bool,
    /// Whether steps serve the constraints alone until these hold.
    #[serde(default)]
    repairs: bool,
}

impl Escapes {
    /// Whether another start may be tried.
    pub fn may_go_on(&self, most: u32) -> bool {
        let more = self.lower() + if self.is_flat { FAR.len() as u32 } else { 0 };
        self.in_vain < most + more && self.starts < ALL_STARTS * most + more
    }

    /// How many starts there are at a place with a smaller violation.
    fn lower(&self) -> u32 {
        u32::from(self.sees_lower)
    }

    /// Whether a point with this violation is no better than the one that the run was stuck at.
    pub fn is_behind(&self, violation: f64) -> bool {
        self.violation.is_some_and(|least| violation >= (1.0 - CLEARLY) * least)
    }

    /// Whether a point with this violation is about as good as the one that the run was stuck at.
    pub fn is_level(&self, violation: f64) -> bool {
        self.violation.is_some_and(|least| violation <= (1.0 + CLEARLY) * least)
    }

    /// The least violation at which the run was stuck, while it looks for a way out.
    pub fn least_violation(&self) -> Option<f64> {
        self.violation
    }

    /// Whether steps serve the constraints alone, since these do not hold yet.
    pub fn repairs(&self) -> bool {
        self.repairs
    }

    /// The constraints hold: steps serve the objective, too, from now on.
    pub fn end_repairs(&mut self) {
        self.repairs = false;
    }

    /// Whether the run looks for a way out.
    pub fn is_looking(&self) -> bool {
        self.violation.is_some()
    }

    /// The run is at a point with this violation. One that is clearly smaller means that a way out was found: then it is true.
    pub fn pass(&mut self, violation: f64) -> bool {
        let got_out = self.is_looking() && !self.is_behind(violation);
        if got_out {
            *self = Escapes { violation: None, in_vain: 0, is_flat: false, sees_lower: false, ..*self };
        }
        got_out
    }

    /// The run is stuck at a point with this violation.
    pub fn stuck(&mut self, violation: f64) {
        self.violation = Some(self.violation.map_or(violation, |least| least.min(violation)));
    }
}

/// What comes after the attempt at a step.
pub enum Next {
    /// The trial point is the next one, at this stepsize.
    Moved(f64),
    /// Another attempt from the same point.
    Again,
    /// The end of the run.
    Ended(Stop),
}

impl<S: SampledProblem> Solver<S> {
    /// Whether the violation is stationary here, or nothing can be found any more, and another start may still lead out of it.
    /// In a noisy run only a verdict can tell.
    pub(crate) fn looks_for_a_way_out(&self) -> bool {
        if self.noisy.is_some() {
            return self.outcome.stuck;
        }
        let is_stuck = self.settings.tolerance.is_infeasible_stationary(&self.judging.kkt.residuals);
        (is_stuck || self.has_failed()) && self.may_start_elsewhere()
    }

    /// Whether nothing more is to be found from here: numbers have broken down, or the run is lost far away.
    pub(crate) fn has_failed(&self) -> bool {
        self.has_broken_down() || self.is_lost()
    }

    /// Whether the best point so far is a stationary point of the violation.
    pub(crate) fn best_is_stuck(&self) -> bool {
        let tolerance = &self.settings.tolerance;
        self.outcome.best.values.is_some_and(|best| tolerance.is_infeasible_stationary(&best.residuals))
    }

    /// Whether multipliers or the merit parameter are beyond all numbers.
    pub(crate) fn has_broken_down(&self) -> bool {
        !self.judging.kkt.residuals.stationarity.is_finite() || !self.state.progress.rho.is_finite()
    }

    /// Whether the constraints are violated and another start may still be tried.
    pub(crate) fn may_start_elsewhere(&self) -> bool {
        let violated = self.judging.kkt.residuals.feasibility > self.settings.tolerance.feasibility;
        self.noisy.is_none() && violated && self.state.progress.escapes.may_go_on(self.settings.limits.escapes)
    }

    /// After a step that was too small: forgets metric and Lipschitz constants, but that of the constraints. False: there is nothing to forget, or nothing has changed since the
    /// last time, and forgetting would lead to the same steps for ever.
    pub(crate) fn forget(&mut self) -> bool {
        let (here, largest) =
            ((self.state.current.f, self.judging.kkt.residuals.feasibility), self.state.progress.largest_objective);
        let is_here = |(f, violation): (f64, f64)| {
            (here.0 - f).abs() <= ROUNDED * largest && (here.1 - violation).abs() <= ROUNDED * violation
        };
        if self.state.progress.forgot_at.is_some_and(is_here) {
            return false;
        }
        let forgot = self.state.metric.reset();
        if forgot {
            self.state.progress.forget_constants_of_steps(&self.settings);
            self.state.progress.forgot_at = Some(here);
        }
        forgot
    }

    /// What comes after a step. One that is too small to move need not be the end.
    pub(crate) fn or_another_try(&mut self, step: Result<f64, Stop>, unusual: &mut Unusual) -> Next {
        let is_idle = self.is_idle();
        match step {
            Ok(eta) => Next::Moved(eta),
            // What was learnt wrongly may be why nothing moves: once it is forgotten, the next direction is another one.
            Err(Stop::StepTooSmall) if !is_idle && self.forget() => {
                unusual.insert(Event::Forgotten);
                Next::Again
            }
            // The violation may be at its least in the scale inside, and not in the user's, in which it is measured.
            Err(Stop::StepTooSmall) if self.may_unscale() => match self.oracle.unscale_rows(&mut self.state.current) {
                Ok(()) => {
                    unusual.insert(Event::Rescaled);
                    self.state.progress.escapes.unscaled = true;
                    self.outcome.best.unscale();
                    self.begin_anew();
                    Next::Again
                }
                Err(trouble) => Next::Ended(self.fail(trouble)),
            },
            // With nothing left to forget at a violated point, another start may lead on.
            Err(Stop::StepTooSmall) if self.may_start_elsewhere() => {
                self.state.progress.escapes.stuck(self.judging.kkt.residuals.feasibility);
                self.start_elsewhere(unusual).map_or_else(Next::Ended, Next::Moved)
            }
            Err(stop) => Next::Ended(stop),
        }
    }

    /// Starts again from a random point around the current one, or the start, inside the bounds: it becomes the trial. What was learnt on the
    /// way here is forgotten, `rho` too: a new start is a new run.
    pub(crate) fn start_elsewhere(&mut self, unusual: &mut Unusual) -> Result<f64, Stop> {
        let most = self.settings.limits.escapes;
        let Escapes { in_vain, starts, .. } = self.state.progress.escapes;
        self.outcome.stuck = false;
        unusual.insert(Event::Elsewhere);
        if let Some(noisy) = &mut self.noisy {
            noisy.judge.judgements.start_anew();
        }
        let is_late = self.noisy.is_none() && in_vain + 1 >= most;
        let reach = if is_late { self.find_reach()? } else { None };
        let lower = if is_late && in_vain <= most { self.find_lower()? } else { None };
        let escapes = &mut self.state.progress.escapes;
        (escapes.in_vain, escapes.starts) = (in_vain + 1, starts + 1);
        (escapes.is_flat, escapes.sees_lower) = (reach.is_some(), escapes.sees_lower || lower.is_some());
        let nearby = most + escapes.lower();
        let seed = self.settings.sampling.seed.wrapping_add(u64::from(starts));
        match (lower.filter(|_| in_vain == most), reach.filter(|_| in_vain >= nearby)) {
            (Some(place), _) => self.start_lower(&place, unusual)?,
            (None, Some(reach)) => self.start_far(&reach, (in_vain - nearby) as usize, seed, unusual)?,
            (None, None) => self.start_nearby(in_vain as usize, seed, unusual)?,
        }
        Ok(0.0)
    }

    /// A start where values along rays showed the least violation.
    fn start_lower(&mut self, place: &[f64], unusual: &mut Unusual) -> Result<(), Stop> {
        self.place_start(1.0, unusual, |solver, share| solver.place_lower(place, share))?;
        self.begin_anew();
        self.state.progress.escapes.repairs = false;
        Ok(())
    }

    /// A start around the current point, or around the place where the run began.
    fn start_nearby(&mut self, attempt: usize, seed: u64, unusual: &mut Unusual) -> Result<(), Stop> {
        // Around a point that is lost far away there is nothing to be found.
        let from_start = attempt >= RADII.len() || self.is_lost();
        let round = if attempt < RADII.len() { attempt } else { attempt - RADII.len() };
        let repairs = attempt == REPAIRING && self.noisy.is_none();
        let radius = if repairs { 0.0 } else { RADII[round.min(RADII.len() - 1)] };
        self.place_start(radius, unusual, |solver, radius| solver.scatter(from_start, radius, seed))?;
        // A noisy run would end at a point that is stationary by the weights alone: it does not notice that it moves no more.
        if from_start && attempt % 2 == WEIGHED && self.noisy.is_none() {
            self.oracle.weigh_rows(&mut self.trial, |row| (SPREAD * uniform(seed.wrapping_add(OTHER), row as u64)).exp2());
            self.state.progress.escapes.unscaled = true;
        }
        self.begin_anew();
        if repairs {
            self.state.progress.lipschitz.dare();
        }
        self.state.progress.escapes.repairs = repairs;
        Ok(())
    }

    /// A start as far away as flat rows reach. They are scaled up to what they show there, as large ones are scaled down at the start.
    fn start_far(&mut self, reach: &[f64], attempt: usize, seed: u64, unusual: &mut Unusual) -> Result<(), Stop> {
        let multiple = FAR[attempt.min(FAR.len() - 1)];
        self.place_start(multiple, unusual, |solver, multiple| solver.scatter_far(reach, multiple, seed))?;
        self.oracle.level_rows(&mut self.trial);
        self.state.progress.escapes.unscaled = true;
        self.begin_anew();
        self.take_the_measure_of_a_start(true);
        self.state.progress.escapes.repairs = false;
        Ok(())
    }

    /// Leaves in the trial a point where all functions have values, nearer and nearer where they have none.
    fn place_start(&mut self, mut radius: f64, unusual: &mut Unusual, place: impl Fn(&mut Self, f64)) -> Result<(), Stop> {
        let mut defined = false;
        for _ in 0..MOST_TRIALS {
            self.check_clock()?;
            place(self, radius);
            defined = match self.noisy.is_some() {
                true => self.estimate_elsewhere(unusual)?,
                false => self.evaluate_trial(unusual)? && self.evaluate_derivatives(unusual)?,
            };
            if defined {
                break;
            }
            radius *= 0.25;
        }
        if !defined {
            return Err(Stop::StepTooSmall);
        }
        if std::mem::take(&mut self.state.progress.escapes.unscaled) {
            self.oracle.scale_rows(&mut self.trial);
        }
        Ok(())
    }

    /// Forgets what was learnt, `rho` too.
    pub(super) fn begin_anew(&mut self) {
        self.state.progress.begin_anew(&self.settings);
        self.state.metric.reset();
        self.steps.forget_multipliers();
    }

    /// Whether the constraints are violated in other units than the user's.
    fn may_unscale(&self) -> bool {
        let violated = self.judging.kkt.residuals.feasibility > self.settings.tolerance.feasibility;
        self.noisy.is_none() && violated && self.oracle.standard.scales.rows.iter().any(|scale| *scale != 1.0)
    }

    /// Moves the trial to a random point around the current one, or around the point where the run began. What would leave the bounds is
    /// reflected: in a corner, half of all variables would stay where they are.
    pub(crate) fn scatter(&mut self, from_start: bool, radius: f64, seed: u64) {
        let (standard, z) = (&self.oracle.standard, &self.state.current.z);
        let place = |i: usize| {
            let is_slack = i >= standard.n();
            let centre = match from_start && !is_slack {
                true => standard.start[standard.columns[i]] / standard.scales.units[i],
                false => z[i],
            };
            let moved = centre + radius * (1.0 + centre.abs()) * uniform(seed, i as u64);
            standard.reflected(i, moved)
        };
        self.trial.put(place);
    }
}
