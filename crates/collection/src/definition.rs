use std::ops::{RangeFrom, RangeInclusive, RangeToInclusive};

use tangor_problem::Meta;

pub(crate) const HOCK_SCHITTKOWSKI: &str =
    "W. Hock and K. Schittkowski, Test Examples for Nonlinear Programming Codes, Springer, 1981";
pub(crate) const MORE_GARBOW_HILLSTROM: &str =
    "J. J. Moré, B. S. Garbow and K. E. Hillstrom, Testing unconstrained optimization software, ACM TOMS 7, 1981";
pub(crate) const TANGOR: &str = "written for this collection";

/// Where a variable or a row may lie: `1.0..=2.0`, `1.0..`, `..=2.0`, or one number.
pub(crate) trait Interval {
    /// The lower and the upper bound.
    fn ends(self) -> (f64, f64);
}

impl Interval for f64 {
    fn ends(self) -> (f64, f64) {
        (self, self)
    }
}

impl Interval for RangeInclusive<f64> {
    fn ends(self) -> (f64, f64) {
        self.into_inner()
    }
}

impl Interval for RangeFrom<f64> {
    fn ends(self) -> (f64, f64) {
        (self.start, f64::INFINITY)
    }
}

impl Interval for RangeToInclusive<f64> {
    fn ends(self) -> (f64, f64) {
        (f64::NEG_INFINITY, self.end)
    }
}

impl Interval for std::ops::RangeFull {
    fn ends(self) -> (f64, f64) {
        (f64::NEG_INFINITY, f64::INFINITY)
    }
}

/// A variable: its name, its start and its bounds.
pub(crate) type Variable = (&'static str, f64, (f64, f64));

/// A row: its name and its bounds.
pub(crate) type Row = (&'static str, (f64, f64));

pub(crate) fn meta(name: &str, has_objective: bool, variables: &[Variable], rows: &[Row]) -> Meta {
    let (lower, upper): (Vec<f64>, Vec<f64>) = variables.iter().map(|&(_, _, bounds)| bounds).unzip();
    let (row_lower, row_upper): (Vec<f64>, Vec<f64>) = rows.iter().map(|&(_, bounds)| bounds).unzip();
    let meta = Meta::new(name, variables.iter().map(|&(_, start, _)| start).collect())
        .bounds(&lower, &upper)
        .rows(&row_lower, &row_upper)
        .name_variables(variables.iter().map(|&(name, ..)| name))
        .name_rows(rows.iter().map(|&(name, _)| name));
    if has_objective { meta } else { meta.no_objective() }
}

/// States problems as the literature does.
///
/// ```text
/// NAME, "title", SOURCE, Kind;
/// { x1 = start, x2 = start in lower..=upper }
/// minimise formula;
/// rows { name: formula => lower..; other: formula => value; }
/// known What f = objective, x = [x1, x2], "note";
/// ```
///
/// Bounds, objective, rows, `f` and note may be left out. The formulas are generic, so that their derivatives come from automatic
/// differentiation.
macro_rules! problems {
    ($(
        $name:ident, $title:literal, $source:ident, $kind:ident;
        $variables:tt
        $(minimise $objective:expr;)?
        $(rows { $($row:ident: $value:expr => $interval:expr;)* })?
        known $what:ident $(f = $f:expr,)? x = $x:expr $(, $note:literal)?;
    )*) => {
        /// The problems stated in this file.
        pub(crate) const ENTRIES: &[$crate::Entry] = &[$($crate::Entry {
            name: stringify!($name),
            title: $title,
            source: $source,
            kind: $crate::Kind::$kind,
            known: $crate::Known {
                what: $crate::What::$what,
                objective: optional!($($f)?),
                x: || $x.to_vec(),
                note: concat!($($note)?),
            },
            build: {
                struct Definition;
                #[allow(unused_variables)]
                impl tangor_problem::Formulas for Definition {
                    $(fn objective<D: tangor_problem::Number>(&self, x: &[D]) -> D {
                        match x {
                            pattern!($variables) => $objective,
                            _ => D::from(f64::NAN),
                        }
                    })?
                    $(fn constraints<D: tangor_problem::Number>(&self, x: &[D], c: &mut [D]) {
                        match x {
                            pattern!($variables) => c.iter_mut().zip([$($value),*]).for_each(|(c, value)| *c = value),
                            _ => c.fill(D::from(f64::NAN)),
                        }
                    })?
                }
                || {
                    let rows = [$($((stringify!($row), $crate::definition::Interval::ends($interval))),*)?];
                    let has_objective = !stringify!($($objective)?).is_empty();
                    let meta = $crate::definition::meta(stringify!($name), has_objective, &variables!($variables), &rows);
                    Box::new(tangor_problem::Differentiated::new(meta, Definition))
                }
            },
        }),*];
    };
}

macro_rules! pattern {
    ({ $($x:ident = $start:literal $(in $interval:expr)?),* $(,)? }) => {
        &[$($x),*]
    };
}

macro_rules! variables {
    ({ $($x:ident = $start:literal $(in $interval:expr)?),* $(,)? }) => {
        [$((stringify!($x), $start, interval!($($interval)?))),*]
    };
}

macro_rules! interval {
    () => {
        (f64::NEG_INFINITY, f64::INFINITY)
    };
    ($interval:expr) => {
        $crate::definition::Interval::ends($interval)
    };
}

macro_rules! optional {
    () => {
        None
    };
    ($value:expr) => {
        Some($value)
    };
}
