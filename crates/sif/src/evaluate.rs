//! Evaluation of a table: first its elements, then its rows.
//!
//! Large tables are cut into as many pieces as there are lanes, always at the same places: the values do not depend on how many
//! threads take part.

use std::array::from_fn;

use tangor_problem::Evaluation;

use crate::fortran::Compiled;
use crate::group_table::{GroupTable, Scratch, TRIVIAL};

/// Fewer elements or rows than this are evaluated by one thread: to wake others would take longer.
const WORTH_SHARING: usize = 8192;

/// Into how many pieces a large table is cut; a power of two.
const LANES: usize = 32;

/// A table with the memory that its evaluation needs.
#[derive(Debug)]
pub(crate) struct Evaluator {
    pub table: GroupTable,
    /// `f_j`, one for each element.
    pub element_values: Vec<f64>,
    /// The gradients of the elements, one after the other.
    pub element_gradients: Vec<f64>,
    pub lanes: Vec<Scratch>,
}

impl Evaluator {
    pub fn new(table: GroupTable) -> Self {
        let alone = table.elements().max(table.rows()) < WORTH_SHARING || table.carries_state();
        let lanes = if alone { 1 } else { LANES };
        let scratch = Scratch::new(&table.functions, table.widest());
        Evaluator {
            element_values: vec![0.0; table.elements()],
            element_gradients: vec![0.0; table.variables.len()],
            lanes: vec![scratch; lanes],
            table,
        }
    }

    /// The values of all rows.
    pub fn values(&mut self, x: &[f64], rows: &mut [f64]) -> Evaluation {
        let lanes = shared(&mut self.lanes, self.table.elements());
        self.table.fill_elements(x, 0, &mut self.element_values, None, lanes)?;
        self.table.fill_rows(x, 0, &self.element_values, rows, shared(&mut self.lanes, self.table.rows()))
    }

    /// The gradients of all rows, in the order of the pattern.
    pub fn gradients(&mut self, x: &[f64], values: &mut [f64]) -> Evaluation {
        self.elements(x)?;
        let known = Known { x, values: &self.element_values, gradients: &self.element_gradients };
        self.table.fill_gradients(known, 0, self.table.rows(), values, shared(&mut self.lanes, self.table.rows()))
    }

    /// The values and the gradients of all rows, each element evaluated once.
    pub fn values_and_gradients(&mut self, x: &[f64], rows: &mut [f64], values: &mut [f64]) -> Evaluation {
        self.elements(x)?;
        let lanes = shared(&mut self.lanes, self.table.rows());
        self.table.fill_rows(x, 0, &self.element_values, rows, lanes)?;
        let known = Known { x, values: &self.element_values, gradients: &self.element_gradients };
        self.table.fill_gradients(known, 0, self.table.rows(), values, lanes)
    }

    /// The values and gradients of all elements.
    pub fn elements(&mut self, x: &[f64]) -> Evaluation {
        let gradients = Some(self.element_gradients.as_mut_slice());
        let lanes = shared(&mut self.lanes, self.table.elements());
        self.table.fill_elements(x, 0, &mut self.element_values, gradients, lanes)
    }
}

/// The lanes that so many elements or rows are worth.
fn shared(lanes: &mut [Scratch], work: usize) -> &mut [Scratch] {
    if work < WORTH_SHARING { &mut lanes[..1] } else { lanes }
}

/// What the rows are made of.
#[derive(Clone, Copy)]
struct Known<'a> {
    x: &'a [f64],
    values: &'a [f64],
    gradients: &'a [f64],
}

impl GroupTable {
    /// Evaluates the elements from `first` on, as many as `values` has room for.
    fn fill_elements(
        &self,
        x: &[f64],
        first: usize,
        values: &mut [f64],
        gradients: Option<&mut [f64]>,
        lanes: &mut [Scratch],
    ) -> Evaluation {
        if lanes.len() == 1 {
            return self.fill_elements_alone(x, first, values, gradients, &mut lanes[0]);
        }
        let middle = values.len() / 2;
        let cut = self.variables_at[first + middle] - self.variables_at[first];
        let (left_values, right_values) = values.split_at_mut(middle);
        let (left_gradients, right_gradients) = match gradients.map(|gradients| gradients.split_at_mut(cut)) {
            Some((left, right)) => (Some(left), Some(right)),
            None => (None, None),
        };
        let (left_lanes, right_lanes) = lanes.split_at_mut(lanes.len() / 2);
        let (left, right) = rayon::join(
            || self.fill_elements(x, first, left_values, left_gradients, left_lanes),
            || self.fill_elements(x, first + middle, right_values, right_gradients, right_lanes),
        );
        left.and(right)
    }

    fn fill_elements_alone(
        &self,
        x: &[f64],
        first: usize,
        values: &mut [f64],
        gradients: Option<&mut [f64]>,
        scratch: &mut Scratch,
    ) -> Evaluation {
        let mut gradients = gradients;
        let mut k = 0;
        while k < values.len() {
            let element = first + k;
            let block = self.block_at(element, first + values.len());
            let size = self.variables_at[element + block.max(1)] - self.variables_at[element];
            let own = gradients.take().map(|all| {
                let (own, others) = all.split_at_mut(size);
                gradients = Some(others);
                own
            });
            match block {
                0 => values[k] = self.fill_element(x, element, own, scratch)?,
                _ => self.fill_block(x, element, &mut values[k..k + block], own, scratch),
            }
            k += block.max(1);
        }
        Ok(())
    }

    fn fill_element(&self, x: &[f64], element: usize, gradient: Option<&mut [f64]>, scratch: &mut Scratch) -> Evaluation<f64> {
        let (function, n, parameters) = self.element(element, x, scratch);
        let (variables, work) = (&scratch.variables[..n], &mut scratch.element_work);
        let result = match gradient {
            Some(gradient) => function.gradient(variables, parameters, work, gradient),
            None => function.value(variables, parameters, work),
        };
        self.blame_element(element, result)
    }

    /// How many elements from this one on can be evaluated together: a full block of one type, or none.
    fn block_at(&self, element: usize, end: usize) -> usize {
        let (block, element_type) = (Compiled::BLOCK, self.element_type[element]);
        let full = element + block <= end && self.element_type[element..element + block].iter().all(|one| *one == element_type);
        let able = full && self.functions.element_types[element_type as usize].block_registers().is_some();
        if able { block } else { 0 }
    }

    /// Evaluates a block: gathers its variables and parameters, runs, and spreads the results.
    fn fill_block(&self, x: &[f64], element: usize, values: &mut [f64], gradients: Option<&mut [f64]>, scratch: &mut Scratch) {
        let function = &self.functions.element_types[self.element_type[element] as usize];
        let n = self.variables_at[element + 1] - self.variables_at[element];
        let p = self.parameters_at[element + 1] - self.parameters_at[element];
        let variables = &self.variables[self.variables_at[element]..self.variables_at[element + values.len()]];
        let parameters = &self.parameters[self.parameters_at[element]..self.parameters_at[element + values.len()]];
        let registers = scratch.block.as_mut_slice();
        for (i, register) in registers[..n].iter_mut().enumerate() {
            *register = from_fn(|k| x[variables[k * n + i] as usize]);
        }
        for (i, register) in registers[n..n + p].iter_mut().enumerate() {
            *register = from_fn(|k| parameters[k * p + i]);
        }
        let Some(results) = function.evaluate_block(gradients.is_some(), registers) else { return };
        values.copy_from_slice(results.values(registers));
        if let Some(gradients) = gradients {
            for (i, derivatives) in results.derivatives(registers).enumerate() {
                for (k, derivative) in derivatives.iter().enumerate() {
                    gradients[k * n + i] = *derivative;
                }
            }
        }
    }

    /// `alpha` of a row.
    pub fn argument(&self, row: usize, x: &[f64], element_values: &[f64]) -> f64 {
        let mut alpha = -self.constant[row];
        let linear = self.linear_at[row]..self.linear_at[row + 1];
        for (&column, value) in self.linear_column[linear.clone()].iter().zip(&self.linear_value[linear]) {
            alpha += value * x[column as usize];
        }
        let uses = self.use_at[row]..self.use_at[row + 1];
        for (&element, weight) in self.use_element[uses.clone()].iter().zip(&self.use_weight[uses]) {
            alpha += weight * element_values[element as usize];
        }
        alpha
    }

    fn fill_rows(
        &self,
        x: &[f64],
        first: usize,
        element_values: &[f64],
        rows: &mut [f64],
        lanes: &mut [Scratch],
    ) -> Evaluation {
        if lanes.len() > 1 {
            let middle = rows.len() / 2;
            let (left_rows, right_rows) = rows.split_at_mut(middle);
            let (left_lanes, right_lanes) = lanes.split_at_mut(lanes.len() / 2);
            let (left, right) = rayon::join(
                || self.fill_rows(x, first, element_values, left_rows, left_lanes),
                || self.fill_rows(x, first + middle, element_values, right_rows, right_lanes),
            );
            return left.and(right);
        }
        for (k, value) in rows.iter_mut().enumerate() {
            let row = first + k;
            let alpha = self.argument(row, x, element_values);
            *value = self.scale[row] * self.group_value(row, alpha, &mut lanes[0].group_work)?;
        }
        Ok(())
    }

    fn group_value(&self, row: usize, alpha: f64, work: &mut [f64]) -> Evaluation<f64> {
        match self.group_type[row] {
            TRIVIAL => Ok(alpha),
            number => {
                let function = &self.functions.group_types[number as usize];
                self.blame_row(row, function.value(&[alpha], self.parameters_of_row(row), work))
            }
        }
    }

    /// `g'(alpha)` of a row.
    pub fn group_slope(&self, row: usize, alpha: f64, work: &mut [f64]) -> Evaluation<f64> {
        match self.group_type[row] {
            TRIVIAL => Ok(1.0),
            number => {
                let function = &self.functions.group_types[number as usize];
                let mut slope = [0.0];
                self.blame_row(row, function.gradient(&[alpha], self.parameters_of_row(row), work, &mut slope))?;
                Ok(slope[0])
            }
        }
    }

    pub fn parameters_of_row(&self, row: usize) -> &[f64] {
        &self.group_parameters[self.group_parameters_at[row]..self.group_parameters_at[row + 1]]
    }

    fn fill_gradients(&self, known: Known, first: usize, last: usize, out: &mut [f64], lanes: &mut [Scratch]) -> Evaluation {
        if lanes.len() > 1 {
            let middle = first + (last - first) / 2;
            let (left_out, right_out) = out.split_at_mut(self.column_at[middle] - self.column_at[first]);
            let (left_lanes, right_lanes) = lanes.split_at_mut(lanes.len() / 2);
            let (left, right) = rayon::join(
                || self.fill_gradients(known, first, middle, left_out, left_lanes),
                || self.fill_gradients(known, middle, last, right_out, right_lanes),
            );
            return left.and(right);
        }
        out.copy_from_slice(&self.linear_part[self.column_at[first]..self.column_at[last]]);
        for row in first..last {
            let start = self.column_at[row] - self.column_at[first];
            let own = &mut out[start..][..self.column_at[row + 1] - self.column_at[row]];
            self.add_element_gradients(row, known.gradients, own);
            if self.group_type[row] != TRIVIAL {
                let alpha = self.argument(row, known.x, known.values);
                let factor = self.scale[row] * self.group_slope(row, alpha, &mut lanes[0].group_work)?;
                own.iter_mut().for_each(|entry| *entry *= factor);
            }
        }
        Ok(())
    }

    /// The gradient of `alpha` of a row.
    pub fn argument_gradient(&self, row: usize, element_gradients: &[f64], out: &mut [f64]) {
        out.copy_from_slice(&self.linear_part[self.column_at[row]..self.column_at[row + 1]]);
        self.add_element_gradients(row, element_gradients, out);
    }

    fn add_element_gradients(&self, row: usize, element_gradients: &[f64], out: &mut [f64]) {
        let terms = self.term_at[row]..self.term_at[row + 1];
        let sources = self.term_source[terms.clone()].iter().zip(&self.term_weight[terms.clone()]);
        for (&slot, (&source, weight)) in self.term_slot[terms].iter().zip(sources) {
            out[slot as usize] += weight * element_gradients[source as usize];
        }
    }
}
