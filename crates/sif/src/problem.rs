//! A decoded file as a [`Problem`].

use std::sync::Arc;

use tangor_problem::{
    Evaluation, Failure, FunctionFailure, Interval, Meta, Outputs, Pattern, Problem, Wanted, evaluate_separately,
};

use crate::evaluate::Evaluator;
use crate::group_table::{Functions, GroupTable};
use crate::info::Info;
use crate::model::{Group, GroupKind, Model, Variable};
use crate::options::Limits;

/// The tables and names that are kept take about so many times the memory of what was decoded: 1.5 to 2.7 times.
const TABLES: u64 = 2;

/// The problem of a SIF file.
///
/// Variables and rows come in the order of the file. A row has its constant subtracted: a `G` row is `0 <= c`, an `L` row
/// `c <= 0`, an `E` row `c = 0`, and a range `r` makes them `[0, r]` and `[-r, 0]`. The start is as written, even outside the
/// bounds, and fixed variables are kept.
#[derive(Debug)]
pub struct SifProblem {
    meta: Meta,
    info: Info,
    multipliers: Vec<f64>,
    pub(crate) limits: Limits,
    pub(crate) objective: Evaluator,
    pub(crate) constraints: Evaluator,
    /// `h_jk` with `j >= k`, each place once; those off the diagonal stand for two.
    pub(crate) quadratic: Vec<(u32, u32, f64)>,
    /// Values of the groups of the objective, and their gradients.
    rows: Vec<f64>,
    gradients: Vec<f64>,
}

impl SifProblem {
    pub(crate) fn new(model: Model, functions: Functions, info: Info, limits: Limits) -> Self {
        let functions = Arc::new(functions);
        let objective = Evaluator::new(GroupTable::new(&model, Arc::clone(&functions), true));
        let constraints = Evaluator::new(GroupTable::new(&model, functions, false));
        let rows = || model.groups.iter().filter(|group| group.kind != GroupKind::Objective);
        let bounds = |variable: &Variable| Interval::new(variable.lower, variable.upper);
        let quadratic = merge(&model.quadratic);
        let meta = Meta {
            name: model.name.clone(),
            x0: model.variables.iter().map(|variable| variable.start).collect(),
            x_lower: model.variables.iter().map(|variable| bounds(variable).lower).collect(),
            x_upper: model.variables.iter().map(|variable| bounds(variable).upper).collect(),
            c_lower: rows().map(|group| row_bounds(group).0).collect(),
            c_upper: rows().map(|group| row_bounds(group).1).collect(),
            jacobian: pattern(&constraints.table),
            has_objective: objective.table.rows() > 0 || !quadratic.is_empty(),
            maximise: false,
            held: TABLES * model.bytes() as u64,
            linear_rows: (0..constraints.table.rows()).map(|row| constraints.table.is_linear(row)).collect(),
            row_names: (0..constraints.table.rows()).map(|row| constraints.table.row_name(row).to_string()).collect(),
            variable_names: model.variable_names.iter().map(String::from).collect(),
        };
        let multipliers = rows().map(|group| group.multiplier).collect();
        SifProblem {
            meta,
            info,
            multipliers,
            limits,
            rows: vec![0.0; objective.table.rows()],
            gradients: vec![0.0; objective.table.columns.len()],
            objective,
            constraints,
            quadratic,
        }
    }

    /// Classification, sizes, kinds of rows and bounds, parameters.
    pub fn info(&self) -> &Info {
        &self.info
    }

    /// Where the file starts the Lagrange multipliers, one for each row.
    pub fn multipliers(&self) -> &[f64] {
        &self.multipliers
    }

    /// A point or a result of the wrong length breaks the run; it does not take the program down.
    pub(crate) fn check(&self, x: &[f64], given: usize, wanted: usize) -> Evaluation {
        match x.len() == self.meta.n() && given == wanted {
            true => Ok(()),
            false => Err(Failure::broken(format!(
                "{}: a point of {} numbers and a result of {given} were given, but {} and {wanted} are needed",
                self.meta.name,
                x.len(),
                self.meta.n()
            ))),
        }
    }

    /// The objective, once its groups are evaluated.
    fn summed_up(&self, x: &[f64]) -> f64 {
        let mut f: f64 = self.rows.iter().sum();
        for &(j, k, h) in &self.quadratic {
            let product = h * x[j as usize] * x[k as usize];
            f += if j == k { 0.5 * product } else { product };
        }
        f
    }

    /// Its gradient, once those of its groups are evaluated.
    fn write_gradient(&self, x: &[f64], g: &mut [f64]) {
        g.fill(0.0);
        for (&column, &value) in self.objective.table.columns.iter().zip(&self.gradients) {
            g[column as usize] += value;
        }
        for &(j, k, h) in &self.quadratic {
            g[j as usize] += h * x[k as usize];
            if j != k {
                g[k as usize] += h * x[j as usize];
            }
        }
    }

    /// The objective with its gradient.
    fn evaluate_objective(&mut self, x: &[f64], out: &mut Outputs<'_>) -> Evaluation {
        self.check(x, out.gradient.len(), self.meta.n())?;
        self.objective.values_and_gradients(x, &mut self.rows, &mut self.gradients)?;
        out.objective = Some(self.summed_up(x));
        self.write_gradient(x, out.gradient);
        Ok(())
    }

    /// The constraints with their Jacobian.
    fn evaluate_constraints(&mut self, x: &[f64], out: &mut Outputs<'_>) -> Evaluation {
        self.check(x, out.constraints.len(), self.meta.m())?;
        self.check(x, out.jacobian.len(), self.meta.jacobian_len())?;
        self.constraints.values_and_gradients(x, out.constraints, out.jacobian)
    }

    /// How many element functions an evaluation of everything (objective and constraints) needs.
    pub fn elements(&self) -> usize {
        self.objective.table.elements() + self.constraints.table.elements()
    }
}

impl Problem for SifProblem {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn objective(&mut self, x: &[f64]) -> Evaluation<f64> {
        self.check(x, 0, 0)?;
        self.objective.values(x, &mut self.rows)?;
        Ok(self.summed_up(x))
    }

    fn gradient(&mut self, x: &[f64], g: &mut [f64]) -> Evaluation {
        self.check(x, g.len(), self.meta.n())?;
        self.objective.gradients(x, &mut self.gradients)?;
        self.write_gradient(x, g);
        Ok(())
    }

    fn constraints(&mut self, x: &[f64], c: &mut [f64]) -> Evaluation {
        self.check(x, c.len(), self.meta.m())?;
        self.constraints.values(x, c)
    }

    fn jacobian(&mut self, x: &[f64], values: &mut [f64]) -> Evaluation {
        self.check(x, values.len(), self.meta.jacobian_len())?;
        self.constraints.gradients(x, values)
    }

    /// Values and derivatives of the same groups evaluate each element once. What fails then is evaluated one after the other, which tells what
    /// it was; so are elements that carry something from one evaluation to the next.
    fn evaluate(&mut self, x: &[f64], wanted: Wanted, out: &mut Outputs<'_>) -> Result<(), FunctionFailure> {
        let mut rest = wanted.of(&self.meta);
        let apart = self.constraints.table.carries_state();
        if rest.objective && rest.gradient && !apart && self.evaluate_objective(x, out).is_ok() {
            (rest.objective, rest.gradient) = (false, false);
        }
        if rest.constraints && rest.jacobian && !apart && self.evaluate_constraints(x, out).is_ok() {
            (rest.constraints, rest.jacobian) = (false, false);
        }
        evaluate_separately(self, x, rest, out)
    }
}

/// Coefficients with the larger variable first, sorted, equal places added.
fn merge(quadratic: &[(u32, u32, f64)]) -> Vec<(u32, u32, f64)> {
    let mut entries: Vec<_> = quadratic.iter().map(|&(j, k, h)| (j.max(k), j.min(k), h)).collect();
    entries.sort_by_key(|&(j, k, _)| (j, k));
    entries.dedup_by(|next, kept| {
        let same = (next.0, next.1) == (kept.0, kept.1);
        if same {
            kept.2 += next.2;
        }
        same
    });
    entries
}

fn pattern(table: &GroupTable) -> Pattern {
    let row_of = |row: usize| std::iter::repeat_n(row, table.column_at[row + 1] - table.column_at[row]);
    Pattern::Sparse {
        rows: (0..table.rows()).flat_map(row_of).collect(),
        columns: table.columns.iter().map(|&column| column as usize).collect(),
    }
}

/// The bounds of a row that is not part of the objective.
pub(crate) fn row_bounds(group: &Group) -> (f64, f64) {
    let width = group.range.map_or(f64::INFINITY, |range| Interval::new(0.0, range.abs()).upper);
    match (group.kind, group.range) {
        (GroupKind::AtLeast, _) => (0.0, width),
        (GroupKind::AtMost, _) => (-width, 0.0),
        (_, Some(range)) if range < 0.0 => (-width, 0.0),
        (_, Some(_)) => (0.0, width),
        (_, None) => (0.0, 0.0),
    }
}
