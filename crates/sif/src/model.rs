//! What a file says, as plain data:
//!
//! ```text
//! group i:  s_i * g_i( sum_j w_ij f_j(x) + a_i'x - b_i )
//! ```
//!
//! Groups of kind `N` add up to the objective (with half the quadratic form `x'Hx`), all others are rows.

use serde::{Deserialize, Serialize};

use crate::fortran::TypeDeclaration;
use crate::names::Names;

/// What values a variable may take. Tangor treats every variable as a real one; the kind is only reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VariableKind {
    /// Any real number within the bounds.
    Real,
    /// Declared as an integer.
    Integer,
    /// Declared as 0 or 1.
    ZeroOne,
}

/// The kind of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GroupKind {
    /// `N`: part of the objective.
    Objective,
    /// `E`: equal to zero.
    Equal,
    /// `L`: at most zero.
    AtMost,
    /// `G`: at least zero.
    AtLeast,
}

impl GroupKind {
    pub fn named(letter: &str) -> Option<Self> {
        Some(match letter {
            "N" => GroupKind::Objective,
            "E" => GroupKind::Equal,
            "L" => GroupKind::AtMost,
            "G" => GroupKind::AtLeast,
            _ => return None,
        })
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Variable {
    pub lower: f64,
    pub upper: f64,
    pub start: f64,
    pub kind: VariableKind,
}

#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub kind: GroupKind,
    /// The group is multiplied by it: the inverse of what the file says.
    pub scale: f64,
    /// `b`, subtracted from the argument.
    pub constant: f64,
    /// The width of a range, if there is one.
    pub range: Option<f64>,
    /// Where its multiplier starts.
    pub multiplier: f64,
    /// None: trivial.
    pub group_type: Option<usize>,
    /// One for each parameter of the type; NaN until it has a value.
    pub parameters: Vec<f64>,
    /// Its linear part is a combination of those of these earlier groups.
    pub combination: Vec<(usize, f64)>,
    /// The line that defines it.
    pub line: usize,
}

#[derive(Clone, Debug)]
pub(crate) struct Element {
    pub element_type: usize,
    /// Where its variables begin in [`Model::element_variables`].
    pub variables_at: usize,
    /// Where its parameters begin in [`Model::element_parameters`].
    pub parameters_at: usize,
    /// The line that defines it.
    pub line: usize,
}

/// Types of elements or of groups.
#[derive(Debug, Default)]
pub(crate) struct Types {
    pub names: Names,
    pub list: Vec<TypeDeclaration>,
}

impl Types {
    /// Keeps some types; the result is the new number of each.
    fn keep(&mut self, needed: &[bool]) -> Vec<usize> {
        let numbers = needed.iter().scan(0, |next, &kept| Some(std::mem::replace(next, *next + usize::from(kept)))).collect();
        let mut kept = needed.iter();
        self.list.retain(|_| kept.next().copied().unwrap_or(true));
        self.names = Names::default();
        for declaration in &self.list {
            self.names.add(&declaration.name);
        }
        numbers
    }
}

/// No variable yet.
pub(crate) const UNASSIGNED: u32 = u32::MAX;

#[derive(Debug, Default)]
pub(crate) struct Model {
    pub name: String,
    pub variable_names: Names,
    pub variables: Vec<Variable>,
    pub group_names: Names,
    pub groups: Vec<Group>,
    /// Linear coefficients: group, variable, value. Equal places add up.
    pub linear: Vec<(u32, u32, f64)>,
    /// Coefficients of the quadratic part of the objective: variable, variable, value.
    pub quadratic: Vec<(u32, u32, f64)>,
    pub element_types: Types,
    pub element_names: Names,
    pub elements: Vec<Element>,
    pub element_variables: Vec<u32>,
    pub element_parameters: Vec<f64>,
    pub group_types: Types,
    /// Elements in groups: group, element, weight.
    pub uses: Vec<(u32, u32, f64)>,
    /// Known bounds of the objective.
    pub objective_lower: f64,
    pub objective_upper: f64,
}

impl Model {
    /// How many things are kept.
    pub fn size(&self) -> usize {
        self.variables.len()
            + self.groups.len()
            + self.linear.len()
            + self.quadratic.len()
            + self.elements.len()
            + self.element_variables.len()
            + self.element_parameters.len()
            + self.uses.len()
    }

    /// How much memory they take; what few files have many of is left out.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.variables)
            + size_of_val(&*self.groups)
            + size_of_val(&*self.linear)
            + size_of_val(&*self.quadratic)
            + size_of_val(&*self.elements)
            + size_of_val(&*self.element_variables)
            + size_of_val(&*self.element_parameters)
            + size_of_val(&*self.uses)
            + [&self.variable_names, &self.group_names, &self.element_names].map(Names::bytes).iter().sum::<usize>()
    }

    /// The problem variables of an element.
    pub fn variables_of(&self, element: usize) -> &[u32] {
        let Element { element_type, variables_at, .. } = self.elements[element];
        &self.element_variables[variables_at..variables_at + self.element_types.list[element_type].variables.len()]
    }

    /// The parameters of an element.
    pub fn parameters_of(&self, element: usize) -> &[f64] {
        let Element { element_type, parameters_at, .. } = self.elements[element];
        &self.element_parameters[parameters_at..parameters_at + self.element_types.list[element_type].parameters.len()]
    }

    /// Removes the types that no group needs; a file may declare types without functions.
    pub fn drop_unused_types(&mut self) {
        let mut needed = vec![false; self.element_types.list.len()];
        self.uses.iter().for_each(|&(_, element, _)| needed[self.elements[element as usize].element_type] = true);
        let numbers = self.element_types.keep(&needed);
        // The number of a type that is gone does not matter: its elements are in no group.
        self.elements.iter_mut().for_each(|element| element.element_type = numbers[element.element_type]);

        let mut needed = vec![false; self.group_types.list.len()];
        self.groups.iter().filter_map(|group| group.group_type).for_each(|number| needed[number] = true);
        let numbers = self.group_types.keep(&needed);
        self.groups.iter_mut().for_each(|group| group.group_type = group.group_type.map(|number| numbers[number]));
    }

    /// Adds the linear parts that are combinations of others, in the order of the file.
    pub fn finish_linear(&mut self) {
        if self.groups.iter().any(|group| !group.combination.is_empty()) {
            let mut rows: Vec<Vec<(u32, f64)>> = vec![Vec::new(); self.groups.len()];
            for &(group, variable, value) in &self.linear {
                rows[group as usize].push((variable, value));
            }
            for (target, group) in self.groups.iter().enumerate() {
                for &(source, factor) in &group.combination {
                    // A source stands before its target, so that its own combination is done.
                    let copied: Vec<_> = rows[source].iter().map(|&(variable, value)| (variable, value * factor)).collect();
                    self.linear.extend(copied.iter().map(|&(variable, value)| (target as u32, variable, value)));
                    rows[target].extend(copied);
                }
            }
        }
    }

    /// Rounds all data to eleven significant digits.
    ///
    /// The original decoder hands data on in a file that has so many. Numbers that are written in a card fit; those computed
    /// from parameters do not, and the collection's published values are those of the rounded data.
    pub fn round(&mut self) {
        for variable in &mut self.variables {
            [&mut variable.lower, &mut variable.upper, &mut variable.start].into_iter().for_each(round);
        }
        for group in &mut self.groups {
            [&mut group.scale, &mut group.constant, &mut group.multiplier].into_iter().for_each(round);
            group.range.iter_mut().chain(&mut group.parameters).for_each(round);
        }
        let weighted = [&mut self.linear, &mut self.quadratic, &mut self.uses];
        weighted.into_iter().flatten().for_each(|(.., value)| round(value));
        self.element_parameters.iter_mut().for_each(round);
    }
}

fn round(value: &mut f64) {
    // Whole numbers of moderate size, by far the most frequent, are what they are.
    if value.trunc() != *value || value.abs() >= 1e10 {
        *value = format!("{value:.10e}").parse().unwrap_or(*value);
    }
}
