//! The step of the stochastic method: the same directions from estimates, a stepsize that the merit function of the step's own samples may shorten,
//! and estimates at the new point. Values of the objective are never needed.

use serde::{Deserialize, Serialize};
use tangor_problem::{Accesses, Meta, SampledProblem, Samples};

use crate::form::iterate::Iterate;
use crate::form::oracle::Trouble;
use crate::judging::judge::JudgeMemory;
use crate::judging::judgements::Judgements;
use crate::kernel::vector::norm;
use crate::noise::common_samples::CommonSamples;
use crate::noise::effective_samples::EffectiveSamples;
use crate::noise::estimator::Learning;
use crate::solver::Solver;
use crate::steps::line_search::TO_WHERE_VALUES_ARE;
use crate::{Event, Limits, Settings, Stop, Unusual};

/// Attempts at a step that descends, and what is left of its length with each: after the last it is as short as matters.
const MOST_ATTEMPTS: u32 = 12;
const SHORTENED: f64 = 0.25;

/// The share of all samples in which steps become shorter, and how short they become.
const COOLING: f64 = 0.1;
const COLDEST: f64 = 0.05;

/// Attempts at a step to where the functions have values. After so many it is shorter than any number can show.
const MOST_UNDEFINED: u32 = 60;

/// Of these, attempts with the same draws. What is undefined at the shortest of these steps is so because of a draw.
const REPEATED_SAMPLES: u32 = 12;

/// How much longer than the last step that was compared at both of its ends another one may be without that.
const LONGEST_UNSEEN: f64 = 2.0;

/// What only a noisy run has: that a run has it is what makes it a noisy one.
pub struct Noisy {
    pub common: CommonSamples,
    pub average: Average,
    pub judge: JudgeMemory,
    /// What the estimate of the Lagrangian's gradient is worth.
    pub lagrangian: EffectiveSamples,
}

/// The numbers of a noisy run besides those of every run, copied and serialised as one.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoisyProgress {
    judgements: Judgements,
    lagrangian: EffectiveSamples,
}

impl NoisyProgress {
    /// The first number that no run with so many iterations and samples has, by its field, and why.
    pub fn impossible(&self, iteration: u64, samples: u64) -> Option<(String, String)> {
        let wrong = self.judgements.impossible(iteration, samples);
        wrong.map(|(field, why)| (format!("noisy.progress.judgements.{field}"), why))
    }
}

impl Noisy {
    pub fn new(current: &Iterate, (meta, accesses): (&Meta, Accesses), settings: &Settings) -> Self {
        Noisy {
            common: CommonSamples::new(current, [meta.n(), meta.jacobian_len()]),
            average: Average::new(meta.n(), settings.sampling.average),
            judge: JudgeMemory::new(current, (meta, accesses), settings),
            lagrangian: EffectiveSamples::default(),
        }
    }

    pub fn progress(&self) -> NoisyProgress {
        NoisyProgress { judgements: self.judge.judgements, lagrangian: self.lagrangian }
    }

    /// Goes on with the numbers and the average of another run.
    pub fn take_up(&mut self, progress: NoisyProgress, average: Average) {
        (self.judge.judgements, self.lagrangian, self.average) = (progress.judgements, progress.lagrangian, average);
    }
}

/// The average of the last iterates, in blocks: one complete, one growing.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Average {
    pub complete: Option<Vec<f64>>,
    growing: Vec<f64>,
    count: u64,
    /// The memory of the block that is complete first.
    #[serde(skip)]
    spare: Vec<f64>,
}

impl Average {
    /// All memory that averages over `n` variables need, and none where none are asked for.
    fn new(n: usize, length: u64) -> Self {
        let n = if length > 0 { n } else { 0 };
        Average { complete: None, growing: vec![0.0; n], count: 0, spare: vec![0.0; n] }
    }

    /// Forgets all iterates so far.
    fn begin_anew(&mut self) {
        if let Some(complete) = self.complete.take() {
            self.spare = complete;
        }
        self.growing.fill(0.0);
        self.count = 0;
    }

    fn add(&mut self, x: &[f64], length: u64) {
        self.growing.resize(x.len(), 0.0);
        if self.complete.is_none() {
            self.spare.resize(x.len(), 0.0);
        }
        self.count += 1;
        for (mean, x) in self.growing.iter_mut().zip(x) {
            *mean += (x - *mean) / self.count as f64;
        }
        if self.count >= length {
            std::mem::swap(self.complete.get_or_insert_with(|| std::mem::take(&mut self.spare)), &mut self.growing);
            self.count = 0;
            self.growing.fill(0.0);
        }
    }
}

impl<S: SampledProblem> Solver<S> {
    /// Estimates at the start, from the first batches. False: limits do not allow these, and the run ends before it begins.
    pub(crate) fn estimate_start(&mut self) -> Result<bool, Trouble> {
        if let Err(stop) = self.affords_batches(Learning::START) {
            self.outcome.end(stop);
            return Ok(false);
        }
        self.oracle.estimate(&mut self.state.current, Learning::START)?;
        self.oracle.accept_estimates(&mut self.state.current, true);
        self.learn_noise_of_lagrangian(0.0);
        Ok(true)
    }

    /// Estimates at the trial point from first batches, as at the start. False: a function has no value there.
    pub(crate) fn estimate_elsewhere(&mut self, unusual: &mut Unusual) -> Result<bool, Stop> {
        self.oracle.estimates.begin_anew();
        self.affords_batches(Learning::START)?;
        let done = self.oracle.estimate(&mut self.trial, Learning::START);
        let defined = self.is_defined(done, unusual)?;
        if defined {
            self.oracle.accept_estimates(&mut self.trial, true);
            self.learn_noise_of_lagrangian(0.0);
            if let Some(noisy) = &mut self.noisy {
                noisy.average.begin_anew();
            }
        }
        Ok(defined)
    }

    /// The limit that the next batches would exceed, if there is one: nothing is drawn in vain.
    fn affords_batches(&self, learning: Learning) -> Result<(), Stop> {
        if !self.affords_step(learning) {
            return Err(Stop::Evaluations);
        }
        let samples = self.oracle.estimates.samples(self.oracle.meta(), learning);
        if self.affords(samples) { Ok(()) } else { Err(Stop::Samples) }
    }

    /// `z + eta s` with estimates there; shorter where a function has no value, or where the merit function of the draws does not
    /// descend. It moves by no more than `longest`.
    pub(crate) fn take_sampled_step(&mut self, longest: f64, unusual: &mut Unusual) -> Result<f64, Stop> {
        let tested = self.settings.sampling.merit_test && !self.state.progress.lipschitz.are_given();
        let mut eta = self.sampled_stepsize(tested.then_some(longest));
        let before = self.state.progress.lipschitz;
        let (mut attempt, mut undefined) = (0, 0);
        loop {
            self.check_limits(eta)?;
            if self.evaluations_are_spent() {
                return Err(Stop::Evaluations);
            }
            self.place_trial(eta, false);
            self.repair_exact_rows(eta, unusual)?;
            let moved = self.distance_to_trial();
            // Functions without values however near are not helped by a step that does not move: at the point itself they have some.
            if undefined > 0 && moved == 0.0 {
                return Err(Stop::EvaluationFailed);
            }
            let again = attempt > 0 || (1..REPEATED_SAMPLES).contains(&undefined);
            let learning = self.learning(moved, tested, again);
            self.affords_batches(learning)?;
            let done = self.oracle.estimate(&mut self.trial, learning);
            if !self.is_defined(done, unusual)? {
                undefined += 1;
                if undefined == MOST_UNDEFINED {
                    return Err(Stop::EvaluationFailed);
                }
                eta *= TO_WHERE_VALUES_ARE;
                continue;
            }
            if self.descends_on_common_samples(eta) {
                break;
            }
            if attempt == MOST_ATTEMPTS {
                unusual.insert(Event::GivenUp);
                self.state.progress.lipschitz.forget_attempts(&before);
                break;
            }
            unusual.insert(Event::Shortened);
            attempt += 1;
            eta *= SHORTENED;
            self.state.progress.lipschitz.shorten(self.settings.sampling.tau, eta);
        }
        self.accept_sampled_trial(eta);
        Ok(eta)
    }

    /// The stepsize that is tried first; it moves by no more than the `longest`, if that is given, and less with the last samples.
    fn sampled_stepsize(&self, longest: Option<f64>) -> f64 {
        let eta = self.state.progress.lipschitz.sampled_stepsize(
            self.state.progress.rho,
            self.settings.sampling.tau,
            self.steps.normal.cap,
            self.state.metric.scalar(),
            self.settings.sampling.curvature,
        );
        let Some(longest) = longest else { return eta };
        let length = norm(&self.steps.tangent.s[..self.state.current.n()]).max(f64::MIN_POSITIVE);
        eta.min(longest / length) * cooling(left(&self.settings.limits, self.oracle.samples()))
    }

    /// How estimates are taken at the end of a step of this length; `again` with the draws of the attempt before.
    fn learning(&self, moved: f64, tested: bool, again: bool) -> Learning {
        let (progress, probe) = (&self.state.progress, self.settings.sampling.probe);
        Learning {
            iteration: progress.iteration + 1,
            objective: progress.lipschitz.objective,
            constraints: progress.lipschitz.constraints,
            slope: self.state.current.jacobian.norm(),
            moved,
            probe: probe > 0 && (progress.iteration < probe || progress.iteration.is_multiple_of(probe)),
            // Mini-batches see curvature only where they are compared: no step goes far beyond that unseen.
            compare: probe > 0 && tested && moved > LONGEST_UNSEEN * progress.lipschitz.compared,
            again,
        }
    }

    /// What the step has shown is learnt, and its estimates become those of the next point.
    fn accept_sampled_trial(&mut self, eta: f64) {
        self.learn_from_common_samples(eta);
        self.learn_noise_of_lagrangian(self.distance_to_trial());
        self.oracle.accept_estimates(&mut self.trial, self.settings.stepsize.slack_reset);
        if self.settings.sampling.average > 0
            && let Some(noisy) = &mut self.noisy
        {
            noisy.average.add(&self.trial.user.x, self.settings.sampling.average);
        }
    }
}

/// How much is left of the samples that there may be, of one function or of all.
fn left(limits: &Limits, used: Samples) -> f64 {
    let all = [
        (limits.samples, used.total()),
        (limits.gradient_samples, used.gradient),
        (limits.constraint_samples, used.constraints),
        (limits.jacobian_samples, used.jacobian),
    ];
    let left = |(limit, used): (Option<u64>, u64)| limit.map_or(1.0, |limit| 1.0 - used as f64 / limit.max(1) as f64);
    all.into_iter().map(left).fold(1.0, f64::min)
}

/// How much of a step is taken when so much is left: where no samples are left to average the noise of long steps out, they become short.
fn cooling(left: f64) -> f64 {
    (left / COOLING).clamp(COLDEST, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_cool_down_with_the_last_samples_of_any_limit() {
        let used = Samples { gradient: 50, constraints: 95, jacobian: 0 };
        assert_eq!(left(&Limits::default(), used), 1.0, "without limits nothing ends");
        let limits = Limits { samples: Some(290), constraint_samples: Some(100), ..Limits::default() };
        // Half of all, a twentieth of the constraints'.
        assert!((left(&limits, used) - 0.05).abs() < 1e-15);
        let close = |left: f64, expected: f64| (cooling(left) - expected).abs() < 1e-12;
        assert!(close(1.0, 1.0) && close(0.1, 1.0) && close(0.05, 0.5) && close(0.001, COLDEST) && close(-0.2, COLDEST));
    }
}
