//! What was found, in one line.

use tangor_solver::{Point, Report};

use crate::advice;
use crate::verdict::{self, Standing, and_are};

/// What the point is: the end of a sentence that claims no more than the residuals, or under noise their bounds, tell.
pub fn of(report: &Report) -> String {
    match (report.point, &report.verdict) {
        (Point::Feasible | Point::Nothing, Some(judged)) => {
            let names = |standing| verdict::standing(judged, &report.settings.tolerance, standing);
            let (hidden, above) = (names(Standing::Hidden), names(Standing::Above));
            match above.is_empty() && !hidden.is_empty() {
                true => format!("noise hides whether {} within the tolerance", and_are(&hidden)),
                false if judged.few_events => "an average rests on too few events to be relied on".to_string(),
                false if above.is_empty() && judged.may_miss(report.settings.sampling.judge.rarest) => {
                    format!("it seems to be a KKT point, but {}", judged.missing_event().unwrap_or_default())
                }
                false => missed(report.point, &above),
            }
        }
        (Point::Feasible | Point::Nothing, None) => {
            let above: Vec<&str> = advice::above(report).into_iter().map(|(name, ..)| name).collect();
            match report.feasibility.is_nan() && report.stationarity.is_nan() {
                true if !report.was_evaluated() => "there was no time to evaluate the functions at any point".to_string(),
                true => "no point was found where all functions have values".to_string(),
                false if report.samples.total() > 0 => "the point was not judged on fresh samples".to_string(),
                false => missed(report.point, &above),
            }
        }
        (point, _) => point.to_string(),
    }
}

/// Which residuals are above their tolerances.
fn missed(point: Point, above: &[&str]) -> String {
    let start = if point == Point::Feasible { "a feasible point, but " } else { "" };
    let (infeasible, moving) = (above.contains(&"feasibility"), above.contains(&"stationarity"));
    match above {
        [] => Point::Feasible.to_string(),
        _ if infeasible && moving => Point::Nothing.to_string(),
        [one] => format!("{start}its {one} is above the tolerance"),
        [one, other, ..] => format!("{start}its {one} and its {other} are above their tolerances"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_claimed_beyond_the_residuals() {
        let told = |point, above: &[&str]| missed(point, above);
        assert_eq!(told(Point::Nothing, &["feasibility", "stationarity"]), "neither feasible nor stationary");
        assert_eq!(told(Point::Nothing, &["feasibility"]), "its feasibility is above the tolerance");
        assert_eq!(
            told(Point::Nothing, &["feasibility", "complementarity"]),
            "its feasibility and its complementarity are above their tolerances"
        );
        assert_eq!(
            told(Point::Feasible, &["complementarity"]),
            "a feasible point, but its complementarity is above the tolerance"
        );
    }
}
