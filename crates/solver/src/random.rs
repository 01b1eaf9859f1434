//! Draws from one seed. A draw depends only on the seed, its stream and its number, so a checkpoint keeps a counter and nothing else.

use serde::{Deserialize, Serialize};
use tangor_problem::{Access, Draw, INCREMENT, mixed};

/// A stream of draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stream {
    key: u64,
    next: u64,
}

impl Stream {
    /// Streams of one seed are independent of each other.
    pub fn new(seed: u64, stream: u64) -> Self {
        Stream { key: mix(mix(seed) ^ stream), next: 0 }
    }

    /// Fills the list with `count` draws.
    pub fn draw(&mut self, access: Access, count: usize, draws: &mut Vec<Draw>) {
        draws.clear();
        for _ in 0..count {
            let number = mix(self.key.wrapping_add(mix(self.next)));
            self.next += 1;
            draws.push(Draw(match access {
                // The high half of the product is uniform below `size`, up to a bias of size / 2^64.
                Access::Finite(size) => ((u128::from(number) * u128::from(size)) >> 64) as u64,
                Access::Endless | Access::Exact => number,
            }));
        }
    }
}

/// One step of SplitMix64: a bijection that looks random.
fn mix(value: u64) -> u64 {
    mixed(value.wrapping_add(INCREMENT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_reproducible_uniform_and_independent_of_batching() {
        let (mut one, mut other, mut both, mut part) = (Stream::new(7, 0), Stream::new(7, 0), vec![], vec![]);
        one.draw(Access::Finite(10), 10_000, &mut both);
        other.draw(Access::Finite(10), 4_000, &mut part);
        assert_eq!(both[..4_000], part[..]);
        other.draw(Access::Finite(10), 6_000, &mut part);
        assert_eq!(both[4_000..], part[..]);
        for value in 0..10 {
            let count = both.iter().filter(|draw| draw.0 == value).count() as f64;
            assert!((count - 1000.0).abs() < 5.0 * 30.0, "{value} was drawn {count} times");
        }
        let mut third = vec![];
        Stream::new(7, 1).draw(Access::Finite(10), 10_000, &mut third);
        let equal = both.iter().zip(&third).filter(|(a, b)| a == b).count() as f64;
        assert!((equal - 1000.0).abs() < 5.0 * 30.0, "streams agree {equal} times");
    }
}
