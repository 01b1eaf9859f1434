//! Data and constraints of a fit, from the arguments.

use std::path::{Path, PathBuf};

use clap::Args;
use serde::{Deserialize, Serialize};
use tangor_learn::{Constraint, DataSet, Reading, generate};

use crate::error::Error;
use crate::files;

/// Where the data come from. A fit that goes on has them already.
#[derive(Clone, Debug, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataArguments {
    /// A CSV file with a header, or a LIBSVM file (.libsvm, .svm); without one, data are generated
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,

    /// The column to predict; it has two values. The last one if none is named
    #[arg(long, value_name = "COLUMN", help_heading = "Data", conflicts_with = "resume")]
    pub label: Option<String>,

    /// Columns that are no features; they can still be groups
    #[arg(long, value_name = "COLUMNS", help_heading = "Data", value_delimiter = ',', conflicts_with = "resume")]
    pub drop: Vec<String>,

    /// Columns of which log(1 + value) is taken
    #[arg(long, value_name = "COLUMNS", help_heading = "Data", value_delimiter = ',', conflicts_with = "resume")]
    pub log: Vec<String>,

    /// Rows of generated data
    #[arg(long, value_name = "N", help_heading = "Data", default_value_t = 10_000, conflicts_with_all = ["file", "resume"])]
    pub rows: usize,

    /// Columns of generated data, besides `group`
    #[arg(long, value_name = "N", help_heading = "Data", default_value_t = 10, conflicts_with_all = ["file", "resume"])]
    pub columns: usize,
}

impl DataArguments {
    /// Reads or generates the data, with the groups that the constraints need.
    pub fn open(&self, constraints: &[Constraint], seed: u64) -> Result<DataSet, Error> {
        let Some(file) = &self.file else { return Ok(generate(self.rows, self.columns, seed)?) };
        let mut groups: Vec<String> = constraints.iter().filter_map(Constraint::column).map(Into::into).collect();
        groups.sort();
        groups.dedup();
        let reading = Reading { label: self.label.clone(), drop: self.drop.clone(), log: self.log.clone(), groups };
        Ok(if is_libsvm(file) { reading.libsvm(file)? } else { reading.csv(file)? })
    }
}

fn is_libsvm(file: &Path) -> bool {
    matches!(files::extension(file).as_str(), "libsvm" | "svm" | "svmlight")
}

/// What the model must satisfy.
#[derive(Debug, Args)]
pub struct ConstraintArguments {
    /// Bound the 2-norm of all weights
    #[arg(long, value_name = "RADIUS", help_heading = "Constraints", conflicts_with = "resume")]
    pub norm: Option<f64>,

    /// Bound the difference between the mean predicted probabilities of any two groups, as in sex=0.02; may be repeated
    #[arg(long, value_name = "COLUMN=GAP", help_heading = "Constraints", value_parser = column_and_bound)]
    #[arg(conflicts_with = "resume")]
    pub max_rate_gap: Vec<(String, f64)>,

    /// The same among the rows whose label is positive
    #[arg(long, value_name = "COLUMN=GAP", help_heading = "Constraints", value_parser = column_and_bound)]
    #[arg(conflicts_with = "resume")]
    pub max_true_positive_gap: Vec<(String, f64)>,

    /// Bound the mean predicted probability of the rows whose label is negative
    #[arg(long, value_name = "RATE", help_heading = "Constraints", conflicts_with = "resume")]
    pub max_false_positive: Option<f64>,
}

impl ConstraintArguments {
    /// All of them.
    pub fn all(&self) -> Vec<Constraint> {
        let norm = self.norm.map(|radius| Constraint::Norm { radius });
        let rate_gaps = self.max_rate_gap.iter().cloned().map(|(column, most)| Constraint::RateGap { column, most });
        let positive_gaps = self.max_true_positive_gap.iter().cloned();
        let positive_gaps = positive_gaps.map(|(column, most)| Constraint::TruePositiveGap { column, most });
        let false_positive = self.max_false_positive.map(|most| Constraint::FalsePositive { most });
        norm.into_iter().chain(rate_gaps).chain(positive_gaps).chain(false_positive).collect()
    }
}

fn column_and_bound(text: &str) -> Result<(String, f64), String> {
    // A name may contain an equals sign, a number does not.
    let (column, bound) = text.rsplit_once('=').ok_or("an equals sign is missing; write for example sex=0.02")?;
    let bound = bound.trim().parse().map_err(|_| format!("{bound:?} is not a number"))?;
    Ok((column.trim().to_string(), bound))
}
