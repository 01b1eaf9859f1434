use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use clap::Args;
use serde::Deserialize;
use tangor_open::disturbed;
use tangor_problem::{Access, Accesses, MemoryLimit, Meta, Noise, Problem, SampledProblem, count_of};
use tangor_solver::{Candidate, Report, Sampling, beyond_doubt, field_at, judge_point_and_rows};

use crate::answer::Answer;
use crate::contradiction::{Doubted, ROUNDING, differs, disagrees, hidden_events, inconsistencies, near, own_residuals};
use crate::error::Error;
use crate::idle::Idle;
use crate::interrupt::Ending;
use crate::noise_source::described;
use crate::number::{scientific, short};
use crate::problem_source::{Opening, ProblemArguments};
use crate::provenance::Provenance;
use crate::screen::{Color, Screen};
use crate::style::{BAD, GOOD, TITLE};
use crate::{ampl, duration, exit, plain, size, verdict};

const EXAMPLES: &str = "\
Examples:
  tangor solve HS71 --json > hs71.json && tangor verify hs71.json
  tangor solve HS71 --noise 1e-2 --tolerance 1e-2 --json > noisy.json
  tangor verify noisy.json --samples 100000 --confidence 0.99
  tangor verify model.nl model.sol                the answer of any solver";

/// Judge a finished result: does its point hold what it claims?
///
/// The problem is opened again. Exact functions are evaluated at the point, functions with noise are judged there on fresh samples,
/// both with the multipliers of the result. There are three answers: it holds (exit code 0: all three residuals are within the
/// tolerances of the result, and nothing that was computed again contradicts its numbers, nor do they contradict each other), it does not
/// hold or claims no KKT point (2), or it cannot be told (3), and where more samples could tell, how many. What nobody can compute again, as
/// its seconds and its memory, is only looked at for being possible.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{}", exit::HELP))]
pub struct Verify {
    /// What `tangor solve --json` printed; or a .nl file, with an answer to it
    #[arg(value_name = "RESULT.json")]
    result: PathBuf,

    /// The answer of any solver to the .nl file
    #[arg(value_name = "ANSWER.sol")]
    answer: Option<PathBuf>,

    /// Tolerance of all three residuals of an answer; that of a run without settings if nothing is said
    #[arg(long, value_name = "EPS", requires = "answer")]
    tolerance: Option<f64>,

    /// Fresh samples of each function, one in each batch at least; if nothing is said, at least as many as the last judgement took, and as
    /// tell of rare events
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    samples: Option<u64>,

    /// Most memory, as in 500MB or 4GB; three quarters of the machine's if nothing is said
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    memory_limit: Option<u64>,

    /// Most wall time, as in 10s, 5m or 1h30m
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, conflicts_with = "answer")]
    time_limit: Option<Duration>,

    /// The confidence of each bound; that of the run if nothing is said
    #[arg(long, value_name = "P")]
    confidence: Option<f64>,

    /// The probability of the rarest event that matters; if nothing is said, that of the run, or 0.00015 if that is less
    #[arg(long, value_name = "P")]
    rarest: Option<f64>,

    /// The seed of the fresh samples, which are others than those of a run with the same seed; that of the run if nothing is said
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// Run the command that the result names to evaluate the functions of its problem; a result alone never starts a program
    #[arg(long, conflicts_with = "oracle")]
    allow_oracle: bool,

    /// The command that evaluates the functions, in place of the one that the result names
    #[arg(long, value_name = "COMMAND")]
    oracle: Option<String>,

    /// When to use colours
    #[arg(long, value_enum, default_value_t)]
    color: Color,
}

/// The part of a result that is not the report.
#[derive(Deserialize)]
struct Rest {
    source: Option<Provenance>,
}

impl Verify {
    /// Judges the result and gives 0 if it holds.
    pub fn run(self) -> Result<u8, Error> {
        if let Some(answer) = &self.answer {
            return ampl::verify(&mut self.color.screen(), &self.result, answer, self.tolerance);
        }
        let (report, source) = read(&self.result, MemoryLimit::or_of_this_machine(self.memory_limit))?;
        let ending = Ending::within(self.time_limit)?;
        let opening = Opening { memory: self.memory_limit, patience: ending.patience.clone(), ..Opening::default() };
        let mut opened = self.permitted(source.problem)?.open_with(&opening)?;
        let own_meta = opened.problem.meta().clone();
        let meta = plain::meta(&own_meta);
        fits(&report, &meta).map_err(|message| self.unusable(message))?;
        let exact = source.noise.is_none() && opened.problem.accesses().are_exact();
        let sampling = self.sampling(&report);
        self.fits_into_memory(&meta, &sampling)?;
        let out = &mut self.color.screen();
        let wrong = inconsistencies(&report, &own_meta, !exact);
        let report = plain::report(&report);
        if !wrong.is_empty() {
            // What contradicts itself need not be computed again, for as long as it may ask for.
            writeln!(out, "{TITLE}{}{TITLE:#}", report.problem)?;
            return Answer { wrong, ..Answer::default() }.tell(out, &report);
        }
        let mut idle = Idle::default();
        let given = [
            ("--samples", self.samples.is_some()),
            ("--confidence", self.confidence.is_some()),
            ("--rarest", self.rarest.is_some()),
            ("--seed", self.seed.is_some()),
        ];
        idle.add(exact, format!("the functions of {} are exact", meta.name), &given);
        idle.tell();
        if let Some(samples) = self.samples.filter(|samples| !exact && *samples < sampling.judge.batches as u64) {
            let batches = sampling.judge.batches;
            return Err(Error::Setting(format!(
                "--samples {samples} is fewer than the {batches} batches that a point is judged in"
            )));
        }
        let answer = match exact {
            true => check_exactly(out, opened.exact()?, &report),
            false => judge_on_samples(out, opened.problem, source.noise, &report, &sampling, ending.clone()),
        };
        let (word, code) = match ending.flag.load(Ordering::Relaxed) {
            true => ("Interrupted", exit::STOPPED),
            false => ("Out of time", exit::LIMIT),
        };
        if answer.is_err() && ending.is_over() {
            writeln!(out, "{word} before anything could be told of {}.", report.problem)?;
            return Ok(code);
        }
        let mut answer = answer?;
        answer.wrong.extend(own_residuals(&report, &own_meta));
        answer.tell(out, &report)
    }

    /// A result may come from a stranger, and the command in it may do anything: it runs only if the user says so.
    fn permitted(&self, problem: ProblemArguments) -> Result<ProblemArguments, Error> {
        match (problem.oracle(), &self.oracle) {
            (Some(_), Some(own)) => Ok(problem.with_oracle(own.clone())),
            (Some(command), None) if !self.allow_oracle => Err(self.unusable(format!(
                "a program evaluates the functions of its problem, and a file does not start a program by itself; if you trust the \
                 command {command:?}, add --allow-oracle, otherwise give your own with --oracle"
            ))),
            (None, Some(_)) => Err(self.unusable("no program evaluates its problem, so --oracle means nothing here".to_string())),
            _ => Ok(problem),
        }
    }

    /// How the result is judged. A long run's judgement takes more samples than was set, and says how many of all functions together:
    /// as many of each are at least as many as it took. Who wrote the result does not decide which events are too rare to matter.
    fn sampling(&self, report: &Report) -> Sampling {
        let mut sampling = report.settings.sampling.clone();
        let judge = &mut sampling.judge;
        judge.confidence = self.confidence.unwrap_or(judge.confidence);
        judge.rarest = self.rarest.unwrap_or(judge.rarest.min(Sampling::default().judge.rarest));
        let judged = report.verdict.map_or(0, |verdict| verdict.samples);
        let telling = judge.samples_that_tell();
        let samples = self.samples.unwrap_or(judged.max(judge.samples.max(telling) as u64));
        judge.samples = usize::try_from(samples).unwrap_or(usize::MAX);
        sampling.seed = self.seed.unwrap_or(sampling.seed);
        sampling
    }

    /// The numbers in a result may be anybody's: what they ask for is computed before it is allocated.
    fn fits_into_memory(&self, meta: &Meta, sampling: &Sampling) -> Result<(), Error> {
        let limit = MemoryLimit::or_of_this_machine(self.memory_limit);
        let judge = &sampling.judge;
        let drawn = judge.samples.div_ceil(judge.batches.max(1)) as u128;
        let (n, m, entries) = (meta.n() as u128, meta.m() as u128, meta.jacobian_len() as u128);
        let needed = 8 * (drawn + 3 * (n + m + entries));
        let what = || match drawn > entries {
            true => format!("{} fresh samples in {} batches", judge.samples, judge.batches),
            false => format!("a Jacobian of {}", count_of(entries, "entry")),
        };
        limit.check(needed, what).map_err(|error| self.unusable(error.to_string()))
    }

    fn unusable(&self, message: String) -> Error {
        Error::Result { path: self.result.clone(), message }
    }
}

fn read(path: &Path, memory: MemoryLimit) -> Result<(Report, Provenance), Error> {
    let text = memory.read_text(path).map_err(|cause| Error::Unreadable { path: path.to_owned(), cause })?;
    let wrong = |message: String| Error::Result { path: path.to_owned(), message };
    let malformed = |cause: serde_json::Error| {
        let field = match field_at(text.as_bytes(), cause.line(), cause.column()) {
            field if field.is_empty() => String::new(),
            field => format!("{}: ", plain::name(&field)),
        };
        wrong(format!("it is not what `tangor solve --json` prints ({field}{cause})"))
    };
    let report: Report = serde_json::from_str(&text).map_err(malformed)?;
    let rest: Rest = serde_json::from_str(&text).map_err(malformed)?;
    let source = rest.source.ok_or_else(|| wrong("it does not say where its problem comes from".to_string()))?;
    Ok((report, source))
}

/// Looks whether the vectors of the report belong to the problem and the point lies within the bounds.
fn fits(report: &Report, meta: &Meta) -> Result<(), String> {
    if plain::name(&report.problem) != meta.name {
        let found = plain::name(&report.problem);
        return Err(format!("it is a result of {found}, but its source gives {}", meta.name));
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

/// Judges on fresh samples, prints, and lists what does not hold and what cannot be told.
fn judge_on_samples(
    out: &mut Screen,
    problem: Box<dyn SampledProblem + Send>,
    noise: Option<Noise>,
    report: &Report,
    sampling: &Sampling,
    ending: Ending,
) -> Result<Answer, Error> {
    let Report { x, row_multipliers, bound_multipliers, .. } = report;
    let candidate = Candidate { x, row_multipliers, bound_multipliers };
    let problem = disturbed(problem, noise)?;
    let names: Vec<String> = (0..problem.meta().m()).map(|i| plain::name(&problem.meta().row_name(i)).into_owned()).collect();
    let Accesses { gradient, constraints, jacobian } = problem.accesses();
    let judged = judge_point_and_rows(problem, candidate, sampling, Some(Arc::new(move || ending.is_over())))?;
    let (fresh, sure, tolerance) = (judged.verdict, judged.beyond_doubt, &report.settings.tolerance);
    let what = noise.as_ref().map_or_else(|| "its functions are sampled".to_string(), described);
    writeln!(out, "{TITLE}{}{TITLE:#}: {what}\n", report.problem)?;
    if let Some(judged) = fresh.objective {
        verdict::objective(out, judged, "")?;
    }
    verdict::print(out, &fresh, tolerance)?;
    let mut answer = Answer { samples: sampling.judge.samples as u64, ..Answer::default() };
    fresh.residuals(tolerance).iter().zip(&sure.residuals(tolerance)).for_each(|(judged, sure)| answer.add(judged, sure));
    answer.add_events(&fresh, sampling.judge.rarest, sampling.judge.samples_that_tell());
    let sizes = (!matches!(gradient, Access::Finite(_))).then_some((answer.samples, sampling.judge.batches));
    if let Some(claimed) = &report.verdict {
        let doubted = Doubted { report, claimed, wider: beyond_doubt(&report.settings.sampling.judge, names.len()) };
        answer.wrong.extend(doubted.contradictions(&sure));
        answer.wrong.extend(doubted.wrong_objective(&sure).or_else(|| doubted.wrong_error_bar(&fresh, sizes?)));
        // A run may have judged a whole population of which there are fewer samples here.
        let is_whole = |access: &Access| matches!(access, Access::Finite(members) if *members <= claimed.samples);
        let sees_all = [gradient, constraints, jacobian].iter().any(is_whole);
        answer.wrong.extend(hidden_events(report, claimed, &fresh).filter(|_| !sees_all));
        answer.wrong.extend(
            doubted
                .wrong_row(&judged.rows)
                .map(|(i, fresh)| disagrees(&format!("constraint {}", names[i]), report.constraints[i], fresh)),
        );
    }
    Ok(answer)
}

/// Evaluates, prints, and lists what does not hold.
fn check_exactly(out: &mut Screen, problem: &mut dyn Problem, report: &Report) -> Result<Answer, Error> {
    let claimed = tangor_bench::Candidate { x: &report.x, y: &report.row_multipliers, mu: &report.bound_multipliers };
    let found =
        tangor_bench::recompute(problem, claimed).map_err(|cause| Error::Evaluation { name: report.problem.clone(), cause })?;
    let (tolerance, measured) = (&report.settings.tolerance, &found.residuals);
    let residuals = [
        ("stationarity", report.stationarity, measured.stationarity, tolerance.stationarity, measured.terms),
        ("feasibility", report.feasibility, measured.feasibility, tolerance.feasibility, 1.0),
        ("complementarity", report.complementarity, measured.complementarity, tolerance.complementarity, 1.0),
    ];
    writeln!(out, "{TITLE}{}{TITLE:#}: the functions are exact\n", report.problem)?;
    let (mut complaints, mut above) = (Vec::new(), Vec::new());
    for (name, claimed, value, tolerance, terms) in residuals {
        let holds = value <= tolerance;
        let (word, style) = if holds { ("within", GOOD) } else { ("above", BAD) };
        writeln!(out, "  {name:<18} {:<22}{style}{word} {}{style:#}", scientific(value, 2), short(tolerance))?;
        if !holds {
            above.push(format!("its {name} is {}, above the tolerance {}", scientific(value, 2), short(tolerance)));
        }
        if !near(claimed, value, 1e-2 * tolerance + ROUNDING * value + 1e-3 * ROUNDING * terms) {
            complaints.push(differs(name, claimed, value));
        }
    }
    let slope = measured.infeasible_stationarity;
    // A run looks for it only where constraints are violated.
    let is_sought = measured.feasibility > tolerance.feasibility || report.infeasible_stationarity != 0.0;
    if is_sought && !near(report.infeasible_stationarity, slope, ROUNDING * (1.0 + slope + measured.terms)) {
        complaints.push(differs("slope of the violation (infeasible_stationarity)", report.infeasible_stationarity, slope));
    }
    if !near(report.objective, found.objective, ROUNDING * (1.0 + found.objective.abs())) {
        complaints.push(differs("objective", report.objective, found.objective));
    }
    for (i, (&claimed, &value)) in report.constraints.iter().zip(&found.constraints).enumerate() {
        if !near(claimed, value, ROUNDING * (1.0 + value.abs())) {
            let name = format!("constraint {}", plain::name(&problem.meta().row_name(i)));
            complaints.push(differs(&name, claimed, value));
            break;
        }
    }
    Ok(Answer { wrong: complaints, above, ..Answer::default() })
}
