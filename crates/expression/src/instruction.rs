//! Instructions on registers, and the order in which the nodes of a graph become instructions.

use crate::graph::{Graph, Node, NodeId};
use crate::operation::{Binary, Unary};

/// No register.
pub(crate) const NONE: u32 = u32::MAX;

/// The commonest operations, and operations with a constant, have their own instructions: they are the fast ones.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Instruction {
    Constant(f64),
    Add(u32, u32),
    Subtract(u32, u32),
    Multiply(u32, u32),
    Divide(u32, u32),
    Shift(f64, u32),
    Scale(f64, u32),
    Negative(u32),
    Square(u32),
    Unary(Unary, u32),
    Binary(Binary, u32, u32),
    Select(u32, u32, u32),
}

/// Runs instructions; the result of the first goes to the register `first`.
#[inline]
pub(crate) fn execute(instructions: &[Instruction], first: usize, registers: &mut [f64]) {
    for (next, instruction) in (first..).zip(instructions) {
        registers[next] = instruction.result(|register| registers[register as usize]);
    }
}

/// Runs instructions whose results go to `own`, the registers from `first` on; of all other registers they need only those of `before`.
pub(crate) fn execute_apart(instructions: &[Instruction], before: &[f64], first: usize, own: &mut [f64]) {
    for (next, instruction) in instructions.iter().enumerate() {
        own[next] = instruction.result(|register| match before.get(register as usize) {
            Some(value) => *value,
            None => own[register as usize - first],
        });
    }
}

impl Instruction {
    #[inline(always)]
    fn result(&self, at: impl Fn(u32) -> f64) -> f64 {
        match *self {
            Instruction::Constant(value) => value,
            Instruction::Add(a, b) => at(a) + at(b),
            Instruction::Subtract(a, b) => at(a) - at(b),
            Instruction::Multiply(a, b) => at(a) * at(b),
            Instruction::Divide(a, b) => at(a) / at(b),
            Instruction::Shift(by, a) => by + at(a),
            Instruction::Scale(by, a) => by * at(a),
            Instruction::Negative(a) => -at(a),
            Instruction::Square(a) => at(a) * at(a),
            Instruction::Unary(operation, a) => operation.apply(at(a)),
            Instruction::Binary(operation, a, b) => operation.apply(at(a), at(b)),
            Instruction::Select(condition, a, b) => at(if at(condition) != 0.0 { a } else { b }),
        }
    }
}

/// An instruction with a constant: which one, the constant, and the other operand.
pub(crate) type WithConstant = (fn(f64, u32) -> Instruction, f64, NodeId);

/// Which node has which register.
pub(crate) struct Layout<'a> {
    graph: &'a Graph,
    /// By node; [`NONE`] for a node that is not needed.
    pub register: Vec<u32>,
    inputs: usize,
    /// The nodes that are computed, in this order.
    pub order: Vec<NodeId>,
}

impl<'a> Layout<'a> {
    pub fn new(graph: &'a Graph, inputs: usize) -> Self {
        Layout { graph, register: vec![NONE; graph.len()], inputs, order: Vec::new() }
    }

    /// Appends what these nodes need and do not have yet, in an order of evaluation: that of the graph.
    pub fn schedule(&mut self, wanted: Vec<NodeId>) {
        let mut needed = Vec::new();
        let mut stack = wanted;
        while let Some(id) = stack.pop() {
            if self.register[id as usize] != NONE {
                continue;
            }
            match self.graph.node(id) {
                Node::Input(input) => self.register[id as usize] = input,
                node => {
                    // Any register but NONE, until the order is known.
                    self.register[id as usize] = 0;
                    needed.push(id);
                    match self.with_constant(id) {
                        Some((_, _, other)) => stack.push(other),
                        None => stack.extend(node.operands()),
                    }
                }
            }
        }
        needed.sort_unstable();
        for id in needed {
            self.register[id as usize] = (self.inputs + self.order.len()) as u32;
            self.order.push(id);
        }
    }

    pub fn at(&self, id: NodeId) -> u32 {
        self.register[id as usize]
    }

    /// A sum or product with a constant, or a difference from it.
    pub fn with_constant(&self, id: NodeId) -> Option<WithConstant> {
        let Node::Binary(operation, a, b) = self.graph.node(id) else { return None };
        match (operation, self.graph.known(a), self.graph.known(b)) {
            (Binary::Add, Some(constant), _) => Some((Instruction::Shift, constant, b)),
            (Binary::Add, _, Some(constant)) => Some((Instruction::Shift, constant, a)),
            (Binary::Subtract, _, Some(constant)) => Some((Instruction::Shift, -constant, a)),
            (Binary::Multiply, Some(constant), _) => Some((Instruction::Scale, constant, b)),
            (Binary::Multiply, _, Some(constant)) => Some((Instruction::Scale, constant, a)),
            _ => None,
        }
    }

    /// The instruction of a node; nothing for an input.
    pub fn instruction(&self, id: NodeId) -> Option<Instruction> {
        if let Some((instruction, constant, other)) = self.with_constant(id) {
            return Some(instruction(constant, self.at(other)));
        }
        Some(match self.graph.node(id) {
            Node::Constant(bits) => Instruction::Constant(f64::from_bits(bits)),
            Node::Unary(Unary::Negative, a) => Instruction::Negative(self.at(a)),
            Node::Unary(Unary::Power(2), a) => Instruction::Square(self.at(a)),
            Node::Unary(operation, a) => Instruction::Unary(operation, self.at(a)),
            Node::Binary(operation, a, b) => {
                let (a, b) = (self.at(a), self.at(b));
                match operation {
                    Binary::Add => Instruction::Add(a, b),
                    Binary::Subtract => Instruction::Subtract(a, b),
                    Binary::Multiply => Instruction::Multiply(a, b),
                    Binary::Divide => Instruction::Divide(a, b),
                    _ => Instruction::Binary(operation, a, b),
                }
            }
            Node::Select(condition, a, b) => Instruction::Select(self.at(condition), self.at(a), self.at(b)),
            Node::Input(_) => return None,
        })
    }
}
