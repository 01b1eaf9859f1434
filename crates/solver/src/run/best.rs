//! The best point so far, by the merit function with its present parameter: what an interrupted run gives back.

use serde::{Deserialize, Serialize};
use tangor_problem::{Meta, SampledProblem};

use crate::form::iterate::{Iterate, UserPoint};
use crate::form::oracle::Oracle;
use crate::form::standard::Standard;
use crate::judging::residuals::{Kkt, Residuals};
use crate::judging::verdict::Verdict;
use crate::kernel::vector::norm;
use crate::run::number;

/// A point with its residuals and multipliers, in the user's variables where not said otherwise.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Best {
    pub x: Vec<f64>,
    /// NaN until a point was judged.
    #[serde(with = "number::vector")]
    pub c: Vec<f64>,
    /// Multipliers of the internal rows.
    pub y: Vec<f64>,
    /// Multipliers of the bounds on the user's variables, fixed ones too.
    pub mu: Vec<f64>,
    /// `None` until a point was judged.
    pub values: Option<Values>,
    /// The verdict on it, in a noisy run.
    pub verdict: Option<Verdict>,
    /// The least score of all verdicts.
    pub least: Option<f64>,
    /// Where the constraints held.
    #[serde(default)]
    pub feasible: Feasible,
}

/// The point with the best objective of those that an exact run has been at where the constraints held: who has seen one calls nothing infeasible.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Feasible {
    /// In the user's variables; nothing before there was one.
    #[serde(with = "number::vector")]
    x: Vec<f64>,
    /// The objective there, as one that is to be minimised.
    #[serde(with = "number")]
    objective: f64,
}

impl Feasible {
    fn with_room(n: usize) -> Self {
        Feasible { x: Vec::with_capacity(n), objective: f64::INFINITY }
    }

    /// Whether a point with this objective, as one that is to be minimised, would be the best of them.
    pub fn is_beaten_by(&self, objective: f64) -> bool {
        self.x.is_empty() || objective < self.objective
    }

    /// Keeps a point.
    pub fn keep(&mut self, x: &[f64], objective: f64) {
        self.x.clear();
        self.x.extend_from_slice(x);
        self.objective = objective;
    }

    /// The point, if there is one and it is within its bounds: a file may say anything.
    pub fn point(&self, meta: &Meta) -> Option<&[f64]> {
        let is_inside = |(i, x): (usize, &f64)| (meta.x_lower[i]..=meta.x_upper[i]).contains(x);
        (self.x.len() == meta.n() && self.x.iter().enumerate().all(is_inside)).then_some(&self.x)
    }
}

/// The numbers of a point.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Values {
    #[serde(with = "crate::run::number")]
    pub objective: f64,
    /// `f` and `|h|` in the internal scale.
    f: f64,
    h: f64,
    pub residuals: Residuals,
}

/// The objective where nobody has evaluated it: 0 where there is none.
fn unknown_objective<S: SampledProblem>(oracle: &Oracle<S>) -> f64 {
    if oracle.meta().has_objective { f64::NAN } else { 0.0 }
}

impl Best {
    pub fn new(standard: &Standard, meta: &Meta) -> Self {
        Best {
            x: standard.start.clone(),
            c: vec![f64::NAN; meta.m()],
            y: vec![0.0; standard.rows.len()],
            mu: vec![0.0; meta.n()],
            values: None,
            verdict: None,
            least: None,
            feasible: Feasible::with_room(meta.n()),
        }
    }

    /// Whether another one is of the same sizes.
    pub fn fits(&self, other: &Best) -> bool {
        let lengths = |best: &Best| [&best.x, &best.c, &best.y, &best.mu].map(Vec::len);
        lengths(self) == lengths(other)
    }

    /// Becomes the same, without allocating.
    pub fn copy_from(&mut self, other: &Best) {
        self.x.copy_from_slice(&other.x);
        self.c.copy_from_slice(&other.c);
        self.y.copy_from_slice(&other.y);
        self.mu.copy_from_slice(&other.mu);
        (self.values, self.verdict, self.least) = (other.values, other.verdict, other.least);
        self.feasible.keep(&other.feasible.x, other.feasible.objective);
    }

    /// Becomes the best point of those where the constraints held, of which no multipliers are known. False: there is none.
    pub fn go_back(&mut self, meta: &Meta) -> bool {
        let Some(x) = self.feasible.point(meta) else { return false };
        self.x.copy_from_slice(x);
        self.y.fill(0.0);
        self.mu.fill(0.0);
        true
    }

    /// Keeps the point if it is better than the best so far, or `certain` to be what the run was after.
    pub fn offer<S: SampledProblem>(&mut self, at: &Iterate, kkt: &Kkt, oracle: &Oracle<S>, rho: f64, certain: bool) {
        let (f, h) = (at.f, norm(&at.h));
        if !certain && self.values.is_some_and(|best| best.f + rho * best.h < f + rho * h) {
            return;
        }
        self.take(&at.user, kkt, oracle);
        self.values = Some(Values { objective: at.user.objective, f, h, residuals: kkt.residuals });
    }

    /// Rows have the user's units from now on: so has the violation that others are compared with.
    pub fn unscale(&mut self) {
        if let Some(values) = &mut self.values {
            values.h = values.residuals.feasibility;
        }
    }

    /// The objective is so many times as large inside from now on.
    pub fn scale_objective(&mut self, factor: f64) {
        if let Some(values) = &mut self.values {
            values.f *= factor;
        }
    }

    /// Other multipliers for the same point, the residual of the constraints being the same.
    pub fn refit<S: SampledProblem>(&mut self, at: &Iterate, kkt: &Kkt, oracle: &Oracle<S>) {
        self.take(&at.user, kkt, oracle);
        if let Some(values) = &mut self.values {
            values.residuals.stationarity = kkt.residuals.stationarity;
            values.residuals.complementarity = kkt.residuals.complementarity;
        }
    }

    /// Keeps the latest point of a noisy run that no fresh samples have judged: nobody has evaluated its objective.
    pub fn keep_unjudged<S: SampledProblem>(&mut self, at: &Iterate, kkt: &Kkt, oracle: &Oracle<S>) {
        self.take(&at.user, kkt, oracle);
        self.values = Some(Values { objective: unknown_objective(oracle), f: 0.0, h: 0.0, residuals: kkt.residuals });
    }

    /// Keeps the latest point of a noisy run, which fresh samples judged better than the best so far, with the averages that the verdict
    /// rests on: those of the run would flatter it.
    pub fn keep_judged<S: SampledProblem>(&mut self, verdict: Verdict, judged: &Iterate, kkt: &Kkt, oracle: &Oracle<S>) {
        self.take(&judged.user, kkt, oracle);
        let objective = verdict.objective.map_or_else(|| unknown_objective(oracle), |averaged| averaged.value);
        self.values = Some(Values { objective, f: 0.0, h: 0.0, residuals: verdict.values() });
        self.verdict = Some(verdict);
    }

    /// Another verdict has this score.
    pub fn compare_score(&mut self, score: f64) {
        self.least = Some(score.min(self.least.unwrap_or(f64::INFINITY))).filter(|least| least.is_finite());
    }

    /// A point with its constraint values and multipliers.
    fn take<S: SampledProblem>(&mut self, user: &UserPoint, kkt: &Kkt, oracle: &Oracle<S>) {
        self.x.copy_from_slice(&user.x);
        self.c.copy_from_slice(&user.c);
        self.y.copy_from_slice(&kkt.y);
        oracle.bound_multipliers(kkt, user, &mut self.mu);
    }
}
