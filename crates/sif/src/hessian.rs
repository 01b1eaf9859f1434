//! Second derivatives: `sigma * hess f + sum_i y_i * hess c_i`, lower triangle.
//!
//! With `alpha` the argument of a group, its Hessian is `s (g'(alpha) sum_j w_j hess f_j + g''(alpha) a a')`, where `a` is the
//! gradient of `alpha`.

use tangor_problem::{Evaluation, Meta, Pattern, Problem, SecondOrder};

use crate::error::SifError;
use crate::evaluate::Evaluator;
use crate::group_table::{GroupTable, TRIVIAL};
use crate::problem::SifProblem;

/// A problem that also knows its second derivatives; see [`SifProblem::with_hessian`].
#[derive(Debug)]
pub struct WithHessian {
    problem: SifProblem,
    pattern: Pattern,
    objective: Places,
    constraints: Places,
    quadratic: Vec<usize>,
    buffers: Buffers,
}

/// Where the second derivatives of a table go.
#[derive(Debug)]
struct Places {
    /// For each element its packed lower triangle, one after the other.
    elements: Vec<usize>,
    /// For each row with a group type the packed lower triangle over its columns, one after the other.
    rows: Vec<usize>,
}

#[derive(Debug, Default)]
struct Buffers {
    /// What each element is multiplied by.
    weights: Vec<f64>,
    argument_gradient: Vec<f64>,
    gradient: Vec<f64>,
    hessian: Vec<f64>,
}

impl SifProblem {
    /// Adds second derivatives; refused when they would have more entries than [`Limits::hessian`](crate::Limits::hessian) allows.
    pub fn with_hessian(self) -> Result<WithHessian, SifError> {
        let limit = self.limits.hessian;
        let tables = [&self.objective.table, &self.constraints.table];
        let entries: u64 = tables.iter().map(|table| entries(table)).sum::<u64>() + self.quadratic.len() as u64;
        if entries > limit {
            let message = format!("the Hessian of the Lagrangian has {entries} entries, and the limit is {limit}");
            return Err(SifError { file: self.meta().name.clone(), line: 0, column: 0, message });
        }
        let mut keys: Vec<u64> = self.quadratic.iter().map(|&(j, k, _)| key(j, k)).collect();
        tables.iter().for_each(|table| for_places(table, |place| keys.push(place), |_| {}));
        tables.iter().for_each(|table| for_places(table, |_| {}, |place| keys.push(place)));
        keys.sort_unstable();
        keys.dedup();
        // Every key is among those collected above.
        let find = |place: u64| keys.binary_search(&place).unwrap_or_default();
        let places = |table: &GroupTable| {
            let (mut elements, mut rows) = (Vec::new(), Vec::new());
            for_places(table, |place| elements.push(find(place)), |place| rows.push(find(place)));
            Places { elements, rows }
        };
        let widest = tables.iter().map(|table| table.widest()).max().unwrap_or(0);
        let longest =
            tables.iter().flat_map(|table| table.column_at.windows(2).map(|pair| pair[1] - pair[0])).max().unwrap_or(0);
        Ok(WithHessian {
            pattern: Pattern::sparse(keys.iter().map(|key| ((key >> 32) as usize, (key & 0xffff_ffff) as usize))),
            objective: places(tables[0]),
            constraints: places(tables[1]),
            quadratic: self.quadratic.iter().map(|&(j, k, _)| find(key(j, k))).collect(),
            buffers: Buffers {
                weights: vec![0.0; tables.iter().map(|table| table.elements()).max().unwrap_or(0)],
                argument_gradient: vec![0.0; longest],
                gradient: vec![0.0; widest],
                hessian: vec![0.0; widest * (widest + 1) / 2],
            },
            problem: self,
        })
    }
}

/// Row and column as one sortable number.
fn key(j: u32, k: u32) -> u64 {
    (u64::from(j.max(k)) << 32) | u64::from(j.min(k))
}

fn triangle(n: usize) -> u64 {
    n as u64 * (n as u64 + 1) / 2
}

fn entries(table: &GroupTable) -> u64 {
    let elements: u64 = table.variables_at.windows(2).map(|pair| triangle(pair[1] - pair[0])).sum();
    let typed = (0..table.rows()).filter(|&row| table.group_type[row] != TRIVIAL);
    elements + typed.map(|row| triangle(table.column_at[row + 1] - table.column_at[row])).sum::<u64>()
}

/// Visits the places of all second derivatives of a table.
fn for_places(table: &GroupTable, mut element_place: impl FnMut(u64), mut row_place: impl FnMut(u64)) {
    for pair in table.variables_at.windows(2) {
        let variables = &table.variables[pair[0]..pair[1]];
        for (i, &first) in variables.iter().enumerate() {
            variables[..=i].iter().for_each(|&second| element_place(key(first, second)));
        }
    }
    for row in (0..table.rows()).filter(|&row| table.group_type[row] != TRIVIAL) {
        let columns = &table.columns[table.column_at[row]..table.column_at[row + 1]];
        for (i, &first) in columns.iter().enumerate() {
            columns[..=i].iter().for_each(|&second| row_place(key(first, second)));
        }
    }
}

impl Places {
    /// Adds `sum_i multiplier(i) * hess row_i`.
    fn add(
        &self,
        evaluator: &mut Evaluator,
        x: &[f64],
        multiplier: impl Fn(usize) -> f64,
        buffers: &mut Buffers,
        values: &mut [f64],
    ) -> Evaluation {
        evaluator.elements(x)?;
        let Evaluator { table, element_values, element_gradients, lanes } = evaluator;
        let scratch = &mut lanes[0];
        buffers.weights.fill(0.0);
        let mut places = self.rows.iter();
        for row in 0..table.rows() {
            let mut factor = multiplier(row) * table.scale[row];
            if table.group_type[row] != TRIVIAL {
                let alpha = table.argument(row, x, element_values);
                let (slope, curvature) = table.group_curvature(row, alpha, &mut scratch.group_work)?;
                let a = &mut buffers.argument_gradient[..table.column_at[row + 1] - table.column_at[row]];
                table.argument_gradient(row, element_gradients, a);
                for i in 0..a.len() {
                    for (second, &place) in a[..=i].iter().zip(places.by_ref()) {
                        values[place] += factor * curvature * a[i] * second;
                    }
                }
                factor *= slope;
            }
            for k in table.use_at[row]..table.use_at[row + 1] {
                buffers.weights[table.use_element[k] as usize] += factor * table.use_weight[k];
            }
        }
        self.add_elements(table, x, scratch, buffers, values)
    }

    fn add_elements(
        &self,
        table: &GroupTable,
        x: &[f64],
        scratch: &mut crate::group_table::Scratch,
        buffers: &mut Buffers,
        values: &mut [f64],
    ) -> Evaluation {
        let all = table.carries_state();
        let mut rest = self.elements.as_slice();
        for element in 0..table.elements() {
            let (function, n, parameters) = table.element(element, x, scratch);
            let (places, others) = rest.split_at(n * (n + 1) / 2);
            rest = others;
            let weight = buffers.weights[element];
            if weight == 0.0 && !all {
                continue;
            }
            let (gradient, hessian) = (&mut buffers.gradient[..n], &mut buffers.hessian[..places.len()]);
            let result = function.hessian(&scratch.variables[..n], parameters, &mut scratch.element_work, gradient, hessian);
            table.blame_element(element, result)?;
            let variables = &table.variables[table.variables_at[element]..table.variables_at[element + 1]];
            let mut entries = places.iter().zip(hessian.iter());
            for i in 0..n {
                for (j, (&place, &entry)) in (0..=i).zip(entries.by_ref()) {
                    // A problem variable that stands for two elemental ones gets both of their mixed derivatives.
                    let twice = if i != j && variables[i] == variables[j] { 2.0 } else { 1.0 };
                    values[place] += weight * twice * entry;
                }
            }
        }
        Ok(())
    }
}

impl GroupTable {
    /// `g'(alpha)` and `g''(alpha)` of a row with a group type.
    fn group_curvature(&self, row: usize, alpha: f64, work: &mut [f64]) -> Evaluation<(f64, f64)> {
        let function = &self.functions.group_types[self.group_type[row] as usize];
        let (mut slope, mut curvature) = ([0.0], [0.0]);
        let result = function.hessian(&[alpha], self.parameters_of_row(row), work, &mut slope, &mut curvature);
        self.blame_row(row, result)?;
        Ok((slope[0], curvature[0]))
    }
}

impl Problem for WithHessian {
    fn meta(&self) -> &Meta {
        self.problem.meta()
    }
    fn objective(&mut self, x: &[f64]) -> Evaluation<f64> {
        self.problem.objective(x)
    }
    fn gradient(&mut self, x: &[f64], g: &mut [f64]) -> Evaluation {
        self.problem.gradient(x, g)
    }
    fn constraints(&mut self, x: &[f64], c: &mut [f64]) -> Evaluation {
        self.problem.constraints(x, c)
    }
    fn jacobian(&mut self, x: &[f64], values: &mut [f64]) -> Evaluation {
        self.problem.jacobian(x, values)
    }
    fn second_order(&mut self) -> Option<&mut dyn SecondOrder> {
        Some(self)
    }
}

impl SecondOrder for WithHessian {
    fn hessian_pattern(&self) -> &Pattern {
        &self.pattern
    }

    fn hessian(&mut self, x: &[f64], sigma: f64, y: &[f64], values: &mut [f64]) -> Evaluation {
        self.problem.check(x, values.len() + y.len(), self.pattern.len(0, 0) + self.problem.meta().m())?;
        values.fill(0.0);
        for (&place, &(.., h)) in self.quadratic.iter().zip(&self.problem.quadratic) {
            values[place] += sigma * h;
        }
        if sigma != 0.0 {
            self.objective.add(&mut self.problem.objective, x, |_| sigma, &mut self.buffers, values)?;
        }
        self.constraints.add(&mut self.problem.constraints, x, |row| y[row], &mut self.buffers, values)
    }
}
