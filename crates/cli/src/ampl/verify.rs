//! Checking an answer that any solver gave to a .nl file.

use std::io::Write;
use std::path::Path;

use tangor_bench::{Candidate, recompute};
use tangor_nl::{NlProblem, Options, Solution, Target};
use tangor_problem::{FunctionValues, INFINITE, MemoryLimit, Meta, Problem, Wanted, gradient_of_lagrangian};
use tangor_solver::Settings;

use crate::error::Error;
use crate::exit;
use crate::number::{readable, scientific, short};
use crate::screen::Screen;
use crate::style::{BAD, DIM, GOOD, TITLE};

/// How far outside its bounds a value may lie and count as being there.
const AT_BOUND: f64 = 1e-6;

/// Evaluates the functions of the file at the point of the answer, with the multipliers of the answer, and gives 0 if it is a KKT
/// point within the tolerance.
pub fn verify(out: &mut Screen, file: &Path, answer: &Path, tolerance: Option<f64>) -> Result<u8, Error> {
    let bytes =
        MemoryLimit::of_this_machine().read(answer).map_err(|cause| Error::Unreadable { path: answer.to_owned(), cause })?;
    let plain = tangor_nl::read(file, &Options { relax_integers: true, ..Options::default() })?;
    let solution = Solution::parse(&bytes, &answer.display().to_string(), plain.header())?;
    let mut problem = match solution.objective {
        0 => plain,
        number => tangor_nl::read(file, &Options { objective: number + 1, relax_integers: true, ..Options::default() })?,
    };
    let meta = problem.meta().clone();
    let unusable = |message: String| Error::Result { path: answer.to_owned(), message };
    if solution.x.len() != meta.n() {
        return Err(unusable("it has no point".to_string()));
    }
    let failed = |cause| Error::Evaluation { name: meta.name.clone(), cause };
    let (y, mu, note) = multipliers(&mut problem, &solution).map_err(failed)?;
    let recomputed = recompute(&mut problem, Candidate { x: &solution.x, y: &y, mu: &mu }).map_err(failed)?;
    writeln!(out, "{TITLE}{}{TITLE:#}: {}\n", meta.name, solution.message.lines().next().unwrap_or_default())?;
    if meta.has_objective {
        writeln!(out, "  {:<18} {}", "objective", readable(recomputed.objective))?;
    }
    let defaults = Settings::default().tolerance;
    let residuals = [
        ("stationarity", recomputed.residuals.stationarity, defaults.stationarity),
        ("feasibility", recomputed.residuals.feasibility, defaults.feasibility),
        ("complementarity", recomputed.residuals.complementarity, defaults.complementarity),
    ];
    let mut holds = true;
    for (name, value, default) in residuals {
        let tolerance = tolerance.unwrap_or(default);
        let within = value <= tolerance;
        holds &= within;
        let (word, style) = if within { ("within", GOOD) } else { ("above", BAD) };
        writeln!(out, "  {name:<18} {:<22}{style}{word} {}{style:#}", scientific(value, 2), short(tolerance))?;
    }
    note.map_or(Ok(()), |note| writeln!(out, "  {DIM}{note}{DIM:#}"))?;
    match holds {
        true => writeln!(out, "\n{GOOD}Holds{GOOD:#}: the point is a KKT point within the tolerances.")?,
        false => writeln!(out, "\n{BAD}Does not hold{BAD:#}: a residual is above its tolerance.")?,
    }
    Ok(if holds { exit::SOLVED } else { exit::INFEASIBLE })
}

type Multipliers = (Vec<f64>, Vec<f64>, Option<String>);

// In Tangor's signs. Where an answer says nothing of bounds, what the gradient leaves over at a bound is its multiplier.
fn multipliers(problem: &mut NlProblem, solution: &Solution) -> Result<Multipliers, tangor_problem::Failure> {
    let meta = problem.meta().clone();
    let given = solution.multipliers.len() == meta.m();
    let y: Vec<f64> = if given { solution.multipliers.iter().map(|y| -y).collect() } else { vec![0.0; meta.m()] };
    let mut note = (!given).then(|| "The answer has no multipliers of the constraints: zeros stand for them.".to_string());
    let both = |names: [&str; 2]| {
        let [lower, upper] = names.map(|name| solution.suffix(Target::Variables, name, meta.n()));
        (lower.is_some() || upper.is_some()).then(|| {
            let zeros = || vec![0.0; meta.n()];
            let (lower, upper) = (lower.unwrap_or_else(zeros), upper.unwrap_or_else(zeros));
            lower.iter().zip(upper).map(|(lower, upper)| lower + upper).collect::<Vec<f64>>()
        })
    };
    if let Some(mu) = both(["tangor_zL_out", "tangor_zU_out"]).or_else(|| both(["ipopt_zL_out", "ipopt_zU_out"])) {
        return Ok((y, mu, note));
    }
    if note.is_none() {
        note = Some(
            "The answer has no multipliers of the bounds: what the gradient leaves over at a bound stands for them.".into(),
        );
    }
    let mut values = FunctionValues::new(&meta);
    values.evaluate(problem, &solution.x, Wanted::DERIVATIVES).map_err(|failure| failure.failure)?;
    let mut left = vec![0.0; meta.n()];
    let add_products = |out: &mut [f64]| meta.jacobian.add_products(&values.jacobian, &y, out);
    gradient_of_lagrangian(&values.gradient, add_products, &[], &mut left);
    let mu = (0..meta.n()).map(|j| at_bound(&meta, j, solution.x[j], left[j])).collect();
    Ok((y, mu, note))
}

fn at_bound(meta: &Meta, j: usize, x: f64, left: f64) -> f64 {
    let (lower, upper) = (meta.x_lower[j], meta.x_upper[j]);
    let near = |bound: f64| bound.abs() < INFINITE && (x - bound).abs() <= AT_BOUND * (1.0 + bound.abs());
    let towards_lower = meta.sense() * left > 0.0;
    if (towards_lower && near(lower)) || (!towards_lower && near(upper)) { left } else { 0.0 }
}
