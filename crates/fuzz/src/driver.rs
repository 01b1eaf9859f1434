//! How inputs are tried, one after the other, each from a seed that repeats it. The tests of the readers `nl` and `sif` use this file, too.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// No single input may take longer than this, even on a loaded machine.
const LONGEST: Duration = Duration::from_secs(20);

/// However slow the machine is, so many inputs are tried.
const FEWEST: u64 = 200;

/// A small generator (xorshift, 64 bits): the same seed gives the same inputs everywhere.
pub struct Random(u64);

impl Random {
    /// A generator whose seed may be any number.
    pub fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Any number.
    pub fn number(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below an end; 0 if there is none.
    pub fn below(&mut self, end: usize) -> usize {
        ((self.number() >> 11) % end.max(1) as u64) as usize
    }
}

/// Tries inputs for so many seconds, or as many as `TANGOR_FUZZ_SECONDS` says; `share` of these belong to this reader. Seeds begin with
/// `TANGOR_FUZZ_SEED`. An attempt says whether its input could be read.
pub fn try_many(reader: &str, seconds: f64, share: f64, mut attempt: impl FnMut(u64, &mut Random) -> bool) {
    let seconds = share * from_environment("TANGOR_FUZZ_SECONDS", seconds);
    let first = from_environment("TANGOR_FUZZ_SEED", 0.0) as u64;
    let (clock, mut tried, mut accepted) = (Instant::now(), 0, 0);
    while clock.elapsed().as_secs_f64() < seconds || tried < FEWEST {
        accepted += u64::from(attempt(first + tried, &mut Random::new(first + tried)));
        tried += 1;
    }
    println!("{reader:<11}{tried} inputs, {accepted} of them readable");
    // If all were refused at once, or none, nothing would have been tested.
    assert!(accepted > 0 && accepted < tried, "{reader}: {accepted} of {tried} inputs were readable");
}

/// Reads an input, which must end soon and without a panic; otherwise the input is described.
pub fn without_harm(read: impl FnOnce() -> bool, described: impl Fn() -> String) -> bool {
    let start = Instant::now();
    let read = catch_unwind(AssertUnwindSafe(read));
    let time = start.elapsed();
    assert!(time < LONGEST, "it took {time:?}: {}", described());
    read.unwrap_or_else(|_| panic!("a panic: {}", described()))
}

fn from_environment(name: &str, default: f64) -> f64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}
