//! What to try when a run has not solved its problem.

use tangor_problem::count_of;
use tangor_solver::{Event, Point, Report, Scaling, Standing, Stop};

use crate::number::{scientific, short};

/// Multipliers of this size say that there may be none at all.
const HUGE: f64 = 1e5;
/// A residual that is this small beside the numbers that it is made of is rounding: a few thousand units in the last place.
const ROUNDING: f64 = 4096.0 * f64::EPSILON;
/// A residual is less than a few units in the last place of the numbers that it is made of by luck alone: another run may leave more.
const LUCK: f64 = 4.0 * f64::EPSILON;
/// Where numbers are larger than this, rounding leaves no tolerance worth asking for.
const LARGE: f64 = 1e9;
/// More samples than this in one judgement nobody waits for.
const MOST_SAMPLES: f64 = 1e7;
/// Variables whose sizes differ by this much are in units that do not suit each other.
const UNLIKE: f64 = 1e6;
/// Variables smaller than this may be zero but for what the run has left to do.
const NEARLY_ZERO: f64 = 1e-4;
/// What happens in one of so many iterations is worth a word.
const OFTEN: u64 = 3;
/// A run that is shorter shows nothing of it.
const LONG: u64 = 20;

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
        let is_unconfirmed = report.confirmed.is_none() && report.verdict.is_none();
        let told = "There was no time to evaluate the functions once more at this point, as is done at the end of a run: `tangor verify` can.";
        return is_unconfirmed.then(|| told.to_string()).into_iter().collect();
    }
    if report.point == Point::Unbounded {
        return vec!["Is a bound or a constraint missing, or the sign of the objective wrong?".to_string()];
    }
    // Where one of these is the cause, nothing else helps.
    if let Some(cause) =
        unrepeatable(report).or_else(|| rounding(report)).or_else(|| rare_events(report)).or_else(|| noise(report))
    {
        return vec![cause];
    }
    let mut advice = Vec::new();
    let degenerate = Degenerate::of(report);
    // At a Fritz John point nothing is wrong with derivatives or the start, and more iterations but make the multipliers larger.
    let is_fritz_john = degenerate.as_ref().is_some_and(|degenerate| degenerate.is_fritz_john);
    if !is_fritz_john {
        advice.extend(wrong_derivatives(report));
    }
    if !is_fritz_john && let Some((what, argument)) = larger_limit(report) {
        let otherwise = if advice.is_empty() { "More" } else { "Otherwise more" };
        advice.push(format!("{otherwise} {what} may be enough: {argument}."));
    }
    if report.stop == Stop::NoiseFloor {
        advice.push(
            "Noise hides further progress: larger batches (--batch) and judgements (--set sampling.judge.samples=...) make it \
             smaller; or the tolerance is too small for it."
                .to_string(),
        );
    }
    let is_broken = report.failure.as_ref().and_then(|failed| failed.cause.as_ref()).is_some_and(|cause| cause.is_broken());
    match report.stop {
        Stop::EvaluationFailed if is_broken => {
            advice.push("Something is broken, as the message above says: no other start or setting mends it.".to_string());
        }
        Stop::EvaluationFailed if report.feasibility.is_nan() => {
            advice.push("A function has no value at the start: begin elsewhere with --at POINT.json.".to_string());
        }
        _ => {}
    }
    if report.point == Point::EpsInfeasibleStationary {
        advice.extend(contradiction(report));
        advice
            .push("Other starts (--starts 20, or --at POINT.json) may lead to a feasible point, if there is one.".to_string());
    }
    advice.extend(unlike_units(report));
    advice.extend(dependent_rows(report));
    advice.extend(degenerate.iter().flat_map(Degenerate::sentences));
    if let [(name, value, tolerance)] = report.residuals_above()[..]
        && value <= 100.0 * tolerance
        && report.verdict.is_none()
    {
        advice.push(format!("Only {name} is above its tolerance, by a factor of {}.", short((value / tolerance).ceil())));
    }
    advice
}

/// Functions that are called exact, and are not.
fn unrepeatable(report: &Report) -> Option<String> {
    let told = "The functions gave other values when they were asked again at the same point, so no test of a step can be relied on. If \
                they are random, they have to be declared as sampled (an oracle's `accesses`); if not, something in them keeps changing.";
    (report.confirmed == Some(false)).then(|| told.to_string())
}

/// A tolerance that numbers of 16 digits cannot meet: what is left is rounding, or less was asked for than one unit in the last place.
fn rounding(report: &Report) -> Option<String> {
    let missed = report.residuals_above();
    let worst =
        missed.iter().fold(0.0, |most: f64, (_, value, _)| if value.is_nan() { f64::INFINITY } else { most.max(*value) });
    let asked = missed.iter().fold(f64::INFINITY, |least: f64, (_, _, tolerance)| least.min(*tolerance));
    let numbers = [&report.x, &report.constraints, &report.row_multipliers, &report.bound_multipliers];
    let size = numbers.into_iter().flatten().fold(report.objective.abs().max(1.0), |most, value| most.max(value.abs()));
    // At numbers that are larger still, rounding is not what is wrong.
    let is_hopeless = size <= LARGE && (worst <= ROUNDING * size || asked < f64::EPSILON * size);
    let is_at_rest = report.verdict.is_none() && report.stop != Stop::Unbounded && !missed.is_empty();
    (is_at_rest && is_hopeless).then(|| {
        // Ten times what is left, or what rounding may leave, as a power of ten; that little was left may be luck.
        let left = worst.max(LUCK * size).min(ROUNDING * size);
        let attainable = format!("1e{}", left.log10().ceil() as i32 + 1);
        format!(
            "Rounding is in the way: numbers of 16 digits do not tell less here. Ask for no less than --tolerance {attainable}."
        )
    })
}

/// Bounds that are within their tolerances, on samples that may miss what happens rarely.
fn rare_events(report: &Report) -> Option<String> {
    let judge = &report.settings.sampling.judge;
    let judged = report.verdict.filter(|judged| judged.may_miss(judge.rarest) && !judged.few_events)?;
    let seems_good = judged.residuals(&report.settings.tolerance).iter().all(|one| one.standing() == Standing::Within);
    let told = judged.rarest.filter(|_| seems_good)?;
    // A run lives on as many samples again as its last judgement takes.
    let samples = &report.samples;
    let functions = [samples.gradient, samples.constraints, samples.jacobian].iter().filter(|count| **count > 0).count();
    let enough = rounded_up(3.0 * (functions * judge.samples_that_tell()) as f64);
    let which = rounded_up(told);
    Some(format!(
        "More samples can tell: --samples {enough}, or no limit on them. Who knows that rarer events than 1 in {:.0} do not matter may \
         say so, --set sampling.judge.rarest={}, or give the range of a constraint's samples (sampling.judge.range).",
        1.0 / which,
        short(which)
    ))
}

/// Bounds that are above their tolerances because of noise alone.
fn noise(report: &Report) -> Option<String> {
    let (judged, tolerance) = (report.verdict.as_ref()?, &report.settings.tolerance);
    let residuals = judged.residuals(tolerance);
    let hidden = residuals.iter().filter(|one| one.standing() == Standing::Hidden);
    let ratio = hidden.map(|one| one.residual.upper / one.tolerance).fold(0.0, f64::max);
    if ratio == 0.0 || judged.few_events || residuals.iter().any(|one| one.standing() == Standing::Above) {
        return None;
    }
    let samples = &report.samples;
    let functions = [samples.gradient, samples.constraints, samples.jacobian].iter().filter(|count| **count > 0).count();
    // A bound falls as the root of the number of samples; half as many again, since it is itself one of samples.
    let needed = rounded_up(1.5 * judged.samples as f64 / functions.max(1) as f64 * ratio * ratio);
    let bound = residuals.iter().fold(0.0, |most: f64, one| most.max(one.residual.upper));
    let looser = format!("--tolerance {}", short(rounded_up(bound)));
    Some(match needed <= MOST_SAMPLES && report.settings.limits.samples.is_none() {
        true => format!(
            "It is the noise that is in the way. Judgements on more samples can tell: --set sampling.judge.samples={needed}; or \
             ask for less: {looser}."
        ),
        false => format!(
            "It is the noise that is in the way, and the tolerance is small for it: to tell, a judgement would need about {} samples \
             of each function. On these samples the point is within {looser}.",
            scientific(needed, 0)
        ),
    })
}

/// One digit, and no less than the value.
fn rounded_up(value: f64) -> f64 {
    let unit = value.log10().floor();
    // The text has one digit, without what a division leaves behind.
    let digits = (value / 10f64.powf(unit)).ceil();
    format!("{digits}e{unit}").parse().unwrap_or(value)
}

/// Steps that fail again and again, or slopes that are not there.
fn wrong_derivatives(report: &Report) -> Option<String> {
    let shortened = times(report, Event::Shortened);
    // Slopes of rows that contradict each other cancel; one alone that has none may have wrong derivatives.
    let flat =
        report.point == Point::EpsInfeasibleStationary && report.infeasible_stationarity == 0.0 && report.worst_rows.len() < 2;
    let end = "`tangor check` tells whether the derivatives are right";
    // A function that has no value is no matter of derivatives; where all have one, values contradicted these.
    if report.stop == Stop::EvaluationFailed && report.confirmed == Some(true) {
        return Some(format!("{end}."));
    }
    if matches!(report.stop, Stop::StepTooSmall | Stop::NumericalTrouble) {
        let scaling = other_scaling(report.settings.scaling);
        return Some(format!("{end}; another start (--at POINT.json) or another scaling ({scaling}) may help."));
    }
    if flat {
        return Some(format!("The violation has no slope at all here: {end}."));
    }
    (report.verdict.is_none() && report.iterations >= LONG && OFTEN * shortened >= report.iterations)
        .then(|| format!("Steps had to be shortened in {} of {}: {end}.", shortened, count_of(report.iterations, "iteration")))
}

/// Rows of which none can become better but at the cost of another.
fn contradiction(report: &Report) -> Option<String> {
    let [a, b, ..] = &report.worst_rows[..] else { return None };
    Some(format!(
        "No small change mends one violated constraint without harm to another: look at {} and {} first.",
        a.name, b.name
    ))
}

/// Another scaling than that of the run.
fn other_scaling(now: Scaling) -> &'static str {
    match now {
        Scaling::Full | Scaling::Gradient => "--set scaling=none",
        Scaling::None => "--set scaling=full",
    }
}

/// Variables in units that do not suit each other.
fn unlike_units(report: &Report) -> Option<String> {
    let sizes = report.x.iter().map(|value| value.abs()).enumerate();
    let sized = sizes.filter(|(_, size)| size.is_finite() && *size > NEARLY_ZERO);
    let largest = sized.clone().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let smallest = sized.min_by(|a, b| a.1.total_cmp(&b.1))?;
    let told = |(i, size): (usize, f64)| {
        let name = report.names.variables.get(i).cloned().unwrap_or_else(|| format!("x[{i}]"));
        format!("{name} is {}", scientific(size.copysign(report.x[i]), 0))
    };
    (report.stop != Stop::Unbounded && largest.1 > UNLIKE * smallest.1).then(|| {
        format!(
            "Variables differ much in size ({}, {}): units that make them alike, or another scaling ({}), may help.",
            told(largest),
            told(smallest),
            other_scaling(report.settings.scaling)
        )
    })
}

/// Rows that depend on each other.
fn dependent_rows(report: &Report) -> Option<String> {
    let dependent = times(report, Event::RankDeficient);
    (report.iterations >= LONG && OFTEN * dependent >= report.iterations).then(|| {
        format!(
            "The active constraints depended on each other in {} of {}: one that others imply is better left out.",
            dependent,
            count_of(report.iterations, "iteration")
        )
    })
}

fn times(report: &Report, event: Event) -> u64 {
    report.unusual.iter().find(|(known, _)| *known == event).map_or(0, |(_, count)| *count)
}

/// A feasible point whose multipliers are so large that there may be none.
struct Degenerate {
    largest: f64,
    /// The larger residual with the objective weighted by `1 / largest`.
    residual: f64,
    is_fritz_john: bool,
}

impl Degenerate {
    fn of(report: &Report) -> Option<Self> {
        let largest =
            report.row_multipliers.iter().chain(&report.bound_multipliers).fold(0.0, |most: f64, y| most.max(y.abs()));
        // Fritz John: the gradient of the objective may have the weight zero; multipliers of size one are then those of a run divided
        // by the largest.
        let (weight, tolerance) = (1.0 / largest, &report.settings.tolerance);
        let (stationarity, complementarity) = (weight * report.stationarity, weight * report.complementarity);
        let is_fritz_john = stationarity <= tolerance.stationarity && complementarity <= tolerance.complementarity;
        let degenerate = Degenerate { largest, residual: stationarity.max(complementarity), is_fritz_john };
        (largest > HUGE && report.point == Point::Feasible).then_some(degenerate)
    }

    fn sentences(&self) -> Vec<String> {
        let mut sentences = vec![format!(
            "A multiplier is {}: at this point there may be none (the constraints are degenerate there), and then stationarity and \
             complementarity cannot both become small.",
            scientific(self.largest, 0)
        )];
        if self.is_fritz_john {
            sentences.push(format!(
                "It is a Fritz John point: with the objective weighted by {} all residuals are within the tolerances ({} at most).",
                scientific(1.0 / self.largest, 0),
                scientific(self.residual, 0)
            ));
        }
        sentences
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_digit_is_no_less_than_the_value() {
        assert_eq!([0.153, 0.2, 11_512.0, 9.7e-4, 1e-3].map(rounded_up), [0.2, 0.2, 20_000.0, 1e-3, 1e-3]);
    }
}
