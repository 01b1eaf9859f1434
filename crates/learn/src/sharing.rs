//! Rows that several processes have together, each a part of them.

use std::ops::Range;
use std::sync::Arc;

use tangor_problem::{Collective, parts_of};

/// Several processes that fit together. The first one reads, and sends the others what they are to keep.
pub trait Processes: Collective {
    /// Which process this is, counted from 0.
    fn rank(&self) -> usize;

    /// How many there are.
    fn count(&self) -> usize;

    /// Which of so many parts of a population a process has: those that follow on the parts of the process before.
    fn parts_of(&self, rank: usize, parts: usize) -> Range<usize>;

    /// Sends a message from the first process to another.
    fn send(&self, to: usize, message: &[u8]);

    /// The next message that the first process sends to this one.
    fn receive(&self) -> Vec<u8>;
}

/// What this process has of rows that several have together.
#[derive(Clone, Debug)]
pub struct Share {
    /// The number of all rows.
    pub rows: usize,
    /// Which of them is the first one here; the others that are here follow it.
    pub first: usize,
    /// Numbers that one pass over all rows reads, on all processes together.
    pub numbers: usize,
    /// Bytes of memory that the rows of the process take which has most.
    pub held: usize,
    /// The processes.
    pub collective: Arc<dyn Collective>,
}

/// A number of each process, for all of them; all must ask.
pub fn of_each(processes: &dyn Processes, own: usize) -> Vec<usize> {
    let mut all = vec![0.0; processes.count()];
    processes.fill(1, &mut all, &|_, number| number[0] = own as f64);
    all.into_iter().map(|number| number as usize).collect()
}

/// The first process with which something is not well, if there is one.
pub(crate) fn first_failed(processes: &dyn Processes, well: bool) -> Option<usize> {
    of_each(processes, usize::from(!well)).iter().position(|failed| *failed != 0)
}

/// Where the rows of each process end.
pub(crate) fn ends(processes: &dyn Processes, rows: usize) -> Vec<usize> {
    let parts = parts_of(rows);
    let end = |rank| processes.parts_of(rank, parts.len()).end.checked_sub(1).map_or(0, |last| parts[last].end);
    (0..processes.count()).map(end).collect()
}
