use serde::{Deserialize, Serialize};

use crate::estimate::{Sums, estimates};
use crate::quality::{Criterion, Scored, TALLY, best_threshold};
use crate::ranking::Ranking;
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
        let margins = data.margins(weights);
        let tally = Tally::new(data, &classes, &margins, threshold);
        let attained = requirements.iter().map(|requirement| match requirement {
            Requirement::Norm { radius } => norm(weights, *radius),
            Requirement::Rate { name, lower, upper, .. } => {
                let contrast = classes.contrast(data, requirement).filter(|contrast| classes.can_tell(contrast));
                let [probabilities, decisions] = estimates(contrast.as_ref(), &tally.by_class, confidence);
                Attained { name: name.clone(), lower: *lower, upper: *upper, probabilities, decisions }
            }
        });
        let whole = Ranking::by_group(data, 1, |i| Some((0, score(data, &margins, i)))).remove(0);
        Ok(Evaluation {
            rows: data.rows() as u64,
            loss: tally.loss / data.rows() as f64,
            threshold,
            confidence,
            constraints: attained.collect(),
            overall: Quality::of(&tally.qualities[0], &whole),
            groups: groups(data, &margins, &tally.qualities[1..]),
        })
    }
}

/// Sums over all rows, whoever has them.
struct Tally {
    loss: f64,
    by_class: Vec<Sums>,
    /// Of all rows, then of each group of each grouping.
    qualities: Vec<[f64; TALLY]>,
}

impl Tally {
    fn new(data: &DataSet, classes: &Classes, margins: &[f64], threshold: f64) -> Self {
        let groups: usize = data.groupings.iter().map(|grouping| grouping.values.len()).sum();
        let (of_classes, of_groups) = (classes.sizes.len() * Sums::COUNT, (1 + groups) * TALLY);
        let mut sums = vec![0.0; 1 + of_classes + of_groups];
        data.sum(&mut sums, |i, sums| {
            let row = score(data, margins, i);
            sums[0] += row.weight * loss_at(margins[i], row.positive);
            let (by_class, qualities) = sums[1..].split_at_mut(of_classes);
            let class = usize::from(classes.of_row[i]) * Sums::COUNT;
            Sums::add(&mut by_class[class..][..Sums::COUNT], row.weight, row.p, f64::from(u8::from(row.p > threshold)));
            let (qualities, _) = qualities.as_chunks_mut();
            row.count(threshold, &mut qualities[0]);
            let mut first = 1;
            for grouping in &data.groupings {
                if let Some(group) = grouping.members[i] {
                    row.count(threshold, &mut qualities[first + usize::from(group)]);
                }
                first += grouping.values.len();
            }
        });
        let (by_class, qualities) = sums[1..].split_at(of_classes);
        let by_class = by_class.chunks(Sums::COUNT).map(Sums::new).collect();
        Tally { loss: sums[0], by_class, qualities: qualities.as_chunks().0.to_vec() }
    }
}

/// The row at a place here.
fn score(data: &DataSet, margins: &[f64], i: usize) -> Scored {
    Scored { p: probability(margins[i]), positive: data.positive[i], weight: data.weight(i) }
}

/// The threshold that is best for a criterion with these weights on these data.
pub fn chosen_threshold(data: &DataSet, weights: &[f64], criterion: Criterion) -> f64 {
    let margins = data.margins(weights);
    best_threshold(&Ranking::by_group(data, 1, |i| Some((0, score(data, &margins, i)))).remove(0), criterion)
}

/// The quality of each group that has rows, from the sums of all groups one after the other.
fn groups(data: &DataSet, margins: &[f64], tallies: &[[f64; TALLY]]) -> Vec<GroupQuality> {
    let (mut all, mut tallies) = (Vec::new(), tallies.iter());
    for grouping in &data.groupings {
        let member = |i: usize| grouping.members[i].map(|group| (usize::from(group), score(data, margins, i)));
        let rankings = Ranking::by_group(data, grouping.values.len(), member);
        for ((value, ranking), tally) in grouping.values.iter().zip(&rankings).zip(tallies.by_ref()) {
            if tally[0] > 0.0 {
                let (column, value) = (grouping.column.clone(), value.clone());
                all.push(GroupQuality { column, value, quality: Quality::of(tally, ranking) });
            }
        }
    }
    all
}

fn norm(weights: &[f64], radius: f64) -> Attained {
    let value = weights.iter().map(|x| x * x).sum::<f64>().sqrt();
    let probabilities = Some(Estimate { value, margin: 0.0 });
    Attained { name: "norm".to_string(), lower: None, upper: Some(radius), probabilities, decisions: None }
}
