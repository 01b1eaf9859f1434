//! One run, from the opened problem to its row.

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};
use tangor_problem::{Counts, Noise, Noisy, Problem};
use tangor_solver::{MetricKind, Observer, Point, Report, Row, Settings, Solver};

use crate::Error;
use crate::contender::{Contender, Method};
use crate::course::Course;
use crate::moved::moved;
use crate::record::{Ending, Record, TracePoint, is_worse};
use crate::residuals::{Candidate, classify, recompute};
use crate::sets::Member;

/// Points of a trace that are kept: more nobody sees in a small picture.
pub(crate) const TRACE_POINTS: usize = 120;

/// A run that is to be done: a problem, a solver with its settings, a seed, and the limits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// The problem.
    pub member: Member,
    /// The solver.
    pub contender: Contender,
    /// The seed; exact functions need none, and the row records it.
    pub seed: u64,
    /// How far the seed moves the start, relative to `max(1, |x0_i|)`.
    pub perturbation: f64,
    /// Most iterations.
    pub max_iterations: u64,
    /// Most entries of the Jacobians of all iterations of Tangor, each counted as if it were dense.
    pub max_entries: Option<u64>,
    /// Most seconds.
    pub time_limit: f64,
    /// Whether the row keeps the course of the residuals.
    pub trace: bool,
}

/// What a solver hands over.
pub(crate) struct Outcome {
    pub stop: Ending,
    pub claimed: Point,
    pub message: String,
    pub x: Vec<f64>,
    pub y: Vec<f64>,
    pub mu: Vec<f64>,
    pub iterations: u64,
    pub counts: Counts,
    pub samples: u64,
    pub hessians: u64,
    pub seconds: f64,
    pub trace: Vec<TracePoint>,
}

impl Task {
    /// A fingerprint of all that shapes a row besides problem and seed.
    pub fn setup(&self) -> String {
        let shape = (
            &self.contender.method,
            self.contender.noise.to_bits(),
            self.perturbation.to_bits(),
            self.max_iterations,
            self.max_entries,
            self.time_limit.to_bits(),
            env!("CARGO_PKG_VERSION"),
        );
        // FNV-1a: short, and the same on every machine.
        let bytes = serde_json::to_vec(&shape).unwrap_or_default();
        let hash = bytes.iter().fold(0xcbf29ce484222325u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100000001b3));
        format!("{hash:016x}")
    }

    /// The row of a run that gave no result.
    pub fn failed(&self, stop: Ending, message: impl Into<String>) -> Record {
        let mut record =
            Record::failed(&self.member.name, &self.contender.label, self.seed, &self.setup(), stop, message.into());
        record.best_known = self.member.best_known;
        record.perturbation = self.perturbation;
        record
    }

    /// Runs in this process.
    pub fn perform(&self) -> Record {
        match self.attempt() {
            Ok(record) => record,
            Err(error) => self.failed(Ending::Refused, error.to_string()),
        }
    }

    fn attempt(&self) -> Result<Record, Error> {
        let outcome = match &self.contender.method {
            Method::Tangor(settings) => self.run_tangor(settings)?,
            Method::IpoptFirstOrder | Method::IpoptExact => self.run_ipopt()?,
        };
        // A fresh copy of the problem: nothing that the run did to the first one can reach the residuals.
        let mut problem = self.member.source.problem()?;
        Ok(self.measured(&mut problem, outcome))
    }

    fn run_tangor(&self, settings: &Settings) -> Result<Outcome, Error> {
        let mut settings = settings.clone();
        settings.limits.iterations = self.iterations()?;
        settings.limits.seconds = Some(self.time_limit);
        settings.sampling.seed = self.seed;
        let mut trace = Course::new(TRACE_POINTS);
        let report = self.report(settings, &mut |row: &Row, _: &[f64]| {
            if self.trace {
                trace.push(trace_point(row));
            }
            ControlFlow::Continue(())
        })?;
        Ok(Outcome {
            stop: Ending::Stopped(report.stop),
            claimed: report.point,
            message: report.message,
            x: report.x,
            y: report.row_multipliers,
            mu: report.bound_multipliers,
            iterations: report.iterations,
            counts: report.evaluations,
            samples: report.samples.total(),
            hessians: report.evaluations.hessian,
            seconds: report.seconds,
            trace: trace.points(),
        })
    }

    /// Most iterations on this very problem: fewer where it is large.
    fn iterations(&self) -> Result<u64, Error> {
        let Some(most) = self.max_entries else { return Ok(self.max_iterations) };
        let problem = self.member.source.problem()?;
        let entries = problem.meta().n() as u64 * problem.meta().m() as u64;
        Ok(self.max_iterations.min((most / entries.max(1)).max(1)))
    }

    fn report(&self, settings: Settings, observer: &mut dyn Observer) -> Result<Report, Error> {
        let refused = |error: tangor_solver::Error| Error::Refused(error.to_string());
        let source = &self.member.source;
        if self.contender.noise != 0.0 {
            let noisy = Noisy::new(self.at_its_start(source.problem()?), Noise::level(self.contender.noise))
                .map_err(tangor_open::Error::from)?;
            return Ok(Solver::sampled(noisy, settings).map_err(refused)?.run(observer));
        }
        let problem = match settings.metric.kind {
            MetricKind::Exact => source.with_hessian()?,
            _ => source.problem()?,
        };
        Ok(Solver::new(self.at_its_start(problem), settings).map_err(refused)?.run(observer))
    }

    /// The problem with the start of this run.
    pub(crate) fn at_its_start(&self, problem: Box<dyn Problem>) -> Box<dyn Problem> {
        moved(problem, self.perturbation, self.seed)
    }

    #[cfg(feature = "ipopt")]
    fn run_ipopt(&self) -> Result<Outcome, Error> {
        crate::peer::run(self)
    }

    #[cfg(not(feature = "ipopt"))]
    fn run_ipopt(&self) -> Result<Outcome, Error> {
        Err(Error::NoIpopt)
    }

    fn measured(&self, problem: &mut dyn Problem, outcome: Outcome) -> Record {
        let mut record = self.failed(outcome.stop, outcome.message);
        (record.n, record.m) = (problem.meta().n(), problem.meta().m());
        record.claimed = outcome.claimed;
        record.iterations = outcome.iterations;
        record.objective_evaluations = outcome.counts.objective;
        record.gradient_evaluations = outcome.counts.gradient;
        record.constraint_evaluations = outcome.counts.constraints;
        record.jacobian_evaluations = outcome.counts.jacobian;
        record.hessian_evaluations = outcome.hessians;
        record.samples = outcome.samples;
        record.seconds = outcome.seconds;
        record.trace = outcome.trace;
        match recompute(problem, Candidate { x: &outcome.x, y: &outcome.y, mu: &outcome.mu }) {
            Ok(recomputed) => {
                let finite = |value: f64| value.is_finite().then_some(value);
                let residuals = recomputed.residuals;
                record.point = classify(&residuals, &self.contender.tolerance());
                record.objective = finite(recomputed.objective);
                record.stationarity = finite(residuals.stationarity);
                record.feasibility = finite(residuals.feasibility);
                record.complementarity = finite(residuals.complementarity);
                record.infeasible_stationarity = finite(residuals.infeasible_stationarity);
                let feasible = matches!(record.point, Point::EpsKkt | Point::Feasible);
                record.worse = feasible && is_worse(recomputed.objective, self.member.best_known);
            }
            Err(failure) => record.message.push_str(&format!(" The point could not be measured: {failure}.")),
        }
        record
    }
}

/// What a picture can show.
pub(crate) fn visible(value: f64) -> Option<f32> {
    value.is_finite().then_some(value as f32)
}

fn trace_point(row: &Row) -> TracePoint {
    (row.iteration, visible(row.stationarity), visible(row.feasibility), visible(row.complementarity))
}

#[cfg(test)]
mod tests {
    use tangor_solver::Stop;

    use super::*;

    fn task(name: &str) -> Task {
        let member = crate::sets::members(name, &tangor_open::Finder::default()).unwrap().remove(0);
        let contender = Contender::tangor("tangor", Settings::default());
        Task {
            member,
            contender,
            seed: 0,
            perturbation: 0.0,
            max_iterations: 1000,
            max_entries: None,
            time_limit: 60.0,
            trace: true,
        }
    }

    #[test]
    fn a_run_is_measured_at_its_point() {
        let record = task("HS71").perform();
        assert_eq!((record.stop, record.point, record.worse), (Ending::Stopped(Stop::Tolerance), Point::EpsKkt, false));
        assert_eq!((record.n, record.m), (4, 2));
        assert!(record.residuals().unwrap().worst() <= 1e-6);
        assert_eq!(record.trace.last().unwrap().0, record.iterations);
    }

    #[test]
    fn what_the_solver_claims_does_not_count() {
        let task = task("HS71");
        let outcome = Outcome {
            stop: Ending::Stopped(Stop::Tolerance),
            claimed: Point::EpsKkt,
            message: "Done.".into(),
            x: vec![1.0, 5.0, 5.0, 1.0],
            y: vec![0.0; 2],
            mu: vec![0.0; 4],
            iterations: 1,
            counts: Counts::default(),
            samples: 0,
            hessians: 0,
            seconds: 0.0,
            trace: Vec::new(),
        };
        let record = task.measured(&mut task.member.source.problem().unwrap(), outcome);
        assert_eq!((record.claimed, record.point), (Point::EpsKkt, Point::Nothing));
        // c = (25, 52) against >= 25 and = 40
        assert_eq!(record.feasibility, Some(12.0));
    }

    #[test]
    fn settings_and_limits_shape_the_fingerprint_but_problem_and_seed_do_not() {
        let first = task("HS71");
        let mut other = task("HS6");
        other.seed = 7;
        assert_eq!(first.setup(), other.setup());
        other.max_iterations += 1;
        assert_ne!(first.setup(), other.setup());
        other = task("HS71");
        other.perturbation = 1e-7;
        assert_ne!(first.setup(), other.setup());
    }

    #[test]
    fn a_problem_that_cannot_be_opened_is_a_row() {
        let mut task = task("HS71");
        task.member.source = tangor_open::Source::Embedded("NOPE".into());
        let record = task.perform();
        assert_eq!((record.stop, record.point), (Ending::Refused, Point::Nothing));
        assert!(record.message.contains("NOPE"));
    }
}
