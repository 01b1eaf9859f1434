//! A quick hash of a few machine words, for tables whose keys nobody chooses to do harm: the worst that bad luck does is to take time.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, Hasher};

/// A table with this hash.
pub(crate) type Table<K, V> = HashMap<K, V, Quick>;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Quick;

impl BuildHasher for Quick {
    type Hasher = QuickHasher;
    fn build_hasher(&self) -> QuickHasher {
        QuickHasher(0)
    }
}

pub(crate) struct QuickHasher(u64);

impl Hasher for QuickHasher {
    // A product mixes upwards only, and the table takes its places from the low bits.
    #[inline]
    fn finish(&self) -> u64 {
        self.0.rotate_left(26)
    }
    #[inline]
    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(5) ^ value).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }
    #[inline]
    fn write_u8(&mut self, value: u8) {
        self.write_u64(value.into());
    }
    #[inline]
    fn write_u32(&mut self, value: u32) {
        self.write_u64(value.into());
    }
    #[inline]
    fn write_i32(&mut self, value: i32) {
        self.write_u64(value as u64);
    }
    #[inline]
    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }
    #[inline]
    fn write_isize(&mut self, value: isize) {
        self.write_u64(value as u64);
    }
}

/// Finds values in a list that it does not hold itself: four bytes a place in place of the value, so that more of it stays in the
/// cache.
#[derive(Debug, Default)]
pub(crate) struct Index {
    /// Positions in the list, or [`FREE`]; a power of two, and at most half of them taken.
    places: Vec<u32>,
}

const FREE: u32 = u32::MAX;

impl Index {
    /// With room for so many values.
    pub fn with_capacity(values: usize) -> Self {
        Index { places: vec![FREE; (2 * values + 1).next_power_of_two().max(64)] }
    }

    /// The position of a value in the list of all values that came this way; a new one goes to its end.
    #[inline]
    pub fn intern<T: Hash + Eq + Copy>(&mut self, values: &mut Vec<T>, value: T) -> u32 {
        if 2 * values.len() >= self.places.len() {
            self.grow(values);
        }
        let mut at = self.home(&value);
        loop {
            match self.places[at] {
                FREE => break,
                position if values[position as usize] == value => return position,
                _ => at = (at + 1) & (self.places.len() - 1),
            }
        }
        let position = values.len() as u32;
        self.places[at] = position;
        values.push(value);
        position
    }

    // A product mixes upwards: the highest bits are the best.
    #[inline]
    fn home<T: Hash>(&self, value: &T) -> usize {
        let mut hasher = QuickHasher(0);
        value.hash(&mut hasher);
        (hasher.0 >> (64 - self.places.len().trailing_zeros())) as usize
    }

    fn grow<T: Hash>(&mut self, values: &[T]) {
        let length = (4 * values.len()).next_power_of_two().max(64);
        self.places = vec![FREE; length];
        for (position, value) in values.iter().enumerate() {
            let mut at = self.home(value);
            while self.places[at] != FREE {
                at = (at + 1) & (length - 1);
            }
            self.places[at] = position as u32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_have_one_position_however_many_there_are() {
        let (mut index, mut values) = (Index::default(), Vec::new());
        let value = |k: u64| (k % 3, k.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 7);
        let first: Vec<u32> = (0..10_000).map(|k| index.intern(&mut values, value(k))).collect();
        assert_eq!(first, (0..10_000).collect::<Vec<u32>>());
        let again: Vec<u32> = (0..10_000).map(|k| index.intern(&mut values, value(k))).collect();
        assert_eq!((again, values.len()), (first, 10_000));
    }
}
