use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use serde_json::json;
use tangor_learn::{Constraint, DataSet, Model, Regression};
use tangor_problem::{Exact, SampledProblem};
use tangor_solver::{Batch, Report, Settings, Solver};

use crate::data_source::{ConstraintArguments, DataArguments};
use crate::error::Error;
use crate::fitted::Fitted;
use crate::number::counted;
use crate::progress::Progress;
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
  tangor fit spam.libsvm --max-false-positive 0.05         few false alarms";

/// Tolerances of a fit from samples: finer ones would say more than the data do.
const STATIONARITY: f64 = 1e-2;
const VIOLATION: f64 = 2e-3;

/// Fit a logistic regression under constraints
///
/// Minimises the mean logistic loss of the rows plus l2/2 |x|^2 over the weights x, subject to constraints. Texts are one-hot
/// encoded, numbers standardised; `?` and empty fields are missing values. Each iteration sees a batch of random rows, or all of
/// them with --exact. In the end everything is judged on all rows.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{}", exit::HELP))]
pub struct Fit {
    #[command(flatten)]
    data: DataArguments,

    #[command(flatten)]
    constraints: ConstraintArguments,

    /// The weight of |x|^2 / 2 in the objective
    #[arg(long, value_name = "L2", default_value_t = 1e-4, help_heading = "Method")]
    l2: f64,

    /// Use all rows in every iteration
    #[arg(long, help_heading = "Method", conflicts_with_all = ["batch", "samples"])]
    exact: bool,

    /// Rows per iteration, for each of gradient, constraints and Jacobian [default: 128]
    #[arg(long, value_name = "ROWS", help_heading = "Method", value_parser = clap::value_parser!(u32).range(1..))]
    batch: Option<u32>,

    /// Most row evaluations of all kinds together
    #[arg(long, value_name = "N", help_heading = "Method")]
    samples: Option<u64>,

    /// The seed of all randomness
    #[arg(long, value_name = "SEED", help_heading = "Method")]
    seed: Option<u64>,

    /// Judge the model on another file, too
    #[arg(long, value_name = "FILE", help_heading = "Output", requires = "file")]
    test: Option<PathBuf>,

    /// Save the model, for `tangor predict`
    #[arg(long, value_name = "MODEL.json", help_heading = "Output")]
    model: Option<PathBuf>,

    /// Every iteration in a table
    #[arg(short, long, help_heading = "Output", conflicts_with = "json")]
    verbose: bool,

    /// Print run, model and test as JSON and nothing else
    #[arg(long, help_heading = "Output")]
    json: bool,

    /// When to use colours
    #[arg(long, value_enum, default_value_t, help_heading = "Output")]
    color: Color,

    #[command(flatten)]
    settings: SettingsArguments,
}

type Run = Solver<Box<dyn SampledProblem>>;

impl Fit {
    /// Fits the model and tells about it.
    pub fn run(self) -> Result<u8, Error> {
        let (settings, constraints) = (self.settings()?, self.constraints.all());
        let file = self.model.as_deref().map(files::open).transpose()?;
        let data = Arc::new(self.data.open(&constraints, settings.sampling.seed)?);
        let mut solver = self.start(&data, &constraints, &settings)?;
        let mut watch = self.watch(&settings);
        if !self.json {
            title(&mut watch.listener, &data)?;
        }
        let report = solver.run(&mut watch);
        watch.finish(&mut solver, &report)?;
        let judged = self.judge(&data, &constraints, &settings, &report)?;
        let model = Model::new(&data, report.x.clone(), &constraints, self.l2)?;
        let test = self.test.as_deref().map(|path| model.evaluate(&model.read_data(path)?)).transpose()?;
        if let (Some(file), Some(path)) = (file, &self.model) {
            save(&model, file, path)?;
        }
        if self.json {
            let all = json!({ "report": report, "judged": judged, "model": model, "test": test });
            writeln!(watch.listener, "{}", serde_json::to_string_pretty(&all)?)?;
        } else {
            Fitted { model: &model, report: &report, judged: &judged, test: test.as_ref() }.print(&mut watch.listener)?;
            if let Some(path) = &self.model {
                writeln!(watch.listener, "  {DIM}model in {}{DIM:#}", path.display())?;
            }
        }
        watch.listener.flush()?;
        // What the exact functions say of the point, and why the run ended.
        Ok(exit::of(&Report { point: judged.point, ..report }))
    }

    fn settings(&self) -> Result<Settings, Error> {
        let mut defaults = Settings::default();
        if !self.exact {
            defaults.tolerance.stationarity = STATIONARITY;
            defaults.tolerance.complementarity = STATIONARITY;
            defaults.tolerance.feasibility = VIOLATION;
            set_batch(&mut defaults, 128);
        }
        let mut settings = self.settings.over(defaults)?;
        if let Some(size) = self.batch {
            set_batch(&mut settings, size as usize);
        }
        settings.limits.samples = self.samples.or(settings.limits.samples);
        settings.sampling.seed = self.seed.unwrap_or(settings.sampling.seed);
        Ok(settings)
    }

    fn watch(&self, settings: &Settings) -> Watch {
        let detail = if self.verbose { Detail::Verbose } else { Detail::Quiet };
        Watch {
            listener: Listener::new(self.color.screen()),
            table: Table::new(detail, settings.tolerance.clone(), !self.exact),
            progress: (!self.verbose).then(|| Progress::new(settings)),
            trace: None,
            plot: None,
            truth: None,
            failure: None,
        }
    }

    fn start(&self, data: &Arc<DataSet>, constraints: &[Constraint], settings: &Settings) -> Result<Run, Error> {
        let regression = Regression::new(Arc::clone(data), constraints, self.l2)?;
        let problem: Box<dyn SampledProblem> = match self.exact {
            true => Box::new(Exact(regression)),
            false => Box::new(regression.sampled()),
        };
        let mut solver = Solver::sampled(problem, settings.clone())?;
        solver.interrupt(interrupt::flag()?);
        Ok(solver)
    }

    /// The exact residuals at the point found: a deterministic run that ends where it starts.
    fn judge(
        &self,
        data: &Arc<DataSet>,
        constraints: &[Constraint],
        settings: &Settings,
        report: &Report,
    ) -> Result<Report, Error> {
        let regression = Regression::new(Arc::clone(data), constraints, self.l2)?.start(report.x.clone());
        let mut settings = settings.clone();
        settings.limits.iterations = 0;
        settings.limits.samples = None;
        Ok(tangor_solver::solve(regression, settings)?)
    }
}

fn set_batch(settings: &mut Settings, size: usize) {
    let sampling = &mut settings.sampling;
    for estimation in [&mut sampling.gradient, &mut sampling.constraints, &mut sampling.jacobian] {
        estimation.batch = Batch::Constant { size };
    }
}

fn save(model: &Model, file: File, path: &std::path::Path) -> Result<(), Error> {
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
