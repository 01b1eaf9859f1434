//! Evaluates the user's functions in the internal form, counts, and names what is not finite.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tangor_problem::{Counted, Counts, Failure, Function, Meta, Outputs, SampledProblem, Samples, Wanted};

use crate::Sampling;
use crate::form::iterate::{Iterate, UserPoint};
use crate::form::presolve::Presolve;
use crate::form::quantity::Quantity;
use crate::form::standard::Standard;
use crate::judging::residuals::Kkt;
use crate::noise::estimator::{Estimates, Learning};
use crate::run::report::EvaluationFailure;

/// The user's problem with the maps to the internal form.
pub struct Oracle<S> {
    pub problem: Counted<S>,
    pub standard: Standard,
    /// What was taken out of the problem before it came into its internal form.
    pub presolve: Option<Presolve>,
    /// The user's `g`, `c` and `J`: values, or what is estimated of them.
    pub estimates: Estimates,
    /// Whether what is evaluated is only a look far away, on which the run does not depend.
    pub ventures: Arc<AtomicBool>,
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
    pub fn new(problem: Counted<S>, standard: Standard, presolve: Option<Presolve>, sampling: &Sampling) -> Self {
        let estimates = Estimates::new(problem.meta(), problem.accesses(), sampling);
        Oracle { problem, standard, presolve, estimates, ventures: Arc::default() }
    }

    /// The multipliers of the user's rows and bounds, from those of the internal rows and of the bounds that the method had.
    pub fn user_multipliers(&self, y: &[f64], mu: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let (mut rows, mut bounds) = (vec![0.0; self.meta().m()], mu.to_vec());
        self.standard.rows.iter().zip(y).for_each(|(&i, y)| rows[i] = *y);
        if let Some(presolve) = &self.presolve {
            presolve.give_back(&mut rows, &mut bounds);
        }
        (rows, bounds)
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

    /// The multipliers of the user's bounds at a point, from those of the internal form.
    pub fn bound_multipliers(&self, kkt: &Kkt, user: &UserPoint, mu: &mut [f64]) {
        self.standard.fixed_multipliers(user, &kkt.y, mu);
        for (&i, known) in self.standard.columns.iter().zip(&kkt.mu) {
            mu[i] = *known;
        }
    }

    /// `f` and `c` at the iterate's variables, exactly, and `h` with its slacks; with `reset` the slacks move to where they violate
    /// least.
    pub fn values(&mut self, iterate: &mut Iterate, reset: bool) -> Result<(), Trouble> {
        self.locate(iterate);
        let f = self.evaluate_exactly(Wanted::VALUES, &iterate.user.x)?.unwrap_or(0.0);
        iterate.user.objective = f;
        iterate.f = self.standard.objective_factor() * f;
        self.residual(iterate, reset);
        Ok(())
    }

    /// `g` and `J` at the iterate's variables, exactly.
    pub fn derivatives(&mut self, iterate: &mut Iterate) -> Result<(), Trouble> {
        self.evaluate_exactly(Wanted::DERIVATIVES, &iterate.user.x)?;
        self.put_derivatives(iterate);
        Ok(())
    }

    /// The wanted functions in one pass; gives the value of the objective.
    pub fn evaluate_exactly(&mut self, wanted: Wanted, x: &[f64]) -> Result<Option<f64>, Trouble> {
        let Oracle { problem, estimates, .. } = self;
        let wanted = wanted.of(problem.meta());
        let Estimates { gradient: g, constraints: c, jacobian: j, .. } = estimates;
        let mut out = Outputs::new(g.values_mut(), c.values_mut(), j.values_mut());
        problem.evaluate(x, &[], wanted, &mut out).map_err(|failed| trouble(failed.function, failed.failure))?;
        let f = out.objective;
        check(problem.meta(), Function::Objective, f.as_slice())?;
        for quantity in Quantity::ALL.into_iter().filter(|quantity| quantity.is_wanted(wanted)) {
            check(problem.meta(), quantity.function(), estimates.of(quantity).values())?;
        }
        Ok(f)
    }

    /// Exact constraints at the iterate's variables, and `h` with its slacks, before anything is sampled there.
    pub fn exact_rows(&mut self, iterate: &mut Iterate, reset: bool) -> Result<(), Trouble> {
        self.locate(iterate);
        let Oracle { problem, estimates, .. } = self;
        let (function, rows) = (Function::Constraints, &mut estimates.constraints.here[0]);
        problem.constraints(&iterate.user.x, &[], rows).map_err(|failure| trouble(function, failure))?;
        check(problem.meta(), function, rows)?;
        self.load_values(&self.estimates.constraints.here[0], iterate, reset);
        Ok(())
    }

    /// The iterate's variables as the user knows them.
    fn locate(&mut self, iterate: &mut Iterate) {
        let (Iterate { z, user, .. }, Oracle { problem, standard, .. }) = (iterate, self);
        problem.place(&mut user.x, &mut |x| standard.to_user(&z[..standard.n()], x));
    }

    /// Estimates of `g`, `J` and `h` at the iterate's variables. `learning` tells how the Lipschitz constants stand.
    pub fn estimate(&mut self, iterate: &mut Iterate, learning: Learning) -> Result<(), Trouble> {
        self.locate(iterate);
        let Oracle { problem, estimates, .. } = self;
        estimates.refresh(problem, &iterate.user.x, learning).map_err(|(function, failure)| trouble(function, failure))?;
        let mut needed = Quantity::ALL.into_iter().filter(|quantity| quantity.is_needed(problem.meta()));
        needed.try_for_each(|quantity| check(problem.meta(), quantity.function(), estimates.of(quantity).next()))
    }

    /// Goes on from the iterate whose estimates were taken last.
    pub fn accept_estimates(&mut self, iterate: &mut Iterate, reset: bool) {
        self.estimates.finish(&iterate.user.x);
        self.put_derivatives(iterate);
        self.residual(iterate, reset);
    }

    /// Goes on with estimates that a checkpoint kept, at the iterate's variables and slacks.
    pub fn take_up_estimates(&mut self, iterate: &mut Iterate) {
        self.locate(iterate);
        self.estimates.resume_at(&iterate.user.x);
        self.put_derivatives(iterate);
        self.residual(iterate, false);
    }

    /// The estimates as they are now, into the iterate that they belong to.
    pub fn load_estimates(&self, iterate: &mut Iterate, reset: bool) {
        self.put_derivatives(iterate);
        self.residual(iterate, reset);
    }

    fn put_derivatives(&self, iterate: &mut Iterate) {
        self.load_derivatives(self.estimates.gradient.values(), self.estimates.jacobian.values(), iterate);
    }

    fn residual(&self, iterate: &mut Iterate, reset: bool) {
        self.load_values(self.estimates.constraints.values(), iterate, reset);
    }

    /// The user's gradient, constraint values and Jacobian, into an iterate whose slacks then violate least.
    pub fn load(&self, [g, c, jacobian]: [&[f64]; 3], iterate: &mut Iterate) {
        self.load_derivatives(g, jacobian, iterate);
        self.load_values(c, iterate, true);
    }

    /// The user's gradient and Jacobian, into an iterate.
    pub fn load_derivatives(&self, g: &[f64], jacobian: &[f64], iterate: &mut Iterate) {
        let meta = self.problem.meta();
        if meta.has_objective {
            self.standard.gradient(g, &mut iterate.g);
        }
        if meta.m() > 0 {
            self.standard.jacobian(jacobian, &mut iterate.jacobian.a);
        }
        self.standard.keep_fixed(g, jacobian, &mut iterate.user);
    }

    /// The user's constraint values, into an iterate; with `reset` its slacks then violate least.
    pub fn load_values(&self, c: &[f64], iterate: &mut Iterate, reset: bool) {
        iterate.user.c.copy_from_slice(c);
        let standard = &self.standard;
        for (row, &i) in standard.rows.iter().enumerate() {
            iterate.c[row] = standard.scales.rows[row] * c[i];
            iterate.h[row] = standard.scales.rows[row] * (c[i] - standard.shift[row]);
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

    /// `g` and `J` at another iterate; what is known of the current one stays.
    pub fn derivatives_elsewhere(&mut self, iterate: &mut Iterate) -> Result<(), Trouble> {
        self.locate(iterate);
        let kept = [self.estimates.gradient.values().to_vec(), self.estimates.jacobian.values().to_vec()];
        let done = self.derivatives(iterate);
        self.estimates.gradient.values_mut().copy_from_slice(&kept[0]);
        self.estimates.jacobian.values_mut().copy_from_slice(&kept[1]);
        done
    }

    /// All rows in the user's unit from now on; the functions are evaluated at the iterate once more.
    pub fn unscale_rows(&mut self, iterate: &mut Iterate) -> Result<(), Trouble> {
        self.standard.unscale_rows();
        self.values(iterate, true)?;
        self.derivatives(iterate)
    }

    /// Scales rows anew by their derivatives at an iterate, whose values were the last to be taken.
    pub fn scale_rows(&mut self, iterate: &mut Iterate) {
        self.standard.scale_rows(&iterate.jacobian.a);
        self.residual(iterate, true);
        self.put_derivatives(iterate);
    }

    /// Scales rows up as well as down, likewise.
    pub fn level_rows(&mut self, iterate: &mut Iterate) {
        self.standard.level_rows(&iterate.jacobian.a);
        self.residual(iterate, true);
        self.put_derivatives(iterate);
    }

    /// Scales rows and objective anew, likewise; the factor by which values of the objective change.
    pub fn scale_anew(&mut self, iterate: &mut Iterate) -> f64 {
        let factor = self.standard.scale_objective(&iterate.g);
        iterate.f *= factor;
        self.scale_rows(iterate);
        factor
    }

    /// Multiplies the scale of each row by a weight, at an iterate whose values were the last to be taken.
    pub fn weigh_rows(&mut self, iterate: &mut Iterate, weight: impl Fn(usize) -> f64) {
        self.standard.weigh_rows(weight);
        self.residual(iterate, true);
        self.put_derivatives(iterate);
    }

    /// Scales by the derivatives at the start and the units of the variables, and puts what was evaluated there into the new scale.
    pub fn scale(&mut self, iterate: &mut Iterate, units: &[f64]) {
        self.standard.scale(&iterate.g[..iterate.n()], &iterate.jacobian.a, units);
        iterate.f *= self.standard.scales.objective;
        iterate.z.iter_mut().zip(&self.standard.scales.units).for_each(|(z, unit)| *z /= unit);
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
