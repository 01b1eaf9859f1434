//! The adaptive directional decomposition method. [`Solver::advance`] is the algorithm.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tangor_problem::{Exact, Problem, SampledProblem};

use crate::best::Best;
use crate::checkpoint::Beginning;
use crate::clock::Clock;
use crate::fitting::Fitting;
use crate::frame::{Frame, Room};
use crate::iterate::Iterate;
use crate::kkt::Kkt;
use crate::lipschitz::Estimates;
use crate::mapping::OwnMapping;
use crate::merit_parameter;
use crate::metric::{CurrentMetric, Curvature};
use crate::normal_step::NormalStep;
use crate::oracle::{Oracle, Trouble};
use crate::projection::Projection;
use crate::report::EvaluationFailure;
use crate::standard::Standard;
use crate::tangent_step::TangentStep;
use crate::vector::{dot, norm};
use crate::{Error, Event, Mapping, NormalVariant, Observer, Report, Row, Scaling, Settings, Stop, Theta, Unusual};

/// A run of the method on a problem. All big allocations happen in [`Solver::new`].
pub struct Solver<S> {
    pub(crate) oracle: Oracle<S>,
    pub(crate) settings: Settings,
    pub(crate) clock: Clock,
    pub(crate) current: Iterate,
    pub(crate) trial: Iterate,
    pub(crate) room: Room,
    pub(crate) projection: Projection,
    pub(crate) normal: NormalStep,
    pub(crate) tangent: TangentStep,
    pub(crate) kkt: Kkt,
    pub(crate) fitting: Fitting,
    pub(crate) metric: CurrentMetric,
    pub(crate) lipschitz: Estimates,
    pub(crate) rho: f64,
    pub(crate) iteration: u64,
    pub(crate) best: Best,
    pub(crate) stop: Option<Stop>,
    pub(crate) failure: Option<EvaluationFailure>,
    /// How often each event happened.
    pub(crate) events: [u64; Event::ALL.len()],
    pub(crate) beginning: Beginning,
    pub(crate) search: crate::search::Work,
    /// What only a noisy run needs.
    pub(crate) stochastic: Option<crate::stochastic::Work>,
    pub(crate) judge: Option<crate::judge::Work>,
    pub(crate) judged_at: Option<u64>,
    /// Judgements in a row that were no better than the best.
    pub(crate) stale: u64,
    /// What the estimates were worth at the last judgement.
    pub(crate) judged_worth: f64,
    own_mapping: Option<Box<dyn OwnMapping>>,
}

/// Solves a problem from start to end, with nobody watching.
///
/// ```
/// use tangor_problem::{Evaluation, Meta, Problem};
/// use tangor_solver::{Point, Settings, solve};
/// # struct Circle(Meta);
/// # impl Problem for Circle {
/// #     fn meta(&self) -> &Meta { &self.0 }
/// #     fn objective(&mut self, x: &[f64]) -> Evaluation<f64> { Ok(x[0] + x[1]) }
/// #     fn gradient(&mut self, _x: &[f64], g: &mut [f64]) -> Evaluation { g.fill(1.0); Ok(()) }
/// #     fn constraints(&mut self, x: &[f64], c: &mut [f64]) -> Evaluation { c[0] = x[0] * x[0] + x[1] * x[1]; Ok(()) }
/// #     fn jacobian(&mut self, x: &[f64], v: &mut [f64]) -> Evaluation { v[0] = 2.0 * x[0]; v[1] = 2.0 * x[1]; Ok(()) }
/// # }
/// # let circle = Circle(Meta::new("circle", vec![1.0, 0.5]).equalities(&[1.0]));
/// let report = solve(circle, Settings::default())?; // minimise x0 + x1 on the unit circle
/// assert_eq!(report.point, Point::EpsKkt);
/// assert!((report.objective + 2f64.sqrt()).abs() < 1e-5);
/// # Ok::<(), tangor_solver::Error>(())
/// ```
pub fn solve<P: Problem>(problem: P, settings: Settings) -> Result<Report, Error> {
    Ok(Solver::new(problem, settings)?.run(&mut |_: &Row, _: &[f64]| ControlFlow::Continue(())))
}

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
        let mut solver = Solver::unstarted(Exact(problem), settings, own_mapping)?;
        if let Err(trouble) = solver.evaluate_start() {
            solver.fail(trouble);
        }
        Ok(solver)
    }
}

impl<S: SampledProblem> Solver<S> {
    pub(crate) fn unstarted(problem: S, settings: Settings, own_mapping: Option<Box<dyn OwnMapping>>) -> Result<Self, Error> {
        let meta = problem.meta();
        meta.validate().map_err(|source| Error::Problem { name: meta.name.clone(), source })?;
        settings.validate()?;
        let (standard, jacobian) = Standard::new(meta);
        if settings.normal.variant == NormalVariant::Mapping && !standard.only_equalities() {
            return Err(Error::NotOnlyEqualities { name: meta.name.clone() });
        }
        let needs_own = settings.normal.variant == NormalVariant::Mapping && settings.normal.mapping == Mapping::Own;
        if needs_own && own_mapping.is_none() {
            return Err(Error::NoOwnMapping);
        }
        let (m, n, columns) = (jacobian.rows(), jacobian.a.n, jacobian.columns());
        let mut current = Iterate::new(jacobian);
        for (z, &i) in current.z.iter_mut().zip(&standard.columns) {
            *z = standard.start[i];
        }
        let metric = CurrentMetric::new(n, columns, &settings.metric);
        Ok(Solver {
            clock: Clock::new(settings.limits.seconds, 0.0),
            trial: current.clone(),
            room: Room::new(columns),
            projection: Projection::new(&current.jacobian, &settings.kernel),
            normal: NormalStep::new(m, columns, &settings.normal),
            tangent: TangentStep::new(&current.jacobian, &metric, &settings.kernel),
            kkt: Kkt::new(m, n),
            fitting: Fitting::new(&current.jacobian, &settings.kernel),
            metric,
            lipschitz: Estimates::new(settings.stepsize.lipschitz, settings.merit.rho0),
            rho: settings.merit.rho0,
            iteration: 0,
            best: Best::new(&standard, meta),
            beginning: Beginning::new(m, Best::new(&standard, meta)),
            stop: None,
            failure: None,
            events: Default::default(),
            search: crate::search::Work::new(m, columns),
            own_mapping,
            stochastic: None,
            judge: None,
            judged_at: None,
            stale: 0,
            judged_worth: 0.0,
            oracle: Oracle::new(problem, standard, &settings.sampling),
            current,
            settings,
        })
    }

    /// Ends the run with [`Stop::User`] as soon as the flag is true.
    pub fn interrupt(&mut self, flag: Arc<AtomicBool>) {
        self.clock.watch(flag);
    }

    /// Runs to the end, one row per iteration to the observer.
    pub fn run(&mut self, observer: &mut dyn Observer) -> Report {
        while self.advance(observer).is_none() {}
        self.report()
    }

    /// One iteration. Gives the reason when the run has ended.
    pub fn advance(&mut self, observer: &mut dyn Observer) -> Option<Stop> {
        if self.stop.is_some() {
            return self.stop;
        }
        self.remember_beginning();
        let mut unusual = Unusual::default();
        let kernel_iterations = self.find_steps(&mut unusual);
        self.kkt.judge(&self.current, &self.tangent, &self.oracle.standard);
        let mut row = self.row(kernel_iterations);
        let longest = self.sensible_move();
        self.stop = self.reason_to_stop();
        self.keep_best(&mut row, &mut unusual);

        if self.stop.is_none() {
            self.update_merit_parameter();
            let step = match self.judge.is_some() {
                false => self.find_acceptable_trial(&mut unusual).inspect(|_| self.learn_metric()),
                true => self.take_sampled_step(longest, &mut unusual),
            };
            match step {
                Ok(eta) => {
                    row.eta = eta;
                    std::mem::swap(&mut self.current, &mut self.trial);
                    self.iteration += 1;
                }
                // A metric that learnt wrongly may be why nothing moves: once it is forgotten, the next direction is another one.
                Err(Stop::StepTooSmall) if self.metric.reset() => {
                    self.lipschitz = Estimates::new(self.settings.stepsize.lipschitz, self.rho);
                    self.iteration += 1;
                    unusual.insert(Event::Forgotten);
                }
                Err(stop) => self.stop = Some(stop),
            }
        }
        row = Row {
            rho: self.rho,
            unusual,
            evaluations: self.oracle.counts(),
            samples: self.oracle.samples(),
            seconds: self.clock.seconds(),
            ..row
        };
        unusual.iter().for_each(|event| self.events[event as usize] += 1);
        if observer.observe(&row, &self.best.latest).is_break() {
            self.stop.get_or_insert(Stop::User);
        }
        self.stop
    }

    /// Keeps the point if it is the best so far: by the merit function, or in a noisy run by fresh samples.
    fn keep_best(&mut self, row: &mut Row, unusual: &mut Unusual) {
        self.best.latest.copy_from_slice(self.oracle.user_point().0);
        if self.judge.is_none() {
            let certain = self.stop == Some(Stop::Tolerance);
            self.best.offer(&self.current, &self.kkt, &self.oracle, self.rho, certain);
            if !certain && self.stop.is_some() {
                self.refit_best(unusual);
            }
            return;
        }
        // Until a point was judged, the latest one is kept, unjudged: a run may end at any moment.
        if self.best.verdict.is_none() {
            self.best.offer(&self.current, &self.kkt, &self.oracle, self.rho, true);
        }
        if self.settings.sampling.true_residuals {
            row.true_residuals = self.true_residuals();
        }
        // Fresh samples take time: whoever is out of it, or wants the run to end, does not get to wait for them.
        let has_time = !matches!(self.stop, Some(Stop::WallTime | Stop::User));
        if let Some(stop) = self.judge_if_due(self.stop.is_some() && has_time, unusual) {
            self.stop.get_or_insert(stop);
        }
    }

    /// The normal step `u` with its target `r`, then the tangent step `s` with the multipliers.
    pub(crate) fn find_steps(&mut self, unusual: &mut Unusual) -> u32 {
        let standard = &self.oracle.standard;
        self.room.around(&self.current.z, &standard.lower, &standard.upper);
        self.metric.fill(&self.current);
        let frame = Frame { at: &self.current, room: &self.room, metric: &self.metric, clock: &self.clock };
        let (settings, own) = (&self.settings.normal, self.own_mapping.as_deref_mut());
        let share = match self.settings.sampling.theta {
            Theta::Fixed { share } if self.oracle.is_sampled() => Some(share),
            _ => None,
        };
        let wanted = (self.lipschitz.constraints, share);
        let first = self.normal.compute(frame, wanted, settings, own, &mut self.projection, unusual);
        let (target, fallback) = (&self.normal.target, self.settings.kernel.fallback);
        first + self.tangent.compute(frame, target, fallback, &mut self.projection, unusual)
    }

    /// `rho` such that the model of the merit function descends along `s`.
    fn update_merit_parameter(&mut self) {
        let (g, s) = (&self.current.g, &self.tangent.s);
        let slope = dot(g, s);
        let square = self.metric.square(s);
        let noise = 1e-14 * (norm(g) * norm(s) + square);
        self.rho = merit_parameter::updated(
            self.rho,
            self.settings.merit.margin,
            slope + 0.5 * square,
            noise,
            self.normal.theta * norm(&self.current.h),
        );
    }

    fn reason_to_stop(&mut self) -> Option<Stop> {
        let tolerance = &self.settings.tolerance;
        if self.kkt.residuals.feasibility > tolerance.feasibility {
            self.kkt.judge_infeasibility(&self.current, &self.oracle.standard);
        } else {
            self.kkt.residuals.infeasible = 0.0;
        }
        let residuals = self.kkt.residuals;
        let limits = &self.settings.limits;
        // Residuals of running estimates flatter a noisy run: there, only a verdict ends it.
        let exact = self.judge.is_none();
        let reasons = [
            (exact && (tolerance.is_kkt(&residuals) || tolerance.is_infeasible_stationary(&residuals)), Stop::Tolerance),
            (!residuals.stationarity.is_finite() || !self.rho.is_finite(), Stop::NumericalTrouble),
            (self.iteration >= limits.iterations, Stop::Iterations),
            (limits.evaluations.is_some_and(|most| self.oracle.counts().total() >= most), Stop::Evaluations),
            (self.samples_are_spent(), Stop::Samples),
            (self.clock.is_interrupted(), Stop::User),
            (self.clock.is_late(), Stop::WallTime),
        ];
        reasons.into_iter().find(|(holds, _)| *holds).map(|(_, stop)| stop)
    }

    /// The curvature of the Lagrangian along the step that was accepted.
    fn learn_metric(&mut self) {
        let (dz, dl) = (&mut self.search.dz, &mut self.search.dl);
        let n = self.current.n();
        for i in 0..n {
            dz[i] = self.trial.z[i] - self.current.z[i];
            dl[i] = -self.current.g[i];
        }
        self.search.negative.copy_from_slice(&self.tangent.lambda);
        self.search.negative.iter_mut().for_each(|lambda| *lambda = -*lambda);
        self.current.jacobian.a.add_transposed(&self.search.negative, &mut dl[..n]);
        crate::vector::add(1.0, &self.trial.g[..n], &mut dl[..n]);
        self.trial.jacobian.a.add_transposed(&self.tangent.lambda, &mut dl[..n]);
        let factor = self.metric.learn(Curvature { dz: &dz[..n], dl: &dl[..n], noise: 0.0 });
        self.lipschitz.rescale(factor);
    }

    pub(crate) fn evaluate_start(&mut self) -> Result<(), Trouble> {
        if self.oracle.is_sampled() {
            self.estimate_start()?;
        } else {
            self.oracle.values(&mut self.current, true)?;
            self.oracle.derivatives(&mut self.current)?;
        }
        if self.settings.scaling == Scaling::Gradient {
            self.oracle.scale(&mut self.current);
        }
        Ok(())
    }

    pub(crate) fn fail(&mut self, trouble: Trouble) {
        self.failure = Some(trouble.into_failure());
        self.stop = Some(Stop::EvaluationFailed);
    }

    fn row(&self, kernel_iterations: u32) -> Row {
        let residuals = &self.kkt.residuals;
        let tangent = self.tangent.s.iter().zip(&self.normal.u).map(|(s, u)| (s - u) * (s - u)).sum::<f64>().sqrt();
        Row {
            iteration: self.iteration,
            objective: self.current.f / self.oracle.standard.objective_scale,
            stationarity: residuals.stationarity,
            feasibility: residuals.feasibility,
            complementarity: residuals.complementarity,
            normal: norm(&self.normal.u),
            tangent,
            rho: self.rho,
            eta: 0.0,
            theta: self.normal.theta,
            lipschitz_objective: self.lipschitz.objective,
            lipschitz_constraints: self.lipschitz.constraints,
            metric: self.metric.scalar(),
            kernel_iterations,
            evaluations: self.oracle.counts(),
            samples: self.oracle.samples(),
            true_residuals: None,
            seconds: 0.0,
            unusual: Unusual::default(),
        }
    }
}
