use std::path::Path;

use serde::{Deserialize, Serialize};
use tangor_nl::NlProblem;
use tangor_problem::{Problem, ReadingLimits};
use tangor_sif::Options;

use crate::{About, Error, Opened, Parameters};

/// The kinds of files that problems are read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileKind {
    /// A SIF file, as CUTEst has them.
    Sif,
    /// A file of AMPL, Pyomo or JuMP, text or binary.
    Nl,
}

impl FileKind {
    /// All of them.
    pub const ALL: [FileKind; 2] = [FileKind::Sif, FileKind::Nl];

    /// The kind of a file, by its ending in upper or lower case.
    pub fn of(path: &Path) -> Option<Self> {
        let extension = path.extension()?;
        FileKind::ALL.into_iter().find(|kind| extension.eq_ignore_ascii_case(kind.extension()))
    }

    /// How files of this kind end.
    pub fn extension(self) -> &'static str {
        match self {
            FileKind::Sif => "SIF",
            FileKind::Nl => "nl",
        }
    }

    /// What a sentence calls such a file.
    pub fn name(self) -> &'static str {
        match self {
            FileKind::Sif => "SIF file",
            FileKind::Nl => ".nl file",
        }
    }

    /// The endings of all kinds, as in ".SIF or .nl".
    pub(crate) fn endings() -> String {
        FileKind::ALL.map(|kind| format!(".{}", kind.extension())).join(" or ")
    }

    /// Reads a file.
    pub(crate) fn read(self, path: &Path, parameters: &Parameters, reading: &ReadingLimits) -> Result<Opened, Error> {
        match self {
            FileKind::Sif => {
                let options = sif_options(parameters, reading);
                let problem = tangor_sif::read(path, &options)?;
                let about = About::Sif { info: Box::new(problem.info().clone()), path: path.to_owned(), options };
                Ok(Opened { problem: Box::new(problem), about })
            }
            FileKind::Nl => {
                let problem = read_nl(path, parameters, reading)?;
                let (info, multipliers) = (Box::new(problem.info().clone()), problem.start_multipliers());
                let about = About::Nl { info, path: path.to_owned(), multipliers };
                Ok(Opened { problem: Box::new(problem), about })
            }
        }
    }

    /// Reads a file with its second derivatives.
    pub(crate) fn read_with_hessian(
        self,
        path: &Path,
        parameters: &Parameters,
        reading: &ReadingLimits,
    ) -> Result<Box<dyn Problem>, Error> {
        match self {
            FileKind::Sif => {
                let options = sif_options(parameters, reading);
                Ok(Box::new(tangor_sif::read(path, &options)?.with_hessian()?))
            }
            FileKind::Nl => Ok(Box::new(read_nl(path, parameters, reading)?.with_hessian()?)),
        }
    }
}

fn sif_options(parameters: &Parameters, reading: &ReadingLimits) -> Options {
    Options { parameters: parameters.clone(), reading: reading.clone(), ..Options::default() }
}

fn read_nl(path: &Path, parameters: &Parameters, reading: &ReadingLimits) -> Result<NlProblem, Error> {
    if parameters.is_empty() {
        let options = tangor_nl::Options { reading: reading.clone(), ..tangor_nl::Options::default() };
        return Ok(tangor_nl::read(path, &options)?);
    }
    Err(Error::NoParameters(format!("the {} {}", FileKind::Nl.name(), path.display())))
}
