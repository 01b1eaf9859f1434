use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tangor_problem::{INCREMENT, Reduction, mixed};

use crate::{Encoding, Error, Features, Share};

/// Rows with their labels and groups, encoded and in memory once. Where several processes share them out, each has all that is
/// known of its own rows, one after the other, and nothing of the others'.
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
    /// For each row that is here whether its label is the positive one.
    pub positive: Vec<bool>,
    /// The columns by which rows are grouped, whether they are features or not.
    pub groupings: Vec<Grouping>,
    /// How much each row that is here counts, 1 on average over all rows; none: all the same.
    pub weights: Option<Vec<f64>>,
    /// What somebody should know who reads these data for the first time.
    pub remarks: Vec<String>,
    /// Which rows are here, if several processes have a part of them each; none: all are here.
    pub shared: Option<Share>,
}

/// Bytes of a row beside its features, at most: its label, its weight, its groups.
pub(crate) const OF_A_ROW: usize = 16;

impl DataSet {
    /// The number of rows, on all processes together.
    pub fn rows(&self) -> usize {
        self.shared.as_ref().map_or(self.positive.len(), |share| share.rows)
    }

    /// The rows that are here. All that is known of row `i` stands at `i - here().start`.
    pub fn here(&self) -> Range<usize> {
        let first = self.first();
        first..first + self.positive.len()
    }

    pub(crate) fn first(&self) -> usize {
        self.shared.as_ref().map_or(0, |share| share.first)
    }

    /// Numbers that one pass over all rows reads, on all processes together.
    pub fn entries(&self) -> usize {
        self.shared.as_ref().map_or(self.features.entries(), |share| share.numbers)
    }

    /// Bytes of memory that the rows of a process take at most. It is the same for all processes, which decide by it.
    pub(crate) fn held(&self) -> usize {
        let here = || self.features.bytes() + self.positive.len() * OF_A_ROW;
        self.shared.as_ref().map_or_else(here, |share| share.held)
    }

    /// Who computes sums over all rows; all processes must ask for the same ones.
    pub(crate) fn reduction(&self) -> Reduction {
        self.shared.as_ref().map_or_else(Reduction::default, |share| Reduction::new(Arc::clone(&share.collective)))
    }

    /// The sum over all rows, with the same bits on any number of processes; `add` adds the one that stands at a place here.
    pub(crate) fn sum(&self, out: &mut [f64], add: impl Fn(usize, &mut [f64]) + Sync) {
        let first = self.first();
        self.reduction().sum(self.rows(), out, |rows, sums| rows.for_each(|i| add(i - first, sums)));
    }

    /// How much the row at a place here counts.
    #[inline]
    pub fn weight(&self, i: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |weights| weights[i])
    }

    /// `a_i'x` of every row that is here.
    pub fn margins(&self, x: &[f64]) -> Vec<f64> {
        (0..self.features.rows()).map(|i| self.features.dot(i, x)).collect()
    }

    /// The same rows, which count in these proportions; one number for each row that is here.
    pub fn weighted(self, weights: Vec<f64>) -> Result<Self, Error> {
        DataSet { weights: Some(weights), ..self }.with_mean_weight_one()
    }

    /// The same proportions, and 1 on average.
    pub(crate) fn with_mean_weight_one(mut self) -> Result<Self, Error> {
        let Some(weights) = &self.weights else { return Ok(self) };
        let mut sums = [0.0; 2];
        self.sum(&mut sums, |i, sums| match weights.get(i) {
            Some(weight) if *weight >= 0.0 => sums[0] += weight,
            _ => sums[1] += 1.0,
        });
        let mean = sums[0] / self.rows().max(1) as f64;
        if weights.len() > self.positive.len() || sums[1] > 0.0 || !(mean > 0.0 && mean.is_finite()) {
            return Err(Error::Senseless("the weights of rows must be numbers from 0 on, and not all of them 0".to_string()));
        }
        self.weights.iter_mut().flatten().for_each(|weight| *weight /= mean);
        Ok(self)
    }

    /// Some of the rows, in this order; all must be here.
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

    /// Numbers that put each row into one of so many parts of the same size, each with its share of every label and group; all
    /// must be here.
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

    /// A number that other features, labels, groups or weights of the rows here change, almost surely; it is the same on every
    /// machine.
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
        let mut sum = [0.0];
        self.sum(&mut sum, |i, sum| sum[0] += if self.positive[i] { self.weight(i) } else { 0.0 });
        sum[0] / self.rows() as f64
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
    /// The group of each row that is here; `None` where the value is missing.
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
