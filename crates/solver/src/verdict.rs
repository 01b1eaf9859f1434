//! Judging a noisy run: residuals computed from the running estimates flatter it, so a verdict uses fresh samples.
//!
//! The first half of the batches fits multipliers with the right signs; the second half, independent of them, gives the mean and the
//! spread of `g + J^T y - mu` and of `c` at these multipliers, and with them a confidence bound on each residual.

use serde::{Deserialize, Serialize};
use tangor_problem::{Access, Accesses, Counted, Draw, Problem, SampledProblem};

use crate::confidence;
use crate::estimator::Source;
use crate::iterate::Iterate;
use crate::kkt::Residuals;
use crate::oracle::{Trouble, check, trouble};
use crate::random::Stream;
use crate::solver::Solver;
use crate::vector::norm;
use crate::{Tolerance, TrueResiduals, Unusual};

/// A residual, and what it does not exceed with the confidence of the verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bounded {
    /// The residual of the averages over fresh samples.
    pub value: f64,
    /// The upper confidence bound.
    pub upper: f64,
}

/// A point judged on fresh samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// `|g + J^T y - mu|`
    pub stationarity: Bounded,
    /// The violation of the constraints.
    pub feasibility: Bounded,
    /// The sum of |multiplier| times distance.
    pub complementarity: Bounded,
    /// The projected gradient of the violation.
    pub infeasible: f64,
    /// The confidence of each bound.
    pub confidence: f64,
    /// Fresh samples of each function.
    pub samples: u64,
    /// The iteration of the point.
    pub iteration: u64,
}

impl Verdict {
    /// Whether all three bounds are within the tolerances.
    pub fn holds(&self, tolerance: &Tolerance) -> bool {
        tolerance.is_kkt(&self.upper())
    }

    /// The residuals of the averages.
    pub(crate) fn values(&self) -> Residuals {
        Residuals {
            stationarity: self.stationarity.value,
            feasibility: self.feasibility.value,
            complementarity: self.complementarity.value,
            infeasible: self.infeasible,
        }
    }

    fn upper(&self) -> Residuals {
        Residuals {
            stationarity: self.stationarity.upper,
            feasibility: self.feasibility.upper,
            complementarity: self.complementarity.upper,
            infeasible: self.infeasible,
        }
    }

    /// The worst bound relative to its tolerance, and how much of that is noise.
    pub(crate) fn score(&self, tolerance: &Tolerance) -> (f64, f64) {
        // A residual that is no number is as bad as can be.
        let known = |value: f64| if value.is_nan() { f64::INFINITY } else { value };
        let relative =
            |bounded: Bounded, tolerance: f64| (known(bounded.upper / tolerance), (bounded.upper - bounded.value) / tolerance);
        let all = [
            relative(self.stationarity, tolerance.stationarity),
            relative(self.feasibility, tolerance.feasibility),
            relative(self.complementarity, tolerance.complementarity),
        ];
        all.into_iter().fold((0.0, 0.0), |worst, one| if one.0 > worst.0 { one } else { worst })
    }
}

/// Mean and spread of vectors, one after the other.
pub(crate) struct Moments {
    count: f64,
    pub mean: Vec<f64>,
    squares: Vec<f64>,
}

impl Moments {
    pub fn new(length: usize) -> Self {
        Moments { count: 0.0, mean: vec![0.0; length], squares: vec![0.0; length] }
    }

    fn clear(&mut self) {
        self.count = 0.0;
        self.mean.fill(0.0);
        self.squares.fill(0.0);
    }

    pub fn add(&mut self, values: &[f64]) {
        self.count += 1.0;
        for ((mean, square), value) in self.mean.iter_mut().zip(&mut self.squares).zip(values) {
            let off = value - *mean;
            *mean += off / self.count;
            *square += off * (value - *mean);
        }
    }

    /// The standard error of the mean: root of the sum over all entries.
    pub fn standard_error(&self) -> f64 {
        (self.squares.iter().sum::<f64>() / (self.count - 1.0) / self.count).sqrt()
    }
}

/// The memory of the judge.
pub struct Work {
    streams: [Stream; 3],
    draws: Vec<Draw>,
    /// The point, in the user's variables.
    x: Vec<f64>,
    /// One batch of each function, in the user's form.
    batch: [Vec<f64>; 3],
    means: [Moments; 3],
    error: Vec<f64>,
    errors: Moments,
    judged: Iterate,
    /// The multipliers with which the steps of the run start, of both subproblems: judging must not change what the run does next.
    multipliers: [Vec<f64>; 2],
}

impl Work {
    pub fn new(current: &Iterate, lengths: [usize; 3], start: &[f64], seed: u64) -> Self {
        Work {
            streams: [3, 4, 5].map(|number| Stream::new(seed, number)),
            draws: Vec::new(),
            x: start.to_vec(),
            batch: lengths.map(|length| vec![0.0; length]),
            means: lengths.map(Moments::new),
            error: vec![0.0; current.n()],
            errors: Moments::new(current.n()),
            judged: current.clone(),
            multipliers: [0, 1].map(|_| vec![0.0; current.h.len()]),
        }
    }

    pub fn streams(&self) -> [Stream; 3] {
        self.streams
    }

    pub fn set_streams(&mut self, streams: [Stream; 3]) {
        self.streams = streams;
    }
}

impl<S: SampledProblem> Solver<S> {
    /// Judges the current point on fresh samples.
    pub(crate) fn judge(&mut self) -> Result<Verdict, Trouble> {
        self.aside(Self::judge_with).unwrap_or_else(|| Ok(Verdict::default()))
    }

    /// Does something with the steps' memory and then puts their multipliers back. None: this is no noisy run.
    fn aside<T>(&mut self, act: impl FnOnce(&mut Self, &mut Work) -> T) -> Option<T> {
        let mut work = self.judge.take()?;
        self.oracle.standard.to_user(self.current.x(), &mut work.x);
        work.judged.z.copy_from_slice(&self.current.z);
        work.multipliers[0].copy_from_slice(&self.normal.y);
        work.multipliers[1].copy_from_slice(&self.tangent.lambda);
        let result = act(self, &mut work);
        self.normal.y.copy_from_slice(&work.multipliers[0]);
        self.tangent.lambda.copy_from_slice(&work.multipliers[1]);
        self.judge = Some(work);
        Some(result)
    }

    fn judge_with(&mut self, work: &mut Work) -> Result<Verdict, Trouble> {
        let settings = self.settings.sampling.judge.clone();
        let batches = settings.batches.max(4);
        let size = settings.samples.div_ceil(batches).max(1);
        let first = batches / 2;
        self.average(work, first, size, false)?;
        self.fit_multipliers(&mut work.judged);
        self.average(work, batches - first, size, true)?;

        let k = confidence::factor(settings.confidence, batches - first);
        let noise = k * work.means[1].standard_error();
        let scale = self.oracle.standard.objective_scale;
        let stationarity = norm(&work.errors.mean) / scale;
        self.load_means(work);
        self.kkt.judge(&work.judged, &self.tangent, &self.oracle.standard);
        self.kkt.judge_infeasibility(&work.judged, &self.oracle.standard);
        let residuals = self.kkt.residuals;
        let inequalities = self.oracle.standard.slack_rows.iter().map(|&row| self.kkt.y[row].powi(2)).sum::<f64>().sqrt();
        let upper = |value: f64, noise: f64| Bounded { value, upper: value + noise };
        Ok(Verdict {
            stationarity: upper(stationarity, k * work.errors.standard_error() / scale),
            feasibility: upper(residuals.feasibility, noise),
            complementarity: upper(residuals.complementarity, inequalities * noise),
            infeasible: residuals.infeasible,
            confidence: settings.confidence,
            samples: (batches * size) as u64,
            iteration: self.iteration,
        })
    }

    /// Averages over fresh batches into `means`; with `errors` also `g + J^T y - mu` at the multipliers of the tangent step.
    fn average(&mut self, work: &mut Work, batches: usize, size: usize, errors: bool) -> Result<(), Trouble> {
        work.means.iter_mut().for_each(Moments::clear);
        work.errors.clear();
        for batch in 0..batches {
            self.sample(work, size, batch == 0)?;
            for (mean, values) in work.means.iter_mut().zip(&work.batch) {
                mean.add(values);
            }
            if errors {
                self.load(&work.batch[0], &work.batch[2], &mut work.judged);
                let n = work.error.len();
                work.error.copy_from_slice(&work.judged.g[..n]);
                work.judged.jacobian.a.add_transposed(self.kkt.signed(), &mut work.error);
                work.error.iter_mut().zip(&self.tangent.mu).for_each(|(error, mu)| *error -= mu);
                work.errors.add(&work.error);
            }
        }
        self.load_means(work);
        Ok(())
    }

    /// One batch of each function at the current point; what is exact is evaluated once.
    fn sample(&mut self, work: &mut Work, size: usize, first: bool) -> Result<(), Trouble> {
        let Accesses { gradient, constraints, jacobian } = self.oracle.problem.accesses();
        let oracle = &mut self.oracle;
        for (k, (source, access)) in Source::ALL.into_iter().zip([gradient, constraints, jacobian]).enumerate() {
            if !source.is_needed(oracle.problem.meta()) || (access == Access::Exact && !first) {
                continue;
            }
            work.streams[k].draw(access, if access.is_sampled() { size } else { 0 }, &mut work.draws);
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

    /// Both steps at a judged point: the tangent step's multipliers have the right signs.
    fn fit_multipliers(&mut self, judged: &mut Iterate) {
        std::mem::swap(&mut self.current, judged);
        self.find_steps(&mut Unusual::default());
        self.kkt.judge(&self.current, &self.tangent, &self.oracle.standard);
        std::mem::swap(&mut self.current, judged);
    }

    /// The objective at the current point, an average over fresh samples where it is sampled. NaN: the problem cannot tell.
    pub(crate) fn judged_objective(&mut self) -> f64 {
        let (meta, access) = (self.oracle.meta(), self.oracle.problem.accesses().gradient);
        let samples = if access.is_sampled() { self.settings.sampling.judge.samples.max(1) } else { 0 };
        if !meta.has_objective {
            return 0.0;
        }
        let told = self.aside(|solver, work| {
            work.streams[0].draw(access, samples, &mut work.draws);
            solver.oracle.problem.objective(&work.x, &work.draws)
        });
        told.flatten().and_then(Result::ok).unwrap_or(f64::NAN)
    }

    /// The residuals of the exact functions at the current point, multipliers fitted to them; none if the run is exact itself, or
    /// if the problem has no such functions. The run goes on as if nobody had asked.
    pub fn true_residuals(&mut self) -> Option<TrueResiduals> {
        self.aside(Self::true_residuals_with)?
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
        self.fit_multipliers(&mut work.judged);
        Some(TrueResiduals::from(self.kkt.residuals))
    }
}
