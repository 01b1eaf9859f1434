use std::fmt;

use crate::curvature::SecondMode;
use crate::forward::{ForwardMode, LANES};
use crate::groups::{Groups, longest_row_and_column};
use crate::reverse::ReverseMode;
use crate::{Evaluation, Meta, Number, Pattern, Problem, SecondOrder};

/// The functions of a problem, written once for every kind of number.
///
/// A function that is needed and left out gives NaN, which a solver reports with the function's name.
pub trait Formulas: Send {
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
/// let mut circle = Differentiated::new(Meta::new("circle", vec![1.0, 0.5]).equalities(&[1.0]), Circle);
/// let mut values = [0.0; 2];
/// circle.jacobian(&[1.0, 0.5], &mut values).unwrap();
/// assert_eq!(values, [2.0, 1.0]);
/// ```
///
/// Both modes come from the crate `echidna`. Forward mode carries 8 directions through one evaluation, at the price of about three
/// plain ones. Reverse mode records an evaluation, at the price of about twelve, and then gives a whole gradient for about
/// five. A sparse Jacobian takes one direction for each group of columns that share no row, or one backward reading for each
/// group of rows that share no column.
///
/// Up to 200 variables there are second derivatives as well ([`Problem::second_order`]), all of the lower triangle, by forward
/// mode in two directions at once: 8 entries for the price of about six plain evaluations.
pub struct Differentiated<F> {
    meta: Meta,
    formulas: F,
    gradient_mode: Mode,
    jacobian_mode: Mode,
    groups: Groups,
    forward: ForwardMode,
    reverse: ReverseMode,
    second: SecondMode,
    triangle: Option<Pattern>,
}

/// Up to so many variables there are second derivatives: their price grows with the square.
const MOST_CURVED: usize = 200;

/// The two ways of automatic differentiation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Along with the evaluation, direction by direction: for few variables.
    Forward,
    /// Back from each result to all variables: for many variables and few results.
    Reverse,
}

impl Mode {
    /// The cheaper one, by the prices in plain evaluations that [`Differentiated`] states.
    fn cheaper(directions: usize, results: usize) -> Self {
        let forward = 3 * directions.div_ceil(LANES);
        let reverse = 12 + 5 * results;
        if forward <= reverse { Mode::Forward } else { Mode::Reverse }
    }
}

impl<F: Formulas> Differentiated<F> {
    /// Takes for the gradient and for the Jacobian the mode that is cheaper by the count of passes.
    pub fn new(meta: Meta, formulas: F) -> Self {
        let (longest_row, longest_column) = longest_row_and_column(&meta);
        let gradient = Mode::cheaper(meta.n(), 1);
        let jacobian = Mode::cheaper(longest_row, longest_column);
        Self::with_modes(meta, formulas, [gradient, jacobian])
    }

    /// Forward mode for both derivatives.
    pub fn forward(meta: Meta, formulas: F) -> Self {
        Self::with_modes(meta, formulas, [Mode::Forward; 2])
    }

    /// Reverse mode for both derivatives.
    pub fn reverse(meta: Meta, formulas: F) -> Self {
        Self::with_modes(meta, formulas, [Mode::Reverse; 2])
    }

    fn with_modes(meta: Meta, formulas: F, [gradient_mode, jacobian_mode]: [Mode; 2]) -> Self {
        let groups = match jacobian_mode {
            Mode::Forward => Groups::of_columns(&meta),
            Mode::Reverse => Groups::of_rows(&meta),
        };
        let n = meta.n();
        let triangle = || Pattern::sparse((0..n).flat_map(|row| (0..=row).map(move |column| (row, column))));
        Differentiated {
            triangle: (n <= MOST_CURVED).then(triangle),
            meta,
            formulas,
            gradient_mode,
            jacobian_mode,
            groups,
            forward: ForwardMode::default(),
            reverse: ReverseMode::default(),
            second: SecondMode::default(),
        }
    }

    /// How the gradient and the Jacobian are computed.
    pub fn modes(&self) -> [Mode; 2] {
        [self.gradient_mode, self.jacobian_mode]
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
        match self.gradient_mode {
            Mode::Forward => self.forward.gradient(&self.formulas, x, g),
            Mode::Reverse => self.reverse.gradient(&self.formulas, x, g),
        }
        Ok(())
    }

    fn constraints(&mut self, x: &[f64], c: &mut [f64]) -> Evaluation {
        self.formulas.constraints(x, c);
        Ok(())
    }

    fn jacobian(&mut self, x: &[f64], values: &mut [f64]) -> Evaluation {
        let m = self.meta.m();
        match self.jacobian_mode {
            Mode::Forward => self.forward.jacobian(&self.formulas, &self.groups, m, x, values),
            Mode::Reverse => self.reverse.jacobian(&self.formulas, &self.groups, m, x, values),
        }
        Ok(())
    }

    fn second_order(&mut self) -> Option<&mut dyn SecondOrder> {
        if self.triangle.is_some() { Some(self) } else { None }
    }
}

impl<F: Formulas> SecondOrder for Differentiated<F> {
    fn hessian_pattern(&self) -> &Pattern {
        // Nobody gets here without a triangle: `second_order` lends the problem only with one.
        self.triangle.as_ref().unwrap_or(&Pattern::Dense)
    }

    fn hessian(&mut self, x: &[f64], sigma: f64, y: &[f64], values: &mut [f64]) -> Evaluation {
        self.second.hessian(&self.formulas, x, sigma, y, values);
        Ok(())
    }
}

impl<F> fmt::Debug for Differentiated<F> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let modes = [self.gradient_mode, self.jacobian_mode];
        out.debug_struct("Differentiated").field("meta", &self.meta).field("modes", &modes).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Counted;

    /// One result of every function that a [`Number`] knows, in `x` and `y`.
    struct Everything;

    const POINT: [f64; 2] = [0.3, 0.7];

    impl Formulas for Everything {
        fn objective<D: Number>(&self, x: &[D]) -> D {
            D::sum(x.iter().map(|x| x.square() * 3.0)) - x[0] / x[1]
        }
        fn constraints<D: Number>(&self, x: &[D], c: &mut [D]) {
            let [x, y] = [x[0], x[1]];
            let results = [
                (x * y + 1.0).ln() - 2.0,
                (x / y).exp() / 4.0,
                x.powi(3) + y.powf(2.5),
                x.sqrt() * y.abs(),
                x.sin() * y.cos(),
                x.tan() + y.atan(),
                x.asin() - y.acos(),
                x.sinh() + y.cosh() * x.tanh(),
                -y,
                D::from(5.0),
                x.max(y) * 3.0 + x.min(D::from(0.5)),
            ];
            c.copy_from_slice(&results);
        }
    }

    /// The same by hand.
    fn slopes() -> [[f64; 2]; 11] {
        let [x, y] = POINT;
        let (product, quotient) = (x * y + 1.0, (x / y).exp() / 4.0);
        [
            [y / product, x / product],
            [quotient / y, -quotient * x / (y * y)],
            [3.0 * x * x, 2.5 * y.powf(1.5)],
            [y * 0.5 / x.sqrt(), x.sqrt()],
            [x.cos() * y.cos(), -x.sin() * y.sin()],
            [1.0 / x.cos().powi(2), 1.0 / (1.0 + y * y)],
            [1.0 / (1.0 - x * x).sqrt(), 1.0 / (1.0 - y * y).sqrt()],
            [x.cosh() + y.cosh() / x.cosh().powi(2), y.sinh() * x.tanh()],
            [0.0, -1.0],
            [0.0, 0.0],
            [1.0, 3.0],
        ]
    }

    fn close(found: &[f64], expected: &[f64]) {
        for (k, (a, b)) in found.iter().zip(expected).enumerate() {
            assert!((a - b).abs() <= 4e-16 * b.abs().max(1.0), "value {k}: {a}, not {b}");
        }
    }

    #[test]
    fn both_modes_give_the_derivatives_of_every_function() {
        let meta = Meta::new("everything", POINT.to_vec()).equalities(&[0.0; 11]);
        for mut problem in [Differentiated::forward(meta.clone(), Everything), Differentiated::reverse(meta, Everything)] {
            let (mut g, mut values) = ([0.0; 2], [0.0; 22]);
            for _ in 0..2 {
                problem.gradient(&POINT, &mut g).unwrap();
                problem.jacobian(&POINT, &mut values).unwrap();
            }
            let [x, y] = POINT;
            close(&g, &[6.0 * x - 1.0 / y, 6.0 * y + x / (y * y)]);
            close(&values, slopes().as_flattened());
        }
    }

    /// c_i = x_i^2 x_{i+1}, with one entry named twice.
    struct Band;

    impl Formulas for Band {
        fn objective<D: Number>(&self, x: &[D]) -> D {
            D::sum(x.iter().map(|x| x.powi(3)))
        }
        fn constraints<D: Number>(&self, x: &[D], c: &mut [D]) {
            for (c, x) in c.iter_mut().zip(x.windows(2)) {
                *c = x[0].square() * x[1];
            }
        }
    }

    #[test]
    fn sparse_jacobians_agree_with_the_formula() {
        let n = 100;
        let entries = (0..n - 1).flat_map(|i| [(i, i + 1), (i, i)]).chain([(0, 0)]);
        let x: Vec<f64> = (0..n).map(|i| (i as f64).cos()).collect();
        let meta = Meta::new("band", x.clone()).equalities(&[0.0; 99]).sparse(entries);
        let automatic = Differentiated::new(meta.clone(), Band);
        assert_eq!(automatic.modes(), [Mode::Reverse, Mode::Forward]);
        for mut problem in [automatic, Differentiated::forward(meta.clone(), Band), Differentiated::reverse(meta, Band)] {
            let (mut g, mut values) = (vec![0.0; 100], vec![7.0; 199]);
            problem.gradient(&x, &mut g).unwrap();
            problem.jacobian(&x, &mut values).unwrap();
            close(&g, &x.iter().map(|x| 3.0 * x * x).collect::<Vec<_>>());
            let mut expected: Vec<f64> = x.windows(2).flat_map(|x| [x[0] * x[0], 2.0 * x[0] * x[1]]).collect();
            expected.push(0.0);
            close(&values, &expected);
        }
    }

    #[test]
    fn a_dense_jacobian_with_few_rows_is_read_backwards() {
        let many = Meta::new("many", vec![0.0; 1000]).equalities(&[0.0]);
        assert_eq!(Differentiated::new(many, Band).modes(), [Mode::Reverse, Mode::Reverse]);
        let few = Meta::new("few", vec![0.0; 3]).equalities(&[0.0; 2]);
        assert_eq!(Differentiated::new(few, Band).modes(), [Mode::Forward, Mode::Forward]);
    }

    /// x^4 on every thread, and a panic below zero.
    struct Quartic;

    impl Formulas for Quartic {
        fn objective<D: Number>(&self, x: &[D]) -> D {
            assert!(x[0].value() >= 0.0, "no negative numbers, please");
            x[0].square().square()
        }
    }

    #[test]
    fn threads_do_not_meet_and_a_panic_leaves_nothing_behind() {
        let slope_on_thread = |i: u32| {
            let mut problem = Counted::new(Differentiated::reverse(Meta::new("quartic", vec![1.0]), Quartic));
            let (mut g, x) = ([0.0], f64::from(i));
            for _ in 0..10 {
                let failure = problem.gradient(&[-1.0], &mut g).unwrap_err();
                assert_eq!(failure.to_string(), "the function panicked: no negative numbers, please");
                problem.gradient(&[x], &mut g).unwrap();
                assert_eq!(g[0], 4.0 * x * x * x);
            }
        };
        std::thread::scope(|scope| (1..=4).for_each(|i| drop(scope.spawn(move || slope_on_thread(i)))));
    }

    #[test]
    fn a_missing_formula_is_not_a_number() {
        struct Nothing;
        impl Formulas for Nothing {}
        let mut problem = Differentiated::new(Meta::new("nothing", vec![0.0]).equalities(&[0.0]), Nothing);
        let mut c = [0.0];
        problem.constraints(&[1.0], &mut c).unwrap();
        assert!(problem.objective(&[1.0]).unwrap().is_nan() && c[0].is_nan());
    }
}
