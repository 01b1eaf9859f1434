//! Sparse gradients by one small reverse sweep for each function.
//!
//! A sweep through everything that a function is computed from would pass through a shared subexpression once for each function
//! that uses it. Where a subexpression depends on few variables and takes many arcs, its own gradient is computed first, and the
//! sweeps of its users end there and go on with that gradient: it is a *funnel*.

use std::ops::Range;

use super::parallel;
use super::program::Program;
use crate::instruction::NONE;

/// `adjoint[child] += adjoint[parent] * memory[slope]`
#[derive(Clone, Copy, Debug)]
struct Arc {
    parent: u32,
    child: u32,
    slope: u32,
}

/// The gradient of one register. The first adjoints of the sweep are those of the variables.
#[derive(Clone, Debug)]
struct Block {
    arcs: Range<usize>,
    /// The adjoint that starts with 1; [`NONE`] for a constant.
    root: u32,
    /// Its variables, among [`Blocks::columns`].
    columns: Range<usize>,
    /// How many adjoints there are.
    adjoints: u32,
}

/// The gradients of all functions.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    arcs: Vec<Arc>,
    columns: Vec<u32>,
    /// For each segment: the funnels, and where the memory holds their gradients.
    funnels: Vec<Vec<(Block, u32)>>,
    /// For each section its outputs.
    rows: Vec<Vec<Block>>,
    /// The largest number of adjoints.
    pub widest: usize,
}

impl Blocks {
    pub fn new(program: &mut Program) -> Self {
        let mut blocks = Blocks { funnels: vec![Vec::new(); program.segments.len()], ..Blocks::default() };
        let mut builder = Builder::new(program);
        for segment in 0..program.segments.len() {
            for i in program.segments[segment].instructions.clone() {
                let register = (program.inputs + i) as u32;
                if !builder.is_funnel(program, register) {
                    continue;
                }
                let block = builder.build(program, register, &mut blocks);
                let place = program.reserve(block.columns.len());
                builder.funnel[register as usize] = builder.funnels.len() as u32;
                builder.funnels.push((block.columns.clone(), place));
                blocks.funnels[segment].push((block, place));
            }
        }
        for section in 0..program.outputs.len() {
            let outputs = program.outputs[section].clone();
            let rows = outputs.into_iter().map(|output| builder.build(program, output, &mut blocks)).collect();
            blocks.rows.push(rows);
        }
        blocks
    }

    /// How many arcs all sweeps have.
    pub fn len(&self) -> usize {
        self.arcs.len()
    }

    /// The variables of each output of a section, ascending.
    pub fn columns(&self, section: usize) -> impl Iterator<Item = &[u32]> {
        self.rows[section].iter().map(|block| &self.columns[block.columns.clone()])
    }

    /// Computes the gradients of the funnels of a segment whose slopes are there.
    pub fn funnels(&self, segment: usize, memory: &mut [f64], adjoint: &mut [f64]) {
        for (block, place) in &self.funnels[segment] {
            self.sweep::<false>(block, memory, adjoint);
            let place = *place as usize;
            memory[place..place + block.columns.len()].copy_from_slice(&adjoint[..block.columns.len()]);
        }
    }

    /// Writes the gradients of the outputs of a section one after the other; or, with `SIZES`, the sums of their terms' sizes. With room for the
    /// adjoints of several sweeps, so many go on at once.
    pub fn gradients<const SIZES: bool>(&self, section: usize, memory: &[f64], adjoint: &mut [f64], values: &mut [f64]) {
        self.sweep_all::<SIZES>(&self.rows[section], memory, adjoint, values);
    }

    fn sweep_all<const SIZES: bool>(&self, blocks: &[Block], memory: &[f64], adjoint: &mut [f64], values: &mut [f64]) {
        let sweeps = adjoint.len() / self.widest.max(1);
        if sweeps > 1 && blocks.len() > 1 && !parallel::is_alone() {
            let (few, others) = blocks.split_at(blocks.len() / 2);
            let (own, rest) = adjoint.split_at_mut(sweeps / 2 * self.widest);
            let (first, second) = values.split_at_mut(few.iter().map(|block| block.columns.len()).sum());
            rayon::join(
                || self.sweep_all::<SIZES>(few, memory, own, first),
                || self.sweep_all::<SIZES>(others, memory, rest, second),
            );
            return;
        }
        let mut rest = values;
        for block in blocks {
            self.sweep::<SIZES>(block, memory, adjoint);
            let (row, after) = rest.split_at_mut(block.columns.len());
            row.copy_from_slice(&adjoint[..block.columns.len()]);
            rest = after;
        }
    }

    // Nothing is passed on where either factor is zero: the other may be infinite beside a branch that is not taken.
    fn sweep<const SIZES: bool>(&self, block: &Block, memory: &[f64], adjoint: &mut [f64]) {
        let adjoint = &mut adjoint[..block.adjoints as usize];
        adjoint.fill(0.0);
        if block.root == NONE {
            return;
        }
        adjoint[block.root as usize] = 1.0;
        for arc in &self.arcs[block.arcs.clone()] {
            let weight = adjoint[arc.parent as usize];
            let slope = memory[arc.slope as usize];
            if weight != 0.0 && slope != 0.0 {
                adjoint[arc.child as usize] += if SIZES { (weight * slope).abs() } else { weight * slope };
            }
        }
    }
}

/// Nobody, one output, or several need a register.
const NOBODY: u32 = u32::MAX;
const SEVERAL: u32 = u32::MAX - 1;
/// Subexpressions of fewer arcs are swept again by every user.
const FEWEST_ARCS: usize = 8;
/// The search for funnels ends after this many visits for each register.
const VISITS_PER_REGISTER: usize = 16;

struct Builder {
    /// Which outputs need a register, and how often it is an operand or an output.
    owner: Vec<u32>,
    uses: Vec<u32>,
    /// By register: its number among the funnels, or [`NONE`].
    funnel: Vec<u32>,
    /// Of each funnel the variables, and where its gradient lies.
    funnels: Vec<(Range<usize>, u32)>,
    visits: usize,
    seen: Vec<u32>,
    stamp: u32,
    local: Vec<u32>,
    /// What the last search found, and the registers that are still to be looked at: kept for their memory.
    reach: Reach,
    stack: Vec<u32>,
}

/// What a register is computed from, up to variables and funnels.
#[derive(Default)]
struct Reach {
    inner: Vec<u32>,
    funnels: Vec<u32>,
    variables: Vec<u32>,
    arcs: usize,
}

impl Reach {
    fn clear(&mut self) {
        self.inner.clear();
        self.funnels.clear();
        self.variables.clear();
        self.arcs = 0;
    }
}

impl Builder {
    fn new(program: &Program) -> Self {
        let registers = program.depends.len();
        let (mut owner, mut uses) = (vec![NOBODY; registers], vec![0u32; registers]);
        let mut claim = |owner: &mut Vec<u32>, register: u32, by: u32| {
            uses[register as usize] = uses[register as usize].saturating_add(1);
            let owner = &mut owner[register as usize];
            *owner = if *owner == NOBODY || *owner == by { by } else { SEVERAL };
        };
        for (number, &output) in program.outputs.iter().flatten().enumerate() {
            claim(&mut owner, output, number as u32);
        }
        for register in (program.inputs as u32..registers as u32).rev() {
            let by = owner[register as usize];
            if by != NOBODY {
                program.operands(register).for_each(|operand| claim(&mut owner, operand, by));
            }
        }
        let visits = registers.saturating_mul(VISITS_PER_REGISTER);
        let (seen, local, funnel) = (vec![0; registers], vec![NONE; registers], vec![NONE; registers]);
        let (reach, stack) = (Reach::default(), Vec::new());
        Builder { owner, uses, funnel, funnels: Vec::new(), visits, seen, stamp: 0, local, reach, stack }
    }

    // The columns of the blocks are not needed: the pattern of a funnel is at most the sum of the ones below.
    fn is_funnel(&mut self, program: &Program, register: u32) -> bool {
        let at = register as usize;
        if self.owner[at] != SEVERAL || self.uses[at] < 2 || !program.depends[at] || self.visits == 0 {
            return false;
        }
        self.search(program, register);
        let reach = &self.reach;
        self.visits = self.visits.saturating_sub(reach.arcs);
        let below: usize = reach.funnels.iter().map(|&at| self.funnels[self.funnel[at as usize] as usize].0.len()).sum();
        let support = reach.variables.len() + below;
        reach.arcs >= FEWEST_ARCS && reach.arcs + below > 2 * support
    }

    // Fills `reach`.
    fn search(&mut self, program: &Program, root: u32) {
        let Builder { reach, stack, .. } = self;
        reach.clear();
        if !program.depends[root as usize] {
            return;
        }
        self.stamp += 1;
        stack.push(root);
        self.seen[root as usize] = self.stamp;
        while let Some(register) = stack.pop() {
            if (register as usize) < program.inputs {
                reach.variables.push(register);
            } else if self.funnel[register as usize] != NONE {
                reach.funnels.push(register);
            } else {
                reach.inner.push(register);
                for operand in program.operands(register) {
                    reach.arcs += 1;
                    if self.seen[operand as usize] != self.stamp {
                        self.seen[operand as usize] = self.stamp;
                        stack.push(operand);
                    }
                }
            }
        }
    }

    // Adjoints: the variables, the funnels, and the rest.
    fn build(&mut self, program: &Program, root: u32, blocks: &mut Blocks) -> Block {
        self.search(program, root);
        let Builder { reach: Reach { inner, funnels, variables, .. }, funnel, funnels: known, local, .. } = self;
        let known = |register: u32| &known[funnel[register as usize] as usize];
        for &register in &*funnels {
            variables.extend_from_slice(&blocks.columns[known(register).0.clone()]);
        }
        variables.sort_unstable();
        variables.dedup();
        let descending = |a: &u32, b: &u32| b.cmp(a);
        inner.sort_unstable_by(descending);
        funnels.sort_unstable_by(descending);
        let mut adjoints = 0;
        for &register in variables.iter().chain(&*funnels).chain(&*inner) {
            local[register as usize] = adjoints;
            adjoints += 1;
        }
        let start = blocks.arcs.len();
        for &register in &*inner {
            let parent = local[register as usize];
            let arc = |(operand, slope, _)| Arc { parent, child: local[operand as usize], slope };
            blocks.arcs.extend(program.arcs(register).map(arc));
        }
        for &register in &*funnels {
            let (columns, place) = known(register);
            let parent = local[register as usize];
            let columns = blocks.columns[columns.clone()].iter().zip(*place..);
            blocks.arcs.extend(columns.map(|(&column, slope)| Arc { parent, child: local[column as usize], slope }));
        }
        let first = blocks.columns.len();
        blocks.columns.extend_from_slice(variables);
        blocks.widest = blocks.widest.max(adjoints as usize);
        let root = if adjoints > 0 { local[root as usize] } else { NONE };
        Block { arcs: start..blocks.arcs.len(), root, columns: first..blocks.columns.len(), adjoints }
    }
}
