use std::fs::File;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::regression::probability;
use crate::table::{Encoder, Table};
use crate::{Constraint, DataSet, Encoding, Error, Evaluation, Features, Grouping, Labels, libsvm, table};

/// The version of the model's JSON form.
pub const MODEL_VERSION: u32 = 1;

/// A fitted model, with everything that is needed to apply and to judge it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// The version of this form.
    pub version: u32,
    /// The version of Tangor.
    pub tangor: String,
    /// What the label is.
    pub labels: Labels,
    /// How a row becomes features.
    pub encoding: Encoding,
    /// The columns of groups and their values.
    pub groups: Vec<(String, Vec<String>)>,
    /// What the model was to satisfy.
    pub constraints: Vec<Constraint>,
    /// The weight of `|x|^2 / 2` in the fit.
    pub l2: f64,
    /// One weight for each feature, and the intercept at the end.
    pub weights: Vec<f64>,
    /// How well it does on the rows that it was fitted to.
    pub training: Evaluation,
}

/// What a model says of one row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction<'a> {
    /// The probability of the positive label.
    pub probability: f64,
    /// The more probable label.
    pub label: &'a str,
}

impl Model {
    /// The model with these weights; margins have this confidence, on other data too.
    pub fn new(data: &DataSet, weights: Vec<f64>, constraints: &[Constraint], l2: f64, confidence: f64) -> Result<Self, Error> {
        let training = Evaluation::new(data, &weights, constraints, confidence)?;
        Ok(Model {
            version: MODEL_VERSION,
            tangor: env!("CARGO_PKG_VERSION").to_string(),
            labels: data.labels.clone(),
            encoding: data.encoding.clone(),
            groups: data.groupings.iter().map(|grouping| (grouping.column.clone(), grouping.values.clone())).collect(),
            constraints: constraints.to_vec(),
            l2,
            weights,
            training,
        })
    }

    /// Reads a model from its JSON form.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = std::fs::read(path).map_err(|cause| Error::Unreadable { file: path.to_path_buf(), cause })?;
        let refuse = |message: String| Error::File { file: path.to_path_buf(), message };
        let model: Model = serde_json::from_slice(&text).map_err(|cause| refuse(format!("it is not a model: {cause}")))?;
        if model.version != MODEL_VERSION {
            return Err(refuse(format!("it has version {} of the form, but {MODEL_VERSION} is needed", model.version)));
        }
        let (found, expected) = (model.weights.len(), model.encoding.features() + 1);
        if found != expected || !model.weights.iter().all(|weight| weight.is_finite()) {
            return Err(refuse(format!("it has {found} weights, but its encoding needs {expected} finite numbers")));
        }
        Ok(model)
    }

    /// Reads other data the way the model's own were read, labels and groups included.
    pub fn read_data(&self, path: &Path) -> Result<DataSet, Error> {
        let grouping = |(column, values): &(String, Vec<String>)| {
            let (column, values) = (column.clone(), values.clone());
            Grouping { column, values, members: Vec::new() }
        };
        match self.encoding {
            Encoding::Indexed { features } => libsvm::read_encoded(path, features, &self.labels),
            Encoding::Columns(_) => {
                table::read_encoded(path, &self.encoding, &self.labels, self.groups.iter().map(grouping).collect())
            }
        }
    }

    /// How well the model does on other data.
    pub fn evaluate(&self, data: &DataSet) -> Result<Evaluation, Error> {
        Evaluation::new(data, &self.weights, &self.constraints, self.training.confidence)
    }

    /// Applies the model to the rows of a file, one by one; labels are not needed.
    pub fn predict<E: From<Error>>(&self, path: &Path, mut take: impl FnMut(Prediction) -> Result<(), E>) -> Result<(), E> {
        let mut one = Features::new(self.encoding.features(), self.encoding.dense());
        match self.encoding {
            Encoding::Indexed { features } => {
                let mut rows = libsvm::Rows::open(path)?;
                while rows.advance()?.is_some() {
                    one.clear();
                    one.push(&[], rows.entries(features));
                    take(self.prediction(&one))?;
                }
            }
            Encoding::Columns(_) => {
                let mut table = Table::open(path)?;
                let mut encoder = Encoder::new(&table, &self.encoding)?;
                while table.advance()? {
                    let row = encoder.encode(&table)?;
                    one.clear();
                    one.push(&row.dense, row.sparse.iter().copied());
                    take(self.prediction(&one))?;
                }
            }
        }
        Ok(())
    }

    fn prediction(&self, one: &Features) -> Prediction<'_> {
        let probability = probability(one.dot(0, &self.weights));
        Prediction { probability, label: if probability > 0.5 { &self.labels.positive } else { &self.labels.negative } }
    }

    /// Writes the JSON form.
    pub fn write(&self, file: File) -> Result<(), serde_json::Error> {
        serde_json::to_writer_pretty(std::io::BufWriter::new(file), self)
    }
}
