use std::fmt;

use crate::estimate::{Estimate, Estimator, NOBODY};
use crate::groups::Groups;
use crate::{Evaluation, Failure, Function, Meta, Problem};

/// A derivative may be off by this much of its size, and by the uncertainty of the differences times [`DOUBT`].
const TOLERANCE: f64 = 1e-7;
const DOUBT: f64 = 4.0;

/// Compares the gradient and the Jacobian at `x` with finite differences of the functions.
///
/// Entries that the sparse pattern does not declare are found too, and so are functions that give another value when they are asked
/// again at the same point, such as a simulation whose random numbers do not come from its draws. It takes eight evaluations for each variable; of a sparse
/// Jacobian, columns that share no row are moved together, and one by one only where that shows something wrong. The functions
/// are called inside the bounds only; fixed variables are left out.
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
        let mut objective = |x: &[f64], f: &mut [f64]| problem.objective(x).map(|value| f[0] = value);
        let mut estimator = Estimator::new(&meta, x, 1, &mut objective)?;
        for (column, slope) in g.into_iter().enumerate() {
            check.compare_alone(Function::Gradient, &meta, column, &[(0, slope)], &mut estimator)?;
        }
        check.unsteady.extend(estimator.unsteady()?.into_iter().map(|(_, values)| Unsteady { row: None, values }));
    }
    if meta.m() > 0 {
        let mut values = vec![0.0; meta.jacobian_len()];
        problem.jacobian(x, &mut values)?;
        let given = columns(&meta, &values);
        let mut constraints = |x: &[f64], c: &mut [f64]| problem.constraints(x, c);
        let mut estimator = Estimator::new(&meta, x, meta.m(), &mut constraints)?;
        check.compare_jacobian(&meta, &given, &mut estimator)?;
        let named = |(row, values)| Unsteady { row: Some((row, meta.row_name(row))), values };
        check.unsteady.extend(estimator.unsteady()?.into_iter().map(named));
    }
    check.wrong.sort_by(|a, b| b.excess().total_cmp(&a.excess()));
    Ok(check)
}

/// The declared entries of a column as (row, value).
type Column = Vec<(usize, f64)>;

/// By columns, sorted by rows, an entry named twice added up.
fn columns(meta: &Meta, values: &[f64]) -> Vec<Column> {
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
    /// Functions that gave two values at the point.
    pub unsteady: Vec<Unsteady>,
}

/// A function that gave another value when it was asked again at the same point.
#[derive(Clone, Debug, PartialEq)]
pub struct Unsteady {
    /// The row of the constraints and its name; none for the objective.
    pub row: Option<(usize, String)>,
    /// At first, and again.
    pub values: [f64; 2],
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

impl DerivativeCheck {
    /// Whether nothing is wrong, nothing is missing from the pattern, and every function has one value.
    pub fn is_right(&self) -> bool {
        self.wrong.is_empty() && self.undeclared.is_empty() && self.unsteady.is_empty()
    }

    fn compare_jacobian(&mut self, meta: &Meta, given: &[Column], estimator: &mut Estimator<'_>) -> Evaluation {
        // Columns without declared entries are a group too: none of them should move any row.
        let empty: Vec<usize> = (0..meta.n()).filter(|&column| given[column].is_empty()).collect();
        let groups = Groups::of_columns(meta);
        for group in groups.iter().map(|group| &group.members).chain([&empty]) {
            if group.len() > 1 && self.compare_together(meta, group, given, estimator)? {
                continue;
            }
            for &column in group {
                self.compare_alone(Function::Jacobian, meta, column, &given[column], estimator)?;
            }
        }
        Ok(())
    }

    /// Moves the columns together. False, and nothing is decided, when a row moves that should not or a slope is not right.
    fn compare_together(
        &mut self,
        meta: &Meta,
        group: &[usize],
        given: &[Column],
        estimator: &mut Estimator<'_>,
    ) -> Evaluation<bool> {
        estimator.owner.fill(NOBODY);
        for &column in group {
            given[column].iter().for_each(|&(row, _)| estimator.owner[row] = column);
        }
        estimator.estimate(group)?;
        let mut comparisons = Vec::new();
        for &column in group.iter().filter(|&&column| estimator.is_free(column)) {
            for &(row, value) in &given[column] {
                comparisons.push(comparison(Function::Jacobian, meta, row, column, value, estimator.estimates[row]));
            }
        }
        let right = |comparison: &Comparison| comparison.estimated.is_finite() && comparison.excess() <= 1.0;
        let all_right = !estimator.strayed && comparisons.iter().all(right);
        if all_right {
            comparisons.into_iter().for_each(|comparison| self.take(comparison, true));
        }
        Ok(all_right)
    }

    fn compare_alone(
        &mut self,
        function: Function,
        meta: &Meta,
        column: usize,
        given: &[(usize, f64)],
        estimator: &mut Estimator<'_>,
    ) -> Evaluation {
        if !estimator.is_free(column) {
            return Ok(());
        }
        estimator.owner.fill(column);
        estimator.estimate(&[column])?;
        let mut declared = given.iter().peekable();
        for (row, &estimate) in estimator.estimates.iter().enumerate() {
            let entry = declared.next_if(|entry| entry.0 == row);
            if entry.is_some() || estimate.slope != 0.0 {
                let value = entry.map_or(0.0, |entry| entry.1);
                self.take(comparison(function, meta, row, column, value, estimate), entry.is_some());
            }
        }
        Ok(())
    }

    fn take(&mut self, comparison: Comparison, declared: bool) {
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

fn comparison(function: Function, meta: &Meta, row: usize, column: usize, given: f64, estimate: Estimate) -> Comparison {
    Comparison {
        function,
        row: (function == Function::Jacobian).then(|| (row, meta.row_name(row))),
        column: (column, meta.variable_name(column)),
        given,
        estimated: estimate.slope,
        uncertainty: estimate.uncertainty,
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

impl fmt::Display for Unsteady {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, again] = self.values;
        match &self.row {
            Some((_, name)) => write!(out, "{}, row {name}: ", Function::Constraints)?,
            None => write!(out, "{}: ", Function::Objective)?,
        }
        write!(out, "{first}, and then {again}")
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
        if !self.unsteady.is_empty() {
            write!(out, "\nNot the same when asked again at the same point, with the same draws:")?;
            list(out, &self.unsteady)?;
        }
        if self.undecided > 0 {
            write!(out, "\n{} could not be compared: the functions have no value nearby.", self.undecided)?;
        }
        Ok(())
    }
}

fn list(out: &mut fmt::Formatter<'_>, found: &[impl fmt::Display]) -> fmt::Result {
    const SHOWN: usize = 10;
    for one in found.iter().take(SHOWN) {
        write!(out, "\n  {one}")?;
    }
    match found.len().saturating_sub(SHOWN) {
        0 => Ok(()),
        more => write!(out, "\n  and {more} more"),
    }
}
