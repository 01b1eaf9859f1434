//! Judging a point with multipliers that come from elsewhere, such as a report that was read from a file.

use tangor_problem::{
    Access, Accesses, Counted, Draw, EndWanted, Evaluation, KktPoint, KktResiduals, Meta, MetaError, SampledProblem, Samples,
    Wanted,
};

use crate::form::oracle::{Trouble, trouble};
use crate::form::quantity::Quantity;
use crate::judging::batch;
use crate::judging::confidence::{self, Factors, factor_above, slope_noise};
use crate::judging::events::{Events, Lacking};
use crate::judging::sample_mean::SampleMean;
use crate::kernel::vector::norm;
use crate::noise::random::Stream;
use crate::{Averaged, Bounded, Error, Judge, Sampling, Verdict};

/// The first of the three streams of draws that no run uses, and the first of those of a pilot.
const FRESH: u64 = 6;
const PILOT: u64 = 9;

/// A point with multipliers, in the signs of a [`Report`](crate::Report).
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// The point.
    pub x: &'a [f64],
    /// Multipliers of the constraints.
    pub row_multipliers: &'a [f64],
    /// Multipliers of the bounds; those of fixed variables do not matter.
    pub bound_multipliers: &'a [f64],
}

/// Judges a point on `sampling.judge.samples` samples of each function that no run with the same seed has seen, nor its pilot. A population
/// with no more members than that is judged as a whole. Where all functions are exact, or judged as a whole, so is the verdict: each
/// bound is its residual.
pub fn judge_point<S: SampledProblem>(problem: S, candidate: Candidate, sampling: &Sampling) -> Result<Verdict, Error> {
    Ok(judge_on(FRESH, problem, candidate, sampling, None)?.verdict)
}

/// The same with what contradicts the numbers of somebody else beyond doubt. It fails when somebody wants its end.
pub fn judge_point_and_rows<S: SampledProblem>(
    problem: S,
    candidate: Candidate,
    sampling: &Sampling,
    end_wanted: Option<EndWanted>,
) -> Result<JudgedPoint, Error> {
    judge_on(FRESH, problem, candidate, sampling, end_wanted)
}

/// Who says that numbers of somebody else are wrong may be wrong so often, all numbers of a result together.
const DOUBT: f64 = 1e-4;

/// How many times farther than a bound of a verdict with these settings the truth may lie, where none of so many rows, nor a residual, nor the
/// objective, is to be beyond it but with a risk of 1e-4: a bound with 95% confidence is wrong in one of twenty honest results.
pub fn beyond_doubt(judge: &Judge, rows: usize) -> f64 {
    // Some bounds rest on half of the batches, which is the wider one here.
    let count = judge.batches / 2;
    confidence::factor(DOUBT / statements(rows), count) / factor_above(1.0 - judge.confidence, count)
}

/// The numbers of a result that are compared: four residuals, the objective, and each row.
fn statements(rows: usize) -> f64 {
    5.0 + rows as f64
}

/// The same before a run, to learn how large the noise is: on samples that neither the run nor a later [`judge_point`] sees. With the
/// samples that it took, for [`Solver::sampled_after`](crate::Solver::sampled_after).
pub fn judge_before<S: SampledProblem>(
    problem: S,
    candidate: Candidate,
    sampling: &Sampling,
) -> Result<(Verdict, Samples), Error> {
    let judged = judge_on(PILOT, problem, candidate, sampling, None)?;
    Ok((judged.verdict, judged.samples))
}

/// What fresh samples say of a point.
#[derive(Clone, Debug)]
pub struct JudgedPoint {
    /// With the confidence that was asked for in each bound.
    pub verdict: Verdict,
    /// The same with bounds so wide that all of them hold at once, but with a risk of 1e-4: what is beyond them is wrong.
    pub beyond_doubt: Verdict,
    /// The average of each constraint, with an error of that kind.
    pub rows: Vec<Averaged>,
    /// The samples that were taken.
    pub samples: Samples,
}

fn judge_on<S: SampledProblem>(
    stream: u64,
    problem: S,
    candidate: Candidate,
    sampling: &Sampling,
    end_wanted: Option<EndWanted>,
) -> Result<JudgedPoint, Error> {
    sampling.validate()?;
    let meta = problem.meta().clone();
    meta.validate().map_err(|source| Error::Problem { name: meta.name.clone(), source })?;
    candidate.fits(&meta).map_err(|reason| Error::Point { reason })?;
    let wrong = |error: MetaError| Error::Point { reason: error.to_string() };
    let batches = sampling.judge.batches;
    let size = sampling.judge.samples.div_ceil(batches);
    let mut sampler = Sampler::new(problem, &meta, sampling, stream);
    sampler.problem.break_off_when(end_wanted.clone());
    let mut means = Means::new(&meta);
    for batch in 0..batches {
        if end_wanted.as_ref().is_some_and(|wanted| wanted()) {
            return Err(Error::Point { reason: "it was to end before all samples were taken".to_string() });
        }
        let objective = sampler.sample(&meta, candidate.x, size, batch == 0)?;
        means.add(&meta, &candidate, &sampler.batch, objective).map_err(wrong)?;
    }
    let risk = 1.0 - sampling.judge.confidence;
    let is_sampled = |k: usize| Quantity::ALL[k].is_needed(&meta) && sampler.is_noisy(k);
    let sampled = [0, 1, 2].map(|k| is_sampled(k).then_some(size * batches));
    let lacking = Lacking::among(sampled, &means.events, sampler.problem.exact_rows(), (risk, sampling.judge.rarest));
    let samples = sampler.problem.samples();
    let verdict_with = |risk: f64| {
        let verdict = Verdict {
            confidence: 1.0 - risk,
            few_events: lacking.events,
            silent_row: lacking.silent,
            rarest: lacking.rarest,
            samples: samples.total(),
            ..means.verdict(&meta, &candidate, Factors::new(risk, batches))?
        };
        Ok(verdict.summed_up(sampling.judge.rarest))
    };
    let doubt = DOUBT.min(risk) / statements(meta.m());
    Ok(JudgedPoint {
        verdict: Verdict { confidence: sampling.judge.confidence, ..verdict_with(risk).map_err(wrong)? },
        beyond_doubt: verdict_with(doubt).map_err(wrong)?,
        rows: means.rows(confidence::factor(doubt, batches)),
        samples,
    })
}

/// The averages of all functions over batches, and of the gradient of the Lagrangian at the multipliers of the point.
struct Means {
    errors: SampleMean,
    gradient: SampleMean,
    values: SampleMean,
    jacobian: SampleMean,
    objective: SampleMean,
    /// Whether the problem tells its objective.
    can_tell: bool,
    events: Events,
}

impl Means {
    fn new(meta: &Meta) -> Self {
        Means {
            errors: SampleMean::new(meta.n()),
            gradient: SampleMean::new(meta.n()),
            values: SampleMean::new(meta.m()),
            jacobian: SampleMean::new(meta.jacobian_len()),
            objective: SampleMean::new(1),
            can_tell: meta.has_objective,
            events: Events::new(meta.m()),
        }
    }

    fn add(
        &mut self,
        meta: &Meta,
        candidate: &Candidate,
        batch: &[Vec<f64>; 3],
        objective: Option<f64>,
    ) -> Result<(), MetaError> {
        match objective {
            Some(value) => self.objective.add(&[value]),
            None => self.can_tell = false,
        }
        self.errors.add(&candidate.with(batch).error(meta)?);
        self.gradient.add(&batch[0]);
        self.values.add(&batch[1]);
        self.events.add(&batch[1]);
        self.jacobian.add(&batch[2]);
        Ok(())
    }

    /// Each constraint with so many standard errors.
    fn rows(&self, factor: f64) -> Vec<Averaged> {
        let row = |(i, value): (usize, &f64)| Averaged { value: *value, error: factor * self.values.standard_error_of(i) };
        self.values.mean.iter().enumerate().map(row).collect()
    }

    /// The residuals with their bounds, and the objective.
    fn verdict(&self, meta: &Meta, candidate: &Candidate, factor: Factors) -> Result<Verdict, MetaError> {
        let means = [&self.gradient, &self.values, &self.jacobian].map(|mean| mean.mean.clone());
        let residuals = KktResiduals::new(meta, candidate.with(&means))?;
        let (error, noise) = (self.errors.standard_error(), self.values.standard_error());
        let is_inequality = |i: &usize| meta.c_lower[*i] < meta.c_upper[*i];
        let inequalities: Vec<f64> = (0..meta.m()).filter(is_inequality).map(|i| candidate.row_multipliers[i]).collect();
        let bounded = |value: f64, error: f64| Bounded::new(value, factor.above * error, factor.around * error);
        let jacobian_noise = factor.both * self.jacobian.standard_error();
        let slope = slope_noise(norm(&self.jacobian.mean), residuals.feasibility, factor.both * noise, jacobian_noise);
        let objective = || Averaged { value: self.objective.mean[0], error: factor.around * self.objective.standard_error() };
        Ok(Verdict {
            stationarity: bounded(residuals.stationarity, error),
            feasibility: bounded(residuals.feasibility, noise),
            complementarity: bounded(residuals.complementarity, norm(&inequalities) * noise),
            infeasible: Bounded::new(residuals.infeasible_stationarity, slope, slope),
            // Of a point alone nobody knows what its rows are elsewhere.
            relative_infeasible: 0.0,
            objective: self.can_tell.then(objective),
            iteration: 0,
            ..Verdict::default()
        })
    }
}

impl Candidate<'_> {
    fn fits(&self, meta: &Meta) -> Result<(), String> {
        let lengths = [
            ("the point has", self.x, meta.n(), "variables"),
            ("the multipliers of the bounds are", self.bound_multipliers, meta.n(), "variables"),
            ("the multipliers of the constraints are", self.row_multipliers, meta.m(), "constraints"),
        ];
        for (subject, values, expected, what) in lengths {
            if values.len() != expected {
                return Err(format!("{subject} {} numbers, but {} has {expected} {what}", values.len(), meta.name));
            }
        }
        match (0..meta.n()).find(|&i| !(meta.x_lower[i]..=meta.x_upper[i]).contains(&self.x[i])) {
            Some(i) => Err(format!("variable {} is {}, outside of its bounds", meta.variable_name(i), self.x[i])),
            None => Ok(()),
        }
    }

    /// The point with gradient, constraints and Jacobian there.
    fn with<'a>(&'a self, [gradient, constraints, jacobian]: &'a [Vec<f64>; 3]) -> KktPoint<'a> {
        let Candidate { x, row_multipliers, bound_multipliers } = *self;
        KktPoint { x, gradient, constraints, jacobian, row_multipliers, bound_multipliers }
    }
}

/// Batches of all three functions.
struct Sampler<S> {
    problem: Counted<S>,
    streams: [Stream; 3],
    /// How each function is had; a whole population is as good as exact.
    accesses: [Access; 3],
    /// The members of each population that is evaluated as a whole.
    whole: [Option<u64>; 3],
    draws: Vec<Draw>,
    batch: [Vec<f64>; 3],
    objective: Option<f64>,
}

impl<S: SampledProblem> Sampler<S> {
    fn new(problem: S, meta: &Meta, sampling: &Sampling, stream: u64) -> Self {
        let batch = [meta.n(), meta.m(), meta.jacobian_len()].map(|length| vec![0.0; length]);
        let streams = [0, 1, 2].map(|number| Stream::new(sampling.seed, stream + number, sampling.replacement));
        let Accesses { gradient, constraints, jacobian } = problem.accesses();
        let accesses = [gradient, constraints, jacobian];
        let whole = accesses.map(|access| match access {
            Access::Finite(members) if members <= sampling.judge.samples as u64 => Some(members),
            _ => None,
        });
        let problem = Counted::in_portions(problem);
        Sampler { problem, streams, accesses, whole, draws: Vec::new(), batch, objective: None }
    }

    /// Whether a function differs from batch to batch.
    fn is_noisy(&self, k: usize) -> bool {
        self.accesses[k].is_sampled() && self.whole[k].is_none()
    }

    /// Whether two functions without noise are had from the same draws.
    fn is_known_with(&self, k: usize, other: usize) -> bool {
        !self.is_noisy(k) && !self.is_noisy(other) && self.whole[k] == self.whole[other]
    }

    fn draw(&mut self, k: usize, size: usize) -> Evaluation {
        match self.whole[k] {
            Some(members) => {
                self.draws.clear();
                self.draws.extend((0..members).map(Draw));
                Ok(())
            }
            None => {
                let size = if self.accesses[k].is_sampled() { size } else { 0 };
                self.streams[k].draw((self.accesses[k], size), &mut self.draws, || self.problem.is_end_wanted())
            }
        }
    }

    /// What has no noise is evaluated once. Gives the objective over the draws of the gradient, where the problem can tell.
    fn sample(&mut self, meta: &Meta, x: &[f64], size: usize, first: bool) -> Result<Option<f64>, Error> {
        let refuse = |trouble: Trouble| Error::Point { reason: trouble.into_failure().message };
        let mut left = [0, 1, 2].map(|k| Quantity::ALL[k].is_needed(meta) && (first || self.is_noisy(k)));
        for (k, quantity) in Quantity::ALL.into_iter().enumerate() {
            if !std::mem::take(&mut left[k]) {
                continue;
            }
            let mut wanted = quantity.and(Wanted::NOTHING);
            for other in k + 1..left.len() {
                if left[other] && self.is_known_with(k, other) {
                    left[other] = false;
                    wanted = Quantity::ALL[other].and(wanted);
                }
            }
            self.draw(k, size).map_err(|failure| refuse(trouble(quantity.function(), failure)))?;
            let value = batch::evaluate(&mut self.problem, (x, &self.draws), wanted, true, &mut self.batch).map_err(refuse)?;
            if wanted.gradient {
                self.objective = value;
            }
        }
        Ok(self.objective)
    }
}
