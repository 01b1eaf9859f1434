//! Second derivatives of formulas: numbers that carry one direction, [`LANES`] others, and the mixed second derivatives.

use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use crate::{Formulas, Number};

/// How many second directions one pass carries.
pub(crate) const LANES: usize = 8;

/// `value + first s + sum_k others_k t_k + sum_k mixed_k s t_k`, cut off after the products.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Curved {
    value: f64,
    first: f64,
    others: [f64; LANES],
    mixed: [f64; LANES],
}

impl Curved {
    fn constant(value: f64) -> Self {
        Curved { value, first: 0.0, others: [0.0; LANES], mixed: [0.0; LANES] }
    }

    // f(value) with f' and f''
    fn chain(self, f: f64, slope: f64, curvature: f64) -> Self {
        let mixed = |k: usize| slope * self.mixed[k] + curvature * self.first * self.others[k];
        Curved {
            value: f,
            first: slope * self.first,
            others: self.others.map(|other| slope * other),
            mixed: std::array::from_fn(mixed),
        }
    }

    fn linear(self, other: Self, sign: f64) -> Self {
        Curved {
            value: self.value + sign * other.value,
            first: self.first + sign * other.first,
            others: std::array::from_fn(|k| self.others[k] + sign * other.others[k]),
            mixed: std::array::from_fn(|k| self.mixed[k] + sign * other.mixed[k]),
        }
    }
}

impl From<f64> for Curved {
    fn from(value: f64) -> Self {
        Curved::constant(value)
    }
}

impl Neg for Curved {
    type Output = Self;
    fn neg(self) -> Self {
        self.chain(-self.value, -1.0, 0.0)
    }
}

impl Add for Curved {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        self.linear(other, 1.0)
    }
}

impl Sub for Curved {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self.linear(other, -1.0)
    }
}

impl Mul for Curved {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        let (a, b) = (self, other);
        let mixed = |k: usize| a.value * b.mixed[k] + a.first * b.others[k] + a.others[k] * b.first + a.mixed[k] * b.value;
        Curved {
            value: a.value * b.value,
            first: a.value * b.first + a.first * b.value,
            others: std::array::from_fn(|k| a.value * b.others[k] + a.others[k] * b.value),
            mixed: std::array::from_fn(mixed),
        }
    }
}

impl Div for Curved {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        let inverse = 1.0 / other.value;
        let quotient = self * other.chain(inverse, -inverse * inverse, 2.0 * inverse * inverse * inverse);
        // The value as a division gives it, not as a product with the inverse.
        Curved { value: self.value / other.value, ..quotient }
    }
}

macro_rules! with_plain_numbers {
    ($($trait:ident $function:ident $assign_trait:ident $assign:ident;)*) => {
        $(impl $trait<f64> for Curved {
            type Output = Self;
            fn $function(self, other: f64) -> Self {
                $trait::$function(self, Curved::constant(other))
            }
        }

        impl $assign_trait for Curved {
            fn $assign(&mut self, other: Self) {
                *self = $trait::$function(*self, other);
            }
        })*
    };
}

with_plain_numbers! {
    Add add AddAssign add_assign;
    Sub sub SubAssign sub_assign;
    Mul mul MulAssign mul_assign;
    Div div DivAssign div_assign;
}

impl Number for Curved {
    fn value(self) -> f64 {
        self.value
    }
    fn powi(self, n: i32) -> Self {
        let x = self.value;
        // A factor of zero wins over a power that is infinite.
        let term = |factor: f64, shift: i32| if factor == 0.0 { 0.0 } else { factor * x.powi(n.saturating_sub(shift)) };
        let degree = f64::from(n);
        self.chain(x.powi(n), term(degree, 1), term(degree * (degree - 1.0), 2))
    }
    fn powf(self, p: f64) -> Self {
        let x = self.value;
        let term = |factor: f64, shift: f64| if factor == 0.0 { 0.0 } else { factor * x.powf(p - shift) };
        self.chain(x.powf(p), term(p, 1.0), term(p * (p - 1.0), 2.0))
    }
    fn abs(self) -> Self {
        let slope = if self.value == 0.0 { 0.0 } else { self.value.signum() };
        self.chain(self.value.abs(), slope, 0.0)
    }
    fn sqrt(self) -> Self {
        let root = self.value.sqrt();
        self.chain(root, 0.5 / root, -0.25 / (root * self.value))
    }
    fn exp(self) -> Self {
        let f = self.value.exp();
        self.chain(f, f, f)
    }
    fn ln(self) -> Self {
        let x = self.value;
        self.chain(x.ln(), 1.0 / x, -1.0 / (x * x))
    }
    fn sin(self) -> Self {
        let (sine, cosine) = self.value.sin_cos();
        self.chain(sine, cosine, -sine)
    }
    fn cos(self) -> Self {
        let (sine, cosine) = self.value.sin_cos();
        self.chain(cosine, -sine, -cosine)
    }
    fn tan(self) -> Self {
        let f = self.value.tan();
        let slope = 1.0 + f * f;
        self.chain(f, slope, 2.0 * f * slope)
    }
    fn asin(self) -> Self {
        let x = self.value;
        let square = 1.0 - x * x;
        self.chain(x.asin(), 1.0 / square.sqrt(), x / (square * square.sqrt()))
    }
    fn acos(self) -> Self {
        let x = self.value;
        let square = 1.0 - x * x;
        self.chain(x.acos(), -1.0 / square.sqrt(), -x / (square * square.sqrt()))
    }
    fn atan(self) -> Self {
        let x = self.value;
        let slope = 1.0 / (1.0 + x * x);
        self.chain(x.atan(), slope, -2.0 * x * slope * slope)
    }
    fn sinh(self) -> Self {
        let (f, slope) = (self.value.sinh(), self.value.cosh());
        self.chain(f, slope, f)
    }
    fn cosh(self) -> Self {
        let (f, slope) = (self.value.cosh(), self.value.sinh());
        self.chain(f, slope, f)
    }
    fn tanh(self) -> Self {
        let f = self.value.tanh();
        let slope = 1.0 - f * f;
        self.chain(f, slope, -2.0 * f * slope)
    }
}

/// The memory of second derivatives.
#[derive(Clone, Debug, Default)]
pub(crate) struct SecondMode {
    x: Vec<Curved>,
    c: Vec<Curved>,
}

impl SecondMode {
    /// `sigma * hess f + sum_i y_i * hess c_i`, lower triangle row after row. What has no weight is not evaluated.
    pub(crate) fn hessian(&mut self, formulas: &impl Formulas, x: &[f64], sigma: f64, y: &[f64], values: &mut [f64]) {
        self.x.clear();
        self.x.extend(x.iter().map(|&value| Curved::constant(value)));
        self.c.clear();
        self.c.resize(y.len(), Curved::constant(0.0));
        let weighted = y.iter().any(|&weight| weight != 0.0);
        let mut row_start = 0;
        for row in 0..x.len() {
            self.x[row].first = 1.0;
            for from in (0..=row).step_by(LANES) {
                let columns = from..(from + LANES).min(row + 1);
                self.x[columns.clone()].iter_mut().enumerate().for_each(|(lane, number)| number.others[lane] = 1.0);
                let entries = &mut values[row_start + columns.start..row_start + columns.end];
                entries.fill(0.0);
                if sigma != 0.0 {
                    add(entries, sigma, &formulas.objective(&self.x));
                }
                if weighted {
                    formulas.constraints(&self.x, &mut self.c);
                    y.iter()
                        .zip(&self.c)
                        .filter(|(weight, _)| **weight != 0.0)
                        .for_each(|(weight, c)| add(entries, *weight, c));
                }
                self.x[columns].iter_mut().for_each(|number| number.others = [0.0; LANES]);
            }
            self.x[row].first = 0.0;
            row_start += row + 1;
        }
    }
}

fn add(entries: &mut [f64], weight: f64, number: &Curved) {
    entries.iter_mut().zip(&number.mixed).for_each(|(entry, mixed)| *entry += weight * mixed);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every function of one number, and products, quotients and differences of two.
    fn functions<D: Number>(x: D, y: D) -> Vec<D> {
        let inside = x * 0.3;
        let mut all = vec![x.powi(3), x.powi(-2), x.powi(1), x.powf(1.5), (-x).abs(), x.sqrt(), x.exp(), x.ln(), x.sin()];
        all.extend([x.cos(), x.tan(), inside.asin(), inside.acos(), x.atan(), x.sinh(), x.cosh(), x.tanh()]);
        let mut sum = x / y - y.square() * x;
        sum += x * y;
        sum /= y + 2.0;
        sum -= x;
        sum *= y - 3.0;
        all.extend([sum, D::sum([x * y, y, x / 2.0])]);
        all
    }

    #[test]
    fn second_derivatives_agree_with_differences_of_first_ones() {
        let (x, y, h) = (0.8, 1.3, 1e-5);
        let carry = |value: f64, first: f64, other: f64| {
            let mut number = Curved { first, ..Curved::constant(value) };
            number.others[3] = other;
            number
        };
        // The direction of the first derivative is x; that of the differences x or y.
        for [dx, dy] in [[1.0, 0.0], [0.0, 1.0]] {
            let found = functions(carry(x, 1.0, dx), carry(y, 0.0, dy));
            let slope = |t: f64| functions(carry(x + t * dx, 1.0, 0.0), carry(y + t * dy, 0.0, 0.0));
            let (plus, minus) = (slope(h), slope(-h));
            for (k, number) in found.iter().enumerate() {
                let expected = (plus[k].first - minus[k].first) / (2.0 * h);
                assert!((number.mixed[3] - expected).abs() < 1e-7 * (1.0 + expected.abs()), "{k}: {expected} {number:?}");
            }
            let plain = functions(x, y);
            assert!(found.iter().zip(&plain).all(|(number, value)| (number.value - value).abs() < 1e-15 * (1.0 + value.abs())));
        }
    }
}
