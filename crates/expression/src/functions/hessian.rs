//! Second derivatives of a weighted sum of all outputs, by edge pushing.
//!
//! A reverse sweep over the whole program carries the adjoints and a symmetric matrix `W` over the registers that are still to be
//! passed. At the register `v = phi(a, b)` with slopes `p` and second derivatives `phi''`, row and column `v` are replaced:
//! `W += p W_vv p' + p W_v: + W_:v p' + adjoint_v phi''`. In the end `W` is the Hessian over the variables. Which entries ever
//! differ from zero is the same at every point, so the steps are written down once. (R. M. Gower and M. P. Mello, Optimization
//! Methods and Software 27 (2012), 251-268.)

use super::arcs::{Factor, bends, second};
use super::program::Program;
use super::{Functions, Known, Workspace};
use crate::derive::TooLarge;
use crate::hash::Table;
use crate::instruction::NONE;

/// Beyond this many steps second derivatives are refused.
const MOST_STEPS: usize = 20_000_000;

/// Numbers without "memory" are entries of `W`; slopes lie in the memory of the functions.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// `W[target] += W[source] * slope`
    Push { target: u32, source: u32, slope: u32 },
    /// `W[target] += 2 * W[source] * slope`
    PushTwice { target: u32, source: u32, slope: u32 },
    /// `W[target] += W[source] * left * right`
    Fold { target: u32, source: u32, left: u32, right: u32 },
    /// `W[target] += 2 * W[source] * left * right`
    FoldTwice { target: u32, source: u32, left: u32, right: u32 },
    /// `W[target] += adjoint[of] * bend`
    Bend { target: u32, of: u32, bend: u32 },
    /// `W[target] += 2 * adjoint[of] * bend`
    BendTwice { target: u32, of: u32, bend: u32 },
    /// `adjoint[child] += adjoint[parent] * slope`
    Adjoint { child: u32, parent: u32, slope: u32 },
}

/// Second derivatives that are computed at every point: the instruction, and where they go among the bends.
#[derive(Clone, Copy, Debug)]
struct BendTask {
    instruction: u32,
    place: u32,
    depends: [bool; 2],
}

/// The Hessian of a weighted sum of all outputs of [`Functions`]; see [`Functions::hessian`].
#[derive(Debug)]
pub struct Hessian {
    steps: Vec<Step>,
    tasks: Vec<BendTask>,
    /// Bends that are the same everywhere, in the first places.
    fixed: Vec<f64>,
    bends: usize,
    weights: usize,
    slots: usize,
    registers: usize,
    entries: Vec<(u32, u32)>,
    /// For each entry its slot in `W`.
    places: Vec<u32>,
}

/// Memory of a [`Hessian`].
#[derive(Clone, Debug)]
pub struct HessianWorkspace {
    bends: Vec<f64>,
    w: Vec<f64>,
    adjoint: Vec<f64>,
}

impl Functions {
    /// Compiles the second derivatives; refused when they would take too much memory (tens of millions of steps).
    pub fn hessian(&self) -> Result<Hessian, TooLarge> {
        let mut builder = Builder::new(&self.program);
        builder.run()?;
        let mut found: Vec<((u32, u32), u32)> = builder.slots.into_iter().collect();
        found.sort_unstable();
        let hessian = Hessian {
            steps: builder.steps,
            tasks: builder.tasks,
            fixed: builder.fixed,
            bends: builder.bends as usize,
            weights: self.program.outputs.iter().map(Vec::len).sum(),
            slots: builder.next as usize,
            registers: self.program.depends.len(),
            entries: found.iter().map(|&(entry, _)| entry).collect(),
            places: found.iter().map(|&(_, slot)| slot).collect(),
        };
        Ok(hessian)
    }
}

impl Hessian {
    /// Row and column (at most the row) of each entry of the lower triangle that is not zero everywhere, in the order of rows.
    pub fn entries(&self) -> &[(u32, u32)] {
        &self.entries
    }

    /// How many multiplications the sweep takes.
    pub fn sweep_len(&self) -> usize {
        self.steps.len()
    }

    /// Memory for evaluations. Threads need one each.
    pub fn workspace(&self) -> HessianWorkspace {
        let mut bends = self.fixed.clone();
        bends.resize(self.bends, 0.0);
        HessianWorkspace { bends, w: vec![0.0; self.slots], adjoint: vec![0.0; self.registers] }
    }

    /// The Hessian of the sum of all outputs, each times its weight (section after section), at [`Hessian::entries`].
    ///
    /// # Panics
    /// When a slice does not have the length of the point, the weights or the entries.
    pub fn evaluate(
        &self,
        functions: &Functions,
        point: &[f64],
        weights: &[f64],
        work: &mut Workspace,
        scratch: &mut HessianWorkspace,
        values: &mut [f64],
    ) {
        assert_eq!(weights.len(), self.weights, "there must be a weight for every output");
        assert_eq!(values.len(), self.entries.len(), "there must be room for every entry");
        functions.prepare(point, work);
        for section in 0..functions.program.outputs.len() {
            functions.advance(section, Known::Slopes, work);
        }
        self.bend(&functions.program, &work.memory, &mut scratch.bends);
        scratch.w.fill(0.0);
        scratch.adjoint.fill(0.0);
        for (&output, &weight) in functions.program.outputs.iter().flatten().zip(weights) {
            scratch.adjoint[output as usize] += weight;
        }
        self.sweep(&work.memory, scratch);
        for (value, &slot) in values.iter_mut().zip(&self.places) {
            *value = scratch.w[slot as usize];
        }
    }

    fn bend(&self, program: &Program, memory: &[f64], bends: &mut [f64]) {
        for task in &self.tasks {
            let i = task.instruction as usize;
            let at = |register: u32| memory[register as usize];
            let values = second(&program.instructions[i], memory[program.inputs + i], at, task.depends);
            bends[task.place as usize..task.place as usize + 3].copy_from_slice(&values);
        }
    }

    // A product with zero is zero: the other factor may be infinite beside a branch that is not taken.
    fn sweep(&self, memory: &[f64], scratch: &mut HessianWorkspace) {
        let HessianWorkspace { bends, w, adjoint } = scratch;
        let slope = |place: u32| memory[place as usize];
        let times = |a: f64, b: f64| if a == 0.0 || b == 0.0 { 0.0 } else { a * b };
        for step in &self.steps {
            match *step {
                Step::Push { target, source, slope: s } => w[target as usize] += times(w[source as usize], slope(s)),
                Step::PushTwice { target, source, slope: s } => w[target as usize] += 2.0 * times(w[source as usize], slope(s)),
                Step::Fold { target, source, left, right } => {
                    w[target as usize] += times(times(w[source as usize], slope(left)), slope(right));
                }
                Step::FoldTwice { target, source, left, right } => {
                    w[target as usize] += 2.0 * times(times(w[source as usize], slope(left)), slope(right));
                }
                Step::Bend { target, of, bend } => w[target as usize] += times(adjoint[of as usize], bends[bend as usize]),
                Step::BendTwice { target, of, bend } => {
                    w[target as usize] += 2.0 * times(adjoint[of as usize], bends[bend as usize]);
                }
                Step::Adjoint { child, parent, slope: s } => {
                    adjoint[child as usize] += times(adjoint[parent as usize], slope(s));
                }
            }
        }
    }
}

struct Builder<'a> {
    program: &'a Program,
    /// For each register whether it or anything below it bends.
    curved: Vec<bool>,
    /// The entries of `W` that are in use, the larger register first, and the neighbours below each register.
    slots: Table<(u32, u32), u32>,
    neighbours: Vec<Vec<(u32, u32)>>,
    next: u32,
    steps: Vec<Step>,
    tasks: Vec<BendTask>,
    fixed: Vec<f64>,
    bends: u32,
}

impl<'a> Builder<'a> {
    fn new(program: &'a Program) -> Self {
        let registers = program.depends.len();
        let mut curved = vec![false; registers];
        for register in program.inputs..registers {
            let own = bends(&program.instructions[register - program.inputs], register as u32).next().is_some();
            let below = program.arcs(register as u32).any(|(operand, ..)| curved[operand as usize]);
            curved[register] = program.depends[register] && (own || below);
        }
        let fixed = vec![1.0, 2.0];
        let bends = fixed.len() as u32;
        let neighbours = vec![Vec::new(); registers];
        let (slots, steps, tasks) = (Table::default(), Vec::new(), Vec::new());
        Builder { program, curved, slots, neighbours, next: 0, steps, tasks, fixed, bends }
    }

    fn run(&mut self) -> Result<(), TooLarge> {
        for register in (self.program.inputs as u32..self.program.depends.len() as u32).rev() {
            if !self.program.depends[register as usize] {
                continue;
            }
            let arcs: Vec<_> = self.program.arcs(register).collect();
            for (other, source) in std::mem::take(&mut self.neighbours[register as usize]) {
                self.slots.remove(&(register, other));
                if other == register {
                    self.fold(&arcs, source);
                } else {
                    self.push(&arcs, other, source);
                }
            }
            if self.curved[register as usize] {
                self.bend(&arcs, register);
                for &(child, slope, _) in arcs.iter().filter(|arc| self.curved[arc.0 as usize]) {
                    self.steps.push(Step::Adjoint { child, parent: register, slope });
                }
            }
            if self.steps.len() > MOST_STEPS {
                return Err(TooLarge);
            }
        }
        Ok(())
    }

    // The slot of an entry of W.
    fn slot(&mut self, a: u32, b: u32) -> u32 {
        let key = (a.max(b), a.min(b));
        let (next, neighbours) = (&mut self.next, &mut self.neighbours);
        *self.slots.entry(key).or_insert_with(|| {
            neighbours[key.0 as usize].push((key.1, *next));
            *next += 1;
            *next - 1
        })
    }

    fn fold(&mut self, arcs: &[(u32, u32, usize)], source: u32) {
        for (i, &(a, left, _)) in arcs.iter().enumerate() {
            for (j, &(b, right, _)) in arcs[..=i].iter().enumerate() {
                let target = self.slot(a, b);
                let twice = i != j && a == b;
                self.steps.push(match twice {
                    false => Step::Fold { target, source, left, right },
                    true => Step::FoldTwice { target, source, left, right },
                });
            }
        }
    }

    fn push(&mut self, arcs: &[(u32, u32, usize)], other: u32, source: u32) {
        for &(operand, slope, _) in arcs {
            let target = self.slot(operand, other);
            self.steps.push(match operand == other {
                false => Step::Push { target, source, slope },
                true => Step::PushTwice { target, source, slope },
            });
        }
    }

    fn bend(&mut self, arcs: &[(u32, u32, usize)], register: u32) {
        let instruction = register as usize - self.program.inputs;
        let mut task = NONE;
        let operand = |number: usize| arcs.iter().find(|arc| arc.2 == number).map(|arc| arc.0);
        for (i, j, factor) in bends(&self.program.instructions[instruction], register) {
            let (Some(a), Some(b)) = (operand(i), operand(j)) else { continue };
            let bend = match factor {
                Factor::Fixed(value) => self.fixed.iter().position(|&known| known == value).unwrap_or(0) as u32,
                Factor::Computed(which) => self.task(instruction, &mut task, [operand(0), operand(1)]) + which,
                Factor::Register(_) => self.task(instruction, &mut task, [operand(0), operand(1)]),
            };
            let target = self.slot(a, b);
            let twice = i != j && a == b;
            self.steps.push(match twice {
                false => Step::Bend { target, of: register, bend },
                true => Step::BendTwice { target, of: register, bend },
            });
        }
    }

    fn task(&mut self, instruction: usize, place: &mut u32, operands: [Option<u32>; 2]) -> u32 {
        if *place == NONE {
            *place = self.bends;
            self.bends += 3;
            let depends = operands.map(|operand| operand.is_some());
            self.tasks.push(BendTask { instruction: instruction as u32, place: *place, depends });
        }
        *place
    }
}
