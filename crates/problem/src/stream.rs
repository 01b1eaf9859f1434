use crate::{Draw, ziggurat};

/// Random numbers that a draw and a purpose determine: SplitMix64 from a mixed start.
///
/// ```
/// use tangor_problem::{Draw, Stream};
///
/// let mut noise = Stream::new(Draw(7), 1);
/// assert_eq!(noise.normal(), Stream::new(Draw(7), 1).normal());
/// assert_ne!(noise.normal(), Stream::new(Draw(7), 2).normal());
/// ```
#[derive(Clone, Debug)]
pub struct Stream {
    state: u64,
}

impl Stream {
    /// Streams of different draws or purposes are independent.
    pub fn new(draw: Draw, purpose: u64) -> Self {
        Stream { state: mixed(mixed(draw.0) ^ purpose.wrapping_mul(INCREMENT)) }
    }

    /// In the open interval (0, 1).
    pub fn uniform(&mut self) -> f64 {
        ((self.bits() >> 11) as f64 + 0.5) * (-53f64).exp2()
    }

    /// Standard normal.
    pub fn normal(&mut self) -> f64 {
        ziggurat::normal(self)
    }

    /// 64 random bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(INCREMENT);
        mixed(self.state)
    }
}

/// 2^64 divided by the golden ratio, odd.
#[doc(hidden)]
pub const INCREMENT: u64 = 0x9e37_79b9_7f4a_7c15;

/// The output function of SplitMix64: every bit of the argument changes about half of the result's.
#[doc(hidden)]
pub fn mixed(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
