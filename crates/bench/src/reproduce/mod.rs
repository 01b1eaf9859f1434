//! The experiments of the paper's Section 5, run here, and its Table 1, measured.

mod mapping;
mod tables;
mod variance;

use std::path::{Path, PathBuf};

use tangor_solver::Point;

use crate::Error;
use crate::campaign::{Campaign, Plan};
use crate::complexity::{self, Study};
use crate::contender::Contender;
use crate::figure::{BoxFigure, BoxPanel, LabelledBox};
use crate::journal::Journal;
use crate::record::Record;
use crate::report::{Report, Section};
use crate::sets::Member;

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
    pub sif_folder: Option<PathBuf>,
    /// Most iterations of a run.
    pub max_iterations: u64,
    /// Most seconds of a run.
    pub time_limit: f64,
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

impl Laboratory<'_> {
    /// Runs the experiments and writes data, pictures and `report.html` into the folder. What an interrupted call has done is not
    /// done again.
    pub fn reproduce(&self, experiments: &[Experiment]) -> Result<Reproduction, Error> {
        std::fs::create_dir_all(&self.folder).map_err(|cause| Error::unwritable(&self.folder, cause))?;
        let mut report = Report::new("Tangor: the paper's experiments");
        report.origin = vec![format!(
            "tangor {}, at most {} iterations and {} s for each run, {} runs at the same time, default settings unless stated.",
            env!("CARGO_PKG_VERSION"),
            self.max_iterations,
            self.time_limit,
            self.campaign.jobs
        )];
        report.origin.push(
            "All residuals are recomputed from the returned point and multipliers, unscaled, 2-norm. Click a problem to see its course."
                .into(),
        );
        if self.fresh {
            // The study of complexity keeps no journal: it always starts over.
            for experiment in experiments.iter().filter(|experiment| **experiment != Experiment::Complexity) {
                Journal::open(&self.folder.join(format!("{}.jsonl", experiment.runs())))?.clear()?;
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
        std::fs::write(&path, text).map_err(|cause| Error::unwritable(&path, cause))?;
        Ok(path)
    }

    /// Runs every member with every contender; rows go to the experiment's JSON lines and CSV.
    fn run(&self, experiment: Experiment, members: Vec<Member>, contenders: Vec<Contender>, seeds: u64) -> Result<Runs, Error> {
        let name = experiment.runs();
        let mut journal = Journal::open(&self.folder.join(format!("{name}.jsonl")))?;
        let (max_iterations, time_limit) = (self.max_iterations, self.time_limit);
        let plan = Plan { members, contenders, seeds, max_iterations, time_limit, trace: seeds == 1 };
        let results = self.campaign.run(&plan, &mut journal, Some(&self.folder.join(format!("{name}.csv"))))?;
        Ok(Runs { records: results.records, missing: results.missing })
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
        crate::sets::members(set, self.sif_folder.as_deref().map(Path::new))
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
        Point::EpsKkt => "solved",
        Point::EpsInfeasibleStationary => "infeasible, verified",
        Point::Feasible => "feasible only",
        Point::Nothing => "not solved",
    }
}

/// How many rows have all three residuals within each of these.
fn solved_within(records: &[&Record], eps: f64) -> usize {
    records.iter().filter(|record| record.residuals().is_some_and(|residuals| residuals.worst() <= eps)).count()
}
