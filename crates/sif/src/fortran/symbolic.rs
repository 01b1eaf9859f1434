//! A type whose cards are straight-line arithmetic on scalars, as a graph and then a tape.

use std::collections::{HashMap, HashSet};

use super::expression::{Argument, Expression};
use super::part::{Entry, Individual, Part, Step};
use super::range::{Range, packed};
use super::text::{Fault, Name, Parsed};
use super::typing::{Emitter, Kind, Value, convert, emit, emit_condition, emit_number, place_of};
use super::{Derivatives, TypeDeclaration};
use tangor_expression::derive::{Allowance, Derivatives as Differentiation, TooLarge, add};
use tangor_expression::{Binary, Unary};
use tangor_expression::{Graph, NodeId};
use tangor_expression::{Results, Tape};

/// Types with more variables than this have no second derivatives.
const MOST_CURVED: usize = 2000;

#[derive(Clone, Copy)]
struct Symbol {
    kind: Kind,
    value: Option<NodeId>,
}

/// The values of names while the cards are followed.
struct Symbolic<'a> {
    graph: Graph,
    symbols: HashMap<String, Symbol>,
    /// Arrays and external functions.
    others: &'a HashSet<String>,
    /// The cards need more than straight-line arithmetic.
    beyond: bool,
}

/// The tape of a type; nothing when its cards need the machine: arrays, external functions, or values that an evaluation of
/// another element left behind.
pub(super) fn tape(
    part: &Part,
    individual: &Individual,
    declaration: &TypeDeclaration,
    range: &Range,
    others: &HashSet<String>,
    derivatives: Derivatives,
) -> Parsed<Option<Tape>> {
    let mut symbolic = Symbolic { graph: Graph::default(), symbols: HashMap::new(), others, beyond: false };
    symbolic.declare(part, declaration, range);
    for step in &part.globals {
        symbolic.assign(step)?;
    }
    let coded = symbolic.follow(individual, range)?;
    if symbolic.beyond {
        return Ok(None);
    }
    let graph = &mut symbolic.graph;
    let inputs = declaration.variables.len() + declaration.parameters.len();
    let results = complete(graph, coded, range, derivatives);
    Ok(results.ok().map(|results| Tape::new(graph, inputs, &results)))
}

/// What the cards give: derivatives with respect to the internal variables.
struct Coded {
    value: NodeId,
    gradient: Option<Vec<Option<NodeId>>>,
    hessian: Option<Vec<Option<NodeId>>>,
}

impl Symbolic<'_> {
    fn declare(&mut self, part: &Part, declaration: &TypeDeclaration, range: &Range) {
        for temporary in &part.temporaries {
            if temporary.dimensions.is_empty() {
                self.symbols.insert(temporary.name.text.clone(), Symbol { kind: temporary.kind, value: None });
            }
        }
        let inputs = declaration.variables.iter().chain(&declaration.parameters);
        for (i, name) in inputs.enumerate() {
            let value = Some(self.graph.input(i as u32));
            self.symbols.insert(name.to_ascii_uppercase(), Symbol { kind: Kind::Real, value });
        }
        for (row, name) in range.rows.iter().zip(&declaration.internals) {
            let value = Some(combination(&mut self.graph, row));
            self.symbols.insert(name.to_ascii_uppercase(), Symbol { kind: Kind::Real, value });
        }
    }

    fn assign(&mut self, step: &Step) -> Parsed<()> {
        let name = match &step.target {
            Expression::Name(name) => name,
            Expression::Apply(name, _) if self.others.contains(&name.text) => {
                self.beyond = true;
                return Ok(());
            }
            Expression::Apply(name, _) => return Err(Fault::new(name.place, format!("{} is not an array", name.text))),
            _ => return Ok(()),
        };
        let value = emit(self, &step.value)?;
        let kind = self.symbols.get(&name.text).map_or(Kind::implicit(&name.text), |symbol| symbol.kind);
        let mut node = convert(self, value, kind, name.place)?;
        if let Some((condition, sense)) = &step.guard {
            let condition = emit_condition(self, condition)?;
            let unset = self.graph.constant(0.0);
            let old = self.symbols.get(&name.text).and_then(|symbol| symbol.value).unwrap_or(unset);
            let (then, otherwise) = if *sense { (node, old) } else { (old, node) };
            node = self.graph.select(condition, then, otherwise);
        }
        self.symbols.insert(name.text.clone(), Symbol { kind, value: Some(node) });
        Ok(())
    }

    fn follow(&mut self, individual: &Individual, range: &Range) -> Parsed<Coded> {
        let count = range.names.len();
        let mut value = None;
        let mut gradient = None;
        let mut hessian = None;
        for entry in &individual.entries {
            match entry {
                Entry::Assign(step) => self.assign(step)?,
                Entry::Value(expression) => value = Some(emit_number(self, expression)?),
                Entry::Gradient(name, expression) => {
                    let at = range.index(name.as_ref(), place_of(expression))?;
                    let node = emit_number(self, expression)?;
                    gradient.get_or_insert_with(|| vec![None; count])[at] = Some(node);
                }
                Entry::Hessian(names, expression) => {
                    let at = range.pair(names.as_ref(), place_of(expression))?;
                    let node = emit_number(self, expression)?;
                    hessian.get_or_insert_with(|| vec![None; count * (count + 1) / 2])[at] = Some(node);
                }
            }
        }
        let message = || format!("type {} has no F card, which gives its value", individual.name);
        let value = value.ok_or_else(|| Fault::new(individual.place, message()))?;
        Ok(Coded { value, gradient, hessian })
    }
}

impl Emitter for Symbolic<'_> {
    fn constant(&mut self, value: f64) -> u32 {
        self.graph.constant(value)
    }
    fn known(&self, handle: u32) -> Option<f64> {
        self.graph.known(handle)
    }
    fn unary(&mut self, operation: Unary, a: u32) -> u32 {
        self.graph.unary(operation, a)
    }
    fn binary(&mut self, operation: Binary, a: u32, b: u32) -> u32 {
        self.graph.binary(operation, a, b)
    }
    fn select(&mut self, condition: u32, a: u32, b: u32) -> u32 {
        self.graph.select(condition, a, b)
    }

    fn variable(&mut self, name: &Name) -> Parsed<Value> {
        match self.symbols.get(&name.text) {
            Some(&Symbol { kind, value: Some(handle) }) => Ok(Value { handle, kind }),
            Some(&Symbol { kind, value: None }) => {
                self.beyond = true;
                Ok(Value { handle: self.graph.constant(0.0), kind })
            }
            None if self.others.contains(&name.text) => {
                self.beyond = true;
                Ok(Value { handle: self.graph.constant(0.0), kind: Kind::implicit(&name.text) })
            }
            None => Err(unknown(name)),
        }
    }

    fn apply(&mut self, name: &Name, _arguments: &[Argument]) -> Parsed<Option<Value>> {
        if !self.others.contains(&name.text) {
            return Ok(None);
        }
        self.beyond = true;
        let kind = self.symbols.get(&name.text).map_or(Kind::Real, |symbol| symbol.kind);
        Ok(Some(Value { handle: self.graph.constant(0.0), kind }))
    }
}

/// The fault of a name that nothing declares.
pub(super) fn unknown(name: &Name) -> Fault {
    Fault::new(name.place, format!("{} is not a variable, a parameter or a temporary that has a value here", name.text))
}

// Fills in by differentiation what the cards do not give, and goes from internal to elemental variables. Without a gradient
// there is no tape, but without a Hessian there is one.
fn complete(graph: &mut Graph, coded: Coded, range: &Range, derivatives: Derivatives) -> Result<Results, TooLarge> {
    let as_coded = derivatives == Derivatives::Coded;
    let gradient = match coded.gradient.filter(|_| as_coded) {
        Some(gradient) => transform_gradient(graph, range, &gradient),
        None => first_derivatives(graph, coded.value, range.columns)?,
    };
    let hessian = match coded.hessian.filter(|_| as_coded) {
        Some(hessian) => Some(transform_hessian(graph, range, &hessian)),
        None => second_derivatives(graph, coded.value, range.columns).ok(),
    };
    Ok(Results { value: coded.value, gradient, hessian })
}

fn first_derivatives(graph: &mut Graph, value: NodeId, count: usize) -> Result<Vec<Option<NodeId>>, TooLarge> {
    let mut allowance = Allowance::default();
    let mut gradient = Vec::with_capacity(count);
    for i in 0..count {
        let variable = graph.input(i as u32);
        gradient.push(Differentiation::new(variable).of(graph, value, &mut allowance)?);
    }
    Ok(gradient)
}

fn second_derivatives(graph: &mut Graph, value: NodeId, count: usize) -> Result<Vec<Option<NodeId>>, TooLarge> {
    if count > MOST_CURVED {
        return Err(TooLarge);
    }
    let gradient = first_derivatives(graph, value, count)?;
    let mut allowance = Allowance::default();
    let mut hessian = vec![None; count * (count + 1) / 2];
    for j in 0..count {
        let variable = graph.input(j as u32);
        let mut differentiation = Differentiation::new(variable);
        for (i, slope) in gradient.iter().enumerate().skip(j) {
            if let Some(slope) = *slope {
                hessian[packed(i, j)] = differentiation.of(graph, slope, &mut allowance)?;
            }
        }
    }
    Ok(hessian)
}

fn combination(graph: &mut Graph, row: &[(usize, f64)]) -> NodeId {
    let mut sum = None;
    for &(column, coefficient) in row {
        let input = graph.input(column as u32);
        let term = scale(graph, input, coefficient);
        sum = add(graph, sum, Some(term));
    }
    sum.unwrap_or_else(|| graph.constant(0.0))
}

fn scale(graph: &mut Graph, node: NodeId, coefficient: f64) -> NodeId {
    let factor = graph.constant(coefficient);
    graph.binary(Binary::Multiply, factor, node)
}

// W' g
fn transform_gradient(graph: &mut Graph, range: &Range, gradient: &[Option<NodeId>]) -> Vec<Option<NodeId>> {
    if range.is_identity() {
        return gradient.to_vec();
    }
    let mut transformed = vec![None; range.columns];
    for (row, slope) in range.rows.iter().zip(gradient) {
        let Some(slope) = *slope else { continue };
        for &(column, coefficient) in row {
            let term = scale(graph, slope, coefficient);
            transformed[column] = add(graph, transformed[column], Some(term));
        }
    }
    transformed
}

// W' H W, lower triangle
fn transform_hessian(graph: &mut Graph, range: &Range, hessian: &[Option<NodeId>]) -> Vec<Option<NodeId>> {
    if range.is_identity() {
        return hessian.to_vec();
    }
    let mut transformed = vec![None; range.columns * (range.columns + 1) / 2];
    range.each_coefficient(|entry, place, coefficient| {
        if let Some(node) = hessian[entry] {
            let term = scale(graph, node, coefficient);
            transformed[place] = add(graph, transformed[place], Some(term));
        }
    });
    transformed
}
