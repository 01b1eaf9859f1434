//! What the solver tells while it runs: one row per iteration.

use std::fmt;
use std::ops::ControlFlow;

use serde::{Deserialize, Serialize, Serializer};
use tangor_problem::{Counts, SampledProblem, Samples};

use crate::Stop;
use crate::judging::residuals::Residuals;
use crate::kernel::vector::norm;
use crate::run::number;
use crate::solver::Solver;

/// One iteration, as seen before its step was taken (residuals, directions) and while it was (stepsize, events).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Counted from 0.
    pub iteration: u64,
    /// `f` at the iterate.
    #[serde(with = "number")]
    pub objective: f64,
    /// `|g + J^T y - mu|`, unscaled.
    #[serde(with = "number")]
    pub stationarity: f64,
    /// Violation of the constraints, unscaled.
    #[serde(with = "number")]
    pub feasibility: f64,
    /// Sum of multiplier times distance, unscaled.
    #[serde(with = "number")]
    pub complementarity: f64,
    /// Length of the normal step `u`.
    #[serde(with = "number")]
    pub normal: f64,
    /// Length of the whole step `s` less its normal part.
    #[serde(with = "number")]
    pub tangent: f64,
    /// Merit parameter.
    #[serde(with = "number")]
    pub rho: f64,
    /// Stepsize; 0 in the last row, from which no step was taken.
    #[serde(with = "number")]
    pub eta: f64,
    /// Share of the residual that the linearised constraints can remove.
    #[serde(with = "number")]
    pub theta: f64,
    /// Lipschitz estimate of the gradient.
    #[serde(with = "number")]
    pub lipschitz_objective: f64,
    /// Lipschitz estimate of the Jacobian.
    #[serde(with = "number")]
    pub lipschitz_constraints: f64,
    /// The scalar of the metric.
    #[serde(with = "number")]
    pub metric: f64,
    /// Newton steps of the kernel in this iteration.
    pub kernel_iterations: u32,
    /// Evaluations so far.
    pub evaluations: Counts,
    /// Samples so far, of a noisy run.
    pub samples: Samples,
    /// The residuals with exact functions, of a noisy run that was asked to tell them.
    pub true_residuals: Option<TrueResiduals>,
    /// The residuals of fresh samples, in an iteration of a noisy run whose point was judged.
    #[serde(default)]
    pub judged: Option<TrueResiduals>,
    /// Seconds since the start.
    #[serde(with = "number")]
    pub seconds: f64,
    /// What was unusual.
    pub unusual: Unusual,
}

/// The residuals with exact functions, multipliers fitted to them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrueResiduals {
    /// `|g + J^T y - mu|`
    pub stationarity: f64,
    /// The violation of the constraints.
    pub feasibility: f64,
    /// The sum of |multiplier| times distance.
    pub complementarity: f64,
}

impl From<Residuals> for TrueResiduals {
    fn from(residuals: Residuals) -> Self {
        let Residuals { stationarity, feasibility, complementarity, .. } = residuals;
        TrueResiduals { stationarity, feasibility, complementarity }
    }
}

/// Something worth telling about an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The Jacobian of the free variables has rows that depend on each other, or all but do: the kernel regularised, or the rows of the
    /// tangent step gave way.
    RankDeficient,
    /// The kernel did not converge and Clarabel solved the subproblem.
    Fallback,
    /// Neither the kernel nor the fallback met its tolerance; the best step was used.
    Inexact,
    /// A function had no value at a trial point; the step was shortened.
    Undefined,
    /// The merit test failed at first; the step was shortened.
    Shortened,
    /// A second-order correction was taken, or a step was bent along curved constraints.
    Corrected,
    /// The normal step was solved as a cone program.
    Cone,
    /// The metric forgot what it had learnt: the step was too small to move, or, of the steps that a limited memory holds, the older half, since
    /// the subproblem was not solved with them.
    Forgotten,
    /// The violation was stationary; the run started again from a random point near by.
    Elsewhere,
    /// Rows have another scale from then on: the violation was at its least as it was scaled inside, but not as it is measured, or the derivatives
    /// that rows were scaled by had become far smaller.
    #[serde(alias = "unscaled")]
    Rescaled,
    /// An equality whose gradient has all but vanished holds well within the tolerance, and was not repaired any further.
    AtRest,
    /// The merit parameter was far larger than what any recent step needed, and fell.
    Lowered,
    /// Evaluated once more at the point that is reported, the functions gave other values than before: they are not deterministic. The
    /// later values are reported.
    Unrepeatable,
    /// The change of the objective was lost in its rounding error; the gradients at both ends of the step tested it.
    Rounded,
    /// The merit function of the samples did not descend within the attempts of a noisy step; it was taken as short as it had become.
    GivenUp,
    /// All members of the population were evaluated; the estimates of a noisy run went on from there.
    ExactPass,
    /// The violation fell too slowly; full steps without a test on their way led to a point with at most half of it.
    Excursion,
}

impl Event {
    /// All of them, in the order of their bits.
    pub const ALL: [Event; 17] = [
        Event::RankDeficient,
        Event::Fallback,
        Event::Inexact,
        Event::Undefined,
        Event::Shortened,
        Event::Corrected,
        Event::Cone,
        Event::Forgotten,
        Event::Elsewhere,
        Event::Rescaled,
        Event::AtRest,
        Event::Lowered,
        Event::Unrepeatable,
        Event::Rounded,
        Event::GivenUp,
        Event::ExactPass,
        Event::Excursion,
    ];
}

impl fmt::Display for Event {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Event::RankDeficient => "dependent rows",
            Event::Fallback => "fallback",
            Event::Inexact => "inexact",
            Event::Undefined => "undefined",
            Event::Shortened => "shortened",
            Event::Corrected => "corrected",
            Event::Cone => "cone program",
            Event::Forgotten => "metric forgotten",
            Event::Elsewhere => "started elsewhere",
            Event::Rescaled => "rows scaled anew",
            Event::AtRest => "row at rest",
            Event::Lowered => "rho lowered",
            Event::Unrepeatable => "values not repeatable",
            Event::Rounded => "tested by gradients",
            Event::GivenUp => "merit test given up",
            Event::ExactPass => "exact pass",
            Event::Excursion => "excursion",
        })
    }
}

/// A set of events, small enough to be copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unusual(u32);

impl Unusual {
    /// Adds an event.
    pub fn insert(&mut self, event: Event) {
        self.0 |= 1 << event as u32;
    }

    /// Whether the event is in the set.
    pub fn contains(&self, event: Event) -> bool {
        self.0 & (1 << event as u32) != 0
    }

    /// The events in the set.
    pub fn iter(&self) -> impl Iterator<Item = Event> + '_ {
        Event::ALL.into_iter().filter(|&event| self.contains(event))
    }

    /// True when nothing was unusual.
    pub fn is_empty(&self) -> bool {
        self.0 == 0
    }
}

impl fmt::Display for Unusual {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (k, event) in self.iter().enumerate() {
            if k > 0 {
                out.write_str(", ")?;
            }
            write!(out, "{event}")?;
        }
        Ok(())
    }
}

impl Serialize for Unusual {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Unusual {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut unusual = Unusual::default();
        for event in Vec::<Event>::deserialize(deserializer)? {
            unusual.insert(event);
        }
        Ok(unusual)
    }
}

/// Somebody who watches a run and may end it.
///
/// A closure `|row: &Row, x: &[f64]| -> ControlFlow<()>` is one.
pub trait Observer {
    /// Called once per iteration with the row and the user's variables; `Break` ends the run. Where several processes end together, that of the
    /// process which decides for all does, at the next iteration.
    fn observe(&mut self, row: &Row, x: &[f64]) -> ControlFlow<()>;
}

impl<F: FnMut(&Row, &[f64]) -> ControlFlow<()>> Observer for F {
    fn observe(&mut self, row: &Row, x: &[f64]) -> ControlFlow<()> {
        self(row, x)
    }
}

impl<S: SampledProblem> Solver<S> {
    /// What the observer is told, as far as it is known before the step.
    pub(crate) fn row(&self, kernel_iterations: u32) -> Row {
        let residuals = &self.judging.kkt.residuals;
        let tangent = self.steps.tangent.s.iter().zip(&self.steps.normal.u).map(|(s, u)| (s - u) * (s - u)).sum::<f64>().sqrt();
        Row {
            iteration: self.state.progress.iteration,
            objective: self.state.current.f / self.oracle.standard.objective_factor(),
            stationarity: residuals.stationarity,
            feasibility: residuals.feasibility,
            complementarity: residuals.complementarity,
            normal: norm(&self.steps.normal.u),
            tangent,
            rho: self.state.progress.rho,
            eta: 0.0,
            theta: self.steps.normal.theta,
            lipschitz_objective: self.state.progress.lipschitz.objective,
            lipschitz_constraints: self.state.progress.lipschitz.constraints,
            metric: self.state.metric.scalar(),
            kernel_iterations,
            evaluations: self.oracle.counts(),
            samples: self.oracle.samples(),
            true_residuals: None,
            judged: None,
            seconds: 0.0,
            unusual: Unusual::default(),
        }
    }

    /// Shows the observer an iteration; `moved` is the stepsize of one that went to another point.
    pub(crate) fn show(&mut self, row: Row, moved: Option<f64>, unusual: Unusual, observer: &mut dyn Observer) {
        let row = Row {
            rho: self.state.progress.rho,
            eta: moved.unwrap_or(0.0),
            unusual,
            judged: self.outcome.judged.take(),
            evaluations: self.oracle.counts(),
            samples: self.oracle.samples(),
            seconds: self.clock.seconds(),
            ..row
        };
        unusual.iter().for_each(|event| self.state.progress.events[event as usize] += 1);
        // The row tells of the point where the iteration began: after a step, that is the one behind.
        let at = if moved.is_some() { &self.trial } else { &self.state.current };
        if observer.observe(&row, &at.user.x).is_break() {
            self.clock.ask_for_the_end();
        }
        if self.clock.ends_as_the_observer_asked() {
            self.outcome.stop.get_or_insert(Stop::User);
        }
    }
}
