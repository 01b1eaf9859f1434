//! A sparse symmetric matrix, of which the lower triangle is kept.

/// `values` at `places`, and multiples of two diagonals besides.
#[derive(Clone, Debug, Default)]
pub struct SparseSymmetric {
    pub n: usize,
    /// Row and column of each value, `row >= column`, each place once.
    pub places: Vec<(usize, usize)>,
    pub values: Vec<f64>,
    /// So much of these weights is added to the diagonal.
    pub shift: f64,
    pub weights: Vec<f64>,
    /// And so much of the identity.
    pub damping: f64,
}

impl SparseSymmetric {
    /// Zero, with these places.
    pub fn new(n: usize, places: Vec<(usize, usize)>) -> Self {
        SparseSymmetric { n, values: vec![0.0; places.len()], places, shift: 0.0, weights: vec![1.0; n], damping: 0.0 }
    }

    /// What is added to the diagonal, variable by variable.
    pub fn added(&self) -> impl Iterator<Item = f64> + '_ {
        self.weights.iter().map(|weight| self.shift * weight + self.damping)
    }

    /// Adds its product with `s` to `out`.
    pub fn add_product(&self, s: &[f64], out: &mut [f64]) {
        for (&(i, j), value) in self.places.iter().zip(&self.values) {
            out[i] += value * s[j];
            if i != j {
                out[j] += value * s[i];
            }
        }
        for ((out, s), added) in out.iter_mut().zip(s).zip(self.added()) {
            *out += added * s;
        }
    }

    /// Adds its column `j` to `out`.
    pub fn add_column(&self, j: usize, out: &mut [f64]) {
        out[j] += self.shift * self.weights[j] + self.damping;
        for (&(row, column), value) in self.places.iter().zip(&self.values) {
            if column == j {
                out[row] += value;
            } else if row == j {
                out[column] += value;
            }
        }
    }

    /// `s^T ... s`
    pub fn square(&self, s: &[f64]) -> f64 {
        let entries = self.places.iter().zip(&self.values);
        let sum: f64 =
            entries.map(|(&(i, j), value)| if i == j { value * s[i] * s[i] } else { 2.0 * value * s[i] * s[j] }).sum();
        sum + s.iter().zip(self.added()).map(|(s, added)| added * s * s).sum::<f64>()
    }

    /// Writes its diagonal.
    pub fn write_diagonal(&self, out: &mut [f64]) {
        out.iter_mut().zip(self.added()).for_each(|(out, added)| *out = added);
        for (&(i, j), value) in self.places.iter().zip(&self.values) {
            if i == j {
                out[i] += value;
            }
        }
    }

    /// Weighs each variable by the largest value in its row, relative to the largest of all, and by no less than `least`. The unit of a variable
    /// then does not tell how much it is held back, as Marquardt has it.
    pub fn weigh_by_rows(&mut self, least: f64) {
        let size = self.size();
        self.weights.fill(least * size);
        for (&(i, j), value) in self.places.iter().zip(&self.values) {
            self.weights[i] = self.weights[i].max(value.abs());
            self.weights[j] = self.weights[j].max(value.abs());
        }
        self.weights.iter_mut().for_each(|weight| *weight = if size > 0.0 { *weight / size } else { 1.0 });
    }

    /// Whether what is added outweighs all that the values can make of a row, if the rows weigh the variables: then the matrix is positive
    /// definite.
    pub fn is_dominant(&self) -> bool {
        self.shift.max(self.damping) > self.n as f64 * self.size()
    }

    /// The whole matrix, row after row.
    pub fn full(&self) -> Vec<f64> {
        let mut full = vec![0.0; self.n * self.n];
        self.added().enumerate().for_each(|(i, added)| full[i * self.n + i] = added);
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
        (matrix.shift, matrix.damping) = (0.25, 0.75);
        let mut out = [10.0, 0.0];
        matrix.add_product(&[1.0, -1.0], &mut out);
        assert_eq!(out, [10.0, -3.0]);
        assert_eq!(matrix.square(&[1.0, -1.0]), 3.0 - 6.0 + 6.0);
        out.fill(1.0);
        matrix.add_column(1, &mut out);
        assert_eq!(out, [4.0, 7.0]);
        matrix.write_diagonal(&mut out);
        assert_eq!((out, matrix.size()), ([3.0, 6.0], 5.0));
        assert_eq!(matrix.full(), [3.0, 3.0, 3.0, 6.0]);
    }

    #[test]
    fn variables_weigh_what_their_rows_do() {
        // [0 8; 8 1] and a variable that is not in it: the rows have 8, 8 and nothing, of 8.
        let mut matrix = SparseSymmetric::new(3, vec![(1, 0), (1, 1)]);
        matrix.values = vec![8.0, 1.0];
        matrix.weigh_by_rows(0.25);
        assert_eq!(matrix.weights, [1.0, 1.0, 0.25]);
        matrix.shift = 4.0;
        let mut out = [0.0; 3];
        matrix.add_product(&[1.0, 1.0, 1.0], &mut out);
        assert_eq!(out, [12.0, 13.0, 1.0]);
        assert_eq!(matrix.square(&[1.0, 1.0, 1.0]), 26.0);
        matrix.write_diagonal(&mut out);
        assert_eq!(out, [4.0, 5.0, 1.0]);
        assert_eq!(matrix.full(), [4.0, 8.0, 0.0, 8.0, 5.0, 0.0, 0.0, 0.0, 1.0]);
        // 24 is what three entries of 8 can make.
        assert!(!matrix.is_dominant());
        matrix.shift = 25.0;
        assert!(matrix.is_dominant());
        (matrix.shift, matrix.damping) = (0.0, 25.0);
        assert!(matrix.is_dominant());
        // Where nothing is known, all variables are the same.
        matrix.values.fill(0.0);
        matrix.weigh_by_rows(0.25);
        assert_eq!(matrix.weights, [1.0; 3]);
    }
}
