use serde::{Deserialize, Serialize};

use crate::cell::{Decimal, MISSING, is_missing, is_word_for_missing, logarithm};
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
    /// A number, standardised.
    Number(Scale),
    /// A one for the category and zeros for the others; all zeros for a category that was never seen.
    Text {
        /// The categories in order; `?` is that of missing values, if there were any.
        categories: Vec<String>,
    },
}

/// `(value - mean) / deviation`, of `log(1 + value)` where asked for; 0 where missing.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scale {
    /// Whether the logarithm is taken first.
    pub log: bool,
    /// The mean.
    pub mean: f64,
    /// The standard deviation; 1 for a column that never changes.
    pub deviation: f64,
    /// How the numbers are written.
    #[serde(default)]
    pub decimal: Decimal,
    /// Whether a cell that is no number is a missing value rather than an error.
    #[serde(default)]
    pub lenient: bool,
}

impl Scale {
    /// Numbers as they are.
    pub const NONE: Scale = Scale { log: false, mean: 0.0, deviation: 1.0, decimal: Decimal::Point, lenient: false };

    fn encode(&self, field: &str) -> Result<f32, String> {
        if is_missing(field) {
            return Ok(0.0);
        }
        match self.decimal.number(field) {
            Some(value) => {
                let value = if self.log { logarithm(value)? } else { value };
                Ok(((value - self.mean) / self.deviation) as f32)
            }
            None if self.lenient || is_word_for_missing(field) => Ok(0.0),
            None => Err(format!("{field:?} is not a number")),
        }
    }
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
            Encoding::Columns(columns) => columns.iter().filter(|column| matches!(column.kind, Kind::Number(_))).count(),
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

    /// What one more unit of the value itself, or of `log(1 + value)`, does to a feature: `1 / deviation`, and 1 for a category.
    /// One for each weight, the intercept's at the end.
    pub fn per_unit(&self) -> Vec<f64> {
        let mut units: Vec<f64> = match self {
            Encoding::Columns(columns) => columns.iter().flat_map(Column::per_unit).collect(),
            Encoding::Indexed { features } => vec![1.0; *features],
        };
        units.push(1.0);
        units
    }
}

impl Column {
    fn width(&self) -> usize {
        match &self.kind {
            Kind::Number(_) => 1,
            Kind::Text { categories } => categories.len(),
        }
    }

    fn names(&self) -> Vec<String> {
        match &self.kind {
            Kind::Number(_) => vec![self.name.clone()],
            Kind::Text { categories } => categories.iter().map(|category| format!("{}={category}", self.name)).collect(),
        }
    }

    fn per_unit(&self) -> Vec<f64> {
        match &self.kind {
            Kind::Number(scale) => vec![1.0 / scale.deviation],
            Kind::Text { categories } => vec![1.0; categories.len()],
        }
    }
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

    /// Appends the next column's features; false for a category that is not known.
    pub fn push(&mut self, kind: &Kind, field: &str) -> Result<bool, String> {
        let mut known = true;
        match kind {
            Kind::Number(scale) => {
                self.dense.push(scale.encode(field)?);
                self.column += 1;
            }
            Kind::Text { categories } => {
                let category = if is_missing(field) { MISSING } else { field };
                match categories.binary_search_by(|known| known.as_str().cmp(category)) {
                    Ok(k) => self.sparse.push(Entry { column: (self.column + k) as u32, value: 1.0 }),
                    Err(_) => known = false,
                }
                self.column += categories.len();
            }
        }
        Ok(known)
    }
}
