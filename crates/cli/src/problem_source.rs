//! The arguments that name a problem: a name or a path, which `tangor-open` understands, or the command of a process.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use serde::{Deserialize, Serialize};
use tangor_collection::Entry;
use tangor_open::{About, Finder, Source};
use tangor_problem::{EndWanted, Exact, MemoryLimit, Problem, ReadingLimits, SampledProblem, count_of};
use tangor_process::{Patience, ProcessProblem, ProcessSettings};
use tangor_sif::{Info, Options};

use crate::error::Error;
use crate::{duration, interrupt};

/// The arguments that name a problem.
#[derive(Clone, Debug, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProblemArguments {
    /// An embedded problem (`tangor list` shows them), a .SIF or .nl file, or the name of a SIF file in the folder that MASTSIF names
    #[arg(value_name = "PROBLEM", conflicts_with = "oracle")]
    name: Option<String>,

    /// Replace a parameter of a SIF file, as in N=100; may be repeated. `tangor info` shows them
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = parameter)]
    parameters: Vec<(String, f64)>,

    /// Run a program that evaluates the functions of a problem, as in "python3 model.py"; docs/oracle.md has the protocol
    #[arg(long, value_name = "COMMAND", conflicts_with = "parameters")]
    oracle: Option<String>,

    /// How long an answer of the program may take
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = duration::parse, conflicts_with = "name")]
    oracle_time_limit: Duration,
}

/// A problem that is ready to be solved.
pub struct Opened {
    /// The problem; one without noise is a sampled one that is exact.
    pub problem: Box<dyn SampledProblem + Send>,
    /// What is known of it, when it is an embedded one.
    pub entry: Option<&'static Entry>,
    /// Where it comes from, when that is a SIF file.
    pub sif: Option<SifFile>,
    /// What a .nl file says of itself, when it comes from one.
    pub nl: Option<tangor_nl::Info>,
    /// The multipliers of the constraints to begin with, when the file has them.
    pub multipliers: Option<Vec<f64>>,
}

/// A SIF file that was read.
pub struct SifFile {
    /// What it says of itself.
    pub info: Info,
    /// Where it is.
    pub path: PathBuf,
    /// How it was read.
    pub options: Options,
}

/// How a problem is opened.
#[derive(Default)]
pub struct Opening {
    /// How long a program that evaluates its functions is waited for.
    pub patience: Patience,
    /// Whether second derivatives are wanted.
    pub hessian: bool,
    /// Most memory; a share of the machine's if nothing is said.
    pub memory: Option<u64>,
}

impl Opening {
    fn reading(&self) -> ReadingLimits {
        let patience = self.patience.clone();
        let end_wanted: EndWanted = Arc::new(move || patience.is_over().is_some());
        ReadingLimits { memory: MemoryLimit::or_of_this_machine(self.memory), end_wanted: Some(end_wanted) }
    }
}

impl Opened {
    fn exactly(problem: impl Problem + 'static) -> Self {
        Opened { problem: Box::new(Exact(problem)), entry: None, sif: None, nl: None, multipliers: None }
    }

    /// The problem without noise, if it has one.
    pub fn exact(&mut self) -> Result<&mut dyn Problem, Error> {
        let name = self.problem.meta().name.clone();
        self.problem.exact().ok_or(Error::OnlySampled(name))
    }
}

impl ProblemArguments {
    /// Opens the problem where there is no run. Ctrl-C ends all but a program that evaluates functions, which is to be stopped first.
    pub fn open(&self) -> Result<Opened, Error> {
        let patience = self.oracle.as_ref().map(|_| interrupt::patience()).transpose()?.unwrap_or_default();
        self.open_with(&Opening { patience, ..Opening::default() })
    }

    /// Opens the problem in this way.
    pub fn open_with(&self, how: &Opening) -> Result<Opened, Error> {
        let opened = match &self.oracle {
            Some(command) => self.open_oracle(command, &how.patience)?,
            None => self.open_named(how)?,
        };
        let meta = opened.problem.meta();
        let entries = meta.jacobian_len();
        let what = || format!("the Jacobian of {} with {}", meta.name, count_of(entries, "entry"));
        MemoryLimit::or_of_this_machine(how.memory).check(8 * entries as u128, what)?;
        Ok(opened)
    }

    fn source(&self) -> Result<Source, Error> {
        if self.name.is_none() {
            let ways = "the name of an embedded one (`tangor list` shows them), a file, or a program with --oracle";
            return Err(Error::Setting(format!("no PROBLEM is given: {ways} is needed")));
        }
        Ok(Finder::new(None).find(self.name(), self.parameters.iter().cloned().collect())?)
    }

    fn open_named(&self, how: &Opening) -> Result<Opened, Error> {
        let source = self.source()?;
        let reading = how.reading();
        // Reading that was broken off failed for no fault of the file.
        let late = |error: tangor_open::Error| match how.patience.is_over() {
            Some(reason) => Error::BrokenOff { error, reason },
            None => error.into(),
        };
        let mut opened = source.open_within(&reading).map_err(late)?;
        if how.hessian {
            opened.problem = source.with_hessian_within(&reading).map_err(late)?;
        }
        let (mut entry, mut sif, mut nl, mut guess) = (None, None, None, None);
        match opened.about {
            About::Embedded(found) => entry = Some(found),
            About::Nl { info, multipliers, .. } => (nl, guess) = (Some(*info), multipliers),
            About::Sif { info, path, options } => sif = Some(SifFile { info: *info, path, options }),
        }
        Ok(Opened { problem: Box::new(Exact(opened.problem)), entry, sif, nl, multipliers: guess })
    }

    /// Which problem the name means, in words; nothing for a process.
    pub fn origin(&self) -> Option<String> {
        let source = self.source().ok()?;
        let also = |path: PathBuf| format!(" ({}.SIF is the file {})", source.name(), path.display());
        Some(format!("{source}{}", Finder::new(None).namesake(&source).map(also).unwrap_or_default()))
    }

    /// The same where it is not plain: a file was found in the folder of SIF files, or one there has the same name.
    pub fn choice(&self) -> Option<String> {
        let source = self.source().ok()?;
        let chosen = match &source {
            Source::Embedded(_) => Finder::new(None).namesake(&source).is_some(),
            Source::File { path, .. } => path.as_os_str() != self.name(),
        };
        self.origin().filter(|_| chosen)
    }

    /// The name that was given; empty for a process.
    fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }

    /// The file that is read, if one is.
    pub fn path(&self) -> Option<PathBuf> {
        match self.source() {
            Ok(Source::File { path, .. }) => Some(path),
            _ => None,
        }
    }

    /// The command of the program that evaluates the functions, if one does.
    pub fn oracle(&self) -> Option<&str> {
        self.oracle.as_deref()
    }

    /// The same problem, evaluated by another command.
    pub fn with_oracle(self, command: String) -> Self {
        ProblemArguments { oracle: Some(command), ..self }
    }

    fn open_oracle(&self, command: &str, patience: &Patience) -> Result<Opened, Error> {
        let (time_limit, patience) = (self.oracle_time_limit, patience.clone());
        let settings = ProcessSettings { time_limit, patience, ..ProcessSettings::default() };
        let process = ProcessProblem::start(command, &settings)?;
        if process.accesses().are_exact() {
            return Ok(Opened::exactly(process.into_exact()?));
        }
        Ok(Opened { problem: Box::new(process), entry: None, sif: None, nl: None, multipliers: None })
    }
}

/// As it is typed.
impl fmt::Display for ProblemArguments {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.oracle {
            // In single quotes a shell changes nothing.
            Some(command) => write!(out, "--oracle '{}'", command.replace('\'', r"'\''"))?,
            None => write!(out, "{}", self.name())?,
        }
        self.parameters.iter().try_for_each(|(name, value)| write!(out, " --param {name}={value}"))
    }
}

fn parameter(text: &str) -> Result<(String, f64), String> {
    let mistake = || format!("{text:?} is not a parameter with its value; write for example N=100");
    let (name, value) = text.split_once('=').ok_or_else(mistake)?;
    Ok((name.trim().to_string(), value.trim().parse().map_err(|_| mistake())?))
}
