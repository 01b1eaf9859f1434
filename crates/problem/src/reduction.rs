use std::fmt;
use std::ops::Range;
use std::sync::Arc;

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

/// Who computes the parts of a sum: the threads of this process, or several processes together.
///
/// A sum is cut into parts by its number of terms alone; whoever computes a part, it has the same bits. The parts are then added in
/// order by everybody, so that all hold the same sum at any number of threads or processes.
pub trait Collective: Send + Sync + fmt::Debug {
    /// Fills a memory of several parts, each of `width` numbers, one after the other: `compute(k, part)` fills part `k`, which it finds
    /// as it was. Every part must be there on return, also those that another process computed.
    fn fill(&self, width: usize, memory: &mut [f64], compute: &(dyn Fn(usize, &mut [f64]) + Sync));
}

/// The threads of the current `rayon` pool.
#[derive(Clone, Copy, Debug, Default)]
pub struct Threads;

impl Collective for Threads {
    fn fill(&self, width: usize, memory: &mut [f64], compute: &(dyn Fn(usize, &mut [f64]) + Sync)) {
        if memory.len() <= width || rayon::current_num_threads() == 1 {
            memory.chunks_mut(width).enumerate().for_each(|(k, part)| compute(k, part));
        } else {
            memory.par_chunks_mut(width).enumerate().for_each(|(k, part)| compute(k, part));
        }
    }
}

/// Most parts that a sum is cut into, so that memory stays bounded.
const PARTS: usize = 64;
/// Fewest terms of a part, so that a part is worth a thread's waking.
const TERMS: usize = 256;

/// Sums of many vectors, computed by a [`Collective`], with the same bits on any number of threads or processes.
///
/// The memory of the parts is kept from call to call.
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
#[derive(Clone, Debug)]
pub struct Reduction {
    collective: Arc<dyn Collective>,
    parts: Vec<f64>,
}

/// On the threads of this process.
impl Default for Reduction {
    fn default() -> Self {
        Reduction::new(Arc::new(Threads))
    }
}

impl Reduction {
    /// Sums that are computed by this collective.
    pub fn new(collective: Arc<dyn Collective>) -> Self {
        Reduction { collective, parts: Vec::new() }
    }

    /// The sum of `count` terms, into `out`; `add` adds the terms of a range to a slice of the same length.
    pub fn sum(&mut self, count: usize, out: &mut [f64], add: impl Fn(Range<usize>, &mut [f64]) + Sync) {
        out.fill(0.0);
        let (width, terms) = (out.len(), count.div_ceil(PARTS).max(TERMS));
        if out.is_empty() {
            return add(0..count, out);
        }
        if count <= terms {
            return self.collective.fill(width, out, &|_, part| add(0..count, part));
        }
        let parts = count.div_ceil(terms);
        if self.parts.len() < parts * width {
            self.parts.resize(parts * width, 0.0);
        }
        let memory = &mut self.parts[..parts * width];
        memory.fill(0.0);
        self.collective.fill(width, memory, &|k, part| add(k * terms..count.min((k + 1) * terms), part));
        for part in memory.chunks(width) {
            out.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Barrier, Mutex};

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

    /// Several processes, here threads that share nothing but an exchange of parts: each computes those that are its own.
    #[derive(Debug)]
    struct Ranks {
        size: usize,
        exchange: Mutex<Vec<f64>>,
        all_here: Barrier,
    }

    #[derive(Debug)]
    struct Rank(usize, Arc<Ranks>);

    impl Collective for Rank {
        fn fill(&self, width: usize, memory: &mut [f64], compute: &(dyn Fn(usize, &mut [f64]) + Sync)) {
            let Rank(rank, ranks) = self;
            ranks.exchange.lock().unwrap().resize(memory.len(), 0.0);
            for (k, part) in memory.chunks_mut(width).enumerate().filter(|(k, _)| k % ranks.size == *rank) {
                compute(k, part);
                ranks.exchange.lock().unwrap()[k * width..][..width].copy_from_slice(part);
            }
            ranks.all_here.wait();
            memory.copy_from_slice(&ranks.exchange.lock().unwrap()[..memory.len()]);
            ranks.all_here.wait();
        }
    }

    #[test]
    fn every_rank_has_the_same_bits() {
        let term = |i: usize| ((i * 7919) as f64).sin() * 1e3f64.powi((i % 7) as i32);
        let sums = |reduction: &mut Reduction| {
            [5, 300, 20_000].map(|count| {
                let mut sums = [0.0; 3];
                reduction.sum(count, &mut sums, |terms, sums| terms.for_each(|i| sums[i % 3] += term(i)));
                sums.map(f64::to_bits)
            })
        };
        let alone = sums(&mut Reduction::default());
        for size in [1, 2, 3, 8] {
            let ranks = Ranks { size, exchange: Mutex::new(Vec::new()), all_here: Barrier::new(size) };
            let ranks = Arc::new(ranks);
            std::thread::scope(|scope| {
                let (sums, ranks) = (&sums, &ranks);
                let run = move |rank| sums(&mut Reduction::new(Arc::new(Rank(rank, Arc::clone(ranks)))));
                let all: Vec<_> = (0..size).map(|rank| scope.spawn(move || run(rank))).collect();
                all.into_iter().for_each(|rank| assert_eq!(rank.join().unwrap(), alone, "{size} ranks"));
            });
        }
    }
}
