//! From the solver's state to the report: the way back to the user's variables, rows and signs.

use tangor_problem::{Meta, SampledProblem};

use crate::kkt::Residuals;
use crate::report::{REPORT_VERSION, Report, WorstRow};
use crate::solver::Solver;
use crate::{Event, Point, Stop, Tolerance, Verdict};

impl Tolerance {
    pub(crate) fn is_kkt(&self, residuals: &Residuals) -> bool {
        residuals.stationarity <= self.stationarity
            && residuals.feasibility <= self.feasibility
            && residuals.complementarity <= self.complementarity
    }

    /// Stricter than the paper's Definition 2 when the violation is small: otherwise a slow approach to a feasible point would pass.
    pub(crate) fn is_infeasible_stationary(&self, residuals: &Residuals) -> bool {
        residuals.feasibility > self.feasibility && residuals.infeasible <= self.infeasible * residuals.feasibility.min(1.0)
    }

    /// A noisy point is what its confidence bounds allow to say.
    fn classify_verdict(&self, verdict: &Verdict) -> Point {
        if verdict.holds(self) {
            Point::EpsKkt
        } else if verdict.is_infeasible_stationary(self) {
            Point::EpsInfeasibleStationary
        } else if verdict.feasibility.upper <= self.feasibility {
            Point::Feasible
        } else {
            Point::Nothing
        }
    }

    fn classify(&self, residuals: &Residuals) -> Point {
        if self.is_kkt(residuals) {
            Point::EpsKkt
        } else if self.is_infeasible_stationary(residuals) {
            Point::EpsInfeasibleStationary
        } else if residuals.feasibility <= self.feasibility {
            Point::Feasible
        } else {
            Point::Nothing
        }
    }
}

impl<S: SampledProblem> Solver<S> {
    /// The result so far: the best point, its residuals and multipliers.
    pub fn report(&self) -> Report {
        let meta = self.oracle.meta();
        let standard = &self.oracle.standard;
        let unknown =
            Residuals { stationarity: f64::NAN, feasibility: f64::NAN, complementarity: f64::NAN, infeasible: f64::NAN };
        let residuals = self.best.values.map_or(unknown, |values| values.residuals);
        let tolerance = &self.settings.tolerance;
        let point = match (self.oracle.is_sampled(), self.best.verdict) {
            (false, _) => tolerance.classify(&residuals),
            (true, Some(verdict)) => tolerance.classify_verdict(&verdict),
            (true, None) => Point::Nothing,
        };
        // A run that was not yet told to stop is one that the caller left.
        let stop = self.stop.unwrap_or(Stop::User);
        let mut row_multipliers = vec![0.0; meta.m()];
        for (&i, y) in standard.rows.iter().zip(&self.best.y) {
            row_multipliers[i] = *y;
        }
        let failure = self.failure.clone().filter(|_| stop == Stop::EvaluationFailed || stop == Stop::StepTooSmall);
        let cause = failure.as_ref().map(|failure| format!(" ({})", failure.message)).unwrap_or_default();
        Report {
            version: REPORT_VERSION,
            tangor: env!("CARGO_PKG_VERSION").to_string(),
            problem: meta.name.clone(),
            stop,
            point,
            message: format!("Stopped because {stop}{cause}; the point is {point}."),
            objective: self.best.values.map_or(f64::NAN, |values| values.objective),
            x: self.best.x.clone(),
            constraints: self.best.c.clone(),
            stationarity: residuals.stationarity,
            feasibility: residuals.feasibility,
            complementarity: residuals.complementarity,
            infeasible_stationarity: residuals.infeasible,
            row_multipliers,
            bound_multipliers: self.best.mu.clone(),
            worst_rows: worst_rows(meta, &self.best.c, self.settings.tolerance.feasibility),
            iterations: self.iteration,
            evaluations: self.oracle.counts(),
            samples: self.oracle.samples(),
            verdict: self.best.verdict,
            average: self.average_of_last().and_then(|average| average.complete.clone()),
            seconds: self.clock.seconds(),
            rho: self.rho,
            unusual: Event::ALL.into_iter().zip(self.events).filter(|(_, count)| *count > 0).collect(),
            failure,
            settings: self.settings.clone(),
        }
    }
}

/// The ten most violated constraints, when all together they are violated by more than the tolerance.
fn worst_rows(meta: &Meta, c: &[f64], tolerance: f64) -> Vec<WorstRow> {
    let violated = |(index, &value): (usize, &f64)| {
        let bound = value.max(meta.c_lower[index]).min(meta.c_upper[index]);
        let violation = (value - bound).abs();
        (violation > 0.0).then(|| WorstRow { index, name: meta.row_name(index), value, bound, violation })
    };
    let mut rows: Vec<WorstRow> = c.iter().enumerate().filter_map(violated).collect();
    if rows.iter().map(|row| row.violation * row.violation).sum::<f64>().sqrt() <= tolerance {
        return Vec::new();
    }
    rows.sort_by(|a, b| b.violation.total_cmp(&a.violation));
    rows.truncate(10);
    rows
}
