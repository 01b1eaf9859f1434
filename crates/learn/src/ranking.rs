//! Rows in the order of their probabilities, whoever has them.

use std::ops::Range;
use std::sync::Arc;

use tangor_problem::{Collective, Threads, gather, parts_of};

use crate::DataSet;
use crate::quality::Scored;

/// So many probabilities or a few more come from other processes at a time.
const MOST: usize = 1 << 14;

/// Rows with the same probability: how much those with either label count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Tied {
    pub p: f64,
    pub negative: f64,
    pub positive: f64,
}

/// The rows that are here, sorted within each of the parts that rows are cut into.
#[derive(Debug)]
pub(crate) struct Ranking {
    collective: Arc<dyn Collective>,
    parts: usize,
    /// Which of the parts are here.
    own: Range<usize>,
    /// Of each that is: probability, weight of the negative rows that have it, and of the positive ones.
    rows: Vec<Vec<[f64; 3]>>,
    most: usize,
}

impl Ranking {
    /// Rankings of groups of rows: `members` gives the group, if it has any, and the score of the row at a place here.
    pub fn by_group(data: &DataSet, groups: usize, members: impl Fn(usize) -> Option<(usize, Scored)>) -> Vec<Ranking> {
        let collective = data
            .shared
            .as_ref()
            .map_or_else(|| Arc::new(Threads) as Arc<dyn Collective>, |share| Arc::clone(&share.collective));
        let parts = parts_of(data.rows());
        let own = collective.own_parts(parts.len());
        // What is all here need not be fetched piece by piece.
        let most = if own.is_some() { MOST } else { usize::MAX };
        let own = own.unwrap_or(0..parts.len());
        let mut rows = vec![vec![Vec::new(); own.len()]; groups];
        for (k, part) in parts[own.clone()].iter().enumerate() {
            for i in part.clone() {
                if let Some((group, Scored { p, positive, weight })) = members(i - data.first()) {
                    rows[group][k].push(if positive { [p, 0.0, weight] } else { [p, weight, 0.0] });
                }
            }
        }
        let (collective, parts) = (&collective, parts.len());
        let ranking = |mut rows: Vec<Vec<[f64; 3]>>| {
            rows.iter_mut().for_each(sort);
            Ranking { collective: Arc::clone(collective), parts, own: own.clone(), rows, most }
        };
        rows.into_iter().map(ranking).collect()
    }

    /// All probabilities in their order; all processes must ask for them.
    pub fn for_each(&self, mut take: impl FnMut(Tied)) {
        // Numbers from 0 on have the order of their bits; what is no number comes last.
        self.visit(0..u64::MAX, &mut take);
    }

    /// Probabilities whose bits are in this range: all at once if they are few, else the lower half and then the upper one.
    fn visit(&self, bits: Range<u64>, take: &mut impl FnMut(Tied)) {
        let mut counts = vec![0.0; self.parts];
        self.collective.fill(1, &mut counts, &|k, count| count[0] = self.within(k, &bits).len() as f64);
        let count: f64 = counts.iter().sum();
        if count == 0.0 {
            return;
        }
        if count as usize > self.most && bits.end - bits.start > 1 {
            let middle = bits.start + (bits.end - bits.start) / 2;
            self.visit(bits.start..middle, take);
            return self.visit(middle..bits.end, take);
        }
        let all = gather(&*self.collective, self.parts, |k| self.within(k, &bits).as_flattened());
        let mut all: Vec<[f64; 3]> = all.iter().flat_map(|part| part.as_chunks().0).copied().collect();
        sort(&mut all);
        all.iter().for_each(|&[p, negative, positive]| take(Tied { p, negative, positive }));
    }

    /// Those of a part that are in a range.
    fn within(&self, part: usize, bits: &Range<u64>) -> &[[f64; 3]] {
        let rows = &self.rows[part - self.own.start];
        let place = |bits: u64| rows.partition_point(|row| row[0].to_bits() < bits);
        &rows[place(bits.start)..place(bits.end)]
    }
}

/// Sorts by probability; equal ones become one, whose weights are added in the order that they had.
fn sort(rows: &mut Vec<[f64; 3]>) {
    rows.sort_by_key(|row| row[0].to_bits());
    rows.dedup_by(|next, row| {
        let tied = next[0].to_bits() == row[0].to_bits();
        if tied {
            row[1] += next[1];
            row[2] += next[2];
        }
        tied
    });
    rows.shrink_to_fit();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate;

    #[test]
    fn pieces_are_in_the_order_of_the_whole() {
        let data = generate(5000, 1, 1).unwrap();
        let p = |i: usize| if i.is_multiple_of(3) { 0.25 } else { (i * 7919 % 4001) as f64 / 4001.0 };
        let scored = |i: usize| Scored { p: p(i), positive: i.is_multiple_of(2), weight: 1.0 + (i % 5) as f64 };
        let mut ranking = Ranking::by_group(&data, 1, |i| Some((0, scored(i)))).remove(0);
        let mut whole = Vec::new();
        ranking.for_each(|tied| whole.push(tied));
        assert!(whole.windows(2).all(|pair| pair[0].p < pair[1].p));
        let weight = |positive: bool| (0..5000).filter(|i| (i % 2 == 0) == positive).map(|i| 1.0 + (i % 5) as f64).sum::<f64>();
        assert_eq!(whole.iter().map(|tied| tied.negative).sum::<f64>(), weight(false));
        assert_eq!(whole.iter().map(|tied| tied.positive).sum::<f64>(), weight(true));
        // A third of the rows and more are one probability, which no range of bits cuts.
        for most in [1, 10, 300] {
            ranking.most = most;
            let mut pieces = Vec::new();
            ranking.for_each(|tied| pieces.push(tied));
            assert_eq!(pieces, whole, "{most} at a time");
        }
    }
}
