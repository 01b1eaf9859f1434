use std::fmt;

use crate::differences::Stencil;
use crate::{Evaluation, Failure, Function, Meta, Problem};

/// Differences are taken with these steps, relative to the variable; the pair that agrees best is believed.
const RELATIVE_STEPS: [f64; 4] = [1.0 / 256.0, 1.0 / 2048.0, 1.0 / 16384.0, 1.0 / 131072.0];

/// A derivative may be off by this much of its size, and by the uncertainty of the differences times [`DOUBT`].
const TOLERANCE: f64 = 1e-7;
const DOUBT: f64 = 4.0;

/// Compares the gradient and the Jacobian at `x` with finite differences of the functions.
///
/// Every column is moved alone, so that entries which the sparse pattern does not declare are found too: it takes eight
/// evaluations for each variable. The functions are called inside the bounds only; fixed variables are left out.
///
/// ```
/// use tangor_problem::{ClosureProblem, Meta, check_derivatives};
///
/// let mut circle = ClosureProblem::builder(Meta::new("circle", vec![1.0, 0.5]).equalities(&[1.0]).name_rows(["radius"]))
///     .objective(|x| x[0] + x[1])
///     .gradient(|_, g| g.fill(1.0))
///     .constraints(|x, c| c[0] = x[0] * x[0] + x[1] * x[1])
///     .jacobian(|x, values| values.copy_from_slice(&[2.0 * x[0], 3.0 * x[1]]))
///     .build()?;
/// let check = check_derivatives(&mut circle, &[1.0, 0.5])?;
/// assert!(!check.is_right());
/// assert_eq!(check.wrong[0].to_string(), "Jacobian of the constraints, row radius, column x[1]: given 1.5, differences give 1");
/// # Ok::<(), tangor_problem::Failure>(())
/// ```
pub fn check_derivatives<P: Problem + ?Sized>(problem: &mut P, x: &[f64]) -> Evaluation<DerivativeCheck> {
    let meta = problem.meta().clone();
    meta.validate()?;
    if x.len() != meta.n() {
        let message = format!("the point to check has {} entries, but the problem has {} variables", x.len(), meta.n());
        return Err(Failure::broken(message));
    }
    let mut check = DerivativeCheck::default();
    if meta.has_objective {
        let mut g = vec![0.0; meta.n()];
        problem.gradient(x, &mut g)?;
        let given = g.into_iter().map(|slope| vec![(0, slope)]).collect();
        let mut objective = |x: &[f64], f: &mut [f64]| problem.objective(x).map(|value| f[0] = value);
        check.compare(Function::Gradient, &meta, x, 1, given, &mut objective)?;
    }
    if meta.m() > 0 {
        let mut values = vec![0.0; meta.jacobian_len()];
        problem.jacobian(x, &mut values)?;
        let given = columns(&meta, &values);
        let mut constraints = |x: &[f64], c: &mut [f64]| problem.constraints(x, c);
        check.compare(Function::Jacobian, &meta, x, meta.m(), given, &mut constraints)?;
    }
    check.wrong.sort_by(|a, b| b.excess().total_cmp(&a.excess()));
    Ok(check)
}

/// The declared entries of each column as (row, value), an entry named twice added up.
fn columns(meta: &Meta, values: &[f64]) -> Vec<Vec<(usize, f64)>> {
    let mut columns = vec![Vec::new(); meta.n()];
    for (k, &value) in values.iter().enumerate() {
        let (row, column) = meta.jacobian.place(k, meta.n());
        columns[column].push((row, value));
    }
    for column in &mut columns {
        column.sort_by_key(|&(row, _)| row);
        column.dedup_by(|repeated, first| {
            let same = repeated.0 == first.0;
            if same {
                first.1 += repeated.1;
            }
            same
        });
    }
    columns
}

/// What [`check_derivatives`] found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DerivativeCheck {
    /// How many derivatives were compared.
    pub compared: usize,
    /// How many could not be: the function has no value nearby.
    pub undecided: usize,
    /// The comparison that is closest to wrong, or the worst of the wrong ones.
    pub worst: Option<Comparison>,
    /// Derivatives that are wrong, the worst first.
    pub wrong: Vec<Comparison>,
    /// Places that the sparse pattern does not declare, although the row depends on the column there.
    pub undeclared: Vec<Comparison>,
}

/// A derivative as it was given and as differences estimate it.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The gradient or the Jacobian.
    pub function: Function,
    /// The row of the Jacobian and its name.
    pub row: Option<(usize, String)>,
    /// The variable and its name.
    pub column: (usize, String),
    /// What the problem gives; 0 for an entry that is not declared.
    pub given: f64,
    /// What differences give.
    pub estimated: f64,
    /// How far the estimate may be off.
    pub uncertainty: f64,
}

impl Comparison {
    /// The disagreement in units of what is allowed: above 1 the derivative is wrong. A value that is not finite is infinitely so.
    pub fn excess(&self) -> f64 {
        let error = (self.given - self.estimated).abs();
        let allowed = TOLERANCE * self.given.abs().max(self.estimated.abs()) + DOUBT * self.uncertainty;
        match (error.is_finite(), error == 0.0) {
            (false, _) => f64::INFINITY,
            (true, true) => 0.0,
            (true, false) => error / allowed,
        }
    }
}

type Values<'a> = &'a mut dyn FnMut(&[f64], &mut [f64]) -> Evaluation;

impl DerivativeCheck {
    /// Whether nothing is wrong and nothing is missing from the pattern.
    pub fn is_right(&self) -> bool {
        self.wrong.is_empty() && self.undeclared.is_empty()
    }

    fn compare(
        &mut self,
        function: Function,
        meta: &Meta,
        x: &[f64],
        rows: usize,
        given: Vec<Vec<(usize, f64)>>,
        values: Values<'_>,
    ) -> Evaluation {
        let mut estimator = Estimator::new(meta, x, rows, values)?;
        for (column, entries) in given.into_iter().enumerate() {
            if !estimator.estimate(column)? {
                continue;
            }
            let mut declared = entries.into_iter().peekable();
            for (row, estimate) in estimator.estimates.iter().enumerate() {
                let entry = declared.next_if(|&(declared_row, _)| declared_row == row);
                if entry.is_none() && estimate.slope == 0.0 {
                    continue;
                }
                let row = (function == Function::Jacobian).then(|| (row, meta.row_name(row)));
                let comparison = Comparison {
                    function,
                    row,
                    column: (column, meta.variable_name(column)),
                    given: entry.map_or(0.0, |(_, value)| value),
                    estimated: estimate.slope,
                    uncertainty: estimate.uncertainty,
                };
                self.judge(comparison, entry.is_some());
            }
        }
        Ok(())
    }

    fn judge(&mut self, comparison: Comparison, declared: bool) {
        let decided = comparison.estimated.is_finite();
        let excess = comparison.excess();
        match (declared, decided) {
            (true, false) => return self.undecided += 1,
            (false, false) => return,
            (false, true) => {
                return if excess > 1.0 {
                    self.undeclared.push(comparison)
                };
            }
            (true, true) => self.compared += 1,
        }
        if self.worst.as_ref().is_none_or(|worst| excess > worst.excess()) {
            self.worst = Some(comparison.clone());
        }
        if excess > 1.0 {
            self.wrong.push(comparison);
        }
    }
}

#[derive(Clone, Copy)]
struct Estimate {
    slope: f64,
    uncertainty: f64,
}

/// Slopes of all rows along one variable at a time.
struct Estimator<'a> {
    meta: &'a Meta,
    x: &'a [f64],
    values: Values<'a>,
    probe: Vec<f64>,
    centre: Vec<f64>,
    at: [Vec<f64>; 2],
    previous: Vec<f64>,
    estimates: Vec<Estimate>,
}

impl<'a> Estimator<'a> {
    fn new(meta: &'a Meta, x: &'a [f64], rows: usize, values: Values<'a>) -> Evaluation<Self> {
        let zeros = vec![0.0; rows];
        let mut centre = zeros.clone();
        values(x, &mut centre)?;
        let at = [zeros.clone(), zeros.clone()];
        let estimates = vec![Estimate { slope: 0.0, uncertainty: 0.0 }; rows];
        Ok(Estimator { meta, x, values, probe: x.to_vec(), centre, at, previous: zeros, estimates })
    }

    /// False when the variable is fixed.
    fn estimate(&mut self, column: usize) -> Evaluation<bool> {
        let (x, lower, upper) = (self.x[column], self.meta.x_lower[column], self.meta.x_upper[column]);
        // In a narrow box all steps shrink alike, so that two of them still tell how good they are.
        let fitting = (x - lower).max(upper - x) / (2.0 * x.abs().max(1.0));
        let shrink = if fitting > 0.0 { (fitting / RELATIVE_STEPS[0]).min(1.0) } else { 1.0 };
        self.estimates.fill(Estimate { slope: f64::NAN, uncertainty: f64::INFINITY });
        self.previous.fill(f64::NAN);
        for relative_step in RELATIVE_STEPS {
            let Some(stencil) = Stencil::new(x, lower, upper, relative_step * shrink) else { return Ok(false) };
            self.evaluate(column, stencil)?;
            self.take_better(stencil);
        }
        Ok(true)
    }

    fn evaluate(&mut self, column: usize, stencil: Stencil) -> Evaluation {
        for (values, point) in self.at.iter_mut().zip(stencil.points) {
            self.probe[column] = point;
            match (self.values)(&self.probe, values) {
                Err(Failure::Undefined(_)) => values.fill(f64::NAN),
                other => other?,
            }
        }
        self.probe[column] = self.x[column];
        Ok(())
    }

    /// A slope is as uncertain as it differs from that of the larger step, and as rounding makes it.
    fn take_better(&mut self, stencil: Stencil) {
        for (row, estimate) in self.estimates.iter_mut().enumerate() {
            let (centre, at) = (self.centre[row], [self.at[0][row], self.at[1][row]]);
            let slope = stencil.slope(centre, at);
            let uncertainty = (slope - self.previous[row]).abs() + stencil.rounding(centre, at);
            if uncertainty < estimate.uncertainty {
                *estimate = Estimate { slope, uncertainty };
            }
            self.previous[row] = slope;
        }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}, ", self.function)?;
        if let Some((_, row)) = &self.row {
            write!(out, "row {row}, ")?;
        }
        // The digits that the uncertainty leaves.
        let trusted = (self.estimated.abs() / self.uncertainty).log10().clamp(1.0, 12.0);
        let digits = if trusted.is_nan() { 12 } else { trusted as usize };
        let estimated = rounded(self.estimated, digits);
        write!(out, "column {}: given {}, differences give {estimated}", self.column.1, self.given)
    }
}

/// Rounded to so many significant digits.
fn rounded(value: f64, digits: usize) -> f64 {
    format!("{value:.*e}", digits.saturating_sub(1)).parse().unwrap_or(value)
}

impl fmt::Display for DerivativeCheck {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.wrong.len(), self.compared) {
            (_, 0) => write!(out, "There was nothing to compare.")?,
            (0, all) => write!(out, "All {all} derivatives agree with differences.")?,
            (wrong, all) => write!(out, "{wrong} of {all} derivatives are wrong, the worst first:")?,
        }
        list(out, &self.wrong)?;
        if !self.undeclared.is_empty() {
            write!(out, "\nNot zero, but missing from the sparse pattern:")?;
            list(out, &self.undeclared)?;
        }
        if self.undecided > 0 {
            write!(out, "\n{} could not be compared: the functions have no value nearby.", self.undecided)?;
        }
        Ok(())
    }
}

fn list(out: &mut fmt::Formatter<'_>, comparisons: &[Comparison]) -> fmt::Result {
    const SHOWN: usize = 10;
    for comparison in comparisons.iter().take(SHOWN) {
        write!(out, "\n  {comparison}")?;
    }
    match comparisons.len().saturating_sub(SHOWN) {
        0 => Ok(()),
        more => write!(out, "\n  and {more} more"),
    }
}
