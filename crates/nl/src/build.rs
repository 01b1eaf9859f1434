//! From the formulas of a file to a graph.

use tangor_expression::{Binary, Graph, NodeId, Unary};

use crate::error::Complaint;
use crate::model::{Function, Model, Pieces, Token};
use crate::opcode::Opcode;

/// Powers with an exponent of at most this size are products.
const LARGEST_PRODUCT: f64 = 64.0;
/// More operands than this cannot be compared with each other one by one.
const MOST_COMPARED: usize = 1000;

/// The nodes of a model's functions.
pub(crate) struct Builder<'a> {
    model: &'a Model,
    pub graph: Graph,
    /// The nodes of the variables and of the defined variables; the latter when they are first wanted.
    variables: Vec<NodeId>,
    definitions: Vec<Option<NodeId>>,
    stack: Vec<NodeId>,
}

impl<'a> Builder<'a> {
    pub fn new(model: &'a Model) -> Self {
        // Equal formulas are one node: there are usually fewer nodes than tokens.
        let mut graph = Graph::with_capacity(model.header.variables + model.tokens.len() / 2);
        let variables = (0..model.header.variables as u32).map(|j| graph.input(j)).collect();
        Builder { model, graph, variables, definitions: vec![None; model.definitions.len()], stack: Vec::new() }
    }

    /// The node of the nonlinear part of a function; nothing where it is empty.
    pub fn nonlinear(&mut self, function: &Function) -> Result<Option<NodeId>, Complaint> {
        if function.formula.is_empty() {
            return Ok(None);
        }
        self.define(function)?;
        self.formula(function).map(Some)
    }

    // Defines what a formula needs: the definitions that it names have been read before it, and so on down to the variables.
    fn define(&mut self, function: &Function) -> Result<(), Complaint> {
        let model = self.model;
        let n = model.header.variables;
        let wanted = |function: &Function, definitions: &[Option<NodeId>]| {
            let linear = function.linear.iter().map(|&(j, _)| j);
            let inside = model.tokens[function.formula.clone()].iter().filter_map(|token| match token {
                Token::Variable(j) => Some(*j),
                _ => None,
            });
            let missing = |j: u32| (j as usize).checked_sub(n).filter(|&k| definitions[k].is_none());
            linear.chain(inside).filter_map(missing).collect::<Vec<_>>()
        };
        let mut stack = wanted(function, &self.definitions);
        while let Some(&k) = stack.last() {
            let needed = match self.definitions[k] {
                Some(_) => Vec::new(),
                None => wanted(&model.definitions[k], &self.definitions),
            };
            if !needed.is_empty() {
                stack.extend(needed);
                continue;
            }
            stack.pop();
            if self.definitions[k].is_none() {
                self.definitions[k] = Some(self.defined(&model.definitions[k])?);
            }
        }
        Ok(())
    }

    // The linear part of a defined variable and its formula.
    fn defined(&mut self, function: &Function) -> Result<NodeId, Complaint> {
        let mut sum = None;
        for &(j, coefficient) in &function.linear {
            let factor = self.graph.constant(coefficient);
            let variable = self.variable(j);
            let term = self.graph.binary(Binary::Multiply, factor, variable);
            sum = Some(sum.map_or(term, |sum| self.graph.binary(Binary::Add, sum, term)));
        }
        let formula = if function.formula.is_empty() { None } else { Some(self.formula(function)?) };
        Ok(match (sum, formula) {
            (Some(sum), Some(formula)) => self.graph.binary(Binary::Add, sum, formula),
            (Some(node), None) | (None, Some(node)) => node,
            (None, None) => self.graph.constant(0.0),
        })
    }

    fn variable(&mut self, j: u32) -> NodeId {
        let j = j as usize;
        match j.checked_sub(self.variables.len()) {
            None => self.variables[j],
            // `define` has been here.
            Some(k) => self.definitions[k].unwrap_or_else(|| self.graph.constant(f64::NAN)),
        }
    }

    // A prefix form read from its end: operands come before their operation, the first one on top of the stack.
    fn formula(&mut self, function: &Function) -> Result<NodeId, Complaint> {
        let model = self.model;
        let mut stack = std::mem::take(&mut self.stack);
        stack.clear();
        for token in model.tokens[function.formula.clone()].iter().rev() {
            let node = match *token {
                Token::Number(value) => self.graph.constant(value),
                Token::Variable(j) => self.variable(j),
                Token::Apply(opcode, count) => {
                    let start = stack.len().saturating_sub(count as usize);
                    let node = self.apply(opcode, &stack[start..])?;
                    stack.truncate(start);
                    node
                }
                Token::Piecewise(k) => {
                    let operand = stack.pop().unwrap_or_default();
                    self.piecewise(&model.pieces[k as usize], operand)
                }
            };
            stack.push(node);
        }
        let node = stack.pop().unwrap_or_default();
        self.stack = stack;
        Ok(node)
    }

    // The operands stand in reverse order.
    fn apply(&mut self, opcode: Opcode, operands: &[NodeId]) -> Result<NodeId, Complaint> {
        use Opcode::*;
        let a = operands.last().copied().unwrap_or_default();
        let b = operands.iter().rev().nth(1).copied().unwrap_or_default();
        let graph = &mut self.graph;
        if let Some(operation) = unary(opcode) {
            return Ok(graph.unary(operation, a));
        }
        if let Some(operation) = binary(opcode) {
            return Ok(graph.binary(operation, a, b));
        }
        let first = operands.iter().rev().copied();
        Ok(match opcode {
            Power => power(graph, a, b),
            Square => graph.unary(Unary::Power(2), a),
            AtLeast | CountAtMost => graph.binary(Binary::LessEqual, b, a),
            Above => graph.binary(Binary::Less, b, a),
            If | Implication => graph.select(a, b, operands[0]),
            Sum => fold(graph, Binary::Add, first),
            Minimum => fold(graph, Binary::Minimum, first),
            Maximum => fold(graph, Binary::Maximum, first),
            AllOf => fold(graph, Binary::And, first),
            AnyOf => fold(graph, Binary::Or, first),
            Precision | Round | Truncate => digits(graph, opcode, a, b),
            Count => {
                let truths: Vec<_> = first.map(|operand| truth(graph, operand)).collect();
                fold(graph, Binary::Add, truths.into_iter())
            }
            NumberOf => {
                let equal: Vec<_> = first.skip(1).map(|operand| graph.binary(Binary::Equal, a, operand)).collect();
                if equal.is_empty() { graph.constant(0.0) } else { fold(graph, Binary::Add, equal.into_iter()) }
            }
            CountNotAtLeast => graph.binary(Binary::Less, b, a),
            CountNotAtMost => graph.binary(Binary::Less, a, b),
            Equivalent => {
                let (left, right) = (truth(graph, a), truth(graph, b));
                graph.binary(Binary::Equal, left, right)
            }
            AllDifferent => all_different(graph, operands)?,
            SomeSame => {
                let different = all_different(graph, operands)?;
                graph.unary(Unary::Not, different)
            }
            Logistic => {
                let minus = graph.unary(Unary::Negative, a);
                let exponential = graph.unary(Unary::Exponential, minus);
                let one = graph.constant(1.0);
                let below = graph.binary(Binary::Add, one, exponential);
                graph.binary(Binary::Divide, one, below)
            }
            SignPower | SignSquare => {
                let size = graph.unary(Unary::Absolute, a);
                let exponent = if opcode == SignSquare { graph.constant(2.0) } else { b };
                let power = power(graph, size, exponent);
                graph.binary(Binary::Sign, power, a)
            }
            // The others have one operation of the graph each.
            _ => a,
        })
    }

    // Slope after slope, so that the function is zero at zero; at a breakpoint the piece on the side of zero counts.
    fn piecewise(&mut self, pieces: &Pieces, operand: NodeId) -> NodeId {
        let graph = &mut self.graph;
        let Pieces { slopes, breakpoints } = pieces;
        // The value of each piece at zero, as if it went on to there: slopes change at breakpoints on the way from the middle piece.
        let middle = breakpoints.iter().take_while(|&&breakpoint| breakpoint <= 0.0).count();
        let mut offsets = vec![0.0; slopes.len()];
        for k in middle..breakpoints.len() {
            offsets[k + 1] = offsets[k] + (slopes[k] - slopes[k + 1]) * breakpoints[k];
        }
        for k in (0..middle).rev() {
            offsets[k] = offsets[k + 1] + (slopes[k + 1] - slopes[k]) * breakpoints[k];
        }
        let piece = |graph: &mut Graph, k: usize| {
            let (slope, offset) = (graph.constant(slopes[k]), graph.constant(offsets[k]));
            let product = graph.binary(Binary::Multiply, slope, operand);
            graph.binary(Binary::Add, product, offset)
        };
        let mut result = piece(graph, slopes.len() - 1);
        for k in (0..breakpoints.len()).rev() {
            let breakpoint = graph.constant(breakpoints[k]);
            let comparison = if breakpoints[k] > 0.0 { Binary::LessEqual } else { Binary::Less };
            let before = graph.binary(comparison, operand, breakpoint);
            let value = piece(graph, k);
            result = graph.select(before, value, result);
        }
        result
    }
}

fn unary(opcode: Opcode) -> Option<Unary> {
    Some(match opcode {
        Opcode::Floor => Unary::Floor,
        Opcode::Ceiling => Unary::Ceiling,
        Opcode::Absolute => Unary::Absolute,
        Opcode::Negative => Unary::Negative,
        Opcode::Not => Unary::Not,
        Opcode::HyperbolicTangent => Unary::HyperbolicTangent,
        Opcode::Tangent => Unary::Tangent,
        Opcode::SquareRoot => Unary::SquareRoot,
        Opcode::HyperbolicSine => Unary::HyperbolicSine,
        Opcode::Sine => Unary::Sine,
        Opcode::Logarithm10 => Unary::Logarithm10,
        Opcode::Logarithm => Unary::Logarithm,
        Opcode::Exponential => Unary::Exponential,
        Opcode::HyperbolicCosine => Unary::HyperbolicCosine,
        Opcode::Cosine => Unary::Cosine,
        Opcode::AreaTangent => Unary::AreaTangent,
        Opcode::ArcTangent => Unary::ArcTangent,
        Opcode::AreaSine => Unary::AreaSine,
        Opcode::ArcSine => Unary::ArcSine,
        Opcode::AreaCosine => Unary::AreaCosine,
        Opcode::ArcCosine => Unary::ArcCosine,
        _ => return None,
    })
}

fn binary(opcode: Opcode) -> Option<Binary> {
    Some(match opcode {
        Opcode::Plus => Binary::Add,
        Opcode::Minus => Binary::Subtract,
        Opcode::Times => Binary::Multiply,
        Opcode::Divide => Binary::Divide,
        Opcode::Remainder => Binary::Remainder,
        Opcode::Less => Binary::PositiveDifference,
        Opcode::Or => Binary::Or,
        Opcode::And => Binary::And,
        Opcode::Below => Binary::Less,
        Opcode::AtMost | Opcode::CountAtLeast => Binary::LessEqual,
        Opcode::Equal | Opcode::CountExactly => Binary::Equal,
        Opcode::NotEqual | Opcode::CountNotExactly => Binary::NotEqual,
        Opcode::ArcTangent2 => Binary::ArcTangent2,
        Opcode::IntegerDivide => Binary::IntegerDivide,
        _ => return None,
    })
}

fn fold(graph: &mut Graph, operation: Binary, operands: impl Iterator<Item = NodeId>) -> NodeId {
    let folded = operands.reduce(|left, right| graph.binary(operation, left, right));
    // An operation has at least one operand.
    folded.unwrap_or_default()
}

// 1 where a number is not 0.
fn truth(graph: &mut Graph, a: NodeId) -> NodeId {
    let zero = graph.constant(0.0);
    graph.binary(Binary::NotEqual, a, zero)
}

fn power(graph: &mut Graph, a: NodeId, b: NodeId) -> NodeId {
    match graph.known(b) {
        Some(exponent) if exponent.fract() == 0.0 && exponent.abs() <= LARGEST_PRODUCT => {
            graph.unary(Unary::Power(exponent as i32), a)
        }
        Some(0.5) => graph.unary(Unary::SquareRoot, a),
        _ => graph.binary(Binary::Power, a, b),
    }
}

// Rounding to digits after the point (or to digits in all, for the precision): rounding a multiple by a power of ten.
fn digits(graph: &mut Graph, opcode: Opcode, a: NodeId, count: NodeId) -> NodeId {
    let operation = if opcode == Opcode::Truncate { Unary::Truncate } else { Unary::Round };
    let count = match opcode {
        Opcode::Precision => {
            let size = graph.unary(Unary::Absolute, a);
            let logarithm = graph.unary(Unary::Logarithm10, size);
            let leading = graph.unary(Unary::Floor, logarithm);
            let one = graph.constant(1.0);
            let after = graph.binary(Binary::Subtract, count, leading);
            graph.binary(Binary::Subtract, after, one)
        }
        _ => graph.unary(Unary::Truncate, count),
    };
    let ten = graph.constant(10.0);
    let scale = graph.binary(Binary::Power, ten, count);
    let multiple = graph.binary(Binary::Multiply, a, scale);
    let rounded = graph.unary(operation, multiple);
    let result = graph.binary(Binary::Divide, rounded, scale);
    if opcode != Opcode::Precision {
        return result;
    }
    // Zero has no leading digit.
    let zero = graph.constant(0.0);
    let is_zero = graph.binary(Binary::Equal, a, zero);
    graph.select(is_zero, zero, result)
}

fn all_different(graph: &mut Graph, operands: &[NodeId]) -> Result<NodeId, Complaint> {
    if operands.len() > MOST_COMPARED {
        let count = operands.len();
        return Err(Complaint::whole(format!(
            "{count} operands are to be all different, and at most {MOST_COMPARED} can be compared"
        )));
    }
    let mut result = graph.constant(1.0);
    for (i, &a) in operands.iter().enumerate() {
        for &b in &operands[..i] {
            let differ = graph.binary(Binary::NotEqual, a, b);
            result = graph.binary(Binary::And, result, differ);
        }
    }
    Ok(result)
}
