use std::ops::Range;

use rayon::prelude::*;

use crate::{Draw, Evaluation, Failure};

/// The members of a finite population that an average is taken over.
#[derive(Clone, Copy, Debug)]
pub enum Members<'a> {
    /// All of a population of this size.
    All(usize),
    /// Those that were drawn, perhaps more than once.
    Drawn {
        /// Their indices.
        draws: &'a [Draw],
        /// The size of the population.
        population: usize,
    },
}

impl Members<'_> {
    /// How many terms the average has.
    pub fn count(&self) -> usize {
        match self {
            Members::All(population) => *population,
            Members::Drawn { draws, .. } => draws.len(),
        }
    }

    /// The index of term `k`.
    #[inline]
    pub fn get(&self, k: usize) -> usize {
        match self {
            Members::All(_) => k,
            Members::Drawn { draws, .. } => draws[k].0 as usize,
        }
    }

    /// Refuses an average over nothing, and members that are not there.
    pub fn check(&self) -> Evaluation {
        if self.count() == 0 {
            return Err(Failure::broken("an average over no rows was asked for"));
        }
        let Members::Drawn { draws, population } = self else { return Ok(()) };
        match draws.iter().find(|draw| draw.0 >= *population as u64) {
            Some(draw) => Err(Failure::broken(format!("row {} was drawn, but there are {population}", draw.0))),
            None => Ok(()),
        }
    }
}

/// Most parts that a sum is cut into, so that memory stays bounded.
const PARTS: usize = 64;
/// Fewest terms of a part, so that a part is worth a thread's waking.
const TERMS: usize = 256;

/// Sums of many vectors, computed in parallel, with the same bits on any number of threads.
///
/// The terms are cut into parts by their number alone, each part is summed on its own, and the parts are added in order. The
/// memory of the parts is kept from call to call.
///
/// ```
/// use tangor_problem::Reduction;
///
/// let mut sums = [0.0; 2];
/// Reduction::default().sum(1000, &mut sums, |terms, sums| {
///     for i in terms {
///         sums[0] += 1.0;
///         sums[1] += i as f64;
///     }
/// });
/// assert_eq!(sums, [1000.0, 499_500.0]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Reduction {
    parts: Vec<f64>,
}

impl Reduction {
    /// The sum of `count` terms, into `out`; `add` adds the terms of a range to a slice of the same length.
    pub fn sum(&mut self, count: usize, out: &mut [f64], add: impl Fn(Range<usize>, &mut [f64]) + Sync) {
        out.fill(0.0);
        let terms = count.div_ceil(PARTS).max(TERMS);
        if out.is_empty() || count <= terms {
            return add(0..count, out);
        }
        let (width, parts) = (out.len(), count.div_ceil(terms));
        if self.parts.len() < parts * width {
            self.parts.resize(parts * width, 0.0);
        }
        let sum_part = |(k, part): (usize, &mut [f64])| {
            part.fill(0.0);
            add(k * terms..count.min((k + 1) * terms), part);
        };
        let memory = &mut self.parts[..parts * width];
        if rayon::current_num_threads() == 1 {
            memory.chunks_mut(width).enumerate().for_each(sum_part);
        } else {
            memory.par_chunks_mut(width).enumerate().for_each(sum_part);
        }
        for part in memory.chunks(width) {
            out.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_term_is_added_once() {
        let mut reduction = Reduction::default();
        for count in [0, 1, 255, 256, 257, 16_384, 16_385, 100_001] {
            let mut sums = [7.0; 2];
            reduction.sum(count, &mut sums, |terms, sums| {
                sums[0] += terms.len() as f64;
                sums[1] += terms.map(|i| (i * i) as f64).sum::<f64>();
            });
            let n = count as f64;
            assert_eq!(sums, [n, ((n - 1.0) * n * (2.0 * n - 1.0) / 6.0).max(0.0)], "{count} terms");
        }
    }
}
