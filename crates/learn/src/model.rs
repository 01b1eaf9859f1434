use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tangor_problem::{MemoryLimit, count_of};

use crate::cache::Room;
use crate::cell::Decimal;
use crate::cut::Rule;
use crate::distribution::{Place, distributed};
use crate::reading::{Groups, Roles, read_encoded};
use crate::regression::probability;
use crate::table::{Encoder, Table};
use crate::{
    Classes, DataSet, Encoding, Error, Evaluation, Features, Format, Goal, Input, Labels, Processes, Requirement, libsvm,
};

/// The version of the model's JSON form.
pub const MODEL_VERSION: u32 = 2;

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
    /// How the file is laid out.
    pub file: FileForm,
    /// The columns of groups and their values.
    pub groups: Vec<(String, Vec<String>)>,
    /// What was asked of the model.
    pub goal: Goal,
    /// What that came to on the rows that it was fitted to.
    pub requirements: Vec<Requirement>,
    /// One weight for each feature, and the intercept at the end.
    pub weights: Vec<f64>,
    /// One multiplier for each requirement: what one more unit of its bound would change the objective by, with the sign reversed. That
    /// of a norm is for the bound on its square.
    pub multipliers: Vec<f64>,
    /// How well it does on the rows that it was fitted to, and from which probability on it says yes.
    pub training: Evaluation,
}

/// What a file of the model's kind looks like.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileForm {
    /// Whether its first row has the names of the columns.
    pub header: bool,
    /// How its numbers are written.
    pub decimal: Decimal,
    /// Columns that say which row is which: predictions repeat them.
    pub id: Vec<String>,
    /// The column that says how much a row counts.
    pub weight: Option<String>,
}

impl Default for FileForm {
    fn default() -> Self {
        FileForm { header: true, decimal: Decimal::Point, id: Vec::new(), weight: None }
    }
}

/// What a model says of one row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction<'a> {
    /// The fields that say which row it is.
    pub id: &'a [String],
    /// The probability of the positive label.
    pub probability: f64,
    /// The label that it decides for.
    pub label: &'a str,
}

impl Model {
    /// The model with these weights; decisions are made at this threshold, and margins have this confidence, on other data too.
    pub fn new(data: &DataSet, weights: Vec<f64>, goal: &Goal, threshold: f64, confidence: f64) -> Result<Self, Error> {
        let (requirements, _) = goal.requirements(data, &Classes::new(data)?)?;
        let training = Evaluation::new(data, &weights, &requirements, threshold, confidence)?;
        Ok(Model {
            version: MODEL_VERSION,
            tangor: env!("CARGO_PKG_VERSION").to_string(),
            labels: data.labels.clone(),
            encoding: data.encoding.clone(),
            file: FileForm::default(),
            groups: data.groupings.iter().map(|grouping| (grouping.column.clone(), grouping.values.clone())).collect(),
            goal: goal.clone(),
            multipliers: vec![0.0; requirements.len()],
            requirements,
            weights,
            training,
        })
    }

    /// Reads a model from its JSON form.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text =
            MemoryLimit::of_this_machine().read(path).map_err(|cause| Error::Unreadable { file: path.to_path_buf(), cause })?;
        let refuse = |message: String| Error::File { file: path.to_path_buf(), message };
        let version = serde_json::from_slice::<serde_json::Value>(&text).ok().and_then(|model| model["version"].as_u64());
        if let Some(version) = version.filter(|version| *version != u64::from(MODEL_VERSION)) {
            return Err(refuse(format!("it has version {version} of the form, but {MODEL_VERSION} is needed: fit it again")));
        }
        let model: Model = serde_json::from_slice(&text).map_err(|cause| refuse(format!("it is not a model: {cause}")))?;
        let (found, expected) = (model.weights.len(), model.encoding.features() + 1);
        if found != expected || !model.weights.iter().all(|weight| weight.is_finite()) {
            return Err(refuse(format!(
                "it has {}, but its encoding needs {expected} finite numbers",
                count_of(found, "weight")
            )));
        }
        Ok(model)
    }

    /// Reads other data the way the model's own were read, labels and groups included; a separator is found if none is given.
    pub fn read_data(&self, input: impl Into<Input>, delimiter: Option<u8>) -> Result<DataSet, Error> {
        let alone = (MemoryLimit::of_this_machine(), None);
        read_alike((&self.encoding, &self.labels, self.groups.clone()), &self.file, &input.into(), delimiter, alone)
    }

    fn format(&self, delimiter: Option<u8>) -> Format {
        Format { delimiter, header: Some(self.file.header) }
    }

    /// How well the model does on other data.
    pub fn evaluate(&self, data: &DataSet) -> Result<Evaluation, Error> {
        let Evaluation { threshold, confidence, .. } = self.training;
        Evaluation::new(data, &self.weights, &self.requirements, threshold, confidence)
    }

    /// Applies the model to the rows of a file, one by one; labels are not needed. `id` names the columns that say which row is which.
    /// The result tells what somebody should know of these rows: values that the rows of the fit did not have.
    pub fn predict<E: From<Error>>(
        &self,
        input: &Input,
        delimiter: Option<u8>,
        id: &[String],
        mut take: impl FnMut(Prediction) -> Result<(), E>,
    ) -> Result<Vec<String>, E> {
        let mut one = Features::new(self.encoding.features(), self.encoding.dense());
        match self.encoding {
            Encoding::Indexed { features } => {
                let mut rows = libsvm::Rows::open(input)?;
                while rows.advance()?.is_some() {
                    one.set(&[], rows.entries(features));
                    take(self.prediction(&one, &[]))?;
                }
                Ok(Vec::new())
            }
            Encoding::Columns(_) => {
                let mut table = Table::open(input, self.format(delimiter))?;
                let mut encoder = Encoder::new(&table, &self.encoding)?;
                let places = id.iter().map(|name| table.find(name)).collect::<Result<Vec<_>, _>>()?;
                let mut id = vec![String::new(); places.len()];
                while table.advance()? {
                    let row = encoder.encode(&table)?;
                    one.set(&row.dense, row.sparse.iter().copied());
                    id.iter_mut().zip(&places).for_each(|(id, &k)| table.field(k).clone_into(id));
                    take(self.prediction(&one, &id))?;
                }
                Ok(encoder.remarks(&table))
            }
        }
    }

    fn prediction<'a>(&'a self, one: &Features, id: &'a [String]) -> Prediction<'a> {
        let probability = probability(one.dot(0, &self.weights));
        let label = if probability > self.training.threshold { &self.labels.positive } else { &self.labels.negative };
        Prediction { id, probability, label }
    }

    /// The JSON form.
    pub fn to_json(&self) -> Result<Vec<u8>, serde_json::Error> {
        serde_json::to_vec_pretty(self)
    }
}

impl DataSet {
    /// Reads other data the way these were read, labels and groups included; a separator is found if none is given. They may
    /// take so much memory before features go to a file, and processes share them out.
    pub fn read_alike(
        &self,
        form: &FileForm,
        input: impl Into<Input>,
        delimiter: Option<u8>,
        sharing: (MemoryLimit, Option<&Arc<dyn Processes>>),
    ) -> Result<DataSet, Error> {
        let groups = self.groupings.iter().map(|grouping| (grouping.column.clone(), grouping.values.clone()));
        read_alike((&self.encoding, &self.labels, groups.collect()), form, &input.into(), delimiter, sharing)
    }
}

fn read_alike(
    (encoding, labels, groups): (&Encoding, &Labels, Vec<Groups>),
    form: &FileForm,
    input: &Input,
    delimiter: Option<u8>,
    (memory, processes): (MemoryLimit, Option<&Arc<dyn Processes>>),
) -> Result<DataSet, Error> {
    let place = Place { file: input.path().to_path_buf(), memory, room: Room::new(memory, None) };
    let format = Format { delimiter, header: Some(form.header) };
    let rule = || match encoding {
        Encoding::Indexed { .. } => Ok(Rule::lines()),
        Encoding::Columns(_) => format.found(input).map(|(delimiter, named)| Rule::csv(delimiter, named)),
    };
    distributed(processes, (input, &place.clone()), rule, |input, sharing| {
        if let Encoding::Indexed { features } = encoding {
            return libsvm::read_encoded(input, *features, labels, &place, sharing);
        }
        let rows = sharing.rows(|| Table::open(input, format)?.count())?;
        let (weight, decimal) = (form.weight.as_deref(), form.decimal);
        let roles = Roles { labels, groups, weight, decimal, rows, place, remarks: Vec::new() };
        read_encoded(input, format, encoding, roles, sharing)
    })
}
