use std::fmt;

use crate::{Access, Accesses, Draw, Evaluation, Failure, Function, Members, Meta, Problem, Reduction, SampledProblem};

type Term = Box<dyn Fn(usize, &[f64]) -> f64 + Send + Sync>;
type AddTerm = Box<dyn Fn(usize, &[f64], &mut [f64]) + Send + Sync>;
type Fill = Box<dyn Fn(&[f64], &mut [f64]) + Send + Sync>;

/// A problem whose functions are averages over the rows of a data set,
///
/// ```text
/// f(x) = 1/N sum_i F_i(x),   c(x) = 1/N sum_i C_i(x)
/// ```
///
/// stated by closures for one row `i`, which *add* their contribution. Rows are evaluated in parallel, with the same bits on any
/// number of threads. A value that does not exist is NaN.
///
/// ```
/// use tangor_problem::{FiniteSum, Meta, Problem};
///
/// // the mean of three numbers, under a bound on its square
/// let data = [1.0, 2.0, 6.0];
/// let mut mean = FiniteSum::new(Meta::new("mean", vec![0.0]).at_most(&[4.0]), data.len())
///     .term_objective(move |i, x| 0.5 * (x[0] - data[i]).powi(2))
///     .term_gradient(move |i, x, g| g[0] += x[0] - data[i])
///     .exact_constraints(|x, c| c[0] = x[0] * x[0])
///     .exact_jacobian(|x, values| values[0] = 2.0 * x[0]);
/// let mut g = [0.0];
/// mean.gradient(&[0.0], &mut g)?;
/// assert_eq!(g, [-3.0]);
/// # Ok::<(), tangor_problem::Failure>(())
/// ```
///
/// It is exact; [`FiniteSum::sampled`] gives access by rows.
pub struct FiniteSum {
    meta: Meta,
    rows: usize,
    objective: Option<Term>,
    gradient: Option<AddTerm>,
    constraints: Part,
    jacobian: Part,
    reduction: Reduction,
}

/// How a function is stated.
enum Part {
    Missing,
    ByRow(AddTerm),
    Exact(Fill),
}

impl FiniteSum {
    /// A sum over this many rows; the functions follow.
    pub fn new(meta: Meta, rows: usize) -> Self {
        let (constraints, jacobian) = (Part::Missing, Part::Missing);
        FiniteSum { meta, rows, objective: None, gradient: None, constraints, jacobian, reduction: Reduction::default() }
    }

    /// `F_i(x)`. A sampled run does without.
    pub fn term_objective(mut self, term: impl Fn(usize, &[f64]) -> f64 + Send + Sync + 'static) -> Self {
        self.objective = Some(Box::new(term));
        self
    }

    /// Adds the gradient of `F_i` to a slice of length `n`.
    pub fn term_gradient(mut self, add: impl Fn(usize, &[f64], &mut [f64]) + Send + Sync + 'static) -> Self {
        self.gradient = Some(Box::new(add));
        self
    }

    /// Adds `C_i(x)` to a slice of length `m`.
    pub fn term_constraints(mut self, add: impl Fn(usize, &[f64], &mut [f64]) + Send + Sync + 'static) -> Self {
        self.constraints = Part::ByRow(Box::new(add));
        self
    }

    /// Adds the Jacobian of `C_i` to its values, in the order of [`Meta::jacobian`].
    pub fn term_jacobian(mut self, add: impl Fn(usize, &[f64], &mut [f64]) + Send + Sync + 'static) -> Self {
        self.jacobian = Part::ByRow(Box::new(add));
        self
    }

    /// Constraints that do not depend on the data: `c(x)` is written at once.
    pub fn exact_constraints(mut self, fill: impl Fn(&[f64], &mut [f64]) + Send + Sync + 'static) -> Self {
        self.constraints = Part::Exact(Box::new(fill));
        self
    }

    /// The Jacobian of constraints that do not depend on the data.
    pub fn exact_jacobian(mut self, fill: impl Fn(&[f64], &mut [f64]) + Send + Sync + 'static) -> Self {
        self.jacobian = Part::Exact(Box::new(fill));
        self
    }

    /// The same problem, of which a method sees only the rows that it draws.
    pub fn sampled(self) -> SampledSum {
        SampledSum(self)
    }

    fn drawn<'a>(&self, draws: &'a [Draw]) -> Members<'a> {
        Members::Drawn { draws, population: self.rows }
    }

    fn missing(&self, function: Function) -> Failure {
        Failure::broken(format!("the {function} of the sum {} was not given", self.meta.name))
    }

    fn average_objective(&mut self, x: &[f64], rows: Members) -> Evaluation<f64> {
        let Some(term) = &self.objective else { return Err(self.missing(Function::Objective)) };
        rows.check()?;
        let mut sum = [0.0];
        self.reduction.sum(rows.count(), &mut sum, |range, sum| sum[0] += range.map(|k| term(rows.get(k), x)).sum::<f64>());
        Ok(sum[0] / rows.count() as f64)
    }

    fn average(&mut self, function: Function, x: &[f64], rows: Members, out: &mut [f64]) -> Evaluation {
        let add = match function {
            Function::Gradient => self.gradient.as_ref(),
            _ => match if function == Function::Constraints { &self.constraints } else { &self.jacobian } {
                Part::Missing => None,
                Part::ByRow(add) => Some(add),
                Part::Exact(fill) => {
                    fill(x, out);
                    return Ok(());
                }
            },
        };
        let Some(add) = add else { return Err(self.missing(function)) };
        rows.check()?;
        self.reduction.sum(rows.count(), out, |range, sum| range.for_each(|k| add(rows.get(k), x, sum)));
        let weight = 1.0 / rows.count() as f64;
        out.iter_mut().for_each(|value| *value *= weight);
        Ok(())
    }
}

impl Problem for FiniteSum {
    fn meta(&self) -> &Meta {
        &self.meta
    }
    fn objective(&mut self, x: &[f64]) -> Evaluation<f64> {
        self.average_objective(x, Members::All(self.rows))
    }
    fn gradient(&mut self, x: &[f64], g: &mut [f64]) -> Evaluation {
        self.average(Function::Gradient, x, Members::All(self.rows), g)
    }
    fn constraints(&mut self, x: &[f64], c: &mut [f64]) -> Evaluation {
        self.average(Function::Constraints, x, Members::All(self.rows), c)
    }
    fn jacobian(&mut self, x: &[f64], values: &mut [f64]) -> Evaluation {
        self.average(Function::Jacobian, x, Members::All(self.rows), values)
    }
}

impl fmt::Debug for FiniteSum {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("FiniteSum").field("meta", &self.meta).field("rows", &self.rows).finish_non_exhaustive()
    }
}

/// A [`FiniteSum`] that is seen row by row: a draw is the index of a row.
#[derive(Debug)]
pub struct SampledSum(FiniteSum);

impl SampledProblem for SampledSum {
    fn meta(&self) -> &Meta {
        &self.0.meta
    }

    fn accesses(&self) -> Accesses {
        let finite = Access::Finite(self.0.rows as u64);
        let access = |part: &Part| if matches!(part, Part::Exact(_)) { Access::Exact } else { finite };
        Accesses { gradient: finite, constraints: access(&self.0.constraints), jacobian: access(&self.0.jacobian) }
    }

    fn gradient(&mut self, x: &[f64], draws: &[Draw], g: &mut [f64]) -> Evaluation {
        self.0.average(Function::Gradient, x, self.0.drawn(draws), g)
    }

    fn constraints(&mut self, x: &[f64], draws: &[Draw], c: &mut [f64]) -> Evaluation {
        self.0.average(Function::Constraints, x, self.0.drawn(draws), c)
    }

    fn jacobian(&mut self, x: &[f64], draws: &[Draw], values: &mut [f64]) -> Evaluation {
        self.0.average(Function::Jacobian, x, self.0.drawn(draws), values)
    }

    fn objective(&mut self, x: &[f64], draws: &[Draw]) -> Option<Evaluation<f64>> {
        self.0.objective.is_some().then(|| self.0.average_objective(x, self.0.drawn(draws)))
    }

    fn exact(&mut self) -> Option<&mut dyn Problem> {
        self.0.objective.is_some().then_some(&mut self.0 as &mut dyn Problem)
    }
}
