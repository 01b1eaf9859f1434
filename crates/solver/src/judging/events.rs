//! How many events an average rests on. A bound from the spread of batches holds where many of them contribute to it; where a rare event
//! makes the average, a sample may contain one, or none at all, and its spread says nothing.

/// Averages that fewer effective batches have made than this are not relied on.
const FEWEST: f64 = 4.0;

/// So many samples in which a row never varies tell that it has no noise: an event of probability 1.5e-4 would be among them with 95 %.
const TELLING: usize = 20_000;

/// Deviations smaller than this, relative to the mean, are rounding.
const CONSTANT: f64 = 1e-13;

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

    /// Whether some row rests on so few events that another sample may show quite another average. A row that never varied is one without
    /// noise, or its event is rare: only many `samples` tell.
    pub fn are_few(&self, samples: usize) -> bool {
        let is_few = |row: usize| match self.is_constant(row) {
            true => samples < TELLING,
            false => self.effective(row) < FEWEST,
        };
        (0..self.mean.len()).any(is_few)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effective(values: &[f64]) -> f64 {
        let mut events = Events::new(1);
        values.iter().for_each(|value| events.add(&[*value]));
        events.effective(0)
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
    fn a_row_that_never_varies_needs_many_samples() {
        let mut events = Events::new(1);
        (0..20).for_each(|k| events.add(&[3.0 + 1e-15 * f64::from(k % 2)]));
        assert!(events.are_few(TELLING - 1) && !events.are_few(TELLING));
    }

    #[test]
    fn one_event_among_twenty_batches_is_too_few_and_five_are_not() {
        let with = |count: usize| (0..20).map(|k| if k < count { 1.0 } else { 0.0 }).collect::<Vec<f64>>();
        let few = |count: usize| effective(&with(count)) < FEWEST;
        assert_eq!([0, 1, 2, 5, 10].map(few), [true, true, true, false, false]);
    }
}
