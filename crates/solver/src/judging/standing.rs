//! On which side of its tolerance a residual is that noise surrounds.

use crate::{Bounded, Tolerance, Verdict};

/// One of the three residuals of a verdict.
#[derive(Clone, Copy, Debug)]
pub struct JudgedResidual {
    /// Its name.
    pub name: &'static str,
    /// It and its bounds.
    pub residual: Bounded,
    /// What the upper bound must not exceed.
    pub tolerance: f64,
}

/// Where a residual stands, as far as its bounds tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Within the tolerance, with confidence.
    Within,
    /// Noise hides on which side of the tolerance it is.
    Hidden,
    /// Above the tolerance, with confidence, or no number at all.
    Above,
}

impl JudgedResidual {
    /// Where it stands.
    pub fn standing(&self) -> Standing {
        match (self.residual.upper <= self.tolerance, self.residual.lower <= self.tolerance) {
            (true, _) => Standing::Within,
            (false, true) if self.residual.upper.is_finite() => Standing::Hidden,
            _ => Standing::Above,
        }
    }
}

impl Verdict {
    /// The three residuals with their tolerances.
    pub fn residuals(&self, tolerance: &Tolerance) -> [JudgedResidual; 3] {
        [
            JudgedResidual { name: "stationarity", residual: self.stationarity, tolerance: tolerance.stationarity },
            JudgedResidual { name: "feasibility", residual: self.feasibility, tolerance: tolerance.feasibility },
            JudgedResidual { name: "complementarity", residual: self.complementarity, tolerance: tolerance.complementarity },
        ]
    }
}

/// The names of the residuals that stand so.
pub fn names_of(verdict: &Verdict, tolerance: &Tolerance, standing: Standing) -> Vec<&'static str> {
    verdict.residuals(tolerance).iter().filter(|judged| judged.standing() == standing).map(|judged| judged.name).collect()
}

/// `a is`, `a and b are`.
pub fn and_are(names: &[&str]) -> String {
    let verb = if names.len() == 1 { "is" } else { "are" };
    match names.split_last() {
        Some((last, [])) => format!("{last} {verb}"),
        Some((last, others)) => format!("{} and {last} {verb}", others.join(", ")),
        None => String::new(),
    }
}
