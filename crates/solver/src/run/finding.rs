//! What was found, in words that claim no more than the residuals, or under noise their bounds, tell.

use tangor_problem::Meta;

use crate::judging::standing::{and_are, names_of};
use crate::{Followed, Point, Report, Standing, Stop, Verdict};

impl Report {
    /// Why the run stopped and what its point is, as one sentence: the message, from the other fields.
    pub fn sentence(&self, meta: &Meta, is_noisy: bool) -> String {
        let (tolerance, rarest) = (&self.settings.tolerance, self.settings.sampling.judge.rarest);
        let missing = self.verdict.and_then(|verdict| verdict.missing_events(meta, tolerance, rarest));
        let what = missing.unwrap_or_else(|| match self.verdict {
            None if is_noisy && self.evaluated => NOT_JUDGED.to_string(),
            _ => self.finding() + &self.condition(),
        });
        let stop = match (self.stop, self.point) {
            (Stop::Tolerance, Point::EpsInfeasibleStationary) => "the violation is stationary within its tolerance".to_string(),
            (stop, _) => stop.to_string(),
        };
        let cause = self.failure.as_ref().map(|failure| format!(" ({})", failure.message)).unwrap_or_default();
        format!("Stopped because {stop}{cause}; {what}{}.", self.presolved.complaint())
    }

    /// On what condition the point is what its samples say: that belongs to whatever they say. Where noise hides it, an event may be missing besides.
    fn condition(&self) -> String {
        let Some(judged) = &self.verdict else { return String::new() };
        let are = |standing| !names_of(judged, &self.settings.tolerance, standing).is_empty();
        let says = !matches!(self.point, Point::Feasible | Point::Nothing) || are(Standing::Above);
        match judged.missing_event().filter(|_| judged.bounds_unknown && are(Standing::Hidden)) {
            _ if says => judged.assumption(),
            Some(missing) => format!(", and {missing}"),
            None => String::new(),
        }
    }

    /// What the point is, as a sentence without its end: which residual is above its tolerance, or what hides it. Samples say it on a condition, which
    /// the whole sentence names.
    pub fn finding(&self) -> String {
        match (self.point, &self.verdict) {
            (Point::Feasible | Point::Nothing, Some(judged)) => self.judged_finding(judged),
            (Point::Feasible | Point::Nothing, None) => {
                let above: Vec<&str> = self.residuals_above().into_iter().map(|(name, ..)| name).collect();
                match self.feasibility.is_nan() && self.stationarity.is_nan() {
                    true if !self.was_tried() => "there was no time to evaluate the functions at any point".to_string(),
                    true if self.evaluated && self.stop == Stop::User => "no point was judged".to_string(),
                    true => "no point was found where all functions have values".to_string(),
                    false if self.samples.total() > 0 => NOT_JUDGED.to_string(),
                    false => missed(self.point, &above),
                }
            }
            (point, _) => format!("the point is {}", self.in_words(point)),
        }
    }

    /// What the point is, and how far was looked where the objective improves without bound.
    pub fn in_words(&self, point: Point) -> String {
        // Far away rounding of the terms of a row is larger than any tolerance.
        let point = match point {
            Point::Unbounded if self.feasibility > self.settings.tolerance.feasibility => {
                point.to_string().replacen("feasible", "feasible up to rounding", 1)
            }
            _ => point.to_string(),
        };
        match self.followed {
            Some(Followed { objective, largest }) if self.point == Point::Unbounded => {
                format!("{point}: it was followed to {objective:.1e}, where the largest variable is {largest:.1e}")
            }
            _ => point,
        }
    }

    fn judged_finding(&self, judged: &Verdict) -> String {
        let names = |standing| names_of(judged, &self.settings.tolerance, standing);
        let (hidden, above) = (names(Standing::Hidden), names(Standing::Above));
        match above.is_empty() && !hidden.is_empty() {
            true => format!("noise hides whether {} within the tolerance", and_are(&hidden)),
            false if judged.few_events => "an average rests on too few events to be relied on".to_string(),
            false if above.is_empty() && judged.may_miss(self.settings.sampling.judge.rarest) => {
                format!("it seems to be a KKT point, but {}", judged.missing_event().unwrap_or_default())
            }
            false => missed(self.point, &above),
        }
    }

    /// The residuals above their tolerances: name, value and tolerance of each.
    pub fn residuals_above(&self) -> Vec<(&'static str, f64, f64)> {
        let tolerance = &self.settings.tolerance;
        let residuals = [
            ("feasibility", self.feasibility, tolerance.feasibility),
            ("stationarity", self.stationarity, tolerance.stationarity),
            ("complementarity", self.complementarity, tolerance.complementarity),
        ];
        residuals.into_iter().filter(|(_, value, tolerance)| value.is_nan() || value > tolerance).collect()
    }

    /// Whether the functions were evaluated at the start, or one of them failed there. False: the run ended before that was known.
    pub fn was_tried(&self) -> bool {
        self.evaluated || self.stop == Stop::EvaluationFailed
    }
}

const NOT_JUDGED: &str = "the point was not judged on fresh samples";

/// Which residuals are above their tolerances.
fn missed(point: Point, above: &[&str]) -> String {
    // A sentence that does not name the point says "its" of nothing.
    let (start, its) = if point == Point::Feasible { ("the point is feasible, but ", "its ") } else { ("", "") };
    let (infeasible, moving) = (above.contains(&"feasibility"), above.contains(&"stationarity"));
    match above {
        _ if infeasible && moving => format!("the point is {}", Point::Nothing),
        // Whatever keeps it from being a KKT point, it is no residual.
        [] => format!("the point is {point}"),
        [one] => format!("{start}{its}{one} is above the tolerance"),
        [one, other, ..] => format!("{start}{its}{one} and {its}{other} are above their tolerances"),
    }
}

#[cfg(test)]
mod tests {
    use tangor_problem::ClosureProblem;

    use super::*;
    use crate::{Settings, Solver, solve};

    /// Whether functions were evaluated is recorded, not guessed from residuals that are not numbers.
    #[test]
    fn a_report_knows_whether_the_start_was_evaluated() {
        let line = |slope: f64| {
            let builder = ClosureProblem::builder(Meta::new("line", vec![1.0]).bounds(&[0.0], &[2.0])).objective(|x| x[0]);
            builder.gradient(move |_, g| g[0] = slope).build().expect("all functions are given")
        };
        let begun = Solver::new(line(1.0), Settings::default()).expect("it can be tried").report();
        assert!(begun.evaluated && begun.stationarity.is_nan(), "{}", begun.message);
        assert!(begun.message.ends_with("no point was judged."), "{}", begun.message);
        let failed = solve(line(f64::NAN), Settings::default()).expect("it can be tried");
        assert!(!failed.evaluated && failed.was_tried() && failed.stop == Stop::EvaluationFailed, "{}", failed.message);
        assert!(failed.message.contains("no point was found where all functions have values"), "{}", failed.message);
    }

    #[test]
    fn nothing_is_claimed_beyond_the_residuals() {
        assert_eq!(missed(Point::Nothing, &["feasibility", "stationarity"]), "the point is neither feasible nor stationary");
        assert_eq!(missed(Point::Nothing, &["feasibility"]), "feasibility is above the tolerance");
        assert_eq!(
            missed(Point::Nothing, &["feasibility", "complementarity"]),
            "feasibility and complementarity are above their tolerances"
        );
        assert_eq!(
            missed(Point::Feasible, &["complementarity"]),
            "the point is feasible, but its complementarity is above the tolerance"
        );
    }

    /// `min x` subject to `x^3 >= 0` has no multiplier at its solution; what the message says of the point is what its residuals are.
    #[test]
    fn the_message_names_the_residual_that_is_above_its_tolerance() {
        let meta = Meta::new("cusp", vec![1.0]).at_least(&[0.0]);
        let cusp = ClosureProblem::builder(meta)
            .objective(|x| x[0])
            .gradient(|_, g| g[0] = 1.0)
            .constraints(|x, c| c[0] = x[0].powi(3))
            .jacobian(|x, values| values[0] = 3.0 * x[0] * x[0])
            .build()
            .expect("all functions are given");
        let mut settings = Settings::default();
        settings.limits.iterations = 20;
        let report = solve(cusp, settings).expect("it can be tried");
        let above: Vec<&str> = report.residuals_above().into_iter().map(|(name, ..)| name).collect();
        assert!(!above.is_empty() && above.iter().all(|name| report.message.contains(name)), "{above:?}: {}", report.message);
        assert!(report.stationarity > 1e-6 || !report.message.contains("stationar"), "{}", report.message);
    }
}
