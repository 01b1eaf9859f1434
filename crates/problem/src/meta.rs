use crate::Pattern;

/// A bound at least this large means that there is none, as CUTEst has it.
pub const INFINITE: f64 = 1e20;

/// The plain data of a problem: all but its functions.
///
/// ```
/// use tangor_problem::Meta;
///
/// // 1 <= x <= 5, a product of at least 25, a sum of squares of 40
/// let meta = Meta::new("HS71", vec![1.0, 5.0, 5.0, 1.0])
///     .bounds(&[1.0; 4], &[5.0; 4])
///     .at_least(&[25.0])
///     .equalities(&[40.0])
///     .name_rows(["product", "sphere"]);
/// assert_eq!((meta.n(), meta.m()), (4, 2));
/// assert!(meta.validate().is_ok());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Meta {
    /// What to call it.
    pub name: String,
    /// Where to start; it may lie outside the bounds and is then projected into them.
    pub x0: Vec<f64>,
    /// Lower bounds on the variables; `-inf` for none.
    pub x_lower: Vec<f64>,
    /// Upper bounds on the variables; `inf` for none.
    pub x_upper: Vec<f64>,
    /// Lower bounds on the constraints.
    pub c_lower: Vec<f64>,
    /// Upper bounds on the constraints; equal to the lower one for an equality.
    pub c_upper: Vec<f64>,
    /// Where the Jacobian has its entries.
    pub jacobian: Pattern,
    /// False: there is nothing to minimise, only constraints to satisfy.
    pub has_objective: bool,
    /// True: the objective is to be as large as possible.
    ///
    /// Whoever states a problem gives its own `f` and the derivatives of `f`, never those of `-f`, and reads its own values: the
    /// solver turns the sign inside and turns it back in all that it reports. Multipliers satisfy `grad f + J^T y = mu` for the
    /// user's `f` in either sense, so that `-y` is the slope of the optimal value by the right-hand side; in a maximisation
    /// their signs are opposite to those of a minimisation.
    pub maximise: bool,
    /// Names of the variables, or empty.
    pub variable_names: Vec<String>,
    /// Names of the constraints, or empty.
    pub row_names: Vec<String>,
    /// For each constraint whether it is linear, or empty when nobody knows.
    pub linear_rows: Vec<bool>,
    /// Bytes that the problem itself holds in memory, as far as it says so: data, for instance. What a run may allocate is what they leave.
    pub held: u64,
}

impl Meta {
    /// A problem in `x0.len()` variables without bounds and without constraints.
    pub fn new(name: impl Into<String>, x0: Vec<f64>) -> Self {
        let n = x0.len();
        Meta {
            name: name.into(),
            x0,
            x_lower: vec![f64::NEG_INFINITY; n],
            x_upper: vec![f64::INFINITY; n],
            c_lower: Vec::new(),
            c_upper: Vec::new(),
            jacobian: Pattern::Dense,
            has_objective: true,
            maximise: false,
            variable_names: Vec::new(),
            row_names: Vec::new(),
            linear_rows: Vec::new(),
            held: 0,
        }
    }

    /// Sets the bounds `lower <= x <= upper`.
    pub fn bounds(mut self, lower: &[f64], upper: &[f64]) -> Self {
        self.x_lower = lower.to_vec();
        self.x_upper = upper.to_vec();
        self
    }

    /// Adds rows `lower <= c(x) <= upper` after those that are there.
    pub fn rows(mut self, lower: &[f64], upper: &[f64]) -> Self {
        self.c_lower.extend_from_slice(lower);
        self.c_upper.extend_from_slice(upper);
        self
    }

    /// Adds rows `c(x) = value` after those that are there.
    pub fn equalities(self, values: &[f64]) -> Self {
        self.rows(values, values)
    }

    /// Adds rows `c(x) >= lower`.
    pub fn at_least(self, lower: &[f64]) -> Self {
        self.rows(lower, &vec![f64::INFINITY; lower.len()])
    }

    /// Adds rows `c(x) <= upper`.
    pub fn at_most(self, upper: &[f64]) -> Self {
        self.rows(&vec![f64::NEG_INFINITY; upper.len()], upper)
    }

    /// Declares the Jacobian sparse, with entries at these places (row, column).
    pub fn sparse(mut self, entries: impl IntoIterator<Item = (usize, usize)>) -> Self {
        self.jacobian = Pattern::sparse(entries);
        self
    }

    /// Declares that there is no objective.
    pub fn no_objective(mut self) -> Self {
        self.has_objective = false;
        self
    }

    /// Declares that the objective is to be maximised.
    pub fn maximise(mut self) -> Self {
        self.maximise = true;
        self
    }

    /// `1` for a minimisation, `-1` for a maximisation: a method that minimises works on this multiple of the objective.
    pub fn sense(&self) -> f64 {
        if self.maximise { -1.0 } else { 1.0 }
    }

    /// Names the variables.
    pub fn name_variables<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.variable_names = names.into_iter().map(Into::into).collect();
        self
    }

    /// Names the constraints.
    pub fn name_rows<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.row_names = names.into_iter().map(Into::into).collect();
        self
    }

    /// The number of variables.
    pub fn n(&self) -> usize {
        self.x0.len()
    }

    /// The number of constraints.
    pub fn m(&self) -> usize {
        self.c_lower.len()
    }

    /// How many values the Jacobian has.
    pub fn jacobian_len(&self) -> usize {
        self.jacobian.len(self.m(), self.n())
    }

    /// The name of variable `i`: the given one, or `x[i]`.
    pub fn variable_name(&self, i: usize) -> String {
        self.variable_names.get(i).cloned().unwrap_or_else(|| format!("x[{i}]"))
    }

    /// The name of constraint `i`: the given one, or `c[i]`.
    pub fn row_name(&self, i: usize) -> String {
        self.row_names.get(i).cloned().unwrap_or_else(|| format!("c[{i}]"))
    }

    /// Looks for nonsense: lengths that disagree, NaN, crossed bounds, entries outside the Jacobian.
    pub fn validate(&self) -> Result<(), MetaError> {
        let (n, m) = (self.n(), self.m());
        let named = |given: usize, wanted: usize| if given == 0 { wanted } else { given };
        let lengths = [
            ("x_lower", self.x_lower.len(), n),
            ("x_upper", self.x_upper.len(), n),
            ("c_upper", self.c_upper.len(), m),
            ("variable_names", named(self.variable_names.len(), n), n),
            ("row_names", named(self.row_names.len(), m), m),
            ("linear_rows", named(self.linear_rows.len(), m), m),
        ];
        for (what, found, expected) in lengths {
            if found != expected {
                return Err(MetaError::Length { what, found, expected });
            }
        }
        if n == 0 {
            return Err(MetaError::NoVariables);
        }
        for i in 0..n {
            if !self.x0[i].is_finite() {
                return Err(MetaError::Start { name: self.variable_name(i), value: self.x0[i] });
            }
            check_bounds(self.x_lower[i], self.x_upper[i], || format!("variable {}", self.variable_name(i)))?;
        }
        for i in 0..m {
            check_bounds(self.c_lower[i], self.c_upper[i], || format!("constraint {}", self.row_name(i)))?;
        }
        self.validate_pattern()
    }

    fn validate_pattern(&self) -> Result<(), MetaError> {
        let Pattern::Sparse { rows, columns } = &self.jacobian else { return Ok(()) };
        if rows.len() != columns.len() {
            return Err(MetaError::Length { what: "columns of the Jacobian", found: columns.len(), expected: rows.len() });
        }
        let (n, m) = (self.n(), self.m());
        match rows.iter().zip(columns).position(|(&row, &column)| row >= m || column >= n) {
            Some(k) => Err(MetaError::Outside { entry: k, row: rows[k], column: columns[k], m, n }),
            None => Ok(()),
        }
    }
}

fn check_bounds(lower: f64, upper: f64, place: impl Fn() -> String) -> Result<(), MetaError> {
    if lower.is_nan() || upper.is_nan() {
        return Err(MetaError::NanBound { place: place() });
    }
    if lower > upper {
        return Err(MetaError::Crossed { place: place(), lower, upper });
    }
    if lower >= INFINITE || upper <= -INFINITE {
        return Err(MetaError::Unreachable { place: place(), lower, upper });
    }
    Ok(())
}

/// What is wrong with the data of a problem.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MetaError {
    /// There is nothing to choose.
    #[error("the problem has no variables")]
    NoVariables,
    /// Two lengths disagree.
    #[error("{what} has length {found}, expected {expected}")]
    Length {
        /// The field.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The length it should have.
        expected: usize,
    },
    /// The start is not a number.
    #[error("the start of variable {name} is {value}: a finite number is needed")]
    Start {
        /// The variable.
        name: String,
        /// Its start.
        value: f64,
    },
    /// A bound is NaN.
    #[error("a bound of {place} is NaN")]
    NanBound {
        /// Which variable or constraint.
        place: String,
    },
    /// The lower bound is above the upper one.
    #[error("the bounds of {place} are crossed: lower {lower} is above upper {upper}")]
    Crossed {
        /// Which variable or constraint.
        place: String,
        /// Its lower bound.
        lower: f64,
        /// Its upper bound.
        upper: f64,
    },
    /// No finite value satisfies the bounds.
    #[error("no finite value satisfies the bounds of {place}: lower {lower}, upper {upper}")]
    Unreachable {
        /// Which variable or constraint.
        place: String,
        /// Its lower bound.
        lower: f64,
        /// Its upper bound.
        upper: f64,
    },
    /// An entry of the Jacobian lies outside of it.
    #[error("entry {entry} of the Jacobian is at row {row}, column {column}, but there are {m} rows and {n} columns")]
    Outside {
        /// Which entry of the pattern.
        entry: usize,
        /// Its row.
        row: usize,
        /// Its column.
        column: usize,
        /// Number of rows.
        m: usize,
        /// Number of columns.
        n: usize,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonsense_is_named() {
        let good = Meta::new("p", vec![0.0, 0.0]).equalities(&[1.0]).at_least(&[0.0]);
        assert_eq!(good.validate(), Ok(()));
        assert_eq!((good.n(), good.m(), good.jacobian_len()), (2, 2, 4));

        let crossed = good.clone().bounds(&[0.0, 3.0], &[1.0, 2.0]).name_variables(["a", "b"]);
        let message = crossed.validate().unwrap_err().to_string();
        assert_eq!(message, "the bounds of variable b are crossed: lower 3 is above upper 2");

        let cases = [
            (Meta::new("p", vec![]), "the problem has no variables"),
            (Meta::new("p", vec![f64::NAN]), "the start of variable x[0] is NaN: a finite number is needed"),
            (good.clone().bounds(&[0.0], &[1.0]), "x_lower has length 1, expected 2"),
            (good.clone().rows(&[f64::NAN], &[1.0]), "a bound of constraint c[2] is NaN"),
            (
                good.clone().at_least(&[f64::INFINITY]),
                "no finite value satisfies the bounds of constraint c[2]: lower inf, upper inf",
            ),
            (
                good.clone().sparse([(0, 1), (2, 0)]),
                "entry 1 of the Jacobian is at row 2, column 0, but there are 2 rows and 2 columns",
            ),
        ];
        for (meta, expected) in cases {
            assert_eq!(meta.validate().unwrap_err().to_string(), expected);
        }
    }
}
