//! A graph in the order of evaluation: one register for each node, and nothing else.

mod block;

pub use block::{BLOCK, BlockResults, Register};

use crate::graph::{Graph, NodeId};
use crate::instruction::{Instruction, Layout, NONE, execute};

/// How much is wanted: each level includes the ones before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The value alone.
    Value,
    /// And the gradient.
    Gradient,
    /// And the Hessian.
    Hessian,
}

/// The results that a graph is to give; nothing where a derivative is zero everywhere.
#[derive(Debug, Default)]
pub struct Results {
    /// The value.
    pub value: NodeId,
    /// The derivative by each variable.
    pub gradient: Vec<Option<NodeId>>,
    /// Lower triangle, row after row; nothing when it would be too large.
    pub hessian: Option<Vec<Option<NodeId>>>,
}

/// Registers: the inputs, then the result of each instruction.
///
/// The instructions of the value come first, then what the gradient needs besides, then the Hessian.
#[derive(Debug)]
pub struct Tape {
    inputs: usize,
    instructions: Vec<Instruction>,
    /// How many instructions each level needs.
    lengths: [usize; 3],
    /// The registers of the value, the gradient and the Hessian; [`NONE`] where a derivative is zero everywhere.
    value: u32,
    gradient: Vec<u32>,
    hessian: Option<Vec<u32>>,
}

impl Tape {
    /// Compiles the results of a graph with this many inputs.
    pub fn new(graph: &Graph, inputs: usize, results: &Results) -> Self {
        let mut layout = Layout::new(graph, inputs);
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

    /// True when there are no registers.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
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
        execute(&self.instructions[..self.lengths[level as usize]], self.inputs, registers);
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
