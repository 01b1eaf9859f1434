//! Draws from one seed. A draw depends only on the seed, its stream and its number, so a checkpoint keeps a counter and nothing else.

use serde::{Deserialize, Serialize};
use tangor_problem::{Access, Draw, Failure, INCREMENT, mixed};

/// Draws that take no time worth speaking of.
const AT_ONCE: usize = 1 << 20;

/// A stream of draws.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stream {
    key: u64,
    next: u64,
    replacement: bool,
}

impl Stream {
    /// Streams of one seed are independent of each other. Without `replacement`, every member of a finite population is drawn once
    /// before any is drawn twice.
    pub fn new(seed: u64, stream: u64, replacement: bool) -> Self {
        Stream { key: mix(mix(seed) ^ stream), next: 0, replacement }
    }

    /// Fills the list with `count` draws. Where that takes long it asks whether somebody wants its end, and then leaves it with an error.
    pub fn draw(
        &mut self,
        (access, count): (Access, usize),
        draws: &mut Vec<Draw>,
        end_wanted: impl Fn() -> bool,
    ) -> Result<(), Failure> {
        draws.clear();
        draws.reserve_exact(count);
        while draws.len() < count {
            self.add(access, (count - draws.len()).min(AT_ONCE), draws);
            if draws.len() < count && end_wanted() {
                return Err(Failure::broken("the run is to end, while samples were drawn"));
            }
        }
        Ok(())
    }

    fn add(&mut self, access: Access, count: usize, draws: &mut Vec<Draw>) {
        for _ in 0..count {
            draws.push(Draw(match access {
                Access::Finite(size) if !self.replacement && size > 0 => {
                    let round = mix(self.key.wrapping_add(self.next / size));
                    shuffled(self.next % size, size, round)
                }
                // The high half of the product is uniform below `size`, up to a bias of size / 2^64.
                Access::Finite(size) => ((u128::from(self.number()) * u128::from(size)) >> 64) as u64,
                Access::Endless | Access::Exact => self.number(),
            }));
            self.next += 1;
        }
    }

    fn number(&self) -> u64 {
        mix(self.key.wrapping_add(mix(self.next)))
    }
}

/// The member at a position of a random order of `0..size`, which `key` determines. No list is kept: a Feistel network permutes the
/// numbers of an even number of bits, and is applied until it gives a member.
fn shuffled(position: u64, size: u64, key: u64) -> u64 {
    let bits = (u64::BITS - (size - 1).leading_zeros()).div_ceil(2).max(1);
    let mask = (1u64 << bits) - 1;
    let mut number = position;
    loop {
        let (mut left, mut right) = (number >> bits, number & mask);
        for round in 0..6 {
            (left, right) = (right, left ^ (mix(key ^ mix(right ^ (round << 40))) & mask));
        }
        number = (left << bits) | right;
        if number < size {
            return number;
        }
    }
}

/// One step of SplitMix64: a bijection that looks random.
fn mix(value: u64) -> u64 {
    mixed(value.wrapping_add(INCREMENT))
}

/// A number between -1 and 1 for each pair of a seed and a place.
pub fn uniform(seed: u64, place: u64) -> f64 {
    let bits = mix(mix(seed) ^ place) >> 11;
    2.0 * (bits as f64 / (1u64 << 53) as f64) - 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many draws, with nobody who wants the end.
    fn drawn(stream: &mut Stream, access: Access, count: usize) -> Vec<Draw> {
        let mut draws = vec![];
        stream.draw((access, count), &mut draws, || false).expect("nobody wants the end");
        draws
    }

    #[test]
    fn long_lists_are_left_when_the_end_is_wanted() {
        let (mut hurried, mut patient, mut draws) = (Stream::new(7, 0, true), Stream::new(7, 0, true), vec![]);
        let wanted = (Access::Endless, 3 * AT_ONCE + 1);
        let all = drawn(&mut patient, wanted.0, wanted.1);
        let failure = hurried.draw(wanted, &mut draws, || true).expect_err("somebody wants the end");
        assert!(failure.is_broken() && draws.len() == AT_ONCE && draws == all[..AT_ONCE], "{failure}");
        assert!(hurried.draw((Access::Endless, AT_ONCE), &mut draws, || true).is_ok(), "a short list is ready before that");
        assert_eq!(draws, all[AT_ONCE..2 * AT_ONCE], "it goes on where it was left");
    }

    #[test]
    fn draws_are_reproducible_uniform_and_independent_of_batching() {
        let (mut one, mut other) = (Stream::new(7, 0, true), Stream::new(7, 0, true));
        let both = drawn(&mut one, Access::Finite(10), 10_000);
        assert_eq!(both[..4_000], drawn(&mut other, Access::Finite(10), 4_000));
        assert_eq!(both[4_000..], drawn(&mut other, Access::Finite(10), 6_000));
        for value in 0..10 {
            let count = both.iter().filter(|draw| draw.0 == value).count() as f64;
            assert!((count - 1000.0).abs() < 5.0 * 30.0, "{value} was drawn {count} times");
        }
        let third = drawn(&mut Stream::new(7, 1, true), Access::Finite(10), 10_000);
        let equal = both.iter().zip(&third).filter(|(a, b)| a == b).count() as f64;
        assert!((equal - 1000.0).abs() < 5.0 * 30.0, "streams agree {equal} times");
    }

    #[test]
    fn without_replacement_every_member_comes_once_per_round_in_another_order() {
        for size in [1, 2, 3, 10, 64, 1000, 4097] {
            let mut stream = Stream::new(3, 0, false);
            let [first, second] = [(); 2].map(|()| drawn(&mut stream, Access::Finite(size), size as usize));
            let equal = first.iter().zip(&second).filter(|(a, b)| a == b).count();
            assert!(size < 10 || equal < 8, "{equal} of {size} members are at the same place");
            for order in [first, second] {
                let mut sorted: Vec<u64> = order.iter().map(|draw| draw.0).collect();
                sorted.sort_unstable();
                assert!(sorted.into_iter().eq(0..size), "{size}");
            }
        }
    }

    #[test]
    fn every_order_is_as_likely() {
        // Over many rounds of three members, each of the six orders comes up about as often.
        let mut counts = [0f64; 27];
        let mut stream = Stream::new(5, 0, false);
        for _ in 0..6000 {
            let draws = drawn(&mut stream, Access::Finite(3), 3);
            counts[(9 * draws[0].0 + 3 * draws[1].0 + draws[2].0) as usize] += 1.0;
        }
        let seen: Vec<f64> = counts.into_iter().filter(|count| *count > 0.0).collect();
        assert!(seen.len() == 6 && seen.iter().all(|count| (count - 1000.0).abs() < 5.0 * 29.0), "{seen:?}");
    }
}
