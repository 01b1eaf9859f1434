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

/// A linear scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// The lower edge.
    pub low: f64,
    /// The upper edge, above the lower.
    pub high: f64,
}

impl Span {
    /// Covers all finite values, with a little room around them.
    pub fn covering(values: impl Iterator<Item = f64>) -> Self {
        let finite = values.filter(|value| value.is_finite());
        let (low, high) =
            finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        match low <= high {
            false => Span { low: 0.0, high: 1.0 },
            true => {
                // Of a value that never changes nothing but itself can be shown.
                let room = if high - low > 1e-12 * high.abs().max(low.abs()) {
                    0.06 * (high - low)
                } else {
                    0.5 * high.abs().max(1.0)
                };
                // Halves first: the largest numbers must not overflow.
                Span { low: (low - room).max(f64::MIN / 4.0), high: (high + room).min(f64::MAX / 4.0) }
            }
        }
    }

    /// Where a value lies between the lower (0) and the upper edge (1).
    pub fn position(&self, value: f64) -> f64 {
        ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }

    /// Round values to label, with about this many intervals between them, and their texts.
    pub fn marks(&self, about: f64) -> Vec<(f64, String)> {
        let wanted = (self.high - self.low) / about;
        let power = 10f64.powf(wanted.log10().floor());
        let step =
            [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power).into_iter().find(|step| *step >= 0.7 * wanted).unwrap_or(wanted);
        let digits = (-step.log10().floor()).max(0.0) as usize;
        let text = |value: f64| match step.abs() < 1e-5 || value.abs() >= 1e6 {
            true => format!("{value:.2e}"),
            false => format!("{value:.digits$}"),
        };
        let first = (self.low / step).ceil();
        (0..20)
            .map(|k| (first + f64::from(k)) * step)
            .take_while(|value| *value <= self.high)
            .map(|value| (value, text(value)))
            .collect()
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
    fn a_linear_scale_has_round_marks() {
        let span = Span::covering([0.393, 0.412, f64::NAN].into_iter());
        assert!(span.low < 0.393 && span.high > 0.412 && (span.position(0.4025) - 0.5).abs() < 1e-12);
        let texts: Vec<String> = span.marks(4.0).into_iter().map(|(_, text)| text).collect();
        assert_eq!(texts, ["0.395", "0.400", "0.405", "0.410"]);
        for values in [vec![], vec![3.0, 3.0], vec![-1e300, 1e300], vec![0.0], vec![1e-12, 2e-12]] {
            let span = Span::covering(values.into_iter());
            assert!(span.low < span.high && span.marks(5.0).len() <= 20);
        }
    }

    #[test]
    fn marks_are_round() {
        assert_eq!(round_marks(23, 6).collect::<Vec<_>>(), [0, 5, 10, 15, 20]);
        assert_eq!(round_marks(3000, 6).collect::<Vec<_>>(), [0, 500, 1000, 1500, 2000, 2500, 3000]);
        assert_eq!(round_marks(0, 6).collect::<Vec<_>>(), [0]);
        assert_eq!(round_marks(u64::MAX, 6).count(), 4);
    }
}
