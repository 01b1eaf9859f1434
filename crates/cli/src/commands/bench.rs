use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use clap::{Args, Subcommand};
use tangor_bench::compare::{Comparison, of_records, read};
use tangor_bench::{Campaign, Contender, Ending, Journal, Member, Plan, Program, Record, members, only, shares};
use tangor_open::{Finder, Source};
use tangor_problem::count_of;
use tangor_solver::{Point, Settings};

use super::compare::Compare;
use super::complexity::Complexity;
use super::growth::Growing;
use super::learning::Learning;
use super::subproblems::Subproblems;
use crate::error::Error;
use crate::idle::Idle;
use crate::sampling_source::EstimatorArgument;
use crate::screen::{self, Color};
use crate::settings_source::presets_first;
use crate::{duration, exit, interrupt, plain, width};

const EXAMPLES: &str = "\
Examples:
  tangor bench run embedded --out embedded.csv
  tangor bench run paper --out paper.csv --max-iterations 1000
  tangor bench run HS71,DEGENQPC:N=10,mine.SIF --out some.csv --set metric.kind=identity
  tangor bench run paper --solver tangor,ipopt --out both.csv   with Ipopt, if it is built in
  tangor bench compare paper.csv ipopt.csv --out profiles
  tangor bench run paper --noise 1e-4 --estimator minibatch --out noisy.csv
  tangor bench run paper --perturb-start 1e-7 --seeds 10 --out shares.csv   what hangs on rounding
  tangor bench run large --solver tangor,ipopt --out large.csv  60 problems, up to 100,000 variables
  tangor bench growth large.csv --out growth.svg                how time and memory grow
  tangor bench complexity                                       samples needed against eps
  tangor bench learning --adult DATA                            four tasks, beside tuned methods
  tangor bench subproblems paper                                the kernel against Clarabel";

/// How much longer than its limit a run may take before its process is ended.
const GRACE: Duration = Duration::from_secs(5);

/// Run many problems, and compare results
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Bench {
    #[command(subcommand)]
    command: BenchCommand,
}

#[derive(Debug, Subcommand)]
enum BenchCommand {
    Run(Run),
    Compare(Compare),
    Complexity(Complexity),
    Growth(Growing),
    Learning(Learning),
    Subproblems(Subproblems),
    /// Carries out one run: a task on standard input, its row on standard output.
    #[command(hide = true)]
    One,
}

impl Bench {
    /// Carries out the command.
    pub fn run(self) -> Result<u8, Error> {
        match self.command {
            BenchCommand::Run(command) => command.run(),
            BenchCommand::Compare(command) => command.run(),
            BenchCommand::Complexity(command) => command.run(),
            BenchCommand::Growth(command) => command.run(),
            BenchCommand::Learning(command) => command.run(),
            BenchCommand::Subproblems(command) => command.run(),
            BenchCommand::One => {
                tangor_bench::serve()?;
                Ok(exit::SOLVED)
            }
        }
    }
}

/// Run a set of problems, one row for each problem, solver and seed
///
/// Runs go on in parallel, each in its own process: one that hangs or crashes is reported and the rest goes on. Rows are added to
/// FILE.jsonl as soon as they are there; the same command after a kill goes on where it was. Residuals are recomputed from the
/// returned point.
#[derive(Debug, Args)]
struct Run {
    /// A set (embedded, paper-equality, paper-inequality, paper, large-1000, large-10000, large-100000, large), or names, files, folders
    /// of files and lists (.txt) with commas between them
    set: String,

    /// Where the rows go; JSON lines are written beside it
    #[arg(long, value_name = "FILE.csv")]
    out: PathBuf,

    /// Start over, even if FILE.jsonl has rows already
    #[arg(long)]
    fresh: bool,

    /// Only these problems of the set
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,

    /// Which solvers: tangor, ipopt (first derivatives), ipopt-exact (second derivatives)
    #[arg(long, value_name = "NAME", value_delimiter = ',', default_value = "tangor")]
    solver: Vec<String>,

    /// Set one setting of Tangor by its path, as in merit.rho0=1; may be repeated
    #[arg(long = "set", value_name = "PATH=VALUE", value_parser = crate::settings_source::assignment)]
    assignments: Vec<(String, String)>,

    /// Gaussian noise of this level on gradient, constraints and Jacobian
    #[arg(long, value_name = "LEVEL", default_value_t = 0.0)]
    noise: f64,

    #[command(flatten)]
    estimator: EstimatorArgument,

    /// How many seeds: of the noise, and of moved starts
    #[arg(long, value_name = "N", default_value_t = 1)]
    seeds: u64,

    /// Move every start at random by up to SIZE max(1, |x|) in each variable, another way with each seed
    ///
    /// A tiny SIZE, as 1e-7, leaves the problem what it is, and shows what hangs on rounding: the mean number of problems that are solved is printed with its
    /// standard error, and so are the problems that are solved with some seeds only.
    #[arg(long, value_name = "SIZE", default_value_t = 0.0, value_parser = size, allow_hyphen_values = true)]
    perturb_start: f64,

    /// A table with the best known objectives: columns problem and objective, and status where it must be `solved`
    #[arg(long, value_name = "FILE.csv")]
    reference: Option<PathBuf>,

    #[command(flatten)]
    effort: Effort,

    /// When to use colours
    #[arg(long, value_enum, default_value_t)]
    color: Color,
}

/// Limits of runs and where SIF files are; shared by commands that run many.
#[derive(Debug, Args)]
pub struct Effort {
    /// Most iterations of a run
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub max_iterations: u64,

    /// Most wall time of a run; 60s if not given
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, allow_hyphen_values = true)]
    pub time_limit: Option<Duration>,

    /// Runs at the same time; as many as there are cores if not given
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,

    /// The folder of SIF files; the variable MASTSIF if not given
    #[arg(long, value_name = "FOLDER")]
    pub sif_folder: Option<PathBuf>,
}

/// How far starts are moved.
fn size(text: &str) -> Result<f64, String> {
    let size = text.parse().map_err(|_| "a number is needed".to_string())?;
    if (0.0..f64::INFINITY).contains(&size) { Ok(size) } else { Err("a size of at least 0 is needed".to_string()) }
}

/// The limit on the time of a run that nobody has set.
const TIME_LIMIT: Duration = Duration::from_secs(60);

impl Effort {
    /// Most seconds of a run.
    pub fn seconds(&self) -> f64 {
        self.time_limit.unwrap_or(TIME_LIMIT).as_secs_f64()
    }

    /// Where problems are looked for.
    pub fn finder(&self) -> Finder {
        Finder::new(self.sif_folder.clone())
    }

    /// Runs in processes of this same program.
    pub fn campaign<'a>(&self, interrupt: &'a AtomicBool) -> Result<Campaign<'a>, Error> {
        let path = std::env::current_exe()?;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let program = Program { path, arguments: vec!["bench".into(), "one".into()], grace: GRACE };
        Ok(Campaign { program, jobs: self.jobs.unwrap_or(cores), interrupt, progress: true })
    }
}

impl Run {
    fn run(self) -> Result<u8, Error> {
        let plan = self.plan()?;
        self.idle().tell();
        self.undisturbed(&plan).iter().for_each(|note| screen::note(note));
        let flag = interrupt::flag()?;
        let mut journal = Journal::open(&self.out.with_extension("jsonl"))?;
        if self.fresh {
            journal.clear()?;
        }
        let results = self.effort.campaign(&flag)?.run(&plan, &mut journal, Some(&self.out))?;
        let mut out = self.color.screen();
        tell_sources(&mut out, &plan.members, &self.effort.finder())?;
        if results.resumed > 0 {
            let were = if results.resumed == 1 { "was" } else { "were" };
            writeln!(out, "{} {were} done before; --fresh starts over", count_of(results.resumed, "run"))?;
        }
        summarise(&mut out, &results.records)?;
        writeln!(out, "rows in {} and {}", self.out.display(), self.out.with_extension("jsonl").display())?;
        if results.missing > 0 {
            writeln!(out, "{} missing: the same command goes on", count_of(results.missing, "run"))?;
            return Ok(exit::STOPPED);
        }
        Ok(exit::SOLVED)
    }

    /// The arguments that do nothing in these runs.
    fn idle(&self) -> Idle {
        let (mut idle, tangor) = (Idle::default(), self.solver.iter().any(|name| name == "tangor"));
        let estimator = ("--estimator", self.estimator.is_given());
        let seeds = ("--seeds", self.seeds > 1 && self.perturb_start == 0.0);
        let exact = "the functions are exact (--noise would disturb them)";
        idle.add(self.noise == 0.0 && tangor, exact, &[estimator, seeds]);
        let noise = [("--noise", self.noise != 0.0), ("--set", !self.assignments.is_empty()), estimator, seeds];
        idle.add(!tangor, "only runs of tangor have settings and noise", &noise);
        idle
    }

    /// Whom the noise does not reach, where it reaches others: numbers that cannot be compared.
    fn undisturbed(&self, plan: &Plan) -> Option<String> {
        let mut reached = plan.contenders.iter().filter(|contender| contender.noise != 0.0);
        reached.next()?;
        let others = plan.contenders.iter().filter(|contender| contender.noise == 0.0);
        let names: Vec<&str> = others.map(|contender| contender.label.as_str()).collect();
        let verb = if names.len() == 1 { "has" } else { "have" };
        (!names.is_empty()).then(|| format!("--noise disturbs only tangor: {} {verb} the exact functions", names.join(" and ")))
    }

    fn plan(&self) -> Result<Plan, Error> {
        let mut members = only(members(&self.set, &self.effort.finder())?, &self.only)?;
        if let Some(path) = &self.reference {
            add_best_known(&mut members, path)?;
        }
        // What is set by its path comes last: it is the more specific.
        let settings = settings(&[self.estimator.assignments(), self.assignments.clone()].concat())?;
        let contender = |name: &String| match name.as_str() {
            "tangor" => Ok::<_, Error>(Contender::tangor("tangor", settings.clone()).noisy(self.noise)),
            peer => Ok(Contender::peer(peer)
                .ok_or_else(|| {
                    Error::Setting(format!("there is no solver {peer:?}; choose from tangor, ipopt and ipopt-exact"))
                })?
                .if_built()?),
        };
        Ok(Plan {
            members,
            contenders: self.solver.iter().map(contender).collect::<Result<_, _>>()?,
            seeds: self.seeds,
            perturbation: self.perturb_start,
            max_iterations: self.effort.max_iterations,
            max_entries: None,
            time_limit: self.effort.seconds(),
            trace: true,
        })
    }
}

/// Says which problems the names mean: one by one when they are few, and otherwise how many come from where.
fn tell_sources(out: &mut dyn Write, members: &[Member], finder: &Finder) -> Result<(), Error> {
    const FEW: usize = 8;
    let embedded = |member: &&Member| matches!(member.source, Source::Embedded(_));
    let namesake = |member: &Member| finder.namesake(&member.source);
    if members.len() <= FEW {
        for member in members {
            let file = namesake(member);
            let also = file.map(|path| format!(" ({}.SIF is the file {})", member.name, path.display())).unwrap_or_default();
            let told = format!("{} is {}{also}", member.name, member.source);
            writeln!(out, "{}", width::wrapped(&plain::name(&told), 2))?;
        }
        return Ok(());
    }
    let count = members.iter().filter(embedded).count();
    let also = match members.iter().filter(|member| namesake(member).is_some()).count() {
        0 => String::new(),
        1 => "; one embedded one has the name of a SIF file, which the name with .SIF means".to_string(),
        namesakes => format!("; {namesakes} embedded ones have names of SIF files, which the names with .SIF mean"),
    };
    let told = format!("{}: {count} embedded, {} from files{also}", count_of(members.len(), "problem"), members.len() - count);
    Ok(writeln!(out, "{}", width::wrapped(&told, 2))?)
}

/// The defaults with these changes.
pub fn settings(assignments: &[(String, String)]) -> Result<Settings, Error> {
    let mut settings = Settings::default();
    for (path, value) in presets_first(assignments) {
        settings.set(path, value).map_err(|error| Error::Setting(error.to_string()))?;
    }
    settings.validate().map_err(|error| Error::Setting(error.to_string()))?;
    Ok(settings)
}

/// Objectives of a table, where it says that the problem was solved.
fn add_best_known(members: &mut [Member], path: &Path) -> Result<(), Error> {
    for entrant in read(path)? {
        for member in members.iter_mut() {
            let entry = entrant.entries.get(&member.name).filter(|entry| entry.is_solved(1e-6));
            if let Some(objective) = entry.and_then(|entry| entry.objective) {
                member.best_known = Some(member.best_known.map_or(objective, |known| known.min(objective)));
            }
        }
    }
    Ok(())
}

fn summarise(out: &mut dyn Write, records: &[Record]) -> Result<(), Error> {
    if let Ok(comparison) = Comparison::new(of_records(records), 1e-6) {
        write!(out, "{}", width::fitted(&plain::lines(&comparison.counts())))?;
    }
    write!(out, "{}", width::fitted(&shares::describe(records)))?;
    let listed = |wanted: &dyn Fn(&Record) -> bool| -> Vec<String> {
        records.iter().filter(|record| wanted(record)).map(|record| format!("{} ({})", record.problem, record.solver)).collect()
    };
    let lists = [
        ("hung", listed(&|record| record.stop == Ending::Hung)),
        ("crashed", listed(&|record| record.stop == Ending::Crashed)),
        ("refused", listed(&|record| record.stop == Ending::Refused)),
        ("worse than the best known", listed(&|record| record.worse && record.point == Point::EpsKkt)),
        ("claimed, but not verified", listed(&|record| record.claimed == Point::EpsKkt && record.point != Point::EpsKkt)),
    ];
    for (what, list) in lists.iter().filter(|(_, list)| !list.is_empty()) {
        const SHOWN: usize = 12;
        let more = if list.len() > SHOWN { ", ..." } else { "" };
        let shown = list[..list.len().min(SHOWN)].join(", ");
        let told = format!("{what}: {}: {shown}{more}", count_of(list.len(), "run"));
        writeln!(out, "{}", width::wrapped(&plain::name(&told), 2))?;
    }
    // A sum of nothing is -0.
    let seconds = 0.0 + records.iter().map(|record| record.seconds).sum::<f64>();
    writeln!(out, "{}, {} of solver time", count_of(records.len(), "run"), duration::readable(seconds))?;
    Ok(())
}
