//! Evaluates the user's functions in the internal form, counts, and names what is not finite.

use std::sync::Arc;

use tangor_problem::{Counted, Counts, Failure, Function, Problem};

use crate::iterate::Iterate;
use crate::kkt::Kkt;
use crate::report::EvaluationFailure;
use crate::standard::Standard;

/// The user's problem with the maps to the internal form.
pub struct Oracle<P> {
    problem: Counted<P>,
    pub standard: Standard,
    x: Vec<f64>,
    c: Vec<f64>,
    g: Vec<f64>,
    values: Vec<f64>,
}

/// Why an evaluation has no result.
#[derive(Debug)]
pub enum Trouble {
    /// No value at this point: a NaN, an infinity, or the function says so.
    Undefined(EvaluationFailure),
    /// The function is broken: the run must end.
    Broken(EvaluationFailure),
}

impl Trouble {
    pub fn into_failure(self) -> EvaluationFailure {
        match self {
            Trouble::Undefined(failure) | Trouble::Broken(failure) => failure,
        }
    }

    pub fn is_broken(&self) -> bool {
        matches!(self, Trouble::Broken(_))
    }
}

impl<P: Problem> Oracle<P> {
    pub fn new(problem: P, standard: Standard) -> Self {
        let problem = Counted::new(problem);
        let meta = problem.meta();
        let (n, m, values) = (meta.n(), meta.m(), meta.jacobian_len());
        let x = standard.start.clone();
        Oracle { problem, standard, x, c: vec![0.0; m], g: vec![0.0; n], values: vec![0.0; values] }
    }

    pub fn meta(&self) -> &tangor_problem::Meta {
        self.problem.meta()
    }

    pub fn counts(&self) -> Counts {
        self.problem.counts()
    }

    pub fn set_counts(&mut self, counts: Counts) {
        self.problem.set_counts(counts);
    }

    /// The user's point and constraint values of the last evaluation of values.
    pub fn user_point(&self) -> (&[f64], &[f64]) {
        (&self.x, &self.c)
    }

    /// The multipliers of the user's bounds at the point of the last derivatives. That of a fixed variable, which the method never
    /// sees, is whatever makes the Lagrangian stationary: `grad f + J^T y`.
    pub fn bound_multipliers(&self, kkt: &Kkt, mu: &mut [f64]) {
        mu.copy_from_slice(&self.g);
        self.standard.add_fixed(&self.values, &kkt.y, mu);
        for (&i, known) in self.standard.columns.iter().zip(&kkt.mu) {
            mu[i] = *known;
        }
    }

    /// `f` and `c` at the iterate's variables, and `h` with its slacks; with `reset` the slacks move to where they violate least.
    pub fn values(&mut self, iterate: &mut Iterate, reset: bool) -> Result<(), Trouble> {
        self.standard.to_user(iterate.x(), &mut self.x);
        let (has_objective, m) = (self.meta().has_objective, self.meta().m());
        iterate.f = 0.0;
        if has_objective {
            let f = self.problem.objective(&self.x).map_err(|failure| trouble(Function::Objective, failure))?;
            self.check(Function::Objective, &[f], |_, _| None)?;
            iterate.f = self.standard.objective_scale * f;
        }
        if m > 0 {
            self.problem.constraints(&self.x, &mut self.c).map_err(|failure| trouble(Function::Constraints, failure))?;
            self.check(Function::Constraints, &self.c, |meta, i| Some(format!("constraint {}", meta.row_name(i))))?;
        }
        self.residual(iterate, reset);
        Ok(())
    }

    fn residual(&self, iterate: &mut Iterate, reset: bool) {
        let standard = &self.standard;
        for (row, &i) in standard.rows.iter().enumerate() {
            iterate.c[row] = standard.row_scale[row] * self.c[i];
            iterate.h[row] = standard.row_scale[row] * (self.c[i] - standard.shift[row]);
        }
        let n = standard.n();
        for (k, &row) in standard.slack_rows.iter().enumerate() {
            let slack = &mut iterate.z[n + k];
            if reset {
                *slack = iterate.c[row].max(standard.lower[n + k]).min(standard.upper[n + k]);
            }
            iterate.h[row] = iterate.c[row] - *slack;
        }
    }

    /// `g` and `J` at the point of the last call of [`Oracle::values`].
    pub fn derivatives(&mut self, iterate: &mut Iterate) -> Result<(), Trouble> {
        let (has_objective, m) = (self.meta().has_objective, self.meta().m());
        if has_objective {
            self.problem.gradient(&self.x, &mut self.g).map_err(|failure| trouble(Function::Gradient, failure))?;
            self.check(Function::Gradient, &self.g, |meta, i| Some(format!("variable {}", meta.variable_name(i))))?;
            self.standard.gradient(&self.g, &mut iterate.g);
        }
        if m > 0 {
            self.problem.jacobian(&self.x, &mut self.values).map_err(|failure| trouble(Function::Jacobian, failure))?;
            self.check(Function::Jacobian, &self.values, |meta, k| {
                let (row, column) = meta.jacobian.place(k, meta.n());
                Some(format!("constraint {}, variable {}", meta.row_name(row), meta.variable_name(column)))
            })?;
            self.standard.jacobian(&self.values, &mut iterate.jacobian.a);
        }
        Ok(())
    }

    /// Scales by the derivatives at the start, and puts what was evaluated there into the new scale.
    pub fn scale(&mut self, iterate: &mut Iterate) {
        self.standard.scale(&iterate.g[..iterate.n()], &iterate.jacobian.a);
        iterate.f *= self.standard.objective_scale;
        self.residual(iterate, true);
        self.standard.gradient(&self.g, &mut iterate.g);
        self.standard.jacobian(&self.values, &mut iterate.jacobian.a);
    }

    fn check(
        &self,
        function: Function,
        values: &[f64],
        place: impl Fn(&tangor_problem::Meta, usize) -> Option<String>,
    ) -> Result<(), Trouble> {
        // The sum is finite in the usual case, which makes this one pass without branches.
        if values.iter().sum::<f64>().is_finite() {
            return Ok(());
        }
        let Some(k) = values.iter().position(|value| !value.is_finite()) else { return Ok(()) };
        let place = place(self.meta(), k);
        let at = place.as_ref().map(|place| format!(" at {place}")).unwrap_or_default();
        let message = format!("the {function} gave {}{at}", values[k]);
        Err(Trouble::Undefined(EvaluationFailure { function, place, message, cause: None }))
    }
}

fn trouble(function: Function, failure: Failure) -> Trouble {
    let broken = failure.is_broken();
    let message = format!("the {function} failed: {failure}");
    let failure = EvaluationFailure { function, place: None, message, cause: Some(Arc::new(failure)) };
    if broken { Trouble::Broken(failure) } else { Trouble::Undefined(failure) }
}
