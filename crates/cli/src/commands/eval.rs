use std::collections::BTreeMap;
use std::io::Write;

use clap::Args;
use serde::Serialize;
use tangor_problem::{Draw, FunctionFailure, FunctionValues, Meta, SampledProblem, Wanted, count_of};

use crate::draw_source::{self, DrawArguments};
use crate::error::Error;
use crate::number::readable;
use crate::point_source::PointArguments;
use crate::problem_source::ProblemArguments;
use crate::screen::{Color, Screen};
use crate::style::{DIM, TITLE};
use crate::{exit, plain};

const EXAMPLES: &str = "\
Examples:
  tangor eval HS71                                 at the start, for people
  tangor eval HS71.SIF --at point.json --json      for a program: n, m, names, x, f, g, c, J";

/// How many values a person wants to see of each kind.
const SHOWN: usize = 20;

/// Evaluate a problem's functions and derivatives at a point
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Eval {
    #[command(flatten)]
    problem: ProblemArguments,

    #[command(flatten)]
    point: PointArguments,

    #[command(flatten)]
    draws: DrawArguments,

    /// Print JSON, with numbers that read back to the same bits
    #[arg(long)]
    json: bool,

    /// When to use colours
    #[arg(long, value_enum, default_value_t)]
    color: Color,
}

/// All values at a point.
#[derive(Serialize)]
struct Values {
    n: usize,
    m: usize,
    names: Names,
    x: Vec<f64>,
    /// Over which the functions of a noisy problem are averages.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    draws: Vec<Draw>,
    f: f64,
    g: Vec<f64>,
    c: Vec<f64>,
    #[serde(rename = "J")]
    jacobian: Triplets,
}

#[derive(Serialize)]
struct Names {
    x: Vec<String>,
    c: Vec<String>,
}

/// Entries of a matrix, counted from 0, by rows.
#[derive(Default, Serialize)]
struct Triplets {
    row: Vec<usize>,
    col: Vec<usize>,
    val: Vec<f64>,
}

impl Eval {
    /// Evaluates and prints.
    pub fn run(self) -> Result<u8, Error> {
        let mut problem = self.problem.open()?.problem;
        let meta = problem.meta().clone();
        let draws = self.draws.of(&*problem)?;
        meta.validate().map_err(|cause| Error::Evaluation { name: meta.name.clone(), cause: cause.into() })?;
        let x = self.point.or(&meta, || meta.x0.clone())?;
        let evaluated = evaluate(&mut *problem, &meta, &draws, x);
        let values = evaluated.map_err(|failed| Error::Evaluation { name: meta.name.clone(), cause: failed.failure })?;
        let mut out = self.color.screen();
        match self.json {
            true => writeln!(out, "{}", plain::json_line(&values)?)?,
            false => {
                draw_source::tell(&mut out, &draws)?;
                print(&mut out, &plain::meta(&meta), &values)?;
            }
        }
        Ok(exit::SOLVED)
    }
}

fn evaluate(problem: &mut dyn SampledProblem, meta: &Meta, draws: &[Draw], x: Vec<f64>) -> Result<Values, FunctionFailure> {
    let (n, m) = (meta.n(), meta.m());
    let mut values = FunctionValues::new(meta);
    let mut out = values.outputs();
    problem.evaluate(&x, draws, Wanted::ALL, &mut out)?;
    // Without an objective there is nothing to pay; a noisy one need not tell its value.
    let f = out.objective.unwrap_or(if meta.has_objective { f64::NAN } else { 0.0 });
    let FunctionValues { gradient: g, constraints: c, jacobian: entries, .. } = values;
    let names = Names { x: (0..n).map(|i| meta.variable_name(i)).collect(), c: (0..m).map(|i| meta.row_name(i)).collect() };
    Ok(Values { n, m, names, x, f, g, c, draws: draws.to_vec(), jacobian: triplets(meta, &entries) })
}

/// Sorted by rows; an entry named twice is added up.
fn triplets(meta: &Meta, entries: &[f64]) -> Triplets {
    let mut places: BTreeMap<(usize, usize), f64> = BTreeMap::new();
    for (k, value) in entries.iter().enumerate() {
        *places.entry(meta.jacobian.place(k, meta.n())).or_default() += value;
    }
    let mut triplets = Triplets::default();
    for ((row, col), val) in places {
        triplets.row.push(row);
        triplets.col.push(col);
        triplets.val.push(val);
    }
    triplets
}

fn print(out: &mut Screen, meta: &Meta, values: &Values) -> Result<(), Error> {
    writeln!(out, "{TITLE}{}{TITLE:#}: f = {}", meta.name, readable(values.f))?;
    // Four columns fit 60 places.
    let width = 15;
    writeln!(out, "\n{TITLE}{:<width$} {:>14} {:>14}{TITLE:#}", "variable", "x", "gradient")?;
    for (i, name) in values.names.x.iter().enumerate().take(SHOWN) {
        let name = plain::name(name);
        writeln!(out, "{name:<width$} {:>14} {:>14}", readable(values.x[i]), readable(values.g[i]))?;
    }
    cut(out, values.n)?;
    if values.m > 0 {
        writeln!(out, "\n{TITLE}{:<width$} {:>14} {:>14} {:>14}{TITLE:#}", "constraint", "c", "lower", "upper")?;
        for (i, name) in values.names.c.iter().enumerate().take(SHOWN) {
            let name = plain::name(name);
            let (lower, upper) = (readable(meta.c_lower[i]), readable(meta.c_upper[i]));
            writeln!(out, "{name:<width$} {:>14} {lower:>14} {upper:>14}", readable(values.c[i]))?;
        }
        cut(out, values.m)?;
        writeln!(out, "\nThe Jacobian has {}; --json shows all.", count_of(values.jacobian.val.len(), "entry"))?;
    }
    Ok(())
}

fn cut(out: &mut Screen, all: usize) -> Result<(), Error> {
    match all.saturating_sub(SHOWN) {
        0 => Ok(()),
        more => Ok(writeln!(out, "{DIM}and {more} more; --json shows all{DIM:#}")?),
    }
}
