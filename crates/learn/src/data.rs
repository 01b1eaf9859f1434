use serde::{Deserialize, Serialize};
use tangor_problem::{INCREMENT, mixed};

use crate::{Encoding, Features};

/// Rows with their labels and groups, encoded and in memory once.
#[derive(Clone, Debug)]
pub struct DataSet {
    /// What to call it.
    pub name: String,
    /// How a row became features.
    pub encoding: Encoding,
    /// What the two labels are called.
    pub labels: Labels,
    /// The features.
    pub features: Features,
    /// For each row whether its label is the positive one.
    pub positive: Vec<bool>,
    /// The columns by which rows are grouped, whether they are features or not.
    pub groupings: Vec<Grouping>,
}

impl DataSet {
    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.positive.len()
    }

    /// A number that other features, labels or groups change, almost surely; it is the same on every machine.
    pub fn fingerprint(&self) -> u64 {
        let members = self.groupings.iter().flat_map(|grouping| &grouping.members);
        let members = members.map(|member| member.map_or(u64::MAX, u64::from));
        let labels = self.positive.iter().map(|positive| u64::from(*positive));
        let all = self.features.words().chain(labels).chain(members);
        all.fold(0, |so_far, word| mixed(so_far.wrapping_add(INCREMENT) ^ word))
    }

    /// The share of positive rows.
    pub fn positive_share(&self) -> f64 {
        self.positive.iter().filter(|positive| **positive).count() as f64 / self.rows() as f64
    }
}

/// Where the label stands and what its two values are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Labels {
    /// The column, or empty when there are no columns.
    pub column: String,
    /// The value with probability `1 - p`.
    pub negative: String,
    /// The value with probability `p`: the greater one, as numbers or as texts.
    pub positive: String,
}

/// A column that says which group a row belongs to.
#[derive(Clone, Debug, PartialEq)]
pub struct Grouping {
    /// The column.
    pub column: String,
    /// The groups.
    pub values: Vec<String>,
    /// The group of each row; `None` where the value is missing.
    pub members: Vec<Option<u16>>,
}

#[cfg(test)]
mod tests {
    use crate::generate;

    #[test]
    fn every_change_changes_the_fingerprint() {
        let data = generate(50, 3, 1).unwrap();
        assert_eq!(data.fingerprint(), generate(50, 3, 1).unwrap().fingerprint());
        let mut others = [generate(50, 3, 2).unwrap(), generate(51, 3, 1).unwrap(), data.clone(), data.clone()];
        others[2].positive[49] = !others[2].positive[49];
        others[3].groupings[0].members[49] = None;
        assert!(others.iter().all(|other| other.fingerprint() != data.fingerprint()));
    }
}
