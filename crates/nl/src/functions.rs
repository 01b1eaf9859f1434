//! The functions of a model, compiled: a linear part, and the nonlinear ones by the shared expression crate.

use tangor_expression::{Functions, Hessian, HessianWorkspace, NodeId, Workspace};
use tangor_problem::{Outputs, Pattern, Wanted};

use crate::build::Builder;
use crate::error::Complaint;
use crate::model::{Function, Model};

/// The objective, then the constraints.
const OBJECTIVE: usize = 0;
const CONSTRAINTS: usize = 1;

/// `c(x) = A x + b + N(x)`, where only some rows have a nonlinear part; and the same for the objective.
#[derive(Debug)]
pub(crate) struct Compiled {
    objective: Affine,
    /// The rows of `A` without zeros, and `b`.
    rows: Vec<Affine>,
    functions: Functions,
    work: Workspace,
    /// The rows that have a nonlinear part.
    pub nonlinear: Vec<u32>,
    /// The Jacobian of the linear parts, at all entries, and the entry of each derivative of a nonlinear part.
    constant: Vec<f64>,
    places: Vec<u32>,
    /// Of the nonlinear parts.
    values: Vec<f64>,
    derivatives: Vec<f64>,
    hessian: Option<Second>,
}

#[derive(Clone, Debug, Default)]
struct Affine {
    terms: Vec<(u32, f64)>,
    constant: f64,
}

#[derive(Debug)]
struct Second {
    hessian: Hessian,
    work: HessianWorkspace,
    weights: Vec<f64>,
    pattern: Pattern,
}

impl Affine {
    fn new(function: &Function) -> Self {
        Affine { terms: function.linear.iter().copied().filter(|&(_, a)| a != 0.0).collect(), constant: 0.0 }
    }

    fn value(&self, x: &[f64]) -> f64 {
        self.terms.iter().map(|&(j, a)| a * x[j as usize]).sum::<f64>() + self.constant
    }
}

impl Compiled {
    /// Compiles the constraints of a model and one of its objectives; gives the pattern of the Jacobian with it.
    pub fn new(model: &Model, objective: Option<usize>) -> Result<(Self, Pattern), Complaint> {
        let mut builder = Builder::new(model);
        let mut sections = [Vec::new(), Vec::new()];
        let mut affine = Affine::default();
        if let Some(k) = objective {
            let function = &model.objectives[k].function;
            affine = Affine::new(function);
            add(&mut builder, function, &mut affine, &mut sections[OBJECTIVE])?;
        }
        let (mut rows, mut nonlinear) = (Vec::with_capacity(model.constraints.len()), Vec::new());
        for (i, function) in model.constraints.iter().enumerate() {
            let mut row = Affine::new(function);
            if add(&mut builder, function, &mut row, &mut sections[CONSTRAINTS])? {
                nonlinear.push(i as u32);
            }
            rows.push(row);
        }
        let functions = Functions::new(builder.graph, model.header.variables, &sections);
        let (pattern, constant, places) = pattern(model, &functions, &nonlinear);
        let compiled = Compiled {
            objective: affine,
            rows,
            work: functions.workspace(),
            values: vec![0.0; nonlinear.len()],
            derivatives: vec![0.0; functions.gradient_len(OBJECTIVE).max(functions.gradient_len(CONSTRAINTS))],
            functions,
            nonlinear,
            constant,
            places,
            hessian: None,
        };
        Ok((compiled, pattern))
    }

    /// How many operations the formulas take.
    pub fn operations(&self) -> usize {
        self.functions.operations()
    }

    /// False when the objective is linear, or there is none.
    pub fn objective_is_nonlinear(&self) -> bool {
        self.functions.outputs(OBJECTIVE) > 0
    }

    /// What is wanted of objective and constraints, with one look at the point: parts that several of them need are computed once.
    pub fn evaluate(&mut self, x: &[f64], wanted: Wanted, out: &mut Outputs<'_>) {
        let Compiled { functions, work, values, derivatives, .. } = self;
        let is_nonlinear = functions.outputs(OBJECTIVE) > 0;
        let mut here = functions.at(x, work);
        if wanted.objective {
            let mut value = [0.0];
            if is_nonlinear {
                here.values(OBJECTIVE, &mut value);
            }
            out.objective = Some(self.objective.value(x) + value[0]);
        }
        if wanted.gradient {
            out.gradient.fill(0.0);
            for &(j, a) in &self.objective.terms {
                out.gradient[j as usize] += a;
            }
            if is_nonlinear {
                let derivatives = &mut derivatives[..functions.gradient_len(OBJECTIVE)];
                here.gradients(OBJECTIVE, derivatives);
                for (&j, &derivative) in functions.columns(OBJECTIVE, 0).iter().zip(&*derivatives) {
                    out.gradient[j as usize] += derivative;
                }
            }
        }
        if wanted.constraints {
            for (value, row) in out.constraints.iter_mut().zip(&self.rows) {
                *value = row.value(x);
            }
            here.values(CONSTRAINTS, values);
            for (&i, &value) in self.nonlinear.iter().zip(&*values) {
                out.constraints[i as usize] += value;
            }
        }
        if wanted.jacobian {
            out.jacobian.copy_from_slice(&self.constant);
            let derivatives = &mut derivatives[..self.places.len()];
            here.gradients(CONSTRAINTS, derivatives);
            for (&place, &derivative) in self.places.iter().zip(&*derivatives) {
                out.jacobian[place as usize] += derivative;
            }
        }
    }

    /// For each entry of the gradient, the sum of the sizes of the terms that it is a sum of.
    pub fn gradient_sizes(&mut self, x: &[f64], sizes: &mut [f64]) {
        sizes.fill(0.0);
        for &(j, a) in &self.objective.terms {
            sizes[j as usize] += a.abs();
        }
        if self.objective_is_nonlinear() {
            let derivatives = &mut self.derivatives[..self.functions.gradient_len(OBJECTIVE)];
            self.functions.gradient_sizes(OBJECTIVE, x, &mut self.work, derivatives);
            for (&j, &size) in self.functions.columns(OBJECTIVE, 0).iter().zip(&*derivatives) {
                sizes[j as usize] += size;
            }
        }
    }

    /// Compiles the second derivatives, once. False when they would take too much memory.
    pub fn prepare_hessian(&mut self) -> bool {
        if self.hessian.is_none() {
            self.hessian = self.functions.hessian().ok().map(|hessian| {
                let entries = hessian.entries().iter().map(|&(row, column)| (row as usize, column as usize));
                let pattern = Pattern::sparse(entries);
                let weights = vec![0.0; usize::from(self.objective_is_nonlinear()) + self.nonlinear.len()];
                Second { work: hessian.workspace(), hessian, weights, pattern }
            });
        }
        self.hessian.is_some()
    }

    /// The pattern of the second derivatives, when they have been prepared.
    pub fn hessian_pattern(&self) -> Option<&Pattern> {
        self.hessian.as_ref().map(|second| &second.pattern)
    }

    pub fn hessian(&mut self, x: &[f64], sigma: f64, y: &[f64], values: &mut [f64]) {
        let Some(second) = &mut self.hessian else { return values.fill(f64::NAN) };
        let first = second.weights.len() - self.nonlinear.len();
        second.weights[..first].fill(sigma);
        for (weight, &i) in second.weights[first..].iter_mut().zip(&self.nonlinear) {
            *weight = y[i as usize];
        }
        second.hessian.evaluate(&self.functions, x, &second.weights, &mut self.work, &mut second.work, values);
    }
}

// Adds a function to its section, unless its formula is a constant. True when it has been added.
fn add(
    builder: &mut Builder<'_>,
    function: &Function,
    affine: &mut Affine,
    section: &mut Vec<NodeId>,
) -> Result<bool, Complaint> {
    let Some(node) = builder.nonlinear(function)? else { return Ok(false) };
    match builder.graph.known(node) {
        Some(constant) => affine.constant = constant,
        None => section.push(node),
    }
    Ok(builder.graph.known(node).is_none())
}

// The entries of the file in their order, row after row, and after those of each row the ones that only its formula has; the values
// of linear parts; and the entry of each derivative of a nonlinear part.
fn pattern(model: &Model, functions: &Functions, nonlinear: &[u32]) -> (Pattern, Vec<f64>, Vec<u32>) {
    let (mut rows, mut columns, mut constant) = (Vec::new(), Vec::new(), Vec::new());
    let mut places = Vec::with_capacity(functions.gradient_len(CONSTRAINTS));
    let mut entry = vec![(u32::MAX, 0u32); model.header.variables];
    let mut next = 0;
    for (i, function) in model.constraints.iter().enumerate() {
        let mut add = |j: u32, value: f64, entry: &mut Vec<(u32, u32)>| {
            entry[j as usize] = (i as u32, rows.len() as u32);
            rows.push(i);
            columns.push(j as usize);
            constant.push(value);
        };
        function.linear.iter().for_each(|&(j, a)| add(j, a, &mut entry));
        if nonlinear.get(next) == Some(&(i as u32)) {
            for &j in functions.columns(CONSTRAINTS, next) {
                if entry[j as usize].0 != i as u32 {
                    add(j, 0.0, &mut entry);
                }
                places.push(entry[j as usize].1);
            }
            next += 1;
        }
    }
    (Pattern::Sparse { rows, columns }, constant, places)
}
