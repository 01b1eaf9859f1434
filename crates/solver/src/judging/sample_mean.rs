//! Mean and standard error of vectors.

/// Mean and spread of vectors, one after the other.
pub struct SampleMean {
    count: f64,
    pub mean: Vec<f64>,
    squares: Vec<f64>,
}

impl SampleMean {
    pub fn new(length: usize) -> Self {
        SampleMean { count: 0.0, mean: vec![0.0; length], squares: vec![0.0; length] }
    }

    pub fn clear(&mut self) {
        self.count = 0.0;
        self.mean.fill(0.0);
        self.squares.fill(0.0);
    }

    pub fn add(&mut self, values: &[f64]) {
        self.count += 1.0;
        for ((mean, square), value) in self.mean.iter_mut().zip(&mut self.squares).zip(values) {
            let off = value - *mean;
            *mean += off / self.count;
            *square += off * (value - *mean);
        }
    }

    /// How many vectors there were.
    pub fn count(&self) -> f64 {
        self.count
    }

    /// The sum of the squares of an entry's deviations from its mean.
    pub fn square(&self, entry: usize) -> f64 {
        self.squares[entry]
    }

    /// The standard error of the mean of an entry.
    pub fn standard_error_of(&self, entry: usize) -> f64 {
        (self.squares[entry] / (self.count - 1.0) / self.count).sqrt()
    }

    /// The standard error of the mean: root of the sum over all entries.
    pub fn standard_error(&self) -> f64 {
        (self.squares.iter().sum::<f64>() / (self.count - 1.0) / self.count).sqrt()
    }
}
