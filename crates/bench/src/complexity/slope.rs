//! The exponent in `count = constant * eps^slope`.

/// A straight line through logarithms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// Its slope.
    pub slope: f64,
    /// The standard error of the slope: what the points' distances from the line make uncertain.
    pub standard_error: f64,
}

impl Fit {
    /// The least-squares line through `(ln eps, ln count)`. None: fewer than three points, a number that is not positive and
    /// finite, or only one value of `eps`.
    pub fn of(points: &[(f64, f64)]) -> Option<Self> {
        let is_positive = |value: f64| value > 0.0 && value.is_finite();
        if points.len() < 3 || !points.iter().all(|(eps, count)| is_positive(*eps) && is_positive(*count)) {
            return None;
        }
        let number = points.len() as f64;
        let logs: Vec<(f64, f64)> = points.iter().map(|(eps, count)| (eps.ln(), count.ln())).collect();
        let mean_x = logs.iter().map(|(x, _)| x).sum::<f64>() / number;
        let mean_y = logs.iter().map(|(_, y)| y).sum::<f64>() / number;
        let squares: f64 = logs.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
        if squares == 0.0 {
            return None;
        }
        let slope = logs.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum::<f64>() / squares;
        let left: f64 = logs.iter().map(|(x, y)| (y - mean_y - slope * (x - mean_x)).powi(2)).sum();
        Some(Fit { slope, standard_error: (left / (number - 2.0) / squares).sqrt() })
    }

    /// Whether the count grows no faster than `eps^exponent`, up to the standard error.
    pub fn is_no_worse_than(&self, exponent: f64) -> bool {
        self.slope >= exponent - self.standard_error
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::E;

    #[test]
    fn slopes_by_hand() {
        // Logarithms (0, 0), (1, -1), (2, -5): mean (1, -2), slope (-2 + 0 - 3) / 2 = -5/2, distances (-1, 2, -1) / 2, their squares
        // sum up to 3/2, and the standard error is sqrt(3/2 / 1 / 2).
        let fit = Fit::of(&[(1.0, 1.0), (E, E.powi(-1)), (E * E, E.powi(-5))]).expect("three points");
        assert!((fit.slope + 2.5).abs() < 1e-12 && (fit.standard_error - 0.75f64.sqrt()).abs() < 1e-12, "{fit:?}");
        assert!(fit.is_no_worse_than(-2.0) && fit.is_no_worse_than(-3.0) && !fit.is_no_worse_than(-1.5));
        let exact = Fit::of(&[(0.5, 16.0), (0.25, 128.0), (0.125, 1024.0)]).expect("three points");
        assert!((exact.slope + 3.0).abs() < 1e-12 && exact.standard_error < 1e-12);
    }

    #[test]
    fn what_has_no_slope_gets_none() {
        assert_eq!(Fit::of(&[(0.5, 1.0), (0.25, 2.0)]), None);
        assert_eq!(Fit::of(&[(0.5, 1.0), (0.5, 2.0), (0.5, 3.0)]), None);
        assert_eq!(Fit::of(&[(0.5, 1.0), (0.25, 0.0), (0.1, 3.0)]), None);
        assert_eq!(Fit::of(&[(0.5, 1.0), (0.25, f64::INFINITY), (0.1, 3.0)]), None);
    }
}
