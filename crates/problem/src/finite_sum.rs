use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use crate::counted::guarded;
use crate::{
    Access, Accesses, Collective, Draw, Evaluation, Failure, Function, FunctionFailure, Members, Meta, Outputs, Problem,
    Reduction, SampledProblem, Wanted,
};

type Term = Box<dyn Fn(usize, &[f64]) -> f64 + Send + Sync>;
type AddTerm = Box<dyn Fn(usize, &[f64], &mut [f64]) + Send + Sync>;
type Fill = Box<dyn Fn(&[f64], &mut [f64]) + Send + Sync>;

/// The functions that are evaluated together.
const TOGETHER: [Function; 3] = [Function::Gradient, Function::Constraints, Function::Jacobian];
const GRADIENT: usize = 0;
const CONSTRAINTS: usize = 1;
const JACOBIAN: usize = 2;
/// Rows that one function is evaluated for before the next: few enough to stay in the cache, enough to hide the change of function.
const BLOCK: usize = 16;

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
    /// In the order of [`TOGETHER`].
    parts: [Part; 3],
    reduction: Reduction,
    /// The sums of all functions that are evaluated together.
    sums: Vec<f64>,
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
        let parts = [const { Part::Missing }; 3];
        FiniteSum { meta, rows, objective: None, parts, reduction: Reduction::default(), sums: Vec::new() }
    }

    /// `F_i(x)`. A sampled run does without.
    pub fn term_objective(mut self, term: impl Fn(usize, &[f64]) -> f64 + Send + Sync + 'static) -> Self {
        self.objective = Some(Box::new(term));
        self
    }

    /// Adds the gradient of `F_i` to a slice of length `n`.
    pub fn term_gradient(mut self, add: impl Fn(usize, &[f64], &mut [f64]) + Send + Sync + 'static) -> Self {
        self.parts[GRADIENT] = Part::ByRow(Box::new(add));
        self
    }

    /// Adds `C_i(x)` to a slice of length `m`.
    pub fn term_constraints(mut self, add: impl Fn(usize, &[f64], &mut [f64]) + Send + Sync + 'static) -> Self {
        self.parts[CONSTRAINTS] = Part::ByRow(Box::new(add));
        self
    }

    /// Adds the Jacobian of `C_i` to its values, in the order of [`Meta::jacobian`].
    pub fn term_jacobian(mut self, add: impl Fn(usize, &[f64], &mut [f64]) + Send + Sync + 'static) -> Self {
        self.parts[JACOBIAN] = Part::ByRow(Box::new(add));
        self
    }

    /// Constraints that do not depend on the data: `c(x)` is written at once.
    pub fn exact_constraints(mut self, fill: impl Fn(&[f64], &mut [f64]) + Send + Sync + 'static) -> Self {
        self.parts[CONSTRAINTS] = Part::Exact(Box::new(fill));
        self
    }

    /// The Jacobian of constraints that do not depend on the data.
    pub fn exact_jacobian(mut self, fill: impl Fn(&[f64], &mut [f64]) + Send + Sync + 'static) -> Self {
        self.parts[JACOBIAN] = Part::Exact(Box::new(fill));
        self
    }

    /// Has its sums computed by this collective, instead of by the threads of this process.
    pub fn collective(mut self, collective: Arc<dyn Collective>) -> Self {
        self.reduction = Reduction::new(collective);
        self
    }

    /// The same problem, of which a method sees only the rows that it draws.
    pub fn sampled(self) -> SampledSum {
        SampledSum(self)
    }

    fn drawn<'a>(&self, draws: &'a [Draw]) -> Members<'a> {
        Members::Drawn { draws, population: self.rows }
    }

    fn average_objective(&mut self, x: &[f64], rows: Members) -> Evaluation<f64> {
        let Some(term) = &self.objective else { return Err(missing(&self.meta, Function::Objective)) };
        rows.check()?;
        let mut sum = [0.0];
        self.reduction.sum_members(rows, &mut sum, |rows, range, sum| {
            sum[0] += range.map(|k| term(rows.get(k), x)).sum::<f64>();
        });
        Ok(sum[0] / rows.count() as f64)
    }

    fn average(&mut self, part: usize, x: &[f64], rows: Members, out: &mut [f64]) -> Evaluation {
        match &self.parts[part] {
            Part::Missing => return Err(missing(&self.meta, TOGETHER[part])),
            Part::Exact(fill) => fill(x, out),
            Part::ByRow(add) => {
                rows.check()?;
                self.reduction.sum_members(rows, out, |rows, range, sum| range.for_each(|k| add(rows.get(k), x, sum)));
                take_average(rows, out);
            }
        }
        Ok(())
    }

    /// The wanted functions, a few rows at a time, so that the data of a row are fetched once. The terms of each sum are added in the
    /// order of the single functions, so that the bits are the same.
    fn average_together(
        &mut self,
        x: &[f64],
        rows: Members,
        wanted: Wanted,
        out: &mut Outputs<'_>,
    ) -> Result<(), FunctionFailure> {
        let wanted = wanted.of(&self.meta);
        let mut f = [0.0];
        let add_objective = |row: usize, x: &[f64], sum: &mut [f64]| {
            sum[0] += self.objective.as_ref().map_or(f64::NAN, |term| term(row, x));
        };
        let mut outputs: [(Function, &mut [f64]); 4] = [
            (Function::Objective, if wanted.objective { &mut f } else { &mut [] }),
            (Function::Gradient, if wanted.gradient { &mut *out.gradient } else { &mut [] }),
            (Function::Constraints, if wanted.constraints { &mut *out.constraints } else { &mut [] }),
            (Function::Jacobian, if wanted.jacobian { &mut *out.jacobian } else { &mut [] }),
        ];
        let mut terms: [Option<Summand>; 4] = [None; 4];
        for (k, (function, out)) in outputs.iter_mut().enumerate().filter(|(_, (_, out))| !out.is_empty()) {
            let (function, named) = (*function, FunctionFailure::of(*function));
            let part = if k == 0 { None } else { Some(&self.parts[k - 1]) };
            let add: &dyn AddRow = match part {
                None if self.objective.is_some() => &add_objective,
                None | Some(Part::Missing) => return Err(named(missing(&self.meta, function))),
                Some(Part::ByRow(add)) => add,
                Some(Part::Exact(fill)) => {
                    guarded(|| {
                        fill(x, out);
                        Ok(())
                    })
                    .map_err(named)?;
                    continue;
                }
            };
            rows.check().map_err(named)?;
            terms[k] = Some((function, add, out.len()));
        }
        sum_terms(&mut self.reduction, &mut self.sums, (x, rows), &terms)?;
        let mut sums = &self.sums[..];
        for ((_, out), _) in outputs.iter_mut().zip(&terms).filter(|(_, term)| term.is_some()) {
            let (sum, others) = sums.split_at(out.len());
            out.copy_from_slice(sum);
            take_average(rows, out);
            sums = others;
        }
        out.objective = wanted.objective.then_some(f[0]);
        Ok(())
    }
}

/// Adds the contribution of one row.
trait AddRow: Fn(usize, &[f64], &mut [f64]) + Sync {}

impl<F: Fn(usize, &[f64], &mut [f64]) + Sync> AddRow for F {}

/// A function that is summed over rows: which one, how, and the length of its sum.
type Summand<'a> = (Function, &'a dyn AddRow, usize);

/// Sums all terms over the rows, into `sums` one after the other.
fn sum_terms(
    reduction: &mut Reduction,
    sums: &mut Vec<f64>,
    (x, rows): (&[f64], Members),
    terms: &[Option<Summand>],
) -> Result<(), FunctionFailure> {
    let failed = Mutex::new(None);
    let add_rows = |rows: Members, range: Range<usize>, mut sums: &mut [f64]| {
        for &(function, add, width) in terms.iter().flatten() {
            let (sum, others) = std::mem::take(&mut sums).split_at_mut(width);
            sums = others;
            let added = guarded(|| {
                range.clone().for_each(|k| add(rows.get(k), x, sum));
                Ok(())
            });
            if let Err(failure) = added {
                let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                failed.get_or_insert(FunctionFailure { function, failure });
            }
        }
    };
    sums.resize(terms.iter().flatten().map(|(.., width)| width).sum(), 0.0);
    reduction.sum_members(rows, sums, |rows, range, sums| {
        range.clone().step_by(BLOCK).for_each(|start| add_rows(rows, start..range.end.min(start + BLOCK), sums));
    });
    match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(failure) => Err(failure),
        None => Ok(()),
    }
}

fn missing(meta: &Meta, function: Function) -> Failure {
    Failure::broken(format!("the {function} of the sum {} was not given", meta.name))
}

fn take_average(rows: Members, sum: &mut [f64]) {
    let weight = 1.0 / rows.count() as f64;
    sum.iter_mut().for_each(|value| *value *= weight);
}

impl Problem for FiniteSum {
    fn meta(&self) -> &Meta {
        &self.meta
    }
    fn objective(&mut self, x: &[f64]) -> Evaluation<f64> {
        self.average_objective(x, Members::All(self.rows))
    }
    fn gradient(&mut self, x: &[f64], g: &mut [f64]) -> Evaluation {
        self.average(GRADIENT, x, Members::All(self.rows), g)
    }
    fn constraints(&mut self, x: &[f64], c: &mut [f64]) -> Evaluation {
        self.average(CONSTRAINTS, x, Members::All(self.rows), c)
    }
    fn jacobian(&mut self, x: &[f64], values: &mut [f64]) -> Evaluation {
        self.average(JACOBIAN, x, Members::All(self.rows), values)
    }
    fn evaluate(&mut self, x: &[f64], wanted: Wanted, out: &mut Outputs<'_>) -> Result<(), FunctionFailure> {
        self.average_together(x, Members::All(self.rows), wanted, out)
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
        let [_, constraints, jacobian] = &self.0.parts;
        Accesses { gradient: finite, constraints: access(constraints), jacobian: access(jacobian) }
    }

    fn gradient(&mut self, x: &[f64], draws: &[Draw], g: &mut [f64]) -> Evaluation {
        self.0.average(GRADIENT, x, self.0.drawn(draws), g)
    }

    fn constraints(&mut self, x: &[f64], draws: &[Draw], c: &mut [f64]) -> Evaluation {
        self.0.average(CONSTRAINTS, x, self.0.drawn(draws), c)
    }

    fn jacobian(&mut self, x: &[f64], draws: &[Draw], values: &mut [f64]) -> Evaluation {
        self.0.average(JACOBIAN, x, self.0.drawn(draws), values)
    }

    fn evaluate(&mut self, x: &[f64], draws: &[Draw], wanted: Wanted, out: &mut Outputs<'_>) -> Result<(), FunctionFailure> {
        // Where there is no value of the objective, a sampled run does without.
        let wanted = Wanted { objective: wanted.objective && self.0.objective.is_some(), ..wanted };
        self.0.average_together(x, self.0.drawn(draws), wanted, out)
    }

    fn objective(&mut self, x: &[f64], draws: &[Draw]) -> Option<Evaluation<f64>> {
        self.0.objective.is_some().then(|| self.0.average_objective(x, self.0.drawn(draws)))
    }

    fn exact(&mut self) -> Option<&mut dyn Problem> {
        self.0.objective.is_some().then_some(&mut self.0 as &mut dyn Problem)
    }
}
