use serde::{Deserialize, Serialize};

use crate::estimate::{Sums, estimates};
use crate::quality::{Criterion, Scored, best_threshold};
use crate::regression::{loss_at, probability};
use crate::{Classes, DataSet, Error, Estimate, Quality, Requirement};

/// How well weights do on data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evaluation {
    /// The number of rows.
    pub rows: u64,
    /// The mean logistic loss, without the penalty.
    pub loss: f64,
    /// The probability above which a row is decided to be positive.
    pub threshold: f64,
    /// The confidence of the margins.
    pub confidence: f64,
    /// How well probabilities and decisions agree with the labels.
    pub overall: Quality,
    /// The same for each group.
    pub groups: Vec<GroupQuality>,
    /// What each constraint came to.
    pub constraints: Vec<Attained>,
}

/// How well weights do on the rows of a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupQuality {
    /// The column of groups.
    pub column: String,
    /// Which group.
    pub value: String,
    /// How well.
    pub quality: Quality,
}

/// What a constraint came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attained {
    /// Which constraint.
    pub name: String,
    /// Its lower bound, if it has one.
    pub lower: Option<f64>,
    /// Its upper bound, if it has one.
    pub upper: Option<f64>,
    /// Its value on these rows with probabilities; none when a group has no rows here.
    pub probabilities: Option<Estimate>,
    /// The same with decisions in place of probabilities; none for a norm.
    pub decisions: Option<Estimate>,
}

impl Attained {
    /// By how much a value violates the constraint.
    pub fn violation(&self, value: f64) -> f64 {
        let above = self.upper.map_or(0.0, |upper| value - upper);
        above.max(self.lower.map_or(0.0, |lower| lower - value)).max(0.0)
    }

    /// How far inside of its bounds a value is; negative outside.
    pub fn room(&self, value: f64) -> f64 {
        let above = self.upper.map_or(f64::INFINITY, |upper| upper - value);
        above.min(self.lower.map_or(f64::INFINITY, |lower| value - lower))
    }
}

impl Evaluation {
    /// Evaluates weights on data, with margins of this confidence.
    pub fn new(
        data: &DataSet,
        weights: &[f64],
        requirements: &[Requirement],
        threshold: f64,
        confidence: f64,
    ) -> Result<Self, Error> {
        let classes = Classes::new(data)?;
        let mut by_class = vec![Sums::default(); classes.sizes.len()];
        let (mut loss, mut scored) = (0.0, Vec::with_capacity(data.rows()));
        for (i, margin) in data.margins(weights).into_iter().enumerate() {
            let weight = data.weight(i);
            let p = probability(margin);
            loss += weight * loss_at(margin, data.positive[i]);
            by_class[usize::from(classes.of_row[i])].add(weight, p, f64::from(u8::from(p > threshold)));
            scored.push(Scored { p, positive: data.positive[i], weight });
        }
        let attained = requirements.iter().map(|requirement| match requirement {
            Requirement::Norm { radius } => norm(weights, *radius),
            Requirement::Rate { name, lower, upper, .. } => {
                let contrast = classes.contrast(data, requirement).filter(|contrast| classes.can_tell(contrast));
                let [probabilities, decisions] = estimates(contrast.as_ref(), &by_class, confidence);
                Attained { name: name.clone(), lower: *lower, upper: *upper, probabilities, decisions }
            }
        });
        Ok(Evaluation {
            rows: data.rows() as u64,
            loss: loss / data.rows() as f64,
            threshold,
            confidence,
            constraints: attained.collect(),
            overall: Quality::of(&scored, threshold),
            groups: groups(data, &scored, threshold),
        })
    }
}

/// The threshold that is best for a criterion with these weights on these data.
pub fn chosen_threshold(data: &DataSet, weights: &[f64], criterion: Criterion) -> f64 {
    let score =
        |(i, margin): (usize, f64)| Scored { p: probability(margin), positive: data.positive[i], weight: data.weight(i) };
    best_threshold(&data.margins(weights).into_iter().enumerate().map(score).collect::<Vec<_>>(), criterion)
}

fn groups(data: &DataSet, scored: &[Scored], threshold: f64) -> Vec<GroupQuality> {
    let mut all = Vec::new();
    for grouping in &data.groupings {
        let mut rows = vec![Vec::new(); grouping.values.len()];
        for (member, row) in grouping.members.iter().zip(scored) {
            if let Some(group) = member {
                rows[usize::from(*group)].push(*row);
            }
        }
        let known = grouping.values.iter().zip(rows).filter(|(_, rows)| !rows.is_empty());
        all.extend(known.map(|(value, rows)| GroupQuality {
            column: grouping.column.clone(),
            value: value.clone(),
            quality: Quality::of(&rows, threshold),
        }));
    }
    all
}

fn norm(weights: &[f64], radius: f64) -> Attained {
    let value = weights.iter().map(|x| x * x).sum::<f64>().sqrt();
    let probabilities = Some(Estimate { value, margin: 0.0 });
    Attained { name: "norm".to_string(), lower: None, upper: Some(radius), probabilities, decisions: None }
}
