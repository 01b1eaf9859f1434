use std::io::Write;

use clap::Args;
use serde::Serialize;
use tangor_collection::{Entry, Kind, What, entries};
use tangor_problem::{Problem, count_of};

use crate::error::Error;
use crate::exit;
use crate::number::readable;
use crate::screen::Color;
use crate::style::{DIM, TITLE};
use crate::{plain, width};

/// Less of what a problem is about tells nothing.
const LEAST_ROOM: usize = 20;

const EXAMPLES: &str = "\
Examples:
  tangor list                 all of them
  tangor list equalities      those with this word in their name, kind or title
  tangor list --json          for a program";

/// Show the embedded problems with their sizes and kinds
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct List {
    /// Show only those with this word in their name, kind or title
    word: Option<String>,

    /// Print JSON
    #[arg(long)]
    json: bool,

    /// When to use colours
    #[arg(long, value_enum, default_value_t)]
    color: Color,
}

/// A line of the list.
#[derive(Serialize)]
struct Line {
    name: &'static str,
    variables: usize,
    constraints: usize,
    kind: Kind,
    objective: Option<f64>,
    known: What,
    title: &'static str,
    source: &'static str,
    note: &'static str,
}

impl List {
    /// Prints the list.
    pub fn run(self) -> Result<u8, Error> {
        let lines: Vec<Line> = entries().iter().filter(|entry| self.wants(entry)).map(line).collect();
        let mut out = self.color.screen();
        if self.json {
            writeln!(out, "{}", plain::json(&lines)?)?;
            return Ok(exit::SOLVED);
        }
        let titles = ("name", "vars", "rows", "kind", "best known");
        let (name, variables, constraints, kind, objective) = titles;
        // What a problem is about is told as far as there is room; where that is little, the line ends before.
        let room = width::of_screen().map_or(usize::MAX, |width| width.saturating_sub(58));
        let has_room = room >= LEAST_ROOM;
        let what = if has_room { "  what" } else { "" };
        writeln!(out, "{TITLE}{name:<12} {variables:>6} {constraints:>6}  {kind:<13} {objective:>14}{what}{TITLE:#}")?;
        for line in &lines {
            let Line { name, variables, constraints, kind, title, .. } = line;
            let without = if line.known == What::Infeasible { "infeasible" } else { "-" };
            let objective = line.objective.map_or(without.to_string(), readable);
            write!(out, "{name:<12} {variables:>6} {constraints:>6}  {kind:<13} {objective:>14}")?;
            match has_room {
                true => writeln!(out, "  {DIM}{}{DIM:#}", shortened(title, room))?,
                false => writeln!(out)?,
            }
        }
        let more = "`tangor info NAME` tells more of one";
        writeln!(out, "{DIM}{}; {more}{DIM:#}", count_of(lines.len(), "problem"))?;
        Ok(exit::SOLVED)
    }

    fn wants(&self, entry: &Entry) -> bool {
        let Some(word) = &self.word else { return true };
        let word = word.to_lowercase();
        [entry.name, entry.title, &entry.kind.to_string()].iter().any(|text| text.to_lowercase().contains(&word))
    }
}

/// The beginning of a text, as much of it as there is room for.
fn shortened(text: &str, room: usize) -> String {
    match text.chars().count() <= room {
        true => text.to_string(),
        false => text.chars().take(room - 3).collect::<String>().trim_end().to_string() + "...",
    }
}

fn line(entry: &Entry) -> Line {
    let problem = (entry.build)();
    let meta = problem.meta();
    Line {
        name: entry.name,
        variables: meta.n(),
        constraints: meta.m(),
        kind: entry.kind,
        objective: entry.known.objective,
        known: entry.known.what,
        title: entry.title,
        source: entry.source,
        note: entry.known.note,
    }
}
