use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tangor_problem::{Collective, INCREMENT, gather, mixed};

use crate::{Encoding, Error, Features};

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
    /// How much each row counts, 1 on average; none: all the same.
    pub weights: Option<Vec<f64>>,
    /// What somebody should know who reads these data for the first time.
    pub remarks: Vec<String>,
    /// The processes that have a part of the features each; none: all are here. Labels, groups and weights of rows are here in any case.
    pub shared: Option<Arc<dyn Collective>>,
}

impl DataSet {
    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.positive.len()
    }

    /// How much a row counts.
    #[inline]
    pub fn weight(&self, i: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |weights| weights[i])
    }

    /// `a_i'x` of every row, those included that other processes have.
    pub fn margins(&self, x: &[f64]) -> Vec<f64> {
        let margins = |rows: Range<usize>| rows.map(|i| self.features.dot(i, x));
        let Some(shared) = &self.shared else { return margins(0..self.rows()).collect() };
        gather(&**shared, self.rows(), |rows, out| out.iter_mut().zip(margins(rows)).for_each(|(out, margin)| *out = margin))
    }

    /// The same rows, which count in these proportions.
    pub fn weighted(mut self, mut weights: Vec<f64>) -> Result<Self, Error> {
        let mean = weights.iter().sum::<f64>() / weights.len().max(1) as f64;
        if weights.len() != self.rows() || !(mean > 0.0 && mean.is_finite()) || weights.iter().any(|weight| *weight < 0.0) {
            return Err(Error::Senseless("the weights of rows must be numbers from 0 on, and not all of them 0".to_string()));
        }
        weights.iter_mut().for_each(|weight| *weight /= mean);
        self.weights = Some(weights);
        Ok(self)
    }

    /// Some of the rows, in this order.
    pub fn subset(&self, rows: &[usize]) -> DataSet {
        let members =
            |grouping: &Grouping| Grouping { members: rows.iter().map(|&i| grouping.members[i]).collect(), ..grouping.clone() };
        let data = DataSet {
            name: self.name.clone(),
            encoding: self.encoding.clone(),
            labels: self.labels.clone(),
            features: self.features.subset(rows),
            positive: rows.iter().map(|&i| self.positive[i]).collect(),
            groupings: self.groupings.iter().map(members).collect(),
            weights: None,
            remarks: Vec::new(),
            shared: None,
        };
        match &self.weights {
            None => data,
            // Rows that count nothing at all leave nothing to weigh.
            Some(weights) => {
                let weights = rows.iter().map(|&i| weights[i]).collect();
                data.clone().weighted(weights).unwrap_or(data)
            }
        }
    }

    /// Numbers that put each row into one of so many parts of the same size, each with its share of every label and group.
    pub fn folds(&self, parts: usize, seed: u64) -> Vec<usize> {
        let class = |i: usize| {
            let groups = self.groupings.iter().map(|grouping| grouping.members[i].map_or(u64::MAX, u64::from));
            (self.positive[i], groups.collect::<Vec<_>>())
        };
        let mut order: Vec<usize> = (0..self.rows()).collect();
        order.sort_by_cached_key(|&i| (class(i), mixed(seed.wrapping_add(INCREMENT.wrapping_mul(i as u64 + 1))), i));
        let mut folds = vec![0; self.rows()];
        order.into_iter().enumerate().for_each(|(k, i)| folds[i] = k % parts.max(1));
        folds
    }

    /// A number that other features, labels, groups or weights change, almost surely; it is the same on every machine.
    pub fn fingerprint(&self) -> u64 {
        let members = self.groupings.iter().flat_map(|grouping| &grouping.members);
        let members = members.map(|member| member.map_or(u64::MAX, u64::from));
        let labels = self.positive.iter().map(|positive| u64::from(*positive));
        let weights = self.weights.iter().flatten().map(|weight| weight.to_bits());
        let all = self.features.words().chain(labels).chain(members).chain(weights);
        all.fold(0, |so_far, word| mixed(so_far.wrapping_add(INCREMENT) ^ word))
    }

    /// The share of positive rows.
    pub fn positive_share(&self) -> f64 {
        let positive = (0..self.rows()).filter(|&i| self.positive[i]);
        positive.map(|i| self.weight(i)).sum::<f64>() / self.rows() as f64
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
    /// The value with probability `p`.
    pub positive: String,
}

/// A column that says which group a row belongs to.
#[derive(Clone, Debug, PartialEq)]
pub struct Grouping {
    /// The column.
    pub column: String,
    /// The groups, in order.
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
        let weights = (0..50).map(f64::from).collect();
        assert_ne!(data.clone().weighted(weights).unwrap().fingerprint(), data.fingerprint());
        assert!(data.clone().weighted(vec![0.0; 50]).is_err() && data.weighted(vec![1.0; 49]).is_err());
    }

    #[test]
    fn folds_have_their_share_of_everything() {
        let data = generate(1000, 2, 1).unwrap();
        let folds = data.folds(5, 3);
        assert_eq!(folds, data.folds(5, 3));
        assert_ne!(folds, data.folds(5, 4));
        for fold in 0..5 {
            let rows: Vec<usize> = (0..1000).filter(|&i| folds[i] == fold).collect();
            let part = data.subset(&rows);
            assert_eq!(part.rows(), 200);
            assert!((part.positive_share() - data.positive_share()).abs() < 0.006);
            assert_eq!(part.features.dense_row(7), data.features.dense_row(rows[7]));
        }
    }
}
