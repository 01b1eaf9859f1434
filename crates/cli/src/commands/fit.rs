use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use serde_json::json;
use tangor_learn::{Classes, DataSet, Input, Model};
use tangor_problem::{MemoryLimit, count_of};
use tangor_solver::{Checkpoint, EndedBy, Report, Settings};

use crate::error::Error;
use crate::idle::Idle;
use crate::progress::Progress;
use crate::ranks::Ranks;
use crate::record::{self, RecordArguments};
use crate::regression::data::DataArguments;
use crate::regression::fitted::{Fitted, weights_csv};
use crate::regression::goal::{GoalArguments, has_rates};
use crate::regression::task::{Task, are_few, defaults};
use crate::regression::{cross_validation, trade_off};
use crate::sampling_source::SamplingArguments;
use crate::screen::{Color, Listener, warn};
use crate::settings_source::SettingsArguments;
use crate::style::{DIM, TITLE};
use crate::table::{Detail, Functions, Table};
use crate::watch::Watch;
use crate::{exit, files, interrupt, plain, width};

const EXAMPLES: &str = "\
Examples:
  tangor fit --norm 1                                      data generated on the spot
  tangor fit --max-rate-gap group=0.02 --batch 256         256 random rows in every iteration
  tangor fit people.csv --label income --drop name,sex --log capital --max-rate-gap sex=0.02 \\
      --test others.csv --model model.json                 then: tangor predict model.json new.csv
  tangor fit people.csv --label income --equalized-odds race=0.05 --on decisions
  tangor fit people.csv --label income --max-rate-gap sex=0.02 --trade-off price.svg
  tangor fit spam.libsvm --max-false-positive 0.05         few false alarms
  tangor fit people.csv --l2 auto                          the penalty by cross-validation
  tangor fit people.csv --checkpoint fit.state             Ctrl-C ends the run in order, and then
  tangor fit --resume fit.state                            goes on as if nothing had happened";

/// Fit a logistic regression under constraints
///
/// Minimises the mean logistic loss of the rows plus l2/2 |x|^2 over the weights x, subject to constraints. Texts are one-hot
/// encoded, numbers standardised; `?`, `NA` and empty fields are missing values. Every iteration sees all rows, unless there are very many
/// or --batch asks for random ones. In the end everything is judged on all rows. docs/fit.md tells more.
///
/// Ctrl-C ends the run in order: what was found so far is reported, and all files are complete. A time limit is one on the iterations: the data are
/// read before they begin, and the point is judged on all rows after they have ended.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{}", exit::HELP))]
pub struct Fit {
    #[command(flatten)]
    data: DataArguments,

    #[command(flatten)]
    goal: GoalArguments,

    /// Use all rows in every iteration, however many there are
    #[arg(long, help_heading = "Method", conflicts_with_all = ["batch", "samples", "estimator", "momentum", "resume"])]
    exact: bool,

    /// Judge the model on another file, too
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    test: Option<PathBuf>,

    /// Save the model, for `tangor predict`
    #[arg(long, value_name = "MODEL.json", help_heading = "Output")]
    model: Option<PathBuf>,

    /// Write all weights
    #[arg(long, value_name = "FILE.csv", help_heading = "Output")]
    weights: Option<PathBuf>,

    /// Fit with other bounds on the gaps, too, and draw what they cost
    #[arg(long, value_name = "FILE.svg", help_heading = "Output")]
    trade_off: Option<PathBuf>,

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

/// A fit before its data are read.
struct Begun {
    saved: Option<Checkpoint>,
    task: Task,
    settings: Settings,
}

/// A fit before its first evaluation.
struct Ready {
    saved: Option<Checkpoint>,
    task: Task,
    settings: Settings,
    data: Arc<DataSet>,
    test: Option<DataSet>,
    left_out: Vec<String>,
    /// How many rows each process keeps, if there are several.
    kept: Option<Vec<usize>>,
    watch: Watch,
}

impl Fit {
    /// Fits the model and tells about it.
    pub fn run(mut self) -> Result<u8, Error> {
        let ranks = Ranks::join()?;
        // Nobody goes on alone: the others would wait.
        let begun = ranks.together(self.begin(&ranks))?;
        let ready = ranks.together(self.prepare(&ranks, begun))?;
        let outcome = self.fit(&ranks, ready);
        outcome.inspect_err(|error| ranks.leave(error))
    }

    /// Everything up to the data, which every process does for itself.
    fn begin(&mut self, ranks: &Ranks) -> Result<Begun, Error> {
        self.go_with(ranks)?;
        // Short ways are settings like others; what --set says comes after them.
        self.settings.assignments.splice(0..0, self.sampling.assignments());
        let saved = self.record.saved(self.settings.memory())?;
        let task = self.task(saved.as_ref())?;
        if self.trade_off.is_some() {
            trade_off::check(&task.goal)?;
        }
        self.outputs().into_iter().flatten().try_for_each(|path| files::check(path))?;
        let settings = record::settings(&self.settings, saved.as_ref(), defaults(true))?;
        Ok(Begun { saved, task, settings })
    }

    /// Reads the data, which processes do together, and all else up to the first evaluation.
    fn prepare(&mut self, ranks: &Ranks, begun: Begun) -> Result<Ready, Error> {
        let Begun { saved, mut task, settings } = begun;
        let memory = ranks.memory(settings.limits.memory);
        let input = self.input(ranks, &task, task.data.file.as_deref(), memory)?;
        let mut data = task.data.open(&task.goal, settings.sampling.seed, input, (memory, ranks.processes()))?;
        if saved.is_none() {
            task.exact = self.exact || (!self.sampling.asks_for_samples() && are_few(&data));
        }
        let settings = record::settings(&self.settings, saved.as_ref(), defaults(task.exact))?;
        self.identify(&mut task, &data)?;
        if let Some(saved) = &saved {
            // The same data in a file of another name are still the same problem.
            data.name.clone_from(&saved.problem);
        }
        let test = self.input(ranks, &task, self.test.as_deref(), memory)?.map(|input| {
            let (form, delimiter) = (task.data.form(), task.data.layout.delimiter);
            data.read_alike(&form, input, delimiter, (memory, ranks.processes().as_ref()))
        });
        let (test, data) = (test.transpose()?, Arc::new(data));
        let kept = ranks.of_each(data.here().len());
        let (_, left_out) = task.goal.requirements(&data, &Classes::new(&data)?)?;
        let watch = self.watch(&settings, &task, saved.as_ref(), ranks.is_first())?;
        if ranks.is_first() && saved.is_none() {
            self.idle(&task).tell();
        }
        Ok(Ready { saved, task, settings, data, test, left_out, kept, watch })
    }

    /// A file; standard input is there for the first process alone.
    fn input(&self, ranks: &Ranks, task: &Task, file: Option<&Path>, memory: MemoryLimit) -> Result<Option<Input>, Error> {
        let here = |file: &Path| ranks.is_first() || file != Path::new("-");
        let read = |file| if here(file) { task.data.layout.input(file, memory) } else { Ok(Input::nowhere()) };
        ranks.together(file.map(read).transpose())
    }

    /// The arguments that do nothing in this fit.
    fn idle(&self, task: &Task) -> Idle {
        let mut idle = Idle::default();
        self.data.add_idle(&mut idle);
        self.goal.add_idle(&task.goal, &mut idle);
        self.sampling.add_idle_of_fit(task.exact, has_rates(&task.goal), &mut idle);
        idle
    }

    /// Whether the seed has work besides that of the run: it makes up data, or cuts rows into parts.
    fn draws_by_the_seed(&self, task: &Task) -> bool {
        task.data.file.is_none() || self.goal.folds().is_some()
    }

    /// What several processes cannot do together is refused; only the first one prints and writes.
    fn go_with(&mut self, ranks: &Ranks) -> Result<(), Error> {
        let alone = [
            ("--trade-off", self.trade_off.is_some()),
            ("--l2 auto", self.goal.folds().is_some()),
            ("--checkpoint", self.record.checkpoint.is_some()),
            ("--resume", self.record.resume.is_some()),
        ];
        match alone.iter().find(|(_, asked)| *asked && ranks.count() > 1) {
            Some((name, _)) => return Err(Error::Setting(format!("{name} needs a single process: run it without mpirun"))),
            None if ranks.is_first() => {}
            None => (self.model, self.weights, self.record.trace, self.record.plot) = (None, None, None, None),
        }
        Ok(())
    }

    fn fit(&self, ranks: &Ranks, ready: Ready) -> Result<u8, Error> {
        let Ready { saved, mut task, settings, data, test, left_out, kept, mut watch } = ready;
        self.validate(&mut task, &data, &settings, &mut watch.listener)?;
        let ended_by = EndedBy { flag: Some(interrupt::flag()?), agreement: ranks.agreement(), since: None };
        let mut solver = record::start(task.problem(&data)?, saved, settings.clone(), ended_by)?;
        data.remarks
            .iter()
            .chain(test.iter().flat_map(|test| &test.remarks))
            .chain(&left_out)
            .filter(|_| ranks.is_first())
            .for_each(|remark| warn(remark));
        if !self.json {
            title(&mut watch.listener, &data, kept.as_deref())?;
        }
        self.record.advance_to_the_end(&mut solver, &mut watch, &task)?;
        ranks.together(readable(&data))?;
        let report = solver.report();
        watch.finish(&mut solver, &report)?;
        let judged = task.judge(&data, &settings, &report)?;
        let model = self.model(&task, &data, &report, &judged)?;
        self.conclude(&mut watch, &task, &model, (&report, &judged), (&data, test.as_ref()))?;
        watch.listener.flush()?;
        if ranks.is_first() && !self.draws_by_the_seed(&task) {
            self.sampling.idle_after(task.exact, &report).tell();
        }
        // What the exact functions say of the point, and why the run ended.
        Ok(watch.exit_code(exit::of(&Report { point: judged.point, ..report })))
    }

    /// The files that are written at the end, besides those of the run.
    fn outputs(&self) -> [Option<&PathBuf>; 3] {
        [self.model.as_ref(), self.weights.as_ref(), self.trade_off.as_ref()]
    }

    /// What the arguments say, or the state of the run that goes on; the file may have moved since.
    fn task(&self, saved: Option<&Checkpoint>) -> Result<Task, Error> {
        let task = match saved {
            None => Task {
                data: self.data.clone(),
                goal: self.goal.goal()?,
                threshold: self.goal.threshold(),
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

    /// Finds the penalty, if it is to be found.
    fn validate(&self, task: &mut Task, data: &DataSet, settings: &Settings, out: &mut Listener) -> Result<(), Error> {
        let Some(folds) = self.goal.folds() else { return Ok(()) };
        let all = cross_validation::validate(data, &task.goal, folds, &exactly(settings))?;
        if !self.json {
            cross_validation::print(out, &all, folds)?;
        }
        if let Some(best) = cross_validation::best(&all) {
            task.goal.penalty.l2 = best.l2;
        }
        Ok(())
    }

    fn watch(&self, settings: &Settings, task: &Task, saved: Option<&Checkpoint>, first: bool) -> Result<Watch, Error> {
        let detail = if self.verbose { Detail::Verbose } else { Detail::Quiet };
        let read = [task.data.file.as_ref(), self.test.as_ref(), self.settings.config.as_ref()];
        let files = self.record.open(&self.outputs(), &read, saved)?;
        let functions = if task.exact { Functions::Exact } else { Functions::Sampled { truth: true } };
        let table = Table::new(detail, settings.tolerance.clone(), functions);
        let progress = (first && !self.verbose).then(|| Progress::new(settings));
        let listener = if first { Listener::new(self.color.screen()) } else { Listener::deaf(self.color.screen()) };
        Ok(Watch::new(listener, table, progress, files))
    }

    fn model(&self, task: &Task, data: &DataSet, report: &Report, judged: &Report) -> Result<Model, Error> {
        let confidence = report.settings.sampling.judge.confidence;
        let threshold = task.threshold.of(data, &report.x);
        let mut model = Model::new(data, report.x.clone(), &task.goal, threshold, confidence)?;
        model.file = task.data.form();
        // Those of the exact functions: as good as the point, whatever the run itself saw.
        model.multipliers.clone_from(&judged.row_multipliers);
        Ok(model)
    }

    /// Writes the files and tells everything.
    fn conclude(
        &self,
        watch: &mut Watch,
        task: &Task,
        model: &Model,
        (report, judged): (&Report, &Report),
        (data, test): (&Arc<DataSet>, Option<&DataSet>),
    ) -> Result<(), Error> {
        let tested = test.map(|test| model.evaluate(test)).transpose()?;
        let out = &mut watch.listener;
        if let Some(path) = &self.model {
            files::write(path, &model.to_json()?)?;
        }
        if let Some(path) = &self.weights {
            let table = weights_csv(model).map_err(|cause| Error::Unwritable { path: path.clone(), cause: cause.into() })?;
            files::write(path, &table)?;
        }
        match self.json {
            true => {
                let all = json!({ "report": report, "judged": judged, "model": model, "test": tested });
                writeln!(out, "{}", plain::json(&all)?)?;
            }
            false => Fitted { model, report, judged, test: tested.as_ref() }.print(out)?,
        }
        if let Some(path) = &self.trade_off {
            let settings = exactly(&report.settings);
            let fits = trade_off::explore(data, test, &task.goal, model.training.threshold, &settings)?;
            files::write(path, trade_off::draw(&fits, &data.name, trade_off::chosen(&task.goal)).as_bytes())?;
            if !self.json {
                trade_off::print(out, &fits)?;
            }
        }
        if self.json {
            return Ok(());
        }
        for (what, path) in [("model", &self.model), ("weights", &self.weights), ("trade-off", &self.trade_off)] {
            if let Some(path) = path {
                writeln!(out, "  {DIM}{what} in {}{DIM:#}", path.display())?;
            }
        }
        let outcome = Report { point: judged.point, ..report.clone() };
        self.record.name_files(watch, &outcome, "tangor fit")
    }
}

/// The settings for fits to all rows beside the main one: no samples, and tolerances that are not those of samples.
fn exactly(settings: &Settings) -> Settings {
    let exact = defaults(true);
    let mut settings = settings.clone();
    settings.limits.samples = None;
    let (own, usual) = (&mut settings.tolerance, &exact.tolerance);
    own.stationarity = own.stationarity.min(usual.stationarity);
    own.feasibility = own.feasibility.min(usual.feasibility);
    own.complementarity = own.complementarity.min(usual.complementarity);
    settings
}

/// Rows that could not be read make everything NaN: that is what to tell, not what came of it.
fn readable(data: &DataSet) -> Result<(), Error> {
    data.features.trouble().map_or(Ok(()), |trouble| Err(Error::Setting(trouble.to_string())))
}

/// Processes whose rows are told one by one.
const TOLD: usize = 16;

fn title(out: &mut Listener, data: &DataSet, kept: Option<&[usize]>) -> Result<(), Error> {
    let (rows, weights) = (count_of(data.rows(), "row"), count_of(data.features.weights(), "weight"));
    let labels = &data.labels;
    let column = if labels.column.is_empty() { "label" } else { &labels.column };
    let positive = format!("{column} = {}", labels.positive);
    let share = 100.0 * data.positive_share();
    let name = plain::name(&data.name);
    writeln!(out, "{TITLE}{name}{TITLE:#}{}", width::wrapped_after(&name, &format!(": {rows}, {weights}"), 2))?;
    let positive = format!("positive: {} in {share:.1}% of the rows", plain::name(&positive));
    writeln!(out, "{}", width::wrapped(&positive, 2))?;
    if let Some(kept) = kept {
        let told: Vec<String> = kept.iter().take(TOLD).map(ToString::to_string).collect();
        let more = if kept.len() > TOLD { ", ..." } else { "" };
        let kept = format!("rows kept by the {} processes: {}{more}", kept.len(), told.join(", "));
        writeln!(out, "{}", width::wrapped(&kept, 2))?;
    }
    Ok(())
}
