//! The one place where problems are opened: by the name of an embedded one, by a file's extension, by a name in the folder of SIF
//! files, or by the command of a process.

use std::env;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use serde::{Deserialize, Serialize};
use tangor_collection::{Entry, find};
use tangor_problem::{Exact, Problem, SampledProblem};
use tangor_process::{ProcessProblem, ProcessSettings};
use tangor_sif::{Info, Options};

use crate::error::Error;
use crate::{duration, files};

/// The variable by which CUTEst users name their folder of SIF files.
const SIF_FOLDER: &str = "MASTSIF";

/// The arguments that name a problem.
#[derive(Clone, Debug, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProblemArguments {
    /// An embedded problem (`tangor list` shows them), a .SIF file, or the name of one in the folder that MASTSIF names
    #[arg(value_name = "PROBLEM", required_unless_present = "oracle", conflicts_with = "oracle")]
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

impl Opened {
    fn exactly(problem: impl Problem + Send + 'static) -> Self {
        Opened { problem: Box::new(Exact(problem)), entry: None, sif: None }
    }

    /// The problem without noise, if it has one.
    pub fn exact(&mut self) -> Result<&mut dyn Problem, Error> {
        let name = self.problem.meta().name.clone();
        self.problem.exact().ok_or(Error::OnlySampled(name))
    }
}

impl ProblemArguments {
    /// Opens the problem.
    pub fn open(&self) -> Result<Opened, Error> {
        if let Some(command) = &self.oracle {
            return self.open_oracle(command);
        }
        match find(self.name()) {
            Ok(entry) if self.parameters.is_empty() => Ok(Opened { entry: Some(entry), ..Opened::exactly((entry.build)()) }),
            Ok(entry) => Err(Error::NoParameters(entry.name)),
            Err(unknown) => match self.file() {
                Some(path) => self.open_file(&path),
                None => Err(Error::UnknownProblem { unknown, hint: hint() }),
            },
        }
    }

    /// The name that was given; empty for a process.
    fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }

    /// The file that the name means, if it means one.
    fn file(&self) -> Option<PathBuf> {
        let path = Path::new(self.name());
        let named = path.components().count() > 1 || path.is_file() || files::extension(path) == "sif";
        if named {
            return Some(path.to_owned());
        }
        let in_folder = env::var_os(SIF_FOLDER).and_then(|folder| tangor_sif::find(self.name(), folder));
        // Names of problems may have dots; what is in the folder goes before what looks like an extension.
        in_folder.or_else(|| path.extension().map(|_| path.to_owned()))
    }

    fn open_file(&self, path: &Path) -> Result<Opened, Error> {
        if files::extension(path) != "sif" {
            return Err(Error::NoReader(self.name().to_string()));
        }
        let parameters = self.parameters.iter().cloned();
        let options = parameters.fold(Options::default(), |options, (name, value)| options.parameter(name, value));
        let problem = tangor_sif::read(path, &options)?;
        let sif = SifFile { info: problem.info().clone(), path: path.to_owned(), options };
        Ok(Opened { sif: Some(sif), ..Opened::exactly(problem) })
    }

    fn open_oracle(&self, command: &str) -> Result<Opened, Error> {
        let settings = ProcessSettings { time_limit: self.oracle_time_limit, ..ProcessSettings::default() };
        let process = ProcessProblem::start(command, &settings)?;
        if process.accesses().are_exact() {
            return Ok(Opened::exactly(process.into_exact()?));
        }
        Ok(Opened { problem: Box::new(process), entry: None, sif: None })
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

fn hint() -> String {
    match env::var_os(SIF_FOLDER) {
        Some(folder) => format!("and the folder {} has no SIF file of this name either", folder.display()),
        None => format!("and {SIF_FOLDER} can name a folder of SIF files"),
    }
}

fn parameter(text: &str) -> Result<(String, f64), String> {
    let mistake = || format!("{text:?} is not a parameter with its value; write for example N=100");
    let (name, value) = text.split_once('=').ok_or_else(mistake)?;
    Ok((name.trim().to_string(), value.trim().parse().map_err(|_| mistake())?))
}
