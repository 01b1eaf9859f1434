//! The groups of the objective, or those of the constraints, in compact arrays.
//!
//! Group `i` is a row: `r_i(x) = s_i g_i(alpha_i)` with `alpha_i = sum_j w_ij f_j(x) + a_i'x - b_i`. Every element that a table
//! uses is evaluated once, whatever number of rows it appears in.

use std::sync::Arc;

use tangor_problem::{Evaluation, Failure};

use crate::fortran::Compiled;
use crate::model::{GroupKind, Model};
use crate::names::Names;

/// The functions of a file, compiled, and the names of what uses them.
#[derive(Debug)]
pub(crate) struct Functions {
    pub element_types: Vec<Compiled>,
    pub group_types: Vec<Compiled>,
    pub element_names: Names,
    pub group_names: Names,
}

/// Memory that one thread needs to evaluate an element or a group.
#[derive(Clone, Debug)]
pub(crate) struct Scratch {
    pub variables: Vec<f64>,
    /// For elements, which may find there what others left behind.
    pub element_work: Vec<f64>,
    pub group_work: Vec<f64>,
    /// For several elements at once.
    pub block: Vec<[f64; Compiled::BLOCK]>,
}

impl Scratch {
    pub fn new(functions: &Functions, widest: usize) -> Self {
        let work = |types: &[Compiled]| vec![0.0; types.iter().map(Compiled::scratch_len).max().unwrap_or(0)];
        let (element_work, group_work) = (work(&functions.element_types), work(&functions.group_types));
        let block = functions.element_types.iter().filter_map(Compiled::block_registers).max().unwrap_or(0);
        Scratch { variables: vec![0.0; widest], element_work, group_work, block: vec![[0.0; Compiled::BLOCK]; block] }
    }
}

/// The group has no type: `g(alpha) = alpha`.
pub(crate) const TRIVIAL: u32 = u32::MAX;

#[derive(Debug)]
pub(crate) struct GroupTable {
    pub functions: Arc<Functions>,

    // Elements, with offsets into their variables and parameters (one more offset than elements).
    /// The number of each in the file.
    pub element_number: Vec<u32>,
    pub element_type: Vec<u32>,
    pub variables_at: Vec<usize>,
    pub variables: Vec<u32>,
    pub parameters_at: Vec<usize>,
    pub parameters: Vec<f64>,

    // Rows, with offsets into what belongs to each (one more offset than rows).
    /// The number of the group of each in the file.
    pub group_number: Vec<u32>,
    pub scale: Vec<f64>,
    pub constant: Vec<f64>,
    pub group_type: Vec<u32>,
    pub group_parameters_at: Vec<usize>,
    pub group_parameters: Vec<f64>,
    pub linear_at: Vec<usize>,
    pub linear_column: Vec<u32>,
    pub linear_value: Vec<f64>,
    pub use_at: Vec<usize>,
    pub use_element: Vec<u32>,
    pub use_weight: Vec<f64>,
    /// What the elements add to a row of the Jacobian: where in the row, which entry of the gradients, and its weight.
    pub term_at: Vec<usize>,
    pub term_slot: Vec<u32>,
    pub term_source: Vec<u32>,
    pub term_weight: Vec<f64>,
    /// The Jacobian, row after row, columns in increasing order, with the linear coefficients as values.
    pub column_at: Vec<usize>,
    pub columns: Vec<u32>,
    pub linear_part: Vec<f64>,
}

impl GroupTable {
    /// Gathers the groups of the objective or, if not `objective`, those of the constraints.
    pub fn new(model: &Model, functions: Arc<Functions>, objective: bool) -> Self {
        let mut table = GroupTable::empty(functions);
        let mut row_of = vec![u32::MAX; model.groups.len()];
        for (number, group) in model.groups.iter().enumerate() {
            if (group.kind == GroupKind::Objective) == objective {
                row_of[number] = table.scale.len() as u32;
                table.group_number.push(number as u32);
                table.scale.push(group.scale);
                table.constant.push(group.constant);
                table.group_type.push(group.group_type.map_or(TRIVIAL, |number| number as u32));
                table.group_parameters.extend_from_slice(&group.parameters);
                table.group_parameters_at.push(table.group_parameters.len());
            }
        }
        table.add_linear(model, &row_of);
        table.add_uses(model, &row_of);
        table.fold_scale();
        table.add_pattern();
        table
    }

    /// A row without a group type takes its scale into its terms; what is left to multiply are rows with a type.
    fn fold_scale(&mut self) {
        for row in (0..self.scale.len()).filter(|&row| self.group_type[row] == TRIVIAL) {
            let scale = std::mem::replace(&mut self.scale[row], 1.0);
            self.constant[row] *= scale;
            self.linear_value[self.linear_at[row]..self.linear_at[row + 1]].iter_mut().for_each(|value| *value *= scale);
            self.use_weight[self.use_at[row]..self.use_at[row + 1]].iter_mut().for_each(|weight| *weight *= scale);
        }
    }

    fn empty(functions: Arc<Functions>) -> Self {
        GroupTable {
            functions,
            element_number: Vec::new(),
            element_type: Vec::new(),
            variables_at: vec![0],
            variables: Vec::new(),
            parameters_at: vec![0],
            parameters: Vec::new(),
            group_number: Vec::new(),
            scale: Vec::new(),
            constant: Vec::new(),
            group_type: Vec::new(),
            group_parameters_at: vec![0],
            group_parameters: Vec::new(),
            linear_at: vec![0],
            linear_column: Vec::new(),
            linear_value: Vec::new(),
            use_at: vec![0],
            use_element: Vec::new(),
            use_weight: Vec::new(),
            term_at: vec![0],
            term_slot: Vec::new(),
            term_source: Vec::new(),
            term_weight: Vec::new(),
            column_at: vec![0],
            columns: Vec::new(),
            linear_part: Vec::new(),
        }
    }

    /// Linear coefficients, sorted; those at the same place are added.
    fn add_linear(&mut self, model: &Model, row_of: &[u32]) {
        let mut entries: Vec<(u32, u32, f64)> = Vec::new();
        for &(group, variable, value) in &model.linear {
            if row_of[group as usize] != u32::MAX {
                entries.push((row_of[group as usize], variable, value));
            }
        }
        entries.sort_by_key(|&(row, variable, _)| (row, variable));
        entries.dedup_by(|next, kept| {
            let same = (next.0, next.1) == (kept.0, kept.1);
            if same {
                kept.2 += next.2;
            }
            same
        });
        for row in 0..self.scale.len() as u32 {
            let from = self.linear_column.len();
            for &(_, variable, value) in entries[from..].iter().take_while(|entry| entry.0 == row) {
                self.linear_column.push(variable);
                self.linear_value.push(value);
            }
            self.linear_at.push(self.linear_column.len());
        }
    }

    /// The elements that the rows use, each once. Those of a type stand together, so that they can be evaluated in blocks, unless
    /// the order of the file matters.
    fn add_uses(&mut self, model: &Model, row_of: &[u32]) {
        let mut uses: Vec<(u32, u32, f64)> = Vec::new();
        let mut element_of = vec![u32::MAX; model.elements.len()];
        for &(group, element, weight) in &model.uses {
            if row_of[group as usize] != u32::MAX {
                uses.push((row_of[group as usize], element, weight));
                element_of[element as usize] = 0;
            }
        }
        let mut order: Vec<usize> = (0..element_of.len()).filter(|&number| element_of[number] == 0).collect();
        if !self.carries_state() {
            order.sort_by_key(|&number| model.elements[number].element_type);
        }
        for number in order {
            element_of[number] = self.element_type.len() as u32;
            self.element_number.push(number as u32);
            self.element_type.push(model.elements[number].element_type as u32);
            self.variables.extend_from_slice(model.variables_of(number));
            self.variables_at.push(self.variables.len());
            self.parameters.extend_from_slice(model.parameters_of(number));
            self.parameters_at.push(self.parameters.len());
        }
        uses.sort_by_key(|&(row, ..)| row);
        for row in 0..self.scale.len() as u32 {
            let from = self.use_element.len();
            for &(_, element, weight) in uses[from..].iter().take_while(|entry| entry.0 == row) {
                self.use_element.push(element_of[element as usize]);
                self.use_weight.push(weight);
            }
            self.use_at.push(self.use_element.len());
        }
    }

    /// The pattern of the Jacobian, and where everything goes in it.
    fn add_pattern(&mut self) {
        let mut row_columns: Vec<u32> = Vec::new();
        for row in 0..self.scale.len() {
            row_columns.clear();
            let linear = &self.linear_column[self.linear_at[row]..self.linear_at[row + 1]];
            let uses = &self.use_element[self.use_at[row]..self.use_at[row + 1]];
            row_columns.extend_from_slice(linear);
            for &element in uses {
                let element = element as usize;
                row_columns.extend_from_slice(&self.variables[self.variables_at[element]..self.variables_at[element + 1]]);
            }
            row_columns.sort_unstable();
            row_columns.dedup();
            let slot = |column: &u32| row_columns.binary_search(column).map_or(u32::MAX, |slot| slot as u32);
            let from = self.linear_part.len();
            self.linear_part.resize(from + row_columns.len(), 0.0);
            for (column, value) in linear.iter().zip(&self.linear_value[self.linear_at[row]..]) {
                self.linear_part[from + slot(column) as usize] = *value;
            }
            for (&element, &weight) in uses.iter().zip(&self.use_weight[self.use_at[row]..]) {
                let sources = self.variables_at[element as usize]..self.variables_at[element as usize + 1];
                self.term_slot.extend(self.variables[sources.clone()].iter().map(slot));
                self.term_weight.extend(sources.clone().map(|_| weight));
                self.term_source.extend(sources.map(|source| source as u32));
            }
            self.term_at.push(self.term_slot.len());
            self.columns.extend_from_slice(&row_columns);
            self.column_at.push(self.columns.len());
        }
    }

    /// How many rows.
    pub fn rows(&self) -> usize {
        self.scale.len()
    }

    /// How many elements.
    pub fn elements(&self) -> usize {
        self.element_type.len()
    }

    /// How many variables the widest element has.
    pub fn widest(&self) -> usize {
        self.variables_at.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0)
    }

    /// True when elements may read what others left behind: then one thread evaluates all of them, in the order of the file.
    pub fn carries_state(&self) -> bool {
        self.functions.element_types.iter().any(Compiled::carries_state)
    }

    /// True when the row is a linear function.
    pub fn is_linear(&self, row: usize) -> bool {
        self.group_type[row] == TRIVIAL && self.use_at[row] == self.use_at[row + 1]
    }

    /// The function of an element, its variables gathered from `x` into `scratch`, and its parameters.
    pub fn element(&self, element: usize, x: &[f64], scratch: &mut Scratch) -> (&Compiled, usize, &[f64]) {
        let variables = &self.variables[self.variables_at[element]..self.variables_at[element + 1]];
        for (local, &variable) in scratch.variables.iter_mut().zip(variables) {
            *local = x[variable as usize];
        }
        let parameters = &self.parameters[self.parameters_at[element]..self.parameters_at[element + 1]];
        (&self.functions.element_types[self.element_type[element] as usize], variables.len(), parameters)
    }

    pub fn element_name(&self, element: usize) -> &str {
        self.functions.element_names.get(self.element_number[element] as usize)
    }

    pub fn row_name(&self, row: usize) -> &str {
        self.functions.group_names.get(self.group_number[row] as usize)
    }

    /// Names the element in a failure.
    pub fn blame_element<T>(&self, element: usize, result: Evaluation<T>) -> Evaluation<T> {
        result.map_err(|failure| blame(failure, "element", self.element_name(element)))
    }

    /// Names the group in a failure.
    pub fn blame_row<T>(&self, row: usize, result: Evaluation<T>) -> Evaluation<T> {
        result.map_err(|failure| blame(failure, "group", self.row_name(row)))
    }
}

fn blame(failure: Failure, what: &str, name: &str) -> Failure {
    match failure {
        Failure::Undefined(reason) => Failure::undefined(format!("{what} {name}: {reason}")),
        broken => broken,
    }
}
