//! Compares the derivatives that a file codes with those by differentiation.

use std::fmt;

use serde::{Deserialize, Serialize};
use tangor_problem::{Evaluation, Failure, Problem};

use crate::error::SifError;
use crate::fortran::{Compiled, Derivatives};
use crate::group_table::{GroupTable, Scratch, TRIVIAL};
use crate::options::Options;
use crate::problem::SifProblem;

/// A derivative that the file codes differently from what differentiation gives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// `element` or `group`.
    pub what: String,
    /// Its name.
    pub name: String,
    /// Which derivative: one number for the gradient, two for the Hessian, counted from 1 in the order of the type.
    pub derivative: Vec<usize>,
    /// As the file codes it.
    pub coded: f64,
    /// By differentiation.
    pub automatic: f64,
}

impl fmt::Display for Difference {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { what, name, derivative, coded, automatic } = self;
        write!(out, "{what} {name}: derivative {derivative:?} is coded as {coded}, differentiation gives {automatic}")
    }
}

/// Compares at `x` (the start if there is none) all derivatives of all elements and groups that the problem uses; those that
/// differ by more than `tolerance`, relative to the largest derivative of the same order, come back.
pub fn check(
    text: &str,
    file: &str,
    options: &Options,
    x: Option<&[f64]>,
    tolerance: f64,
) -> Result<Vec<Difference>, SifError> {
    let coded = crate::parse(text, file, &options.clone().derivatives(Derivatives::Coded))?;
    let automatic = crate::parse(text, file, &options.clone().derivatives(Derivatives::Automatic))?;
    let whole = |message: String| SifError { file: file.to_string(), line: 0, column: 0, message };
    let x = x.unwrap_or(&coded.meta().x0);
    if x.len() != coded.meta().n() {
        return Err(whole(format!("the point has {} numbers, but the problem has {} variables", x.len(), coded.meta().n())));
    }
    compare(&coded, &automatic, x, tolerance).map_err(|failure| whole(format!("the functions have no value here: {failure}")))
}

fn compare(coded: &SifProblem, automatic: &SifProblem, x: &[f64], tolerance: f64) -> Evaluation<Vec<Difference>> {
    let mut differences = Vec::new();
    let tables =
        [(&coded.objective.table, &automatic.objective.table), (&coded.constraints.table, &automatic.constraints.table)];
    for (coded, automatic) in tables {
        let mut scratch = [coded, automatic].map(|table| Scratch::new(&table.functions, table.widest().max(1)));
        let mut values = vec![0.0; coded.elements()];
        for (element, value) in values.iter_mut().enumerate() {
            let left = element_derivatives(coded, element, x, &mut scratch[0])?;
            let right = element_derivatives(automatic, element, x, &mut scratch[1])?;
            *value = left.value;
            report(&left, &right, tolerance, "element", coded.element_name(element), &mut differences);
        }
        for row in (0..coded.rows()).filter(|&row| coded.group_type[row] != TRIVIAL) {
            let alpha = coded.argument(row, x, &values);
            let left = group_derivatives(coded, row, alpha, &mut scratch[0])?;
            let right = group_derivatives(automatic, row, alpha, &mut scratch[1])?;
            report(&left, &right, tolerance, "group", coded.row_name(row), &mut differences);
        }
    }
    Ok(differences)
}

struct Derived {
    value: f64,
    gradient: Vec<f64>,
    hessian: Vec<f64>,
}

fn element_derivatives(table: &GroupTable, element: usize, x: &[f64], scratch: &mut Scratch) -> Evaluation<Derived> {
    let (function, n, parameters) = table.element(element, x, scratch);
    let result = derive(function, &scratch.variables[..n], parameters, &mut scratch.element_work);
    table.blame_element(element, result)
}

fn group_derivatives(table: &GroupTable, row: usize, alpha: f64, scratch: &mut Scratch) -> Evaluation<Derived> {
    let function = &table.functions.group_types[table.group_type[row] as usize];
    table.blame_row(row, derive(function, &[alpha], table.parameters_of_row(row), &mut scratch.group_work))
}

fn derive(function: &Compiled, variables: &[f64], parameters: &[f64], work: &mut [f64]) -> Result<Derived, Failure> {
    let n = variables.len();
    let (mut gradient, mut hessian) = (vec![0.0; n], vec![0.0; n * (n + 1) / 2]);
    let value = function.hessian(variables, parameters, work, &mut gradient, &mut hessian)?;
    Ok(Derived { value, gradient, hessian })
}

fn report(left: &Derived, right: &Derived, tolerance: f64, what: &str, name: &str, differences: &mut Vec<Difference>) {
    let mut add = |derivative: Vec<usize>, coded: f64, automatic: f64, scale: f64| {
        // A NaN on one side only is a difference.
        let same = coded == automatic || (coded.is_nan() && automatic.is_nan());
        let close = (coded - automatic).abs() <= tolerance * scale;
        if !same && !close {
            differences.push(Difference { what: what.to_string(), name: name.to_string(), derivative, coded, automatic });
        }
    };
    let scale = largest(&left.gradient, &right.gradient);
    for (i, (&coded, &automatic)) in left.gradient.iter().zip(&right.gradient).enumerate() {
        add(vec![i + 1], coded, automatic, scale);
    }
    let scale = largest(&left.hessian, &right.hessian);
    let places = (0..left.gradient.len()).flat_map(|i| (0..=i).map(move |j| vec![i + 1, j + 1]));
    for ((place, &coded), &automatic) in places.zip(&left.hessian).zip(&right.hessian) {
        add(place, coded, automatic, scale);
    }
}

fn largest(left: &[f64], right: &[f64]) -> f64 {
    left.iter().chain(right).filter(|entry| entry.is_finite()).fold(0.0, |largest, entry| entry.abs().max(largest))
}
