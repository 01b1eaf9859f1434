//! Gauss's elimination of a small matrix, with exchanges of rows: for what is symmetric but indefinite, or not symmetric at all.

/// `P^-1 L U`, column after column, with its row exchanges.
#[derive(Default)]
pub struct Elimination {
    values: Vec<f64>,
    exchanges: Vec<usize>,
}

impl Elimination {
    /// For matrices of so many rows at most.
    pub fn new(most: usize) -> Self {
        Elimination { values: vec![0.0; most * most], exchanges: vec![0; most] }
    }

    /// Where the matrix is to be written, column after column.
    pub fn matrix(&mut self, count: usize) -> &mut [f64] {
        &mut self.values[..count * count]
    }

    /// Factorises what was written, and gives the sign of its determinant. None: it is singular.
    pub fn factorise(&mut self, count: usize) -> Option<f64> {
        let g = &mut self.values;
        let mut sign = 1.0;
        for k in 0..count {
            let best = (k..count).max_by(|&a, &b| g[k * count + a].abs().total_cmp(&g[k * count + b].abs())).unwrap_or(k);
            self.exchanges[k] = best;
            let pivot = g[k * count + best];
            if pivot == 0.0 || !pivot.is_finite() {
                return None;
            }
            sign *= if best == k { pivot.signum() } else { -pivot.signum() };
            for column in 0..count {
                g.swap(column * count + k, column * count + best);
            }
            for i in k + 1..count {
                g[k * count + i] /= pivot;
            }
            for column in k + 1..count {
                let top = g[column * count + k];
                for i in k + 1..count {
                    g[column * count + i] -= top * g[k * count + i];
                }
            }
        }
        Some(sign)
    }

    /// Solves in place.
    pub fn solve(&self, c: &mut [f64]) {
        let (g, count) = (&self.values, c.len());
        // The rows of the factor were exchanged as a whole: so is the right-hand side, before anything else.
        for k in 0..count {
            c.swap(k, self.exchanges[k]);
        }
        for k in 0..count {
            for i in k + 1..count {
                c[i] -= g[k * count + i] * c[k];
            }
        }
        for k in (0..count).rev() {
            c[k] /= g[k * count + k];
            for i in 0..k {
                c[i] -= g[k * count + i] * c[k];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solutions_and_signs_by_hand() {
        let mut elimination = Elimination::new(3);
        // [0 2; 3 1] takes (1, 2) to (4, 5); its determinant is -6.
        elimination.matrix(2).copy_from_slice(&[0.0, 3.0, 2.0, 1.0]);
        assert_eq!(elimination.factorise(2), Some(-1.0));
        let mut c = [4.0, 5.0];
        elimination.solve(&mut c);
        assert!((c[0] - 1.0).abs() < 1e-15 && (c[1] - 2.0).abs() < 1e-15, "{c:?}");
        // diag(-1, -2, 3) with its first two rows exchanged: -6.
        elimination.matrix(3).copy_from_slice(&[0.0, -1.0, 0.0, -2.0, 0.0, 0.0, 0.0, 0.0, 3.0]);
        assert_eq!(elimination.factorise(3), Some(-1.0));
        elimination.matrix(2).copy_from_slice(&[1.0, 2.0, 2.0, 4.0]);
        assert_eq!(elimination.factorise(2), None);
    }
}
