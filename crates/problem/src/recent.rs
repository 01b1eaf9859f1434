//! The last two results of a computation, with what they were computed from: a step compares two points, on two halves of a batch.

/// Keys longer than this are not remembered: nobody asks for a long list of draws again.
const LONGEST: usize = 512;

/// The last two results, each under the numbers that determine it.
#[derive(Debug)]
pub(crate) struct Recent<K> {
    /// The one that was used last comes first.
    kept: [(Vec<K>, Vec<f64>); 2],
}

impl<K: Copy> Recent<K> {
    /// Memory for keys and values of at most so many numbers.
    pub fn new(longest: usize, values: usize) -> Self {
        let memory = || (Vec::with_capacity(longest), Vec::with_capacity(values));
        Recent { kept: [memory(), memory()] }
    }

    /// What is known under a key; an empty one is none.
    fn find(&mut self, is_same: impl Fn(&[K]) -> bool) -> Option<&[f64]> {
        let place = self.kept.iter().position(|(key, _)| !key.is_empty() && is_same(key))?;
        self.kept.swap(0, place);
        Some(&self.kept[0].1)
    }

    /// Keeps a result in place of the one that was not used for longer.
    pub fn keep(&mut self, key: &[K], values: &[f64]) {
        self.kept.swap(0, 1);
        let (kept, kept_values) = &mut self.kept[0];
        kept.clear();
        kept.extend_from_slice(key);
        kept_values.clear();
        kept_values.extend_from_slice(values);
    }
}

impl Recent<f64> {
    /// What is known at a point. Points are the same where all their bits are: `1 / x` tells 0 from -0.
    pub fn at(&mut self, x: &[f64]) -> Option<&[f64]> {
        self.find(|key| key.len() == x.len() && key.iter().zip(x).all(|(a, b)| a.to_bits() == b.to_bits()))
    }
}

impl Recent<crate::Draw> {
    /// Lists of draws that are short enough.
    pub fn lists(values: usize) -> Self {
        Recent::new(LONGEST, values)
    }

    /// What is known of a list of draws.
    pub fn of(&mut self, draws: &[crate::Draw]) -> Option<&[f64]> {
        self.find(|key| key == draws)
    }

    /// Keeps what belongs to a list, unless that is long.
    pub fn keep_short(&mut self, draws: &[crate::Draw], values: &[f64]) {
        if draws.len() <= LONGEST {
            self.keep(draws, values);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Draw;

    #[test]
    fn the_one_that_was_not_used_for_longer_gives_way() {
        let mut recent = Recent::new(1, 1);
        assert_eq!(recent.at(&[1.0]), None);
        recent.keep(&[1.0], &[10.0]);
        recent.keep(&[2.0], &[20.0]);
        assert_eq!(recent.at(&[1.0]), Some(&[10.0][..]));
        recent.keep(&[0.0], &[30.0]);
        assert_eq!(recent.at(&[2.0]), None, "1 was used after it");
        assert_eq!(recent.at(&[1.0]), Some(&[10.0][..]));
        assert_eq!(recent.at(&[-0.0]), None);
        assert_eq!(recent.at(&[0.0]), Some(&[30.0][..]));
    }

    #[test]
    fn long_lists_leave_what_is_known_alone() {
        let mut recent = Recent::lists(1);
        recent.keep_short(&[Draw(1), Draw(2)], &[0.5]);
        recent.keep_short(&vec![Draw(3); LONGEST + 1], &[0.25]);
        assert_eq!(recent.of(&[Draw(1), Draw(2)]), Some(&[0.5][..]));
        assert_eq!(recent.of(&[Draw(2), Draw(1)]), None);
        assert_eq!(recent.of(&[]), None);
        assert_eq!(recent.of(&vec![Draw(3); LONGEST + 1]), None);
    }
}
