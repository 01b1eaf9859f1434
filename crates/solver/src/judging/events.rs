//! How many events an average rests on. A bound from the spread of batches holds where many of them contribute to it; where a rare event
//! makes the average, a sample may contain one, or none at all, and its spread says nothing.

use crate::form::quantity::Quantity;

/// Averages that hardly more effective batches have made than two events of the same weight would are not relied on; of 20 batches these make
/// 2.5, and three make 4.1. Of rows with Gaussian noise one in 2,000 has fewer by chance, so that a hundred of them can be judged.
const HARDLY_MORE: f64 = 1.05;

/// The effective batches of two events of the same weight, each in a batch of its own: `k (1 - p) / ((1 - p)^3 + p^3)` for `k = 2` of all,
/// a share `p`.
fn of_two_events(batches: f64) -> f64 {
    let share = 2.0 / batches;
    2.0 * (1.0 - share) / ((1.0 - share).powi(3) + share.powi(3))
}

/// Deviations smaller than this, relative to the mean, are rounding.
const CONSTANT: f64 = 1e-13;

/// So many samples tell of an event of this probability: it is missing among them with no more than this risk,
/// `(1 - p)^N <= exp(-p N) = risk`.
pub fn telling(risk: f64, rarest: f64) -> usize {
    ((1.0 / risk).ln() / rarest).ceil() as usize
}

/// The rarest event that so many samples tell of, with this risk.
pub fn rarest_told(risk: f64, samples: usize) -> f64 {
    ((1.0 / risk).ln() / samples as f64).min(1.0)
}

/// The risk that a look at a run takes with rows that never vary. The last look, for which samples are laid by, has half of all; the others,
/// counted from 1, share the other half: `1/2 + 1/6 + 1/12 + ... = 1`.
pub fn risk_of_events(confidence: f64, look: u64, last: bool) -> f64 {
    let look = look.max(1) as f64;
    0.5 * (1.0 - confidence) / if last { 1.0 } else { look * (look + 1.0) }
}

/// What the batches lack.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Lacking {
    /// Some row rests on so few events that another sample may show quite another average.
    pub events: bool,
    /// The first row that never varied, in too few samples to tell that it has no noise.
    pub silent: Option<usize>,
    /// The least probability of an event that cannot be missing, where there is a function with noise.
    pub rarest: Option<f64>,
}

impl Lacking {
    /// What so many samples of each function lack, none of one without noise: `(risk, rarest)` are those of [`telling`].
    pub fn among(samples: [Option<usize>; 3], events: &Events, exact_rows: &[bool], (risk, rarest): (f64, f64)) -> Lacking {
        let mut lacking = Lacking::default();
        for (function, samples) in Quantity::ALL.into_iter().zip(samples) {
            match (function, samples) {
                (_, None) => {}
                (Quantity::Constraints, Some(samples)) => events.lack(&mut lacking, samples, exact_rows, (risk, rarest)),
                (Quantity::Gradient | Quantity::Jacobian, Some(samples)) => lacking.miss_among(samples, risk),
            }
        }
        lacking
    }

    /// So many samples of a function with noise may miss an event, with this risk.
    fn miss_among(&mut self, samples: usize, risk: f64) {
        let told = rarest_told(risk, samples);
        self.rarest = Some(self.rarest.map_or(told, |rarest| rarest.max(told)));
    }
}

/// Central moments of batches, row by row.
pub struct Events {
    count: f64,
    mean: Vec<f64>,
    second: Vec<f64>,
    third: Vec<f64>,
    fourth: Vec<f64>,
}

impl Events {
    pub fn new(rows: usize) -> Self {
        let zeros = || vec![0.0; rows];
        Events { count: 0.0, mean: zeros(), second: zeros(), third: zeros(), fourth: zeros() }
    }

    pub fn clear(&mut self) {
        self.count = 0.0;
        for moment in [&mut self.mean, &mut self.second, &mut self.third, &mut self.fourth] {
            moment.fill(0.0);
        }
    }

    /// Takes in the values of a batch.
    pub fn add(&mut self, values: &[f64]) {
        let before = self.count;
        self.count += 1.0;
        let n = self.count;
        for (i, value) in values.iter().enumerate() {
            let off = value - self.mean[i];
            let step = off / n;
            let square = step * off * before;
            self.fourth[i] += square * step * step * (n * n - 3.0 * n + 3.0) + 6.0 * step * step * self.second[i]
                - 4.0 * step * self.third[i];
            self.third[i] += square * step * (n - 2.0) - 3.0 * step * self.second[i];
            self.second[i] += square;
            self.mean[i] += step;
        }
    }

    /// `(sum d^2)^2 / sum d^4` over the deviations `d` of the batches: about a third of all of them for Gaussian ones, little more than 1
    /// where one batch alone deviates, 0 where none does.
    fn effective(&self, row: usize) -> f64 {
        let effective = self.second[row] * self.second[row] / self.fourth[row];
        if effective.is_finite() { effective } else { 0.0 }
    }

    /// Whether a row is the same in all batches, up to rounding.
    fn is_constant(&self, row: usize) -> bool {
        self.second[row] <= self.count * (CONSTANT * self.mean[row]).powi(2)
    }

    /// What is missing to rely on the averages of so many `samples`. A row that never varied is one without noise, or its event is rare: only
    /// who declares it exact, or samples that tell of the `rarest` event with this `risk`, tell. One that is declared exact and varies all the
    /// same is noisy.
    fn lack(&self, lacking: &mut Lacking, samples: usize, exact_rows: &[bool], (risk, rarest): (f64, f64)) {
        let enough = samples >= telling(risk, rarest);
        for row in 0..self.mean.len() {
            let (is_exact, is_constant) = (exact_rows.get(row).is_some_and(|exact| *exact), self.is_constant(row));
            if is_exact && is_constant {
                continue;
            }
            lacking.miss_among(samples, risk);
            match is_constant {
                true if !enough => lacking.silent = lacking.silent.or(Some(row)),
                true => {}
                false => lacking.events |= self.effective(row) < HARDLY_MORE * of_two_events(self.count),
            }
        }
        lacking.events |= lacking.silent.is_some();
    }
}

#[cfg(test)]
mod tests {
    use tangor_problem::{Draw, Stream};

    use super::*;

    fn effective(values: &[f64]) -> f64 {
        let mut events = Events::new(1);
        values.iter().for_each(|value| events.add(&[*value]));
        events.effective(0)
    }

    fn of_constraints(events: &Events, samples: usize, exact_rows: &[bool], risk: (f64, f64)) -> Lacking {
        Lacking::among([None, Some(samples), None], events, exact_rows, risk)
    }

    #[test]
    fn effective_batches_by_hand() {
        // Deviations 1 and -1, four times: all of them count alike.
        assert!((effective(&[1.0, 3.0, 1.0, 3.0]) - 4.0).abs() < 1e-12);
        // Deviations 3/4 and three times -1/4: sums 12/16 and 84/256.
        assert!((effective(&[1.0, 0.0, 0.0, 0.0]) - (0.75 * 0.75) / (84.0 / 256.0)).abs() < 1e-12);
        assert_eq!(effective(&[2.0, 2.0, 2.0]), 0.0);
    }

    #[test]
    fn samples_that_tell_by_hand() {
        // exp(-1.5e-4 N) = exp(-3) at N = 20,000.
        assert_eq!(telling((-3.0f64).exp(), 1.5e-4), 20_000);
        assert!((rarest_told((-3.0f64).exp(), 20_000) - 1.5e-4).abs() < 1e-18);
        assert_eq!(rarest_told(0.01, 2), 1.0, "no event is more than certain");
        let missing = |risk: f64| (1.0 - 1.5e-4f64).powi(telling(risk, 1.5e-4) as i32);
        assert!([0.05, 1e-3].into_iter().all(|risk| missing(risk) <= risk && missing(risk) > 0.99 * risk));
    }

    #[test]
    fn all_looks_together_miss_an_event_with_the_risk() {
        let others = (1..=100_000).map(|look| risk_of_events(0.95, look, false)).sum::<f64>();
        let all = others + risk_of_events(0.95, 7, true);
        assert!(all < 0.05 && all > 0.04999, "{all}");
    }

    #[test]
    fn a_row_that_never_varies_needs_many_samples_or_a_word() {
        let mut events = Events::new(2);
        (0..20).for_each(|k| events.add(&[f64::from(k % 2), 3.0 + 1e-15 * f64::from(k % 2)]));
        let risk = (0.05, 1.5e-4);
        let enough = telling(risk.0, risk.1);
        let lacking = |samples: usize, exact_rows: &[bool]| of_constraints(&events, samples, exact_rows, risk);
        let silent = |lacking: Lacking| (lacking.events, lacking.silent);
        assert_eq!(silent(lacking(enough - 1, &[])), (true, Some(1)));
        assert_eq!(silent(lacking(enough - 1, &[true, false])), (true, Some(1)));
        assert_eq!(silent(lacking(enough - 1, &[false, true])), (false, None));
        assert_eq!(silent(lacking(enough, &[])), (false, None));
        // Beside other noise a rare event can be missing as well, whatever is said of the row: what the samples tell of is told.
        let told = [&[][..], &[true, true]].map(|exact_rows| lacking(enough, exact_rows).rarest.expect("a noisy row"));
        assert!(told.into_iter().all(|rarest| rarest <= 1.5e-4 && rarest > 1.49e-4), "{told:?}");
    }

    #[test]
    fn of_several_functions_the_one_with_the_fewest_samples_tells() {
        let mut events = Events::new(1);
        (0..20).for_each(|k| events.add(&[f64::from(k % 2)]));
        let rarest = |samples| Lacking::among(samples, &events, &[], ((-3.0f64).exp(), 1.5e-4)).rarest;
        for samples in [[2000, 1000, 3000], [1000, 2000, 3000], [3000, 2000, 1000]] {
            assert!((rarest(samples.map(Some)).expect("told") - 3e-3).abs() < 1e-15);
        }
        // One that is exact misses nothing, however few its evaluations.
        assert!((rarest([None, Some(2000), Some(3000)]).expect("told") - 1.5e-3).abs() < 1e-15);
        assert_eq!(rarest([None; 3]), None);
    }

    #[test]
    fn of_exact_rows_no_event_is_missing() {
        let mut events = Events::new(1);
        (0..20).for_each(|_| events.add(&[3.0]));
        assert_eq!(of_constraints(&events, 100, &[true], (0.05, 1.5e-4)), Lacking::default());
    }

    #[test]
    fn a_row_that_is_declared_exact_and_has_a_rare_event_is_not_believed() {
        let mut events = Events::new(1);
        (0..20).for_each(|k| events.add(&[if k == 7 { 1.0 } else { 0.0 }]));
        let lacking = of_constraints(&events, 100, &[true], (0.05, 1.5e-4));
        assert_eq!((lacking.events, lacking.silent), (true, None));
    }

    #[test]
    fn two_events_are_too_few_and_three_are_not() {
        // 1.8 / (0.729 + 0.001) and 1.6 / (0.512 + 0.008)
        assert!((of_two_events(20.0) - 1.8 / 0.73).abs() < 1e-12 && (of_two_events(10.0) - 1.6 / 0.52).abs() < 1e-12);
        for batches in [10, 20, 100] {
            let with = |count: usize| (0..batches).map(|k| if k < count { 1.0 } else { 0.0 }).collect::<Vec<f64>>();
            let few = |count: usize| is_few(&with(count));
            assert!((effective(&with(2)) - of_two_events(batches as f64)).abs() < 1e-12);
            assert_eq!([0, 1, 2, 3, 5].map(few), [true, true, true, false, false], "{batches} batches");
        }
    }

    fn is_few(values: &[f64]) -> bool {
        effective(values) < HARDLY_MORE * of_two_events(values.len() as f64)
    }

    #[test]
    fn gaussian_noise_is_seldom_taken_for_rare_events() {
        const ROWS: u64 = 20_000;
        let batches = |row: u64| {
            let mut stream = Stream::new(Draw(row), 1);
            (0..20).map(|_| stream.normal()).collect::<Vec<f64>>()
        };
        let few = (0..ROWS).filter(|&row| is_few(&batches(row))).count();
        assert!((1..20).contains(&few), "{few} of {ROWS}");
    }
}
