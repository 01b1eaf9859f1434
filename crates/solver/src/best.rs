//! The best point so far, by the merit function with its present parameter: what an interrupted run gives back.

use serde::{Deserialize, Serialize};
use tangor_problem::{Meta, SampledProblem};

use crate::iterate::Iterate;
use crate::kkt::{Kkt, Residuals};
use crate::number;
use crate::oracle::Oracle;
use crate::standard::Standard;
use crate::vector::norm;
use crate::verdict::Verdict;

/// A point with its residuals and multipliers, in the user's variables where not said otherwise.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Best {
    /// The user's variables of the latest iterate.
    #[serde(skip)]
    pub latest: Vec<f64>,
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
}

/// The numbers of a point.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Values {
    #[serde(with = "crate::number")]
    pub objective: f64,
    /// `f` and `|h|` in the internal scale.
    f: f64,
    h: f64,
    pub residuals: Residuals,
}

/// Averages over fresh samples at a point, in the user's form.
pub struct Fresh<'a> {
    pub objective: f64,
    pub g: &'a [f64],
    pub c: &'a [f64],
    pub jacobian: &'a [f64],
}

impl Best {
    pub fn new(standard: &Standard, meta: &Meta) -> Self {
        Best {
            latest: standard.start.clone(),
            x: standard.start.clone(),
            c: vec![f64::NAN; meta.m()],
            y: vec![0.0; standard.rows.len()],
            mu: vec![0.0; meta.n()],
            values: None,
            verdict: None,
            least: None,
        }
    }

    /// Becomes the same, without allocating.
    pub fn copy_from(&mut self, other: &Best) {
        self.latest.copy_from_slice(&other.latest);
        self.x.copy_from_slice(&other.x);
        self.c.copy_from_slice(&other.c);
        self.y.copy_from_slice(&other.y);
        self.mu.copy_from_slice(&other.mu);
        (self.values, self.verdict, self.least) = (other.values, other.verdict, other.least);
    }

    /// Keeps the point if it is better than the best so far, or `certain` to be what the run was after.
    pub fn offer<S: SampledProblem>(&mut self, at: &Iterate, kkt: &Kkt, oracle: &Oracle<S>, rho: f64, certain: bool) {
        let (x, c) = oracle.user_point();
        let (f, h) = (at.f, norm(&at.h));
        if !certain && self.values.is_some_and(|best| best.f + rho * best.h < f + rho * h) {
            return;
        }
        self.x.copy_from_slice(x);
        self.c.copy_from_slice(c);
        self.y.copy_from_slice(&kkt.y);
        oracle.bound_multipliers(kkt, oracle.user_derivatives(), &mut self.mu);
        let objective = f / oracle.standard.objective_scale;
        self.values = Some(Values { objective, f, h, residuals: kkt.residuals });
    }

    /// Other multipliers for the same point, the residual of the constraints being the same.
    pub fn refit<S: SampledProblem>(&mut self, kkt: &Kkt, oracle: &Oracle<S>) {
        self.y.copy_from_slice(&kkt.y);
        oracle.bound_multipliers(kkt, oracle.user_derivatives(), &mut self.mu);
        if let Some(values) = &mut self.values {
            values.residuals.stationarity = kkt.residuals.stationarity;
            values.residuals.complementarity = kkt.residuals.complementarity;
        }
    }

    /// Keeps the latest point of a noisy run, which fresh samples judged better than the best so far, with the averages that the verdict
    /// rests on: those of the run would flatter it.
    pub fn keep_judged<S: SampledProblem>(&mut self, verdict: Verdict, fresh: Fresh, kkt: &Kkt, oracle: &Oracle<S>) {
        let Fresh { objective, g, c, jacobian } = fresh;
        self.x.copy_from_slice(oracle.user_point().0);
        self.c.copy_from_slice(c);
        self.y.copy_from_slice(&kkt.y);
        oracle.bound_multipliers(kkt, (g, jacobian), &mut self.mu);
        self.values = Some(Values { objective, f: 0.0, h: 0.0, residuals: verdict.values() });
        self.verdict = Some(verdict);
    }
}
