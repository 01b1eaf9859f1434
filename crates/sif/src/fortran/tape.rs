//! A graph in the order of evaluation: one register for each node, and nothing else.

use super::graph::{Graph, Node, NodeId};
use super::operation::{Binary, Unary};

#[derive(Clone, Copy, Debug)]
enum Instruction {
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
    /// Lower triangle, row after row.
    pub hessian: Vec<Option<NodeId>>,
}

/// Registers: the inputs, the constants, then the result of each instruction.
///
/// The instructions of the value come first, then what the gradient needs besides, then the Hessian.
#[derive(Debug)]
pub(super) struct Tape {
    inputs: usize,
    constants: Vec<f64>,
    instructions: Vec<Instruction>,
    /// How many instructions each level needs.
    lengths: [usize; 3],
    /// The registers of the value, the gradient and the Hessian.
    value: u32,
    gradient: Vec<u32>,
    hessian: Vec<u32>,
}

impl Tape {
    pub fn new(graph: &Graph, inputs: usize, results: &Results) -> Self {
        let mut layout = Layout::new(graph, inputs, results);
        let mut lengths = [0; 3];
        layout.schedule(graph, &[results.value]);
        lengths[0] = layout.order.len();
        layout.schedule(graph, &results.gradient.iter().flatten().copied().collect::<Vec<_>>());
        lengths[1] = layout.order.len();
        layout.schedule(graph, &results.hessian.iter().flatten().copied().collect::<Vec<_>>());
        lengths[2] = layout.order.len();
        let register = |id: NodeId| layout.register[id as usize];
        let instructions = layout.order.iter().filter_map(|&id| match graph.node(id) {
            Node::Unary(operation, a) => Some(Instruction::Unary(operation, register(a))),
            Node::Binary(operation, a, b) => Some(Instruction::Binary(operation, register(a), register(b))),
            Node::Select(condition, a, b) => Some(Instruction::Select(register(condition), register(a), register(b))),
            Node::Constant(_) | Node::Input(_) => None,
        });
        let optional = |ids: &[Option<NodeId>]| ids.iter().map(|id| id.map_or(layout.zero, register)).collect();
        Tape {
            inputs,
            instructions: instructions.collect(),
            lengths,
            value: register(results.value),
            gradient: optional(&results.gradient),
            hessian: optional(&results.hessian),
            constants: layout.constants,
        }
    }

    /// How many registers there are.
    pub fn len(&self) -> usize {
        self.inputs + self.constants.len() + self.instructions.len()
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
        let registers = &mut registers[..self.len()];
        registers[..variables.len()].copy_from_slice(variables);
        registers[variables.len()..self.inputs].copy_from_slice(parameters);
        let start = self.inputs + self.constants.len();
        registers[self.inputs..start].copy_from_slice(&self.constants);
        for (k, instruction) in self.instructions[..self.lengths[level as usize]].iter().enumerate() {
            registers[start + k] = match *instruction {
                Instruction::Unary(operation, a) => operation.apply(registers[a as usize]),
                Instruction::Binary(operation, a, b) => operation.apply(registers[a as usize], registers[b as usize]),
                Instruction::Select(condition, a, b) => {
                    let chosen = if registers[condition as usize] != 0.0 { a } else { b };
                    registers[chosen as usize]
                }
            };
        }
        for (entry, &register) in gradient.iter_mut().zip(&self.gradient) {
            *entry = registers[register as usize];
        }
        for (entry, &register) in hessian.iter_mut().zip(&self.hessian) {
            *entry = registers[register as usize];
        }
        registers[self.value as usize]
    }
}

// Which node has which register.
struct Layout {
    register: Vec<u32>,
    constants: Vec<f64>,
    order: Vec<NodeId>,
    /// The register of the constant 0.
    zero: u32,
    start: u32,
}

const NONE: u32 = u32::MAX;

impl Layout {
    // Constants get their registers first, so that instructions can be appended level by level.
    fn new(graph: &Graph, inputs: usize, results: &Results) -> Self {
        let mut layout = Layout {
            register: vec![NONE; graph.len()],
            constants: vec![0.0],
            order: Vec::new(),
            zero: inputs as u32,
            start: 0,
        };
        let derivatives = results.gradient.iter().chain(&results.hessian).flatten().copied();
        for id in reachable(graph, derivatives.chain([results.value]).collect()) {
            match graph.node(id) {
                Node::Input(input) => layout.register[id as usize] = input,
                Node::Constant(bits) => {
                    layout.register[id as usize] = (inputs + layout.constants.len()) as u32;
                    layout.constants.push(f64::from_bits(bits));
                }
                _ => {}
            }
        }
        layout.start = (inputs + layout.constants.len()) as u32;
        layout
    }

    // Appends what these nodes need and do not have yet, in an order of evaluation: that of the graph.
    fn schedule(&mut self, graph: &Graph, results: &[NodeId]) {
        let mut needed: Vec<NodeId> =
            reachable(graph, results.to_vec()).into_iter().filter(|&id| self.register[id as usize] == NONE).collect();
        needed.sort_unstable();
        for id in needed {
            self.register[id as usize] = self.start + self.order.len() as u32;
            self.order.push(id);
        }
    }
}

fn reachable(graph: &Graph, mut stack: Vec<NodeId>) -> Vec<NodeId> {
    let mut seen = vec![false; graph.len()];
    let mut found = Vec::new();
    while let Some(id) = stack.pop() {
        if !std::mem::replace(&mut seen[id as usize], true) {
            found.push(id);
            stack.extend(graph.node(id).operands());
        }
    }
    found
}
