//! How well probabilities and decisions agree with labels.

use serde::{Deserialize, Serialize};

/// Bins of equal width that calibration is measured in.
const BINS: usize = 10;

/// A row as quality is measured: what the model says, what is true, and how much it counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scored {
    pub p: f64,
    pub positive: bool,
    pub weight: f64,
}

/// How well a model does on some rows. Shares that no row counts for are none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quality {
    /// The number of rows.
    pub rows: u64,
    /// The share of rows whose label is positive.
    pub observed: f64,
    /// The mean predicted probability; beside `observed`, calibration in the large.
    pub predicted: f64,
    /// The share of rows that are decided to be positive.
    pub selected: f64,
    /// The share of rows that are decided rightly.
    pub accuracy: f64,
    /// Among the positive rows, the share of those decided to be positive: the true positive rate.
    pub recall: Option<f64>,
    /// Among the negative rows, the share of those decided to be positive.
    pub false_positive: Option<f64>,
    /// Among the rows decided to be positive, the share of those that are.
    pub precision: Option<f64>,
    /// The probability that a positive row has the higher probability of a positive and a negative row (area under the ROC curve).
    pub auc: Option<f64>,
    /// The mean distance of predicted and observed shares over ten bins of predicted probabilities.
    pub calibration_error: f64,
}

impl Quality {
    /// Calls rows positive whose probability is above the threshold.
    pub(crate) fn of(rows: &[Scored], threshold: f64) -> Quality {
        let sum = |of: &dyn Fn(&Scored) -> f64| rows.iter().map(|row| row.weight * of(row)).sum::<f64>();
        let share = |part: f64, whole: f64| (whole > 0.0).then(|| part / whole);
        let yes = |truth: bool| f64::from(u8::from(truth));
        let all = sum(&|_| 1.0);
        let positive = sum(&|row| yes(row.positive));
        let selected = sum(&|row| yes(row.p > threshold));
        let hits = sum(&|row| yes(row.positive && row.p > threshold));
        let mean = |sum: f64| share(sum, all).unwrap_or(f64::NAN);
        Quality {
            rows: rows.len() as u64,
            observed: mean(positive),
            predicted: mean(sum(&|row| row.p)),
            selected: mean(selected),
            accuracy: mean(sum(&|row| yes(row.positive == (row.p > threshold)))),
            recall: share(hits, positive),
            false_positive: share(selected - hits, all - positive),
            precision: share(hits, selected),
            auc: auc(rows),
            calibration_error: calibration_error(rows, all),
        }
    }
}

fn calibration_error(rows: &[Scored], all: f64) -> f64 {
    let mut off = [0.0; BINS];
    for row in rows {
        let bin = ((row.p * BINS as f64) as usize).min(BINS - 1);
        off[bin] += row.weight * (row.p - f64::from(u8::from(row.positive)));
    }
    off.iter().map(|off: &f64| off.abs()).sum::<f64>() / all
}

/// Rows in the order of their probabilities.
fn sorted(rows: &[Scored]) -> Vec<Scored> {
    let mut rows = rows.to_vec();
    rows.sort_by(|a, b| a.p.total_cmp(&b.p));
    rows
}

/// Equal probabilities count half.
fn auc(rows: &[Scored]) -> Option<f64> {
    let rows = sorted(rows);
    let (mut below, mut pairs) = (0.0, 0.0);
    for tied in rows.chunk_by(|a, b| a.p == b.p) {
        let weight = |label: bool| tied.iter().filter(|row| row.positive == label).map(|row| row.weight).sum::<f64>();
        let (negative, positive) = (weight(false), weight(true));
        pairs += positive * (below + 0.5 * negative);
        below += negative;
    }
    let positive: f64 = rows.iter().filter(|row| row.positive).map(|row| row.weight).sum();
    (below > 0.0 && positive > 0.0).then(|| pairs / (below * positive))
}

/// What a threshold is chosen for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Criterion {
    /// Most rows decided rightly.
    Accuracy,
    /// The harmonic mean of recall and precision.
    F1,
    /// Recall less the false positive rate (Youden).
    Balanced,
}

/// The threshold that is best for a criterion on these rows: halfway between two probabilities.
pub(crate) fn best_threshold(rows: &[Scored], criterion: Criterion) -> f64 {
    let rows = sorted(rows);
    let total = |label: bool| rows.iter().filter(|row| row.positive == label).map(|row| row.weight).sum::<f64>();
    let (negative, positive) = (total(false), total(true));
    // Above a threshold below all probabilities, every row is selected.
    let (mut hits, mut alarms) = (positive, negative);
    let score = |hits: f64, alarms: f64| match criterion {
        Criterion::Accuracy => hits - alarms,
        Criterion::F1 => 2.0 * hits / (hits + alarms + positive).max(f64::MIN_POSITIVE),
        Criterion::Balanced => hits / positive.max(f64::MIN_POSITIVE) - alarms / negative.max(f64::MIN_POSITIVE),
    };
    let (mut best, mut threshold) = (score(hits, alarms), rows.first().map_or(0.5, |row| 0.5 * row.p));
    let groups: Vec<&[Scored]> = rows.chunk_by(|a, b| a.p == b.p).collect();
    for (k, tied) in groups.iter().enumerate() {
        for row in *tied {
            *if row.positive { &mut hits } else { &mut alarms } -= row.weight;
        }
        let next = groups.get(k + 1).map_or(1.0, |next| next[0].p);
        if score(hits, alarms) > best {
            (best, threshold) = (score(hits, alarms), 0.5 * (tied[0].p + next));
        }
    }
    threshold.clamp(f64::MIN_POSITIVE, 1.0 - f64::EPSILON)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(cases: &[(f64, bool)]) -> Vec<Scored> {
        cases.iter().map(|&(p, positive)| Scored { p, positive, weight: 1.0 }).collect()
    }

    #[test]
    fn shares_agree_with_counting() {
        let some = rows(&[(0.1, false), (0.2, false), (0.6, false), (0.4, true), (0.8, true), (0.9, true)]);
        let quality = Quality::of(&some, 0.5);
        assert_eq!((quality.observed, quality.selected, quality.accuracy), (0.5, 0.5, 4.0 / 6.0));
        assert_eq!((quality.recall, quality.precision), (Some(2.0 / 3.0), Some(2.0 / 3.0)));
        assert_eq!(quality.false_positive, Some(1.0 / 3.0));
        // Of nine pairs only 0.6 against 0.4 is the wrong way round.
        assert_eq!(quality.auc, Some(8.0 / 9.0));
        // Each row has a bin of its own: 0.1 + 0.2 + 0.6 + 0.6 + 0.2 + 0.1 of 6.
        assert!((quality.calibration_error - 1.8 / 6.0).abs() < 1e-15);
        assert_eq!(Quality::of(&some[3..], 0.5).auc, None);
        assert_eq!(Quality::of(&rows(&[(0.5, true), (0.5, false)]), 0.5).auc, Some(0.5));
    }

    #[test]
    fn a_row_that_counts_twice_is_two_rows() {
        let mut some = rows(&[(0.1, false), (0.6, false), (0.4, true), (0.9, true)]);
        some[1].weight = 2.0;
        let twice = rows(&[(0.1, false), (0.6, false), (0.6, false), (0.4, true), (0.9, true)]);
        let (one, other) = (Quality::of(&some, 0.5), Quality::of(&twice, 0.5));
        // Sums in another order round otherwise.
        assert!((one.predicted - other.predicted).abs() < 1e-15);
        assert_eq!(Quality { rows: 5, predicted: other.predicted, ..one }, other);
    }

    #[test]
    fn thresholds_are_best_for_what_they_are_chosen_for() {
        let some = rows(&[(0.1, false), (0.2, true), (0.3, false), (0.35, false), (0.5, true), (0.7, true)]);
        assert_eq!(best_threshold(&some, Criterion::Accuracy), 0.425);
        for criterion in [Criterion::Accuracy, Criterion::F1, Criterion::Balanced] {
            let at = |threshold: f64| {
                let quality = Quality::of(&some, threshold);
                let (recall, precision) = (quality.recall.unwrap(), quality.precision.unwrap_or(0.0));
                match criterion {
                    Criterion::Accuracy => quality.accuracy,
                    Criterion::F1 => 2.0 * recall * precision / (recall + precision).max(1e-300),
                    Criterion::Balanced => recall - quality.false_positive.unwrap(),
                }
            };
            let best = at(best_threshold(&some, criterion));
            assert!((0..100).all(|k| at(f64::from(k) / 100.0) <= best + 1e-12), "{criterion:?}");
        }
    }
}
