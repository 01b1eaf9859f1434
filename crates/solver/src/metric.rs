//! The metric `H` in which the tangent step is short: `H = D + V V^T` with a positive diagonal `D`.
//!
//! Identity, spectral and adaptive diagonal metrics have no `V`. A quasi-Newton metric is split so that the kernel can take it: the rows `V^T` join the
//! Jacobian as soft rows, since `1/2 |V^T s|^2` is what they add to its objective.

use serde::{Deserialize, Serialize};

use crate::iterate::Iterate;
use crate::matrix::Matrix;
use crate::moments::Moments;
use crate::quasi_newton::{Learnt, QuasiNewton};
use crate::vector::{add, dot, norm};
use crate::{Metric, MetricKind};

/// The metric with its memory.
pub struct CurrentMetric {
    settings: Metric,
    /// The entries of `D` that belong to variables are all this scalar, unless there are moments: then this is their size.
    scalar: f64,
    moments: Option<Moments>,
    /// `D`, variables and slacks.
    pub diagonal: Vec<f64>,
    /// The metric of the normal step: 1 for a variable.
    pub normal: Vec<f64>,
    quasi_newton: Option<QuasiNewton>,
}

/// The curvature of the Lagrangian along a step, multipliers fixed.
#[derive(Clone, Copy, Debug)]
pub struct Curvature<'a> {
    /// The step.
    pub dz: &'a [f64],
    /// The change of the Lagrangian's gradient under it.
    pub dl: &'a [f64],
    /// The mean square of the noise in `dl`.
    pub noise: f64,
}

impl Curvature<'_> {
    /// `|dl|` without its noise: at least what it shows along the step.
    pub fn size(&self) -> f64 {
        let along = dot(self.dl, self.dz) / norm(self.dz);
        (dot(self.dl, self.dl) - self.noise).max(along * along).sqrt()
    }
}

/// What a checkpoint keeps of the metric.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SavedMetric {
    scalar: f64,
    moments: Option<Moments>,
    quasi_newton: Option<Learnt>,
}

impl CurrentMetric {
    pub fn new(n: usize, columns: usize, settings: &Metric) -> Self {
        let dense = settings.kind == MetricKind::QuasiNewton && n <= settings.largest_dense;
        let quasi_newton = dense.then(|| QuasiNewton::new(n));
        let moments = (settings.kind == MetricKind::Diagonal).then(|| Moments::new(n));
        let (diagonal, normal) = (vec![1.0; columns], vec![1.0; columns]);
        CurrentMetric { settings: settings.clone(), scalar: 1.0, moments, diagonal, normal, quasi_newton }
    }

    /// A multiple of the identity that learns nothing.
    pub fn constant(columns: usize) -> Self {
        CurrentMetric::new(0, columns, &Metric { kind: MetricKind::Spectral, ..Metric::default() })
    }

    pub fn set_scalar(&mut self, scalar: f64) {
        self.scalar = scalar;
    }

    /// The rows `V^T`, if there are any.
    pub fn rows(&self) -> Option<&Matrix> {
        self.quasi_newton.as_ref().map(|quasi_newton| &quasi_newton.rows)
    }

    /// The smallest eigenvalue, or a bound below it.
    pub fn scalar(&self) -> f64 {
        match &self.moments {
            Some(moments) => self.diagonal[..moments.size()].iter().fold(self.scalar, |least, h| least.min(*h)),
            None => self.scalar,
        }
    }

    /// Fills the entries at this iterate. A slack is measured relative to the size of its row, so that scaling a constraint changes
    /// nothing; the paper has 1.
    pub fn fill(&mut self, at: &Iterate) {
        let n = at.n();
        if self.moments.is_none() {
            self.diagonal[..n].fill(self.scalar);
        }
        for (k, &row) in at.jacobian.slack_rows.iter().enumerate() {
            let values = at.jacobian.a.row_values(row);
            let weight = match self.settings.kind {
                MetricKind::Identity => 1.0,
                _ => self.settings.slack_weight / dot(values, values).max(1e-8),
            };
            self.normal[n + k] = weight;
            self.diagonal[n + k] = self.scalar * weight;
        }
    }

    /// `out = H s`
    pub fn apply(&self, s: &[f64], out: &mut [f64]) {
        for ((out, h), s) in out.iter_mut().zip(&self.diagonal).zip(s) {
            *out = h * s;
        }
        if let Some(rows) = self.rows() {
            for i in 0..rows.m {
                let row = rows.row_values(i);
                add(dot(row, &s[..rows.n]), row, &mut out[..rows.n]);
            }
        }
    }

    /// `s^T H s`
    pub fn square(&self, s: &[f64]) -> f64 {
        let diagonal: f64 = self.diagonal.iter().zip(s).map(|(h, s)| h * s * s).sum();
        let factor = self.rows().map_or(0.0, |rows| (0..rows.m).map(|i| dot(rows.row_values(i), &s[..rows.n]).powi(2)).sum());
        diagonal + factor
    }

    /// Follows the curvature of the Lagrangian along the last step. Gives the factor by which the norm changed, for a metric that is a
    /// scalar.
    pub fn learn(&mut self, curvature: Curvature) -> f64 {
        let sigma = curvature.size() / norm(curvature.dz);
        if self.settings.kind == MetricKind::Identity || !sigma.is_finite() || sigma == 0.0 {
            return 1.0;
        }
        let range = (self.settings.smallest, self.settings.largest);
        if let Some(moments) = &mut self.moments {
            moments.add(curvature);
            moments.write(range, &mut self.diagonal[..curvature.dz.len()]);
            self.scalar = moments.size_of_entries().clamp(range.0, range.1);
            return 1.0;
        }
        let sigma = sigma.clamp(range.0, range.1);
        match &mut self.quasi_newton {
            Some(quasi_newton) => {
                quasi_newton.update(curvature, sigma);
                self.scalar = quasi_newton.learnt.delta;
                1.0
            }
            None => {
                let old = std::mem::replace(&mut self.scalar, sigma);
                sigma / old
            }
        }
    }

    /// Forgets what was learnt. False: there was nothing to forget.
    pub fn reset(&mut self) -> bool {
        let Some(quasi_newton) = &mut self.quasi_newton else { return false };
        let forgot = quasi_newton.reset();
        self.scalar = quasi_newton.learnt.delta;
        forgot
    }

    pub fn save(&self) -> SavedMetric {
        let quasi_newton = self.quasi_newton.as_ref().map(|quasi_newton| quasi_newton.learnt.clone());
        SavedMetric { scalar: self.scalar, moments: self.moments.clone(), quasi_newton }
    }

    /// False: what was saved does not fit.
    pub fn restore(&mut self, saved: &SavedMetric) -> bool {
        self.scalar = saved.scalar;
        match (&mut self.moments, &saved.moments) {
            (Some(here), Some(saved)) if saved.size() == here.size() => {
                here.clone_from(saved);
                here.write((self.settings.smallest, self.settings.largest), &mut self.diagonal);
            }
            (None, None) => {}
            _ => return false,
        }
        match (&mut self.quasi_newton, &saved.quasi_newton) {
            (Some(here), Some(saved)) if saved.is_of_size(here.size()) => here.restore(saved),
            (None, None) => {}
            _ => return false,
        }
        true
    }
}
