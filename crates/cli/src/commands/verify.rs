use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Deserialize;
use tangor_problem::{Meta, Noise, Problem, SampledProblem};
use tangor_solver::{Bounded, Candidate, Point, Report, Verdict, judge_point};

use crate::error::Error;
use crate::noise_source::{described, disturbed};
use crate::number::{scientific, short};
use crate::screen::{Color, Screen};
use crate::source::Source;
use crate::style::{BAD, GOOD, TITLE};
use crate::{exit, recheck, verdict};

const EXAMPLES: &str = "\
Examples:
  tangor solve HS71 --json > hs71.json && tangor verify hs71.json
  tangor solve HS71 --noise 1e-2 --tolerance 1e-2 --json > noisy.json
  tangor verify noisy.json --samples 100000 --confidence 0.99";

/// How far a number in a result may be from the one computed again, relative to its size: rounding, not more.
const ROUNDING: f64 = 1e-9;

/// Judge a finished result: does its point hold what it claims?
///
/// The problem is opened again. Exact functions are evaluated at the point, functions with noise are judged there on fresh samples,
/// both with the multipliers of the result. Exits with 0 only if all three residuals are within the tolerances
/// of the result and its numbers are true.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{}", exit::HELP))]
pub struct Verify {
    /// What `tangor solve --json` printed
    #[arg(value_name = "RESULT.json")]
    result: PathBuf,

    /// Fresh samples of each function; as many as in the run if nothing is said
    #[arg(long, value_name = "N")]
    samples: Option<u32>,

    /// The confidence of each bound; that of the run if nothing is said
    #[arg(long, value_name = "P")]
    confidence: Option<f64>,

    /// The seed of the fresh samples, which are others than those of a run with the same seed; that of the run if nothing is said
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// When to use colours
    #[arg(long, value_enum, default_value_t)]
    color: Color,
}

/// The part of a result that is not the report.
#[derive(Deserialize)]
struct Rest {
    source: Option<Source>,
}

impl Verify {
    /// Judges the result and gives 0 if it holds.
    pub fn run(self) -> Result<u8, Error> {
        let (report, source) = read(&self.result)?;
        let mut opened = source.problem.open()?;
        let meta = opened.problem.meta().clone();
        fits(&report, &meta).map_err(|message| self.unusable(message))?;
        let out = &mut self.color.screen();
        let complaints = match source.noise.is_none() && opened.problem.accesses().are_exact() {
            true => judge_exactly(out, opened.exact()?, &report)?,
            false => self.judge_on_samples(out, opened.problem, source.noise, &report)?,
        };
        conclude(out, &report, complaints)
    }

    fn judge_on_samples(
        &self,
        out: &mut Screen,
        problem: Box<dyn SampledProblem + Send>,
        noise: Option<Noise>,
        report: &Report,
    ) -> Result<Vec<String>, Error> {
        let mut sampling = report.settings.sampling.clone();
        if let Some(samples) = self.samples {
            sampling.judge.samples = samples as usize;
        }
        if let Some(confidence) = self.confidence {
            sampling.judge.confidence = confidence;
        }
        sampling.seed = self.seed.unwrap_or(sampling.seed);
        let Report { x, row_multipliers, bound_multipliers, .. } = report;
        let candidate = Candidate { x, row_multipliers, bound_multipliers };
        let fresh = judge_point(disturbed(problem, noise)?, candidate, &sampling)?;
        let tolerance = &report.settings.tolerance;
        let what = noise.as_ref().map_or_else(|| "its functions are sampled".to_string(), described);
        writeln!(out, "{TITLE}{}{TITLE:#}: {what}\n", report.problem)?;
        verdict::print(out, &fresh, tolerance)?;
        let mut complaints = Vec::new();
        if !fresh.holds(tolerance) {
            complaints.push("fresh samples do not show that the residuals are within the tolerances".to_string());
        }
        match &report.verdict {
            Some(claimed) => complaints.extend(contradictions(report, claimed, &fresh)),
            None => complaints.push("the result has no verdict on its point".to_string()),
        }
        Ok(complaints)
    }

    fn unusable(&self, message: String) -> Error {
        Error::Result { path: self.result.clone(), message }
    }
}

fn read(path: &Path) -> Result<(Report, Source), Error> {
    let text = std::fs::read_to_string(path).map_err(|cause| Error::Unreadable { path: path.to_owned(), cause })?;
    let wrong = |message: String| Error::Result { path: path.to_owned(), message };
    let malformed = |cause: serde_json::Error| wrong(format!("it is not what `tangor solve --json` prints ({cause})"));
    let report: Report = serde_json::from_str(&text).map_err(malformed)?;
    let rest: Rest = serde_json::from_str(&text).map_err(malformed)?;
    let source = rest.source.ok_or_else(|| wrong("it does not say where its problem comes from".to_string()))?;
    Ok((report, source))
}

/// Looks whether the vectors of the report belong to the problem and the point lies within the bounds.
fn fits(report: &Report, meta: &Meta) -> Result<(), String> {
    if report.problem != meta.name {
        return Err(format!("it is a result of {}, but its source gives {}", report.problem, meta.name));
    }
    let vectors = [
        ("x", &report.x, meta.n(), "variables"),
        ("bound_multipliers", &report.bound_multipliers, meta.n(), "variables"),
        ("constraints", &report.constraints, meta.m(), "constraints"),
        ("row_multipliers", &report.row_multipliers, meta.m(), "constraints"),
    ];
    for (name, values, expected, what) in vectors {
        if values.len() != expected {
            return Err(format!("{name} has {} numbers, but {} has {expected} {what}", values.len(), meta.name));
        }
        if let Some(k) = values.iter().position(|value| !value.is_finite()) {
            return Err(format!("entry {k} of {name}, counted from 0, is not a number"));
        }
    }
    match (0..meta.n()).find(|&i| !(meta.x_lower[i]..=meta.x_upper[i]).contains(&report.x[i])) {
        Some(i) => Err(format!("variable {} is {}, outside of its bounds", meta.variable_name(i), report.x[i])),
        None => Ok(()),
    }
}

/// Evaluates, prints, and lists what does not hold.
fn judge_exactly(out: &mut Screen, problem: &mut dyn Problem, report: &Report) -> Result<Vec<String>, Error> {
    let found =
        recheck::recompute(problem, report).map_err(|cause| Error::Evaluation { name: report.problem.clone(), cause })?;
    let tolerance = &report.settings.tolerance;
    let residuals = [
        ("stationarity", report.stationarity, found.stationarity, tolerance.stationarity, found.terms),
        ("feasibility", report.feasibility, found.feasibility, tolerance.feasibility, 1.0),
        ("complementarity", report.complementarity, found.complementarity, tolerance.complementarity, 1.0),
    ];
    writeln!(out, "{TITLE}{}{TITLE:#}: the functions are exact\n", report.problem)?;
    let mut complaints = Vec::new();
    for (name, claimed, value, tolerance, terms) in residuals {
        let holds = value <= tolerance;
        let (word, style) = if holds { ("within", GOOD) } else { ("above", BAD) };
        writeln!(out, "  {name:<18} {:<22}{style}{word} {}{style:#}", scientific(value, 2), short(tolerance))?;
        if !holds {
            complaints.push(format!("its {name} is {}, above the tolerance {}", scientific(value, 2), short(tolerance)));
        }
        if !near(claimed, value, 1e-2 * tolerance + ROUNDING * value + 1e-3 * ROUNDING * terms) {
            complaints.push(differs(name, claimed, value));
        }
    }
    if !near(report.objective, found.objective, ROUNDING * (1.0 + found.objective.abs())) {
        complaints.push(differs("objective", report.objective, found.objective));
    }
    for (i, (&claimed, &value)) in report.constraints.iter().zip(&found.constraints).enumerate() {
        if !near(claimed, value, ROUNDING * (1.0 + value.abs())) {
            complaints.push(differs(&format!("constraint {}", problem.meta().row_name(i)), claimed, value));
            break;
        }
    }
    Ok(complaints)
}

/// False for NaN, too.
fn near(claimed: f64, value: f64, allowance: f64) -> bool {
    (claimed - value).abs() <= allowance
}

fn differs(name: &str, claimed: f64, value: f64) -> String {
    format!("the result says that its {name} is {}, but it is {}", scientific(claimed, 6), scientific(value, 6))
}

/// Where the numbers of a noisy result contradict each other, or the fresh samples.
fn contradictions(report: &Report, claimed: &Verdict, fresh: &Verdict) -> Vec<String> {
    let residuals = [
        ("stationarity", report.stationarity, claimed.stationarity, fresh.stationarity),
        ("feasibility", report.feasibility, claimed.feasibility, fresh.feasibility),
        ("complementarity", report.complementarity, claimed.complementarity, fresh.complementarity),
    ];
    let mut found = Vec::new();
    for (name, residual, claimed, fresh) in residuals {
        if residual != claimed.value {
            let (one, other) = (scientific(residual, 6), scientific(claimed.value, 6));
            found.push(format!("the result says that its {name} is {one}, but its verdict says {other}"));
        }
        let least = lower(fresh);
        let agrees = claimed.upper + ROUNDING >= least;
        if !agrees {
            let (claim, least) = (scientific(claimed.upper, 2), scientific(least, 2));
            found.push(format!("the result says that its {name} is at most {claim}, but fresh samples say at least {least}"));
        }
    }
    found
}

/// The bound is as far below a residual as above.
fn lower(residual: Bounded) -> f64 {
    2.0 * residual.value - residual.upper
}

fn conclude(out: &mut Screen, report: &Report, mut complaints: Vec<String>) -> Result<u8, Error> {
    if report.point != Point::EpsKkt {
        complaints.insert(0, format!("the result itself says that its point is {}", report.point));
    }
    if complaints.is_empty() {
        writeln!(out, "\n{GOOD}Holds{GOOD:#}: the point is a KKT point within the tolerances.")?;
        return Ok(exit::SOLVED);
    }
    writeln!(out, "\n{BAD}Does not hold{BAD:#}:")?;
    for complaint in complaints {
        writeln!(out, "  - {complaint}.")?;
    }
    Ok(exit::INFEASIBLE)
}
