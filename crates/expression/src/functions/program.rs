//! The instructions of many functions, section by section, and where the numbers of an evaluation lie.

use std::ops::Range;

use super::arcs::{Factor, arcs, first, operands};
use super::parallel;
use crate::graph::{Graph, NodeId};
use crate::hash::Table;
use crate::instruction::{Instruction, Layout, NONE, execute, execute_apart};

/// First derivatives that are computed at every point.
#[derive(Clone, Copy, Debug)]
struct SlopeTask {
    instruction: u32,
    /// Where the first of them goes in the memory.
    place: u32,
    depends: [bool; 2],
    both: bool,
}

/// What belongs together: what several sections need, or what one section needs alone.
#[derive(Clone, Debug, Default)]
pub(super) struct Segment {
    pub instructions: Range<usize>,
    slopes: Range<usize>,
    /// Instructions at its end that fall into parts which do not need each other; none in a small segment.
    parts: Vec<Range<usize>>,
}

/// The memory holds the registers (inputs, then the result of each instruction), the slopes, and then whatever
/// [`Program::reserve`] was asked for.
#[derive(Debug)]
pub(super) struct Program {
    pub inputs: usize,
    pub instructions: Vec<Instruction>,
    /// The shared one first, then those of the sections.
    pub segments: Vec<Segment>,
    /// The registers of the outputs, section by section.
    pub outputs: Vec<Vec<u32>>,
    /// For each register whether its derivatives need not be zero.
    pub depends: Vec<bool>,
    tasks: Vec<SlopeTask>,
    /// Where the computed slopes of an instruction start; [`NONE`] when it has none.
    slope_place: Vec<u32>,
    fixed: Table<u64, u32>,
    length: usize,
}

impl Program {
    pub fn new(graph: &Graph, variables: usize, inputs: usize, sections: &[Vec<NodeId>]) -> Self {
        let mut layout = Layout::new(graph, inputs);
        layout.schedule(shared(graph, &layout, sections));
        let mut segments = vec![Segment { instructions: 0..layout.order.len(), ..Segment::default() }];
        segments.extend(sections.iter().map(|section| segment(graph, &mut layout, section)));
        let instructions: Vec<_> = layout.order.iter().filter_map(|&id| layout.instruction(id)).collect();
        let outputs = sections.iter().map(|section| section.iter().map(|&id| layout.at(id)).collect()).collect();
        let length = inputs + instructions.len();
        let mut program = Program {
            inputs,
            slope_place: vec![NONE; instructions.len()],
            instructions,
            segments,
            outputs,
            depends: (0..length).map(|register| register < variables).collect(),
            tasks: Vec::new(),
            fixed: Table::default(),
            length,
        };
        for segment in 0..program.segments.len() {
            program.plan_slopes(segment);
        }
        program
    }

    fn plan_slopes(&mut self, segment: usize) {
        let start = self.tasks.len();
        for i in self.segments[segment].instructions.clone() {
            let result = self.inputs + i;
            let mut depends = [false; 2];
            let mut computed = 0;
            let instruction = self.instructions[i];
            for (k, (operand, factor)) in arcs(&instruction, result as u32).enumerate() {
                depends[k] = self.depends[operand as usize];
                match factor {
                    Factor::Computed(_) if depends[k] => computed = computed.max(k + 1),
                    Factor::Fixed(value) if depends[k] => _ = self.fixed(value),
                    _ => {}
                }
            }
            self.depends[result] = depends != [false; 2];
            if computed > 0 {
                let place = self.reserve(computed);
                self.slope_place[i] = place;
                self.tasks.push(SlopeTask { instruction: i as u32, place, depends, both: computed > 1 });
            }
        }
        self.segments[segment].slopes = start..self.tasks.len();
    }

    /// More places in the memory.
    pub fn reserve(&mut self, count: usize) -> u32 {
        let place = self.length;
        self.length += count;
        place as u32
    }

    fn fixed(&mut self, value: f64) -> u32 {
        let length = &mut self.length;
        *self.fixed.entry(value.to_bits()).or_insert_with(|| {
            *length += 1;
            (*length - 1) as u32
        })
    }

    /// The operands of a register that depend on the variables and in which it can be differentiated.
    #[inline]
    pub fn operands(&self, register: u32) -> impl Iterator<Item = u32> {
        let number = (register as usize).checked_sub(self.inputs);
        let (all, count) = number.map_or(([0, 0], 0), |i| operands(&self.instructions[i]));
        all.into_iter().take(count).filter(|&operand| self.depends[operand as usize])
    }

    /// The arcs of a register to those operands that depend on the variables: the operand, the place of the slope, and the number
    /// of the arc.
    pub fn arcs(&self, register: u32) -> impl Iterator<Item = (u32, u32, usize)> {
        let number = (register as usize).checked_sub(self.inputs);
        let found = number.map(|i| (i, arcs(&self.instructions[i], register))).into_iter();
        let all = found.flat_map(|(i, arcs)| arcs.map(move |arc| (i, arc)).enumerate());
        all.filter(|(_, (_, (operand, _)))| self.depends[*operand as usize]).map(|(k, (i, (operand, factor)))| {
            let place = match factor {
                Factor::Fixed(value) => self.fixed.get(&value.to_bits()).copied().unwrap_or(NONE),
                Factor::Register(other) => other,
                Factor::Computed(which) => self.slope_place[i] + which,
            };
            (operand, place, k)
        })
    }

    /// A memory before the first point.
    pub fn memory(&self) -> Vec<f64> {
        let mut memory = vec![0.0; self.length];
        for (&bits, &place) in &self.fixed {
            memory[place as usize] = f64::from_bits(bits);
        }
        memory
    }

    /// Computes the values of a segment.
    pub fn values(&self, segment: usize, memory: &mut [f64]) {
        let Segment { instructions, parts, .. } = &self.segments[segment];
        let parts = if !parts.is_empty() && parallel::is_alone() { &[][..] } else { parts };
        let apart = parts.first().map_or(instructions.end, |part| part.start);
        execute(&self.instructions[instructions.start..apart], self.inputs + instructions.start, memory);
        let (before, after) = memory.split_at_mut(self.inputs + apart);
        let before = &*before;
        parallel::over(parts, 1, after, &|part| part.start - apart, &|parts, own| {
            let part = parts[0].clone();
            execute_apart(&self.instructions[part.clone()], before, self.inputs + part.start, own);
        });
    }

    /// Computes the slopes of a segment whose values are there.
    pub fn slopes(&self, segment: usize, memory: &mut [f64]) {
        let (registers, slopes) = memory.split_at_mut(self.inputs + self.instructions.len());
        let registers = &*registers;
        let Segment { slopes: tasks, parts, .. } = &self.segments[segment];
        let tasks = &self.tasks[tasks.clone()];
        let portion = if parts.is_empty() || parallel::is_alone() { tasks.len().max(1) } else { TASKS };
        parallel::over(tasks, portion, slopes, &|task| task.place as usize - registers.len(), &|tasks, own| {
            let first_place = tasks[0].place as usize;
            for task in tasks {
                let i = task.instruction as usize;
                let result = registers[self.inputs + i];
                let [fx, fy] = first(&self.instructions[i], result, |register| registers[register as usize], task.depends);
                let place = task.place as usize - first_place;
                own[place] = fx;
                if task.both {
                    own[place + 1] = fy;
                }
            }
        });
    }

    /// Whether the work of a section is worth several threads.
    pub fn is_large(&self, section: usize) -> bool {
        !self.segments[1 + section].parts.is_empty()
    }
}

/// Slopes that one thread takes at once.
const TASKS: usize = 2048;

// What a section needs besides what is there. A large one falls into parts: first what several parts need, then each part.
fn segment(graph: &Graph, layout: &mut Layout, section: &[NodeId]) -> Segment {
    let start = layout.order.len();
    let mut parts = Vec::new();
    if section.len() >= parallel::PARTS && graph.len() >= parallel::PAYS {
        let outputs: Vec<Vec<NodeId>> =
            section.chunks(section.len().div_ceil(parallel::PARTS)).map(<[NodeId]>::to_vec).collect();
        layout.schedule(shared(graph, layout, &outputs));
        for outputs in outputs {
            let first = layout.order.len();
            layout.schedule(outputs);
            parts.push(first..layout.order.len());
        }
    } else {
        layout.schedule(section.to_vec());
    }
    Segment { instructions: start..layout.order.len(), slopes: 0..0, parts }
}

// The nodes that more than one section needs.
fn shared(graph: &Graph, layout: &Layout, sections: &[Vec<NodeId>]) -> Vec<NodeId> {
    const NOBODY: u32 = u32::MAX;
    const SEVERAL: u32 = u32::MAX - 1;
    let mut owner = vec![NOBODY; graph.len()];
    let claim = |owner: &mut Vec<u32>, id: NodeId, by: u32| {
        let owner = &mut owner[id as usize];
        *owner = if *owner == NOBODY || *owner == by { by } else { SEVERAL };
    };
    for (number, section) in sections.iter().enumerate() {
        section.iter().for_each(|&id| claim(&mut owner, id, number as u32));
    }
    for id in (0..graph.len() as NodeId).rev() {
        let by = owner[id as usize];
        if by == NOBODY {
            continue;
        }
        match layout.with_constant(id) {
            Some((_, _, other)) => claim(&mut owner, other, by),
            None => graph.node(id).operands().for_each(|operand| claim(&mut owner, operand, by)),
        }
    }
    (0..graph.len() as NodeId).filter(|&id| owner[id as usize] == SEVERAL).collect()
}
