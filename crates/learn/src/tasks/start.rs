//! Normal numbers in the order in which PyTorch's generator gives them (Mersenne Twister, Box-Muller on blocks of sixteen), so that the
//! starts of these tasks are those of the published definitions.

const N: usize = 624;
const M: usize = 397;

/// The generator.
pub struct Starts {
    state: [u32; N],
    next: usize,
}

impl Starts {
    /// From a seed.
    pub fn new(seed: u64) -> Self {
        let mut state = [0u32; N];
        state[0] = seed as u32;
        for i in 1..N {
            let last = state[i - 1];
            state[i] = 1_812_433_253u32.wrapping_mul(last ^ (last >> 30)).wrapping_add(i as u32);
        }
        Starts { state, next: N }
    }

    fn twist(&mut self) {
        for i in 0..N {
            let y = (self.state[i] & 0x8000_0000) | (self.state[(i + 1) % N] & 0x7fff_ffff);
            let odd = if y & 1 == 1 { 0x9908_b0df } else { 0 };
            self.state[i] = self.state[(i + M) % N] ^ (y >> 1) ^ odd;
        }
        self.next = 0;
    }

    fn word(&mut self) -> u64 {
        if self.next == N {
            self.twist();
        }
        let mut y = self.state[self.next];
        self.next += 1;
        y ^= y >> 11;
        y ^= (y << 7) & 0x9d2c_5680;
        y ^= (y << 15) & 0xefc6_0000;
        u64::from(y ^ (y >> 18))
    }

    /// In [0, 1), with 53 bits.
    fn uniform(&mut self) -> f64 {
        let high = self.word();
        let bits = ((high << 32) | self.word()) & ((1 << 53) - 1);
        bits as f64 * (-53f64).exp2()
    }

    /// Standard normal numbers; at least sixteen, for fewer are made in another way.
    pub fn normal(&mut self, count: usize) -> Vec<f64> {
        let mut values: Vec<f64> = (0..count).map(|_| self.uniform()).collect();
        let whole = count - count % 16;
        values[..whole].chunks_mut(16).for_each(box_muller);
        if whole < count && count >= 16 {
            let last = &mut values[count - 16..];
            last.iter_mut().for_each(|value| *value = self.uniform());
            box_muller(last);
        }
        values
    }
}

fn box_muller(block: &mut [f64]) {
    for j in 0..8 {
        let (radius, angle) = ((-2.0 * (1.0 - block[j]).ln()).sqrt(), std::f64::consts::TAU * block[j + 8]);
        block[j] = radius * angle.cos();
        block[j + 8] = radius * angle.sin();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_twister_gives_its_published_numbers() {
        // The first outputs of MT19937 for the seed 5489, and the ten-thousandth, which the C++ standard names.
        let mut starts = Starts::new(5489);
        let first: Vec<u64> = (0..3).map(|_| starts.word()).collect();
        assert_eq!(first, [3_499_211_612, 581_869_302, 3_890_346_734]);
        let last = (3..10_000).fold(0, |_, _| starts.word());
        assert_eq!(last, 4_123_659_995);
    }
}
