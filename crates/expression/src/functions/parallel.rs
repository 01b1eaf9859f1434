//! Work on parts of a memory in several threads. What is computed does not depend on how many there are, so neither do its bits.

/// Parts of a large section: a constant, for the order of the instructions follows from it.
pub(super) const PARTS: usize = 32;

/// Sweeps that go on at the same time, each with adjoints of its own.
pub(super) const SWEEPS: usize = 8;

/// Graphs of fewer nodes are evaluated in one thread. Measured: on two processors smaller ones gain nothing, for waking a thread, and what only one
/// thread does, take longer than what is saved.
pub(super) const PAYS: usize = 1 << 18;

/// Whether there is one thread only: then nothing is handed over.
pub(super) fn is_alone() -> bool {
    rayon::current_num_threads() < 2
}

/// Does `work` for portions of so many items and their own memory, which begins where `start` says of the first of them, and ends where
/// that of the next portion begins.
pub(super) fn over<T: Sync>(
    items: &[T],
    portion: usize,
    memory: &mut [f64],
    start: &(impl Fn(&T) -> usize + Sync),
    work: &(impl Fn(&[T], &mut [f64]) + Sync),
) {
    if let Some(first) = items.first() {
        let begin = start(first);
        split(items, portion, (&mut memory[begin..], begin), start, work);
    }
}

fn split<T: Sync>(
    items: &[T],
    portion: usize,
    (memory, begin): (&mut [f64], usize),
    start: &(impl Fn(&T) -> usize + Sync),
    work: &(impl Fn(&[T], &mut [f64]) + Sync),
) {
    if items.len() <= portion {
        return work(items, memory);
    }
    let (few, others) = items.split_at((items.len() / portion).div_ceil(2) * portion);
    let middle = start(&others[0]);
    let (own, rest) = memory.split_at_mut(middle - begin);
    rayon::join(|| split(few, portion, (own, begin), start, work), || split(others, portion, (rest, middle), start, work));
}
