//! How well probabilities and decisions agree with labels.

use serde::{Deserialize, Serialize};

use crate::ranking::Ranking;

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

/// Sums over rows that the quality is made of: in this order the number of rows, their weight, that of those that are positive,
/// are decided to be, are both, and are decided rightly, the predicted probabilities, and in each bin what these are beyond the
/// labels.
pub(crate) const TALLY: usize = 7 + BINS;

impl Scored {
    /// Adds this row to sums, if rows are called positive whose probability is above the threshold.
    pub(crate) fn count(&self, threshold: f64, tally: &mut [f64; TALLY]) {
        let &Scored { p, positive, weight } = self;
        let selected = p > threshold;
        tally[0] += 1.0;
        tally[1] += weight;
        for (sum, counts) in tally[2..].iter_mut().zip([positive, selected, positive && selected, positive == selected]) {
            *sum += if counts { weight } else { 0.0 };
        }
        tally[6] += weight * p;
        tally[7 + ((p * BINS as f64) as usize).min(BINS - 1)] += weight * (p - f64::from(u8::from(positive)));
    }
}

impl Quality {
    /// Of rows with these sums and this order.
    pub(crate) fn of(tally: &[f64; TALLY], ranking: &Ranking) -> Quality {
        let &[rows, all, positive, selected, hits, right, predicted, ref bins @ ..] = tally;
        let share = |part: f64, whole: f64| (whole > 0.0).then(|| part / whole);
        let mean = |sum: f64| share(sum, all).unwrap_or(f64::NAN);
        Quality {
            rows: rows as u64,
            observed: mean(positive),
            predicted: mean(predicted),
            selected: mean(selected),
            accuracy: mean(right),
            recall: share(hits, positive),
            false_positive: share(selected - hits, all - positive),
            precision: share(hits, selected),
            auc: auc(ranking),
            calibration_error: bins.iter().map(|off| off.abs()).sum::<f64>() / all,
        }
    }
}

/// Equal probabilities count half.
fn auc(ranking: &Ranking) -> Option<f64> {
    let (mut below, mut positive, mut pairs) = (0.0, 0.0, 0.0);
    ranking.for_each(|tied| {
        pairs += tied.positive * (below + 0.5 * tied.negative);
        below += tied.negative;
        positive += tied.positive;
    });
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
pub(crate) fn best_threshold(ranking: &Ranking, criterion: Criterion) -> f64 {
    let (mut negative, mut positive) = (0.0, 0.0);
    ranking.for_each(|tied| (negative, positive) = (negative + tied.negative, positive + tied.positive));
    let score = |hits: f64, alarms: f64| match criterion {
        Criterion::Accuracy => hits - alarms,
        Criterion::F1 => 2.0 * hits / (hits + alarms + positive).max(f64::MIN_POSITIVE),
        Criterion::Balanced => hits / positive.max(f64::MIN_POSITIVE) - alarms / negative.max(f64::MIN_POSITIVE),
    };
    // Above a threshold below all probabilities, every row is selected.
    let (mut hits, mut alarms) = (positive, negative);
    let (mut best, mut threshold) = (score(hits, alarms), None);
    // The best one so far lies between this probability and the next, which is still to come; at first between 0 and the least one.
    let mut above = Some(0.0);
    ranking.for_each(|tied| {
        if let Some(below) = above.take() {
            threshold = Some(0.5 * (below + tied.p));
        }
        (hits, alarms) = (hits - tied.positive, alarms - tied.negative);
        if score(hits, alarms) > best {
            best = score(hits, alarms);
            above = Some(tied.p);
        }
    });
    if let (Some(below), Some(_)) = (above, threshold) {
        threshold = Some(0.5 * (below + 1.0));
    }
    threshold.unwrap_or(0.5).clamp(f64::MIN_POSITIVE, 1.0 - f64::EPSILON)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate;

    fn rows(cases: &[(f64, bool)]) -> Vec<Scored> {
        cases.iter().map(|&(p, positive)| Scored { p, positive, weight: 1.0 }).collect()
    }

    fn ranking(rows: &[Scored]) -> Ranking {
        let data = generate(rows.len(), 1, 1).unwrap();
        Ranking::by_group(&data, 1, |i| Some((0, rows[i]))).remove(0)
    }

    fn quality(rows: &[Scored], threshold: f64) -> Quality {
        let mut tally = [0.0; TALLY];
        rows.iter().for_each(|row| row.count(threshold, &mut tally));
        Quality::of(&tally, &ranking(rows))
    }

    fn best(rows: &[Scored], criterion: Criterion) -> f64 {
        best_threshold(&ranking(rows), criterion)
    }

    #[test]
    fn shares_agree_with_counting() {
        let some = rows(&[(0.1, false), (0.2, false), (0.6, false), (0.4, true), (0.8, true), (0.9, true)]);
        let found = quality(&some, 0.5);
        assert_eq!((found.observed, found.selected, found.accuracy), (0.5, 0.5, 4.0 / 6.0));
        assert_eq!((found.recall, found.precision), (Some(2.0 / 3.0), Some(2.0 / 3.0)));
        assert_eq!(found.false_positive, Some(1.0 / 3.0));
        // Of nine pairs only 0.6 against 0.4 is the wrong way round.
        assert_eq!(found.auc, Some(8.0 / 9.0));
        // Each row has a bin of its own: 0.1 + 0.2 + 0.6 + 0.6 + 0.2 + 0.1 of 6.
        assert!((found.calibration_error - 1.8 / 6.0).abs() < 1e-15);
        assert_eq!(quality(&some[3..], 0.5).auc, None);
        assert_eq!(quality(&rows(&[(0.5, true), (0.5, false)]), 0.5).auc, Some(0.5));
    }

    #[test]
    fn a_row_that_counts_twice_is_two_rows() {
        let mut some = rows(&[(0.1, false), (0.6, false), (0.4, true), (0.9, true)]);
        some[1].weight = 2.0;
        let twice = rows(&[(0.1, false), (0.6, false), (0.6, false), (0.4, true), (0.9, true)]);
        let (one, other) = (quality(&some, 0.5), quality(&twice, 0.5));
        // Sums in another order round otherwise.
        assert!((one.predicted - other.predicted).abs() < 1e-15);
        assert_eq!(Quality { rows: 5, predicted: other.predicted, ..one }, other);
    }

    #[test]
    fn thresholds_are_best_for_what_they_are_chosen_for() {
        let some = rows(&[(0.1, false), (0.2, true), (0.3, false), (0.35, false), (0.5, true), (0.7, true)]);
        assert_eq!(best(&some, Criterion::Accuracy), 0.425);
        for criterion in [Criterion::Accuracy, Criterion::F1, Criterion::Balanced] {
            let at = |threshold: f64| {
                let found = quality(&some, threshold);
                let (recall, precision) = (found.recall.unwrap(), found.precision.unwrap_or(0.0));
                match criterion {
                    Criterion::Accuracy => found.accuracy,
                    Criterion::F1 => 2.0 * recall * precision / (recall + precision).max(1e-300),
                    Criterion::Balanced => recall - found.false_positive.unwrap(),
                }
            };
            let most = at(best(&some, criterion));
            assert!((0..100).all(|k| at(f64::from(k) / 100.0) <= most + 1e-12), "{criterion:?}");
        }
    }
}
