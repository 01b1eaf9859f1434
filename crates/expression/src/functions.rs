//! Many functions of the same variables: a whole model, compiled once.

mod arcs;
mod blocks;
mod hessian;
mod parallel;
mod program;

pub use hessian::{Hessian, HessianWorkspace};

use crate::graph::{Graph, NodeId};
use blocks::Blocks;
use program::Program;

/// The functions of a model, with sparse first derivatives; [`Functions::hessian`] adds second ones.
///
/// The outputs come in *sections* that are evaluated apart: usually the objective is one section and the constraints are
/// another. Whatever several sections need (a defined variable of the model, say) is computed once per point, whichever section
/// asks first: a [`Workspace`] remembers the point and what is known there.
///
/// Time and memory, for reading and for each evaluation, are proportional to the size of the formulas plus the number of derivatives,
/// for functions of few variables each as well as for one function of very many. Evaluations allocate nothing.
///
/// The values and derivatives of many functions are computed in several threads (those of rayon) where that pays, with the same bits.
///
/// ```
/// use tangor_expression::{Binary, Functions, Graph, Unary};
///
/// // f = exp(x0 x1), c = (x0 x1)^2 - x2: the product is computed once.
/// let mut graph = Graph::default();
/// let x: Vec<_> = (0..3).map(|i| graph.input(i)).collect();
/// let product = graph.binary(Binary::Multiply, x[0], x[1]);
/// let f = graph.unary(Unary::Exponential, product);
/// let square = graph.unary(Unary::Power(2), product);
/// let c = graph.binary(Binary::Subtract, square, x[2]);
///
/// let (objective, constraints) = (0, 1);
/// let functions = Functions::new(graph, 3, &[vec![f], vec![c]]);
/// let mut work = functions.workspace();
/// let point = [2.0, 0.5, 3.0];
///
/// let mut value = [0.0];
/// functions.values(constraints, &point, &mut work, &mut value);
/// assert_eq!(value, [-2.0]);
///
/// assert_eq!(functions.columns(constraints, 0), [0, 1, 2]);
/// let mut jacobian = [0.0; 3];
/// functions.gradients(constraints, &point, &mut work, &mut jacobian);
/// assert_eq!(jacobian, [1.0, 4.0, -1.0]);
///
/// // The Hessian of 0 f + 1 c, lower triangle.
/// let hessian = functions.hessian().unwrap();
/// assert_eq!(hessian.entries(), [(0, 0), (1, 0), (1, 1)]);
/// let mut scratch = hessian.workspace();
/// let mut entries = [0.0; 3];
/// hessian.evaluate(&functions, &point, &[0.0, 1.0], &mut work, &mut scratch, &mut entries);
/// assert_eq!(entries, [0.5, 4.0, 8.0]);
/// ```
#[derive(Debug)]
pub struct Functions {
    program: Program,
    blocks: Blocks,
    /// For each section where the gradient of each output starts, and the end.
    starts: Vec<Vec<usize>>,
    columns: Vec<Vec<u32>>,
}

/// What is known at a point; see [`Functions::workspace`].
#[derive(Clone, Debug)]
pub struct Workspace {
    memory: Vec<f64>,
    adjoint: Vec<f64>,
    /// By segment of the program.
    known: Vec<Known>,
}

/// The functions at one point; see [`Functions::at`].
#[derive(Debug)]
pub struct AtPoint<'a> {
    functions: &'a Functions,
    work: &'a mut Workspace,
}

impl AtPoint<'_> {
    /// The values of a section.
    ///
    /// # Panics
    /// When the slice does not have the length of the outputs.
    pub fn values(&mut self, section: usize, values: &mut [f64]) {
        let AtPoint { functions, work } = self;
        assert_eq!(values.len(), functions.outputs(section), "there must be room for every output");
        functions.advance(section, Known::Values, work);
        for (value, &register) in values.iter_mut().zip(&functions.program.outputs[section]) {
            *value = work.memory[register as usize];
        }
    }

    /// The gradients of a section one after the other.
    ///
    /// # Panics
    /// When the slice does not have the length [`Functions::gradient_len`].
    pub fn gradients(&mut self, section: usize, values: &mut [f64]) {
        let AtPoint { functions, work } = self;
        assert_eq!(values.len(), functions.gradient_len(section), "there must be room for every derivative");
        functions.advance(section, Known::Slopes, work);
        let adjoint = functions.adjoint(section, &mut work.adjoint);
        functions.blocks.gradients::<false>(section, &work.memory, adjoint, values);
    }
}

/// How much is known: each includes the ones before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Known {
    Nothing,
    Values,
    Slopes,
}

impl Functions {
    /// Compiles the outputs of each section. Inputs with a number below `variables` are differentiated, the others are parameters,
    /// which follow the variables in every point.
    pub fn new(graph: Graph, variables: usize, sections: &[Vec<NodeId>]) -> Self {
        let inputs = graph.inputs().max(variables);
        let mut program = Program::new(&graph, variables, inputs, sections);
        drop(graph);
        let blocks = Blocks::new(&mut program);
        let (mut starts, mut columns) = (Vec::new(), Vec::new());
        for section in 0..sections.len() {
            let (mut start, mut column) = (vec![0], Vec::new());
            for row in blocks.columns(section) {
                column.extend_from_slice(row);
                start.push(column.len());
            }
            starts.push(start);
            columns.push(column);
        }
        Functions { program, blocks, starts, columns }
    }

    /// How many numbers a point has: variables, then parameters.
    pub fn inputs(&self) -> usize {
        self.program.inputs
    }

    /// How many operations all values together take.
    pub fn operations(&self) -> usize {
        self.program.instructions.len()
    }

    /// How many multiplications the sweeps of all gradients together take.
    pub fn sweep_len(&self) -> usize {
        self.blocks.len()
    }

    /// How many outputs a section has.
    pub fn outputs(&self, section: usize) -> usize {
        self.program.outputs[section].len()
    }

    /// How many numbers the gradients of a section have together.
    pub fn gradient_len(&self, section: usize) -> usize {
        self.columns[section].len()
    }

    /// The variables that an output depends on, ascending: the places of its gradient.
    pub fn columns(&self, section: usize, output: usize) -> &[u32] {
        let starts = &self.starts[section];
        &self.columns[section][starts[output]..starts[output + 1]]
    }

    /// Memory for evaluations. Threads need one each.
    pub fn workspace(&self) -> Workspace {
        let large = (0..self.program.outputs.len()).any(|section| self.program.is_large(section));
        let sweeps = if large { parallel::SWEEPS } else { 1 };
        Workspace {
            memory: self.program.memory(),
            adjoint: vec![0.0; self.blocks.widest * sweeps],
            known: vec![Known::Nothing; self.program.segments.len()],
        }
    }

    /// The values of a section. A function that is not defined at the point gives NaN or an infinity.
    ///
    /// # Panics
    /// When a slice does not have the length of the point or of the outputs.
    pub fn values(&self, section: usize, point: &[f64], work: &mut Workspace, values: &mut [f64]) {
        self.at(point, work).values(section, values);
    }

    /// The gradients of a section one after the other, each at its [`Functions::columns`].
    ///
    /// At a kink (`abs`, `min`, `max`, `if`) it is that of the branch which gives the value.
    ///
    /// # Panics
    /// When a slice does not have the length of the point or [`Functions::gradient_len`].
    pub fn gradients(&self, section: usize, point: &[f64], work: &mut Workspace, values: &mut [f64]) {
        self.at(point, work).gradients(section, values);
    }

    /// All that is asked for at one point, which is looked at once: whether it is another than before, and what is known there.
    ///
    /// # Panics
    /// When the point does not have one number for each input.
    pub fn at<'a>(&'a self, point: &[f64], work: &'a mut Workspace) -> AtPoint<'a> {
        self.prepare(point, work);
        AtPoint { functions: self, work }
    }

    /// For each derivative of [`Functions::gradients`] the sum of the sizes of the terms that it is a sum of: its rounding error is a
    /// few units in the last place of this number, which is larger than the derivative where terms cancel.
    ///
    /// # Panics
    /// When a slice does not have the length of the point or [`Functions::gradient_len`].
    pub fn gradient_sizes(&self, section: usize, point: &[f64], work: &mut Workspace, values: &mut [f64]) {
        assert_eq!(values.len(), self.gradient_len(section), "there must be room for every derivative");
        self.prepare(point, work);
        self.advance(section, Known::Slopes, work);
        let adjoint = self.adjoint(section, &mut work.adjoint);
        self.blocks.gradients::<true>(section, &work.memory, adjoint, values);
    }

    // Room for the sweeps of a section: for several at once if they are many.
    fn adjoint<'a>(&self, section: usize, adjoint: &'a mut [f64]) -> &'a mut [f64] {
        let length = if self.program.is_large(section) { adjoint.len() } else { self.blocks.widest };
        &mut adjoint[..length]
    }

    // A new point: nothing is known there.
    fn prepare(&self, point: &[f64], work: &mut Workspace) {
        assert_eq!(point.len(), self.program.inputs, "a point has one number for each input");
        let held = &mut work.memory[..point.len()];
        if held.iter().zip(point).any(|(a, b)| a.to_bits() != b.to_bits()) {
            held.copy_from_slice(point);
            work.known.fill(Known::Nothing);
        }
    }

    fn advance(&self, section: usize, to: Known, work: &mut Workspace) {
        for segment in [0, 1 + section] {
            if work.known[segment] < Known::Values && to >= Known::Values {
                self.program.values(segment, &mut work.memory);
                work.known[segment] = Known::Values;
            }
        }
        for segment in [0, 1 + section] {
            if work.known[segment] < to {
                self.program.slopes(segment, &mut work.memory);
                self.blocks.funnels(segment, &mut work.memory, &mut work.adjoint);
                work.known[segment] = Known::Slopes;
            }
        }
    }
}
