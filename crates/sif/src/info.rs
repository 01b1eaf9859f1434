//! What a file is about, without its functions.

use std::collections::HashMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use tangor_problem::{INFINITE, count_of};

use crate::card::parse_number;
use crate::model::{Group, GroupKind, Model, VariableKind};
use crate::problem::row_bounds;
use crate::source::Line;

/// Whether a parameter is an integer or a real number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParameterKind {
    /// Set by an `IE` card.
    Integer,
    /// Set by an `RE` card.
    Real,
}

/// A parameter that a user may replace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: ParameterKind,
    /// The value that the file gives it: of several lines the last one counts.
    pub value: Option<f64>,
    /// The values that the file suggests, active or commented out, with what the file says about them.
    pub suggested: Vec<(f64, String)>,
    /// True when the file marks it with `$-PARAMETER`, which asks users to choose a value.
    pub marked: bool,
}

/// What a file is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Info {
    /// The name on the NAME card.
    pub name: String,
    /// The classification, such as `OOR2-AY-4-2`, if a comment gives it.
    pub classification: Option<String>,
    /// Variables.
    pub variables: usize,
    /// Variables with both bounds equal.
    pub fixed: usize,
    /// Variables with a finite lower bound, fixed ones not counted.
    pub lower_bounds: usize,
    /// Variables with a finite upper bound, fixed ones not counted.
    pub upper_bounds: usize,
    /// Variables declared as integers or as 0 or 1; they are treated as real ones.
    pub integers: usize,
    /// Rows.
    pub rows: usize,
    /// Rows that are equalities.
    pub equalities: usize,
    /// Rows with one finite bound.
    pub inequalities: usize,
    /// Rows with two finite bounds that differ.
    pub ranges: usize,
    /// Rows that are linear.
    pub linear_rows: usize,
    /// Groups that add up to the objective.
    pub objective_groups: usize,
    /// Nonlinear elements.
    pub elements: usize,
    /// Types of elements.
    pub element_types: usize,
    /// Types of groups.
    pub group_types: usize,
    /// Bounds of the objective that the file knows; infinite ones are absent.
    pub objective_bounds: (Option<f64>, Option<f64>),
    /// The parameters.
    pub parameters: Vec<Parameter>,
}

impl Info {
    pub(crate) fn new(model: &Model, lines: &[Line], parameters: Vec<Parameter>) -> Self {
        let count = |select: fn(f64, f64) -> bool| {
            model.variables.iter().filter(|variable| select(variable.lower, variable.upper)).count()
        };
        let rows: Vec<_> = model.groups.iter().filter(|group| group.kind != GroupKind::Objective).map(row_bounds).collect();
        let mut nonlinear = vec![false; model.groups.len()];
        model.uses.iter().for_each(|&(group, ..)| nonlinear[group as usize] = true);
        let linear = |(number, group): &(usize, &Group)| {
            group.kind != GroupKind::Objective && group.group_type.is_none() && !nonlinear[*number]
        };
        Info {
            name: model.name.clone(),
            classification: lines.iter().find_map(classification),
            variables: model.variables.len(),
            fixed: count(|lower, upper| lower == upper),
            lower_bounds: count(|lower, upper| lower > -INFINITE && lower != upper),
            upper_bounds: count(|lower, upper| upper < INFINITE && lower != upper),
            integers: model.variables.iter().filter(|variable| variable.kind != VariableKind::Real).count(),
            rows: rows.len(),
            equalities: rows.iter().filter(|(lower, upper)| lower == upper).count(),
            inequalities: rows.iter().filter(|(lower, upper)| (upper - lower).is_infinite()).count(),
            ranges: rows.iter().filter(|(lower, upper)| lower < upper && (upper - lower).is_finite()).count(),
            linear_rows: model.groups.iter().enumerate().filter(linear).count(),
            objective_groups: model.groups.len() - rows.len(),
            elements: model.elements.len(),
            element_types: model.element_types.list.len(),
            group_types: model.group_types.list.len(),
            objective_bounds: (finite(model.objective_lower), finite(model.objective_upper)),
            parameters,
        }
    }
}

fn finite(bound: f64) -> Option<f64> {
    (bound.abs() < INFINITE).then_some(bound)
}

/// `*   classification OOR2-AY-4-2`
fn classification(line: &Line) -> Option<String> {
    let mut words = line.text.strip_prefix('*')?.split_whitespace();
    words.find(|word| word.eq_ignore_ascii_case("classification"))?;
    words.find(|word| word.contains('-')).map(String::from)
}

/// The parameters that `IE` and `RE` cards set, in the order of the file; those marked `$-PARAMETER` come with all
/// suggestions, also the ones that are commented out.
pub(crate) fn parameters(lines: &[Line]) -> Vec<Parameter> {
    let mut found: Vec<Parameter> = Vec::new();
    let mut numbers: HashMap<(&str, ParameterKind), usize> = HashMap::new();
    for line in lines {
        let (active, body) = match line.text.strip_prefix('*') {
            Some(body) => (false, body),
            None => (true, line.text.get(1..).unwrap_or("")),
        };
        let kind = match body.get(..2) {
            Some("IE") => ParameterKind::Integer,
            Some("RE") => ParameterKind::Real,
            _ => continue,
        };
        let (data, comment) = body.split_once('$').unwrap_or((body, ""));
        let marked = comment.trim_start_matches('-').starts_with("PARAMETER");
        let value = data.get(23..data.len().min(35)).and_then(parse_number);
        let name = data.get(3..data.len().min(13)).unwrap_or("").trim_end();
        if name.is_empty() || !(active || marked) {
            continue;
        }
        let number = *numbers.entry((name, kind)).or_insert_with(|| {
            found.push(Parameter { name: name.to_string(), kind, value: None, suggested: Vec::new(), marked: false });
            found.len() - 1
        });
        let parameter = &mut found[number];
        parameter.marked |= marked;
        if active {
            parameter.value = value;
        }
        if let (true, Some(value)) = (marked, value) {
            let remark = comment.trim_start_matches('-').trim_start_matches("PARAMETER").trim();
            parameter.suggested.push((value, remark.to_string()));
        }
    }
    found
}

impl fmt::Display for Info {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let class = self.classification.as_deref().unwrap_or("not given");
        writeln!(out, "{}   classification {class}", self.name)?;
        let Info { variables, fixed, lower_bounds, upper_bounds, .. } = self;
        writeln!(
            out,
            "variables   {variables}: {fixed} fixed, {lower_bounds} with lower bounds, {upper_bounds} with upper bounds"
        )?;
        if self.integers > 0 {
            writeln!(out, "            {} declared as integers, treated as real", self.integers)?;
        }
        let Info { rows, equalities, inequalities, ranges, linear_rows, .. } = self;
        writeln!(
            out,
            "rows        {rows}: {equalities} equalities, {inequalities} inequalities, {ranges} ranges; {linear_rows} linear"
        )?;
        match self.objective_groups {
            0 => writeln!(out, "objective   no groups")?,
            groups => writeln!(out, "objective   {}", count_of(groups, "group"))?,
        }
        writeln!(
            out,
            "functions   {} elements of {} types, {} group types",
            self.elements, self.element_types, self.group_types
        )?;
        let marked: Vec<&Parameter> = self.parameters.iter().filter(|parameter| parameter.marked).collect();
        for parameter in marked {
            let value = parameter.value.map_or("none".to_string(), |value| value.to_string());
            let suggested: Vec<String> = parameter.suggested.iter().map(|(value, _)| value.to_string()).collect();
            writeln!(out, "parameter   {} = {value}, suggested: {}", parameter.name, suggested.join(", "))?;
        }
        Ok(())
    }
}
