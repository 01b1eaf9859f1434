//! What a fit is to reach, as people say it and as the data make it.

use serde::{Deserialize, Serialize};
use tangor_problem::count_of;

use crate::regression::probability;
use crate::{Classes, Comparison, Constraint, DataSet, Error, Grouping, Rate};

/// Groups that a message names.
const MOST_NAMED: usize = 8;

/// Everything that is asked of a fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Goal {
    /// What the model must satisfy.
    pub constraints: Vec<Constraint>,
    /// What large weights cost.
    pub penalty: Penalty,
    /// What rates are means of.
    pub outcome: Outcome,
    /// What groups are compared with.
    pub comparison: Comparison,
    /// Groups with fewer rows that count get no constraint of their own.
    pub smallest_group: u64,
}

impl Default for Goal {
    fn default() -> Self {
        Goal {
            constraints: Vec::new(),
            penalty: Penalty { l2: 1e-4, intercept: false },
            outcome: Outcome::Probabilities,
            comparison: Comparison::Suitable,
            smallest_group: 30,
        }
    }
}

/// `l2/2 |x|^2` in the objective.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Penalty {
    /// Its factor.
    pub l2: f64,
    /// Whether the intercept is part of `x` here. A model whose intercept costs nothing predicts the right number of positive rows.
    pub intercept: bool,
}

impl Penalty {
    /// `l2` for each weight that it applies to, 0 for the intercept that it does not.
    pub(crate) fn factor(&self, weight: usize, weights: usize) -> f64 {
        if self.intercept || weight + 1 < weights { self.l2 } else { 0.0 }
    }
}

/// What the rates of constraints are means of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Outcome {
    /// The probability of the positive label.
    #[default]
    Probabilities,
    /// Whether the probability is above a threshold. A step has no derivative, so a steep curve takes its place: the logistic function of
    /// `sharpness (a_i'x - log(threshold / (1 - threshold)))`.
    Decisions {
        /// In (0, 1).
        threshold: f64,
        /// How many times steeper than the probability the curve is; > 0.
        sharpness: f64,
    },
}

impl Outcome {
    /// The value for a row with this margin `a_i'x`, whose probability is `p`.
    #[inline]
    pub(crate) fn value(&self, margin: f64, p: f64) -> f64 {
        match self {
            Outcome::Probabilities => p,
            Outcome::Decisions { threshold, sharpness } => probability(sharpness * (margin - logit(*threshold))),
        }
    }

    /// The derivative of a value by the margin.
    #[inline]
    pub(crate) fn slope(&self, value: f64) -> f64 {
        let slope = value * (1.0 - value);
        match self {
            Outcome::Probabilities => slope,
            Outcome::Decisions { sharpness, .. } => sharpness * slope,
        }
    }
}

fn logit(p: f64) -> f64 {
    (p / (1.0 - p)).ln()
}

/// A constraint as the data make it: what one row of the problem bounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Requirement {
    /// `|x|^2`
    Norm {
        /// What `|x|` must not exceed.
        radius: f64,
    },
    /// A rate, or the difference of two.
    Rate {
        /// What it is called.
        name: String,
        /// Of which rows.
        rate: Rate,
        /// Of which group.
        of: Part,
        /// Less that of which other.
        less: Option<Part>,
        /// Its lower bound, if it has one.
        lower: Option<f64>,
        /// Its upper bound, if it has one.
        upper: Option<f64>,
    },
}

/// All rows or one group of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Part {
    /// All rows.
    Whole,
    /// Those whose column has this value.
    Group {
        /// The column.
        column: String,
        /// The value.
        value: String,
    },
}

impl Goal {
    /// Looks for numbers that make no sense.
    pub fn validate(&self) -> Result<(), Error> {
        let l2 = self.penalty.l2;
        if !(l2.is_finite() && l2 >= 0.0) {
            return Err(Error::Senseless(format!(
                "the weight of |x|^2 is {l2}, but must be a finite number that is not negative"
            )));
        }
        if let Outcome::Decisions { threshold, sharpness } = self.outcome
            && !(threshold > 0.0 && threshold < 1.0 && sharpness > 0.0 && sharpness.is_finite())
        {
            let message =
                format!("decisions at {threshold} with sharpness {sharpness} cannot be had: a threshold is between 0 and 1");
            return Err(Error::Senseless(message));
        }
        self.constraints.iter().try_for_each(Constraint::validate)
    }

    /// The rows of the problem that these data make of the constraints, and sentences on what was left out.
    pub fn requirements(&self, data: &DataSet, classes: &Classes) -> Result<(Vec<Requirement>, Vec<String>), Error> {
        self.validate()?;
        let (mut all, mut remarks) = (Vec::new(), Vec::new());
        for constraint in &self.constraints {
            let bounded = |rate: Rate, of: Part, less: Option<Part>, what: &str, bounds: (Option<f64>, Option<f64>)| {
                let comma = if what.is_empty() { "" } else { ", " };
                let name = format!("{constraint}{comma}{what}");
                Requirement::Rate { name, rate, of, less, lower: bounds.0, upper: bounds.1 }
            };
            let (rate, bounds) = match constraint {
                Constraint::Norm { radius } => {
                    all.push(Requirement::Norm { radius: *radius });
                    continue;
                }
                Constraint::Gap { rate, most, .. } => (*rate, (Some(-most), Some(*most))),
                Constraint::Cap { rate, most, .. } => (*rate, (None, Some(*most))),
                Constraint::Floor { rate, least, .. } => (*rate, (Some(*least), None)),
            };
            let Some(column) = constraint.column() else {
                all.push(bounded(rate, Part::Whole, None, "", bounds));
                continue;
            };
            let (values, left_out) = self.large_enough(data, classes, constraint, (column, rate))?;
            remarks.extend(left_out);
            let group = |value: &str| Part::Group { column: column.to_string(), value: value.to_string() };
            let is_gap = matches!(constraint, Constraint::Gap { .. });
            let pairs = match self.comparison {
                Comparison::Suitable => values.len() == 2,
                Comparison::Pairs => true,
                Comparison::Whole => false,
            };
            for (k, b) in values.iter().enumerate() {
                match (is_gap, pairs) {
                    (false, _) => all.push(bounded(rate, group(b), None, &format!("{column} = {b}"), bounds)),
                    (true, false) => all.push(bounded(rate, group(b), Some(Part::Whole), &format!("{b} - all"), bounds)),
                    (true, true) => all.extend(
                        values[..k].iter().map(|a| bounded(rate, group(b), Some(group(a)), &format!("{b} - {a}"), bounds)),
                    ),
                }
            }
        }
        Ok((all, remarks))
    }

    /// The groups with enough rows that count, and a sentence on those without.
    fn large_enough<'a>(
        &self,
        data: &'a DataSet,
        classes: &Classes,
        constraint: &Constraint,
        (column, rate): (&str, Rate),
    ) -> Result<(Vec<&'a str>, Option<String>), Error> {
        let refuse = |message: String| Error::Constraint { name: constraint.to_string(), message };
        let grouping: &Grouping = data
            .groupings
            .iter()
            .find(|grouping| grouping.column == column)
            .ok_or_else(|| refuse(format!("the data were not read with groups by {column:?}")))?;
        let size =
            |value: &str| classes.count(&classes.part(data, rate, &Part::Group { column: column.into(), value: value.into() }));
        let sizes = grouping.values.iter().map(|value| (value.as_str(), size(value)));
        let (large, small): (Vec<_>, Vec<_>) = sizes.partition(|(_, size)| *size >= self.smallest_group.max(1));
        let mut named: Vec<String> = small.iter().take(MOST_NAMED).map(|(value, size)| format!("{value} ({size})")).collect();
        if small.len() > MOST_NAMED {
            named.push(format!("and {} more", small.len() - MOST_NAMED));
        }
        let fewest = self.smallest_group.max(1);
        if large.len() < 2 && matches!(constraint, Constraint::Gap { .. }) || large.is_empty() {
            return Err(refuse(format!(
                "fewer than two of its groups have {fewest} rows that count; the others are {} (--min-group N)",
                named.join(", ")
            )));
        }
        let remark = (!small.is_empty()).then(|| {
            let (have, own) = if small.len() == 1 { ("has", "its") } else { ("have", "their") };
            format!(
                "{constraint}: {} with fewer than {fewest} rows that count {have} no constraint of {own} own: {} (--min-group N)",
                count_of(small.len(), "group"),
                named.join(", ")
            )
        });
        Ok((large.into_iter().map(|(value, _)| value).collect(), remark))
    }
}
