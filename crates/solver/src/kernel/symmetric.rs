//! A sparse symmetric matrix, of which the lower triangle is kept.

/// `values` at `places`, and the same multiple of the identity besides.
#[derive(Clone, Debug)]
pub struct SparseSymmetric {
    pub n: usize,
    /// Row and column of each value, `row >= column`, each place once.
    pub places: Vec<(usize, usize)>,
    pub values: Vec<f64>,
    /// What is added to every entry of the diagonal.
    pub shift: f64,
}

impl SparseSymmetric {
    /// Zero, with these places.
    pub fn new(n: usize, places: Vec<(usize, usize)>) -> Self {
        SparseSymmetric { n, values: vec![0.0; places.len()], places, shift: 0.0 }
    }

    /// Adds its product with `s` to `out`.
    pub fn add_product(&self, s: &[f64], out: &mut [f64]) {
        for (&(i, j), value) in self.places.iter().zip(&self.values) {
            out[i] += value * s[j];
            if i != j {
                out[j] += value * s[i];
            }
        }
        out[..self.n].iter_mut().zip(s).for_each(|(out, s)| *out += self.shift * s);
    }

    /// `s^T ... s`
    pub fn square(&self, s: &[f64]) -> f64 {
        let entries = self.places.iter().zip(&self.values);
        let sum: f64 =
            entries.map(|(&(i, j), value)| if i == j { value * s[i] * s[i] } else { 2.0 * value * s[i] * s[j] }).sum();
        sum + self.shift * s[..self.n].iter().map(|s| s * s).sum::<f64>()
    }

    /// Writes its diagonal.
    pub fn write_diagonal(&self, out: &mut [f64]) {
        out[..self.n].fill(self.shift);
        for (&(i, j), value) in self.places.iter().zip(&self.values) {
            if i == j {
                out[i] += value;
            }
        }
    }

    /// The whole matrix, row after row.
    pub fn full(&self) -> Vec<f64> {
        let mut full = vec![0.0; self.n * self.n];
        (0..self.n).for_each(|i| full[i * self.n + i] = self.shift);
        for (&(i, j), value) in self.places.iter().zip(&self.values) {
            full[i * self.n + j] += value;
            if i != j {
                full[j * self.n + i] += value;
            }
        }
        full
    }

    /// The largest entry, without its sign.
    pub fn size(&self) -> f64 {
        self.values.iter().fold(0.0, |most, value| most.max(value.abs()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_by_hand() {
        // [2 3; 3 5] + 1
        let mut matrix = SparseSymmetric::new(2, vec![(0, 0), (1, 0), (1, 1)]);
        matrix.values = vec![2.0, 3.0, 5.0];
        matrix.shift = 1.0;
        let mut out = [10.0, 0.0];
        matrix.add_product(&[1.0, -1.0], &mut out);
        assert_eq!(out, [10.0, -3.0]);
        assert_eq!(matrix.square(&[1.0, -1.0]), 3.0 - 6.0 + 6.0);
        matrix.write_diagonal(&mut out);
        assert_eq!((out, matrix.size()), ([3.0, 6.0], 5.0));
        assert_eq!(matrix.full(), [3.0, 3.0, 3.0, 6.0]);
    }
}
