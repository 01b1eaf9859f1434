//! Several starts of one problem, solved at the same time, and the distinct points they lead to.

use std::io::{self, Write};

use rayon::prelude::*;
use serde::Serialize;
use tangor_problem::{Draw, INFINITE, Meta, SampledProblem, Samples, Stream, count_of};
use tangor_solver::{Point, Report, Settings, Silent, Solver, Stop};

use crate::error::Error;
use crate::interrupt::Ending;
use crate::number::{readable, scientific};
use crate::start::started_at;
use crate::style::{DIM, TITLE};
use crate::{headline, point_source, summary, width};

/// Points nearer to each other than this, relative to their size, are the same: tolerances leave solutions uncertain by about as much.
const SAME: f64 = 1e-4;
/// Where a variable has no bounds, random starts lie within about this many times its size from the problem's own.
const REACH: f64 = 2.0;
/// On a screen that is narrower than this, a table of points has no room for their residuals.
const WIDE: usize = 80;
/// What the random numbers are for; samples have other purposes.
const PURPOSE: u64 = 0x5354_4152;

/// A run and where it began.
pub struct Run {
    /// The start.
    pub start: Vec<f64>,
    /// The end.
    pub report: Report,
}

/// A run as it is told to programs.
#[derive(Serialize)]
pub struct Told<'a> {
    start: &'a [f64],
    point: Point,
    stop: Stop,
    objective: Option<f64>,
    feasibility: Option<f64>,
    x: &'a [f64],
    row_multipliers: &'a [f64],
    bound_multipliers: &'a [f64],
    iterations: u64,
}

impl<'a> Told<'a> {
    /// What is told of a run.
    pub fn of(run: &'a Run) -> Self {
        let Report { point, stop, objective, feasibility, x, row_multipliers, bound_multipliers, iterations, .. } = &run.report;
        let finite = |value: f64| Some(value).filter(|value| value.is_finite());
        let (point, stop, iterations) = (*point, *stop, *iterations);
        let (objective, feasibility) = (finite(*objective), finite(*feasibility));
        Told { start: &run.start, point, stop, objective, feasibility, x, row_multipliers, bound_multipliers, iterations }
    }
}

/// The problem's own start or the one given, and random ones: between two bounds anywhere, else around the first.
pub fn points(meta: &Meta, x0: Option<Vec<f64>>, count: u32, seed: u64) -> Vec<Vec<f64>> {
    let first = Meta { x0: x0.unwrap_or_else(|| meta.x0.clone()), ..meta.clone() };
    let first = point_source::start(&first);
    let random = |k: u32| {
        let mut stream = Stream::new(Draw(u64::from(k)), seed ^ PURPOSE);
        let coordinate = |i: usize| {
            let (lower, upper) = (meta.x_lower[i], meta.x_upper[i]);
            let near = first[i] + REACH * first[i].abs().max(1.0) * stream.normal();
            match lower > -INFINITE && upper < INFINITE {
                // Halves first: the width of a wide box must not overflow.
                true => lower + stream.uniform() * (0.5 * upper - 0.5 * lower) * 2.0,
                false => near,
            }
            .max(lower)
            .min(upper)
        };
        (0..meta.n()).map(coordinate).collect()
    };
    (0..count).map(|k| if k == 0 { first.clone() } else { random(k) }).collect()
}

/// Solves from all of them, as many at a time as there are processors. The order of the results is that of the starts.
pub fn solve<S, O>(starts: &[Vec<f64>], settings: &Settings, ending: &Ending, open: O) -> Result<Vec<Run>, Error>
where
    S: SampledProblem + Send + 'static,
    O: Fn() -> Result<S, Error> + Sync,
{
    let run = |start: &Vec<f64>| {
        let problem = started_at(Box::new(open()?), start.clone());
        let mut solver = Solver::sampled_until(problem, settings.clone(), Samples::default(), ending.by())?;
        Ok(Run { start: start.clone(), report: solver.run(&mut Silent) })
    };
    starts.par_iter().map(run).collect()
}

/// How good a run is: what was found first, then the objective, or the violation where the constraints do not hold.
fn rank(meta: &Meta, report: &Report) -> (u8, f64) {
    let objective = meta.sense() * report.objective;
    match report.point {
        Point::EpsKkt => (0, objective),
        Point::Unbounded => (1, objective),
        Point::Feasible => (2, objective),
        Point::EpsInfeasibleStationary => (3, report.feasibility),
        Point::Nothing => (4, report.feasibility),
    }
}

/// In order, the best first.
fn ranked<'a>(meta: &Meta, runs: &'a [Run]) -> Vec<&'a Run> {
    let mut ranked: Vec<&Run> = runs.iter().collect();
    ranked.sort_by(|a, b| {
        let ((a, of_a), (b, of_b)) = (rank(meta, &a.report), rank(meta, &b.report));
        a.cmp(&b).then(of_a.total_cmp(&of_b))
    });
    ranked
}

/// The best run; there is at least one.
pub fn best<'a>(meta: &Meta, runs: &'a [Run]) -> &'a Run {
    ranked(meta, runs)[0]
}

/// Whether two runs found the same point.
fn agree(a: &Report, b: &Report) -> bool {
    let near = |(a, b): (&f64, &f64)| (a - b).abs() <= SAME * a.abs().max(b.abs()).max(1.0);
    a.point == b.point && a.x.iter().zip(&b.x).all(near)
}

/// The distinct KKT points with the number of starts that led to each, the best first; what other runs came to is counted.
pub fn print(out: &mut dyn Write, meta: &Meta, runs: &[Run]) -> io::Result<()> {
    let mut distinct: Vec<(&Run, usize)> = Vec::new();
    let (solved, others): (Vec<&Run>, Vec<&Run>) =
        ranked(meta, runs).into_iter().partition(|run| run.report.point == Point::EpsKkt);
    for run in &solved {
        match distinct.iter_mut().find(|(known, _)| agree(&known.report, &run.report)) {
            Some((_, times)) => *times += 1,
            None => distinct.push((run, 1)),
        }
    }
    let title = format!("{} from {}", count_of(distinct.len(), "KKT point"), count_of(runs.len(), "start"));
    writeln!(out, "  {TITLE}{title}{TITLE:#}")?;
    let screen = width::of_screen().unwrap_or(80);
    // All these points are within the tolerances: on a narrow screen the point itself tells more than its residuals.
    let with_residuals = screen >= WIDE;
    let cells = |stationary: &str, feasible: &str| match with_residuals {
        true => format!(" {stationary:>10} {feasible:>9}"),
        false => String::new(),
    };
    if !distinct.is_empty() {
        writeln!(out, "  {DIM}starts  {:<18}{}  x{DIM:#}", "objective", cells("stationary", "feasible"))?;
    }
    let room = screen.saturating_sub(30 + cells("", "").len());
    for (run, times) in &distinct {
        let report = &run.report;
        let residuals = cells(&scientific(report.stationarity, 1), &scientific(report.feasibility, 1));
        let objective = in_room(report.objective, 18);
        writeln!(out, "  {times:>6}  {objective:<18}{residuals}  {}", beginning(&report.x, room))?;
    }
    let mut kinds: Vec<(String, usize)> = Vec::new();
    for run in others {
        let told = headline::of(&run.report);
        match kinds.iter_mut().find(|(kind, _)| *kind == told) {
            Some((_, times)) => *times += 1,
            None => kinds.push((told, 1)),
        }
    }
    for (kind, times) in kinds {
        let told = width::wrapped(&format!("ended elsewhere: {kind}"), 10);
        writeln!(out, "  {times:>6}  {DIM}{told}{DIM:#}")?;
    }
    writeln!(out, "\n  {TITLE}the best one{TITLE:#}")
}

/// All digits where there is room for them, otherwise ten: what is cut off must not be an exponent.
fn in_room(value: f64, room: usize) -> String {
    let all = summary::exact(value);
    if all.len() <= room { all } else { readable(value) }
}

/// As many coordinates as there is room for.
fn beginning(x: &[f64], room: usize) -> String {
    let mut text = String::new();
    for (i, value) in x.iter().enumerate() {
        let short: f64 = format!("{value:.3e}").parse().unwrap_or(*value);
        let next = format!("{}{}", if i == 0 { "" } else { " " }, readable(short));
        let rest = if i + 1 == x.len() { "" } else { " ..." };
        if text.chars().count() + next.chars().count() + rest.len() > room && i > 0 {
            return text + " ...";
        }
        text += &next;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_lie_within_their_bounds_and_depend_on_the_seed_alone() {
        let meta = Meta::new("box", vec![0.5, 7.0, 3.0]).bounds(&[0.0, -1e20, 2.0], &[1.0, 1e20, 1e20]);
        let starts = points(&meta, None, 50, 1);
        assert_eq!(starts[0], meta.x0);
        assert!(starts.iter().all(|x| (0.0..=1.0).contains(&x[0]) && x[1].abs() < 200.0 && x[2] >= 2.0));
        assert!(starts.iter().any(|x| x[0] < 0.2) && starts.iter().any(|x| x[0] > 0.8));
        assert_eq!(starts, points(&meta, None, 50, 1));
        assert_ne!(starts, points(&meta, None, 50, 2));
        assert_eq!(points(&meta, Some(vec![9.0; 3]), 1, 1), [[1.0, 9.0, 9.0]]);
    }

    #[test]
    fn only_as_many_coordinates_are_shown_as_there_is_room_for() {
        assert_eq!(beginning(&[1.0, 2.5], 20), "1 2.5");
        assert_eq!(beginning(&[1.23456, 2.5, 3.0], 12), "1.235 ...");
        assert_eq!(beginning(&[1.23456, 2.5, 3.0], 13), "1.235 2.5 3");
    }

    #[test]
    fn no_exponent_is_cut_off() {
        assert_eq!(in_room(17.01401728914939, 18), "17.01401728914939");
        assert_eq!(in_room(-1.2345678901234567e-15, 18), "-1.234568e-15");
    }
}
