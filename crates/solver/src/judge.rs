//! Judging a noisy run: residuals computed from the running estimates flatter it, so a verdict uses fresh samples.
//!
//! The first half of the batches fits multipliers with the right signs; the second half, independent of them, gives the mean and the
//! spread of `g + J^T y - mu` and of `c` at these multipliers, and with them a confidence bound on each residual.

use std::ops::Range;

use tangor_problem::{Access, Counted, Draw, Problem, SampledProblem};

use crate::best::Fresh;
use crate::confidence;
use crate::fitting::SIGMAS;
use crate::iterate::Iterate;
use crate::oracle::{Trouble, check, trouble};
use crate::random::Stream;
use crate::solver::Solver;
use crate::source::Source;
use crate::spread::Spread;
use crate::vector::norm;
use crate::{Bounded, Event, Sampling, Settings, TrueResiduals, Unusual, Verdict};

/// Draws that memory is kept for from the start; who judges on more at once gets it when they are needed.
const MOST_RESERVED: usize = 1 << 20;

/// The memory of the judge.
pub struct Work {
    streams: [Stream; 3],
    draws: Vec<Draw>,
    /// The point, in the user's variables.
    x: Vec<f64>,
    /// One batch of each function, in the user's form.
    batch: [Vec<f64>; 3],
    means: [Spread; 3],
    error: Vec<f64>,
    errors: Spread,
    judged: Iterate,
}

impl Work {
    pub fn new(current: &Iterate, lengths: [usize; 3], start: &[f64], settings: &Settings) -> Self {
        let Sampling { seed, replacement, ref judge, .. } = settings.sampling;
        Work {
            streams: [3, 4, 5].map(|number| Stream::new(seed, number, replacement)),
            draws: Vec::with_capacity(judge.samples.min(MOST_RESERVED)),
            x: start.to_vec(),
            batch: lengths.map(|length| vec![0.0; length]),
            means: lengths.map(Spread::new),
            error: vec![0.0; current.n()],
            errors: Spread::new(current.n()),
            judged: current.clone(),
        }
    }

    /// The averages that the latest verdict rests on.
    pub fn fresh(&self, objective: f64) -> Fresh<'_> {
        let [g, c, jacobian] = &self.means;
        Fresh { objective, g: &g.mean, c: &c.mean, jacobian: &jacobian.mean }
    }

    pub fn streams(&self) -> [Stream; 3] {
        self.streams
    }

    pub fn set_streams(&mut self, streams: [Stream; 3]) {
        self.streams = streams;
    }
}

impl<S: SampledProblem> Solver<S> {
    /// Judges the current point on fresh samples. That Clarabel was asked is an event of the iteration. None: the time was over before
    /// all samples were taken.
    pub(crate) fn judge(&mut self, last: bool, unusual: &mut Unusual) -> Result<Option<Verdict>, Trouble> {
        let sizes = Source::ALL.map(|source| self.samples_of_judgement(source, last));
        self.with_judge(|solver, work| solver.judge_with(work, sizes, unusual)).unwrap_or(Ok(None))
    }

    /// Does something with the judge's memory, at the current point. None: this is no noisy run.
    fn with_judge<T>(&mut self, act: impl FnOnce(&mut Self, &mut Work) -> T) -> Option<T> {
        let mut work = self.judge.take()?;
        self.oracle.standard.to_user(self.current.x(), &mut work.x);
        work.judged.z.copy_from_slice(&self.current.z);
        let result = act(self, &mut work);
        self.judge = Some(work);
        Some(result)
    }

    /// Fresh samples of a function for a judgement: as many as was set, or a tenth of those since the last judgement if that is more;
    /// for the `last` one a tenth of all. Where samples are limited, only that tenth: judgements must not eat up what the run is to
    /// live on. No more than there are: the whole population is exact.
    pub(crate) fn samples_of_judgement(&self, source: Source, last: bool) -> usize {
        let access = source.access(self.oracle.problem.accesses());
        if !source.is_needed(self.oracle.meta()) || !access.is_sampled() {
            return 0;
        }
        let so_far = source.samples(self.oracle.samples()) as f64;
        let since = self.iteration - self.judged_at.unwrap_or(0);
        let share = if last { 1.0 } else { since as f64 / self.iteration.max(1) as f64 };
        let (limits, judge) = (&self.settings.limits, &self.settings.sampling.judge);
        let limited = [limits.samples, limits.gradient_samples, limits.constraint_samples, limits.jacobian_samples];
        let least = if limited.iter().any(Option::is_some) { judge.batches.min(judge.samples) } else { judge.samples };
        let wanted = least.max((0.1 * share * so_far) as usize).next_multiple_of(judge.batches.max(4));
        match access {
            Access::Finite(size) => wanted.min(usize::try_from(size).unwrap_or(usize::MAX)),
            Access::Endless | Access::Exact => wanted,
        }
    }

    fn judge_with(&mut self, work: &mut Work, sizes: [usize; 3], unusual: &mut Unusual) -> Result<Option<Verdict>, Trouble> {
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
        self.kkt.judge(&work.judged, &self.fitting.tangent, &self.oracle.standard);
        self.kkt.judge_infeasibility(&work.judged, &self.oracle.standard);
        let residuals = self.kkt.residuals;
        let inequalities = self.oracle.standard.slack_rows.iter().map(|&row| self.kkt.y[row].powi(2)).sum::<f64>().sqrt();
        let upper = |value: f64, noise: f64| Bounded { value, upper: value + noise };
        Ok(Some(Verdict {
            stationarity: upper(stationarity, k * work.errors.standard_error() / scale),
            feasibility: upper(residuals.feasibility, noise),
            complementarity: upper(residuals.complementarity, inequalities * noise),
            infeasible: upper(residuals.infeasible, slope * noise + residuals.feasibility * jacobian_noise),
            confidence: settings.confidence,
            samples: self.oracle.samples().total() - before,
            iteration: self.iteration,
        }))
    }

    /// Averages over some of all fresh batches into `means`, and those of `g + J^T y - mu` at the multipliers fitted before.
    /// False: the time was over.
    fn average(&mut self, work: &mut Work, (some, all): (Range<usize>, usize), sizes: [usize; 3]) -> Result<bool, Trouble> {
        work.means.iter_mut().for_each(Spread::clear);
        work.errors.clear();
        for batch in some {
            if self.clock.is_over() {
                return Ok(false);
            }
            self.sample(work, sizes, (batch, all))?;
            for (mean, values) in work.means.iter_mut().zip(&work.batch) {
                mean.add(values);
            }
            self.load(&work.batch[0], &work.batch[2], &mut work.judged);
            let n = work.error.len();
            work.error.copy_from_slice(&work.judged.g[..n]);
            work.judged.jacobian.a.add_transposed(self.kkt.signed(), &mut work.error);
            work.error.iter_mut().zip(&self.fitting.tangent.mu).for_each(|(error, mu)| *error -= mu);
            work.errors.add(&work.error);
        }
        self.load_means(work);
        Ok(true)
    }

    /// One of all batches of each function at the current point; what is exact, or the whole population, is evaluated once.
    fn sample(&mut self, work: &mut Work, sizes: [usize; 3], (batch, all): (usize, usize)) -> Result<(), Trouble> {
        let accesses = self.oracle.problem.accesses();
        let oracle = &mut self.oracle;
        for (k, source) in Source::ALL.into_iter().enumerate() {
            let access = source.access(accesses);
            let whole = matches!(access, Access::Finite(size) if sizes[k] as u64 >= size);
            if !source.is_needed(oracle.problem.meta()) || (batch > 0 && (whole || access == Access::Exact)) {
                continue;
            }
            if whole {
                work.draws.clear();
                work.draws.extend((0..sizes[k] as u64).map(Draw));
            } else {
                work.streams[k].draw(access, sizes[k].div_ceil(all), &mut work.draws);
            }
            let done = source.evaluate(&mut oracle.problem, &work.x, &work.draws, &mut work.batch[k]);
            done.map_err(|failure| trouble(source.function(), failure))?;
            check(oracle.problem.meta(), source.function(), &work.batch[k])?;
        }
        Ok(())
    }

    fn load_means(&mut self, work: &mut Work) {
        self.load(&work.means[0].mean, &work.means[2].mean, &mut work.judged);
        self.oracle.put_values(&work.means[1].mean, &mut work.judged);
    }

    fn load(&self, g: &[f64], values: &[f64], iterate: &mut Iterate) {
        let meta = self.oracle.meta();
        if meta.has_objective {
            self.oracle.standard.gradient(g, &mut iterate.g);
        }
        if meta.m() > 0 {
            self.oracle.standard.jacobian(values, &mut iterate.jacobian.a);
        }
    }

    /// The multipliers with the least of the residuals relative to their tolerances; `error` is the mean square error of the
    /// Jacobian. True: Clarabel was asked.
    fn fit_multipliers(&mut self, work: &mut Work, error: f64) -> bool {
        // The run's own multipliers are a good first guess, and the same in a run that was resumed.
        self.fitting.tangent.lambda.copy_from_slice(&self.tangent.lambda);
        let mut best = (f64::INFINITY, SIGMAS[0]);
        let (mut last, mut asked) = (0.0, false);
        for sigma in SIGMAS {
            asked |= self.fit_with(work, (sigma, error));
            let score = self.kkt.residuals.score(&self.settings.tolerance);
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

    fn fit_with(&mut self, work: &mut Work, weights: (f64, f64)) -> bool {
        let asked = self.fitting.fit(&work.judged, weights, &self.oracle.standard, &mut self.projection, &self.clock);
        self.kkt.judge(&work.judged, &self.fitting.tangent, &self.oracle.standard);
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
            work.streams[0].draw(access, samples, &mut work.draws);
            solver.oracle.problem.objective(&work.x, &work.draws)
        });
        told.flatten().and_then(Result::ok).unwrap_or(f64::NAN)
    }

    /// The residuals of the exact functions at the current point, multipliers fitted to them; none if the run is exact itself, or
    /// if the problem has no such functions. The run goes on as if nobody had asked.
    pub fn true_residuals(&mut self) -> Option<TrueResiduals> {
        self.with_judge(Self::true_residuals_with)?
    }

    fn true_residuals_with(&mut self, work: &mut Work) -> Option<TrueResiduals> {
        // Counting turns panics into failures; the counts themselves are nobody's.
        let mut exact = Counted::new(self.oracle.problem.exact()?);
        let [g, c, values] = &mut work.batch;
        let (has_objective, m) = (Problem::meta(&exact).has_objective, Problem::meta(&exact).m());
        if has_objective {
            Problem::gradient(&mut exact, &work.x, g).ok()?;
        }
        if m > 0 {
            Problem::constraints(&mut exact, &work.x, c).ok()?;
            Problem::jacobian(&mut exact, &work.x, values).ok()?;
        }
        self.load(&work.batch[0], &work.batch[2], &mut work.judged);
        self.oracle.put_values(&work.batch[1], &mut work.judged);
        self.fit_multipliers(work, 0.0);
        Some(TrueResiduals::from(self.kkt.residuals))
    }
}
