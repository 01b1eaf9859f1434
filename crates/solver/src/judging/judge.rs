//! Judging a noisy run: residuals computed from the running estimates flatter it, so a verdict uses fresh samples.
//!
//! The first half of the batches fits multipliers with the right signs; the second half, independent of them, gives the mean and the
//! spread of `g + J^T y - mu` and of `c` at these multipliers, and with them a confidence bound on each residual.

use std::ops::Range;

use tangor_problem::{Access, Counted, Draw, Outputs, Problem, SampledProblem, Wanted};

use crate::form::iterate::Iterate;
use crate::form::oracle::{Trouble, check, trouble};
use crate::form::quantity::Quantity;
use crate::judging::confidence;
use crate::judging::multipliers::SIGMAS;
use crate::judging::sample_mean::SampleMean;
use crate::kernel::vector::norm;
use crate::solver::Solver;
use crate::{Bounded, Event, Settings, TrueResiduals, Unusual, Verdict};

/// Samples of a judgement that follow from those of the run are no more than this: a count in a state that somebody forged, or that of a very
/// long run, must not cost all memory.
const MOST_BY_SHARE: f64 = 1e6;

/// Draws that memory is kept for from the start; who judges on more at once gets it when they are needed.
const MOST_RESERVED: usize = 1 << 20;

/// The memory of the judge.
pub struct Judge {
    draws: Vec<Draw>,
    /// One batch of each function, in the user's form.
    batch: [Vec<f64>; 3],
    means: [SampleMean; 3],
    error: Vec<f64>,
    errors: SampleMean,
    /// The point, with the averages that the latest verdict rests on.
    pub judged: Iterate,
}

impl Judge {
    pub fn new(current: &Iterate, lengths: [usize; 3], settings: &Settings) -> Self {
        Judge {
            draws: Vec::with_capacity(settings.sampling.judge.samples.min(MOST_RESERVED)),
            batch: lengths.map(|length| vec![0.0; length]),
            means: lengths.map(SampleMean::new),
            error: vec![0.0; current.n()],
            errors: SampleMean::new(current.n()),
            judged: current.clone(),
        }
    }
}

impl<S: SampledProblem> Solver<S> {
    /// Judges the current point on fresh samples. That Clarabel was asked is an event of the iteration. None: the time was over before
    /// all samples were taken.
    pub(crate) fn judge(&mut self, last: bool, unusual: &mut Unusual) -> Result<Option<Verdict>, Trouble> {
        let sizes = Quantity::ALL.map(|source| self.samples_of_judgement(source, last));
        self.with_judge(|solver, work| solver.judge_with(work, sizes, unusual)).unwrap_or(Ok(None))
    }

    /// Does something with the judge's memory, at the current point. None: this is no noisy run.
    fn with_judge<T>(&mut self, act: impl FnOnce(&mut Self, &mut Judge) -> T) -> Option<T> {
        let mut noisy = self.noisy.take()?;
        noisy.judge.judged.z.copy_from_slice(&self.state.current.z);
        noisy.judge.judged.user.x.copy_from_slice(&self.state.current.user.x);
        let result = act(self, &mut noisy.judge);
        self.noisy = Some(noisy);
        Some(result)
    }

    /// Fresh samples of a function for a judgement: as many as was set, or a tenth of those since the last judgement if that is more;
    /// for the `last` one a tenth of all. Where samples are limited, only that tenth: judgements must not eat up what the run is to
    /// live on. No more than there are: the whole population is exact.
    pub(crate) fn samples_of_judgement(&self, source: Quantity, last: bool) -> usize {
        let access = source.access(self.oracle.problem.accesses());
        if !source.is_needed(self.oracle.meta()) || !access.is_sampled() {
            return 0;
        }
        let so_far = source.samples(self.oracle.samples()) as f64;
        let since = self.state.progress.iteration - self.state.progress.judged.at.unwrap_or(0);
        let share = if last { 1.0 } else { since as f64 / self.state.progress.iteration.max(1) as f64 };
        let (limits, judge) = (&self.settings.limits, &self.settings.sampling.judge);
        let limited = [limits.samples, limits.gradient_samples, limits.constraint_samples, limits.jacobian_samples];
        let least = if limited.iter().any(Option::is_some) { judge.batches.min(judge.samples) } else { judge.samples };
        let wanted = least.max((0.1 * share * so_far).min(MOST_BY_SHARE) as usize).next_multiple_of(judge.batches.max(4));
        match access {
            Access::Finite(size) => wanted.min(usize::try_from(size).unwrap_or(usize::MAX)),
            Access::Endless | Access::Exact => wanted,
        }
    }

    fn judge_with(&mut self, work: &mut Judge, sizes: [usize; 3], unusual: &mut Unusual) -> Result<Option<Verdict>, Trouble> {
        let settings = self.settings.sampling.judge.clone();
        let batches = settings.batches.max(4);
        let first = batches / 2;
        let before = self.oracle.samples().total();
        if !self.average(work, (0..first, batches), sizes)? {
            return Ok(None);
        }
        let error = work.means[2].standard_error().powi(2);
        if self.fit_multipliers(work, error) {
            unusual.insert(Event::Fallback);
        }
        if !self.average(work, (first..batches, batches), sizes)? {
            return Ok(None);
        }

        let k = confidence::factor(settings.confidence, batches - first);
        let [_, values, jacobian] = &work.means;
        let (noise, jacobian_noise) = (k * values.standard_error(), k * jacobian.standard_error());
        let scale = self.oracle.standard.objective_scale;
        let stationarity = norm(&work.errors.mean) / scale;
        let slope = norm(&jacobian.mean);
        self.load_means(work);
        self.judging.kkt.judge(&work.judged, &self.judging.fit.tangent, &self.oracle.standard);
        self.judging.kkt.judge_infeasibility(&work.judged, &self.oracle.standard, &mut self.state.row_sizes);
        let residuals = self.judging.kkt.residuals;
        let inequalities =
            self.oracle.standard.slack_rows.iter().map(|&row| self.judging.kkt.y[row].powi(2)).sum::<f64>().sqrt();
        let upper = |value: f64, noise: f64| Bounded { value, upper: value + noise };
        Ok(Some(Verdict {
            stationarity: upper(stationarity, k * work.errors.standard_error() / scale),
            feasibility: upper(residuals.feasibility, noise),
            complementarity: upper(residuals.complementarity, inequalities * noise),
            infeasible: upper(residuals.infeasible, slope * noise + residuals.feasibility * jacobian_noise),
            confidence: settings.confidence,
            samples: self.oracle.samples().total() - before,
            iteration: self.state.progress.iteration,
        }))
    }

    /// Averages over some of all fresh batches into `means`, and those of `g + J^T y - mu` at the multipliers fitted before.
    /// False: the time was over.
    fn average(&mut self, work: &mut Judge, (some, all): (Range<usize>, usize), sizes: [usize; 3]) -> Result<bool, Trouble> {
        work.means.iter_mut().for_each(SampleMean::clear);
        work.errors.clear();
        for batch in some {
            if self.clock.is_over() {
                return Ok(false);
            }
            self.sample(work, sizes, (batch, all))?;
            for (mean, values) in work.means.iter_mut().zip(&work.batch) {
                mean.add(values);
            }
            self.oracle.load_derivatives(&work.batch[0], &work.batch[2], &mut work.judged);
            let n = work.error.len();
            work.error.copy_from_slice(&work.judged.g[..n]);
            work.judged.jacobian.a.add_transposed(self.judging.kkt.signed(), &mut work.error);
            work.error.iter_mut().zip(&self.judging.fit.tangent.mu).for_each(|(error, mu)| *error -= mu);
            work.errors.add(&work.error);
        }
        self.load_means(work);
        Ok(true)
    }

    /// One of all batches of each function at the current point; what is exact, or the whole population, is evaluated once.
    fn sample(&mut self, work: &mut Judge, sizes: [usize; 3], (batch, all): (usize, usize)) -> Result<(), Trouble> {
        let accesses = self.oracle.problem.accesses();
        let (oracle, streams) = (&mut self.oracle, &mut self.state.progress.judged.streams);
        for (k, source) in Quantity::ALL.into_iter().enumerate() {
            let access = source.access(accesses);
            let whole = matches!(access, Access::Finite(size) if sizes[k] as u64 >= size);
            if !source.is_needed(oracle.problem.meta()) || (batch > 0 && (whole || access == Access::Exact)) {
                continue;
            }
            if whole {
                work.draws.clear();
                work.draws.extend((0..sizes[k] as u64).map(Draw));
            } else {
                streams[k].draw(access, sizes[k].div_ceil(all), &mut work.draws);
            }
            let done = source.evaluate(&mut oracle.problem, &work.judged.user.x, &work.draws, &mut work.batch[k]);
            done.map_err(|failure| trouble(source.function(), failure))?;
            check(oracle.problem.meta(), source.function(), &work.batch[k])?;
        }
        Ok(())
    }

    fn load_means(&mut self, work: &mut Judge) {
        self.oracle.load_derivatives(&work.means[0].mean, &work.means[2].mean, &mut work.judged);
        self.oracle.load_values(&work.means[1].mean, &mut work.judged, true);
    }

    /// The multipliers with the least of the residuals relative to their tolerances; `error` is the mean square error of the
    /// Jacobian. True: Clarabel was asked.
    fn fit_multipliers(&mut self, work: &mut Judge, error: f64) -> bool {
        // The run's own multipliers are a good first guess, and the same in a run that was resumed.
        self.judging.fit.tangent.lambda.copy_from_slice(&self.steps.tangent.lambda);
        let mut best = (f64::INFINITY, SIGMAS[0]);
        let (mut last, mut asked) = (0.0, false);
        for sigma in SIGMAS {
            asked |= self.fit_with(work, (sigma, error));
            let score = self.judging.kkt.residuals.score(&self.settings.tolerance);
            if score < best.0 {
                best = (score, sigma);
            }
            last = sigma;
        }
        if best.1 != last {
            asked |= self.fit_with(work, (best.1, error));
        }
        asked
    }

    fn fit_with(&mut self, work: &mut Judge, weights: (f64, f64)) -> bool {
        let asked = self.judging.fit.fit(&work.judged, weights, &self.oracle.standard, &mut self.steps.projection, &self.clock);
        self.judging.kkt.judge(&work.judged, &self.judging.fit.tangent, &self.oracle.standard);
        asked
    }

    /// The objective at the current point, an average over fresh samples where it is sampled. NaN: the problem cannot tell.
    pub(crate) fn judged_objective(&mut self) -> f64 {
        let (meta, access) = (self.oracle.meta(), self.oracle.problem.accesses().gradient);
        let samples = if access.is_sampled() { self.settings.sampling.judge.samples.max(1) } else { 0 };
        if !meta.has_objective {
            return 0.0;
        }
        let told = self.with_judge(|solver, work| {
            solver.state.progress.judged.streams[0].draw(access, samples, &mut work.draws);
            solver.oracle.problem.objective(&work.judged.user.x, &work.draws)
        });
        told.flatten().and_then(Result::ok).unwrap_or(f64::NAN)
    }

    /// The residuals of the exact functions at the current point, multipliers fitted to them; none if the run is exact itself, or
    /// if the problem has no such functions. The run goes on as if nobody had asked.
    pub fn true_residuals(&mut self) -> Option<TrueResiduals> {
        self.with_judge(Self::true_residuals_with)?
    }

    fn true_residuals_with(&mut self, work: &mut Judge) -> Option<TrueResiduals> {
        // Counting turns panics into failures; the counts themselves are nobody's.
        let mut exact = Counted::new(self.oracle.problem.exact()?);
        let [gradient, constraints, jacobian] = &mut work.batch;
        let mut out = Outputs::new(gradient, constraints, jacobian);
        Problem::evaluate(&mut exact, &work.judged.user.x, Wanted::SAMPLED, &mut out).ok()?;
        self.oracle.load_derivatives(&work.batch[0], &work.batch[2], &mut work.judged);
        self.oracle.load_values(&work.batch[1], &mut work.judged, true);
        self.fit_multipliers(work, 0.0);
        Some(TrueResiduals::from(self.judging.kkt.residuals))
    }
}
