//! The bounds of one variable or one constraint: what every residual is made of.

use crate::{INFINITE, Meta};

/// Two bounds, an absent one infinite.
///
/// What a bound means is said here and nowhere else: [`KktResiduals`](crate::KktResiduals) is made of these few functions in the user's form, and
/// a solver may make its own residuals of them in a form of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lower bound, or minus infinity.
    pub lower: f64,
    /// The upper bound, or infinity.
    pub upper: f64,
}

impl Interval {
    /// Bounds as a user gives them: from 1e20 on they are absent.
    ///
    /// ```
    /// use tangor_problem::Interval;
    ///
    /// let at_most_three = Interval::new(-1e20, 3.0);
    /// assert_eq!((at_most_three.violation(5.0), at_most_three.violation(-1e30)), (2.0, 0.0));
    /// assert!(at_most_three.holds(-1.0) && !at_most_three.holds(1.0), "nothing pushes from below");
    /// ```
    pub fn new(lower: f64, upper: f64) -> Self {
        let given = |bound: f64| if bound.abs() >= INFINITE { f64::INFINITY.copysign(bound) } else { bound };
        Interval { lower: given(lower), upper: given(upper) }
    }

    /// The nearest value that the bounds allow. Not `clamp`, which panics on crossed bounds; a NaN stays one.
    pub fn clip(self, value: f64) -> f64 {
        if value < self.lower {
            self.lower
        } else if value > self.upper {
            self.upper
        } else {
            value
        }
    }

    /// By how much a value violates them: positive above the upper bound, negative below the lower one.
    pub fn violation(self, value: f64) -> f64 {
        value - self.clip(value)
    }

    /// Whether the bound is there that a multiplier asks for: the lower one if it is positive. Equal bounds hold one of either sign; what is not a
    /// number is held, so that it shows.
    pub fn holds(self, multiplier: f64) -> bool {
        self.asked_for(multiplier).is_finite() || self.lower == self.upper || multiplier.is_nan()
    }

    /// |multiplier| times the distance to its bound; equal bounds have none. The multiplier is one that they hold.
    pub fn complementarity(self, value: f64, multiplier: f64) -> f64 {
        if multiplier == 0.0 || self.lower == self.upper {
            return 0.0;
        }
        multiplier.abs() * (value - self.asked_for(multiplier)).abs()
    }

    /// How far a value can go down to its bounds: a slope, cut off there, is a projected one, `x - clip(x - slope)` without its loss of
    /// small slopes at large `x`.
    pub fn ways_down(self, value: f64) -> Interval {
        Interval { lower: value - self.upper, upper: value - self.lower }
    }

    fn asked_for(self, multiplier: f64) -> f64 {
        if multiplier > 0.0 { self.lower } else { self.upper }
    }
}

impl Meta {
    /// The bounds of a constraint.
    pub fn row_bounds(&self, row: usize) -> Interval {
        Interval::new(self.c_lower[row], self.c_upper[row])
    }

    /// The bounds of a variable.
    pub fn variable_bounds(&self, i: usize) -> Interval {
        Interval::new(self.x_lower[i], self.x_upper[i])
    }

    /// By how much each constraint is violated, with its sign, for values of all of them.
    pub fn violations<'a>(&'a self, c: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
        c.iter().enumerate().map(|(row, value)| self.row_bounds(row).violation(*value))
    }
}
