//! A quick hash of a few machine words, for tables whose keys nobody chooses to do harm: the worst that bad luck does is to take time.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher};

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
