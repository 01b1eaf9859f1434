use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Error;

/// What a model must satisfy besides fitting well. Rates are mean predicted probabilities, which are smooth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Constraint {
    /// `|x| <= radius`, stated as `|x|^2 <= radius^2`.
    Norm {
        /// > 0
        radius: f64,
    },
    /// The rates of any two groups differ by at most this.
    RateGap {
        /// The column of the groups.
        column: String,
        /// In [0, 1].
        most: f64,
    },
    /// The rates of the positive rows of any two groups differ by at most this.
    TruePositiveGap {
        /// The column of the groups.
        column: String,
        /// In [0, 1].
        most: f64,
    },
    /// The rate of the negative rows is at most this (Neyman and Pearson).
    FalsePositive {
        /// In (0, 1].
        most: f64,
    },
}

impl Constraint {
    /// The column of the groups, if it is about groups.
    pub fn column(&self) -> Option<&str> {
        match self {
            Constraint::RateGap { column, .. } | Constraint::TruePositiveGap { column, .. } => Some(column),
            Constraint::Norm { .. } | Constraint::FalsePositive { .. } => None,
        }
    }

    /// Looks for a bound that makes no sense.
    pub fn validate(&self) -> Result<(), Error> {
        let (bound, holds, range) = match self {
            Constraint::Norm { radius } => (radius, *radius > 0.0 && radius.is_finite(), "a positive number"),
            Constraint::RateGap { most, .. } | Constraint::TruePositiveGap { most, .. } => {
                (most, (0.0..=1.0).contains(most), "between 0 and 1")
            }
            Constraint::FalsePositive { most } => (most, *most > 0.0 && *most <= 1.0, "above 0 and at most 1"),
        };
        match holds {
            true => Ok(()),
            false => {
                Err(Error::Constraint { name: self.to_string(), message: format!("its bound is {bound}, but must be {range}") })
            }
        }
    }
}

impl fmt::Display for Constraint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Constraint::Norm { .. } => out.write_str("norm"),
            Constraint::RateGap { column, .. } => write!(out, "rate gap of {column}"),
            Constraint::TruePositiveGap { column, .. } => write!(out, "true positive gap of {column}"),
            Constraint::FalsePositive { .. } => out.write_str("false positive rate"),
        }
    }
}
