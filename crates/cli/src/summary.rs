//! What a person wants to know when a run has ended.

use std::io::{self, Write};

use anstyle::Style;
use tangor_collection::{Known, What};
use tangor_problem::{Bytes, Meta, count_of};
use tangor_solver::{Point, Presolved, Report, Stop};

use crate::activity::{self, Active, BoundKind};
use crate::number::{readable, scientific, short};
use crate::solution::{self, Shown};
use crate::style::{BAD, DIM, GOOD, TITLE, UNUSUAL};
use crate::{advice, duration, headline, style, verdict, width};

/// The end of a run, ready to be told.
pub struct Summary<'a> {
    /// The problem's data.
    pub meta: &'a Meta,
    /// The result.
    pub report: &'a Report,
    /// What is known of the problem.
    pub known: Option<Known>,
    /// How many names a list may show.
    pub longest_list: usize,
    /// What `--show` asks for.
    pub shown: &'a Shown,
    /// How arguments that an advice names are spelt here.
    pub spelt: fn(String) -> String,
}

impl Summary<'_> {
    /// Tells it.
    pub fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        self.verdict(out)?;
        self.objective(out)?;
        if !self.report.was_tried() {
            return self.effort(out);
        }
        self.residuals(out)?;
        solution::print(out, self.meta, self.report, self.shown, self.longest_list)?;
        self.violated(out)?;
        self.active(out, "active constraints", activity::rows(self.meta, self.report))?;
        self.active(out, "active bounds", activity::variables(self.meta, self.report))?;
        self.presolved(out)?;
        self.unusual(out)?;
        self.effort(out)
    }

    fn verdict(&self, out: &mut dyn Write) -> io::Result<()> {
        let point = self.report.point;
        let (word, style) = match point {
            Point::EpsKkt => ("Solved", GOOD.bold()),
            Point::EpsInfeasibleStationary => ("Infeasible here", BAD),
            Point::Unbounded => ("Unbounded", BAD),
            Point::Feasible | Point::Nothing => ("Not solved", BAD),
        };
        let meaning = headline::of(self.report);
        let meaning = width::wrapped_after(word, &format!(": {meaning}."), 2);
        writeln!(out, "\n{style}{word}{style:#}{meaning}")?;
        writeln!(out, "  {}", width::wrapped(&format!("The run ended because {}.", because(self.report)), 2))?;
        if let Some(failure) = &self.report.failure {
            let place = failure.place.as_ref().map(|place| format!(" at {place}")).unwrap_or_default();
            // The message may begin with the same words.
            let known = format!("the {} failed: ", failure.function);
            let message = failure.message.strip_prefix(&known).unwrap_or(&failure.message);
            writeln!(out, "  {BAD}The {} failed{place}{BAD:#}: {message}", failure.function)?;
        }
        let advice = (self.spelt)(advice::of(self.report).join(" "));
        if !advice.is_empty() {
            writeln!(out, "  {}", width::wrapped(&advice, 2))?;
        }
        writeln!(out)
    }

    fn objective(&self, out: &mut dyn Write) -> io::Result<()> {
        let label = if self.report.verdict.is_some() { verdict::LABEL } else { LABEL };
        if !self.meta.has_objective {
            return writeln!(out, "  {:<label$} none: only constraints to satisfy", "objective");
        }
        let (objective, known) = (self.report.objective, self.known.and_then(|known| Some((known.objective?, known.what))));
        let judged = self.report.verdict.as_ref().and_then(|verdict| verdict.objective);
        if let Some(judged) = judged.filter(|judged| judged.error > 0.0) {
            let remark = known.map(|(best, _)| format!("best known {}", readable(best)));
            return verdict::objective(out, judged, &remark.unwrap_or_default());
        }
        if objective.is_nan() {
            return writeln!(out, "  {:<label$} unknown", "objective");
        }
        // In a noisy run, a value without an error bar is one without noise.
        let certain = if judged.is_some() { "without noise" } else { "" };
        let Some((best, what)) = known else {
            return writeln!(out, "{}", format!("  {:<label$} {:<21} {certain}", "objective", exact(objective)).trim_end());
        };
        let certain = if certain.is_empty() { String::new() } else { format!("{certain}; ") };
        let difference = scientific(objective - best, 1);
        let place = if what == What::SolutionWithoutMultipliers { ", where no multipliers exist" } else { "" };
        let remark = format!("{certain}best known {}{place}, difference {difference}", readable(best));
        if width::of_screen().is_none_or(|width| width >= label + 25 + remark.len()) {
            return writeln!(out, "  {:<label$} {:<21} {DIM}{remark}{DIM:#}", "objective", exact(objective));
        }
        writeln!(out, "  {:<label$} {}", "objective", exact(objective))?;
        writeln!(out, "{:indent$}{DIM}{}{DIM:#}", "", width::wrapped(&remark, label + 3), indent = label + 3)
    }

    fn residuals(&self, out: &mut dyn Write) -> io::Result<()> {
        let (report, tolerance) = (self.report, &self.report.settings.tolerance);
        if let Some(judged) = &report.verdict {
            return verdict::print_with_names(out, judged, tolerance, |row| self.meta.row_name(row));
        }
        let mut residuals = vec![
            ("stationarity", report.stationarity, tolerance.stationarity),
            ("feasibility", report.feasibility, tolerance.feasibility),
            ("complementarity", report.complementarity, tolerance.complementarity),
        ];
        if report.point == Point::EpsInfeasibleStationary {
            let relative = tolerance.infeasible * report.feasibility.min(1.0);
            residuals.push((SLOPE, report.infeasible_stationarity, relative));
        }
        if report.samples.total() > 0 && !report.feasibility.is_nan() {
            writeln!(
                out,
                "  {DIM}{}{DIM:#}",
                width::wrapped("not judged on fresh samples; the run's own estimates, which flatter it:", 2)
            )?;
        }
        for (name, value, tolerance) in residuals {
            if value.is_nan() {
                writeln!(out, "  {name:<18} unknown")?;
                continue;
            }
            if name == SLOPE && value > tolerance {
                // Otherwise the point would not be called stationary.
                writeln!(out, "  {name:<18} {:<22}no more than rounding makes", scientific(value, 2))?;
                continue;
            }
            let (verdict, style) = if value <= tolerance { ("within", GOOD) } else { ("above", UNUSUAL) };
            let value = scientific(value, 2);
            writeln!(out, "  {name:<18} {value:<22}{style}{verdict} {}{style:#}", short(tolerance))?;
        }
        Ok(())
    }

    fn violated(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.report.worst_rows.is_empty() {
            return Ok(());
        }
        self.list_title(out, "violated constraints, worst first", BAD)?;
        let width = name_width(self.report.worst_rows.iter().map(|row| row.name.as_str()));
        for row in self.report.worst_rows.iter().take(self.longest_list) {
            let (value, bound, by) = (readable(row.value), readable(row.bound), scientific(row.violation, 2));
            let relation = self.relation(row.index, row.value);
            let line = format!("{:<width$}  is {value}, should be {relation} {bound}: off by {by}", row.name);
            writeln!(out, "    {}", width::wrapped(&line, 6))?;
        }
        Ok(())
    }

    fn relation(&self, row: usize, value: f64) -> &'static str {
        match (self.meta.c_lower.get(row), self.meta.c_upper.get(row)) {
            (Some(lower), Some(upper)) if lower == upper => "=",
            (Some(lower), _) if value < *lower => ">=",
            _ => "<=",
        }
    }

    fn active(&self, out: &mut dyn Write, title: &str, active: Vec<Active>) -> io::Result<()> {
        if active.is_empty() {
            return Ok(());
        }
        let remark = match active.iter().filter(|active| active.kind == BoundKind::Equality).count() {
            0 => String::new(),
            1 if active.len() == 1 => ", an equality".to_string(),
            1 => ", one of them an equality".to_string(),
            equalities if equalities == active.len() => ", all of them equalities".to_string(),
            equalities => format!(", {equalities} of them equalities"),
        };
        self.list_title(out, &format!("{title}: {}{remark}", active.len()), TITLE)?;
        let shown = &active[..active.len().min(self.longest_list)];
        let width = name_width(shown.iter().map(|active| active.name.as_str()));
        for active in shown {
            let relation = match active.kind {
                BoundKind::Equality => "=",
                BoundKind::Lower => "at lower bound",
                BoundKind::Upper => "at upper bound",
            };
            let multiplier = readable(active.multiplier);
            let line = format!("{:<width$}  {relation} {}, multiplier {multiplier}", active.name, readable(active.bound));
            writeln!(out, "    {}", width::wrapped(&line, 6))?;
        }
        match active.len() - shown.len() {
            0 => {}
            more => writeln!(out, "    {DIM}and {more} more; --json shows all{DIM:#}")?,
        }
        self.prices(out, shown)
    }

    /// What it is worth to move a bound. With `grad f + J^T y = mu`, one more unit of a row's bound changes the minimum by `-y`, one of
    /// a variable's bound by `mu`.
    fn prices(&self, out: &mut dyn Write, active: &[Active]) -> io::Result<()> {
        if self.report.point != Point::EpsKkt || !self.meta.has_objective {
            return Ok(());
        }
        let priced = active.iter().filter(|active| active.multiplier.abs() > 1e-9).take(PRICES);
        let words: Vec<String> = priced
            .enumerate()
            .map(|(k, active)| {
                let verb = if k == 0 { " changes the objective" } else { "" };
                format!("of {}{verb} by {}", active.name, rounded(active.price()))
            })
            .collect();
        match words.is_empty() {
            true => Ok(()),
            false => {
                let words = format!("one more unit {}", words.join(", "));
                writeln!(out, "    {DIM}{}{DIM:#}", width::wrapped(&words, 4))
            }
        }
    }

    fn list_title(&self, out: &mut dyn Write, title: &str, style: Style) -> io::Result<()> {
        writeln!(out, "\n  {style}{title}{style:#}")
    }

    /// What was taken out of the problem before the run.
    fn presolved(&self, out: &mut dyn Write) -> io::Result<()> {
        let Presolved { rows, bounds, contradictions } = &self.report.presolved;
        if *rows > 0 {
            let rows = count_of(*rows, "linear constraint");
            let text = format!("presolve: {rows} left out, {bounds} as bounds");
            writeln!(out, "\n  {}", width::wrapped(&text, 2))?;
        }
        for row in contradictions {
            let text = format!("no point satisfies {row} together with the bounds and other linear constraints");
            writeln!(out, "\n  {}", width::wrapped(&text, 2))?;
        }
        Ok(())
    }

    fn unusual(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.report.unusual.is_empty() {
            return Ok(());
        }
        self.list_title(out, "unusual", style::UNUSUAL)?;
        for (event, count) in &self.report.unusual {
            writeln!(out, "    {event}: in {}", count_of(*count, "iteration"))?;
        }
        Ok(())
    }

    fn effort(&self, out: &mut dyn Write) -> io::Result<()> {
        let (report, counts) = (self.report, &self.report.evaluations);
        let iterations = count_of(report.iterations, "iteration");
        let evaluations = [
            count_of(counts.objective, "objective"),
            count_of(counts.gradient, "gradient"),
            count_of(counts.constraints, "constraint value"),
            count_of(counts.jacobian, "Jacobian"),
        ];
        let memory = report.memory.map_or(String::new(), |held| format!(" and {}", Bytes(held.into())));
        let effort = format!("{iterations} in {}{memory}: {}", duration::readable(report.seconds), evaluations.join(", "));
        writeln!(out, "\n  {}", width::wrapped(&effort, 2))?;
        let samples = &report.samples;
        if samples.total() == 0 {
            return Ok(());
        }
        let (all, seed) = (count_of(samples.total(), "sample"), report.settings.sampling.seed);
        let estimated = report.verdict.and_then(|verdict| verdict.objective).is_some_and(|objective| objective.error > 0.0);
        let among = if estimated { " (and of the objective among them)" } else { "" };
        let each = format!("{} of gradients{among}, {} of constraint values", samples.gradient, samples.constraints);
        let text = format!("{all}: {each}, {} of Jacobians; seed {seed}", samples.jacobian);
        writeln!(out, "  {}", width::wrapped(&text, 2))
    }
}

/// The name of the projected gradient of the violation.
const SLOPE: &str = "slope of violation";

/// How wide the names of residuals are.
const LABEL: usize = 18;

/// Of how many bounds the worth is told.
const PRICES: usize = 3;

/// Four digits are enough for a derivative.
pub fn rounded(value: f64) -> String {
    let digits: f64 = format!("{value:.3e}").parse().unwrap_or(value);
    let told = readable(digits);
    // What is written with an exponent needs no more digits either.
    if told.contains('e') { scientific(digits, 3) } else { told }
}

/// All digits, without long rows of zeros.
pub fn exact(value: f64) -> String {
    let ordinary = value == 0.0 || (1e-4..1e12).contains(&value.abs());
    if ordinary { value.to_string() } else { format!("{value:e}") }
}

fn name_width<'a>(names: impl Iterator<Item = &'a str>) -> usize {
    names.map(|name| name.chars().count()).max().unwrap_or(0)
}

/// The reason as the end of a sentence.
pub fn because(report: &Report) -> String {
    match report.stop {
        Stop::Tolerance if report.point == Point::EpsInfeasibleStationary => {
            "the violation is stationary within its tolerance".to_string()
        }
        Stop::User => "it was interrupted by the user".to_string(),
        Stop::NumericalTrouble => "of numerical trouble in the linear algebra".to_string(),
        stop => stop.to_string(),
    }
}
