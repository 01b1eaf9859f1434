use std::fmt;
use std::path::PathBuf;

use tangor_collection::Entry;
use tangor_problem::Problem;

/// A problem that is ready to be solved.
pub struct Opened {
    /// The problem; [`Source::sampled`](crate::Source::sampled) gives a sampled one.
    pub problem: Box<dyn Problem>,
    /// What its source tells of it.
    pub about: About,
}

/// What the source of a problem tells of it.
#[derive(Clone, Debug)]
pub enum About {
    /// It is embedded.
    Embedded(&'static Entry),
    /// It was read from a SIF file.
    Sif {
        /// What the file says of itself.
        info: Box<tangor_sif::Info>,
        /// Where it is.
        path: PathBuf,
        /// How it was read.
        options: tangor_sif::Options,
    },
    /// It was read from an .nl file.
    Nl {
        /// What the file says of itself.
        info: Box<tangor_nl::Info>,
        /// Where it is.
        path: PathBuf,
        /// The multipliers of the rows that the file gives to begin with, in Tangor's sign.
        multipliers: Option<Vec<f64>>,
    },
}

impl About {
    /// The entry of an embedded problem.
    pub fn entry(&self) -> Option<&'static Entry> {
        match self {
            About::Embedded(entry) => Some(entry),
            About::Sif { .. } | About::Nl { .. } => None,
        }
    }
}

impl fmt::Debug for Opened {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Opened").field("about", &self.about).finish_non_exhaustive()
    }
}
