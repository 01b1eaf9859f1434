//! What a person wants to know of a fitted model.

use std::io::{self, Write};

use tangor_learn::{Evaluation, Model};
use tangor_problem::count_of;
use tangor_solver::{Point, Report, Stop};

use super::quality::{print_groups, print_quality, shortened};
use super::report::Constraints;
use crate::number::{scientific, short};
use crate::style::{DIM, GOOD, TITLE, UNUSUAL};
use crate::summary::{because, rounded};
use crate::{advice, duration, headline, plain, width};

/// Weights that are shown: the largest.
const WEIGHTS: usize = 12;

/// Where the output takes lines of any length, tables are this wide at most.
const ANY: usize = 120;
/// How wide weights, and what they mean, are beside their names.
const BESIDE: usize = 37;
/// A name of a feature that is longer is cut.
const NAME: usize = 40;

/// A model and how it came about.
pub struct Fitted<'a> {
    /// The model.
    pub model: &'a Model,
    /// The run.
    pub report: &'a Report,
    /// The point judged exactly, on all rows.
    pub judged: &'a Report,
    /// How the model does on other rows.
    pub test: Option<&'a Evaluation>,
}

/// What to try when nothing was found: of the advice on any problem what a fit can follow, which has no other starts and no wrong derivatives.
fn advice(judged: &Report) -> String {
    let can_follow = |sentence: &String| !sentence.contains("POINT.json") && !sentence.contains("tangor check");
    let mut said: Vec<String> = advice::of(judged).into_iter().filter(can_follow).collect();
    if matches!(judged.point, Point::EpsInfeasibleStationary | Point::Nothing) {
        said.push("The constraints may contradict each other: a wider bound, or one of them less, may do.".to_string());
    }
    said.join(" ")
}

impl Fitted<'_> {
    /// Tells it.
    pub fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        let judged = self.judged;
        let tolerance = &self.report.settings.tolerance;
        let point = match judged.point {
            Point::Feasible | Point::Nothing => format!("no solution: {}", headline::of(judged)),
            point => point.to_string(),
        };
        let found = format!("on all rows the weights are {point}.");
        writeln!(out, "{}", width::wrapped(&format!("The run ended because {};", because(self.report)), 0))?;
        writeln!(out, "{}", width::wrapped(&found, 0))?;
        // What samples make of it is told at the end.
        let advice = if self.report.samples.total() == 0 { advice(judged) } else { String::new() };
        if !advice.is_empty() {
            writeln!(out, "{}", width::wrapped(&advice, 0))?;
        }
        writeln!(out)?;
        writeln!(out, "  {:<18} {:.6}", "objective", judged.objective)?;
        let residuals = [
            ("stationarity", judged.stationarity, tolerance.stationarity),
            ("violation", judged.feasibility, tolerance.feasibility),
            ("complementarity", judged.complementarity, tolerance.complementarity),
        ];
        for (name, value, tolerance) in residuals {
            let (word, style) = if value <= tolerance { ("within", GOOD) } else { ("above", UNUSUAL) };
            writeln!(out, "  {name:<18} {:<12}{style}{word} {}{style:#}", scientific(value, 2), short(tolerance))?;
        }
        writeln!(out)?;
        let model = self.model;
        let constraints = Constraints {
            training: &model.training,
            test: self.test,
            multipliers: &model.multipliers,
            outcome: model.goal.outcome,
            tolerance: tolerance.feasibility,
        };
        constraints.print(out)?;
        print_quality(out, &model.training, self.test)?;
        let (shown, what) = self.test.map_or((&model.training, "training"), |test| (test, "test"));
        print_groups(out, shown, what, width::of_screen().unwrap_or(ANY))?;
        self.weights(out)?;
        self.effort(out)
    }

    /// The largest weights: of a feature, and of one more unit of the value itself.
    fn weights(&self, out: &mut dyn Write) -> io::Result<()> {
        let (names, units, weights) = (self.model.encoding.names(), self.model.encoding.per_unit(), &self.model.weights);
        let (features, intercept) = (weights.len() - 1, weights.len() - 1);
        let mut largest: Vec<usize> = (0..features).collect();
        largest.sort_by(|&a, &b| weights[b].abs().total_cmp(&weights[a].abs()));
        largest.truncate(WEIGHTS);
        largest.push(intercept);
        let room = width::of_screen().unwrap_or(ANY).saturating_sub(BESIDE).clamp(12, NAME);
        let names: Vec<String> = largest.iter().map(|&k| shortened(&plain::name(&names[k]), room)).collect();
        let first = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(12);
        let title = match features > WEIGHTS {
            true => format!("the {WEIGHTS} largest weights of {features}"),
            false => "weights".to_string(),
        };
        writeln!(out, "\n  {TITLE}{title}{TITLE:#}")?;
        writeln!(out, "  {DIM}{:<first$} {:>9} {:>12} {:>11}{DIM:#}", "feature", "weight", "per unit", "odds ratio")?;
        for (name, &k) in names.iter().zip(&largest) {
            let per_unit = weights[k] * units[k];
            let unit = if k == intercept { String::new() } else { rounded(per_unit) };
            let ratio = if k == intercept { String::new() } else { format!("{:.4}", weights[k].exp()) };
            writeln!(out, "{}", format!("  {name:<first$} {:>9.4} {unit:>12} {ratio:>11}", weights[k]).trim_end())?;
        }
        match features > WEIGHTS {
            true => writeln!(out, "  {DIM}--weights FILE.csv writes all of them{DIM:#}"),
            false => Ok(()),
        }
    }

    fn effort(&self, out: &mut dyn Write) -> io::Result<()> {
        let (report, samples) = (self.report, &self.report.samples);
        let used = match samples.total() {
            0 => format!("all {} in each", count_of(self.model.training.rows, "row")),
            _ => {
                let rows = [
                    count_of(samples.gradient, "row gradient"),
                    count_of(samples.constraints, "row constraint value"),
                    count_of(samples.jacobian, "row Jacobian"),
                ];
                format!("{}; seed {}", rows.join(", "), report.settings.sampling.seed)
            }
        };
        let iterations = count_of(report.iterations, "iteration");
        let effort = format!("{iterations} in {}: {used}", duration::readable(report.seconds));
        writeln!(out, "\n  {}", width::wrapped(&effort, 2))?;
        match samples.total() > 0 && self.report.stop == Stop::NoiseFloor && self.judged.point != Point::EpsKkt {
            true => {
                let advice = "to come nearer: a larger --batch, or all rows in every iteration with --exact";
                writeln!(out, "  {}", width::wrapped(advice, 2))
            }
            false => Ok(()),
        }
    }
}

/// All weights as CSV.
pub fn weights_csv(model: &Model) -> Result<Vec<u8>, csv::Error> {
    let mut out = csv::Writer::from_writer(Vec::new());
    out.write_record(["feature", "weight", "per_unit"])?;
    let (names, units) = (model.encoding.names(), model.encoding.per_unit());
    for ((name, weight), unit) in names.iter().zip(&model.weights).zip(units) {
        let name = plain::name(name);
        let name = tangor_bench::no_formula(&name);
        out.write_record([&*name, &weight.to_string(), &(weight * unit).to_string()])?;
    }
    out.into_inner().map_err(|error| error.into_error().into())
}
