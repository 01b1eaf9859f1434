use std::sync::Arc;

use crate::evaluation::evaluate_separately;
use crate::{Evaluation, FunctionFailure, Meta, Outputs, Pattern, Wanted};

/// A problem `minimise f(x) subject to cl <= c(x) <= cu, xl <= x <= xu`, or `maximise f(x)` where [`Meta::maximise`] says so.
///
/// Whatever the sense, the functions here are the user's own: nobody but a solver turns a sign. A problem may move to another
/// thread, hence `Send`.
///
/// Functions write into slices that the caller owns. A value that does not exist may be given as NaN, as infinity or as
/// [`Failure::Undefined`](crate::Failure::Undefined); anything else that goes wrong is
/// [`Failure::Broken`](crate::Failure::Broken).
///
/// ```
/// use tangor_problem::{Evaluation, Meta, Problem};
///
/// /// minimise x0 + x1 on the unit circle
/// struct Circle(Meta);
///
/// impl Problem for Circle {
///     fn meta(&self) -> &Meta {
///         &self.0
///     }
///     fn objective(&mut self, x: &[f64]) -> Evaluation<f64> {
///         Ok(x[0] + x[1])
///     }
///     fn gradient(&mut self, _x: &[f64], g: &mut [f64]) -> Evaluation {
///         g.copy_from_slice(&[1.0, 1.0]);
///         Ok(())
///     }
///     fn constraints(&mut self, x: &[f64], c: &mut [f64]) -> Evaluation {
///         c[0] = x[0] * x[0] + x[1] * x[1];
///         Ok(())
///     }
///     fn jacobian(&mut self, x: &[f64], values: &mut [f64]) -> Evaluation {
///         values.copy_from_slice(&[2.0 * x[0], 2.0 * x[1]]);
///         Ok(())
///     }
/// }
///
/// let mut circle = Circle(Meta::new("circle", vec![1.0, 0.5]).equalities(&[1.0]));
/// assert_eq!(circle.objective(&[1.0, 0.5]).unwrap(), 1.5);
/// ```
pub trait Problem: Send {
    /// Sizes, bounds, names, start and pattern. It must not change during a run.
    fn meta(&self) -> &Meta;

    /// `f(x)`. Never called when [`Meta::has_objective`] is false.
    fn objective(&mut self, x: &[f64]) -> Evaluation<f64>;

    /// The gradient of `f`, into `g` of length `n`. Never called when [`Meta::has_objective`] is false.
    fn gradient(&mut self, x: &[f64], g: &mut [f64]) -> Evaluation;

    /// `c(x)`, into `c` of length `m`. Never called when there are no constraints.
    fn constraints(&mut self, x: &[f64], c: &mut [f64]) -> Evaluation;

    /// The Jacobian of `c`, in the order of [`Meta::jacobian`]. Never called when there are no constraints.
    fn jacobian(&mut self, x: &[f64], values: &mut [f64]) -> Evaluation;

    /// The functions that are wanted, all at one point, with the same values as one after the other; a problem that computes them
    /// in one pass does so here. What the problem does not have (no objective, no constraints) is left alone.
    ///
    /// A failure comes with the function that failed; the slices then hold anything. A solver asks for values first and for
    /// derivatives at the same point later, if it stays there: it pays to keep what was computed for the last `x`.
    fn evaluate(&mut self, x: &[f64], wanted: Wanted, out: &mut Outputs<'_>) -> Result<(), FunctionFailure> {
        evaluate_separately(self, x, wanted, out)
    }

    /// The problem with its second derivatives, if it has them.
    fn second_order(&mut self) -> Option<&mut dyn SecondOrder> {
        None
    }

    /// Lets the caller write another point into memory at which functions look. Where they hand it on without a copy, as to arrays of another
    /// language, the problem holds a share of it, and puts other memory there first if somebody still looks at the point before.
    fn place(&mut self, x: &mut Arc<Vec<f64>>, write: &mut dyn FnMut(&mut [f64])) {
        write(Arc::make_mut(x).as_mut_slice());
    }
}

/// A problem that also knows second derivatives; [`Problem::second_order`] lends it to who asks.
pub trait SecondOrder: Problem {
    /// Where the lower triangle of the Hessian of the Lagrangian has its entries.
    fn hessian_pattern(&self) -> &Pattern;

    /// `sigma * hess f(x) + sum_i y_i * hess c_i(x)` of the user's own functions, lower triangle, in the order of the pattern.
    fn hessian(&mut self, x: &[f64], sigma: f64, y: &[f64], values: &mut [f64]) -> Evaluation;
}

/// What leads to a problem is one.
macro_rules! is_a_problem {
    ($($way:ty),*) => {$(
        impl<P: Problem + ?Sized> Problem for $way {
            fn meta(&self) -> &Meta {
                (**self).meta()
            }
            fn objective(&mut self, x: &[f64]) -> Evaluation<f64> {
                (**self).objective(x)
            }
            fn gradient(&mut self, x: &[f64], g: &mut [f64]) -> Evaluation {
                (**self).gradient(x, g)
            }
            fn constraints(&mut self, x: &[f64], c: &mut [f64]) -> Evaluation {
                (**self).constraints(x, c)
            }
            fn jacobian(&mut self, x: &[f64], values: &mut [f64]) -> Evaluation {
                (**self).jacobian(x, values)
            }
            fn evaluate(&mut self, x: &[f64], wanted: Wanted, out: &mut Outputs<'_>) -> Result<(), FunctionFailure> {
                (**self).evaluate(x, wanted, out)
            }
            fn second_order(&mut self) -> Option<&mut dyn SecondOrder> {
                (**self).second_order()
            }
            fn place(&mut self, x: &mut Arc<Vec<f64>>, write: &mut dyn FnMut(&mut [f64])) {
                (**self).place(x, write);
            }
        }
    )*};
}

is_a_problem!(&mut P, Box<P>);
