//! Judging a noisy run: residuals computed from the running estimates flatter it, so a verdict uses fresh samples.
//!
//! The first half of the batches, with the estimates of the run, fits multipliers with the right signs; the second half, independent of
//! them, gives the mean and the spread of `g + J^T y - mu` at these multipliers, all batches give those of `c`, and with them a confidence
//! bound on each residual.

use std::ops::Range;
use std::sync::Arc;

use tangor_problem::{
    Access, Accesses, Counted, Draw, Failure, Meta, Outputs, Problem, SampledProblem, Wanted, gradient_of_lagrangian,
};

use crate::form::iterate::Iterate;
use crate::form::oracle::{Trouble, check, trouble};
use crate::form::quantity::Quantity;
use crate::judging::batch;
use crate::judging::confidence::{self, Factors, slope_noise};
use crate::judging::events::{Events, Lacking, risk_of_events, telling};
use crate::judging::judgements::Judgements;
use crate::judging::looks::{laid_by, most_looks};
use crate::judging::multipliers::SIGMAS;
use crate::judging::sample_mean::SampleMean;
use crate::kernel::vector::{add, norm};
use crate::solver::Solver;
use crate::steps::line_search::ROUNDING;
use crate::{Averaged, Bounded, Event, Settings, TrueResiduals, Unusual, Verdict};

/// Draws that memory is kept for from the start; who judges on more at once gets it when they are needed.
const MOST_RESERVED: usize = 1 << 20;

/// Only half of the batches judge stationarity. An average over all that is farther off from theirs than so many standard errors has an event in the
/// other half that they lack; noise does so once in 3,000 judgements.
const HALVES: f64 = 4.0;

/// The memory of the judge.
pub struct JudgeMemory {
    draws: Vec<Draw>,
    /// One batch of each function, in the user's form.
    batch: [Vec<f64>; 3],
    means: [SampleMean; 3],
    /// Both halves together, for the estimates of the run.
    all: [SampleMean; 3],
    error: Vec<f64>,
    errors: SampleMean,
    /// The objective of each batch, where the problem can tell.
    objective: SampleMean,
    can_tell: bool,
    /// What the batches show of rare events in the constraints.
    events: Events,
    /// Values of the constraints, sample by sample, where their range is known.
    singles: SampleMean,
    single: Vec<f64>,
    /// Whether the averages are those of the whole population.
    exact: bool,
    /// Whether the run has not seen these averages yet, and how many draws each of them is from; 0 for what is known exactly.
    fresh: bool,
    pub drawn: [usize; 3],
    pub judgements: Judgements,
    /// The samples of each function that are laid by for the last judgement, if any are.
    pub laid_by: Option<[usize; 3]>,
    /// The point, with the averages that the latest verdict rests on.
    pub judged: Iterate,
}

impl JudgeMemory {
    pub fn new(current: &Iterate, (meta, accesses): (&Meta, Accesses), settings: &Settings) -> Self {
        let lengths = [meta.n(), meta.m(), meta.jacobian_len()];
        let judge = &settings.sampling.judge;
        // A look that tells of events takes more samples the more looks there were.
        let telling =
            telling(risk_of_events(judge.confidence, most_looks(settings), false), judge.rarest) / judge.batches.max(1);
        JudgeMemory {
            draws: Vec::with_capacity(judge.samples.max(telling.saturating_add(1)).min(MOST_RESERVED)),
            batch: lengths.map(|length| vec![0.0; length]),
            means: lengths.map(SampleMean::new),
            all: lengths.map(SampleMean::new),
            error: vec![0.0; current.n()],
            errors: SampleMean::new(current.n()),
            objective: SampleMean::new(1),
            can_tell: true,
            events: Events::new(lengths[1]),
            singles: SampleMean::new(lengths[1]),
            single: vec![0.0; lengths[1]],
            exact: false,
            fresh: false,
            drawn: [0; 3],
            judgements: Judgements::new(settings.sampling.seed, settings.sampling.replacement),
            laid_by: laid_by(meta, accesses, settings),
            judged: current.clone(),
        }
    }
}

impl JudgeMemory {
    /// Another judgement begins; `can_tell`: there is an objective.
    fn begin(&mut self, can_tell: bool) {
        self.objective.clear();
        self.can_tell = can_tell;
        self.events.clear();
        self.singles.clear();
        self.all.iter_mut().for_each(SampleMean::clear);
    }

    /// Hands the averages of the latest verdict on to the run, once. False: it has seen them.
    pub fn hand_over(&mut self) -> bool {
        std::mem::take(&mut self.fresh)
    }

    /// Whether the averages that were handed over are those of the whole population.
    pub fn were_exact(&self) -> bool {
        self.exact
    }

    /// What all samples of the latest verdict say of each function.
    pub fn averages(&self) -> [&[f64]; 3] {
        let [gradient, constraints, jacobian] = &self.all;
        [&gradient.mean, &constraints.mean, &jacobian.mean]
    }

    /// Whether the half of the batches that judges lacks an event of a function that the other half has.
    fn halves_differ(&self, k: usize) -> bool {
        let (all, half) = (&self.all[k].mean, &self.means[k]);
        let off = all.iter().zip(&half.mean).map(|(all, half)| (all - half).powi(2)).sum::<f64>().sqrt();
        off > HALVES * half.standard_error() + ROUNDING * norm(all)
    }

    /// How far the averages of the constraints may be off, for samples of a known range; none where it is not known, or where all is exact.
    fn noise_of_constraints(&self, range: Option<f64>, risk: f64) -> Option<f64> {
        let (range, count, rows) = (range?, self.singles.count(), self.single.len());
        let bound = |row: usize| confidence::bernstein(self.singles.square(row), count, range, risk / rows as f64);
        (count > 1.0).then(|| (0..rows).map(|row| bound(row).powi(2)).sum::<f64>().sqrt())
    }
}

impl<S: SampledProblem> Solver<S> {
    /// Judges the current point on fresh samples. That Clarabel was asked is an event of the iteration. None: the time was over before
    /// all samples were taken.
    pub(crate) fn judge(&mut self, sizes: [usize; 3], last: bool, unusual: &mut Unusual) -> Result<Option<Verdict>, Trouble> {
        self.with_judge(|solver, work| solver.judge_with(work, (sizes, last), unusual)).unwrap_or(Ok(None))
    }

    /// Does something with the judge's memory, at the current point. None: this is no noisy run.
    fn with_judge<T>(&mut self, act: impl FnOnce(&mut Self, &mut JudgeMemory) -> T) -> Option<T> {
        let mut noisy = self.noisy.take()?;
        noisy.judge.judged.z.copy_from_slice(&self.state.current.z);
        Arc::make_mut(&mut noisy.judge.judged.user.x).copy_from_slice(&self.state.current.user.x);
        let result = act(self, &mut noisy.judge);
        self.noisy = Some(noisy);
        Some(result)
    }

    fn judge_with(
        &mut self,
        work: &mut JudgeMemory,
        (sizes, last): ([usize; 3], bool),
        unusual: &mut Unusual,
    ) -> Result<Option<Verdict>, Trouble> {
        let batches = self.settings.sampling.judge.batches;
        let (first, before) = (batches / 2, self.oracle.samples().total());
        work.begin(self.oracle.meta().has_objective);
        work.exact = Quantity::ALL.into_iter().zip(sizes).all(|(quantity, size)| self.is_whole(quantity, size));
        if !self.average(work, (0..first, batches), sizes)? {
            return Ok(None);
        }
        let error = self.load_known(work, sizes, (first, batches));
        if self.fit_multipliers(work, error) {
            unusual.insert(Event::Fallback);
        }
        if !self.average(work, (first..batches, batches), sizes)? {
            return Ok(None);
        }
        work.fresh = true;
        work.drawn =
            [0, 1, 2].map(|k| if self.is_whole(Quantity::ALL[k], sizes[k]) { 0 } else { batches * sizes[k].div_ceil(batches) });
        work.judgements.count(work.exact);
        let samples = self.oracle.samples().total() - before;
        Ok(Some(Verdict { samples, ..self.verdict(work, sizes, last) }))
    }

    /// What the averages say of the point, each residual with its bounds.
    fn verdict(&mut self, work: &mut JudgeMemory, sizes: [usize; 3], last: bool) -> Verdict {
        let settings = self.settings.sampling.judge.clone();
        let looks = work.judgements.looks;
        let risk = confidence::risk_of_look(settings.confidence, looks, last);
        let (half, all) = (settings.batches - settings.batches / 2, settings.batches);
        let (factor, of_values) = (Factors::new(risk, half), Factors::new(risk, all));
        let rare = work.noise_of_constraints(settings.range, risk);
        let jacobian = &work.means[2];
        let noise = |factor: f64| rare.unwrap_or(factor * work.all[1].standard_error());
        let (above, around, both) = (noise(of_values.above), noise(of_values.around), noise(of_values.both));
        let jacobian_noise = factor.both * jacobian.standard_error();
        let scale = self.oracle.standard.scales.objective;
        let stationarity = norm(&work.errors.mean) / scale;
        // Values need not be independent of the multipliers, so that all batches tell of them.
        self.oracle.load([&work.means[0].mean, &work.all[1].mean, &work.means[2].mean], &mut work.judged);
        self.judging.kkt.measure(&work.judged, &self.judging.fit.tangent, &self.oracle.standard);
        self.judging.kkt.measure_infeasibility(&work.judged, &self.oracle.standard, &mut self.state.row_sizes);
        let residuals = self.judging.kkt.residuals;
        let inequalities =
            self.oracle.standard.slack_rows.iter().map(|&row| self.judging.kkt.y[row].powi(2)).sum::<f64>().sqrt();
        // The multipliers were fitted to a part of these values. They may thus have found the rows whose errors flatter them, so that errors in
        // whatever direction count; with a single row there is nothing to find.
        let towards = if self.oracle.standard.slack_rows.len() == 1 { above } else { around };
        let error = work.errors.standard_error() / scale;
        // Where their range is known, the bound on the constraints holds whatever is rare.
        let relied_on = |quantity: Quantity| quantity == Quantity::Constraints && rare.is_some();
        let sampled = [0, 1, 2].map(|k| {
            let quantity = Quantity::ALL[k];
            (!self.is_whole(quantity, sizes[k]) && !relied_on(quantity)).then_some(sizes[k])
        });
        let (exact_rows, risk_of_missing) =
            (self.oracle.problem.exact_rows(), risk_of_events(settings.confidence, looks, last));
        let mut lacking = Lacking::among(sampled, &work.events, exact_rows, (risk_of_missing, settings.rarest));
        let derivatives = [Quantity::Gradient, Quantity::Jacobian].map(|quantity| quantity as usize);
        lacking.events |= derivatives.into_iter().any(|k| sampled[k].is_some() && work.halves_differ(k));
        let slope_noise = |slope: f64| slope_noise(slope, residuals.feasibility, both, jacobian_noise);
        // Where a bound holds a variable whatever the noise of the slope is, only the way to it counts, which is known.
        let free =
            self.judging.kkt.norm_of_free_columns(&work.judged, &self.oracle.standard, slope_noise(norm(&jacobian.mean)));
        let infeasible = free.map_or(0.0, slope_noise);
        let error_of_objective = confidence::factor(risk, all) * work.objective.standard_error();
        Verdict {
            stationarity: Bounded::new(stationarity, factor.above * error, factor.around * error),
            feasibility: Bounded::new(residuals.feasibility, above, around),
            complementarity: Bounded::new(residuals.complementarity, inequalities * towards, inequalities * around),
            infeasible: Bounded::new(residuals.infeasible, infeasible, infeasible),
            relative_infeasible: residuals.relative_infeasible,
            objective: work.can_tell.then(|| Averaged { value: work.objective.mean[0], error: error_of_objective }),
            confidence: settings.confidence,
            few_events: lacking.events,
            silent_row: lacking.silent,
            rarest: lacking.rarest,
            iteration: self.state.progress.iteration,
            ..Verdict::default()
        }
        .summed_up(settings.rarest)
    }

    /// Averages over some of all fresh batches into `means`, and those of `g + J^T y - mu` at the multipliers fitted before.
    /// False: the time was over.
    fn average(
        &mut self,
        work: &mut JudgeMemory,
        (some, all): (Range<usize>, usize),
        sizes: [usize; 3],
    ) -> Result<bool, Trouble> {
        work.means.iter_mut().for_each(SampleMean::clear);
        work.errors.clear();
        for batch in some {
            if self.clock.is_over() {
                return Ok(false);
            }
            self.sample(work, sizes, (batch, all))?;
            for ((mean, all), values) in work.means.iter_mut().zip(&mut work.all).zip(&work.batch) {
                mean.add(values);
                all.add(values);
            }
            work.events.add(&work.batch[1]);
            self.oracle.load_derivatives(&work.batch[0], &work.batch[2], &mut work.judged);
            let n = work.error.len();
            let add_products = |out: &mut [f64]| work.judged.jacobian.a.add_transposed(self.judging.kkt.signed(), out);
            gradient_of_lagrangian(&work.judged.g[..n], add_products, &self.judging.fit.tangent.mu, &mut work.error);
            work.errors.add(&work.error);
        }
        Ok(true)
    }

    /// Whether so many samples of a function are all that there is to know of it.
    pub(crate) fn is_whole(&self, quantity: Quantity, size: usize) -> bool {
        let access = quantity.access(self.oracle.problem.accesses());
        let whole = matches!(access, Access::Finite(members) if size as u64 >= members);
        whole || access == Access::Exact || !quantity.is_needed(self.oracle.meta())
    }

    /// One of all batches of each function at the current point; what is exact, or the whole population, is evaluated once.
    fn sample(&mut self, work: &mut JudgeMemory, sizes: [usize; 3], (number, all): (usize, usize)) -> Result<(), Trouble> {
        let is_left = |quantity: Quantity| {
            let known = number > 0 && self.is_whole(quantity, sizes[quantity as usize]);
            quantity.is_needed(self.oracle.meta()) && !known
        };
        let mut left = Quantity::ALL.map(is_left);
        if !left[0] && work.objective.count() > 0.0 {
            let value = work.objective.mean[0];
            work.objective.add(&[value]);
        }
        for (k, quantity) in Quantity::ALL.into_iter().enumerate() {
            if !std::mem::take(&mut left[k]) {
                continue;
            }
            let mut wanted = quantity.and(Wanted::NOTHING);
            let whole = self.is_whole(quantity, sizes[k]);
            if whole {
                work.draws.clear();
                work.draws.extend((0..sizes[k] as u64).map(Draw));
                // Whole populations of one size are the same draws.
                for (other, quantity) in Quantity::ALL.into_iter().enumerate().skip(k + 1) {
                    if left[other] && self.is_whole(quantity, sizes[other]) && sizes[other] == sizes[k] {
                        left[other] = false;
                        wanted = quantity.and(wanted);
                    }
                }
            } else {
                let access = quantity.access(self.oracle.problem.accesses());
                let (stream, size) = (&mut work.judgements.streams[k], sizes[k].div_ceil(all));
                let end_wanted = || self.oracle.problem.is_end_wanted();
                let drawn = stream.draw((access, size), &mut work.draws, end_wanted);
                drawn.map_err(|failure| trouble(quantity.function(), failure))?;
            }
            if quantity == Quantity::Constraints && !whole && self.settings.sampling.judge.range.is_some() {
                self.sample_one_by_one(work)?;
                continue;
            }
            let at = (&work.judged.user.x[..], &work.draws[..]);
            let value = batch::evaluate(&mut self.oracle.problem, at, wanted, work.can_tell, &mut work.batch)?;
            match value {
                _ if !(wanted.gradient && work.can_tell) => {}
                Some(value) => work.objective.add(&[value]),
                None => work.can_tell = false,
            }
        }
        Ok(())
    }

    /// The constraints for each of the draws, and their average as a batch.
    fn sample_one_by_one(&mut self, work: &mut JudgeMemory) -> Result<(), Trouble> {
        let (problem, function) = (&mut self.oracle.problem, Quantity::Constraints.function());
        work.batch[1].fill(0.0);
        for draw in &work.draws {
            if self.clock.is_over() {
                return Err(trouble(function, Failure::broken("the run is to end, in the middle of a judgement")));
            }
            let done = problem.constraints(&work.judged.user.x, std::slice::from_ref(draw), &mut work.single);
            done.map_err(|failure| trouble(function, failure))?;
            check(problem.meta(), function, &work.single)?;
            work.singles.add(&work.single);
            add(1.0 / work.draws.len() as f64, &work.single, &mut work.batch[1]);
        }
        Ok(())
    }

    /// All that is known before the second half of the batches, for the multipliers: the first half together with the estimates of the run, each
    /// with the weight of its draws. That these flatter the run is no harm: the second half, which judges, is independent of both. Gives the mean
    /// square error of the Jacobian.
    fn load_known(&mut self, work: &mut JudgeMemory, sizes: [usize; 3], (first, batches): (usize, usize)) -> f64 {
        let mut share = 1.0;
        for (k, quantity) in Quantity::ALL.into_iter().enumerate() {
            // What is known exactly is there already.
            if self.is_whole(quantity, sizes[k]) {
                continue;
            }
            let estimate = self.oracle.estimates.get(quantity);
            share = estimate.effective.share_of(first * sizes[k].div_ceil(batches));
            for (known, (mean, value)) in work.batch[k].iter_mut().zip(work.means[k].mean.iter().zip(estimate.values())) {
                *known = value + share * (mean - value);
            }
        }
        self.oracle.load(work.batch.each_ref().map(Vec::as_slice), &mut work.judged);
        share * work.means[2].standard_error().powi(2)
    }

    /// The multipliers with the least of the residuals relative to their tolerances; `error` is the mean square error of the
    /// Jacobian. True: Clarabel was asked.
    fn fit_multipliers(&mut self, work: &mut JudgeMemory, error: f64) -> bool {
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

    fn fit_with(&mut self, work: &mut JudgeMemory, weights: (f64, f64)) -> bool {
        let asked = self.judging.fit.fit(&work.judged, weights, &self.oracle.standard, &mut self.steps.projection, &self.clock);
        self.judging.kkt.measure(&work.judged, &self.judging.fit.tangent, &self.oracle.standard);
        asked
    }

    /// The residuals of the exact functions at the current point, multipliers fitted to them; none if the run is exact itself, or
    /// if the problem has no such functions. The run goes on as if nobody had asked.
    pub fn true_residuals(&mut self) -> Option<TrueResiduals> {
        self.with_judge(Self::true_residuals_with)?
    }

    fn true_residuals_with(&mut self, work: &mut JudgeMemory) -> Option<TrueResiduals> {
        // Counting turns panics into failures; the counts themselves are nobody's.
        let mut exact = Counted::new(self.oracle.problem.exact()?);
        let [gradient, constraints, jacobian] = &mut work.batch;
        let mut out = Outputs::new(gradient, constraints, jacobian);
        Problem::evaluate(&mut exact, &work.judged.user.x, Wanted::SAMPLED, &mut out).ok()?;
        self.oracle.load(work.batch.each_ref().map(Vec::as_slice), &mut work.judged);
        self.fit_multipliers(work, 0.0);
        let found = TrueResiduals::from(self.judging.kkt.residuals);
        // The run goes on from the residuals of its estimates.
        self.judging.kkt.measure(&self.state.current, &self.steps.tangent, &self.oracle.standard);
        Some(found)
    }
}
