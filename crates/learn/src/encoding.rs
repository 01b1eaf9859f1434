use serde::{Deserialize, Serialize};

use crate::features::Entry;

/// How a row becomes features: everything needed to do the same to another file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Encoding {
    /// The named columns of a table. Numbers come first, then texts, each in the order of the file.
    Columns(Vec<Column>),
    /// Features with a number instead of a name (LIBSVM), taken as they are.
    Indexed {
        /// How many there are.
        features: usize,
    },
}

/// A column that is a feature.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// What becomes of its values.
    pub kind: Kind,
}

/// What becomes of the values of a column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Kind {
    /// `(value - mean) / deviation`, of `log(1 + value)` where asked for; 0 where missing.
    Number {
        /// Whether the logarithm is taken first.
        log: bool,
        /// The mean.
        mean: f64,
        /// The standard deviation; 1 for a column that never changes.
        deviation: f64,
    },
    /// A one for the category and zeros for the others; all zeros for a category that was never seen.
    Text {
        /// The categories in order; `?` is that of missing values, if there were any.
        categories: Vec<String>,
    },
}

/// What a missing value is called as a category.
pub(crate) const MISSING: &str = "?";

/// Whether a field says that its value is not known.
pub(crate) fn is_missing(field: &str) -> bool {
    matches!(field, "" | "?" | "NA" | "NaN" | "nan")
}

/// A finite number.
pub(crate) fn number(field: &str) -> Option<f64> {
    field.parse().ok().filter(|value: &f64| value.is_finite())
}

impl Encoding {
    /// How many features there are, without the intercept.
    pub fn features(&self) -> usize {
        match self {
            Encoding::Columns(columns) => columns.iter().map(Column::width).sum(),
            Encoding::Indexed { features } => *features,
        }
    }

    /// How many of them are dense.
    pub(crate) fn dense(&self) -> usize {
        match self {
            Encoding::Columns(columns) => columns.iter().filter(|column| matches!(column.kind, Kind::Number { .. })).count(),
            Encoding::Indexed { .. } => 0,
        }
    }

    /// The names of all weights, the intercept's at the end.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = match self {
            Encoding::Columns(columns) => columns.iter().flat_map(Column::names).collect(),
            Encoding::Indexed { features } => (1..=*features).map(|index| index.to_string()).collect(),
        };
        names.push("(intercept)".to_string());
        names
    }
}

impl Column {
    fn width(&self) -> usize {
        match &self.kind {
            Kind::Number { .. } => 1,
            Kind::Text { categories } => categories.len(),
        }
    }

    fn names(&self) -> Vec<String> {
        match &self.kind {
            Kind::Number { .. } => vec![self.name.clone()],
            Kind::Text { categories } => categories.iter().map(|category| format!("{}={category}", self.name)).collect(),
        }
    }
}

/// The logarithm that `log` columns take: `log(1 + value)`, where there is one.
pub(crate) fn logarithm(value: f64) -> Result<f64, String> {
    if value > -1.0 { Ok(value.ln_1p()) } else { Err(format!("log(1 + value) does not exist for {value}")) }
}

/// A row on its way into the features.
#[derive(Debug, Default)]
pub(crate) struct EncodedRow {
    pub dense: Vec<f32>,
    pub sparse: Vec<Entry>,
    column: usize,
}

impl EncodedRow {
    pub fn clear(&mut self) {
        self.dense.clear();
        self.sparse.clear();
        self.column = 0;
    }

    /// Appends the next column's features.
    pub fn push(&mut self, kind: &Kind, field: &str) -> Result<(), String> {
        match kind {
            Kind::Number { .. } if is_missing(field) => self.dense.push(0.0),
            Kind::Number { log, mean, deviation } => {
                let value = number(field).ok_or_else(|| format!("{field:?} is not a number"))?;
                let value = if *log { logarithm(value)? } else { value };
                self.dense.push(((value - mean) / deviation) as f32);
            }
            Kind::Text { categories } => {
                let category = if is_missing(field) { MISSING } else { field };
                if let Ok(k) = categories.binary_search_by(|known| known.as_str().cmp(category)) {
                    self.sparse.push(Entry { column: (self.column + k) as u32, value: 1.0 });
                }
                self.column += categories.len();
                return Ok(());
            }
        }
        self.column += 1;
        Ok(())
    }
}
