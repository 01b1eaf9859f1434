//! Where a result comes from: enough to open its problem again.

use serde::{Deserialize, Serialize};
use tangor_problem::Noise;
use tangor_solver::Report;

use crate::problem_source::ProblemArguments;
use crate::starts::Told;

/// The problem as it was named, and the noise that was put on it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// How the problem is opened.
    pub problem: ProblemArguments,
    /// The noise, if there was any.
    pub noise: Option<Noise>,
}

/// What `tangor solve --json` prints: the report, with its source beside the report's own fields.
#[derive(Serialize)]
pub struct Outcome<'a> {
    /// The report.
    #[serde(flatten)]
    pub report: &'a Report,
    /// Its source.
    pub source: &'a Provenance,
    /// The runs from all starts, when there were several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub starts: Option<Vec<Told<'a>>>,
}
