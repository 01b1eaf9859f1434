use num_dual::DualSVec64;

use crate::groups::{ColumnGroups, Group};
use crate::{Evaluation, Meta, Number, Problem};

/// How many directions one pass carries: as many as two cache lines hold with the value.
const LANES: usize = 8;

type Dual = DualSVec64<LANES>;

/// The functions of a problem, written once for every kind of number.
///
/// A function that is needed and left out gives NaN, which a solver reports with the function's name.
pub trait Formulas {
    /// `f(x)`
    fn objective<D: Number>(&self, x: &[D]) -> D {
        let _ = x;
        D::from(f64::NAN)
    }

    /// `c(x)`, into `c`
    fn constraints<D: Number>(&self, x: &[D], c: &mut [D]) {
        let _ = x;
        c.fill(D::from(f64::NAN));
    }
}

/// A problem whose derivatives come from its [`Formulas`] by automatic differentiation, exact to rounding.
///
/// ```
/// use tangor_problem::{Differentiated, Formulas, Meta, Number, Problem};
///
/// /// minimise x0 + x1 on the unit circle
/// struct Circle;
///
/// impl Formulas for Circle {
///     fn objective<D: Number>(&self, x: &[D]) -> D {
///         x[0] + x[1]
///     }
///     fn constraints<D: Number>(&self, x: &[D], c: &mut [D]) {
///         c[0] = x[0].square() + x[1].square();
///     }
/// }
///
/// let mut circle = Differentiated::forward(Meta::new("circle", vec![1.0, 0.5]).equalities(&[1.0]), Circle);
/// let mut values = [0.0; 2];
/// circle.jacobian(&[1.0, 0.5], &mut values).unwrap();
/// assert_eq!(values, [2.0, 1.0]);
/// ```
#[derive(Clone, Debug)]
pub struct Differentiated<F> {
    meta: Meta,
    formulas: F,
    groups: ColumnGroups,
    x: Vec<Dual>,
    c: Vec<Dual>,
}

impl<F: Formulas> Differentiated<F> {
    /// Forward mode, 8 directions in a pass: the gradient takes `n / 8` passes, the Jacobian as many as it has groups of
    /// columns without a common row, divided by 8.
    pub fn forward(meta: Meta, formulas: F) -> Self {
        let groups = ColumnGroups::new(&meta);
        let x = vec![Dual::from(0.0); meta.n()];
        let c = vec![Dual::from(0.0); meta.m()];
        Differentiated { meta, formulas, groups, x, c }
    }

    fn place(&mut self, x: &[f64]) {
        for (dual, &value) in self.x.iter_mut().zip(x) {
            *dual = Dual::from(value);
        }
    }
}

impl<F: Formulas> Problem for Differentiated<F> {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn objective(&mut self, x: &[f64]) -> Evaluation<f64> {
        Ok(self.formulas.objective(x))
    }

    fn gradient(&mut self, x: &[f64], g: &mut [f64]) -> Evaluation {
        self.place(x);
        for (pass, chunk) in g.chunks_mut(LANES).enumerate() {
            let columns = pass * LANES..pass * LANES + chunk.len();
            for (lane, dual) in self.x[columns.clone()].iter_mut().enumerate() {
                *dual = dual.derivative(lane);
            }
            let f = self.formulas.objective(&self.x);
            for (lane, slope) in chunk.iter_mut().enumerate() {
                *slope = derivative(&f, lane);
            }
            for dual in &mut self.x[columns] {
                *dual = Dual::from(dual.re);
            }
        }
        Ok(())
    }

    fn constraints(&mut self, x: &[f64], c: &mut [f64]) -> Evaluation {
        self.formulas.constraints(x, c);
        Ok(())
    }

    fn jacobian(&mut self, x: &[f64], values: &mut [f64]) -> Evaluation {
        self.place(x);
        self.groups.clear_repeated(values);
        for chunk in self.groups.groups().chunks(LANES) {
            for (lane, column) in lanes_and_columns(chunk) {
                self.x[column] = self.x[column].derivative(lane);
            }
            self.formulas.constraints(&self.x, &mut self.c);
            for (lane, group) in chunk.iter().enumerate() {
                for entry in &group.entries {
                    values[entry.index] = derivative(&self.c[entry.row], lane);
                }
            }
            for (_, column) in lanes_and_columns(chunk) {
                self.x[column] = Dual::from(self.x[column].re);
            }
        }
        Ok(())
    }
}

fn lanes_and_columns(chunk: &[Group]) -> impl Iterator<Item = (usize, usize)> {
    chunk.iter().enumerate().flat_map(|(lane, group)| group.columns.iter().map(move |&column| (lane, column)))
}

fn derivative(dual: &Dual, lane: usize) -> f64 {
    dual.eps.0.as_ref().map_or(0.0, |eps| eps[lane])
}
