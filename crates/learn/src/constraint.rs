use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Error;

/// What a model must satisfy besides fitting well.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Constraint {
    /// `|x| <= radius`, stated as `|x|^2 <= radius^2`.
    Norm {
        /// > 0
        radius: f64,
    },
    /// The rates of groups differ by at most this, as [`Comparison`] says from what.
    Gap {
        /// Of which rows.
        rate: Rate,
        /// The column of the groups.
        column: String,
        /// In [0, 1].
        most: f64,
    },
    /// A rate is at most this, of all rows or of each group.
    Cap {
        /// Of which rows.
        rate: Rate,
        /// The column of the groups, if each is to be bounded.
        column: Option<String>,
        /// In (0, 1].
        most: f64,
    },
    /// A rate is at least this, of all rows or of each group.
    Floor {
        /// Of which rows.
        rate: Rate,
        /// The column of the groups, if each is to be bounded.
        column: Option<String>,
        /// In [0, 1).
        least: f64,
    },
}

/// A mean over some rows of what [`Outcome`](crate::Outcome) says: probabilities or decisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rate {
    /// Of all rows: the rate of selection.
    Selection,
    /// Of the rows whose label is positive.
    TruePositive,
    /// Of the rows whose label is negative.
    FalsePositive,
}

impl Rate {
    /// Whether rows with this label count.
    pub fn counts(self, positive: bool) -> bool {
        match self {
            Rate::Selection => true,
            Rate::TruePositive => positive,
            Rate::FalsePositive => !positive,
        }
    }
}

/// What the groups of a gap are compared with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Comparison {
    /// Two groups with each other, more with the whole.
    #[default]
    Suitable,
    /// Any two with each other.
    Pairs,
    /// Each with all rows.
    Whole,
}

impl Constraint {
    /// Equalised odds: neither true nor false positive rates of groups differ by more than this.
    pub fn equalised_odds(column: &str, most: f64) -> [Constraint; 2] {
        [Rate::TruePositive, Rate::FalsePositive].map(|rate| Constraint::Gap { rate, column: column.to_string(), most })
    }

    /// The column of the groups, if it is about groups.
    pub fn column(&self) -> Option<&str> {
        match self {
            Constraint::Norm { .. } => None,
            Constraint::Gap { column, .. } => Some(column),
            Constraint::Cap { column, .. } | Constraint::Floor { column, .. } => column.as_deref(),
        }
    }

    /// The same with another bound, if it bounds a gap between groups.
    pub fn with_gap(&self, bound: f64) -> Constraint {
        match self.clone() {
            Constraint::Gap { rate, column, .. } => Constraint::Gap { rate, column, most: bound },
            other => other,
        }
    }

    /// Looks for a bound that makes no sense.
    pub fn validate(&self) -> Result<(), Error> {
        let (bound, holds, range) = match self {
            Constraint::Norm { radius } => (radius, *radius > 0.0 && radius.is_finite(), "a positive number"),
            Constraint::Gap { most, .. } => (most, (0.0..=1.0).contains(most), "between 0 and 1"),
            Constraint::Cap { most, .. } => (most, *most > 0.0 && *most <= 1.0, "above 0 and at most 1"),
            Constraint::Floor { least, .. } => (least, (0.0..1.0).contains(least), "from 0 on and below 1"),
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
            Constraint::Gap { rate: Rate::Selection, column, .. } => write!(out, "rate gap of {column}"),
            Constraint::Gap { rate: Rate::TruePositive, column, .. } => write!(out, "true positive gap of {column}"),
            Constraint::Gap { rate: Rate::FalsePositive, column, .. } => write!(out, "false positive gap of {column}"),
            Constraint::Cap { rate, .. } | Constraint::Floor { rate, .. } => out.write_str(match rate {
                Rate::Selection => "rate",
                Rate::TruePositive => "true positive rate",
                Rate::FalsePositive => "false positive rate",
            }),
        }
    }
}
