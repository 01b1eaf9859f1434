use std::io::Write;

use clap::Args;
use serde::Serialize;
use tangor_collection::Entry;
use tangor_problem::{INFINITE, Meta, SampledProblem, count_of};
use tangor_sif::Parameter;

use crate::error::Error;
use crate::number::readable;
use crate::problem_source::{Opened, ProblemArguments};
use crate::screen::{Color, Screen};
use crate::style::{DIM, TITLE};
use crate::{exit, plain, width};

const EXAMPLES: &str = "\
Examples:
  tangor info HS71
  tangor info HS71.SIF                  also its classification and its parameters
  tangor info model.nl                  a file of AMPL, Pyomo or JuMP
  tangor info HS71.SIF --json";

/// Show what a problem is: sizes, kinds of rows and bounds, parameters
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Info {
    #[command(flatten)]
    problem: ProblemArguments,

    /// Print JSON
    #[arg(long)]
    json: bool,

    /// When to use colours
    #[arg(long, value_enum, default_value_t)]
    color: Color,
}

/// What can be said of any problem.
#[derive(Serialize)]
struct Description {
    name: String,
    /// Which problem the name means.
    origin: Option<String>,
    objective: bool,
    variables: Kinds,
    constraints: Kinds,
    /// Constraints known to be linear.
    linear: usize,
    jacobian_entries: usize,
    title: Option<&'static str>,
    source: Option<&'static str>,
    best_known: Option<f64>,
    sif: Option<tangor_sif::Info>,
    nl: Option<tangor_nl::Info>,
}

/// How many values are bounded in which way.
#[derive(Default, Serialize)]
struct Kinds {
    all: usize,
    equal: usize,
    lower: usize,
    upper: usize,
    both: usize,
    free: usize,
}

impl Kinds {
    fn of(lower: &[f64], upper: &[f64]) -> Self {
        let mut kinds = Kinds { all: lower.len(), ..Kinds::default() };
        for (&lower, &upper) in lower.iter().zip(upper) {
            let count = match (lower > -INFINITE, upper < INFINITE) {
                (true, true) if lower == upper => &mut kinds.equal,
                (true, true) => &mut kinds.both,
                (true, false) => &mut kinds.lower,
                (false, true) => &mut kinds.upper,
                (false, false) => &mut kinds.free,
            };
            *count += 1;
        }
        kinds
    }

    /// `equal` says what one and what many with equal bounds are called.
    fn sentence(&self, equal: [&str; 2]) -> String {
        let parts = [
            (self.equal, equal[usize::from(self.equal > 1)]),
            (self.lower, "with a lower bound"),
            (self.upper, "with an upper bound"),
            (self.both, "with both bounds"),
            (self.free, "free"),
        ];
        let parts: Vec<String> =
            parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
        if parts.is_empty() { self.all.to_string() } else { format!("{}: {}", self.all, parts.join(", ")) }
    }
}

impl Info {
    /// Prints it.
    pub fn run(self) -> Result<u8, Error> {
        let Opened { problem, entry, sif, nl, .. } = self.problem.open()?;
        let mut out = self.color.screen();
        let origin = self.problem.origin();
        let description = Description { nl, origin, ..describe(problem.meta(), entry, sif.map(|file| file.info)) };
        match self.json {
            true => writeln!(out, "{}", plain::json(&description)?)?,
            false => print(&mut out, &description)?,
        }
        Ok(exit::SOLVED)
    }
}

fn describe(meta: &Meta, entry: Option<&'static Entry>, sif: Option<tangor_sif::Info>) -> Description {
    Description {
        name: meta.name.clone(),
        origin: None,
        objective: meta.has_objective,
        variables: Kinds::of(&meta.x_lower, &meta.x_upper),
        constraints: Kinds::of(&meta.c_lower, &meta.c_upper),
        linear: meta.linear_rows.iter().filter(|linear| **linear).count(),
        jacobian_entries: meta.jacobian_len(),
        title: entry.map(|entry| entry.title),
        source: entry.map(|entry| entry.source),
        best_known: entry.and_then(|entry| entry.known.objective),
        sif,
        nl: None,
    }
}

fn print(out: &mut Screen, description: &Description) -> Result<(), Error> {
    let mut line = |title: &str, text: &str| writeln!(out, "  {DIM}{title:<15}{DIM:#}{}", width::wrapped(text, 17));
    line("name", &format!("{TITLE}{}{TITLE:#}", plain::name(&description.name)))?;
    if let Some(origin) = &description.origin {
        line("origin", &plain::name(origin))?;
    }
    if let (Some(title), Some(source)) = (description.title, description.source) {
        line("about", title)?;
        line("source", source)?;
    }
    let class = description.sif.as_ref().and_then(|sif| sif.classification.as_deref());
    class.map_or(Ok(()), |class| line("classification", class))?;
    line("objective", if description.objective { "yes" } else { "none: only constraints to satisfy" })?;
    line("variables", &description.variables.sentence(["fixed", "fixed"]))?;
    line("constraints", &description.constraints.sentence(["equality", "equalities"]))?;
    if description.linear > 0 {
        line("linear", &format!("{} of the constraints", description.linear))?;
    }
    line("Jacobian", &count_of(description.jacobian_entries, "entry"))?;
    if let Some(best) = description.best_known {
        line("best known", &readable(best))?;
    }
    if let Some(nl) = &description.nl {
        line("formulas", &formulas(nl))?;
        nl.warnings.iter().try_for_each(|warning| line("warning", &plain::name(warning)))?;
    }
    let Some(sif) = &description.sif else { return Ok(()) };
    let elements = format!("{} of {}", count_of(sif.elements, "element"), count_of(sif.element_types, "type"));
    line("functions", &format!("{elements}, {}", count_of(sif.group_types, "group type")))?;
    if sif.integers > 0 {
        line("integers", &format!("{}, treated as real", count_of(sif.integers, "variable")))?;
    }
    for parameter in sif.parameters.iter().filter(|parameter| parameter.marked) {
        line("parameter", &offered(parameter))?;
    }
    Ok(())
}

fn formulas(nl: &tangor_nl::Info) -> String {
    let (defined, form) = (nl.header.defined(), if nl.header.binary { "binary" } else { "text" });
    let counts = [
        count_of(nl.operations, "operation"),
        count_of(defined, "defined variable"),
        count_of(nl.nonlinear_rows, "nonlinear constraint"),
    ];
    format!("{} ({form} file)", counts.join(", "))
}

fn offered(parameter: &Parameter) -> String {
    let value = parameter.value.map_or("none".to_string(), |value| value.to_string());
    let suggested: Vec<String> = parameter.suggested.iter().map(|(value, _)| value.to_string()).collect();
    format!("{} = {value}, suggested {}", plain::name(&parameter.name), suggested.join(", "))
}
