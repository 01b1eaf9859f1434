//! Straight-line arithmetic as a graph, in which equal expressions are one node and constants are folded.

use crate::hash::Index;
use crate::operation::{Binary, Unary};

/// The number of a node in its graph.
pub type NodeId = u32;

/// One expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    /// The bits of a double: bits compare where NaN does not.
    Constant(u64),
    /// A number that is given: a variable or a parameter.
    Input(u32),
    /// An operation on one node.
    Unary(Unary, NodeId),
    /// An operation on two nodes.
    Binary(Binary, NodeId, NodeId),
    /// Condition, value when it is not 0, value when it is.
    Select(NodeId, NodeId, NodeId),
}

impl Node {
    /// The nodes that this one is computed from.
    pub fn operands(self) -> impl Iterator<Item = NodeId> {
        let (operands, count) = match self {
            Node::Constant(_) | Node::Input(_) => ([0; 3], 0),
            Node::Unary(_, a) => ([a, 0, 0], 1),
            Node::Binary(_, a, b) => ([a, b, 0], 2),
            Node::Select(condition, a, b) => ([condition, a, b], 3),
        };
        operands.into_iter().take(count)
    }
}

/// Nodes in an order in which every node comes after its operands.
#[derive(Debug, Default)]
pub struct Graph {
    nodes: Vec<Node>,
    known: Index,
    inputs: usize,
}

impl Graph {
    /// A graph with room for so many nodes.
    pub fn with_capacity(nodes: usize) -> Self {
        Graph { nodes: Vec::with_capacity(nodes), known: Index::with_capacity(nodes), inputs: 0 }
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// True when there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// One more than the largest number of an input.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// The expression that a number stands for.
    pub fn node(&self, id: NodeId) -> Node {
        self.nodes[id as usize]
    }

    /// A constant.
    pub fn constant(&mut self, value: f64) -> NodeId {
        self.intern(Node::Constant(value.to_bits()))
    }

    /// The input with this number: variables come first, then parameters.
    pub fn input(&mut self, index: u32) -> NodeId {
        self.inputs = self.inputs.max(index as usize + 1);
        self.intern(Node::Input(index))
    }

    /// The value of a node that is a constant.
    pub fn known(&self, id: NodeId) -> Option<f64> {
        match self.node(id) {
            Node::Constant(bits) => Some(f64::from_bits(bits)),
            _ => None,
        }
    }

    /// An operation on one node.
    pub fn unary(&mut self, operation: Unary, a: NodeId) -> NodeId {
        if let Some(value) = self.known(a) {
            return self.constant(operation.apply(value));
        }
        match (operation, self.node(a)) {
            (Unary::Negative, Node::Unary(Unary::Negative, inner)) => inner,
            (Unary::Power(1), _) => a,
            (Unary::Power(0), _) => self.constant(1.0),
            _ => self.intern(Node::Unary(operation, a)),
        }
    }

    /// An operation on two nodes.
    pub fn binary(&mut self, operation: Binary, a: NodeId, b: NodeId) -> NodeId {
        let (left, right) = (self.known(a), self.known(b));
        if let (Some(left), Some(right)) = (left, right) {
            return self.constant(operation.apply(left, right));
        }
        // Only identities that hold for every number, NaN and infinity among them (up to the sign of a zero).
        match (operation, left, right) {
            (Binary::Multiply, Some(1.0), _) | (Binary::Add, Some(0.0), _) => return b,
            (Binary::Multiply | Binary::Divide, _, Some(1.0)) | (Binary::Add | Binary::Subtract, _, Some(0.0)) => return a,
            (Binary::Multiply, Some(-1.0), _) => return self.unary(Unary::Negative, b),
            (Binary::Multiply, _, Some(-1.0)) => return self.unary(Unary::Negative, a),
            _ => {}
        }
        if let (Binary::Add, Node::Unary(Unary::Negative, inner)) = (operation, self.node(b)) {
            return self.binary(Binary::Subtract, a, inner);
        }
        let (a, b) = if operation.commutes() && b < a { (b, a) } else { (a, b) };
        self.intern(Node::Binary(operation, a, b))
    }

    /// `a` where the condition is not 0, else `b`.
    pub fn select(&mut self, condition: NodeId, a: NodeId, b: NodeId) -> NodeId {
        match self.known(condition) {
            Some(value) => {
                if value != 0.0 {
                    a
                } else {
                    b
                }
            }
            None if a == b => a,
            None => self.intern(Node::Select(condition, a, b)),
        }
    }

    /// The sum of the terms, from left to right; 0 when there are none.
    pub fn sum(&mut self, terms: impl IntoIterator<Item = NodeId>) -> NodeId {
        let sum = terms.into_iter().reduce(|sum, term| self.binary(Binary::Add, sum, term));
        sum.unwrap_or_else(|| self.constant(0.0))
    }

    fn intern(&mut self, node: Node) -> NodeId {
        self.known.intern(&mut self.nodes, node)
    }
}
