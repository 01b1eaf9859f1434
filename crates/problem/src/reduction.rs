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

    /// Which of `parts` parts this process computes, when members of a population are shared out among several processes: those of the others
    /// are not here. `None`: all members are here.
    fn own_parts(&self, parts: usize) -> Option<Range<usize>> {
        let _ = parts;
        None
    }
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

/// The parts that a population is cut into, by its size alone.
pub fn parts_of(population: usize) -> Vec<Range<usize>> {
    let (parts, terms) = cut(population);
    (0..parts).map(|k| k * terms..population.min((k + 1) * terms)).collect()
}

/// The members of a population that this process has.
pub fn own_members(collective: &dyn Collective, population: usize) -> Range<usize> {
    let (parts, terms) = cut(population);
    match collective.own_parts(parts) {
        None => 0..population,
        Some(own) => (own.start * terms).min(population)..(own.end * terms).min(population),
    }
}

/// Numbers of each of `parts` parts, as many as it has; each process gives those of its own parts, and all have all.
pub fn gather<'a>(collective: &dyn Collective, parts: usize, of: impl Fn(usize) -> &'a [f64] + Sync) -> Vec<Vec<f64>> {
    let mut counts = vec![0.0; parts];
    collective.fill(1, &mut counts, &|k, count| count[0] = of(k).len() as f64);
    let width = counts.iter().fold(0, |most, count| (*count as usize).max(most));
    if width == 0 {
        return vec![Vec::new(); parts];
    }
    let mut memory = vec![0.0; parts * width];
    collective.fill(width, &mut memory, &|k, part| part[..of(k).len()].copy_from_slice(of(k)));
    memory.chunks(width).zip(&counts).map(|(part, count)| part[..*count as usize].to_vec()).collect()
}

/// The number of parts of a sum, and that of the terms of each but the last.
fn cut(count: usize) -> (usize, usize) {
    let terms = count.div_ceil(PARTS).max(TERMS);
    (count.div_ceil(terms).max(1), terms)
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
        let (parts, terms) = cut(count);
        self.sum_parts(parts, out, |k| k * terms..count.min((k + 1) * terms), add);
    }

    /// The sum over members of a population, into `out`; `add` adds those of a range among the members that it is given, which are in another
    /// order where the population is shared out.
    pub fn sum_members(
        &mut self,
        members: Members<'_>,
        out: &mut [f64],
        add: impl Fn(Members<'_>, Range<usize>, &mut [f64]) + Sync,
    ) {
        let Members::Drawn { draws, population } = members else {
            return self.sum(members.count(), out, |range, sum| add(members, range, sum));
        };
        let (parts, terms) = cut(population);
        if self.collective.own_parts(parts).is_none() {
            return self.sum(draws.len(), out, |range, sum| add(members, range, sum));
        }
        // A part has the members that one process has, in the order in which they were drawn.
        let part_of = |draw: &Draw| (draw.0 as usize / terms).min(parts - 1);
        let mut sorted = draws.to_vec();
        sorted.sort_by_key(part_of);
        let starts: Vec<usize> = (0..=parts).map(|k| sorted.partition_point(|draw| part_of(draw) < k)).collect();
        let members = Members::Drawn { draws: &sorted, population };
        self.sum_parts(parts, out, |k| starts[k]..starts[k + 1], |range, sum| add(members, range, sum));
    }

    fn sum_parts(
        &mut self,
        parts: usize,
        out: &mut [f64],
        range: impl Fn(usize) -> Range<usize> + Sync,
        add: impl Fn(Range<usize>, &mut [f64]) + Sync,
    ) {
        let width = out.len();
        out.fill(0.0);
        if out.is_empty() {
            return add(range(0).start..range(parts - 1).end, out);
        }
        if parts == 1 {
            return self.collective.fill(width, out, &|_, part| add(range(0), part));
        }
        if self.parts.len() < parts * width {
            self.parts.resize(parts * width, 0.0);
        }
        let memory = &mut self.parts[..parts * width];
        memory.fill(0.0);
        self.collective.fill(width, memory, &|k, part| add(range(k), part));
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
            let Rank(_, ranks) = self;
            ranks.exchange.lock().unwrap().resize(memory.len(), 0.0);
            let own = self.own_parts(memory.len().div_ceil(width)).unwrap();
            for (k, part) in memory.chunks_mut(width).enumerate().filter(|(k, _)| own.contains(k)) {
                compute(k, part);
                ranks.exchange.lock().unwrap()[k * width..][..width].copy_from_slice(part);
            }
            ranks.all_here.wait();
            memory.copy_from_slice(&ranks.exchange.lock().unwrap()[..memory.len()]);
            ranks.all_here.wait();
        }

        fn own_parts(&self, parts: usize) -> Option<Range<usize>> {
            let Rank(rank, ranks) = self;
            Some(rank * parts / ranks.size..(rank + 1) * parts / ranks.size)
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

    #[test]
    fn numbers_are_gathered_from_where_they_are() {
        let numbers: Vec<Vec<f64>> = (0..7).map(|k| (0..k * k % 5).map(|i| (10 * k + i) as f64).collect()).collect();
        let gathered = |collective: &dyn Collective| {
            let here = collective.own_parts(7).unwrap_or(0..7);
            gather(collective, 7, |k| {
                assert!(here.contains(&k), "part {k} is not here");
                &numbers[k]
            })
        };
        assert_eq!(gathered(&Threads), numbers);
        for size in [1, 2, 4, 9] {
            let ranks = Arc::new(Ranks { size, exchange: Mutex::new(Vec::new()), all_here: Barrier::new(size) });
            std::thread::scope(|scope| {
                let (gathered, ranks) = (&gathered, &ranks);
                let all: Vec<_> = (0..size).map(|rank| scope.spawn(move || gathered(&Rank(rank, Arc::clone(ranks))))).collect();
                all.into_iter().for_each(|rank| assert_eq!(rank.join().unwrap(), numbers, "{size} ranks"));
            });
        }
        assert_eq!(gather(&Threads, 3, |_| &[]), vec![Vec::<f64>::new(); 3]);
        assert_eq!(parts_of(600), [0..256, 256..512, 512..600]);
        assert_eq!((parts_of(0).len(), parts_of(1_000_000).len()), (1, 64));
    }

    #[test]
    fn members_are_summed_where_they_are() {
        let population = 5_000;
        let draws: Vec<Draw> = (0..700u64).map(|k| Draw(k * k * 31 % population)).collect();
        let term = |i: usize| ((i * 7919) as f64).sin() * 1e3f64.powi((i % 7) as i32);
        let sums = |collective: Arc<dyn Collective>| {
            let here = own_members(&*collective, population as usize);
            let members =
                [Members::Drawn { draws: &draws, population: population as usize }, Members::All(population as usize)];
            members.map(|members| {
                let mut sums = [0.0; 2];
                Reduction::new(Arc::clone(&collective)).sum_members(members, &mut sums, |members, range, sums| {
                    for i in range.map(|k| members.get(k)) {
                        assert!(here.contains(&i), "row {i} is not here");
                        sums[i % 2] += term(i);
                    }
                });
                sums.map(f64::to_bits)
            })
        };
        let mut before = None;
        for size in [1, 2, 4, 7] {
            let ranks = Arc::new(Ranks { size, exchange: Mutex::new(Vec::new()), all_here: Barrier::new(size) });
            std::thread::scope(|scope| {
                let (sums, ranks) = (&sums, &ranks);
                let all: Vec<_> =
                    (0..size).map(|rank| scope.spawn(move || sums(Arc::new(Rank(rank, Arc::clone(ranks)))))).collect();
                for rank in all {
                    let found = rank.join().unwrap();
                    assert_eq!(*before.get_or_insert(found), found, "{size} ranks");
                }
            });
        }
        // All members at once are summed as without ranks; drawn ones in another order.
        let alone = sums(Arc::new(Threads));
        assert_eq!(before.map(|[_, all]| all), Some(alone[1]));
        let exact: f64 = draws.iter().map(|draw| draw.0 as usize).filter(|i| i % 2 == 0).map(term).sum();
        assert!((f64::from_bits(before.unwrap()[0][0]) - exact).abs() < 1e-6 * exact.abs().max(1e9));
    }
}
