//! The start of a run: problem and settings are checked, memory is allocated, the functions are evaluated for the first time.

use tangor_problem::{Counted, Exact, Outputs, Problem, SampledProblem, Samples, Wanted, count_of};

use crate::form::iterate::Iterate;
use crate::form::oracle::{Oracle, Trouble};
use crate::form::presolve::{AtPoint, Presolve};
use crate::form::scaling;
use crate::form::standard::Standard;
use crate::judging::Judging;
use crate::judging::row_sizes::RowSizes;
use crate::kernel::vector::norm;
use crate::metric::CurrentMetric;
use crate::metric::exact::ExactHessian;
use crate::noise::sampled_step::Noisy;
use crate::run::Outcome;
use crate::run::best::Best;
use crate::run::checkpoint::Beginning;
use crate::run::clock::Clock;
use crate::run::memory::{self, Budget};
use crate::run::state::State;
use crate::solver::Solver;
use crate::steps::mapping::OwnMapping;
use crate::steps::{Steps, only_repairs};
use crate::{EndedBy, Error, Lipschitz, Mapping, MetricKind, NormalVariant, Scaling, Settings, Stop};

/// The Hessian of a problem without noise that has one, with nothing evaluated yet.
fn hessian(
    problem: &mut impl SampledProblem,
    standard: &Standard,
    is_noisy: bool,
    budget: &mut Budget,
) -> Result<ExactHessian, Error> {
    let pattern = problem.second_order().filter(|_| !is_noisy).map(|problem| problem.hessian_pattern().clone());
    let meta = problem.meta();
    let pattern = pattern.ok_or_else(|| Error::NoSecondDerivatives { name: meta.name.clone() })?;
    let entries = pattern.len(meta.n(), meta.n());
    let what = || format!("the Hessian of {} with {}", meta.name, count_of(entries as u128, "entry"));
    *budget = budget.take(ExactHessian::bytes(entries, meta.n(), meta.m()), what)?;
    Ok(ExactHessian::new(&pattern, meta, standard))
}

/// What can be taken out of a problem with exact functions. One whose functions have no values at the start stays as it is, and so says why.
fn presolve(problem: &mut impl SampledProblem) -> Option<Presolve> {
    let meta = problem.meta();
    if !meta.linear_rows.iter().any(|linear| *linear) {
        return None;
    }
    let inside = |(i, x0): (usize, &f64)| x0.max(meta.x_lower[i]).min(meta.x_upper[i]);
    let x: Vec<f64> = meta.x0.iter().enumerate().map(inside).collect();
    let (mut c, mut jacobian) = (vec![0.0; meta.m()], vec![0.0; meta.jacobian_len()]);
    let wanted = Wanted { constraints: true, jacobian: true, ..Wanted::NOTHING };
    problem.evaluate(&x, &[], wanted, &mut Outputs::new(&mut [], &mut c, &mut jacobian)).ok()?;
    let values = c.iter().chain(&jacobian);
    values
        .into_iter()
        .all(|value| value.is_finite())
        .then(|| Presolve::new(problem.meta(), AtPoint { x: &x, c: &c, jacobian: &jacobian }))?
}

/// How far from the start units must show as well, relative to the variables.
const NEARBY: f64 = 1e-2;

impl<P: Problem> Solver<Exact<P>> {
    /// Checks problem and settings, evaluates the functions at the start and allocates.
    pub fn new(problem: P, settings: Settings) -> Result<Self, Error> {
        Solver::start(problem, settings, None)
    }

    /// The same, with the caller's own mapping `A` for `normal.mapping=own`.
    pub fn with_mapping(problem: P, settings: Settings, mapping: impl OwnMapping + 'static) -> Result<Self, Error> {
        Solver::start(problem, settings, Some(Box::new(mapping)))
    }

    fn start(problem: P, settings: Settings, own_mapping: Option<Box<dyn OwnMapping>>) -> Result<Self, Error> {
        let clock = Clock::new(settings.limits.seconds, 0.0);
        let mut solver = Solver::unstarted(Exact(problem), settings, own_mapping, clock)?;
        if let Err(trouble) = solver.evaluate_start() {
            solver.fail(trouble);
        }
        Ok(solver)
    }
}

impl<S: SampledProblem> Solver<S> {
    /// A run on a problem whose functions, or some of them, can only be sampled.
    pub fn sampled(problem: S, settings: Settings) -> Result<Self, Error> {
        Solver::sampled_after(problem, settings, Samples::default())
    }

    /// The same after samples that were taken for it, as by [`judge_before`](crate::judge_before): they are part of its counts, and
    /// limits hold for all together.
    pub fn sampled_after(problem: S, settings: Settings, before: Samples) -> Result<Self, Error> {
        Solver::sampled_until(problem, settings, before, EndedBy::default())
    }

    /// The same with somebody who may end it, from the first samples on.
    pub fn sampled_until(problem: S, settings: Settings, before: Samples, ended_by: EndedBy) -> Result<Self, Error> {
        let clock = Clock::obeying(settings.limits.seconds, 0.0, ended_by);
        let mut solver = Solver::unstarted(problem, settings, None, clock)?;
        solver.oracle.problem.set_counts(solver.oracle.counts(), before);
        if let Err(trouble) = solver.evaluate_start() {
            solver.fail(trouble);
        }
        Ok(solver)
    }

    /// Allocates, and analyses patterns, which the end of the run does not wait for; nothing is evaluated but what the presolve needs.
    pub(crate) fn unstarted(
        problem: S,
        settings: Settings,
        own_mapping: Option<Box<dyn OwnMapping>>,
        clock: Clock,
    ) -> Result<Self, Error> {
        let meta = problem.meta();
        meta.validate().map_err(|source| Error::Problem { name: meta.name.clone(), source })?;
        settings.validate()?;
        // One function that can only be sampled makes a noisy run.
        let is_noisy = !problem.accesses().are_exact();
        let mut budget = memory::check(meta, problem.held(), &settings, is_noisy)?;
        let mut problem = Counted::in_portions(problem);
        problem.break_off_when(clock.end_wanted());
        problem.limit_evaluations(settings.limits.evaluations);
        let presolve = if settings.presolve && !is_noisy { presolve(&mut problem) } else { None };
        let meta = problem.meta();
        let (standard, jacobian) = Standard::new(presolve.as_ref().map_or(meta, |presolve| &presolve.meta));
        if settings.normal.variant == NormalVariant::Mapping && !standard.only_equalities() {
            return Err(Error::NotOnlyEqualities { name: meta.name.clone() });
        }
        let needs_own = settings.normal.variant == NormalVariant::Mapping && settings.normal.mapping == Mapping::Own;
        if needs_own && own_mapping.is_none() {
            return Err(Error::NoOwnMapping);
        }
        let (n, columns) = (jacobian.a.n, jacobian.columns());
        let current = Iterate::start(jacobian, &standard, meta.m());
        let mut metric = if only_repairs(meta, &settings) {
            CurrentMetric::constant(columns)
        } else {
            let found = settings.stepsize.lipschitz == Lipschitz::Found;
            // With given constants steps are as long as the metric's smallest eigenvalue allows, which a limited memory does not tell well.
            CurrentMetric::new(n, columns, &settings.metric, found, is_noisy)
        };
        if settings.metric.kind == MetricKind::Exact && !only_repairs(meta, &settings) {
            metric.use_hessian(hessian(&mut problem, &standard, is_noisy, &mut budget)?);
        }
        let meta = problem.meta();
        let best = Best::new(&standard, meta);
        Ok(Solver {
            trial: current.clone(),
            steps: Steps::new(&current.jacobian, &metric, &settings, own_mapping, budget, &clock)?,
            clock,
            judging: Judging::new(&current.jacobian, is_noisy.then_some(settings.tolerance.infeasible)),
            noisy: is_noisy.then(|| Noisy::new(&current, (meta, problem.accesses()), &settings)),
            beginning: Beginning::new(best.clone(), RowSizes::new(current.h.len())),
            outcome: Outcome { best, stop: None, judged: None, stuck: false, failure: None, confirmed: None, followed: None },
            oracle: Oracle::new(problem, standard, presolve, &settings.sampling),
            state: State::new(current, metric, &settings),
            settings,
        })
    }

    pub(crate) fn evaluate_start(&mut self) -> Result<(), Trouble> {
        if self.noisy.is_some() {
            if !self.estimate_start()? {
                return Ok(());
            }
        } else {
            self.oracle.values(&mut self.state.current, true)?;
            self.oracle.derivatives(&mut self.state.current)?;
        }
        if self.settings.scaling != Scaling::None {
            let units = self.find_units()?;
            self.oracle.scale(&mut self.state.current, &units);
        }
        self.take_the_measure_of_a_start(false);
        self.state.progress.begun = true;
        Ok(())
    }

    /// What is sensible to begin with where nothing was learnt yet: at the current point, or at the trial, which is then the start.
    pub(crate) fn take_the_measure_of_a_start(&mut self, is_trial: bool) {
        let start = if is_trial { &self.trial } else { &self.state.current };
        let (lipschitz, metric) = (&mut self.state.progress.lipschitz, &mut self.state.metric);
        if !only_repairs(self.oracle.meta(), &self.settings) && !lipschitz.are_given() {
            // Before curvature is known, the gradient alone must not ask for a step that is longer than the point itself.
            metric.start((norm(&start.g) / (1.0 + norm(&start.z))).max(1.0));
        }
        lipschitz.limit_unknown(start.jacobian.norm(), norm(&start.h));
    }

    /// The units of the variables, where they are wanted. An entry of the Jacobian may be small at the start by accident, as that of
    /// `x^2` is near 0: what seems to be a unit must show nearby, too.
    fn find_units(&mut self) -> Result<Vec<f64>, Trouble> {
        let wanted =
            self.settings.scaling == Scaling::Full && self.noisy.is_none() && !self.state.progress.lipschitz.are_given();
        let n = self.state.current.n();
        if !wanted {
            return Ok(vec![1.0; n]);
        }
        let units = scaling::units(&self.state.current.jacobian.a, &self.state.current.z[..n]);
        if units.iter().all(|unit| *unit == 1.0) {
            return Ok(units);
        }
        self.scatter(false, NEARBY, 0);
        match self.oracle.derivatives_elsewhere(&mut self.trial) {
            Err(trouble) if trouble.is_broken() => return Err(trouble),
            Err(_) => return Ok(units),
            Ok(()) => {}
        }
        let nearby = &mut self.trial.jacobian.a;
        nearby.raise_to(&self.state.current.jacobian.a);
        Ok(scaling::units(nearby, &self.state.current.z[..n]))
    }

    /// Ends the run because of a function, and says why. A function that breaks off when the run is to end anyway was told to; whoever wants
    /// the run to end is not told of a function that has no value.
    pub(crate) fn fail(&mut self, trouble: Trouble) -> Stop {
        let stop = match trouble.is_broken() {
            _ if self.clock.is_interrupted() => Stop::User,
            true if self.clock.is_late() => Stop::WallTime,
            true if self.oracle.problem.is_exhausted() => Stop::Evaluations,
            _ => Stop::EvaluationFailed,
        };
        self.outcome.remember_failure(trouble.into_failure());
        self.outcome.end(stop);
        stop
    }
}
