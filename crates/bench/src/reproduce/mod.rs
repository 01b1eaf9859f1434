//! The experiments of the paper's Section 5, run here, and its Table 1, measured.

mod mapping;
mod tables;
mod variance;

use std::path::PathBuf;

use tangor_open::Finder;
use tangor_problem::count_of;
use tangor_solver::{Point, Settings, Stop, write_whole_file};

use crate::Error;
use crate::campaign::{Campaign, Plan};
use crate::complexity::{self, Study};
use crate::contender::Contender;
use crate::journal::Journal;
use crate::record::{Ending, Record};
use crate::report::{Report, Section};
use crate::sets::Member;
use tangor_figure::{BoxFigure, BoxPanel, LabelledBox};

/// Which experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Experiment {
    /// Figure 1: mappings `A(x)` on equality-constrained problems.
    Mapping,
    /// Figure 2: mini-batch against recursive momentum at four levels of noise.
    Variance,
    /// Figure 3: residuals on both sets.
    Inequality,
    /// Both tables, each row beside the paper's.
    Tables,
    /// Table 1: samples needed against `eps`.
    Complexity,
}

impl Experiment {
    /// The name of its rows; two experiments show the same ones.
    fn runs(self) -> &'static str {
        match self {
            Experiment::Mapping => "mapping",
            Experiment::Variance => "variance",
            Experiment::Inequality | Experiment::Tables => "tables",
            Experiment::Complexity => "complexity",
        }
    }
}

/// Where and how the experiments are run.
#[derive(Debug)]
pub struct Laboratory<'a> {
    /// How runs are started.
    pub campaign: Campaign<'a>,
    /// Where data, pictures and the report go.
    pub folder: PathBuf,
    /// Where SIF files are.
    pub finder: Finder,
    /// Most iterations of a run.
    pub max_iterations: u64,
    /// Most seconds of a run.
    pub time_limit: f64,
    /// Only these problems; all if there are none.
    pub only: Vec<String>,
    /// Who solves the problems of the tables besides Tangor.
    pub peers: Vec<Contender>,
    /// Seeds of noisy runs.
    pub seeds: u64,
    /// Forget the rows of an earlier call.
    pub fresh: bool,
}

/// What the experiments left behind.
#[derive(Debug)]
pub struct Reproduction {
    /// The report.
    pub report: Report,
    /// Where it was written.
    pub path: PathBuf,
    /// Runs that are missing because of an interrupt.
    pub missing: usize,
}

/// Residuals that Figure 1 to 3 show.
#[derive(Clone, Copy, Debug)]
struct Quantity {
    title: &'static str,
    value: fn(&Record) -> Option<f64>,
}

const STATIONARITY: Quantity = Quantity { title: "stationarity error", value: |record| record.stationarity };
const FEASIBILITY: Quantity = Quantity { title: "feasibility error", value: |record| record.feasibility };
const COMPLEMENTARITY: Quantity = Quantity { title: "complementary slackness error", value: |record| record.complementarity };

/// Whose rules, and the settings that they are.
type Rules = (&'static str, fn() -> Settings);

/// What every figure shows beside each other: the defaults, and the paper's rules as they are written. The word tells whose rows they are.
const RULES: [Rules; 2] = [("", Settings::default), (" (preset paper)", Settings::paper)];

impl Laboratory<'_> {
    /// Runs the experiments and writes data, pictures and `report.html` into the folder. What an interrupted call has done is not
    /// done again.
    pub fn reproduce(&self, experiments: &[Experiment]) -> Result<Reproduction, Error> {
        std::fs::create_dir_all(&self.folder).map_err(|cause| Error::unwritable(&self.folder, cause))?;
        let mut report = Report::new("Tangor: the paper's experiments");
        report.origin = vec![
            "The paper: Shi and Wang, Adaptive directional decomposition methods for nonconvex constrained \
             optimization. Its experiments, run again with Tangor."
                .into(),
        ];
        report.origin.push(format!(
            "tangor {}, default settings unless stated, and the paper's rules as they are written (the preset paper) beside them; at most {} for each run; {} at the same time.",
            env!("CARGO_PKG_VERSION"),
            count_of(self.max_iterations, "iteration"),
            count_of(self.campaign.jobs, "run")
        ));
        report.origin.push(
            "All residuals are recomputed from the returned point and multipliers, unscaled, in the 2-norm: what a solver says of itself \
             does not count. Green: at most 1e-6. Red: above 1e-3. Click a blue name to see the course of its run, and a heading to sort."
                .into(),
        );
        if !self.only.is_empty() {
            report.origin.push(format!("Only a part of the problems was run: {}.", self.only.join(", ")));
        }
        if self.fresh {
            // The study of complexity keeps no journal: it always starts over.
            for experiment in experiments.iter().filter(|experiment| **experiment != Experiment::Complexity) {
                self.journal(*experiment)?.clear()?;
            }
        }
        let mut missing = 0;
        for experiment in experiments {
            let (sections, records, left) = match experiment {
                Experiment::Mapping => self.mapping()?,
                Experiment::Variance => self.variance()?,
                Experiment::Inequality => self.inequality()?,
                Experiment::Tables => self.tables()?,
                Experiment::Complexity => self.complexity()?,
            };
            missing += left;
            report.keep_traces(&records);
            for section in sections {
                for (name, svg) in &section.figures {
                    self.write(&format!("{name}.svg"), svg)?;
                }
                report.sections.push(section);
            }
        }
        let path = self.write("report.html", &report.html())?;
        Ok(Reproduction { report, path, missing })
    }

    fn write(&self, name: &str, text: &str) -> Result<PathBuf, Error> {
        let path = self.folder.join(name);
        write_whole_file(&path, text.as_bytes()).map_err(|cause| Error::unwritable(&path, cause))?;
        Ok(path)
    }

    /// Runs every member with every contender; rows go to the experiment's JSON lines and CSV.
    fn run(&self, experiment: Experiment, members: Vec<Member>, contenders: Vec<Contender>) -> Result<Runs, Error> {
        let plan = self.plan(experiment, members, contenders);
        let table = self.folder.join(format!("{}.csv", experiment.runs()));
        let results = self.campaign.run(&plan, &mut self.journal(experiment)?, Some(&table))?;
        Ok(Runs { records: results.records, missing: results.missing })
    }

    /// The rows that an earlier call with the same limits left of a contender who does not run now.
    fn earlier(&self, experiment: Experiment, members: &[Member], contender: Contender) -> Result<Vec<Record>, Error> {
        let tasks = self.plan(experiment, members.to_vec(), vec![contender]).tasks();
        let Some(setup) = tasks.first().map(|task| task.setup()) else { return Ok(Vec::new()) };
        let rows = self.journal(experiment)?.rows_of(&tasks);
        Ok(rows.into_iter().filter(|row| row.setup == setup).collect())
    }

    fn journal(&self, experiment: Experiment) -> Result<Journal, Error> {
        Journal::open(&self.folder.join(format!("{}.jsonl", experiment.runs())))
    }

    fn plan(&self, experiment: Experiment, members: Vec<Member>, contenders: Vec<Contender>) -> Plan {
        let (max_iterations, time_limit, is_noisy) = (self.max_iterations, self.time_limit, experiment == Experiment::Variance);
        let (seeds, max_entries) = if is_noisy { (self.seeds, Some(variance::MAX_ENTRIES)) } else { (1, None) };
        Plan { members, contenders, seeds, perturbation: 0.0, max_iterations, max_entries, time_limit, trace: !is_noisy }
    }

    fn complexity(&self) -> Result<Outcome, Error> {
        let Campaign { jobs, interrupt, progress, .. } = self.campaign;
        let (seeds, values, tau) = (self.seeds.max(complexity::SEEDS), complexity::VALUES, complexity::TAU);
        let outcome = Study { seeds, values, tau, jobs, interrupt, progress }.run()?;
        for (name, text) in outcome.files()? {
            self.write(&name, &text)?;
        }
        Ok((vec![outcome.section()], Vec::new(), outcome.missing))
    }

    fn members(&self, set: &str) -> Result<Vec<Member>, Error> {
        let mut members = crate::sets::members(set, &self.finder)?;
        if !self.only.is_empty() {
            members.retain(|member| self.only.iter().any(|name| name.eq_ignore_ascii_case(&member.name)));
        }
        if members.is_empty() {
            return Err(Error::Empty(format!("{} has none of {}", set, self.only.join(", "))));
        }
        Ok(members)
    }
}

struct Runs {
    records: Vec<Record>,
    missing: usize,
}

type Outcome = (Vec<Section>, Vec<Record>, usize);

/// A panel with a box for each group of rows.
fn panel(quantity: Quantity, groups: &[(String, usize, Vec<&Record>)]) -> BoxPanel {
    let value = |record: &&Record| (quantity.value)(record).unwrap_or(f64::INFINITY);
    let labelled = |(label, color, records): &(String, usize, Vec<&Record>)| LabelledBox {
        label: label.clone(),
        color: *color,
        values: records.iter().map(value).collect(),
    };
    BoxPanel { title: quantity.title.into(), boxes: groups.iter().map(labelled).collect() }
}

fn figure(title: &str, panels: Vec<BoxPanel>) -> String {
    BoxFigure { title: title.into(), panels }.draw()
}

/// What a row is worth, in a word.
fn verdict(record: &Record) -> &'static str {
    match record.point {
        _ if record.stop == Ending::Refused => "refused",
        Point::EpsKkt => "solved",
        Point::EpsInfeasibleStationary => "infeasible, verified",
        Point::Unbounded => "unbounded",
        Point::Feasible => "feasible only",
        Point::Nothing => "not solved",
    }
}

/// Whether the limit on time ended a run.
fn is_late(record: &Record) -> bool {
    matches!(record.stop, Ending::Stopped(Stop::WallTime) | Ending::Hung)
}

/// How many rows have all three residuals within each of these.
fn solved_within(records: &[&Record], eps: f64) -> usize {
    records.iter().filter(|record| record.residuals().is_some_and(|residuals| residuals.worst() <= eps)).count()
}
