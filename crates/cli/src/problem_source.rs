//! The one place where problems are opened: by the name of an embedded one, by a file's extension, or by a name in the folder of
//! SIF files.

use std::env;
use std::fmt;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::{Deserialize, Serialize};
use tangor_collection::{Entry, find};
use tangor_problem::Problem;
use tangor_sif::{Info, Options};

use crate::error::Error;
use crate::files;

/// The variable by which CUTEst users name their folder of SIF files.
const SIF_FOLDER: &str = "MASTSIF";

/// The arguments that name a problem.
#[derive(Clone, Debug, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProblemArguments {
    /// An embedded problem (`tangor list` shows them), a .SIF file, or the name of one in the folder that MASTSIF names
    #[arg(value_name = "PROBLEM")]
    name: String,

    /// Replace a parameter of a SIF file, as in N=100; may be repeated. `tangor info` shows them
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = parameter)]
    parameters: Vec<(String, f64)>,
}

/// A problem that is ready to be solved.
pub struct Opened {
    /// The problem.
    pub problem: Box<dyn Problem + Send>,
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

impl ProblemArguments {
    /// Opens the problem.
    pub fn open(&self) -> Result<Opened, Error> {
        match find(&self.name) {
            Ok(entry) if self.parameters.is_empty() => Ok(Opened { problem: (entry.build)(), entry: Some(entry), sif: None }),
            Ok(entry) => Err(Error::NoParameters(entry.name)),
            Err(unknown) => match self.file() {
                Some(path) => self.open_file(&path),
                None => Err(Error::UnknownProblem { unknown, hint: hint() }),
            },
        }
    }

    /// The file that the name means, if it means one.
    fn file(&self) -> Option<PathBuf> {
        let path = Path::new(&self.name);
        let named = path.components().count() > 1 || path.is_file() || files::extension(path) == "sif";
        if named {
            return Some(path.to_owned());
        }
        let in_folder = env::var_os(SIF_FOLDER).and_then(|folder| tangor_sif::find(&self.name, folder));
        // Names of problems may have dots; what is in the folder goes before what looks like an extension.
        in_folder.or_else(|| path.extension().map(|_| path.to_owned()))
    }

    fn open_file(&self, path: &Path) -> Result<Opened, Error> {
        if files::extension(path) != "sif" {
            return Err(Error::NoReader(self.name.clone()));
        }
        let parameters = self.parameters.iter().cloned();
        let options = parameters.fold(Options::default(), |options, (name, value)| options.parameter(name, value));
        let problem = tangor_sif::read(path, &options)?;
        let sif = SifFile { info: problem.info().clone(), path: path.to_owned(), options };
        Ok(Opened { problem: Box::new(problem), entry: None, sif: Some(sif) })
    }
}

/// As it is typed.
impl fmt::Display for ProblemArguments {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.name)?;
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
