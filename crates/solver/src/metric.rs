//! The diagonal metric `H`: identity, or one Barzilai-Borwein scalar.

use serde::{Deserialize, Serialize};

use crate::iterate::Iterate;
use crate::vector::dot;
use crate::{Metric, MetricKind};

/// The diagonal, and the scalar behind it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Diagonal {
    pub scalar: f64,
    pub entries: Vec<f64>,
}

impl Diagonal {
    pub fn new(columns: usize) -> Self {
        Diagonal { scalar: 1.0, entries: vec![1.0; columns] }
    }

    /// Fills the entries: the scalar for a variable; for a slack, relative to the size of its row, so that scaling a constraint
    /// changes nothing.
    pub fn fill(&mut self, at: &Iterate, settings: &Metric) {
        let n = at.n();
        self.entries[..n].fill(self.scalar);
        for (k, &row) in at.jacobian.slack_rows.iter().enumerate() {
            let values = at.jacobian.a.row_values(row);
            let weight = match settings.kind {
                MetricKind::Identity => settings.slack_weight,
                MetricKind::Spectral => settings.slack_weight / dot(values, values).max(1e-8),
            };
            self.entries[n + k] = self.scalar * weight;
        }
    }

    /// Follows the curvature of the Lagrangian along the last step: `dz` is the step and `dl` the change of the Lagrangian's gradient
    /// under it, multipliers fixed. Gives the factor by which the scalar changed.
    pub fn learn(&mut self, dz: &[f64], dl: &[f64], settings: &Metric) -> f64 {
        let old = self.scalar;
        let square = dot(dz, dz);
        if settings.kind == MetricKind::Spectral && square > 0.0 {
            let sigma = (dot(dl, dl) / square).sqrt();
            if sigma.is_finite() && sigma > 0.0 {
                self.scalar = sigma.clamp(settings.smallest, settings.largest);
            }
        }
        self.scalar / old
    }
}
