use serde::{Deserialize, Serialize};
use tangor_problem::{Reduction, two_sided};

use crate::regression::{loss, probability};
use crate::{Classes, Constraint, Contrast, DataSet, Error};

/// How well weights do on data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evaluation {
    /// The number of rows.
    pub rows: u64,
    /// The mean logistic loss, without `l2/2 |x|^2`.
    pub loss: f64,
    /// The share of rows whose more probable label is theirs.
    pub accuracy: f64,
    /// The confidence of the margins.
    #[serde(default = "usual")]
    pub confidence: f64,
    /// What each constraint came to.
    pub constraints: Vec<Attained>,
}

/// What a constraint came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attained {
    /// Which constraint.
    pub name: String,
    /// Its lower bound, if it has one.
    pub lower: Option<f64>,
    /// Its upper bound.
    pub upper: f64,
    /// Its value on these rows; none when a group has no rows here.
    pub value: Option<f64>,
    /// With the confidence of the evaluation, the value for all people like those in the rows is within this of `value`, provided that
    /// these rows had no part in the choice of the weights.
    pub margin: f64,
    /// The same with decisions (probability above one half) in place of probabilities; none for a norm.
    pub decisions: Option<f64>,
}

impl Attained {
    /// By how much the constraint is violated on these rows.
    pub fn violation(&self) -> f64 {
        let value = self.value.unwrap_or(self.upper);
        (value - self.upper).max(self.lower.map_or(0.0, |lower| lower - value)).max(0.0)
    }
}

/// The confidence of models that do not say theirs.
fn usual() -> f64 {
    0.95
}

/// Sums over the rows of a class.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    count: f64,
    p: f64,
    squares: f64,
    decisions: f64,
}

impl Evaluation {
    /// Judges weights on data, with margins of this confidence.
    pub fn new(data: &DataSet, weights: &[f64], constraints: &[Constraint], confidence: f64) -> Result<Self, Error> {
        let classes = Classes::new(data)?;
        let (rows, count) = (data.rows(), classes.sizes.len());
        let mut sums = vec![0.0; 2 + 3 * count];
        Reduction::default().sum(rows, &mut sums, |range, sums| {
            for i in range {
                let p = probability(data.features.dot(i, weights));
                let decision = p > 0.5;
                sums[0] += loss(&data.features, &data.positive, i, weights);
                sums[1] += f64::from(u8::from(decision == data.positive[i]));
                let of_class = &mut sums[2 + 3 * usize::from(classes.of_row[i])..];
                of_class[0] += p;
                of_class[1] += p * p;
                of_class[2] += f64::from(u8::from(decision));
            }
        });
        let of_class =
            |(sums, size): (&[f64], &u64)| Sums { count: *size as f64, p: sums[0], squares: sums[1], decisions: sums[2] };
        let by_class: Vec<Sums> = sums[2..].chunks(3).zip(&classes.sizes).map(of_class).collect();
        let (errors, mut attained) = (two_sided(confidence), Vec::new());
        for constraint in constraints {
            if let Constraint::Norm { radius } = constraint {
                attained.push(norm(constraint, weights, *radius));
            }
            attained.extend(classes.contrasts(data, constraint)?.iter().map(|contrast| rate(contrast, &by_class, errors)));
        }
        Ok(Evaluation {
            rows: rows as u64,
            loss: sums[0] / rows as f64,
            accuracy: sums[1] / rows as f64,
            confidence,
            constraints: attained,
        })
    }
}

fn norm(constraint: &Constraint, weights: &[f64], radius: f64) -> Attained {
    let value = weights.iter().map(|x| x * x).sum::<f64>().sqrt();
    Attained { name: constraint.to_string(), lower: None, upper: radius, value: Some(value), margin: 0.0, decisions: None }
}

/// The margin is this many standard errors.
fn rate(contrast: &Contrast, by_class: &[Sums], errors: f64) -> Attained {
    let total = |chosen: &[bool]| {
        by_class.iter().zip(chosen).filter(|(_, chosen)| **chosen).fold(Sums::default(), |total, (sums, _)| Sums {
            count: total.count + sums.count,
            p: total.p + sums.p,
            squares: total.squares + sums.squares,
            decisions: total.decisions + sums.decisions,
        })
    };
    let one_mean = !contrast.minus.contains(&true);
    let (plus, minus) = (total(&contrast.plus), total(&contrast.minus));
    let known = plus.count > 0.0 && (one_mean || minus.count > 0.0);
    // A mean that is not there counts as zero, exactly known.
    let minus = if one_mean { Sums { count: 1.0, ..Sums::default() } } else { minus };
    let variance_of_mean = |sums: Sums| (sums.squares / sums.count - (sums.p / sums.count).powi(2)).max(0.0) / sums.count;
    let margin = errors * (variance_of_mean(plus) + variance_of_mean(minus)).sqrt();
    Attained {
        name: contrast.name.clone(),
        lower: Some(contrast.bounds.0).filter(|lower| lower.is_finite()),
        upper: contrast.bounds.1,
        value: known.then(|| plus.p / plus.count - minus.p / minus.count),
        margin: if known { margin } else { 0.0 },
        decisions: known.then(|| plus.decisions / plus.count - minus.decisions / minus.count),
    }
}
