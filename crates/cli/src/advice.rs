//! What to try when a run has not solved its problem.

use tangor_solver::{Point, Report, Stop};

use crate::number::{scientific, short};

/// Multipliers of this size say that there may be none at all.
const HUGE: f64 = 1e5;

/// The names of the residuals above their tolerances, with their values.
pub fn above(report: &Report) -> Vec<(&'static str, f64, f64)> {
    let tolerance = &report.settings.tolerance;
    let residuals = [
        ("feasibility", report.feasibility, tolerance.feasibility),
        ("stationarity", report.stationarity, tolerance.stationarity),
        ("complementarity", report.complementarity, tolerance.complementarity),
    ];
    residuals.into_iter().filter(|(_, value, tolerance)| value.is_nan() || value > tolerance).collect()
}

/// What the run had not enough of, and the argument that gives it ten times as much.
pub fn larger_limit(report: &Report) -> Option<(&'static str, String)> {
    let limits = &report.settings.limits;
    let more = |limit: Option<u64>| limit.map(|limit| limit.saturating_mul(10).max(1000));
    match report.stop {
        Stop::Iterations => Some(("iterations", format!("--max-iterations {}", more(Some(limits.iterations))?))),
        Stop::WallTime => Some(("time", format!("--time-limit {:.0}s", (10.0 * limits.seconds?).max(10.0)))),
        Stop::Evaluations => Some(("evaluations", format!("--set limits.evaluations={}", more(limits.evaluations)?))),
        Stop::Samples => Some(("samples", format!("--samples {}", more(limits.samples)?))),
        _ => None,
    }
}

/// Sentences, the most useful first; none for a run that reached its goal.
pub fn of(report: &Report) -> Vec<String> {
    if report.point == Point::EpsKkt {
        return Vec::new();
    }
    let mut advice = Vec::new();
    let largest = report.row_multipliers.iter().chain(&report.bound_multipliers).fold(0.0, |most: f64, y| most.max(y.abs()));
    let may_have_none = largest > HUGE && report.point == Point::Feasible;
    // Fritz John: the gradient of the objective may have the weight zero; multipliers of size one are then those of a run divided by the largest.
    let (weight, tolerance) = (1.0 / largest, &report.settings.tolerance);
    let (stationarity, complementarity) = (weight * report.stationarity, weight * report.complementarity);
    let is_fritz_john = may_have_none && stationarity <= tolerance.stationarity && complementarity <= tolerance.complementarity;
    // At such a point, more iterations but make the multipliers larger.
    if !is_fritz_john && let Some((what, argument)) = larger_limit(report) {
        advice.push(format!("More {what} may be enough: {argument}."));
    }
    match report.stop {
        Stop::NoiseFloor => {
            advice.push("Noise hides further progress: larger batches (--batch) and judgements (--set".to_string());
            advice.push("sampling.judge.samples=...) make it smaller; or the tolerance is too small for it.".to_string());
        }
        Stop::EvaluationFailed if report.iterations == 0 => {
            advice.push("A function has no value at the start: begin elsewhere with --at POINT.json.".to_string());
        }
        Stop::StepTooSmall | Stop::NumericalTrouble => {
            advice.push("`tangor check` tells whether the derivatives are right; another start (--at POINT.json)".to_string());
            advice.push("or another scaling (--set scaling=none) may help.".to_string());
        }
        _ => {}
    }
    if let Point::EpsInfeasibleStationary = report.point {
        advice.push("Another start (--at POINT.json) may lead to a feasible point, if there is one.".to_string());
    }
    if may_have_none {
        advice
            .push(format!("A multiplier is {}: at this point there may be none (the constraints are", scientific(largest, 0)));
        advice.push("degenerate there), and then stationarity and complementarity cannot both become small.".to_string());
        if is_fritz_john {
            let worst = scientific(stationarity.max(complementarity), 0);
            advice.push(format!(
                "It is a Fritz John point: with the objective weighted by {} all residuals are within the tolerances ({worst} at most).",
                scientific(weight, 0)
            ));
        }
    }
    if let [(name, value, tolerance)] = above(report)[..]
        && value <= 100.0 * tolerance
        && report.verdict.is_none()
    {
        advice.push(format!("Only {name} is above its tolerance, by a factor of {}.", short((value / tolerance).ceil())));
    }
    advice
}
