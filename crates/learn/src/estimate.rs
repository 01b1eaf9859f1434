//! What the mean of some rows says of the mean of all rows like them.

use serde::{Deserialize, Serialize};
use tangor_problem::two_sided_student;

use crate::Contrast;

/// A value on some rows and what it says of others.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Estimate {
    /// The value on these rows.
    pub value: f64,
    /// With the confidence of the evaluation, the value for all people like those in the rows is within this of `value`, provided that
    /// these rows had no part in the choice of the weights.
    pub margin: f64,
}

/// Weighted sums over the rows of a class: of ones, their squares, and both with probabilities, their squares and decisions.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sums {
    w: f64,
    ww: f64,
    p: [f64; 3],
    d: [f64; 3],
}

/// What rates are means of.
#[derive(Clone, Copy)]
enum Kind {
    Probabilities,
    Decisions,
}

/// A mean with the variance of its error.
#[derive(Clone, Copy)]
struct Mean {
    value: f64,
    variance: f64,
    /// So many rows of equal weight would be worth as much.
    rows: f64,
}

/// The values of a contrast with probabilities and with decisions, with margins of this confidence.
pub(crate) fn estimates(contrast: Option<&Contrast>, by_class: &[Sums], confidence: f64) -> [Option<Estimate>; 2] {
    let Some(contrast) = contrast else { return [None; 2] };
    let total = |chosen: &[bool]| {
        let chosen = by_class.iter().zip(chosen).filter(|(_, chosen)| **chosen);
        chosen.fold(Sums::default(), |total, (sums, _)| total.plus(sums))
    };
    let plus = total(&contrast.plus);
    // A group and the whole that it is part of have rows in common, which move both means at once.
    let minus = contrast.minus.as_ref().map(|minus| {
        let both: Vec<bool> = contrast.plus.iter().zip(minus).map(|(a, b)| *a && *b).collect();
        (total(minus), total(&both))
    });
    [Kind::Probabilities, Kind::Decisions].map(|kind| Some(estimate(kind, &plus, minus.as_ref(), confidence)))
}

/// The mean of some rows, less that of others with which they have rows in common.
fn estimate(kind: Kind, plus: &Sums, minus: Option<&(Sums, Sums)>, confidence: f64) -> Estimate {
    let a = plus.mean(kind);
    let Some((minus, shared)) = minus else {
        let errors = two_sided_student(confidence, a.rows - 1.0);
        let (shift, variance) = a.behind(kind, errors);
        // A rate is between 0 and 1, whatever the rows say.
        return Estimate { value: a.value, margin: margin(errors, variance, shift).min(a.value.max(1.0 - a.value)) };
    };
    let b = minus.mean(kind);
    let errors = two_sided_student(confidence, a.rows.min(b.rows) - 1.0);
    let ((shift_a, variance_a), (shift_b, variance_b)) = (a.behind(kind, errors), b.behind(kind, errors));
    let covariance = shared.scatter(kind, a.value, b.value) / (plus.w * minus.w);
    let (value, variance) = (a.value - b.value, variance_a + variance_b - 2.0 * covariance);
    Estimate { value, margin: margin(errors, variance, shift_a - shift_b).min(1.0 + value.abs()) }
}

/// So many standard errors about a value that is shifted by so much, seen from the value itself; infinite where nothing is known.
fn margin(errors: f64, variance: f64, shift: f64) -> f64 {
    let margin = errors * variance.max(0.0).sqrt() + shift.abs();
    if errors.is_finite() { margin } else { f64::INFINITY }
}

impl Mean {
    /// By how much the mean of all rows may lie beside this one, and the variance that its error may have.
    ///
    /// Rows that are all alike do not vary, and yet others may differ: rows are added, half of them 0 and half 1, and the variance is at least
    /// theirs together. Of decisions with `z` standard errors asked for these are `z^2` rows, whose mean counts, too (Agresti and Coull). Of
    /// probabilities, which differ from each other in any case, they are two.
    fn behind(&self, kind: Kind, errors: f64) -> (f64, f64) {
        let &Mean { value, variance, rows } = self;
        let added = match kind {
            Kind::Probabilities => 2.0,
            Kind::Decisions => errors * errors,
        };
        if !added.is_finite() {
            return (0.0, variance);
        }
        let mean = (rows * value + 0.5 * added) / (rows + added);
        let square = (rows * (rows * variance + value * value) + 0.5 * added) / (rows + added);
        let variance = variance.max((square - mean * mean) / (rows + added));
        match kind {
            Kind::Probabilities => (0.0, variance),
            Kind::Decisions => (mean - value, variance),
        }
    }
}

impl Sums {
    /// How many they are.
    pub(crate) const COUNT: usize = 8;

    /// From numbers to which rows were added.
    pub(crate) fn new(sums: &[f64]) -> Sums {
        let three = |from: usize| [sums[from], sums[from + 1], sums[from + 2]];
        Sums { w: sums[0], ww: sums[1], p: three(2), d: three(5) }
    }

    /// Adds a row to such numbers.
    pub(crate) fn add(sums: &mut [f64], weight: f64, p: f64, decision: f64) {
        let square = weight * weight;
        sums[0] += weight;
        sums[1] += square;
        for (from, value) in [(2, p), (5, decision)] {
            sums[from] += weight * value;
            sums[from + 1] += square * value;
            sums[from + 2] += square * value * value;
        }
    }

    fn plus(mut self, other: &Sums) -> Sums {
        self.w += other.w;
        self.ww += other.ww;
        for k in 0..3 {
            self.p[k] += other.p[k];
            self.d[k] += other.d[k];
        }
        self
    }

    fn of(&self, kind: Kind) -> &[f64; 3] {
        match kind {
            Kind::Probabilities => &self.p,
            Kind::Decisions => &self.d,
        }
    }

    fn mean(&self, kind: Kind) -> Mean {
        let value = self.of(kind)[0] / self.w;
        Mean { value, variance: self.scatter(kind, value, value) / self.w.powi(2), rows: self.w.powi(2) / self.ww }
    }

    /// `sum w^2 (y - a) (y - b)`, where `a` and `b` may be means of other rows.
    fn scatter(&self, kind: Kind, a: f64, b: f64) -> f64 {
        let [_, wwy, wwyy] = self.of(kind);
        wwyy - (a + b) * wwy + a * b * self.ww
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(values: impl Iterator<Item = (f64, bool)>) -> Sums {
        let mut sums = [0.0; Sums::COUNT];
        values.for_each(|(p, decision)| Sums::add(&mut sums, 1.0, p, f64::from(u8::from(decision))));
        Sums::new(&sums)
    }

    #[test]
    fn one_row_says_nothing_of_others() {
        let one = rows([(0.01, false)].into_iter());
        for kind in [Kind::Probabilities, Kind::Decisions] {
            let alone = estimate(kind, &one, None, 0.95);
            assert!(alone.value + alone.margin >= 1.0, "{alone:?}");
            let many = rows((0..1000).map(|i| (0.2, i % 5 == 0)));
            let gap = estimate(kind, &one, Some(&(many, Sums::default())), 0.95);
            assert!(gap.value - gap.margin <= -1.0, "{gap:?}");
        }
    }

    #[test]
    fn margins_of_decisions_cover_the_truth_however_few_rows_there_are() {
        for (confidence, n) in [(0.9, 3), (0.95, 1), (0.95, 2), (0.95, 5), (0.95, 15), (0.95, 60), (0.99, 15)] {
            // For every number of rows that are decided yes, the rates that the margin reaches.
            let judged: Vec<Estimate> =
                (0..=n).map(|k| estimate(Kind::Decisions, &rows((0..n).map(|i| (0.5, i < k))), None, confidence)).collect();
            for rate in (1..100).map(|percent| f64::from(percent) / 100.0) {
                let (mut chance, mut covered) = ((1.0 - rate).powi(n), 0.0);
                for (k, judged) in judged.iter().enumerate() {
                    covered += if (judged.value - rate).abs() <= judged.margin + 1e-12 { chance } else { 0.0 };
                    chance *= (f64::from(n) - k as f64) / (k as f64 + 1.0) * rate / (1.0 - rate);
                }
                assert!(covered >= confidence - 0.005, "{confidence}, {n} rows, rate {rate}: {covered}");
            }
        }
    }

    #[test]
    fn rare_probabilities_are_reckoned_with_before_a_row_has_shown_them() {
        // One row in so many has a probability of 0.7, the others one of 0.02; few rows often show none of the former.
        for (n, rate) in [(2, 0.2), (5, 0.1), (15, 0.1), (30, 0.05), (100, 0.02)] {
            let (mut chance, mut covered) = ((1.0f64 - rate).powi(n), 0.0);
            for k in 0..=n {
                let judged =
                    estimate(Kind::Probabilities, &rows((0..n).map(|i| (if i < k { 0.7 } else { 0.02 }, true))), None, 0.95);
                let truth = rate * 0.7 + (1.0 - rate) * 0.02;
                covered += if (judged.value - truth).abs() <= judged.margin { chance } else { 0.0 };
                chance *= f64::from(n - k) / f64::from(k + 1) * rate / (1.0 - rate);
            }
            assert!(covered >= 0.93, "{n} rows, rate {rate}: {covered}");
        }
    }

    #[test]
    fn where_there_are_many_rows_margins_are_standard_errors() {
        let many = rows((0..100_000).map(|i| (f64::from(i) / 1e5, i % 4 == 0)));
        let standard = [(Kind::Probabilities, 1.0 / 12.0), (Kind::Decisions, 3.0 / 16.0)];
        for (kind, variance) in standard {
            let expected = 1.959964 * (variance / 1e5f64).sqrt();
            let found = estimate(kind, &many, None, 0.95).margin;
            assert!((found / expected - 1.0).abs() < 0.005, "{found}, not {expected}");
        }
    }
}
