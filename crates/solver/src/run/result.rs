//! From the solver's state to the report: the way back to the user's variables, rows and signs.

use tangor_problem::{Meta, SampledProblem};

use crate::form::presolve::Presolve;
use crate::judging::residuals::Residuals;
use crate::run::report::{REPORT_VERSION, Report, WorstRow};
use crate::solver::Solver;
use crate::{Event, Names, Point, Settings, SettingsError, Stop, Tolerance, Verdict};

/// Who removes this share of a violation lowers it by half of its square: 5e-15 of itself, which is what rounding makes of it.
const INVISIBLE: f64 = 1e-7;

impl Tolerance {
    pub(crate) fn is_kkt(&self, residuals: &Residuals) -> bool {
        residuals.stationarity <= self.stationarity
            && residuals.feasibility <= self.feasibility
            && residuals.complementarity <= self.complementarity
    }

    /// Stricter than the paper's Definition 2 when the violation is small: otherwise a slow approach to a feasible point would pass. And
    /// the gradient must be small relative to the terms that it is the sum of: otherwise any row with small coefficients would pass, and
    /// rows with large ones never. Where rows are so unlike that values tell nothing of it, a violation of which nothing can be removed will do.
    pub(crate) fn is_infeasible_stationary(&self, residuals: &Residuals) -> bool {
        let is_small = residuals.infeasible <= self.infeasible * residuals.feasibility.min(1.0);
        let is_small = is_small || residuals.steepness <= residuals.infeasible_rounding;
        let has_no_slope = is_small && residuals.relative_infeasible <= self.infeasible.sqrt();
        let has_nothing_to_remove = residuals.removable.is_some_and(|share| share <= INVISIBLE);
        residuals.feasibility > self.feasibility && (has_no_slope || has_nothing_to_remove)
    }

    /// A noisy point is what its confidence bounds allow to say.
    fn classify_verdict(&self, verdict: &Verdict, rarest: f64) -> Point {
        if verdict.holds(self, rarest) {
            Point::EpsKkt
        } else if verdict.is_infeasible_stationary(self, rarest) {
            Point::EpsInfeasibleStationary
        } else if verdict.is_feasible(self, rarest) {
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
    /// Lets reports say what was found by another tolerance, such as the one that the noise at the last point allows. Bounds on residuals hold
    /// whatever they are compared with.
    pub fn tell_by(&mut self, tolerance: Tolerance) -> Result<(), SettingsError> {
        let settings = Settings { tolerance, ..self.settings.clone() };
        settings.validate()?;
        self.settings = settings;
        Ok(())
    }

    /// The result so far: the best point, its residuals and multipliers.
    pub fn report(&self) -> Report {
        let meta = self.oracle.meta();
        let unknown = Residuals::unknown();
        let residuals = self.outcome.best.values.map_or(unknown, |values| values.residuals);
        let tolerance = &self.settings.tolerance;
        let point = match (self.noisy.is_some(), self.outcome.best.verdict) {
            _ if self.outcome.stop == Some(Stop::Unbounded) => Point::Unbounded,
            (false, _) => tolerance.classify(&residuals),
            (true, Some(verdict)) => tolerance.classify_verdict(&verdict, self.settings.sampling.judge.rarest),
            (true, None) => Point::Nothing,
        };
        // A run that was not yet told to stop is one that the caller left.
        let stop = self.outcome.stop.unwrap_or(Stop::User);
        // While other starts are left to be tried, nothing is said of a stationary point of the violation.
        let is_settled = stop == Stop::Tolerance || !self.state.progress.escapes.may_go_on(self.settings.limits.escapes);
        // Nor where values contradict it.
        let is_settled = is_settled && stop != Stop::EvaluationFailed;
        let point = if point == Point::EpsInfeasibleStationary && !is_settled { Point::Nothing } else { point };
        let (row_multipliers, bound_multipliers) = self.oracle.user_multipliers(&self.outcome.best.y, &self.outcome.best.mu);
        let failure = self.outcome.failure.clone().filter(|_| stop == Stop::EvaluationFailed || stop == Stop::StepTooSmall);
        let presolved = self.oracle.presolve.as_ref().map(Presolve::summary).unwrap_or_default();
        let mut report = Report {
            version: REPORT_VERSION,
            tangor: env!("CARGO_PKG_VERSION").to_string(),
            problem: meta.name.clone(),
            stop,
            point,
            message: String::new(),
            objective: self.outcome.best.values.map_or(f64::NAN, |values| values.objective),
            x: self.outcome.best.x.clone(),
            constraints: self.outcome.best.c.clone(),
            stationarity: residuals.stationarity,
            feasibility: residuals.feasibility,
            complementarity: residuals.complementarity,
            infeasible_stationarity: residuals.infeasible,
            row_multipliers,
            bound_multipliers,
            worst_rows: worst_rows(meta, &self.outcome.best.c, self.settings.tolerance.feasibility),
            iterations: self.state.progress.iteration,
            evaluations: self.oracle.counts(),
            samples: self.oracle.samples(),
            verdict: self.outcome.best.verdict,
            average: self.noisy.as_ref().and_then(|noisy| noisy.average.complete.clone()),
            seconds: self.clock.seconds(),
            memory: Some(self.steps.held),
            rho: self.state.progress.rho,
            unusual: Event::ALL.into_iter().zip(self.state.progress.events).filter(|(_, count)| *count > 0).collect(),
            failure,
            evaluated: self.state.progress.begun,
            confirmed: self.outcome.confirmed,
            followed: self.outcome.followed.filter(|_| point == Point::Unbounded),
            presolved,
            names: Names::given(meta),
            settings: self.settings.clone(),
        };
        report.message = report.sentence(meta, self.noisy.is_some());
        report
    }
}

/// The ten most violated constraints, when all together they are violated by more than the tolerance. Each has more than an equal part of
/// it: what hardly adds to the sum of squares is no complaint.
fn worst_rows(meta: &Meta, c: &[f64], tolerance: f64) -> Vec<WorstRow> {
    let violated = |(index, &value): (usize, &f64)| {
        let bound = meta.row_bounds(index).clip(value);
        let violation = (value - bound).abs();
        (violation > 0.0).then(|| WorstRow { index, name: meta.row_name(index), value, bound, violation })
    };
    let mut rows: Vec<WorstRow> = c.iter().enumerate().filter_map(violated).collect();
    if rows.iter().map(|row| row.violation * row.violation).sum::<f64>().sqrt() <= tolerance {
        return Vec::new();
    }
    let share = tolerance / (rows.len() as f64).sqrt();
    rows.retain(|row| row.violation > share);
    rows.sort_by(|a, b| b.violation.total_cmp(&a.violation));
    rows.truncate(10);
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_hold_within_their_part_of_the_tolerance_are_not_called_violated() {
        let meta = Meta::new("rows", vec![0.0]).equalities(&[0.0; 4]);
        let violated = |c: &[f64; 4]| worst_rows(&meta, c, 1e-6).iter().map(|row| row.index).collect::<Vec<_>>();
        assert_eq!(violated(&[1e-9, -2e-3, 0.0, 1e-3]), [1, 3]);
        // Each alone is within the tolerance, but not all together.
        assert_eq!(violated(&[6e-7; 4]).len(), 4);
        assert!(violated(&[4e-7; 4]).is_empty());
    }

    #[test]
    fn what_rows_were_far_away_excuses_no_slope_here() {
        let tolerance = Tolerance::default();
        // The gradient of the violation is half as large as its terms; far away the rows were 1e37 times as steep.
        let sloping = Residuals {
            feasibility: 1.0,
            infeasible: 0.5,
            steepness: 0.5,
            relative_infeasible: 1e-37,
            infeasible_rounding: 1e-10,
            ..Residuals::default()
        };
        assert!(!tolerance.is_infeasible_stationary(&sloping));
        // A gradient of 1 among terms of 1e12 is rounding; one within the tolerance is as good as zero.
        assert!(tolerance.is_infeasible_stationary(&Residuals { infeasible: 1.0, infeasible_rounding: 1e2, ..sloping }));
        assert!(tolerance.is_infeasible_stationary(&Residuals { infeasible: 1e-7, ..sloping }));
        // Of rows of very unlike size nothing can be removed, whatever the slope.
        assert!(tolerance.is_infeasible_stationary(&Residuals { removable: Some(1e-8), ..sloping }));
        assert!(!tolerance.is_infeasible_stationary(&Residuals { removable: Some(1e-6), ..sloping }));
    }
}
