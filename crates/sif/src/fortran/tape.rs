//! A graph in the order of evaluation: one register for each node, and nothing else.

mod block;

use super::graph::{Graph, Node, NodeId};
use super::operation::{Binary, Unary};

/// The commonest operations, and operations with a constant, have their own instructions: they are the fast ones.
#[derive(Clone, Copy, Debug)]
enum Instruction {
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

/// How much is wanted: each level includes the ones before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Value,
    Gradient,
    Hessian,
}

/// The results that a graph is to give; nothing where a derivative is zero everywhere.
#[derive(Debug, Default)]
pub(super) struct Results {
    pub value: NodeId,
    pub gradient: Vec<Option<NodeId>>,
    /// Lower triangle, row after row; nothing when it would be too large.
    pub hessian: Option<Vec<Option<NodeId>>>,
}

/// Registers: the inputs, then the result of each instruction.
///
/// The instructions of the value come first, then what the gradient needs besides, then the Hessian.
#[derive(Debug)]
pub(super) struct Tape {
    inputs: usize,
    instructions: Vec<Instruction>,
    /// How many instructions each level needs.
    lengths: [usize; 3],
    /// The registers of the value, the gradient and the Hessian; [`NONE`] where a derivative is zero everywhere.
    value: u32,
    gradient: Vec<u32>,
    hessian: Option<Vec<u32>>,
}

const NONE: u32 = u32::MAX;

impl Tape {
    pub fn new(graph: &Graph, inputs: usize, results: &Results) -> Self {
        let mut layout = Layout { graph, register: vec![NONE; graph.len()], inputs, order: Vec::new() };
        let mut lengths = [0; 3];
        let known = |ids: &[Option<NodeId>]| ids.iter().flatten().copied().collect::<Vec<_>>();
        for (level, wanted) in
            [vec![results.value], known(&results.gradient), known(results.hessian.as_deref().unwrap_or_default())]
                .into_iter()
                .enumerate()
        {
            layout.schedule(wanted);
            lengths[level] = layout.order.len();
        }
        let instructions = layout.order.iter().filter_map(|&id| layout.instruction(id)).collect();
        let registers = |ids: &[Option<NodeId>]| ids.iter().map(|id| id.map_or(NONE, |id| layout.at(id))).collect();
        let (gradient, hessian) = (registers(&results.gradient), results.hessian.as_deref().map(registers));
        Tape { inputs, instructions, lengths, value: layout.at(results.value), gradient, hessian }
    }

    /// False when the second derivatives would have been too large.
    pub fn has_hessian(&self) -> bool {
        self.hessian.is_some()
    }

    /// How many registers there are.
    pub fn len(&self) -> usize {
        self.inputs + self.instructions.len()
    }

    /// Computes the results up to a level; the lengths have been checked, and unwanted slices are empty.
    pub fn evaluate(
        &self,
        level: Level,
        variables: &[f64],
        parameters: &[f64],
        registers: &mut [f64],
        gradient: &mut [f64],
        hessian: &mut [f64],
    ) -> f64 {
        for (register, &input) in registers.iter_mut().zip(variables.iter().chain(parameters)) {
            *register = input;
        }
        for (next, instruction) in (self.inputs..).zip(&self.instructions[..self.lengths[level as usize]]) {
            let at = |register: u32| registers[register as usize];
            registers[next] = match *instruction {
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
            };
        }
        let read = |results: &[u32], into: &mut [f64]| {
            for (entry, &register) in into.iter_mut().zip(results) {
                *entry = if register == NONE { 0.0 } else { registers[register as usize] };
            }
        };
        read(&self.gradient, gradient);
        read(self.hessian.as_deref().unwrap_or_default(), hessian);
        registers[self.value as usize]
    }
}

/// An instruction with a constant: which one, the constant, and the other operand.
type WithConstant = (fn(f64, u32) -> Instruction, f64, NodeId);

/// Which node has which register.
struct Layout<'a> {
    graph: &'a Graph,
    register: Vec<u32>,
    inputs: usize,
    order: Vec<NodeId>,
}

impl Layout<'_> {
    // Appends what these nodes need and do not have yet, in an order of evaluation: that of the graph.
    fn schedule(&mut self, wanted: Vec<NodeId>) {
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

    fn at(&self, id: NodeId) -> u32 {
        self.register[id as usize]
    }

    // A sum or product with a constant, or a difference from it.
    fn with_constant(&self, id: NodeId) -> Option<WithConstant> {
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

    fn instruction(&self, id: NodeId) -> Option<Instruction> {
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
