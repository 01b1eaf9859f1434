//! Evaluates the user's functions in the internal form, counts, and names what is not finite.

use std::sync::Arc;

use tangor_problem::{Counted, Counts, Failure, Function, Meta, SampledProblem, Samples};

use crate::Sampling;
use crate::estimator::{Estimates, Learning};
use crate::iterate::Iterate;
use crate::kkt::Kkt;
use crate::report::EvaluationFailure;
use crate::source::Source;
use crate::standard::Standard;

/// The user's problem with the maps to the internal form.
pub struct Oracle<S> {
    pub problem: Counted<S>,
    pub standard: Standard,
    x: Vec<f64>,
    /// The user's `g`, `c` and `J`: values, or what is estimated of them.
    pub estimates: Estimates,
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

impl<S: SampledProblem> Oracle<S> {
    pub fn new(problem: S, standard: Standard, sampling: &Sampling) -> Self {
        let problem = Counted::new(problem);
        let x = standard.start.clone();
        let estimates = Estimates::new(problem.meta(), problem.accesses(), sampling);
        Oracle { problem, standard, x, estimates }
    }

    pub fn meta(&self) -> &Meta {
        self.problem.meta()
    }

    pub fn counts(&self) -> Counts {
        self.problem.counts()
    }

    pub fn samples(&self) -> Samples {
        self.problem.samples()
    }

    /// Whether any function is sampled.
    pub fn is_sampled(&self) -> bool {
        !self.problem.accesses().are_exact()
    }

    /// The user's point and constraint values of the last evaluation.
    pub fn user_point(&self) -> (&[f64], &[f64]) {
        (&self.x, self.estimates.constraints.values())
    }

    /// The user's derivatives at the point of the last evaluation.
    pub fn user_derivatives(&self) -> (&[f64], &[f64]) {
        (self.estimates.gradient.values(), self.estimates.jacobian.values())
    }

    /// The multipliers of the user's bounds, with these derivatives. That of a fixed variable, which the method never sees, is whatever
    /// makes the Lagrangian stationary: `grad f + J^T y`.
    pub fn bound_multipliers(&self, kkt: &Kkt, (g, jacobian): (&[f64], &[f64]), mu: &mut [f64]) {
        mu.copy_from_slice(g);
        self.standard.add_fixed(jacobian, &kkt.y, mu);
        for (&i, known) in self.standard.columns.iter().zip(&kkt.mu) {
            mu[i] = *known;
        }
    }

    /// `f` and `c` at the iterate's variables, exactly, and `h` with its slacks; with `reset` the slacks move to where they violate
    /// least.
    pub fn values(&mut self, iterate: &mut Iterate, reset: bool) -> Result<(), Trouble> {
        self.standard.to_user(iterate.x(), &mut self.x);
        iterate.f = 0.0;
        if self.meta().has_objective
            && let Some(f) = self.problem.objective(&self.x, &[])
        {
            let f = f.map_err(|failure| trouble(Function::Objective, failure))?;
            check(self.problem.meta(), Function::Objective, &[f])?;
            iterate.f = self.standard.objective_scale * f;
        }
        self.evaluate_exactly(Source::Constraints)?;
        self.residual(iterate, reset);
        Ok(())
    }

    /// `g` and `J` at the point of the last call of [`Oracle::values`].
    pub fn derivatives(&mut self, iterate: &mut Iterate) -> Result<(), Trouble> {
        self.evaluate_exactly(Source::Gradient)?;
        self.evaluate_exactly(Source::Jacobian)?;
        self.put_derivatives(iterate);
        Ok(())
    }

    fn evaluate_exactly(&mut self, source: Source) -> Result<(), Trouble> {
        if !source.is_needed(self.meta()) {
            return Ok(());
        }
        let Oracle { problem, x, estimates, .. } = self;
        let values = estimates.of(source).values_mut();
        source.evaluate(problem, x, &[], values).map_err(|failure| trouble(source.function(), failure))?;
        check(problem.meta(), source.function(), values)
    }

    /// Estimates of `g`, `J` and `h` at the iterate's variables. `learning` tells how the Lipschitz constants stand.
    pub fn estimate(&mut self, iterate: &Iterate, learning: Learning) -> Result<(), Trouble> {
        let Oracle { problem, x, estimates, standard } = self;
        standard.to_user(iterate.x(), x);
        estimates.refresh(problem, x, learning).map_err(|(function, failure)| trouble(function, failure))?;
        let mut needed = Source::ALL.into_iter().filter(|source| source.is_needed(problem.meta()));
        needed.try_for_each(|source| check(problem.meta(), source.function(), estimates.of(source).next()))
    }

    /// Goes on from the iterate whose estimates were taken last.
    pub fn accept_estimates(&mut self, iterate: &mut Iterate, reset: bool) {
        self.estimates.finish(&self.x);
        self.put_derivatives(iterate);
        self.residual(iterate, reset);
    }

    /// Goes on with estimates that a checkpoint kept, at the iterate's variables and slacks.
    pub fn take_up_estimates(&mut self, iterate: &mut Iterate) {
        self.standard.to_user(iterate.x(), &mut self.x);
        self.estimates.resume_at(&self.x);
        self.put_derivatives(iterate);
        self.residual(iterate, false);
    }

    fn put_derivatives(&self, iterate: &mut Iterate) {
        let meta = self.problem.meta();
        if meta.has_objective {
            self.standard.gradient(self.estimates.gradient.values(), &mut iterate.g);
        }
        if meta.m() > 0 {
            self.standard.jacobian(self.estimates.jacobian.values(), &mut iterate.jacobian.a);
        }
    }

    fn residual(&self, iterate: &mut Iterate, reset: bool) {
        self.put_residual(self.estimates.constraints.values(), iterate, reset);
    }

    /// The user's constraint values, into an iterate whose slacks then violate least.
    pub fn put_values(&self, c: &[f64], iterate: &mut Iterate) {
        self.put_residual(c, iterate, true);
    }

    fn put_residual(&self, c: &[f64], iterate: &mut Iterate, reset: bool) {
        let standard = &self.standard;
        for (row, &i) in standard.rows.iter().enumerate() {
            iterate.c[row] = standard.row_scale[row] * c[i];
            iterate.h[row] = standard.row_scale[row] * (c[i] - standard.shift[row]);
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

    /// Scales by the derivatives at the start, and puts what was evaluated there into the new scale.
    pub fn scale(&mut self, iterate: &mut Iterate) {
        self.standard.scale(&iterate.g[..iterate.n()], &iterate.jacobian.a);
        iterate.f *= self.standard.objective_scale;
        self.residual(iterate, true);
        self.put_derivatives(iterate);
    }
}

/// Names the first value that is not finite.
pub fn check(meta: &Meta, function: Function, values: &[f64]) -> Result<(), Trouble> {
    // The sum is finite in the usual case, which makes this one pass without branches.
    if values.iter().sum::<f64>().is_finite() {
        return Ok(());
    }
    let Some(k) = values.iter().position(|value| !value.is_finite()) else { return Ok(()) };
    let place = match function {
        Function::Gradient => Some(format!("variable {}", meta.variable_name(k))),
        Function::Constraints => Some(format!("constraint {}", meta.row_name(k))),
        Function::Jacobian => {
            let (row, column) = meta.jacobian.place(k, meta.n());
            Some(format!("constraint {}, variable {}", meta.row_name(row), meta.variable_name(column)))
        }
        Function::Objective | Function::Hessian => None,
    };
    let at = place.as_ref().map(|place| format!(" at {place}")).unwrap_or_default();
    let message = format!("the {function} gave {}{at}", values[k]);
    Err(Trouble::Undefined(EvaluationFailure { function, place, message, cause: None }))
}

pub fn trouble(function: Function, failure: Failure) -> Trouble {
    let broken = failure.is_broken();
    let message = format!("the {function} failed: {failure}");
    let failure = EvaluationFailure { function, place: None, message, cause: Some(Arc::new(failure)) };
    if broken { Trouble::Broken(failure) } else { Trouble::Undefined(failure) }
}
