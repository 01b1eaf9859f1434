//! Straight-line arithmetic as a graph, in which equal expressions are one node and constants are folded.

use std::collections::HashMap;

use super::operation::{Binary, Unary};

pub(super) type NodeId = u32;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Node {
    /// The bits of a double: bits compare where NaN does not.
    Constant(u64),
    Input(u32),
    Unary(Unary, NodeId),
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
pub(super) struct Graph {
    nodes: Vec<Node>,
    known: HashMap<Node, NodeId>,
}

impl Graph {
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn node(&self, id: NodeId) -> Node {
        self.nodes[id as usize]
    }

    pub fn constant(&mut self, value: f64) -> NodeId {
        self.intern(Node::Constant(value.to_bits()))
    }

    pub fn input(&mut self, index: u32) -> NodeId {
        self.intern(Node::Input(index))
    }

    /// The value of a node that is a constant.
    pub fn known(&self, id: NodeId) -> Option<f64> {
        match self.node(id) {
            Node::Constant(bits) => Some(f64::from_bits(bits)),
            _ => None,
        }
    }

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

    fn intern(&mut self, node: Node) -> NodeId {
        let nodes = &mut self.nodes;
        *self.known.entry(node).or_insert_with(|| {
            nodes.push(node);
            (nodes.len() - 1) as NodeId
        })
    }
}
