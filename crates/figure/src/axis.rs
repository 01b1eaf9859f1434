//! Scales and the marks on them.

/// A logarithmic scale over whole decades; exponents of ten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decades {
    /// The lowest exponent.
    pub low: i32,
    /// The highest exponent, above the lowest.
    pub high: i32,
}

impl Decades {
    /// Covers all positive finite values, at most this many decades below the largest.
    pub fn covering(values: impl Iterator<Item = f64>, most: i32) -> Self {
        let logarithms = values.filter(|value| value.is_finite() && *value > 0.0).map(f64::log10);
        let (least, greatest) = logarithms.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
        if least > greatest {
            return Decades { low: -1, high: 1 };
        }
        let (low, high) = (least.floor() as i32, greatest.ceil() as i32);
        if low == high {
            return Decades { low: low - 1, high: high + 1 };
        }
        Decades { low: low.max(high - most), high }
    }

    /// Where a value lies between the lower (0) and the upper edge (1).
    pub fn position(&self, value: f64) -> f64 {
        let decades = f64::from(self.high - self.low);
        ((value.log10() - f64::from(self.low)) / decades).clamp(0.0, 1.0)
    }

    /// The exponents to label, at most this many intervals between them.
    pub fn marks(&self, most: i32) -> impl Iterator<Item = i32> + use<> {
        let step = ((self.high - self.low + most - 1) / most).max(1);
        let first = self.low.div_euclid(step) * step;
        let (low, high) = (self.low, self.high);
        (first..=high).step_by(step.unsigned_abs() as usize).filter(move |exponent| *exponent >= low)
    }
}

/// Round distances for at most this many intervals up to `last`: 1, 2 or 5 times a power of ten, and whole.
pub fn round_marks(last: u64, most: u64) -> impl Iterator<Item = u64> {
    let needed = last.div_ceil(most).max(1);
    let power = 10u64.pow(needed.ilog10());
    let step = [1, 2, 5, 10].into_iter().map(|factor| factor * power).find(|step| *step >= needed).unwrap_or(needed);
    (0..=last / step).map(move |k| k * step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decades_cover_the_values() {
        let of = |values: &[f64], most| Decades::covering(values.iter().copied(), most);
        assert_eq!(of(&[0.02, 300.0, f64::NAN, 0.0], 16), Decades { low: -2, high: 3 });
        assert_eq!(of(&[1e-30, 1.0], 16), Decades { low: -16, high: 0 });
        assert_eq!(of(&[1.0, 1.0], 16), Decades { low: -1, high: 1 });
        assert_eq!(of(&[], 16), Decades { low: -1, high: 1 });
        let decades = Decades { low: -2, high: 2 };
        assert_eq!(decades.position(1.0), 0.5);
        assert_eq!(decades.position(0.0), 0.0);
        assert_eq!(decades.position(1e9), 1.0);
        assert_eq!(Decades { low: -7, high: 3 }.marks(5).collect::<Vec<_>>(), [-6, -4, -2, 0, 2]);
    }

    #[test]
    fn marks_are_round() {
        assert_eq!(round_marks(23, 6).collect::<Vec<_>>(), [0, 5, 10, 15, 20]);
        assert_eq!(round_marks(3000, 6).collect::<Vec<_>>(), [0, 500, 1000, 1500, 2000, 2500, 3000]);
        assert_eq!(round_marks(0, 6).collect::<Vec<_>>(), [0]);
        assert_eq!(round_marks(u64::MAX, 6).count(), 4);
    }
}
