//! Derivatives of a graph, as more nodes of the same graph.
//!
//! Forward, one variable at a time: a branch that is not taken is left out by a selection, so that its infinite derivative
//! never meets a zero, as it would in reverse. Elements have few variables, and equal subexpressions are shared.

use crate::graph::{Graph, Node, NodeId};
use crate::operation::{Binary, Unary};
use crate::special::TWO_OVER_ROOT_PI;

/// Beyond this many nodes differentiation is given up.
const MOST_NODES: usize = 200_000;
/// Beyond this many visits of a node, too.
const MOST_VISITS: usize = 20_000_000;

/// The derivatives in one variable that were found so far.
#[derive(Debug)]
pub struct Derivatives {
    /// The node of the variable.
    variable: NodeId,
    /// For each node: nothing, zero, or a node.
    found: Vec<Option<Option<NodeId>>>,
}

/// How much differentiation is still allowed: the graph of a type with very many variables would have no end.
#[derive(Debug)]
pub struct Allowance(usize);

impl Default for Allowance {
    fn default() -> Self {
        Allowance(MOST_VISITS)
    }
}

impl Allowance {
    fn visit(&mut self, graph: &Graph) -> Result<(), TooLarge> {
        self.0 = self.0.checked_sub(1).filter(|_| graph.len() <= MOST_NODES).ok_or(TooLarge)?;
        Ok(())
    }
}

/// Differentiation would take too much time or memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge;

impl std::fmt::Display for TooLarge {
    fn fmt(&self, out: &mut std::fmt::Formatter) -> std::fmt::Result {
        out.write_str("the derivatives would take too much time or memory")
    }
}

impl std::error::Error for TooLarge {}

impl Derivatives {
    /// No derivative by this variable is known yet.
    pub fn new(variable: NodeId) -> Self {
        Derivatives { variable, found: Vec::new() }
    }

    /// The derivative of `node`; nothing when it is zero everywhere.
    pub fn of(&mut self, graph: &mut Graph, node: NodeId, allowance: &mut Allowance) -> Result<Option<NodeId>, TooLarge> {
        let mut stack = vec![node];
        while let Some(&top) = stack.last() {
            allowance.visit(graph)?;
            if self.get(top).is_some() {
                stack.pop();
                continue;
            }
            let before = stack.len();
            stack.extend(graph.node(top).operands().filter(|&operand| self.get(operand).is_none()));
            if stack.len() > before {
                continue;
            }
            stack.pop();
            let derivative = self.step(graph, top);
            if self.found.len() <= top as usize {
                self.found.resize(graph.len(), None);
            }
            self.found[top as usize] = Some(derivative);
        }
        Ok(self.get(node).flatten())
    }

    fn get(&self, node: NodeId) -> Option<Option<NodeId>> {
        self.found.get(node as usize).copied().flatten()
    }

    // The derivatives of the operands are known.
    fn step(&self, graph: &mut Graph, node: NodeId) -> Option<NodeId> {
        if node == self.variable {
            return Some(graph.constant(1.0));
        }
        let of = |operand| self.get(operand).flatten();
        match graph.node(node) {
            Node::Constant(_) | Node::Input(_) => None,
            Node::Unary(operation, a) => {
                of(a).and_then(|da| branchwise(graph, da, |graph, da| unary(graph, operation, node, a, da)))
            }
            Node::Binary(operation, a, b) => binary(graph, operation, node, (a, of(a)), (b, of(b))),
            Node::Select(condition, a, b) => select(graph, condition, of(a), of(b)),
        }
    }
}

fn select(graph: &mut Graph, condition: NodeId, a: Option<NodeId>, b: Option<NodeId>) -> Option<NodeId> {
    if a.is_none() && b.is_none() {
        return None;
    }
    let zero = graph.constant(0.0);
    let selected = graph.select(condition, a.unwrap_or(zero), b.unwrap_or(zero));
    (selected != zero).then_some(selected)
}

// Where a derivative vanishes on a branch, so does its product with anything, even with what is infinite there: the selection
// is done last.
fn branchwise(graph: &mut Graph, da: NodeId, product: impl Fn(&mut Graph, NodeId) -> Option<NodeId>) -> Option<NodeId> {
    let zero = graph.constant(0.0);
    match graph.node(da) {
        Node::Select(condition, then, otherwise) if then == zero || otherwise == zero => {
            let branches = [then, otherwise].map(|branch| if branch == zero { None } else { product(graph, branch) });
            select(graph, condition, branches[0], branches[1])
        }
        _ => product(graph, da),
    }
}

// da b, or da / b
fn scaled(graph: &mut Graph, operation: Binary, da: NodeId, b: NodeId) -> NodeId {
    let product = branchwise(graph, da, |graph, da| Some(graph.binary(operation, da, b)));
    product.unwrap_or_else(|| graph.constant(0.0))
}

// d f(a) = f'(a) da, where `node` is f(a)
fn unary(graph: &mut Graph, operation: Unary, node: NodeId, a: NodeId, da: NodeId) -> Option<NodeId> {
    use Unary::*;
    let one = graph.constant(1.0);
    let two = graph.constant(2.0);
    Some(match operation {
        Not | Truncate | Round | Floor | Ceiling => return None,
        Negative => graph.unary(Negative, da),
        Absolute => {
            let zero = graph.constant(0.0);
            let below = graph.binary(Binary::Less, a, zero);
            let minus = graph.unary(Negative, da);
            graph.select(below, minus, da)
        }
        SquareRoot => {
            let double = graph.binary(Binary::Multiply, two, node);
            graph.binary(Binary::Divide, da, double)
        }
        Exponential => graph.binary(Binary::Multiply, node, da),
        Logarithm => graph.binary(Binary::Divide, da, a),
        Logarithm10 => {
            let ten = graph.constant(std::f64::consts::LN_10);
            let scaled = graph.binary(Binary::Multiply, a, ten);
            graph.binary(Binary::Divide, da, scaled)
        }
        Sine => times(graph, Cosine, a, da),
        Cosine => {
            let slope = times(graph, Sine, a, da);
            graph.unary(Negative, slope)
        }
        HyperbolicSine => times(graph, HyperbolicCosine, a, da),
        HyperbolicCosine => times(graph, HyperbolicSine, a, da),
        Tangent => {
            let square = graph.unary(Power(2), node);
            let slope = graph.binary(Binary::Add, one, square);
            graph.binary(Binary::Multiply, slope, da)
        }
        HyperbolicTangent => {
            let square = graph.unary(Power(2), node);
            let slope = graph.binary(Binary::Subtract, one, square);
            graph.binary(Binary::Multiply, slope, da)
        }
        ArcTangent | AreaTangent | ArcSine | ArcCosine | AreaSine | AreaCosine => inverse(graph, operation, a, da),
        Error | ComplementaryError | ScaledError => error(graph, operation, node, a, da),
        Power(exponent) => {
            let factor = graph.constant(f64::from(exponent));
            let lower = graph.unary(Power(exponent.saturating_sub(1)), a);
            let slope = graph.binary(Binary::Multiply, factor, lower);
            graph.binary(Binary::Multiply, slope, da)
        }
    })
}

fn times(graph: &mut Graph, operation: Unary, a: NodeId, da: NodeId) -> NodeId {
    let slope = graph.unary(operation, a);
    graph.binary(Binary::Multiply, slope, da)
}

// The inverse functions: da over a polynomial in a, or over its root.
fn inverse(graph: &mut Graph, operation: Unary, a: NodeId, da: NodeId) -> NodeId {
    let one = graph.constant(1.0);
    let square = graph.unary(Unary::Power(2), a);
    let polynomial = match operation {
        Unary::ArcTangent | Unary::AreaSine => graph.binary(Binary::Add, one, square),
        Unary::AreaCosine => graph.binary(Binary::Subtract, square, one),
        _ => graph.binary(Binary::Subtract, one, square),
    };
    let slope = match operation {
        Unary::ArcTangent | Unary::AreaTangent => polynomial,
        _ => graph.unary(Unary::SquareRoot, polynomial),
    };
    let quotient = graph.binary(Binary::Divide, da, slope);
    if operation == Unary::ArcCosine { graph.unary(Unary::Negative, quotient) } else { quotient }
}

// 2/sqrt(pi) exp(-a^2) da, its negative, or (2 a f(a) - 2/sqrt(pi)) da for the scaled function
fn error(graph: &mut Graph, operation: Unary, node: NodeId, a: NodeId, da: NodeId) -> NodeId {
    let constant = graph.constant(TWO_OVER_ROOT_PI);
    let slope = if operation == Unary::ScaledError {
        let two = graph.constant(2.0);
        let double = graph.binary(Binary::Multiply, two, a);
        let product = graph.binary(Binary::Multiply, double, node);
        graph.binary(Binary::Subtract, product, constant)
    } else {
        let square = graph.unary(Unary::Power(2), a);
        let minus = graph.unary(Unary::Negative, square);
        let bell = graph.unary(Unary::Exponential, minus);
        let slope = graph.binary(Binary::Multiply, constant, bell);
        if operation == Unary::Error { slope } else { graph.unary(Unary::Negative, slope) }
    };
    graph.binary(Binary::Multiply, slope, da)
}

type Operand = (NodeId, Option<NodeId>);

fn binary(graph: &mut Graph, operation: Binary, node: NodeId, a: Operand, b: Operand) -> Option<NodeId> {
    use Binary::*;
    let ((a, da), (b, db)) = (a, b);
    if da.is_none() && db.is_none() {
        return None;
    }
    match operation {
        Less | LessEqual | Equal | NotEqual | And | Or | IntegerDivide => None,
        Add => add(graph, da, db),
        Subtract => subtract(graph, da, db),
        Multiply => {
            let left = da.map(|da| scaled(graph, Multiply, da, b));
            let right = db.map(|db| scaled(graph, Multiply, db, a));
            add(graph, left, right)
        }
        // (da - (a/b) db) / b
        Divide => {
            let right = db.map(|db| scaled(graph, Multiply, db, node));
            subtract(graph, da, right).map(|numerator| scaled(graph, Divide, numerator, b))
        }
        Power => power(graph, Power, node, (a, da), (b, db)),
        IntegerPower => power(graph, IntegerPower, node, (a, da), (b, None)),
        Remainder => remainder(graph, Unary::Truncate, (a, da), (b, db)),
        Modulo => remainder(graph, Unary::Floor, (a, da), (b, db)),
        // da sign(a) sign(b)
        Sign => da.map(|da| {
            let one = graph.constant(1.0);
            let signs = [a, b].map(|operand| graph.binary(Sign, one, operand));
            let sign = graph.binary(Multiply, signs[0], signs[1]);
            graph.binary(Multiply, sign, da)
        }),
        // (b da - a db) / (a^2 + b^2)
        ArcTangent2 => {
            let left = da.map(|da| graph.binary(Multiply, b, da));
            let right = db.map(|db| graph.binary(Multiply, a, db));
            let squares = [a, b].map(|operand| graph.unary(Unary::Power(2), operand));
            let sum = graph.binary(Add, squares[0], squares[1]);
            subtract(graph, left, right).map(|numerator| graph.binary(Divide, numerator, sum))
        }
        Maximum => {
            let first = graph.binary(LessEqual, b, a);
            select(graph, first, da, db)
        }
        Minimum => {
            let first = graph.binary(LessEqual, a, b);
            select(graph, first, da, db)
        }
        PositiveDifference => {
            let positive = graph.binary(Less, b, a);
            let difference = subtract(graph, da, db);
            select(graph, positive, difference, None)
        }
    }
}

// b a^(b-1) da + a^b log(a) db
fn power(graph: &mut Graph, operation: Binary, node: NodeId, a: Operand, b: Operand) -> Option<NodeId> {
    let ((a, da), (b, db)) = (a, b);
    let left = da.map(|da| {
        let one = graph.constant(1.0);
        let exponent = graph.binary(Binary::Subtract, b, one);
        let lower = graph.binary(operation, a, exponent);
        let slope = graph.binary(Binary::Multiply, b, lower);
        graph.binary(Binary::Multiply, slope, da)
    });
    let right = db.map(|db| {
        let logarithm = graph.unary(Unary::Logarithm, a);
        let slope = graph.binary(Binary::Multiply, node, logarithm);
        graph.binary(Binary::Multiply, slope, db)
    });
    add(graph, left, right)
}

// a - b n(a/b), where n is a rounding: da - n(a/b) db
fn remainder(graph: &mut Graph, rounding: Unary, a: Operand, b: Operand) -> Option<NodeId> {
    let right = b.1.map(|db| {
        let quotient = graph.binary(Binary::Divide, a.0, b.0);
        let whole = graph.unary(rounding, quotient);
        graph.binary(Binary::Multiply, whole, db)
    });
    subtract(graph, a.1, right)
}

/// The sum of two derivatives, either of which may be zero everywhere.
pub fn add(graph: &mut Graph, a: Option<NodeId>, b: Option<NodeId>) -> Option<NodeId> {
    match (a, b) {
        (Some(a), Some(b)) => Some(graph.binary(Binary::Add, a, b)),
        (a, b) => a.or(b),
    }
}

fn subtract(graph: &mut Graph, a: Option<NodeId>, b: Option<NodeId>) -> Option<NodeId> {
    match (a, b) {
        (Some(a), Some(b)) => Some(graph.binary(Binary::Subtract, a, b)),
        (None, Some(b)) => Some(graph.unary(Unary::Negative, b)),
        (a, None) => a,
    }
}
