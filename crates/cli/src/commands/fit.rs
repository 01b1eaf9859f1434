use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tangor_learn::{Constraint, DataSet, Model, Regression};
use tangor_problem::{Exact, SampledProblem};
use tangor_solver::{Batch, Checkpoint, Report, Settings};

use crate::data_source::{ConstraintArguments, DataArguments};
use crate::error::Error;
use crate::fitted::Fitted;
use crate::number::counted;
use crate::progress::Progress;
use crate::record::{self, RecordArguments};
use crate::sampling_source::SamplingArguments;
use crate::screen::{Color, Listener};
use crate::settings_source::SettingsArguments;
use crate::style::{DIM, TITLE};
use crate::table::{Detail, Table};
use crate::watch::Watch;
use crate::{exit, files, interrupt};

const EXAMPLES: &str = "\
Examples:
  tangor fit --norm 1                                      data generated on the spot
  tangor fit --max-rate-gap group=0.02 --exact             all rows in every iteration
  tangor fit people.csv --label income --drop name,sex --log capital --max-rate-gap sex=0.02 \\
      --test others.csv --model model.json                 and then: tangor predict model.json new.csv
  tangor fit spam.libsvm --max-false-positive 0.05         few false alarms
  tangor fit people.csv --checkpoint fit.state             Ctrl-C ends the run in order, and then
  tangor fit --resume fit.state                            goes on as if nothing had happened";

/// The weight of |x|^2 / 2 if nothing is said.
const L2: f64 = 1e-4;
/// Rows of a batch if nothing is said.
const BATCH: usize = 128;
/// Tolerances of a fit from samples: finer ones would say more than the data do.
const STATIONARITY: f64 = 1e-2;
const VIOLATION: f64 = 2e-3;

/// Fit a logistic regression under constraints
///
/// Minimises the mean logistic loss of the rows plus l2/2 |x|^2 over the weights x, subject to constraints. Texts are one-hot
/// encoded, numbers standardised; `?` and empty fields are missing values. Each iteration sees a batch of random rows (128 if
/// --batch says nothing else), or all of them with --exact. In the end everything is judged on all rows. docs/fit.md tells more.
///
/// Ctrl-C ends the run in order: what was found so far is reported, and all files are complete.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{}", exit::HELP))]
pub struct Fit {
    #[command(flatten)]
    data: DataArguments,

    #[command(flatten)]
    constraints: ConstraintArguments,

    /// The weight of |x|^2 / 2 in the objective [default: 0.0001]
    #[arg(long, value_name = "L2", help_heading = "Method", conflicts_with = "resume")]
    l2: Option<f64>,

    /// Use all rows in every iteration
    #[arg(long, help_heading = "Method", conflicts_with_all = ["batch", "samples", "estimator", "momentum", "resume"])]
    exact: bool,

    /// Judge the model on another file, too
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    test: Option<PathBuf>,

    /// Save the model, for `tangor predict`
    #[arg(long, value_name = "MODEL.json", help_heading = "Output")]
    model: Option<PathBuf>,

    /// Every iteration in a table, with residuals over all rows, which cost a pass over them each
    #[arg(short, long, help_heading = "Output", conflicts_with = "json")]
    verbose: bool,

    /// Print run, model and test as JSON and nothing else
    #[arg(long, help_heading = "Output")]
    json: bool,

    /// When to use colours
    #[arg(long, value_enum, default_value_t, help_heading = "Output")]
    color: Color,

    #[command(flatten)]
    record: RecordArguments,

    #[command(flatten)]
    sampling: SamplingArguments,

    #[command(flatten)]
    settings: SettingsArguments,
}

/// What is fitted: a fit that goes on finds it in its saved state.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Task {
    data: DataArguments,
    constraints: Vec<Constraint>,
    l2: f64,
    exact: bool,
    /// Of the data as they were read; 0 when no state is saved and nobody will ask.
    fingerprint: u64,
}

impl Fit {
    /// Fits the model and tells about it.
    pub fn run(mut self) -> Result<u8, Error> {
        // Short ways are settings like others; what --set says comes after them.
        self.settings.assignments.splice(0..0, self.sampling.assignments());
        let saved = self.record.saved()?;
        let mut task = self.task(saved.as_ref())?;
        let settings = record::settings(&self.settings, saved.as_ref(), defaults(task.exact))?;
        let mut watch = self.watch(&settings, &task, saved.as_ref())?;
        let file = self.model.as_deref().map(files::open).transpose()?;
        let mut data = task.data.open(&task.constraints, settings.sampling.seed)?;
        self.identify(&mut task, &data)?;
        if let Some(saved) = &saved {
            // The same data in a file of another name are still the same problem.
            data.name.clone_from(&saved.problem);
        }
        let data = Arc::new(data);
        let mut solver = record::start(task.problem(&data)?, saved, settings.clone())?;
        solver.interrupt(interrupt::flag()?);
        // A first state, before any iteration, shows at once whether the file can be written.
        self.record.save(&solver, &task)?;
        if !self.json {
            title(&mut watch.listener, &data)?;
        }
        self.record.advance_to_the_end(&mut solver, &mut watch, &task)?;
        let report = solver.report();
        watch.finish(&mut solver, &report)?;
        let judged = task.judge(&data, &settings, &report)?;
        let model = Model::new(&data, report.x.clone(), &task.constraints, task.l2, settings.sampling.judge.confidence)?;
        let test = self.test.as_deref().map(|path| model.evaluate(&model.read_data(path)?)).transpose()?;
        if let (Some(file), Some(path)) = (file, &self.model) {
            save(&model, file, path)?;
        }
        // What the exact functions say of the point, and why the run ended.
        let outcome = Report { point: judged.point, ..report.clone() };
        if self.json {
            let all = json!({ "report": report, "judged": judged, "model": model, "test": test });
            writeln!(watch.listener, "{}", serde_json::to_string_pretty(&all)?)?;
        } else {
            Fitted { model: &model, report: &report, judged: &judged, test: test.as_ref() }.print(&mut watch.listener)?;
            if let Some(path) = &self.model {
                writeln!(watch.listener, "  {DIM}model in {}{DIM:#}", path.display())?;
            }
            self.record.name_files(&mut watch.listener, &outcome, "tangor fit")?;
        }
        watch.listener.flush()?;
        Ok(watch.exit_code(exit::of(&outcome)))
    }

    /// What the arguments say, or the state of the run that goes on; the file may have moved since.
    fn task(&self, saved: Option<&Checkpoint>) -> Result<Task, Error> {
        let task = match saved {
            None => Task {
                data: self.data.clone(),
                constraints: self.constraints.all(),
                l2: self.l2.unwrap_or(L2),
                exact: self.exact,
                fingerprint: 0,
            },
            Some(saved) => {
                let mut task: Task = serde_json::from_value(saved.note.clone())
                    .map_err(|_| Error::Setting("the saved state is not one of `tangor fit`".to_string()))?;
                task.data.file = self.data.file.clone().or(task.data.file);
                task
            }
        };
        match self.test.is_some() && task.data.file.is_none() {
            true => {
                Err(Error::Setting("--test needs a FILE to fit: generated data have no columns in common with it".to_string()))
            }
            false => Ok(task),
        }
    }

    /// Makes sure that a run goes on with the data that it began with.
    fn identify(&self, task: &mut Task, data: &DataSet) -> Result<(), Error> {
        if self.record.checkpoint.is_none() && self.record.resume.is_none() {
            return Ok(());
        }
        let before = std::mem::replace(&mut task.fingerprint, data.fingerprint());
        match self.record.resume.is_some() && before != task.fingerprint {
            true => Err(Error::Setting("the data are not those that the saved state was fitted to".to_string())),
            false => Ok(()),
        }
    }

    fn watch(&self, settings: &Settings, task: &Task, saved: Option<&Checkpoint>) -> Result<Watch, Error> {
        let detail = if self.verbose { Detail::Verbose } else { Detail::Quiet };
        let files = self.record.open(&[self.model.as_ref()], &[task.data.file.as_ref(), self.test.as_ref()], saved)?;
        let table = Table::new(detail, settings.tolerance.clone(), !task.exact);
        let progress = (!self.verbose).then(|| Progress::new(settings));
        Ok(Watch::new(Listener::new(self.color.screen()), table, progress, files))
    }
}

impl Task {
    fn problem(&self, data: &Arc<DataSet>) -> Result<Box<dyn SampledProblem>, Error> {
        let regression = Regression::new(Arc::clone(data), &self.constraints, self.l2)?;
        Ok(match self.exact {
            true => Box::new(Exact(regression)),
            false => Box::new(regression.sampled()),
        })
    }

    /// The exact residuals at the point found: a deterministic run that ends where it starts.
    fn judge(&self, data: &Arc<DataSet>, settings: &Settings, report: &Report) -> Result<Report, Error> {
        let regression = Regression::new(Arc::clone(data), &self.constraints, self.l2)?.start(report.x.clone());
        let mut settings = settings.clone();
        settings.limits.iterations = 0;
        settings.limits.samples = None;
        Ok(tangor_solver::solve(regression, settings)?)
    }
}

fn defaults(exact: bool) -> Settings {
    let mut settings = Settings::default();
    if !exact {
        settings.tolerance.stationarity = STATIONARITY;
        settings.tolerance.complementarity = STATIONARITY;
        settings.tolerance.feasibility = VIOLATION;
        set_batch(&mut settings, BATCH);
    }
    settings
}

fn set_batch(settings: &mut Settings, size: usize) {
    let sampling = &mut settings.sampling;
    for estimation in [&mut sampling.gradient, &mut sampling.constraints, &mut sampling.jacobian] {
        estimation.batch = Batch::Constant { size };
    }
}

fn save(model: &Model, file: File, path: &Path) -> Result<(), Error> {
    let unwritable = |cause| Error::Unwritable { path: path.to_owned(), cause };
    // The file was opened without touching what was in it; a shorter model must not leave a rest of it.
    file.set_len(0).map_err(unwritable)?;
    model.write(file).map_err(|cause| unwritable(cause.into()))
}

fn title(out: &mut Listener, data: &DataSet) -> Result<(), Error> {
    let (rows, weights) = (counted(data.rows() as u64, "row"), counted(data.features.weights() as u64, "weight"));
    let labels = &data.labels;
    let positive =
        if labels.column.is_empty() { &labels.positive } else { &format!("{} = {}", labels.column, labels.positive) };
    let share = 100.0 * data.positive_share();
    Ok(writeln!(out, "{TITLE}{}{TITLE:#}: {rows}, {weights}; {positive} in {share:.1}% of the rows", data.name)?)
}
